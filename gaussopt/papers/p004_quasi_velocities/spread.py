"""Drift of Routh's equations by RK4 with many step sizes, so that the pole lies at many positions within a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.papers.evidence.runge_kutta import march
from gaussopt.papers.p004_quasi_velocities.knife_edge import CASES, BladeBody, across, rk4
from gaussopt.papers.p004_quasi_velocities.pole import poles

STEP, WITHIN = 0.01, 0.05
"""Step size of the report's figures, s, and the largest relative difference between it and a random step size."""

ROWS = ("tan", "regular")
"""Names of the two constraint rows: the paper's and the regular one."""

SHOWN = (0.0099, 0.01, 0.0101)
"""Step sizes, s, that precede the random step sizes in `Drift.steps`."""

FAR = 0.1
"""Drift, m, from which on it is easy to see."""

PLACE = 0.25
"""Position of the first pole within its step, as a fraction of the step, in the study of the order of convergence."""

QUICK_END = {"NH-A": 4.0, "NH-B": 22.0}
"""Ends of quick runs, s; each case passes a pole before its end."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Errors of Routh's equations for one body and several steps of RK4, against quasi-velocities with equal steps.

    Attributes
    ----------
    steps : (S,), s
    position : (S,), largest error of a coordinate of the centroid until the end, m
    violation : (S,), largest velocity across the blade, m/s
    at : (K, S), largest error of a coordinate at each of K given instants, m
    """

    steps: Vector
    position: Vector
    violation: Vector
    at: Matrix


def drift(body: BladeBody, rates: str, steps: Vector, end: float, instants: Sequence[float] = ()) -> Drift:
    """Compare the motions by the rates "tan" or "regular" with those by quasi-velocities, for each step size."""
    many = replace(body, phi=np.full_like(steps, body.phi))
    runs = zip(march(getattr(many, rates), many.velocity, steps), march(many.quasi, many.omega, steps), strict=True)
    position, violation = np.zeros_like(steps), np.zeros_like(steps)
    at = np.full((len(instants), len(steps)), np.nan)
    nearest = np.rint(np.asarray(instants)[:, None] / steps)
    for k, (one, other) in enumerate(runs):
        inside = k * steps <= end + 1e-9
        if not inside.any():
            break
        off = np.abs(one[:3] - other[:3])[[0, 2]].max(axis=0)
        position = np.where(inside, np.fmax(position, off), position)
        violation = np.where(inside, np.fmax(violation, np.abs(across(one[None])[0])), violation)
        at = np.where(nearest == k, off, at)
    return Drift(steps, position, violation, at)


def predicted(body: BladeBody, steps: Vector, end: float) -> Vector:
    """Predict the position drift of the tan row, m, by the closed form in `pole`; the body must have no torque.

    After a pole at t_p with sin phi = s a residual omega3 remains. It moves the centroid by omega3 (s sin phi - 1) /
    phi' along x and, linearly in time, by -omega3 (s cos phi / phi' + t - t_p) along y; x' changes by s omega3 cos phi,
    which at later poles acts as a speed along the blade.
    """
    t = np.linspace(0.0, end, 1000)[:, None]
    phi = body.phi + body.turning * t
    x, y = np.zeros((2, len(t), len(steps)))
    before = np.zeros_like(steps)
    for p in poles(body, end):
        left = replace(p, speed=p.speed + before).left(steps)
        before += p.sine * left
        x += np.where(t > p.instant, left * (p.sine * np.sin(phi) - 1) / p.turning, 0.0)
        y -= np.where(t > p.instant, left * (p.sine * np.cos(phi) / p.turning + t - p.instant), 0.0)
    return np.asarray(np.maximum(np.abs(x), np.abs(y)).max(axis=0))


@dataclass(frozen=True, slots=True)
class Spread:
    """The drift of a case with one constraint row, for the step sizes SHOWN and random step sizes around STEP.

    Attributes
    ----------
    case, row, end : case, constraint row and end, s, of the motions
    drift : the drift with all step sizes
    law : the largest position drift, (S,), m, that the closed form predicts; empty for the regular row
    """

    case: str
    row: str
    end: float
    drift: Drift
    law: Vector

    @property
    def random(self) -> Vector:
        """Drift, m, with each random step size; the drifts with the step sizes SHOWN are omitted."""
        return self.drift.position[len(SHOWN) :]

    @property
    def lawful(self) -> Vector:
        """Drift, m, that the closed form in `pole` predicts for each random step size."""
        return self.law[len(SHOWN) :]

    def quantile(self, share: float) -> float:
        """Return a quantile of the drift, m, over the random step sizes."""
        return float(np.quantile(self.random, share))

    @property
    def median(self) -> float:
        """Median of the drift, m, over the random step sizes."""
        return self.quantile(0.5)

    @property
    def near(self) -> float:
        """Share of the random step sizes at which the drift is less than FAR."""
        return float((self.random < FAR).mean())

    @property
    def shown(self) -> dict[float, float]:
        """Position drift, m, for the step sizes SHOWN, by step size."""
        return dict(zip(SHOWN, map(float, self.drift.position), strict=False))

    @property
    def numbers(self) -> tuple[Any, ...]:
        """Row of the report's table on the spread of drifts."""
        law = float(np.median(self.lawful)) if len(self.law) else "–"
        quantiles = [self.quantile(q) for q in (0.0, 0.1, 0.5, 0.9, 1.0)]
        return (f"{self.case}, {self.row} row", self.end, len(self.random), *quantiles, law, self.near)


@cache
def measured(case: str, row: str, quick: bool, instants: Sequence[float] = ()) -> Spread:
    """Measure the drift in a case of the paper, with the "tan" or the "regular" constraint row and all step sizes."""
    body, end = CASES[case]
    end = QUICK_END[case] if quick else end
    # The regular row needs few steps, because its drift hardly depends on the step size.
    count = 20 if row == "regular" else 40 if quick else 200
    random = np.random.default_rng(4).uniform((1 - WITHIN) * STEP, (1 + WITHIN) * STEP, count)
    steps = np.concatenate((SHOWN, random))
    law = predicted(body, steps, end) if row == "tan" else np.zeros(0)
    return Spread(case, row, end, drift(body, row, steps, end, instants), law)


def crests(case: str, end: float) -> tuple[Vector, Vector]:
    """Return the instants, s, and values, m, of the maxima of x(t) by quasi-velocities with the step STEP."""
    body, _ = CASES[case]
    x = rk4(body.quasi, body.omega, STEP, round(end / STEP))[:, 0]
    at = np.flatnonzero((x[1:-1] > x[:-2]) & (x[1:-1] >= x[2:])) + 1
    return np.asarray(STEP * at, dtype=float), x[at]


@dataclass(frozen=True, slots=True)
class Crests:
    """The maxima of x(t), by instant and value, and the runs whose drift at these instants is `spread.drift.at`."""

    spread: Spread
    instants: Vector
    heights: Vector


def at_crests(case: str, quick: bool) -> Crests:
    """Find the maxima of x(t) in a case, and the drift of the motions with the tan row at these instants."""
    instants, heights = crests(case, QUICK_END[case] if quick else CASES[case][1])
    return Crests(measured(case, "tan", quick, tuple(instants)), instants, heights)


FORCES = {
    "NH-A": (BladeBody(), 3.0, (25, 50, 100, 200)),
    "NH-A without force": (BladeBody(F0=0.0), 3.0, (25, 50, 100, 200)),
    "NH-A with α = 0": (BladeBody(alpha=0.0), 3.0, (25, 50, 100, 200)),
    "NH-B": (CASES["NH-B"][0], 22.0, (500, 1000, 2000, 4000)),
}
"""By case: the body, the end of the motion, s, and the numbers of steps up to its first pole."""


def orders(quick: bool) -> dict[str, tuple[float, list[float]]]:
    """Return the force per mass along the blade at the first pole, m/s^2, and orders of the drift with the tan row."""
    found = {}
    for name, (body, end, counts) in FORCES.items():
        first = poles(body, end)[0]
        steps = first.instant / (np.array(counts[: 3 if quick else None]) + PLACE)
        off = drift(body, "tan", steps, end).position
        found[name] = first.rate, [float(o) for o in np.log(off[1:] / off[:-1]) / np.log(steps[1:] / steps[:-1])]
    return found
