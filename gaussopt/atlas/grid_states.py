"""The states of a grid: parameters and step data at every point, and their variants by slip signs and loads."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gaussopt.atlas.stacked_steps import ContactStack
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput, NotAccepted, UnknownName
from gaussopt.core.step_data import StepData
from gaussopt.modelling.parameter_grid import AtlasGrid, Axis, default_grid
from gaussopt.modelling.problem import Problem


def grid_of(entry: Problem) -> AtlasGrid:
    """Return the grid that the problem defines, or a default grid made from its parameters."""
    return entry.atlas or default_grid(entry.parameters)


def chosen_axes(entry: Problem, axes: Sequence[Axis] | None) -> tuple[Axis, ...]:
    """Return the axes of a scan, by default those of the problem's grid; raises UnknownName and BadInput."""
    known = {p.name for p in entry.parameters}
    fixed = set(entry.values)
    chosen = tuple(axes) if axes is not None else tuple(a for a in grid_of(entry).axes if a.name not in fixed)
    for i, axis in enumerate(chosen):
        if axis.name in ("q0", "v0"):
            raise BadInput(f"An axis cannot be {axis.name!r}, which names the whole start; choose another parameter.")
        if axis.name not in known:
            raise UnknownName(f"parameter of {entry.name}", axis.name, known)
        if axis.name in {a.name for a in chosen[:i]}:
            raise BadInput(f"The axis {axis.name!r} is given twice.")
    return chosen


def values_at(entry: Problem, axes: Sequence[Axis], point: Sequence[float]) -> dict[str, float]:
    """Return the parameters at a point of the axes, and those that the rules of the grid compute from them."""
    held = {a.name for a in axes} | set(entry.values)
    values = dict(zip((a.name for a in axes), map(float, point), strict=True))
    full = {**entry.parameter_values, **values}
    return values | {name: float(rule(full)) for name, rule in grid_of(entry).follow.items() if name not in held}


def states(entry: Problem, axes: Sequence[Axis]) -> Iterator[StepData]:
    """Yield the step data of all points of the axes; the last axis varies fastest."""
    points = math.prod(len(a.values) for a in axes)
    for point in itertools.product(*(a.values for a in axes)):
        yield state(entry, values_at(entry, axes, point), points)


def state(entry: Problem, values: Mapping[str, float], points: int = 1) -> StepData:
    """Return the step data of the start state with these parameters; if `points` is large, code is compiled first."""
    at = entry.at(**values) if values else entry
    at.system.prepare(points)
    try:
        return at.system.evaluate(0.0, at.q0, at.v0)
    except (BadInput, NotAccepted) as error:
        place = ", ".join(f"{k} = {v:.6g}" for k, v in values.items())
        raise type(error)(f"{str(error)[:-1]}; at {place} of the atlas.") from None


def closed_sliding(step: StepData, slip: NDArray[np.int_], load: Vector | None = None) -> StepData:
    """Return the step with all contacts closed and sliding, as `ContactStack` studies it.

    The signs `slip`, (k,), replace those of v_T in the plane; in space a sign of -1 reverses v_T. Contacts without slip
    get the speed 1 m/s. A `load`, (k,) in m/s^2, replaces the gap accelerations without contact forces.
    """
    plane = step.v_T.shape[1] == 1
    speed = np.where(step.speed > 0, step.speed, 1.0)
    signs = slip.astype(np.float64)[:, None]
    found = replace(step, v_T=signs * (speed[:, None] if plane else step.v_T), g_N=None, gdot_N=None, arithmetic=None)
    if load is None:
        return found
    bias = ContactStack.of([found], np.ones((1, step.k), dtype=int)).bias[0]
    return replace(found, zeta_N=found.zeta_N + load - bias)
