"""Simulation of a motion or of a batch of motions: settings, choice of engine, error estimates."""
