"""Whether a motion came close to a singular position, where the rows of its constraints depend on each other.

There mechanisms may have several branches, the equations of motion do not say which one goes on, and a step of any
method may jump from one to the other while every residual is small. Watched is the independence of the rows at every
recorded state (`gaussopt.certificate.Certificate.independence`), and what it must have been between two of them at
least: the sines fall and rise about linearly at a singular position that is passed, so that the lines through the two
states before and the two behind meet below the true value. A position that is approached and left within less than two
recorded intervals on either side is missed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gaussopt.stepdata import Matrix, Vector

SINGULAR = 0.01
"""Independence of rows below which a position counts as nearly singular: an angle of 0.6 degrees."""

NEAR = 0.1
"""Independence at a recorded state below which what lies between it and its neighbour is estimated."""

ABRUPT = 1.0
"""Change of velocity within one step, relative to the largest velocity of the motion, that no step resolves."""


class SingularWatch:
    """Independence of the rows at recorded states, collected while a motion is computed."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._values: list[float] = []
        self._blocks: list[tuple[Vector, Vector]] = []

    def note(self, t: float, independence: float) -> None:
        """One recorded state."""
        self._times.append(t)
        self._values.append(independence)

    def extend(self, times: Vector, independence: Vector) -> None:
        """Several recorded states."""
        self._pack()
        self._blocks.append((times, independence))

    def _pack(self) -> None:
        if self._times:
            self._blocks.append((np.array(self._times), np.array(self._values)))
            self._times, self._values = [], []

    def sentence(self) -> str | None:
        """What is to be said of the motion, None where it kept away from singular positions."""
        self._pack()
        if not self._blocks:
            return None
        times, values = (np.concatenate(parts) for parts in zip(*self._blocks, strict=True))
        return singular_sentence(times, values)


def singular_sentence(t: Vector, independence: Vector) -> str | None:
    """What is to be said of a motion with these independences at these instants, (N,); NaN where not known."""
    known = np.isfinite(independence)
    t, s = t[known], independence[known]
    if not len(s) or not s.min() < NEAR:
        return None
    found = [(float(s.min()), float(t[int(s.argmin())]))]
    found += [_between(t, s, int(k)) for k in np.flatnonzero(np.minimum(s[1:], s[:-1]) < NEAR)]
    least, instant = min(found)
    if least >= SINGULAR:
        return None
    return (
        f"Near t = {instant:.6g} the motion passes a singular position, or comes close to one: the rows of J are "
        f"independent to {least:.2g} only (the sine of an angle, in unit masses). Mechanisms may have "
        "several branches there, and the motion may have left its own: compute it again with smaller steps and compare."
    )


def _between(t: Vector, s: Vector, k: int) -> tuple[float, float]:
    """Where the lines through the states before and behind an interval meet, if that is inside it: value, instant."""
    if k < 1 or k + 2 >= len(s) or not (t[k - 1] < t[k] < t[k + 1] < t[k + 2]):
        return math.inf, float(t[k])
    down, up = (s[k] - s[k - 1]) / (t[k] - t[k - 1]), (s[k + 2] - s[k + 1]) / (t[k + 2] - t[k + 1])
    if not (down < 0.0 < up):
        return math.inf, float(t[k])
    x = (s[k] - s[k + 1] + up * (t[k + 1] - t[k])) / (up - down)
    if not 0.0 <= x <= t[k + 1] - t[k]:
        return math.inf, float(t[k])
    return max(0.0, float(s[k] + down * x)), float(t[k] + x)


def abrupt_sentence(t: Vector, v: Matrix, a: Matrix, steps: int) -> str | None:
    """What is to be said of accelerations that the steps cannot follow, (N,), (N, n), (N, n)."""
    if len(t) < 2 or steps < 1:
        return None
    interval = min(float(np.diff(t).max()), float(t[-1] - t[0]) / steps)
    sizes: NDArray[np.float64] = np.linalg.norm(a, axis=1)
    k, fastest = int(sizes.argmax()), float(np.linalg.norm(v, axis=1).max())
    if not fastest > 0.0 or not sizes[k] * interval > ABRUPT * fastest:
        return None
    return (
        f"At t = {t[k]:.6g} the acceleration is {sizes[k]:.3g} and would change the velocities by more than their "
        "largest value within one step: no step follows it. Compute the motion again with smaller steps, and compare."
    )
