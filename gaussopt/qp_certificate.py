"""How far a point is from the minimiser of a convex quadratic program, whoever computed it.

With duals y (estimated if none are given) and a feasible point x_f near x,

    1/2 ||x_f - x*||_P^2 <= gap = 1/2 x_f^T P x_f + q^T x_f - D(y),

so ||x - x*||_P <= ||x - x_f||_P + sqrt(2 gap) for positive definite P. For semidefinite P the gap bounds the loss of
the objective, f(x) - f* <= gap, and no distance is proved.

Every residual is judged in its own unit, so that neither units nor one large coefficient decide:

- a row by its bound and its terms |A| |x|; a row whose bound is zero, whose terms may all vanish, by what the forces
  on its coordinates could move them, X_j = (|P| |x| + |q|)_j / P_jj;
- a coordinate by its forces, |P| |x| + |q| + |A^T| |y|;
- a dual and the distance to the bound that it names, by the largest force on the row's coordinates and the row;
- the distance in the norm of P by ||x||_P, or coordinate by coordinate by X; the gap by the terms of the objective.

Parts of x and y that neither P nor the rows see (a motion along flat directions, opposite forces on equal rows) do not
count as size: a candidate cannot widen its own tolerance. All of it is done in units of `qp_scaling`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.certificate import DEFAULT_TOLERANCE
from gaussopt.linalg import EPS, cholesky, invert_lower, solve_lower
from gaussopt.programs import QP
from gaussopt.qp_scaling import Scaled
from gaussopt.qp_verdict import classify, flat_directions, rounding
from gaussopt.status import Status
from gaussopt.stepdata import Matrix, Vector

DOUBT = 1e-3
"""Relative residual above which a point fails at any sensible tolerance, whatever the program."""

SMALL = 1e-3
"""Share of ||x||_P by which a coordinate may be judged that has less: 1e-10 of the whole at the default tolerance."""

LARGEST = 1e300
"""Stands for a residual of something that has no size at all; finite, so that it can be recorded."""

NOT_PROVED = (
    "not proved: P is singular, so that no distance to a minimiser follows; the loss of the objective is at most "
    "objective_gap"
)


@dataclass(frozen=True, slots=True)
class QPCertificate:
    """What is proved about a point of a QP.

    Attributes
    ----------
    verdict : Status
        Of the program itself: solved (a minimiser exists), infeasible or unbounded.
    primal_residual : float
        Largest violation of l <= A x <= u.
    dual_residual : float
        Largest entry of P x + q - A^T y.
    complementarity : float
        Sum over rows of |y_i| times the distance to the bound that y_i names.
    error_bound : float
        On ||x - x*||_P; infinite if P is not positive definite or no bound was found.
    norm_x : float
        ||x||_P.
    relative_residual : float
        The largest of the residuals, each relative to the size of its own terms.
    y : (m,)
        The duals used.
    scale : float
        What the error bound is judged by, in its unit.
    objective_gap : float
        On f(x) - f*, in the unit of the objective; for singular P among the feasible points whose part in flat
        directions is no further away than the terms of x are large. Infinite if not known.
    """

    verdict: Status
    primal_residual: float
    dual_residual: float
    complementarity: float
    error_bound: float
    norm_x: float
    relative_residual: float
    y: Vector
    scale: float = 0.0
    objective_gap: float = math.inf

    @property
    def relative_error(self) -> float:
        """The error bound relative to its scale; infinite if there is none."""
        if not math.isfinite(self.error_bound):
            return math.inf
        return self.error_bound / self.scale if self.scale > 0 else 0.0 if self.error_bound == 0 else math.inf

    def passed(self, tolerance: float = DEFAULT_TOLERANCE) -> bool:
        """Whether the point is optimal within the (relative) tolerance."""
        if self.verdict is not Status.SOLVED or not math.isfinite(self.relative_residual):
            return False
        bounded = not math.isfinite(self.error_bound) or self.relative_error <= tolerance
        return self.relative_residual <= tolerance and bounded

    def failure(self, tolerance: float) -> str:
        """Why the point does not pass."""
        distance = f"error bound {self.error_bound:.3g}, relative {self.relative_error:.3g}"
        if not math.isfinite(self.error_bound):
            distance = f"no distance proved, loss of the objective at most {self.objective_gap:.3g}"
        return (
            f"The certificate fails: relative residual {self.relative_residual:.3g}, {distance}; the tolerance is "
            f"{tolerance:.3g}."
        )

    def to_mapping(self) -> dict[str, Any]:
        """For JSON."""

        def number(value: float) -> float | None:
            return value if math.isfinite(value) else None

        known = math.isfinite(self.error_bound) or not math.isfinite(self.relative_residual)
        return {
            "error_bound": number(self.error_bound),
            "relative_error": number(self.relative_error),
            "primal_residual": number(self.primal_residual),
            "dual_residual": number(self.dual_residual),
            "complementarity": number(self.complementarity),
            "relative_residual": number(self.relative_residual),
            "objective_gap": number(self.objective_gap),
            "verdict": str(self.verdict),
            **({} if known else {"distance": NOT_PROVED}),
        }


def certify_qp(
    qp: QP, x: Vector | None, y: Vector | None = None, tolerance: float = DEFAULT_TOLERANCE
) -> QPCertificate:
    """Certify a point, with the duals given or the best ones found.

    Parameters
    ----------
    qp : QP
    x : (n,) or None
        None only classifies the program.
    y : (m,) or None
        Duals with P x + q = A^T y, positive on lower bounds.
    """
    if x is None or not np.isfinite(x).all():
        return _no_point(qp)
    given = y is not None and bool(np.isfinite(y).all())
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if qp.sparse:
            return _certify_sparse(qp, x, y if given else None)
        scaled = Scaled.of(qp)
        point = _Point(scaled, x / scaled.d)
        if given:
            return point.certificate(np.asarray(y) / scaled.row)
        best: QPCertificate | None = None
        for duals in point.duals(tolerance):
            found = point.certificate(duals)
            if best is None or found.relative_residual < best.relative_residual or found.passed(tolerance):
                best = found
            if best.passed(tolerance):
                break
        assert best is not None
        return best


class _Point:
    """A point of a scaled program, and what its residuals are measured by."""

    def __init__(self, scaled: Scaled, x: Vector) -> None:
        self.scaled, self.qp, self.x = scaled, scaled.qp, x
        qp = self.qp
        self.curvature = _Curvature(qp.P)
        self.level = rounding(qp.n + qp.m)
        # Share of the largest scale of all coordinates that any has at least: what is below rounding is no error.
        self.share = self.level / DEFAULT_TOLERANCE
        self.z = qp.A @ x
        self.absolute_A, self.absolute_P = np.abs(qp.A), np.abs(qp.P)
        self.noise_z = (qp.n + 2) * EPS * (self.absolute_A @ np.abs(x))
        bounds = np.concatenate((qp.l[np.isfinite(qp.l)], qp.u[np.isfinite(qp.u)]))
        # Where nothing in the program gives x a size, 1 in the unit of each coordinate is one.
        sized = qp.q[qp.P.diagonal() > 0].any() or bounds.any()
        self.least = np.zeros(qp.n) if sized else 1.0 / scaled.d

    def duals(self, tolerance: float) -> Iterator[Vector]:
        """Duals of the rows that x rests on, for rows ever further away."""
        qp = self.qp
        lower, upper = (np.where(np.isfinite(b), np.abs(b), 0.0) for b in (qp.l, qp.u))
        gradient = qp.P @ self.x + qp.q
        weight = self.absolute_P @ np.abs(self.x) + np.abs(qp.q)
        reach = np.where(qp.P.diagonal() > 0, weight, 0.0) + np.abs(self.x) + self.least
        weight = np.maximum(weight, self.share * weight.max(initial=0.0))
        weight[weight == 0] = 1.0
        terms = self.absolute_A @ reach
        seen: set[bytes] = set()
        for near in (1e-13, 1e-10, 1e-7, math.sqrt(min(tolerance, 1e-4))):
            at_lower = self.z - qp.l <= near * (lower + np.where(lower > 0, np.abs(self.z), terms))
            at_upper = qp.u - self.z <= near * (upper + np.where(upper > 0, np.abs(self.z), terms))
            key = at_lower.tobytes() + at_upper.tobytes()
            if key not in seen:
                seen.add(key)
                yield _fit(qp.A / weight, gradient / weight, at_lower, at_upper)

    def certificate(self, y: Vector) -> QPCertificate:
        """What duals prove of the point."""
        qp, d, row = self.qp, self.scaled.d, self.scaled.row
        given = y * row
        # A dual that pulls towards a bound which does not exist is a dual residual, not a force; one of a row of
        # zeros is nothing.
        y = np.where((y > 0) & ~np.isfinite(qp.l), 0.0, np.where((y < 0) & ~np.isfinite(qp.u), 0.0, y))
        y = np.where(qp.A.any(axis=1), y, 0.0)
        force = qp.A.T @ y
        r = qp.P @ self.x + qp.q - force
        named = np.where(y > 0, qp.l, np.where(y < 0, qp.u, self.z))
        slack = np.abs(self.z - named)
        violation = np.maximum(np.maximum(qp.l - self.z, self.z - qp.u), 0.0)
        sizes = self._sizes(y, force)
        noise_r = (
            (qp.n + qp.m + 3) * EPS * (self.absolute_P @ np.abs(self.x) + np.abs(qp.q) + self.absolute_A.T @ np.abs(y))
        )
        worst = max(
            _largest(violation + np.where(violation > 0, self.noise_z, 0.0), sizes.row(violation_bound(qp, self.z))),
            _largest(np.abs(r) + np.where(r != 0, noise_r, 0.0), sizes.force),
            _largest(np.abs(y) * slack, np.maximum(np.abs(y), sizes.pull) * sizes.row(named)),
        )
        sloped, flat = self.curvature.lengths(r, noise_r, sizes.reach)
        pulled = float(np.abs(y) @ slack)
        gap = 0.5 * sloped * sloped + pulled + flat
        size = math.sqrt(max(float(sizes.x @ qp.P @ sizes.x), 0.0))
        bound, scale = math.inf, size
        if self.curvature.L is None:
            value = 0.5 * size * size + float(np.abs(qp.q) @ sizes.reach + qp.P.diagonal() @ self.least**2)
            value = value if value > 0 else 1.0  # a constant objective: its own unit
            worst = max(worst, _ratio(pulled + flat, value), _ratio(sloped, math.sqrt(2.0 * value)))
        else:
            bound = _error_bound(qp, self.curvature, self.x, y, noise_r)
            roots = np.sqrt(qp.P.diagonal()) * sizes.reach
            scale = max(
                size, float((sizes.reach / self.curvature.room).min()), self.share * float(np.linalg.norm(roots))
            )
        verdict = Status.SOLVED
        if worst <= DOUBT and self._doubtful(violation, sizes, bound, y):
            verdict = classify(qp)
        worst = LARGEST if worst > LARGEST else worst
        return QPCertificate(
            verdict,
            _most(violation / row),
            _most(np.abs(qp.P @ self.x + qp.q - force) / d),
            pulled,
            bound,
            math.sqrt(max(float(self.x @ qp.P @ self.x), 0.0)),
            worst if not math.isnan(worst) else math.inf,
            given,
            scale,
            gap if math.isfinite(gap) else math.inf,
        )

    def _doubtful(self, violation: Vector, sizes: _Sizes, bound: float, y: Vector) -> bool:
        """Whether residuals below the tolerance may hide that the program has no minimiser."""
        qp = self.qp
        allowed = self.level * sizes.row(violation_bound(qp, self.z)) + 2.0 * self.noise_z
        unsure = bool((violation > allowed).any()) and not math.isfinite(bound)
        if unsure and _project(qp, self.x, np.zeros(qp.m, dtype=bool), y) is None:
            return True
        Z = self.curvature.Z
        slope = np.abs(Z.T @ (qp.q - qp.A.T @ y))
        return bool((slope > self.level * (np.abs(Z).T @ (np.abs(qp.q) + self.absolute_A.T @ np.abs(sizes.y)))).any())

    def _sizes(self, y: Vector, force: Vector) -> _Sizes:
        qp = self.qp
        x, forces = self.x, np.zeros(qp.m)
        if self.curvature.L is None:  # without what neither P nor the rows that push can see
            seen = np.vstack((qp.P, qp.A[y != 0]))
            shortest = np.linalg.lstsq(seen, seen @ x, rcond=None)[0] if np.isfinite(seen @ x).all() else x
            x = np.where(np.abs(shortest) < np.abs(x), shortest, x)  # it may be longer in single coordinates
        if (pushing := y != 0).any() and np.isfinite(force).all():  # without forces that cancel each other
            forces[pushing] = np.linalg.lstsq(qp.A[pushing].T, force, rcond=None)[0]
        diagonal = qp.P.diagonal()
        total = self.absolute_P @ np.abs(x) + np.abs(qp.q)
        massed = diagonal > 0
        reach = np.where(massed, total / np.where(massed, diagonal, 1.0), self._held(x))
        reach = np.maximum(np.maximum(reach, np.abs(x)), self.least)
        energy = math.sqrt(max(float(x @ qp.P @ x), 0.0))
        part = np.where(massed, SMALL * energy / np.sqrt(np.where(massed, diagonal, 1.0)), 0.0)
        reach = np.maximum(np.maximum(reach, part), self.share * reach.max(initial=0.0))
        total = np.maximum(total + self.absolute_A.T @ np.abs(forces), diagonal * reach)
        total = np.maximum(total, self.share * total.max(initial=0.0))
        if not qp.q.any() and not (qp.P @ x).any():  # any feasible point will do; forces have no size but the unit's
            total = np.maximum(total, self.scaled.d)
        return _Sizes(self.absolute_A, x, forces, total, reach)

    def _held(self, x: Vector) -> Vector:
        """How far a coordinate could move without changing a row by more than the row's other terms, (n,)."""
        size = self.absolute_A
        own = size * np.abs(x)
        others = own.sum(axis=1)[:, None] - own
        holds = (size > 0) & (others > 1e-9 * own.sum(axis=1)[:, None])
        entry = np.where(size > 0, size, 1.0)
        room = np.where(holds, others / entry, np.inf).min(axis=0, initial=np.inf)
        # Failing that, what is rounding of the bounds.
        ends = np.maximum(*(np.where(np.isfinite(b), np.abs(b), 0.0) for b in (self.qp.l, self.qp.u)))[:, None]
        least = self.share * np.where((size > 0) & (ends > 0), ends / entry, np.inf).min(axis=0, initial=np.inf)
        return np.where(np.isfinite(room), room, np.where(np.isfinite(least), least, 0.0))


def violation_bound(qp: QP, z: Vector) -> Vector:
    """The bound of each row that z violates, or the row's value."""
    return np.where(z < qp.l, qp.l, np.where(z > qp.u, qp.u, z))


@dataclass(frozen=True, slots=True)
class _Sizes:
    """What residuals are measured by.

    Attributes
    ----------
    absolute_A : (m, n)
    x, y : (n,), (m,)
        Point and duals without what has no effect.
    force, reach : (n,)
        Sum of the absolute terms of stationarity, and how far they could move the coordinate.
    """

    absolute_A: Matrix
    x: Vector
    y: Vector
    force: Vector
    reach: Vector

    def row(self, bound: Vector) -> Vector:
        """Size of each row with respect to a bound, (m,)."""
        size = np.abs(bound)
        return np.where(size > 0, size + self.absolute_A @ np.abs(self.x), self.absolute_A @ self.reach)

    @property
    def pull(self) -> Vector:
        """The dual of each row that one of its coordinates would feel, (m,)."""
        felt = np.where(self.absolute_A > 0, self.force / np.where(self.absolute_A > 0, self.absolute_A, 1.0), np.inf)
        least = felt.min(axis=1, initial=np.inf)
        return np.where(np.isfinite(least), least, 0.0)


class _Curvature:
    """P split into directions with curvature and without.

    Attributes
    ----------
    L : (n, n) or None
        Cholesky factor of a definite P.
    Z : (n, k)
        Directions without curvature.
    root : (n, n - k)
        With sqrt(r^T P^+ r) = ||root^T r||.
    room : (n,)
        sqrt of the diagonal of P^+: how far a coordinate may be off where the norm of P is 1.
    """

    def __init__(self, P: Matrix) -> None:
        self.L = cholesky(P) if np.isfinite(P).all() else None
        if self.L is not None:
            self.Z = np.zeros((len(P), 0))
            self.root: Matrix = invert_lower(self.L).T
        else:
            self.Z = flat_directions(P)
            values, V = np.linalg.eigh(P)
            steep = values > 64 * len(P) * EPS
            self.root = V[:, steep] / np.sqrt(values[steep])
        self.room = np.linalg.norm(self.root, axis=1)

    def lengths(self, r: Vector, noise: Vector, reach: Vector) -> tuple[float, float]:
        """Norm of r in P^+, and what r may gain along flat directions within reach; each with its rounding."""
        steep = float(np.linalg.norm(self.root.T @ r)) + float(noise @ self.room) * (1.0 if r.any() else 0.0)
        flat = float((np.abs(self.Z) @ np.abs(self.Z.T @ r)) @ reach)
        return steep, flat


def _ratio(value: float, size: float) -> float:
    return value / size if size > 0 else 0.0 if value == 0 else math.inf


def _most(values: Vector) -> float:
    return float(values.max(initial=0.0))


def _largest(residual: Vector, size: Vector) -> float:
    """The largest residual relative to its size; infinite where something has no size."""
    relative = np.where(residual == 0, 0.0, residual / size)
    return float(relative.max(initial=0.0))


def _certify_sparse(qp: QP, x: Vector, y: Vector | None) -> QPCertificate:
    """The same of a sparse program, whose rows are equalities; the distance is that of the step's certificate."""
    verdict, known, best = _sparse(qp, x)
    y = best if y is None else y
    z, force, gradient = qp.A @ x, qp.A.T @ y, qp.P @ x + qp.q
    total = abs(qp.P) @ np.abs(x) + np.abs(qp.q) + abs(qp.A).T @ np.abs(y)
    diagonal = qp.P.diagonal()
    reach = np.maximum(np.abs(x), np.where(diagonal > 0, total / np.where(diagonal > 0, diagonal, 1.0), 0.0))
    if not qp.q.any() and not qp.l.any():
        reach = np.maximum(reach, 1.0)
    wide = abs(qp.A) @ reach
    rows = np.where(qp.l != 0, np.abs(qp.l) + abs(qp.A) @ np.abs(x), wide)
    violation, r = np.abs(z - qp.l), np.abs(gradient - force)
    roots = np.sqrt(np.maximum(diagonal, 0.0)) * reach
    share = rounding(8) / DEFAULT_TOLERANCE
    total = np.maximum(np.maximum(total, diagonal * reach), share * np.sqrt(np.maximum(diagonal, 0.0)) * _most(roots))
    worst = max(_largest(violation, rows), _largest(r, total))
    norm_x = math.sqrt(max(float(x @ (qp.P @ x)), 0.0))
    pulled = float(np.abs(y) @ violation)
    return QPCertificate(
        verdict, _most(violation), _most(r), pulled, known, norm_x, min(worst, LARGEST), y,
        max(norm_x, float(np.linalg.norm(roots))), 0.5 * known * known + pulled,
    )  # fmt: skip


def _sparse(qp: QP, x: Vector | None) -> tuple[Status, float, Vector]:
    """Verdict, error in the norm of P and best duals of a sparse program: those of the step with M = P, h = q."""
    from gaussopt.sparse import sparse_step
    from gaussopt.sparse_certificate import certify_sparse

    step = sparse_step(qp.P, qp.q, np.zeros(qp.n), qp.A, qp.l, 0.0, None, None)  # type: ignore[arg-type]
    c = certify_sparse(step, x, None)
    # Several minimisers are minimisers all the same.
    verdict = Status.SOLVED if c.verdict is Status.ACCELERATION_NOT_UNIQUE else c.verdict
    return verdict, c.error_bound if math.isfinite(c.rounding_floor) else math.inf, np.nan_to_num(c.lam)


def _fit(A: Matrix, gradient: Vector, at_lower: Any, at_upper: Any) -> Vector:
    """Duals with A^T y nearest to the gradient, of the signs that the bounds allow, (m,)."""
    from scipy.optimize import lsq_linear, nnls

    y = np.zeros(len(A))
    low, high = np.flatnonzero(at_lower), np.flatnonzero(at_upper)
    if not len(low) + len(high) or not np.isfinite(gradient).all():
        return y
    columns = np.hstack((A[low].T, -A[high].T))
    try:
        forces = nnls(columns, gradient)[0]
    except RuntimeError:  # it went round in circles
        forces = lsq_linear(columns, gradient, bounds=(0.0, np.inf), tol=1e-14).x
    np.add.at(y, low, forces[: len(low)])
    np.add.at(y, high, -forces[len(low) :])
    return y


def _error_bound(qp: QP, curvature: _Curvature, x: Vector, y: Vector, noise: Vector) -> float:
    plain = _bound_from(qp, curvature, x, y, np.zeros(qp.m, dtype=bool), noise)
    # With each row decided, force or slack, the bound is linear in the residuals instead of their root.
    z = qp.A @ x
    named = np.where(y > 0, qp.l, np.where(y < 0, qp.u, np.inf))
    unit = np.linalg.norm(solve_lower(curvature.L, qp.A.T), axis=0)  # type: ignore[arg-type]
    held = qp.equality | (np.abs(y) * unit > np.abs(z - named) / np.where(unit > 0, unit, 1.0))
    decided = _bound_from(qp, curvature, x, np.where(held, y, 0.0), held, noise)
    return min(plain, decided)


def _bound_from(qp: QP, curvature: _Curvature, x: Vector, y: Vector, held: Any, noise: Vector) -> float:
    feasible = _project(qp, x, held, y)
    if feasible is None:
        return float("inf")
    L = curvature.L
    assert L is not None
    z = qp.A @ feasible
    residual = qp.P @ feasible + qp.q - qp.A.T @ y
    r = float(np.linalg.norm(curvature.root.T @ residual)) + float(noise @ curvature.room) * bool(residual.any())
    pull = np.abs(y) * np.abs(z - np.where(y > 0, qp.l, np.where(y < 0, qp.u, z)))
    moved = L.T @ (x - feasible)
    gap = 0.5 * r * r + float(pull.sum())
    return math.sqrt(float(moved @ moved)) + math.sqrt(2.0 * gap)


def _project(qp: QP, x: Vector, pinned: Any, y: Vector) -> Vector | None:
    """A feasible point near x: least squares on the violated and tight rows, a few rounds."""
    z = x.copy()
    if not np.isfinite(z).all():
        return None
    level = rounding(qp.n)
    held = qp.equality | pinned
    size = np.abs(qp.A)
    if held.any():
        goal = np.where(qp.equality | (pinned & (y > 0)), qp.l, np.where(pinned, qp.u, 0.0))[held]
        for _ in range(2):
            z = z + np.linalg.lstsq(qp.A[held], goal - qp.A[held] @ z, rcond=None)[0]
    for _ in range(20):
        s = qp.A @ z
        bound = violation_bound(qp, s)
        broken = np.abs(s - bound) > level * (np.abs(bound) + size @ np.abs(z))
        if not broken.any():
            return z
        held |= broken
        A = qp.A[held]
        target = np.clip(s[held], qp.l[held], qp.u[held])
        step, *_ = np.linalg.lstsq(A, target - s[held], rcond=None)
        if not np.isfinite(step).all():
            return None
        z = z + step
    return None


def _no_point(qp: QP) -> QPCertificate:
    inf = float("inf")
    return QPCertificate(classify_qp(qp), inf, inf, inf, inf, 0.0, inf, np.zeros(qp.m))


def classify_qp(qp: QP) -> Status:
    """Whether a minimiser exists, see `qp_verdict`.

    Of a sparse program, whose rows are equalities, by what the certificate of the step of the same form proves.
    """
    return _sparse(qp, None)[0] if qp.sparse else classify(qp)
