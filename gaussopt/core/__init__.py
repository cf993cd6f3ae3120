"""Step data, programs, solutions and statuses, and the interfaces of systems, solvers and steppers."""
