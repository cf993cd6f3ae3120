"""Quadratic programs that several test files share."""

from __future__ import annotations

from typing import Any

import numpy as np

import gaussopt as go


def program(P: Any, q: Any, A: Any = (), l: Any = (), u: Any = ()) -> go.QP:
    P = np.array(P, dtype=float)
    rows = np.array(A, dtype=float).reshape(-1, len(P))
    return go.QP(P, np.array(q, dtype=float), rows, np.array(l, dtype=float), np.array(u, dtype=float))


def equality_program(seed: int, n: int = 5, m: int = 3) -> tuple[go.QP, np.ndarray]:
    rng = np.random.default_rng(seed)
    root, A = rng.standard_normal((n, n)), rng.standard_normal((m, n))
    P, q, b = root @ root.T + np.eye(n), rng.standard_normal(n), rng.standard_normal(m)
    # Independent of any solver: null space by QR, then the reduced system.
    Q, R = np.linalg.qr(A.T, mode="complete")
    particular, Z = Q[:, :m] @ np.linalg.solve(R[:m].T, b), Q[:, m:]
    x = particular - Z @ np.linalg.solve(Z.T @ P @ Z, Z.T @ (P @ particular + q))
    return go.QP(P, q, A, b, b), x
