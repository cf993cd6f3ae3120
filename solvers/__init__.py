"""Solvers, one file each; see `gaussopt.solver` for the interface."""
