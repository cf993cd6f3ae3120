"""Fingerprint of a problem from a file, whose code may read other files or import other modules."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from gaussopt.core.arrays import is_sparse
from gaussopt.core.errors import GaussoptError

SHARES = (0.0, 0.5, 1.0)
"""Fractions of t_end at which the equations are evaluated; the state at a fraction x is the start plus x times AWAY."""

AWAY = 0.1
"""Shift of all coordinates and velocities from their values at the start, at the fraction 1."""

DIGITS = 10
"""Number of significant digits that count; further digits depend on the machine."""


def fingerprint(entry: Any) -> str:
    """Return the SHA-256 of parameters, start, end, step and equations of a problem and of its cases and variants.

    Equations are identified by their generated source, if there is any, and by their values at three states.
    """
    variants = [entry, *(entry.at(variant=name) for name in entry.variants)]
    about = {
        "cases": {name: [dict(case.values), case.t_end] for name, case in entry.cases.items()},
        "models": [_model(model) for model in variants],
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _model(entry: Any) -> dict[str, Any]:
    return {
        "parameters": dict(entry.parameter_values), "t_end": entry.t_end, "dt": entry.dt, "q0": entry.q0.tolist(),
        "v0": entry.v0.tolist(), "events": [event.name for event in entry.user_events],
        "source": getattr(entry.system, "source", None), "values": list(_values(entry, entry.system)),
    }  # fmt: skip


def _values(entry: Any, system: Any) -> Iterator[Any]:
    for share in SHARES:
        away = AWAY * share
        try:
            step = system.evaluate(share * entry.t_end, entry.q0 + away, entry.v0 + away)
        except GaussoptError as error:  # not every state can be evaluated
            yield str(error)
            continue
        arrays = (
            step.M, step.h, step.Q, step.J, step.gamma, step.J_N, step.zeta_N, step.J_T, step.zeta_T, step.v_T, step.mu,
            step.g_N, step.gdot_N, step.e_N, step.e_T,
        )  # fmt: skip
        yield [None if x is None else [f"{value:.{DIGITS}g}" for value in _numbers(x)] for x in arrays]


def _numbers(x: Any) -> list[float]:
    """Return all entries of an array, or the stored entries of a sparse matrix."""
    return list((x.data if is_sparse(x) else x.ravel()).tolist())
