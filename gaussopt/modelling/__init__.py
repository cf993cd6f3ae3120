"""Systems and problems: callables, Lagrangians, linkages, parameters, reference trajectories, sketches."""
