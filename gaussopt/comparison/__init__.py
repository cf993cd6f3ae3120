"""Compare formulations and solvers: on given steps, in time, as trajectories, on equal terms."""
