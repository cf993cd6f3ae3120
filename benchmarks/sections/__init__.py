"""The parts of the benchmark, one file each: a function `measure` that takes a budget in seconds, to a Section."""
