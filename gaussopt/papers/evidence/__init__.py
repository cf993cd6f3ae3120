"""Evidence that shares no code with the formulations and solvers that it judges."""
