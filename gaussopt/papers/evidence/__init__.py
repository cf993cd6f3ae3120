"""Evidence on the claims, by code that shares nothing with the formulations and solvers that it judges."""
