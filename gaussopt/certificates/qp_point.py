"""A candidate point of a scaled dense quadratic program: estimates of its duals, and the scales of its residuals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from gaussopt.certificates.qp_base import CANCELLED, JudgedPoint, Sizes, towards_bounds
from gaussopt.certificates.qp_distance import Curvature, error_bound, project, pushing, violation_bound
from gaussopt.certificates.qp_polish import definite_root, polished_bound
from gaussopt.certificates.qp_scaling import Scaled
from gaussopt.certificates.qp_verdict import classify, largest_bound, meeting, rounding
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import QP
from gaussopt.core.status import Status
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.linalg.dense import EPS, least_norm, ratio

SMALL = 1e-3
"""Smallest scale of a coordinate, relative to ||x||_P: errors of 1e-10 ||x||_P pass at the default tolerance."""

ELSEWHERE = 1e6
"""Weight of coordinates outside a row, relative to those in it, when the terms of the row are minimised."""


class CandidatePoint(JudgedPoint):
    """A point of a scaled dense program, and the scales of its residuals."""

    def __init__(self, scaled: Scaled, x: Vector) -> None:
        self.scaled, self.qp, self.x = scaled, scaled.qp, x
        self.d, self.row = scaled.d, scaled.row
        qp = self.qp
        self.curvature = Curvature(qp.P)
        self.definite = self.curvature.L is not None
        self.level = rounding(qp.n + qp.m)
        # No coordinate gets a scale below this share of the largest scale, because rounding errors are of this size.
        self.share = self.level / DEFAULT_TOLERANCE
        self.z = qp.A @ x
        self.absolute_A, self.absolute_P = np.abs(qp.A), np.abs(qp.P)
        self.noise_z = (qp.n + 2) * EPS * (self.absolute_A @ np.abs(x))
        self.lower, self.upper = (np.where(np.isfinite(b), np.abs(b), 0.0) for b in (qp.l, qp.u))
        self.fixed, self.losing = _fixed(qp, self.level)
        # If neither q nor a bound gives a scale for x, the scale is 1 in the unit of each coordinate.
        sized = qp.q[qp.P.diagonal() > 0].any() or self.lower.any() or self.upper.any()
        self.least = np.zeros(qp.n) if sized else 1.0 / scaled.d
        self._polished = math.inf

    @property
    def norm(self) -> float:
        return self._length(self.x)

    def _length(self, x: Vector) -> float:
        return math.sqrt(max(float(x @ self.qp.P @ x), 0.0))

    def _curved(self, place: Vector) -> float:
        """Return p^T P p for p = `place`, but at most x^T P x of the candidate x, without its fixed coordinates.

        `_placed` takes each coordinate of p from one of two points with equal P x, so that p^T P p may exceed both.
        """
        own = np.where(self.fixed, 0.0, self.x)
        return max(min(float(place @ self.qp.P @ place), float(own @ self.qp.P @ own)), 0.0)

    def admitted(self, y: Vector) -> Vector:
        return np.where(self.qp.A.any(axis=1), towards_bounds(self.qp, y), 0.0)

    def noise(self, y: Vector) -> Vector:
        qp = self.qp
        terms = self.absolute_P @ np.abs(self.x) + np.abs(qp.q) + self.absolute_A.T @ np.abs(y)
        return np.asarray((qp.n + qp.m + 3) * EPS * terms)

    def row_sizes(self, y: Vector, sizes: Sizes, nearest: Vector, possible: Vector) -> Vector:
        found = sizes.row(nearest)
        beside_terms = (nearest != 0) & (possible > DEFAULT_TOLERANCE * np.abs(nearest))
        if not self.definite and beside_terms.any():
            ties = self.ties(y)
            for i in np.flatnonzero(beside_terms).tolist():
                found[i] = min(found[i], max(self.least_size(i, nearest[i], *ties), sizes.rounding(i)))
        return found

    def lengths(self, r: Vector, noise: Vector, sizes: Sizes) -> tuple[float, float]:
        # If equalities fix a coordinate, their duals can be chosen such that its residual vanishes.
        free, blur = np.where(self.fixed, 0.0, r), np.where(self.fixed, 0.0, noise)
        return self.curvature.lengths(free, blur, sizes.reach)

    def losses(self, gap: float, sloped: float, y: Vector, slack: Vector, sizes: Sizes) -> tuple[float, ...] | None:
        stake, wide, least = self.stake(y, sizes)
        lost = gap - float(np.abs(y) @ np.where(self.losing, 0.0, slack))
        if not lost <= least < math.inf:
            return None
        return ratio(lost, stake), ratio(sloped, math.sqrt(2.0 * wide)), CANCELLED * ratio(lost, least)

    def distance(self, y: Vector, sizes: Sizes, noise: Vector, slack: Vector) -> tuple[float, float]:
        qp, curvature = self.qp, self.curvature
        if curvature.L is not None:
            held = pushing(qp, curvature, self.x, y)
        else:  # the norm of P is zero along flat directions, so compare forces instead
            held = qp.equality | (np.abs(y) > np.nan_to_num(slack, nan=0.0) * sizes.pull)
        bound = error_bound(qp, curvature, self.x, y, noise, held)
        if curvature.L is None:  # add the rounding error that `error_bound` ignores, in the norm of P
            bound += self.level * math.sqrt(float(np.abs(sizes.x) @ (self.absolute_P @ np.abs(sizes.x))))
        size = self._length(sizes.x)
        if bound > self.level * size:
            bound = min(bound, self.polished(held, y < 0))
        roots, curved = np.sqrt(qp.P.diagonal()) * sizes.reach, curvature.room > 0
        own = float((sizes.reach[curved] / curvature.room[curved]).min(initial=math.inf)) if curved.any() else 0.0
        return bound, max(size, own, self.share * float(np.linalg.norm(roots)), sizes.blur / DEFAULT_TOLERANCE)

    def verdict(self, y: Vector, sizes: Sizes, violation: Vector, nearest: Vector) -> Status:
        return classify(self.qp) if self._doubtful(y, sizes, violation) else self.assumed

    def _doubtful(self, y: Vector, sizes: Sizes, violation: Vector) -> bool:
        qp = self.qp
        bound = np.abs(violation_bound(qp, self.z))
        # Allow rounding errors only up to those of the bounds, relative to which contradictions are judged.
        noise = np.minimum(self.noise_z, self.level * largest_bound(qp.l, qp.u))
        if (violation > self.level * bound + noise).any() and meeting(qp.A, qp.l, qp.u, self.x) is None:
            return True
        Z = self.curvature.Z
        slope = np.abs(Z.T @ (qp.q - qp.A.T @ y))
        return bool((slope > self.level * (np.abs(Z).T @ (np.abs(qp.q) + self.absolute_A.T @ np.abs(sizes.y)))).any())

    def duals(self, tolerance: float) -> Iterator[Vector]:
        """Yield duals of the rows whose bounds are near x, for increasing limits on the distance."""
        qp, lower, upper = self.qp, self.lower, self.upper
        gradient = qp.P @ self.x + qp.q
        weight = self.absolute_P @ np.abs(self.x) + np.abs(qp.q)
        reach = np.where(qp.P.diagonal() > 0, weight, 0.0) + np.abs(self.x) + self.least
        weight = np.maximum(weight, self.share * weight.max(initial=0.0))
        weight[weight == 0] = 1.0
        terms, own = self.absolute_A @ reach, np.abs(self.z)
        seen: set[bytes] = set()
        for near in (1e-13, 1e-10, 1e-7, math.sqrt(min(tolerance, 1e-4))):
            at_lower = self.z - qp.l <= near * np.where(lower > 0, np.maximum(lower + own, self.share * terms), terms)
            at_upper = qp.u - self.z <= near * np.where(upper > 0, np.maximum(upper + own, self.share * terms), terms)
            key = at_lower.tobytes() + at_upper.tobytes()
            if key not in seen:
                seen.add(key)
                yield self._refined(_fit(qp.A / weight, gradient / weight, at_lower, at_upper), gradient, weight)

    def _refined(self, y: Vector, gradient: Vector, weight: Vector) -> Vector:
        """Correct the nonzero duals by least squares, with residuals relative to the forces on their coordinates."""
        push, scale = y != 0, weight + self.absolute_A.T @ np.abs(y)
        r = (gradient - self.qp.A.T @ y) / scale
        if not push.any() or not np.isfinite(r).all():
            return y
        better = y.copy()
        better[push] += least_norm((self.qp.A[push] / scale).T, r)
        return better if (better * y >= 0).all() else y

    def sizes(self, y: Vector, force: Vector) -> Sizes:
        qp = self.qp
        x, forces = self._placed(y), np.zeros(qp.m)
        if (pushing := y != 0).any() and np.isfinite(force).all():  # least-norm duals have no cancelling forces
            forces[pushing] = least_norm(qp.A[pushing].T, force)
        diagonal = qp.P.diagonal()
        total = self.absolute_P @ np.abs(x) + np.abs(qp.q)
        massed = diagonal > 0
        reach = np.where(massed, total / np.where(massed, diagonal, 1.0), self._room(x, y))
        reach = np.maximum(np.maximum(reach, np.abs(x)), self.least)
        energy = self._length(x)
        part = np.where(massed, SMALL * energy / np.sqrt(np.where(massed, diagonal, 1.0)), 0.0)
        reach = np.maximum(np.maximum(reach, part), self.share * reach.max(initial=0.0))
        rounded = 2.0 * (qp.n + qp.m + 3) * EPS * (self.absolute_P @ self._near(x))
        total = np.maximum(total + self.absolute_A.T @ np.abs(forces), diagonal * reach) + rounded / DEFAULT_TOLERANCE
        total = np.maximum(total, self.share * total.max(initial=0.0))
        if not qp.q.any() and not (qp.P @ x).any():  # without a gradient, compare forces in the units of the program
            total = np.maximum(total, self.scaled.d)
        return Sizes(self.absolute_A, x, forces, total, reach, 2.0 * float(rounded @ self.curvature.room), self.share)

    def polished(self, held: Any, upper: Any) -> float:
        """Return `polished_bound` of the point, or the cached bound from other duals; infinite if P is zero."""
        if math.isinf(self._polished) and self.curvature.root.shape[1]:
            root = definite_root(self.qp, self.curvature.L)
            if root is not None:
                self._polished = polished_bound(self.qp, root, self.x, held, upper)
        return self._polished

    def _placed(self, y: Vector) -> Vector:
        """Return the point, (n,), whose size sets the scales; P x and the bounds of active rows determine it.

        It is the point of least norm with this P x and active rows at their bounds, so that it does not diverge with
        the candidate. Where a coordinate of the candidate is smaller, it is used instead.
        """
        x = self.x
        if self.curvature.L is not None:
            return x  # for definite P a diverging point has an error as large as the point, so it cannot pass
        seen, goal = self.ties(y)
        if not np.isfinite(goal).all():
            return x
        place = least_norm(seen, goal)
        return np.where(np.abs(place) < np.abs(x), place, x)

    def pushes(self, y: Vector) -> Any:
        """Return a mask, (m,), of the rows with (force / other forces) > (slack / terms of the row).

        A force at the rounding level of the other forces counts only if it balances q along a flat direction.
        """
        qp, size = self.qp, self.absolute_A
        named = np.where(y > 0, qp.l, np.where(y < 0, qp.u, np.inf))
        forces = self.absolute_P @ np.abs(self.x) + np.abs(qp.q) + size.T @ np.abs(y)
        share = np.where(size > 0, size / np.where(forces > 0, forces, 1.0), 0.0).max(axis=1, initial=0.0) * np.abs(y)
        terms = np.where(y != 0, np.abs(named), 0.0) + size @ np.abs(self.x)
        known = (size * np.abs(y)[:, None] > self.noise(y)).any(axis=1)
        flat, slope = self.curvature.Z, self.qp.q @ self.curvature.Z
        needed = np.abs(slope) > self.level * (np.abs(qp.q) @ np.abs(flat))
        known |= (np.abs(qp.A @ flat) > self.level * (size @ np.abs(flat)))[:, needed].any(axis=1)
        return known & (share * terms > np.abs(self.z - named))

    def _near(self, x: Vector) -> Vector:
        """Return |x| of the candidate, (n,), each entry limited to the larger of the given |x| and `_least`.

        Rounding errors of points of this size are tolerated; without the limit, huge entries would be tolerated, too.
        """
        return np.asarray(np.minimum(np.abs(self.x), np.maximum(np.abs(x), self._least)))

    @cached_property
    def _least(self) -> Vector:
        """The size |z|, (n,), of a small feasible point z with P z = P x; |x| if none is found.

        If P = 0, z may be zero; then a coordinate has the smallest |bound| / |entry| of the rows that contain it.
        """
        qp, root = self.qp, self.curvature.root
        if not root.shape[1]:
            ends = np.maximum(self.lower, self.upper)[:, None]
            filled = (self.absolute_A > 0) & (ends > 0)
            way = np.where(filled, ends / np.where(filled, self.absolute_A, 1.0), np.inf).min(axis=0, initial=np.inf)
            return np.where(way < np.inf, way, 0.0)
        goal = root.T @ (qp.P @ self.x)
        rows = np.vstack((root.T @ qp.P, qp.A))
        met = QP(qp.P, qp.q, rows, np.concatenate((goal, qp.l)), np.concatenate((goal, qp.u)))
        near = project(met, np.zeros(qp.n), np.zeros(met.m, dtype=bool), np.zeros(met.m))
        return np.abs(self.x if near is None else near)

    def least_size(self, row: int, bound: float, seen: Matrix, goal: Vector) -> float:
        """Return |bound| plus the least sum of the terms of a row over all points that satisfy the equations of `ties`.

        Where curvature does not determine the point, the candidate's terms may be huge, so that errors look small.
        """
        size = self.absolute_A[row]
        least = np.abs(self.x)
        if np.isfinite(goal).all() and size.any():
            weight = np.where(size > 0, 1.0 / np.where(size > 0, size, 1.0), ELSEWHERE / size[size > 0].min())
            place = weight * least_norm(seen * weight, goal)
            place += weight * least_norm(seen * weight, goal - seen @ place)
            if (np.abs(seen @ place - goal) <= self.level * (np.abs(goal) + np.abs(seen) @ np.abs(place))).all():
                least = np.minimum(np.abs(place), least)
        return abs(bound) + float(size @ least)

    def ties(self, y: Vector) -> tuple[Matrix, Vector]:
        """Return matrix and right-hand side of the equations that keep P x and put active rows at their bounds."""
        held = self.qp.equality | self.pushes(y)
        named = np.where(y < 0, self.qp.u, self.qp.l)[held]
        return np.vstack((self.qp.P, self.qp.A[held])), np.concatenate((self.qp.P @ self.x, named))

    def _room(self, x: Vector, y: Vector) -> Vector:
        """Return by how much each coordinate, (n,), may change until its term in some row equals the sum of the others.

        In a row that contains only this coordinate, the term may grow to the active bound, or to the larger of two
        bounds if none is active.
        """
        size = self.absolute_A
        own = size * np.abs(x)
        others = own.sum(axis=1)[:, None] - own
        holds = (size > 0) & (others > 1e-9 * own.sum(axis=1)[:, None])
        entry = np.where(size > 0, size, 1.0)
        room = np.where(holds, others / entry, np.inf).min(axis=0, initial=np.inf)
        held = np.abs(np.where(y < 0, self.qp.u, self.qp.l))
        ends = np.maximum(self.lower, self.upper)
        boxed = np.where(np.isfinite(self.qp.l) & np.isfinite(self.qp.u), ends, 0.0)
        bound = np.where((y != 0) & (held > 0), held, boxed)
        alone = (size > 0) & ((np.count_nonzero(size, axis=1) == 1) & (bound > 0))[:, None]
        room = np.minimum(room, np.where(alone, bound[:, None] / entry, np.inf).min(axis=0, initial=np.inf))
        # If no row limits a coordinate, it may move by the rounding error of the bounds.
        known = (size > 0) & (ends > 0)[:, None]
        least = self.share * np.where(known, ends[:, None] / entry, np.inf).min(axis=0, initial=np.inf)
        return np.where(np.isfinite(room), room, np.where(np.isfinite(least), least, 0.0))

    def stake(self, y: Vector, sizes: Sizes) -> tuple[float, float, float]:
        """Return three sizes of the objective: of its terms at the point, of its terms at `reach`, and of its value.

        Terms that are equal at all feasible points are left out; a coordinate that rows hold at zero counts with its
        `reach`. The value is computed from the dual objective, forces times bounds, which lacks the terms that cancel
        in the primal. The rounding error of the gap is added to all sizes, because it must not count as a loss.
        """
        qp, fixed = self.qp, self.fixed
        size = np.where(self._vanishing(y), sizes.reach, np.abs(sizes.x))
        free, slope = np.where(fixed, 0.0, size), np.abs(qp.q)
        if fixed.any():
            slope = slope + self.absolute_P @ np.where(fixed, np.abs(self.x), 0.0)
        moving = np.where(fixed, 0.0, sizes.x)
        unit = float(qp.P.diagonal() @ self.least**2)
        value = 0.5 * float(moving @ qp.P @ moving) + float(slope @ free) + unit
        wide = 0.5 * float(sizes.x @ qp.P @ sizes.x) + float(np.abs(qp.q) @ sizes.reach) + unit
        wide = wide if wide > 0 else 1.0  # if the objective is constant, its size is 1
        value = value if value > 0 else wide
        blur = float(sizes.blur) / DEFAULT_TOLERANCE
        noise = self._loss_by_rounding(sizes) / DEFAULT_TOLERANCE + 0.5 * blur * blur
        if not math.isfinite(noise):
            noise = 0.0  # if squares overflow, leave this part of the tolerance out
        bound = np.where(y > 0, qp.l, np.where(y < 0, qp.u, 0.0))
        least = 0.5 * self._curved(moving) + float(np.abs(sizes.y) @ np.abs(bound))
        least = max(least, self.share * value) + noise if self._told(sizes) else 0.0
        return value + noise, max(value, wide) + noise, least

    def _noise(self, sizes: Sizes) -> Vector:
        """Return the rounding error of P x + q - A^T y, (n,), for x and y of the given sizes, not the candidate's."""
        terms = self.absolute_P @ self._near(sizes.x) + np.abs(self.qp.q) + self.absolute_A.T @ np.abs(sizes.y)
        return np.where(self.fixed, 0.0, (self.qp.n + self.qp.m + 3) * EPS * terms)

    def _told(self, sizes: Sizes) -> bool:
        """Return whether all nonzero slopes of q along flat directions exceed the rounding errors of the gradient.

        If the point lies far along a flat direction, the rounding errors may exceed the slope and hide its sign.
        """
        Z = np.abs(self.curvature.Z)
        slopes = Z.T @ np.where(self.fixed, 0.0, np.abs(self.qp.q))
        return bool(((Z.T @ self._noise(sizes) <= slopes) | (slopes == 0.0)).all())

    def _loss_by_rounding(self, sizes: Sizes) -> float:
        """Return the duality gap that rounding errors of rows and forces may cause at a point of these sizes."""
        x, y, Z, noise = self._near(sizes.x), np.abs(sizes.y), self.curvature.Z, self._noise(sizes)
        pulled = (self.qp.n + 2) * EPS * float((y * self.losing) @ (self.absolute_A @ x))
        way = float(noise @ self.curvature.room)
        return pulled + 0.5 * way * way + float((np.abs(Z) @ (np.abs(Z).T @ noise)) @ sizes.reach)

    def _vanishing(self, y: Vector) -> Any:
        """Return a mask, (n,), of the coordinates that are zero to rounding once active rows hold exactly."""
        qp, push = self.qp, y != 0
        if not push.any() or not np.isfinite(self.z).all():
            return self.x == 0
        A, bound = qp.A[push], np.where(y > 0, qp.l, qp.u)[push]
        inverse = np.linalg.pinv(A, rcond=self.level)
        met = self.x + inverse @ (bound - self.z[push])
        terms = np.abs(bound) + self.absolute_A[push] @ np.abs(self.x)
        return np.abs(met) <= (qp.n + 2) * EPS * (np.abs(self.x) + np.abs(inverse) @ terms)


def _fixed(qp: QP, level: float) -> tuple[Any, Any]:
    """Return masks: coordinates that equalities fix, (n,); rows other than equalities of fixed coordinates, (m,)."""
    equal = qp.equality
    fixed = np.zeros(qp.n, dtype=bool)
    if equal.any() and np.isfinite(qp.A).all():
        A = qp.A[equal]
        left = np.eye(qp.n) - np.linalg.pinv(A, rcond=level) @ A
        fixed = np.asarray(np.linalg.norm(left, axis=0) <= level)
    return fixed, ~(equal & ~(qp.A[:, ~fixed] != 0).any(axis=1))


def _fit(A: Matrix, gradient: Vector, at_lower: Any, at_upper: Any) -> Vector:
    """Return the duals y, (m,), with signs that the bounds allow, for which A^T y is nearest to the gradient."""
    from scipy.optimize import lsq_linear, nnls

    y = np.zeros(len(A))
    low, high = np.flatnonzero(at_lower), np.flatnonzero(at_upper)
    if not len(low) + len(high) or not np.isfinite(gradient).all():
        return y
    columns = np.hstack((A[low].T, -A[high].T))
    try:
        forces = nnls(columns, gradient)[0]
    except RuntimeError:  # nnls raises this if it cycles
        forces = lsq_linear(columns, gradient, bounds=(0.0, np.inf), tol=1e-14).x
    np.add.at(y, low, forces[: len(low)])
    np.add.at(y, high, -forces[len(low) :])
    return y
