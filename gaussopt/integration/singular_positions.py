"""Whether a motion came close to a singular position, where the rows of its constraints depend on each other.

There mechanisms may have several branches, the equations of motion do not say which one goes on, and a step of any
method may jump from one to the other while every residual is small. Watched is at every recorded state how far a row is
from those before it: as the sine of an angle (`Certificate.independence`), and beside its usual distance in this
motion, because rows may vanish. Between two states it is estimated: these numbers fall and rise about linearly at a
singular position that is passed, so that the lines through the two states before and the two behind meet below the true
value. A position that is approached and left within less than two recorded intervals on either side is missed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.step_data import Matrix, Vector

SINGULAR = 0.01
"""Independence of rows below which a position counts as nearly singular: an angle of 0.6 degrees."""

NEAR = 0.3
"""Independence at a recorded state below which what lies between it and its neighbour is estimated."""

REDUNDANT = 1e-7
"""Usual distance of a row from the others, relative to the largest, below which it is redundant in any position."""

SAMPLES = 101
"""Instants of a motion, evenly spaced, at which the usual distance of a row is looked up."""

ABRUPT = 1.0
"""Change of velocity within one step, relative to the largest velocity of the motion, that no step resolves."""


class SingularWatch:
    """How close rows were to those before them at recorded states, collected while a motion is computed.

    Everything is kept as reciprocal squares, as certificates have it: of the sine, (N,), and of distances, (N, m).
    """

    def __init__(self) -> None:
        self._rows: list[tuple[float, float, Vector]] = []
        self._blocks: list[tuple[Vector, Vector, Matrix]] = []

    def note(self, t: float, independence: float, closeness: Vector | None) -> None:
        """One recorded state, its independence as it is; nothing where its rows are not known."""
        if closeness is not None and len(closeness):
            self._rows.append((t, independence**-2 if independence > 0.0 else math.inf, closeness))

    def extend(self, times: Vector, angles: Vector, closeness: Matrix) -> None:
        """Several recorded states."""
        if closeness.shape[1]:
            self._pack()
            self._blocks.append((times, angles, closeness))

    def _pack(self) -> None:
        if self._rows:
            times, angles, closeness = zip(*self._rows, strict=True)
            m = max(len(x) for x in closeness)
            same = [x if len(x) == m else np.full(m, np.nan) for x in closeness]
            self._blocks.append((np.array(times), np.array(angles), np.array(same)))
            self._rows = []

    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def sentence(self) -> str | None:
        """What is to be said of the motion, None where it kept away from singular positions."""
        self._pack()
        if not self._blocks:
            return None
        t, angles, closeness = (
            self._blocks[0] if len(self._blocks) == 1 else map(np.concatenate, zip(*self._blocks, strict=True))
        )
        usual = usual_closeness(t, closeness)
        # The largest numbers tell most motions from those that must be looked at more closely.
        if angles.max() < NEAR**-2 and (closeness.max(axis=0) < NEAR**-2 * usual).all():
            return None
        return singular_sentence(t, np.fmin(angles**-0.5, beside_usual(closeness, usual)))


def usual_closeness(t: Vector, closeness: Matrix) -> Vector:
    """The median over the time of a motion, (m,); infinite for rows that are redundant all the time."""
    even = np.searchsorted(t, np.linspace(t[0], t[-1], SAMPLES)).clip(0, len(t) - 1)
    middle = np.sort(closeness[even], axis=0)[SAMPLES // 2]  # a NaN is the largest
    return np.where(middle < REDUNDANT**-2 * middle.min(), middle, np.inf)


def beside_usual(closeness: Matrix, usual: Vector) -> Vector:
    """Distances of rows beside their usual ones, the smallest of each state: (N, m) to (N,).

    A row that vanishes has no direction, and is no row any more. Rows that are redundant all the time do not count.
    """
    counted = np.isfinite(usual)
    return np.asarray(np.fmin.reduce((usual[counted] / closeness[:, counted]) ** 0.5, axis=1, initial=np.inf))


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
        f"independent to {least:.2g} only (in unit masses, beside their usual length). Mechanisms may have "
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
    most, least = math.sqrt(a.shape[1]) * max(float(a.max()), -float(a.min())), max(float(v.max()), -float(v.min()))
    if most * interval <= ABRUPT * least:
        return None
    sizes: NDArray[np.float64] = np.linalg.norm(a, axis=1)
    k, fastest = int(sizes.argmax()), float(np.linalg.norm(v, axis=1).max())
    if not fastest > 0.0 or not sizes[k] * interval > ABRUPT * fastest:
        return None
    return (
        f"At t = {t[k]:.6g} the acceleration is {sizes[k]:.3g} and would change the velocities by more than their "
        "largest value within one step: no step follows it. Compute the motion again with smaller steps, and compare."
    )
