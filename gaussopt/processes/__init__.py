"""Work in separate processes: jobs, guards that run them, and the environment on which results depend."""
