"""A point that falls along a row, by plain functions, each of which a test may put another one in place of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gaussopt as go

Function = Callable[..., Any]

SMOOTH: dict[str, Function] = {
    "mass": lambda t, q, v: np.eye(2),
    "force": lambda t, q, v: np.array([0.0, -9.81]),
    "inertia": lambda t, q, v: np.zeros(2),
    "equality": lambda t, q, v: (np.array([[1.0, 0.0]]), np.zeros(1)),
    "position": lambda t, q: q[:1].copy(),
    "velocity": lambda t, q, v: v[:1].copy(),
    "energy": lambda t, q, v: (0.5 * float(v @ v), 9.81 * float(q[1])),
}
CONTACTS: dict[str, Function] = {
    "contacts": lambda t, q, v: {
        "g_N": q[1:] + 5.0, "J_N": [[0.0, 1.0]], "zeta_N": [0.0], "J_T": [[[1.0, 0.0]]], "zeta_T": [[0.0]], "mu": 0.3,
    },
}  # fmt: skip


def system_of(parts: dict[str, Function]) -> go.System:
    """The system of these functions."""
    parts = dict(parts)
    return go.System(parts.pop("mass"), parts.pop("force"), parts.pop("equality"), name="mine", **parts)  # type: ignore[arg-type]


def leave(*_: Any) -> Any:
    """Try to end the process."""
    raise SystemExit(3)
