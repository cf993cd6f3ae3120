"""Simulation of single motions and of batches of motions: settings, choice of engine, error estimates."""
