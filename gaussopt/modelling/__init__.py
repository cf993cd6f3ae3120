"""Systems and problems: callables, Lagrangians, linkages, parameters, references, sketches."""
