"""The certificate of a sparse convex quadratic program, in time and memory proportional to its number of entries.

With the active rows as equalities and no other rows, the program has the form of a step (M = P, h = q), whose
certificate bounds the distance to the minimiser on these rows. This point is the minimiser of the whole program if its
multipliers have the signs that the bounds allow and every other row holds. The active rows are guessed from the duals
and corrected, as in `qp_polish`. If they are not found, no distance is proved, and residuals alone are judged.
Contradictions below FEASIBLE times the largest bound are only detected by the certificate of dense programs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy

from gaussopt.certificates.bilateral_sparse import certify_sparse
from gaussopt.certificates.qp_base import CANCELLED, JudgedPoint, Sizes, towards_bounds
from gaussopt.certificates.qp_verdict import contradiction, least_violation, rounding
from gaussopt.core.arrays import Vector
from gaussopt.core.programs import QP
from gaussopt.core.status import Status
from gaussopt.core.step_data import sparse_step
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.linalg.dense import EPS, largest, mass_scale, ratio
from gaussopt.linalg.sparse_saddle_point import Saddle, equilibrate_sparse

ENTRIES = 1_000_000
"""Matrices of at most this number of entries are certified as dense ones, because that certificate proves more."""

ROUNDS = 12
"""Maximum number of changes of the set of active rows; each costs a factorisation."""

ACCURACY = 1e-14
"""The refinement of a minimiser on given rows ends when a correction has at most this relative size."""

FEASIBLE = 1e-9
"""A contradiction counts as proved only if it violates rows or bounds, scaled to size 1, by more than this."""

LARGEST_SEARCH = 1000
"""Maximum number of iterations in the search for the point whose size sets the scales."""

NEAR = 1e-7
"""A row counts as active if its distance to a bound, relative to the bound and the row's terms, is at most this."""

SHARE = rounding(8) / DEFAULT_TOLERANCE
"""No coordinate gets a scale below this fraction of the largest; smaller differences are rounding errors."""

MOST_CHECKED = 4_000_000
"""A contradiction is checked, by singular values, only if its rows have at most this number of entries."""


def dense_if_small(qp: QP) -> QP:
    """Return a program in dense form if it has inequalities and small matrices, otherwise unchanged."""
    if not qp.sparse or qp.equalities_only or qp.n * max(qp.n, qp.m) > ENTRIES:
        return qp
    return replace(qp, P=qp.P.toarray(), A=qp.A.toarray())  # type: ignore[attr-defined]


class Nearest(NamedTuple):
    """The minimiser near a point x, its duals and its distance.

    Attributes
    ----------
    verdict : verdict on a program with equalities only; for other programs solved, by assumption
    bound : bound on ||x - x*||_P; infinite if none is proved
    y : (m,), duals of the minimiser, or of x if it was not found
    place : (n,), the minimiser of a program with inequalities; None if it was not found
    """

    verdict: Status
    bound: float
    y: Vector
    place: Vector | None = None


def nearest_minimiser(qp: QP, x: Vector, y: Vector | None) -> Nearest:
    """Find the minimiser near a point x, (n,), from the given duals, (m,), or from estimated duals."""
    if qp.equalities_only:
        return Nearest(*on_rows(qp, x))
    y = _held_duals(qp, x) if y is None else y
    found = _pushing(qp, *_guess(qp, x, y))
    if found is None:
        return Nearest(Status.SOLVED, math.inf, y)
    held, upper, place = found
    verdict, bound, part = on_rows(_restricted(qp, held, upper), x)
    duals = np.zeros(qp.m)
    duals[held] = part
    return Nearest(Status.SOLVED, bound if verdict is Status.SOLVED else math.inf, duals, place)


def on_rows(qp: QP, x: Vector | None) -> tuple[Status, float, Vector]:
    """Certify a program without inequalities as if it were a step; return verdict, error in the P-norm, and duals."""
    step = sparse_step(qp.P, qp.q, np.zeros(qp.n), qp.A, qp.l, 0.0, None, None)  # type: ignore[arg-type]
    c = certify_sparse(step, x, None)
    # A program with several minimisers counts as solved.
    verdict = Status.SOLVED if c.verdict is Status.ACCELERATION_NOT_UNIQUE else c.verdict
    return verdict, c.error_bound if math.isfinite(c.rounding_floor) else math.inf, np.nan_to_num(c.lam)


@dataclass(frozen=True, slots=True)
class SparseSizes(Sizes):
    """Scales of a sparse program; unlike in `Sizes`, that of a row depends on `reach` only if its bound is zero."""

    def row(self, bound: Vector) -> Vector:
        wide = self.absolute_A @ self.reach
        return np.where(bound != 0, np.abs(bound) + self.absolute_A @ np.abs(self.x), wide)

    @property
    def pull(self) -> Vector:
        return _felt(self.absolute_A, self.force)


class SparsePoint(JudgedPoint):
    """A point of a sparse program.

    Attributes
    ----------
    y : (m,), the given duals, or those of the minimiser near the point
    """

    def __init__(self, qp: QP, x: Vector, y: Vector | None) -> None:
        self.qp, self.x, self.z = qp, x, qp.A @ x
        self.assumed, self._known, best, minimiser = nearest_minimiser(qp, x, y)
        self.y = towards_bounds(qp, best if y is None else y)
        self._absolute_A = abs(qp.A)
        self.noise_z = 4 * EPS * (self._absolute_A @ np.abs(x))
        self._d, _ = equilibrate_sparse(qp.P, qp.A, mass_scale(qp.P))  # type: ignore[arg-type]
        self._diagonal = qp.P.diagonal()
        if minimiser is not None:
            self._place = np.minimum(np.abs(x), np.abs(minimiser)) * np.sign(x)
        else:
            self._place = x if math.isfinite(self._known) else _placed(qp, x, self.y, self._d)

    def sizes(self, y: Vector, force: Vector) -> Sizes:
        qp, d, diagonal = self.qp, self._d, self._diagonal
        total = abs(qp.P) @ np.abs(self._place) + np.abs(qp.q) + self._absolute_A.T @ np.abs(y)
        massed = diagonal > 0
        own = np.where(massed, total / np.where(massed, diagonal, 1.0), _room(qp))
        reach = np.maximum(np.abs(self._place), own)
        if not qp.q.any() and not qp.l.any():
            reach = np.maximum(reach, 1.0)
        reach = np.maximum(reach, SHARE * largest(reach / d) * d)
        total = np.maximum(total, diagonal * reach)
        total = np.maximum(total, SHARE * largest(total * d) / d)
        return SparseSizes(self._absolute_A, self._place, y, total, reach, 0.0, SHARE)

    def lengths(self, r: Vector, noise: Vector, sizes: Sizes) -> tuple[float, float]:
        proved = (self._diagonal > 0).all() and math.isfinite(self._known)
        return (self._known, 0.0) if proved else (0.0, float(np.abs(r) @ sizes.reach))

    def losses(self, gap: float, sloped: float, y: Vector, slack: Vector, sizes: Sizes) -> tuple[float, ...]:
        qp, place = self.qp, self._place
        named = np.where(y > 0, qp.l, np.where(y < 0, qp.u, self.z))
        energy = 0.5 * float(place @ (qp.P @ place))
        whole = energy + float(np.abs(qp.q) @ sizes.reach)  # zero if q and P x vanish
        stake = max(energy + float(np.abs(qp.q) @ np.abs(place)), SHARE * (whole or 1.0))
        least = max(energy + float(np.abs(y) @ np.abs(named)), SHARE * stake)
        return ratio(gap, stake), CANCELLED * ratio(gap, least)

    def distance(self, y: Vector, sizes: Sizes, noise: Vector, slack: Vector) -> tuple[float, float]:
        roots = np.sqrt(np.maximum(self._diagonal, 0.0)) * sizes.reach
        return self._known, max(self.norm, float(np.linalg.norm(roots)))

    def verdict(self, y: Vector, sizes: Sizes, violation: Vector, nearest: Vector) -> Status:
        hidden = (violation > rounding(self.qp.n) * np.abs(nearest)).any() and not self.qp.equalities_only
        return classify_sparse(self.qp) if hidden else self.assumed


def _placed(qp: QP, x: Vector, y: Vector, d: Vector) -> Vector:
    """Return the least-norm point, (n,), with the P x of the given x and with active rows at their bounds.

    Where an entry of x is smaller, it is used instead. The norm is measured in the units d, (n,), of the coordinates.
    """
    held = qp.equality | (y != 0)
    goal = np.concatenate((qp.P @ x, np.where(y < 0, qp.u, qp.l)[held]))
    if not np.isfinite(goal).all():
        return x
    both: Any = scipy.sparse.vstack((scipy.sparse.csr_array(qp.P), scipy.sparse.csr_array(qp.A)[held]))
    both = scipy.sparse.csr_array(both @ scipy.sparse.diags_array(d))
    length = np.sqrt(both.multiply(both).sum(axis=1))
    unit = 1.0 / np.where(length > 0, length, 1.0)
    scaled = scipy.sparse.diags_array(unit) @ both
    place = d * scipy.sparse.linalg.lsmr(scaled, unit * goal, atol=1e-12, btol=1e-12, maxiter=LARGEST_SEARCH)[0]
    return np.where(np.abs(place) < np.abs(x), place, x)


def classify_sparse(qp: QP) -> Status:
    """Return the verdict on a program: solved unless linear programs prove it infeasible or unbounded.

    A program is infeasible if rows contradict each other. It is unbounded if P w + q = A^T y has no solution (w, y) in
    which y has the signs that the bounds allow (Farkas).
    """
    if qp.equalities_only:
        return on_rows(qp, None)[0]
    if _contradictory(qp.A, qp.l, qp.u):
        return Status.INFEASIBLE
    lower, upper = np.isfinite(qp.l), np.isfinite(qp.u)
    eye = scipy.sparse.eye_array(qp.m, format="csr")[lower ^ upper]
    P, A = scipy.sparse.csr_array(qp.P), scipy.sparse.csr_array(qp.A)
    none = scipy.sparse.csr_array((eye.shape[0], qp.n))
    rows: Any = scipy.sparse.block_array([[-P, A.T], [none, eye]], format="csr")
    signs = lower[lower ^ upper]
    low = np.concatenate((qp.q, np.where(signs, 0.0, -np.inf)))
    high = np.concatenate((qp.q, np.where(signs, np.inf, 0.0)))
    return Status.UNBOUNDED if _contradictory(rows, low, high) else Status.SOLVED


def _contradictory(A: Any, l: Vector, u: Vector) -> bool:
    """Return whether l <= A x <= u is proved to have no solution."""
    A = scipy.sparse.csr_array(A)
    largest = abs(A).max(axis=1).toarray().ravel()
    empty = largest == 0
    if (empty & ((l > 0) | (u < 0))).any():
        return True
    scale = 1.0 / np.where(empty, 1.0, largest)
    scaled = scipy.sparse.csr_array(scipy.sparse.diags_array(scale) @ A)
    ends = np.abs(np.concatenate((l * scale, u * scale)))
    unit = max(float(ends[np.isfinite(ends)].max(initial=0.0)), 1e-300)
    _, t, y = least_violation(scaled, l * scale / unit, u * scale / unit)
    part = np.flatnonzero(y) if y is not None else np.zeros(0, dtype=int)
    if y is None or t <= FEASIBLE or not len(part):
        return False
    rows = scaled[part]
    columns = np.unique(rows.indices)
    if len(part) * len(columns) > MOST_CHECKED:
        return False
    excess = contradiction(rows[:, columns].toarray(), l[part] * scale[part], u[part] * scale[part], y[part])
    return excess is not None and excess[0] > rounding(_longest_row(rows))


def _felt(A: Any, force: Vector) -> Vector:
    """Return `Sizes.pull`, (m,), for a sparse matrix A; `force` holds the sums of the absolute forces."""
    A = scipy.sparse.csr_array(A)
    least, filled = np.zeros(A.shape[0]), np.diff(A.indptr) > 0
    duals = np.where(A.data != 0, force[A.indices] / np.where(A.data != 0, np.abs(A.data), 1.0), np.inf)
    if filled.any():
        least[filled] = np.minimum.reduceat(duals, A.indptr[:-1][filled])
    return np.where(np.isfinite(least), least, 0.0)


def _room(qp: QP) -> Vector:
    """Return the least |bound| / |entry| of the rows that contain each coordinate, (n,); 0 without finite bounds."""
    A: Any = scipy.sparse.coo_array(qp.A)
    ends = np.maximum(*(np.where(np.isfinite(b), np.abs(b), 0.0) for b in (qp.l, qp.u)))[A.row]
    counts, way = (A.data != 0) & (ends > 0), np.full(qp.n, np.inf)
    np.minimum.at(way, A.col[counts], ends[counts] / np.abs(A.data[counts]))
    return np.where(np.isfinite(way), way, 0.0)


def _longest_row(A: Any) -> int:
    """Return the number of terms in the longest row."""
    return int(np.diff(A.indptr).max(initial=0))


def _restricted(qp: QP, held: Any, upper: Any) -> QP:
    """Return the program with the active rows only, as equalities at their bounds."""
    bound = np.where(upper, qp.u, qp.l)[held]
    return QP(qp.P, qp.q, scipy.sparse.csr_array(qp.A)[held], bound, bound)


def _guess(qp: QP, x: Vector, y: Vector) -> tuple[Any, Any]:
    """Guess the active rows, and which inequalities are active at their upper bounds; return two masks, (m,)."""
    named = np.where(y > 0, qp.l, np.where(y < 0, qp.u, np.inf))
    unit = abs(qp.A) @ (1.0 / np.sqrt(np.where(qp.P.diagonal() > 0, qp.P.diagonal(), np.inf)))
    slack = np.abs(qp.A @ x - named)
    push = np.isfinite(named) & (np.abs(y) * np.where(unit > 0, unit, 1.0) ** 2 > slack)
    return qp.equality | push, push & (y < 0) & ~qp.equality


def _held_duals(qp: QP, x: Vector) -> Vector:
    """Return duals, (m,), of the rows active at x, by least squares; duals of the wrong sign are set to zero."""
    z, terms = qp.A @ x, abs(qp.A) @ np.abs(x)
    at_lower, at_upper = (np.abs(z - b) <= NEAR * (np.abs(b) + terms) for b in (qp.l, qp.u))
    held = np.flatnonzero(qp.equality | at_lower | at_upper)
    y = np.zeros(qp.m)
    A: Any = scipy.sparse.csr_array(qp.A)[held]
    y[held] = scipy.sparse.linalg.lsmr(A.T, qp.P @ x + qp.q, atol=1e-12, btol=1e-12)[0]
    wrong = ~qp.equality & (((y > 0) & ~at_lower) | ((y < 0) & ~at_upper))
    return np.where(wrong, 0.0, y)


def _pushing(qp: QP, held: Any, upper: Any) -> tuple[Any, Any, Vector] | None:
    """Return masks of the active rows and of those at upper bounds, and the minimiser; None if it is not found."""
    A: Any = scipy.sparse.csr_array(qp.A)
    level, size = 1e3 * rounding(_longest_row(A)), abs(A)
    for _ in range(ROUNDS):
        bound = np.where(upper, qp.u, qp.l)
        saddle = Saddle.of(qp.P, A[held])  # type: ignore[arg-type]
        if saddle is None:
            return None
        found = saddle.solve(-qp.q, bound[held], ACCURACY)
        y = np.zeros(qp.m)
        y[held] = found.y
        x, s = found.x, qp.A @ found.x
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            return None
        forces = abs(qp.P) @ np.abs(x) + np.abs(qp.q) + size.T @ np.abs(y)
        pulls = held & ~qp.equality & (np.where(upper, y, -y) > level * _felt(A, forces))
        terms = size @ np.abs(x)
        broken = ~held & (np.maximum(qp.l - s, s - qp.u) > level * (terms + np.abs(np.where(s < qp.l, qp.l, qp.u))))
        if not pulls.any() and not broken.any():
            missed = np.abs(s - bound)[held] > level * (terms + np.abs(bound))[held]
            return None if missed.any() else (held, upper, x)
        held = (held & ~pulls) | broken
        upper = np.where(broken, s > qp.u, upper)
    return None
