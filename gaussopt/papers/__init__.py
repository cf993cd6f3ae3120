"""Reproduce the papers: compute the sections and claims of all papers again, and write the report (`reproduce.py`)."""
