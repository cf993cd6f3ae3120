"""Work in processes of its own: what a process is given, who guards it, and what decides its results."""
