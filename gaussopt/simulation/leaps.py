"""Estimate of changes of forces and drives that the steps of a method miss, because they occur between evaluations.

If two motions both step over a short pulse, they agree, so that their difference does not show the error. Therefore the
equations are also evaluated within the steps, at one fixed state per step: their change with time is integrated by two
quadratures, with the nodes at which the method evaluates them and with many more nodes.
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
"""Approximate number of instants at which the equations are evaluated: a pulse of a thousandth of a motion is seen."""

_Step = tuple[float, float, Vector, Vector]
"""Begin and length of a step, s, its mean position and its mean velocity."""

ENOUGH = 1024
"""Number of steps above which the motion itself evaluates the equations often enough."""


def missed_in_time(system: AbstractSystem, method: Stepper, begin: float, q0: Vector, steps: Steps) -> float:
    """Return the velocity change that the steps miss because the equations change in time, over the largest velocity.

    Changes due to forces are measured in the mass norm, and those due to rows along the row; `begin` (s) and q0 (n,)
    are the start. The result is also zero if it cannot be computed, or if the motion has very many steps.
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
        return 0.0  # the equations may be undefined at the mean position of a step
    return worst


def _changes(system: AbstractSystem, there: _Step, nodes: Vector, weights: Vector) -> Vector:
    """Return the integral over a step of the changes of Q - h and gamma since its start, at a fixed state, (n + m,)."""
    begin, h, q, v = there
    found = [system.evaluate(float(begin + h * x), q, v) for x in nodes]
    values = np.array([np.concatenate((step.Q - step.h, step.gamma)) for step in found])
    change: Vector = h * (weights @ (values - values[0]))
    return change


def _share(system: AbstractSystem, missed: Vector, fast: Vector, there: _Step) -> float:
    """Return the largest velocity change due to the impulses `missed`, relative to the largest velocity."""
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
    """Return nodes and weights of Simpson's rule on the unit interval in `parts` equal parts, an even number."""
    weights = np.full(parts + 1, 2.0)
    weights[1::2] = 4.0
    weights[[0, -1]] = 1.0
    return np.linspace(0.0, 1.0, parts + 1), weights / (3.0 * parts)


@cache
def _lobatto(count: int) -> tuple[Vector, Vector]:
    """Return the Chebyshev extrema on the unit interval, and weights exact for polynomials of degree below `count`."""
    nodes = 0.5 - 0.5 * np.cos(np.pi * np.arange(count) / (count - 1))
    powers = np.vander(2.0 * nodes - 1.0, increasing=True).T
    moments = [0.0 if k % 2 else 1.0 / (k + 1) for k in range(count)]
    weights: Vector = np.linalg.solve(powers, np.array(moments))
    return nodes, weights
