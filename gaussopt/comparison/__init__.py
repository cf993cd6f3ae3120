"""Compare formulations and solvers on equal terms: their answers to given steps, their times, their trajectories."""
