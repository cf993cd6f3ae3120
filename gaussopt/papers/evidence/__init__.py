"""Evidence on the claims, by code that uses none of the formulations and solvers on which the claims are tested."""
