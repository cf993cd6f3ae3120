"""Reference answers of quadratic programs in extended precision, to see how far answers are from them in truth.

Written without gaussopt's certificates, which it is to judge. The rows that push are guessed from an answer and
corrected; the optimality conditions on them are a linear system, solved by double factors and refined with residuals in
extended precision until nothing changes. A reference counts if it meets every row and every sign of a force to rounding
of a double, which makes it the minimiser of a program that differs by that rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lu_factor, lu_solve

import gaussopt as go

ROUNDS, STEPS = 60, 100
"""Changes of the rows that push, and steps of refinement, at most."""

SHIFT = 1e-11
"""Of the diagonal of the factorised system, beside entries near one; refinement takes it out again."""

FINE = 1e-13
"""Size of what counts as met beside the terms of a row and the largest unknown, or beside the largest force."""


@dataclass(frozen=True)
class Reference:
    """The minimiser in extended precision, (n,), and by how much it moved in the last step, in the norm of P."""

    x: Any
    moved: float


def curved(qp: go.QP) -> bool:
    """Whether P is positive definite on all directions that the equalities leave: Cholesky after scaling."""
    E = qp.A[qp.equality]
    size = np.linalg.norm(E, axis=1)
    E = E[size > 0] / size[size > 0, None]
    d = 1.0 / np.sqrt(np.where(qp.P.diagonal() > 0, qp.P.diagonal(), 1.0))
    B = (E * d) / np.maximum(np.linalg.norm(E * d, axis=1), 1e-300)[:, None]
    K = qp.P * d * d[:, None] + B.T @ B
    try:
        L = np.linalg.cholesky(K).diagonal()
    except np.linalg.LinAlgError:
        return False
    return bool(L.min() > 1e-6 * L.max())


def reference(qp: go.QP, answers: list[tuple[Any, Any]]) -> Reference | None:
    """The minimiser, from the first answer (x, y) from which it is found; None if from none."""
    for x, y in answers:
        found = _from(qp, x, y)
        if found is not None:
            return found
    return None


def _from(qp: go.QP, x: Any, y: Any) -> Reference | None:
    z, size = qp.A @ x, np.abs(qp.A)
    terms, forces = (
        size @ np.abs(x) + size.max(axis=1, initial=0.0) * np.abs(x).max() + 1e-300,
        np.abs(qp.P @ x) + np.abs(qp.q) + size.T @ np.abs(y),
    )
    # A row pushes if its force is more of the forces than its slack is of its terms.
    felt = np.abs(y) * (size / np.where(forces > 0, forces, 1.0)).max(axis=1, initial=0.0)
    at_upper = np.where(qp.equality, False, y < 0)
    slack = np.abs(np.where(at_upper, qp.u, qp.l) - z) / terms
    held = qp.equality | ((felt > slack) & (y != 0))
    seen: set[bytes] = set()
    for _ in range(ROUNDS):
        found = _on(qp, held, np.where(at_upper, qp.u, qp.l), x)
        if found is None:
            return None
        x_new, y_new, moved = found
        z, low, high = qp.A @ x_new, qp.l - qp.A @ x_new, qp.A @ x_new - qp.u
        terms = size @ np.abs(x_new) + size.max(axis=1, initial=0.0) * np.abs(x_new).max() + 1e-300
        broken = ~held & (np.maximum(low, high) > FINE * terms)
        most = float(np.abs(y_new).max(initial=0.0))
        wrong = held & ~qp.equality & (np.where(at_upper, y_new, -y_new) > FINE * most)
        if not broken.any() and not wrong.any():
            return Reference(x_new, moved)
        key = held.tobytes() + at_upper.tobytes()
        if key in seen:  # one change at a time
            amount = np.where(broken, np.maximum(low, high) / terms, np.where(wrong, np.abs(y_new) / most, 0.0))
            worst = np.arange(qp.m) == int(np.argmax(amount))
            broken, wrong = broken & worst, wrong & worst
        seen.add(key)
        at_upper = np.where(broken, high > low, at_upper)
        held = (held & ~wrong) | broken
    return None


def _on(qp: go.QP, held: Any, bound: Any, x: Any) -> tuple[Any, Any, float] | None:
    """Minimiser on the rows that are met, its forces, and the length of the last correction in the norm of P."""
    rows = np.flatnonzero(held)
    A, b, n = qp.A[rows], bound[rows], qp.n
    d = 1.0 / np.sqrt(np.maximum(qp.P.diagonal(), 1e-8 * max(float(qp.P.diagonal().max()), 1e-300)))
    e = 1.0 / np.maximum(np.linalg.norm(A * d, axis=1), 1e-300)
    K = np.zeros((n + len(rows), n + len(rows)))
    K[:n, :n], K[n:, :n] = qp.P * d * d[:, None], A * d * e[:, None]
    K[:n, n:] = K[n:, :n].T
    factors = lu_factor(K + np.diag(np.where(np.arange(len(K)) < n, SHIFT, -SHIFT)))
    wide = K.astype(np.longdouble)
    right = np.concatenate((-(qp.q * d), b * e)).astype(np.longdouble)
    found = np.concatenate((np.asarray(x / d, dtype=np.longdouble), np.zeros(len(rows), dtype=np.longdouble)))
    last = np.inf
    for _ in range(STEPS):
        change = lu_solve(factors, np.asarray(right - wide @ found, dtype=float))
        if not np.isfinite(change).all():
            return None
        found = found + change
        move = change[:n]
        length = float(np.sqrt(max(move @ (K[:n, :n] @ move), 0.0)))
        if length >= 0.5 * last and length <= 1e-13 * (1.0 + float(np.linalg.norm(np.asarray(found[:n], dtype=float)))):
            break
        last = length
    else:
        return None
    y = np.zeros(qp.m, dtype=np.longdouble)
    y[rows] = -found[n:] * e
    return found[:n] * d, y, length


def distance(qp: go.QP, x: Any, to: Any) -> float:
    """||x - to||_P in extended precision."""
    moved = np.asarray(x, dtype=np.longdouble) - to
    return float(np.sqrt(max(moved @ (qp.P.astype(np.longdouble) @ moved), np.longdouble(0))))
