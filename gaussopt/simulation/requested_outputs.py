"""Quantities that `simulate` computes from the recorded states of a motion at the user's request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.foreign import WRITES, Changed, call, call_with_copies, raised
from gaussopt.core.output import Output
from gaussopt.core.system import AbstractSystem
from gaussopt.integration.trajectory import COLUMNS, CONTACT_COLUMNS, Trajectory
from gaussopt.symbolic.of_state import of_state


def requested(given: Any, system: AbstractSystem, t: float, q: Vector, v: Vector) -> dict[str, Output]:
    """Return outputs by name: each given as an Output, a function of (t, q, v) or a SymPy expression.

    Raises BadInput for other values, unknown symbols, taken names, and functions that fail at the start t, q, v.
    """
    if not isinstance(given, Mapping):
        raise BadInput(f"outputs is {given!r:.60}; give functions of (t, q, v), SymPy expressions or outputs by name.")
    names = system.coordinates(len(q))
    taken = {"t", *names, *(f"v_{x}" for x in names), *(f"a_{x}" for x in names), *COLUMNS, *CONTACT_COLUMNS}
    found: dict[str, Output] = {}
    for name, x in given.items():
        if not (isinstance(name, str) and name.strip()) or name in taken:
            raise BadInput(f"An output is called {name!r}; give a text that names no coordinate and no other column.")
        if isinstance(x, Output):
            found[name] = x
        elif hasattr(x, "free_symbols"):
            found[name] = _expression(name, x, system, names)
        elif callable(x):
            x = _reading(name, x)
            first = call(f"Output {name!r} at t = {t:g}", lambda x=x: np.asarray(x(t, q, v), dtype=np.float64))
            found[name] = _function(x, np.atleast_1d(first))
        else:
            raise BadInput(f"Output {name!r} is {x!r:.60}; give a function of (t, q, v), an expression or an Output.")
    return found


def _reading(name: str, given: Any) -> Any:
    """Return the function with copies of the state, so that it cannot change the motion; it raises BadInput."""

    def value(t: float, q: Vector, v: Vector) -> Any:
        try:
            return call_with_copies(given, t, q, v)
        except Changed:
            raise BadInput(f"Output {name!r} {WRITES}.") from None

    return value


def _expression(name: str, given: Any, system: AbstractSystem, names: tuple[str, ...]) -> Output:
    what = f"Output {name!r}"
    of_state([given], names, system.parameters, what)  # refuses unknown symbols before the motion
    return Output({"": ""}, lambda x: of_state([given], names, x.parameters, what)(x.t, x.q.T, x.v.T))


def _function(given: Any, first: Vector) -> Output:
    """Return the output of a function whose value at the start is `first`, of one or several numbers."""
    if first.ndim != 1:
        raise BadInput(f"A function of outputs returns an array of shape {first.shape}; return numbers, (k,).")
    parts = [""] if len(first) == 1 else [str(i + 1) for i in range(len(first))]

    def values(motion: Any) -> Any:
        rows = [np.ravel(given(t, q, v)) for t, q, v in zip(motion.t.tolist(), motion.q, motion.v, strict=True)]
        return np.reshape(rows, (-1, len(parts))).T

    return Output(dict.fromkeys(parts, ""), values)


def with_outputs(motion: Trajectory, outputs: Mapping[str, Output]) -> Trajectory:
    """Return the motion with its outputs; values that cannot be computed are NaN, and a warning says why."""
    values: dict[str, Vector] = dict(motion.outputs)
    units: dict[str, str] = dict.fromkeys(values, "")
    told: list[str] = []
    for name, output in outputs.items():
        try:
            found = output.of(name, motion)
        except Exception as error:  # a failed output must not lose the motion
            found = {key: np.full(len(motion.t), np.nan) for key in output.names(name)}
            told.append(f"Output {name!r} could not be computed: {raised(error)}")
        values |= found
        units |= output.names(name)
    if not values:
        return motion
    return replace(
        motion, outputs=values, meta={**motion.meta, "output_units": units}, warnings=(*motion.warnings, *told),
        message=" ".join([motion.message, *told]),
    )  # fmt: skip
