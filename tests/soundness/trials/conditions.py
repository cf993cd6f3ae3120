"""Which programs are well-conditioned: those that an exact solver has no excuse to refuse.

The condition number of the linear system that the true solution satisfies, after scaling coordinates by their masses
and rows to unit length, is at most 1e6; exact dependencies of rows do not count.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from soundness.judge import bilateral, convex

from .findings import condition, scaled, units

WELL = 1e6
LARGEST = 1e145
"""Accelerations beyond this have no squares, and no norms."""


def well(kind: str, truth: Any) -> int:
    """0 or whether a program is solvable and well-conditioned: 2 if its mass matrix is too, otherwise 1."""
    if truth.verdict != bilateral.SOLVED:
        return 0
    with np.errstate(all="ignore"):
        try:
            if kind in ("step", "contact step"):
                if max(map(abs, truth.a[0].floats() if kind == "contact step" else truth.a.floats())) > LARGEST:
                    return 0
                if condition(truth.step) > WELL or (kind == "contact step" and not _contact(truth)):
                    return 0
                return 2 if np.linalg.cond(scaled(truth.step)[0]) <= WELL else 1
            if kind == "lcp":
                return 2 * (truth.unique and _basis(truth.M, truth.parts[0].vertices[0], units(truth.M)))
            return 2 * _convex(truth)
        except (np.linalg.LinAlgError, OverflowError, ZeroDivisionError):
            return 0


def _contact(truth: Any) -> bool:
    if not truth.forces_unique or not all(g > 0 for g in truth.weights):
        return False
    rows = [row[:-1] for row in truth.laws.rows]
    return _basis(rows, truth.parts[0].vertices[0], [1.0 / g for g in truth.weights])


def _basis(M: Any, z: Any, d: list[float]) -> bool:
    """The matrix of the pairs that push, beside unit vectors."""
    A = np.array([[float(v) * a * b for v, b in zip(row, d, strict=True)] for row, a in zip(M, d, strict=True)])
    push = np.array([t != 0 for t in z.top])
    B = np.where(push[None, :], A, np.eye(len(A)))
    size = np.abs(B).max(axis=0)
    return bool((size > 0).all() and np.isfinite(B).all() and np.linalg.cond(B / size) <= WELL)


def _convex(truth: convex.Truth) -> bool:
    n = len(truth.q)
    x = [truth.x.fraction(i) for i in range(n)]
    d = [1.0 / math.sqrt(float(truth.P[i][i])) if truth.P[i][i] > 0 else 0.0 for i in range(n)]
    if not all(d):
        return False
    P = np.array([[float(v) * a * b for v, b in zip(row, d, strict=True)] for row, a in zip(truth.P, d, strict=True)])
    active = []
    for row, l, u in zip(truth.A, truth.l, truth.u, strict=True):
        s = sum((a * v for a, v in zip(row, x, strict=True)), 0)
        if s in (l, u) and any(row):
            unit = np.array([float(a) * b for a, b in zip(row, d, strict=True)])
            active.append(unit / np.linalg.norm(unit))
    A = np.array(active).reshape(-1, n)
    values = np.linalg.svd(np.block([[P, A.T], [A, np.zeros((len(A), len(A)))]]), compute_uv=False)
    values = values[values > 1e-13 * values[0]]
    return truth.definite and float(values[0] / values[-1]) <= WELL
