"""Find the smallest example on which two formulations differ, and prove the difference in exact arithmetic."""

SECONDS = 120.0
"""Time limit of a search in s where no limit is given."""

SEED = 1
"""Default seed of a search."""
