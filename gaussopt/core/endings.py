"""Rules for the end of an iteration and of the last time step, shared by interpreted loops and compiled kernels."""

from __future__ import annotations

CLOSE = 1e3
"""A residual that no longer halves has reached its goal if it is below this multiple of the goal."""

SLIVER = 1e-9
"""If less than this fraction of a time step remains to the end, the remainder is a rounding error of the time."""

ROUNDED = 2.0**-51
"""Instants that differ by less than this fraction of themselves are equal, even if SLIVER of a step is less."""


def together(t: float, origin: float) -> float:
    """Return how far two instants near t may lie apart and count as one, in a motion that starts at `origin`."""
    return 1e-12 * (1.0 + abs(t - origin)) + ROUNDED * abs(t)


def settled(size: float, goal: float, best: float) -> bool:
    """Return whether a residual has reached its goal: it is at most the goal, or close to it and no longer halves.

    Newton's method at least halves a residual that can still fall, so a residual that does not halve is rounding noise,
    and further iterations are useless. A residual of exactly half still counts as progress. The rule avoids `or` and
    `and`, because kernels that advance several motions at the same time call it, and must not branch.

    Parameters
    ----------
    size : the present residual
    goal : the residual to reach
    best : the smallest residual so far, infinite or huge at the beginning
    """
    return (size <= goal) | ((size < CLOSE * goal) & (size > 0.5 * best))


def last_step(stop: float, end: float, dt: float) -> float:
    """Return where a step ends: at `stop`, or at the end of the motion if only a rounding error would remain."""
    return end if stop > end - SLIVER * dt - ROUNDED * abs(end) else stop
