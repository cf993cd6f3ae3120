"""Formulations, one file each; see `gaussopt.formulation` for the interface."""
