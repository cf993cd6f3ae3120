"""Systems, stated by callables, energies or linkages; problems with parameters, reference trajectories and sketches."""
