"""Figures by matplotlib from arrays and names, and the one palette of all pictures."""
