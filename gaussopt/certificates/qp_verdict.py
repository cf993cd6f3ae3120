"""Decide whether a convex quadratic program has a minimiser, from the program alone.

Rows contradict each other if some y with A^T y = 0 has y^T b > 0, where b_i is the bound selected by the sign of y_i
(Farkas). The objective of a feasible program is unbounded if no multipliers mu balance q along the directions Z without
curvature, that is if Z^T A^T mu = Z^T q contradicts the signs of mu; this is decided in the same way.

A contradiction counts if it exceeds rounding of the bounds with y_i != 0: y^T b > rounding * sum |y_i b_i|. This rule
does not depend on units, on other rows, or on any solver's answer. Linear programs find y, and it is then checked
whether y is a proof, in rational arithmetic if few rows take part. Because linear programs are solved to absolute
tolerances, they are solved again for the remaining violation, scaled to size 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from gaussopt.certificates.qp_scaling import Scaled, units
from gaussopt.core.arrays import Matrix, Vector, is_sparse
from gaussopt.core.programs import QP
from gaussopt.core.status import Status
from gaussopt.linalg.dense import EPS, WIDE_EPS, least_norm

ROUNDS = 8
"""Maximum number of linear programs; each reduces the violation that the previous program left."""

RATIONAL = 30
"""Maximum number of rows in a contradiction that is checked in rational arithmetic."""

SUPPORT = 1e-8
"""Multipliers of a linear program up to this size, relative to the largest, count as zero."""

_FAR = 1e15
"""Bounds further away than this, relative to the remaining violation, are left out of a linear program."""

CORRECTIONS = 8
"""Maximum number of least-squares corrections towards a point that satisfies every row."""


def rounding(n: int) -> float:
    """Return the relative error that counts as rounding in sums of n terms."""
    return 16 * (n + 4) * EPS


@dataclass(frozen=True, slots=True)
class Feasibility:
    """Whether l <= A x <= u has a solution (None if the linear programs did not decide), and the proof.

    x, (n,), satisfies every row up to rounding of its bound; y, (m,), are multipliers that prove a contradiction.
    """

    possible: bool | None
    x: Vector | None = None
    y: Vector | None = None


def classify(qp: QP) -> Status:
    """Return solved if a dense program has a minimiser, otherwise infeasible or unbounded."""
    scaled = Scaled.of(qp).qp
    if feasibility(scaled.A, scaled.l, scaled.u).possible is False:
        return Status.INFEASIBLE
    if not held_where_flat(scaled, flat_directions(scaled.P)):
        return Status.UNBOUNDED
    return Status.SOLVED


def flat_directions(P: Matrix) -> Matrix:
    """Return an orthonormal basis, (n, k), of the directions without curvature; P has diagonal entries near 1 or 0."""
    massed = P.diagonal() > 0
    values, V = np.linalg.eigh(P[np.ix_(massed, massed)])
    # Entries at rounding level become zero, because a large force times such an entry would be a spurious slope.
    V, flat = np.where(np.abs(V) > rounding(len(V)), V, 0.0), values <= 64 * len(P) * EPS
    if massed.all():
        return V[:, flat]
    inner = np.zeros((len(P), len(values)))
    inner[massed] = V
    return np.hstack((np.eye(len(P))[:, ~massed], inner[:, flat]))


def held_where_flat(qp: QP, Z: Matrix) -> bool:
    """Return whether multipliers of the right signs balance q along the directions Z; True if undecided."""
    if not Z.shape[1]:
        return True
    level = rounding(qp.n)
    slope, size = Z.T @ qp.q, np.abs(Z).T @ np.abs(qp.q)
    lower, upper = np.isfinite(qp.l), np.isfinite(qp.u)
    use = lower | upper
    turn = (qp.A[use] @ Z).T
    turn = np.where(np.abs(turn) > level * (np.abs(qp.A[use]) @ np.abs(Z)).T, turn, 0.0)
    lower, upper = lower[use], upper[use]
    signed = lower ^ upper
    rows = np.vstack((turn, np.eye(len(lower))[signed]))
    # The slope has rounding errors relative to its terms, which may cancel.
    low = np.concatenate((slope - level * size, np.where(lower, 0.0, -np.inf)[signed]))
    high = np.concatenate((slope + level * size, np.where(upper, 0.0, np.inf)[signed]))
    return feasibility(rows, low, high).possible is not False


def feasibility(A: Matrix, l: Vector, u: Vector) -> Feasibility:
    """Find a point that satisfies the rows, or multipliers that prove that no such point exists."""
    m, n = A.shape
    empty = ~A.any(axis=1)
    wrong = empty & ((l > 0) | (u < 0))
    if wrong.any():
        return Feasibility(False, y=np.where(wrong, np.where(l > 0, 1.0, -1.0), 0.0))
    used = ~empty & (np.isfinite(l) | np.isfinite(u))
    if not used.any():
        return Feasibility(True, x=np.zeros(n))
    d, row = units(np.zeros(n), A[used], np.zeros(n))
    with np.errstate(over="ignore"):
        found = _search(A[used] * d * row[:, None], l[used] * row, u[used] * row)
    y = None
    if found.y is not None:
        y = np.zeros(m)
        y[used] = found.y * row
    return Feasibility(found.possible, None if found.x is None else found.x * d, y)


def largest_bound(l: Vector, u: Vector) -> float:
    """Return the largest absolute value of a finite bound."""
    ends = np.abs(np.concatenate((l, u)))
    return float(ends[np.isfinite(ends)].max(initial=0.0))


def meeting(A: Matrix, l: Vector, u: Vector, x: Any) -> Any:
    """Return a point near x, (n,), that satisfies every row to rounding of its bound, computed in extended precision.

    Return None if none is found. The point proves that the rows do not contradict each other, because for multipliers
    with A^T y = 0, y^T b is at most the sum of |y_i| times the violation of row i, at any point. Double precision
    would not suffice, because the terms of A x may be large relative to the bounds.
    """
    wide, x = A.astype(np.longdouble), x.astype(np.longdouble)
    size, level, blur = np.abs(wide), rounding(A.shape[1]), (A.shape[1] + 2) * WIDE_EPS
    # A residual may be as large as the rounding errors of its terms, but not larger than those of the largest bound.
    most = level * largest_bound(l, u)
    if not most:
        return np.zeros_like(x)
    held = l == u
    for _ in range(CORRECTIONS):
        z = wide @ x
        if not np.isfinite(z).all():
            return None
        bound = np.where(z < l, l, np.where(z > u, u, z))
        miss = bound - z
        terms = size @ np.abs(x)
        # If the bound of a row is zero, its terms may be mere rounding errors, left by corrections of other rows.
        terms = np.where(bound == 0, terms.max(initial=0.0), terms)
        broken = (miss != 0) & (np.abs(miss) > level * np.abs(bound) + np.minimum(blur * terms, most))
        if not broken.any():
            return x
        held = held | broken
        x = x + least_norm(A[held], np.asarray(miss[held], dtype=np.float64))
    return None


def _search(A: Matrix, l: Vector, u: Vector) -> Feasibility:
    """Reduce the largest violation by linear programs until every row holds or a contradiction is proved."""
    x = np.zeros(A.shape[1], dtype=np.longdouble)
    level = rounding(A.shape[1])
    wide = A.astype(np.longdouble)
    for _ in range(ROUNDS):
        met = meeting(A, l, u, x)
        if met is not None:
            return Feasibility(True, x=np.asarray(met, dtype=np.float64))
        z = wide @ x
        low, high = np.asarray(l - z, dtype=np.float64), np.asarray(u - z, dtype=np.float64)
        unit = float(np.maximum(np.maximum(low, -high), 0.0).max())
        step, t, y = least_violation(A, low / unit, high / unit)
        if step is None or y is None:
            return Feasibility(None)
        if t > 0:
            excess = contradiction(A, l, u, y)
            if excess is not None:
                return Feasibility(excess[0] <= level, y=excess[1] if excess[0] > level else None)
        if t > 0.5:  # the last program made no progress
            break
        x = x + unit * step
    return Feasibility(None)


def least_violation(A: Any, low: Vector, high: Vector) -> tuple[Vector | None, float, Vector | None]:
    """Minimise t >= 0 subject to low - t <= A s <= high + t; return s, t and the multipliers of the rows."""
    from scipy.optimize import linprog

    m, n = A.shape
    lower, upper = np.isfinite(low) & (low > -_FAR), np.isfinite(high) & (high < _FAR)
    wide = -np.ones((int(lower.sum() + upper.sum()), 1))
    if is_sparse(A):
        from scipy.sparse import block_array, csr_array

        matrix: Any = block_array(
            [[-A[lower], csr_array(wide[: lower.sum()])], [A[upper], csr_array(wide[lower.sum() :])]]
        )
    else:
        matrix = np.hstack((np.vstack((-A[lower], A[upper])), wide))
    limits = np.concatenate((-low[lower], high[upper]))
    try:
        found = linprog(
            np.append(np.zeros(n), 1.0), matrix, limits, bounds=[(None, None)] * n + [(0, None)], method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )  # fmt: skip
    except ValueError:  # linprog rejects some numbers, such as huge ones
        return None, 0.0, None
    if found.status != 0 or found.x is None:
        return None, 0.0, None
    force = -np.asarray(found.ineqlin.marginals)
    y = np.zeros(m)
    y[lower] += force[: int(lower.sum())]
    y[upper] -= force[int(lower.sum()) :]
    return found.x[:n], float(found.x[n]), y


def contradiction(A: Matrix, l: Vector, u: Vector, y: Vector) -> tuple[float, Vector] | None:
    """Return the size y^T b / sum |y_i b_i| of the contradiction that the multipliers y prove, and corrected y, (m,).

    The multipliers are first corrected such that A^T y = 0, exactly if few rows take part. Return None without a proof.
    """
    y = np.where(np.abs(y) > SUPPORT * np.abs(y).max(initial=0.0), y, 0.0)
    part = np.flatnonzero(y)
    if not len(part):
        return None
    exact = _exact_dependency(A[part]) if len(part) <= RATIONAL else None
    if exact is not None:
        if sum(float(value) * y[i] for value, i in zip(exact, part, strict=True)) < 0:
            exact = [-value for value in exact]
        return _excess_exact(exact, l, u, part, len(y))
    U, s, _ = np.linalg.svd(A[part])
    free = U[:, int((s > rounding(len(part)) * s[0]).sum()) :]
    y[part] = free @ (free.T @ y[part])
    if (np.abs(A.T @ y) > rounding(len(part)) * (np.abs(A).T @ np.abs(y))).any():
        return None
    bound = np.where(y > 0, l, np.where(y < 0, u, 0.0))
    if not np.isfinite(bound).all():
        return None
    excess, size = float(y @ bound), float(np.abs(y) @ np.abs(bound))
    return (excess / size, y) if excess > 0 else None


def _excess_exact(exact: list[Fraction], l: Vector, u: Vector, part: Any, m: int) -> tuple[float, Vector] | None:
    bounds = [l[i] if value > 0 else u[i] if value < 0 else 0.0 for value, i in zip(exact, part, strict=True)]
    if not np.isfinite(bounds).all():
        return None
    terms = [value * Fraction(float(b)) for value, b in zip(exact, bounds, strict=True)]
    excess = sum(terms)
    if excess <= 0:
        return None
    y = np.zeros(m)
    largest = max(abs(value) for value in exact)
    y[part] = [float(value / largest) for value in exact]
    return float(excess / sum(abs(term) for term in terms)), y


def _exact_dependency(rows: Matrix) -> list[Fraction] | None:
    """Return the coefficients of the vanishing combination of rows if it is unique up to a factor, else None."""
    table = [[Fraction(value) for value in line] for line in rows.T.tolist()]
    lines: dict[int, list[Fraction]] = {}  # rows of the reduced echelon form, keyed by pivot column
    for column in range(len(rows)):
        found = next((line for line in table if line[column]), None)
        if found is None:
            continue
        table.remove(found)
        leading = [value / found[column] for value in found]
        table = [_without(column, line, leading) for line in table]
        lines = {pivot: _without(column, line, leading) for pivot, line in lines.items()} | {column: leading}
    if len(lines) != len(rows) - 1:
        return None
    free = next(column for column in range(len(rows)) if column not in lines)
    return [-lines[column][free] if column != free else Fraction(1) for column in range(len(rows))]


def _without(column: int, line: list[Fraction], leading: list[Fraction]) -> list[Fraction]:
    """Return `line` minus a multiple of `leading`, such that the entry in `column` becomes zero."""
    factor = line[column]
    return [a - factor * b for a, b in zip(line, leading, strict=True)] if factor else line
