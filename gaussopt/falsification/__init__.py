"""The smallest example on which two formulations differ, proved in exact arithmetic; where they part along a dial."""
