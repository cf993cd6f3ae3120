"""Matplotlib figures from arrays and names, and the colours common to all pictures."""
