"""Models in SymPy: energies, constraints and contacts as expressions."""
