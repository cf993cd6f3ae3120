"""Straight-line source from a model: equations, certificates, whole motions."""
