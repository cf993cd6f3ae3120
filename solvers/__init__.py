"""The solvers, each in its own file; see `gaussopt.core.solver` for their interface."""
