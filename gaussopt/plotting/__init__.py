"""Matplotlib figures made from arrays and names, and the common palette of all pictures."""
