"""Straight-line source generated from a model: equations, certificates, whole motions."""
