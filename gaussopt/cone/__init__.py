"""Contacts with friction cones: one contact solved exactly, sweeps over many, all solutions of few."""
