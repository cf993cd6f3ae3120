"""Steppers, one file each; see `gaussopt.core.stepper` for the interface."""
