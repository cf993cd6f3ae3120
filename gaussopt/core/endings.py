"""When an iteration has settled, and where the last step ends: one rule for interpreted loops and for kernels."""

from __future__ import annotations

CLOSE = 1e3
"""Multiples of its goal up to which a residual that stops halving counts as reached."""

SLIVER = 1e-9
"""Share of a step that counts as rounding error of instants, not as a step."""


def settled(size: float, goal: float, best: float) -> bool:
    """Tell whether a residual has reached its goal: it is at most the goal, or close to it and no longer halves.

    Newton's method at least halves a residual that can still fall, so one that does not is rounding noise, and more
    iterations would only shuffle digits. Exactly half is still progress: the comparison is strict. Written without `or`
    and `and`, because kernels for motions side by side, which call it, must not branch.

    Parameters
    ----------
    size : the present residual
    goal : the residual to reach
    best : the smallest residual before, infinite or huge at the beginning
    """
    return (size <= goal) | ((size < CLOSE * goal) & (size > 0.5 * best))


def last_step(stop: float, end: float, dt: float) -> float:
    """Return the end of a step: the end of the motion if less than a sliver of a step would be left."""
    return end if stop > end - SLIVER * dt else stop
