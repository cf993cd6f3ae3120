"""Integration of motions over time: steppers, events, stabilisation and trajectories."""
