"""Find the smallest example on which two formulations differ, and prove the difference in exact arithmetic."""

SECONDS = 120.0
"""Default time limit of a search, s."""

SEED = 1
"""Default seed of a search."""
