"""Systems given as callables, energies or linkages, and problems: systems with parameters, references and sketches."""
