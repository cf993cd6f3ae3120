"""When an iteration towards zero ends: the one rule of Newton's methods on constraints."""

from __future__ import annotations

CLOSE = 1e3
"""Multiples of its goal up to which a residual that stops halving counts as reached."""


def settled(size: float, goal: float, best: float) -> bool:
    """Tell whether a residual is reached: it is at most the goal, or close to it and no longer halves.

    Newton's method at least halves a residual that can still fall, so one that does not is rounding noise, and more
    iterations would only shuffle digits. Exactly half is still progress: the comparison is strict. A plain function
    without arrays, which kernels call and which generated loops state for many lanes at once
    (`gaussopt.codegen.loop.near`).

    Parameters
    ----------
    size : of the residual now
    goal : that it is to have
    best : of the residuals before, infinite or huge at the beginning
    """
    return size <= goal or (size < CLOSE * goal and size > 0.5 * best)
