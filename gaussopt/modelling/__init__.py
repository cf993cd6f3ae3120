"""Systems, given as callables, energies or linkages; and problems, which add parameters, references and sketches."""
