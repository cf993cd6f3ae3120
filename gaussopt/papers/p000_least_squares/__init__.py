"""Yuan and Ge 2016: least squares, crank-slider."""
