"""Loops over time: steppers, events, stabilisation, trajectories."""
