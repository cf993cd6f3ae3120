"""Evidence on the claims, computed without the formulations and solvers on which it decides."""
