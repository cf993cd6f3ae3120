"""Work in separate processes: jobs, the guards of their processes, and the environment that decides results."""
