"""Claims of the paper by Yuan and Ge, 2016: the crank-slider by least squares."""
