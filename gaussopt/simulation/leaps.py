"""Forces and drives that change in time while the steps of a motion do not look.

Two motions that both step over a short pulse agree, and so do the estimates that rest on them. So the equations are
looked at between the steps, with the state of each step held: what time alone changes there is integrated twice, as
the method sees it and at many more instants.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import GaussoptError
from gaussopt.core.stepper import Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.integration.looks import Steps

PROBES = 2048
"""Instants at which the equations are looked at, about: what lasts a thousandth of a motion is seen."""

_Step = tuple[float, float, Vector, Vector]
"""Begin and length, s, place and mean velocity."""

ENOUGH = 1024
"""Steps from which on the motion itself looks as often."""


def missed_in_time(system: AbstractSystem, method: Stepper, begin: float, q0: Vector, steps: Steps) -> float:
    """The change of velocity that the steps miss because time passes between them, relative to the largest velocity.

    It is that of forces in the mass norm, and that of rows along them; `begin` (s) and q0 (n,) are the start. It is
    zero where nothing is known of it, and of motions of many steps, which look as often themselves.
    """
    if not (system.depends_on_time and steps.whole):
        return 0.0
    t, q = steps.states()
    t, q = np.append(begin, t), np.vstack((q0, q))
    spans = np.diff(t)
    kept = spans > 0
    if not kept.any() or len(t) > ENOUGH:
        return 0.0
    starts, spans = t[:-1][kept], spans[kept]
    v, middle = np.diff(q, axis=0)[kept] / spans[:, None], 0.5 * (q[:-1] + q[1:])[kept]
    fast = np.abs(v).max(axis=0)
    nodes = _simpson(2 * math.ceil(PROBES / len(spans) / 2) + 2)
    seen = _lobatto(3 if method.stages <= 4 else method.stages + 1)
    total, worst = np.zeros(0), 0.0
    try:
        for there in zip(starts, spans, middle, v, strict=True):
            missed = _changes(system, there, *nodes) - _changes(system, there, *seen)
            total = total + missed if len(total) else missed
            if missed.any():
                worst = max(worst, _share(system, total, fast, there))
    except GaussoptError:
        return 0.0  # a state between two steps, which the motion never was in
    return worst


def _changes(system: AbstractSystem, there: _Step, nodes: Vector, weights: Vector) -> Vector:
    """Impulses of the forces and changes of the rows over a step, at a state that is held, (n + m,)."""
    begin, h, q, v = there
    found = [system.evaluate(float(begin + h * x), q, v) for x in nodes]
    values = np.array([np.concatenate((step.Q - step.h, step.gamma)) for step in found])
    change: Vector = h * (weights @ (values - values[0]))
    return change


def _share(system: AbstractSystem, missed: Vector, fast: Vector, there: _Step) -> float:
    """The change of velocity that impulses make, relative to the largest velocity, in the mass norm or along a row."""
    begin, _, q, v = there
    step = system.evaluate(float(begin), q, v)
    mass = np.sqrt(np.maximum(step.M.diagonal(), 0.0))
    heavy, size = mass > 0, float((mass * fast).max())
    pushed = float((np.abs(missed[: step.n][heavy]) / mass[heavy]).max(initial=0.0))
    driven, along = np.abs(missed[step.n :]), np.abs(step.J) @ fast
    of_rows = float(np.divide(driven, along, out=np.zeros(step.m), where=along > 0).max(initial=0.0))
    return max(pushed / size if size > 0 else 0.0, of_rows)


@cache
def _simpson(parts: int) -> tuple[Vector, Vector]:
    """Return nodes and weights of Simpson's rule on `parts` equal parts, an even number, of the unit interval."""
    weights = np.full(parts + 1, 2.0)
    weights[1::2] = 4.0
    weights[[0, -1]] = 1.0
    return np.linspace(0.0, 1.0, parts + 1), weights / (3.0 * parts)


@cache
def _lobatto(count: int) -> tuple[Vector, Vector]:
    """Nodes of Chebyshev's extrema on the unit interval, and weights that are exact for polynomials through them."""
    nodes = 0.5 - 0.5 * np.cos(np.pi * np.arange(count) / (count - 1))
    powers = np.vander(2.0 * nodes - 1.0, increasing=True).T
    moments = [0.0 if k % 2 else 1.0 / (k + 1) for k in range(count)]
    weights: Vector = np.linalg.solve(powers, np.array(moments))
    return nodes, weights
