"""Solvers, one file each; see `gaussopt.core.solver` for the interface."""
