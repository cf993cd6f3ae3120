"""Figures drawn by matplotlib, and drawings of mechanisms."""
