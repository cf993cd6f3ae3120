"""Formulations, one file each; see `gaussopt.formulations.base` for the interface."""
