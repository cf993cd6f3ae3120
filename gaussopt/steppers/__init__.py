"""Steppers, one file each; see `gaussopt.stepper` for the interface."""
