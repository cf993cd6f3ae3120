"""The smallest example on which two formulations differ, proved in exact arithmetic."""
