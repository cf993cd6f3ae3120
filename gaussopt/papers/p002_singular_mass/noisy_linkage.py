"""Integrate the four-bar linkage through its singular position with inexact accelerations, many runs at once.

The equations are derived by hand: the third angle follows from the first and is eliminated together with the second
constraint row. A run has left its branch once its two cranks differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.modelling.problem import problem
from gaussopt.papers.evidence.runge_kutta import march

STEP = 2e-3
"""Step size of RK4 in the runs with noise, s."""

END = 1.0
"""End of the runs, s; the linkage passes theta1 = pi/2 at 0.58 s."""

NOISE = (1e-3, 1e-2)
"""Standard deviations of the errors of the accelerations, rad/s^2."""

OFF = 0.1
"""Difference |theta1 - theta2|, rad, above which a run has left its branch."""

RUNS = 500
"""Number of runs for each constraint row and each standard deviation."""

SEED = 13

Rates = Callable[[Matrix], Matrix]
"""Function that maps angles and rates of the cranks, stacked as (4, S), to their accelerations (2, S)."""

Errors = Callable[[Matrix], Any]
"""Function that maps angles and rates to errors of the accelerations, (2, S) or an array that broadcasts to it."""


P = problem("four-bar").parameter_values
"""Parameters of the registered problem by name."""

M1, M2, MGL = 4 * P["m"] * P["l"] ** 2 / 3, P["m"] * P["l"] ** 2 / 3, P["m"] * P["g"] * P["l"]
"""Generalised masses of the two cranks, kg m^2, and m g l, the weight of a bar times the lever arm l, N m."""


def printed(state: Matrix) -> Matrix:
    """Solve M a = Q + lam J^T with the paper's row J = (l cos(theta1), -l cos(theta2)); lam is eliminated first."""
    c1, c2, s1, s2 = *np.cos(state[:2]), *np.sin(state[:2])
    f1, f2 = P["psi"] - 1.5 * MGL * c1, -0.5 * MGL * c2
    gamma = s1 * state[2] ** 2 - s2 * state[3] ** 2
    lam = (gamma - c1 * f1 / M1 + c2 * f2 / M2) / (c1 * c1 / M1 + c2 * c2 / M2)
    return np.array([(f1 + c1 * lam) / M1, (f2 - c2 * lam) / M2])


def regular(state: Matrix) -> Matrix:
    """Solve M a = Q + lam J^T with the row J = (1, -1); lam is eliminated first."""
    c1, c2 = np.cos(state[:2])
    a = (P["psi"] - 1.5 * MGL * c1 - 0.5 * MGL * c2) / (M1 + M2)
    return np.array([a, a])


PRINTED, REGULAR = "printed row", "regular row"
ROWS: dict[str, Rates] = {PRINTED: printed, REGULAR: regular}


def states(rates: Rates, dt: Any, steps: int, error: Errors, count: int) -> Iterator[Matrix]:
    """Yield the states, (4, S), first at rest at 60 degrees, then after every step of RK4; runs may differ in `dt`.

    `error` is called once for every acceleration that RK4 evaluates.
    """
    start = np.zeros((4, count))
    start[:2] = np.pi / 3
    motion = march(lambda _, s: np.concatenate((s[2:], rates(s) + error(s))), start, dt)
    with np.errstate(all="ignore"):  # a run may overflow, which is no error
        yield from islice(motion, steps + 1)


def apart(state: Matrix) -> Vector:
    """Return |theta1 - theta2| in rad, (S,); infinite where a run has overflowed."""
    with np.errstate(all="ignore"):
        gap = np.abs(state[0] - state[1])
    return np.where(np.isfinite(gap), gap, np.inf)


def end(rates: Rates, dt: Any, steps: Any, error: Errors, count: int) -> Vector:
    """Return |theta1 - theta2| at the end of each run, (S,); runs may differ in step size and number of steps."""
    last = np.zeros((4, count))
    for k, state in enumerate(states(rates, dt, int(np.max(steps)), error, count)):
        last = np.where(k == steps, state, last)
    return apart(last)


@dataclass(frozen=True, slots=True)
class NoiseResult:
    """Runs with noisy accelerations: instants, (N,), s, and |theta1 - theta2|, (runs, N), rad.

    The angle is infinite once a run has overflowed.
    """

    t: Vector
    gaps: Matrix

    @property
    def left(self) -> int:
        """Number of runs that have left the branch."""
        return int((self.gaps[:, -1] > OFF).sum())


def noisy(row: str, amplitude: float, count: int, admissible: bool = False) -> NoiseResult:
    """Integrate by RK4 up to END, with an independent Gaussian error on each acceleration, in `count` runs.

    The amplitude is the standard deviation in rad/s^2. If `admissible` the errors of all three angles are projected
    onto the accelerations that the printed rows allow.
    """
    random = np.random.default_rng(SEED)

    def error(state: Matrix) -> Matrix:
        if not admissible:
            return np.asarray(amplitude * random.standard_normal((2, count)))
        e = amplitude * random.standard_normal((3, count))
        # Make the errors satisfy the rows: project them onto the kernel of (l c1, -l c2, 0) and (1, 0, 1).
        c1, c2 = np.cos(state[:2])
        kernel = np.array([c2, c1, -c2])
        return np.asarray((kernel * ((kernel * e).sum(axis=0) / (kernel * kernel).sum(axis=0)))[:2])

    found = [apart(s) for s in states(ROWS[row], STEP, round(END / STEP), error, count)]
    return NoiseResult(np.linspace(0.0, END, len(found)), np.array(found).T)
