"""Models given as SymPy expressions: energies, constraints and contacts."""
