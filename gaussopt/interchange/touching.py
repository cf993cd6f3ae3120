"""Closed contacts as entries of step data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Vector


def touching(
    rows: NDArray[np.float64], bias: NDArray[np.float64], mu: Vector, v: Vector, at_rest: float
) -> dict[str, Any]:
    """Return step data of the contacts that open no faster than `at_rest`, m/s; slip slower than this counts as zero.

    Contacts without effect, whose normal rows are zero, are left out.

    rows : (k, 3, n), the normal first; bias : (k, 3), derivative of the rows along v, times v; mu : (k,)
    """
    u = rows @ v
    closed = (u[:, 0] <= at_rest) & rows[:, 0].any(axis=1)
    if not closed.any():
        return {}
    rows, bias, u = rows[closed], bias[closed], u[closed]
    slip = u[:, 1:] * (np.linalg.norm(u[:, 1:], axis=1) > at_rest)[:, None]
    return {
        "J_N": rows[:, 0], "zeta_N": bias[:, 0], "J_T": rows[:, 1:], "zeta_T": bias[:, 1:], "v_T": slip,
        "mu": mu[closed],
    }  # fmt: skip
