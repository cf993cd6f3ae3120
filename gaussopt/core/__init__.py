"""What lies between the arrows, and the interfaces: step data, programs, solutions, solvers, statuses, errors."""
