"""Claims on the paper of Yuan and Ge 2016: the crank-slider by least squares."""
