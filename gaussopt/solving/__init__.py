"""Solve steps and programs, and verify the answers."""
