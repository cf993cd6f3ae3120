"""Residual, distance and uniqueness of contact laws that are a linear complementarity problem.

The distance of a candidate to a true solution is computed from the solution of the mode (open, stick or slip) that the
candidate's forces indicate, or from the nearest enumerated solution. If there is neither, the distance is bounded by

    ||E^-1 (lam_N - lam_N*)|| <= (1 + ||A^||) / c ||E^-1 r||,   A^ = E A E,  E = diag(A_ii)^(-1/2),  c = min eig sym A^,

with the natural map r, if sym A^ is positive definite. Scales are taken from the data of the step, never from the
candidate: its forces may be huge along a direction in which the contact operator has no response, and relative to such
forces every residual is small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gaussopt.contact.contact_lcp import ContactLCP
from gaussopt.contact.laws import ContactSolution, Uniqueness, UniquenessProof, unless_jammed
from gaussopt.contact.mode_solution import EXACT, complete
from gaussopt.contact.orientation import MODES, oriented
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.lcp.enumeration import MAX_ENUMERATED
from gaussopt.lcp.matrix_classes import classify_matrix
from gaussopt.lcp.polyhedra import OBSERVED
from gaussopt.linalg.dense import EPS, norm

QUICK = 8
"""All modes of sliding contacts are tried at every stage of a motion if the LCP has at most this size."""

AMPLIFIED = 4.0
"""The distance of a point from a solution, in the mass norm, is estimated as this multiple of its residual."""

SUMMED = 100.0
"""A residual of an enumerated solution counts as an error if it exceeds this multiple of the terms' rounding error."""

MOVED = 1e-4
"""Modes are examined only if every row's response to its own force exceeds this fraction of that without joints."""

DEFINITE = 1e-12
"""sym A^ counts as positive definite if its smallest eigenvalue exceeds this times the number of contacts."""


@dataclass(frozen=True)
class ComplementarityLaws(ContactLCP):
    """The `ContactLaws` of contacts whose laws are an LCP."""

    @property
    def enumerable(self) -> bool:
        """Whether the contact modes are few enough to be enumerated."""
        return self.lcp.n <= MAX_ENUMERATED

    @property
    def quick(self) -> bool:
        """Whether the LCP is small and the contact rows are independent, so that its few modes have regular systems."""
        if self.lcp.n > QUICK:
            return False
        root = self.op.rows @ self.op.joints.root
        length = np.linalg.norm(root, axis=1)
        if (length <= 0).any() or len(root) > len(root.T):
            return False
        return bool(np.linalg.svd(root / length[:, None], compute_uv=False)[-1] > 1e-6)

    def uniqueness(self, thorough: bool = True, joints_unique: bool = True) -> Uniqueness:
        """Determine how many accelerations the laws allow, from the class of the contact operator or by enumeration."""
        op, sliding = self.op, not self.op.resting.any()
        if not op.k:
            return Uniqueness(Status.SOLVED, UniquenessProof.NO_CONTACTS, joints_unique)
        if sliding:
            if _definite(op.delassus) is not None:
                return Uniqueness(Status.SOLVED, UniquenessProof.POSITIVE_DEFINITE, joints_unique)
            if (op.delassus.diagonal() > 0).all() and classify_matrix(op.delassus).p_matrix:
                return Uniqueness(Status.SOLVED, UniquenessProof.P_MATRIX, joints_unique)
            if not thorough and self._monotone():
                return Uniqueness(Status.SOLVED, UniquenessProof.MONOTONE, False)
        elif self._oriented():
            return Uniqueness(Status.SOLVED, UniquenessProof.ORIENTED, joints_unique)
        if (sliding and self.quick) or (thorough and self.enumerable):
            return self._by_enumeration(joints_unique)
        if sliding and self._monotone():
            return Uniqueness(Status.SOLVED, UniquenessProof.MONOTONE, False)
        return unless_jammed(op)

    def _oriented(self) -> bool:
        """Return whether `oriented` proves uniqueness; False also if lower bounds on normal forces are not zero."""
        op, g, p = self.op, self.op.weights, len(self.op.rows)
        # Every contact at least doubles the number of modes.
        if 2**op.k > MODES or op.step.least.any() or (g <= MOVED * op.bare).any():
            return False
        partner = np.zeros(p, dtype=np.int64)
        partner[: op.k][op.resting] = np.arange(op.k, p)
        mu = np.concatenate((op.step.mu, np.zeros(p - op.k)))
        B = op.response @ self.to_x[:, :p] / np.outer(g, g)
        return oriented(B, op.k, mu, g, partner, *np.zeros((2, p, p)), *np.zeros((2, p), dtype=np.int64))

    def _monotone(self) -> bool:
        """Return `monotone` of the operator, with each contact scaled by sqrt(J K J^T), where J is its row of J_N."""
        op, A = self.op, self.op.delassus
        scale = np.sqrt(np.maximum(np.einsum("kn,nm,km->k", op.step.J_N, op.joints.K, op.step.J_N), 1e-300))
        motion = op.motion[:, : op.k] / scale
        return monotone(0.5 * (A + A.T) / np.outer(scale, scale), motion)

    def _by_enumeration(self, joints_unique: bool) -> Uniqueness:
        op, step, found = self.op, self.op.step, self.enumerated
        to_a = op.effect @ self.to_x
        a_0 = op.acceleration(self.x_0)
        ranges = None
        unique = found.unique and joints_unique
        if found.status is Status.ACCELERATION_NOT_UNIQUE or (found.status is Status.SOLVED and not found.unique):
            T, T_0 = self._friction_rows()
            ranges = {
                "a": found.ranges(to_a, a_0),
                "lam_N": found.ranges(self.to_x[: op.k], step.least),
                "lam_T": found.ranges(T, T_0),
            }
            if joints_unique and step.m:
                ranges["lam"] = found.ranges(op.joints.lift @ op.forces @ self.to_x, op.multipliers(self.x_0))
            if found.status is Status.SOLVED:
                del ranges["a"]
                if joints_unique and found.decided and all(_is_point(ends) for ends in ranges.values()):
                    # All forces are unique; only the unknowns kappa_R and kappa_L of open contacts are not.
                    unique, ranges = True, None
                elif not found.decided:
                    ranges = None
        solutions: tuple[ContactSolution, ...] = ()
        if found.status is Status.MULTIPLE_SOLUTIONS:
            solutions = tuple(ContactSolution.of(self.op, self.x(z)) for z in found.representatives)
            unique = False
        status = found.status
        if status is Status.NO_SOLUTION and not step.mu.any():
            status = Status.INFEASIBLE  # without friction, only contradictory rows exclude a solution
        return Uniqueness(status, UniquenessProof.ENUMERATION, unique, solutions, ranges)

    def _friction_rows(self) -> tuple[Matrix, Vector]:
        """Return the matrix and the constant of lam_T = matrix z + constant, with a row per contact and tangent."""
        z = np.eye(self.lcp.n)
        start = self.op.split(self.x_0)[1].ravel()
        columns = [self.op.split(self.x(unit))[1].ravel() - start for unit in z]
        return np.array(columns).T, start

    def residual(self, a: Vector, lam_N: Vector, lam_T: Matrix) -> float:
        """Return the norm of the natural map of all laws at the reported point, in the unit of the mass norm."""
        op, step, k, weight = self.op, self.op.step, self.op.k, self.op.weights
        w = step.J_N @ a + step.zeta_N
        normal = np.minimum((lam_N - step.least) * weight[:k], w / weight[:k])
        parts = [normal]
        expected = step.sigma * (step.mu * lam_N)[:, None]
        sliding = ~op.resting
        tangent = np.linalg.norm(np.einsum("kdn,nr->kdr", step.J_T, op.joints.root), axis=(1, 2))
        parts.append((np.linalg.norm(lam_T - expected, axis=1) * tangent)[sliding])
        if op.resting.any():
            t, limit, g = lam_T[op.resting, 0], step.mu[op.resting] * np.maximum(lam_N[op.resting], 0.0), weight[k:]
            s = step.J_T[op.resting, 0] @ a + step.zeta_T[op.resting, 0]
            parts.append((t - np.clip(t - s / g**2, -limit, limit)) * g)
        return norm(np.concatenate(parts))

    def nearest(self, a: Vector, thorough: bool) -> Vector:
        """Return the forces that satisfy the laws and fit an acceleration best; an estimate if none are found."""
        op, x = self.op, self._estimate(a)
        true, _ = self._complete(x)
        if true is not None:
            return true
        if thorough and self.enumerable:
            # If contacts are redundant, least squares may distribute the forces in a mode that violates the laws.
            points = [self.x(z) for z in self.enumerated.solutions]
            if points:
                d = op.scale
                return min(points, key=lambda p: norm((op.acceleration(p) - a) / d))
        return x

    def _estimate(self, a: Vector) -> Vector:
        """Return the forces within the friction cones whose acceleration is nearest to `a` in the mass norm."""
        from scipy.optimize import lsq_linear

        op, k, least = self.op, self.op.k, self.op.step.least
        index = np.flatnonzero(op.resting)
        # Columns: lam_N of each sliding contact, and the two edges of the cone of each contact without slip.
        edges = np.zeros((k + len(index), k + len(index)))
        edges[:k, :k] = np.eye(k)
        for place, i in enumerate(index):
            edges[k + place, i] = -op.step.mu[i]
            edges[i, k + place], edges[k + place, k + place] = 1.0, op.step.mu[i]
        g, root = op.weights, op.motion
        # Keep only the component of a - a_J that contact forces can cause.
        values, vectors = np.linalg.eigh(op.joints.K)
        keep = values > 1e-12 * values[-1]
        inverse = (vectors[:, keep] / values[keep]) @ vectors[:, keep].T
        start = np.concatenate((least, np.zeros(len(index))))
        goal = op.joints.root.T @ (inverse @ (a - op.joints.a_J)) - root @ start
        columns = root @ edges
        size = np.linalg.norm(columns, axis=0)
        size = np.where(size > 0, size, np.maximum(g, 1e-300))
        return np.asarray(start + edges @ (lsq_linear(columns / size, goal, bounds=(0.0, np.inf), tol=1e-14).x / size))

    def distance(
        self, a: Vector, x: Vector, own_error: float, residual: float, uniqueness: Uniqueness, thorough: bool
    ) -> tuple[float, float, float]:
        """Return the distance of `a` from a solution, or a bound, in mass norm and 2-norm, and its rounding error."""
        op, step = self.op, self.op.step
        true, floor = self._complete(x)
        floor += 0.0 if true is None else op.rounding(x - true, own_error)
        if uniqueness.reason is UniquenessProof.ENUMERATION:
            return self._to_enumerated(a, true, floor)
        if true is not None:
            return *_lengths(step, a - op.acceleration(true)), floor
        scale = float(op.scale.max())
        # The scale comes from the step: relative to huge accelerations of the candidate, every residual is small.
        if residual <= EXACT * (norm(op.start / op.weights) + norm(op.joints.a_J / op.scale)):
            # All laws hold up to rounding errors: this is a solution, even if its mode is degenerate.
            size = own_error + residual
            return size, size * scale, 0.0
        bound = own_error + self._natural_bound(x)
        if not math.isfinite(bound) and thorough and self.enumerable and self.enumerated.solutions:
            return self._to_enumerated(a, None, math.inf)
        return bound, bound * scale, 0.0

    def _complete(self, x: Vector) -> tuple[Vector | None, float]:
        """Return the solution in the contact mode of x and its rounding error, from `complete` with `start_size`."""
        return complete(self.op, x, self.start_size)

    def _to_enumerated(self, a: Vector, true: Vector | None, floor: float) -> tuple[float, float, float]:
        """Return the distance of a to the nearest enumerated solution, and its rounding floor.

        `true` is the solution in the candidate's mode. Alone it proves nothing, because it satisfies the laws only up
        to tolerances; if both solutions agree, `true` is used, because its forces are better determined.
        """
        op, found, step = self.op, self.enumerated, self.op.step
        scale = float(op.scale.max())
        points = [op.acceleration(self.x(z)) for z in found.solutions]
        i = min(range(len(points)), key=lambda i: _lengths(step, a - points[i])[0])
        motion = op.motion
        x, rounding = np.abs(self.x(found.solutions[i])), np.abs(self.to_x) @ found.floors[i]
        terms = np.abs(motion) @ x + np.abs(op.joints.root.T @ (step.M @ op.joints.a_J))
        apart = norm(np.abs(motion) @ rounding)
        # Enumeration ignores contradictions between contacts that are near the rounding level.
        missed = self.residual(points[i], *op.split(self.x(found.solutions[i])))
        missed = AMPLIFIED * missed if missed > apart + SUMMED * EPS * norm(terms) else 0.0
        if true is not None:
            between = _lengths(step, op.acceleration(true) - points[i])
            if between[0] <= apart + floor + OBSERVED * norm(terms):
                error = _lengths(step, a - op.acceleration(true))
                # Accelerations within rounding errors count as equal, but their difference adds to the error.
                more = between if between[0] > apart + floor else (0.0, 0.0)
                return error[0] + more[0] + missed, error[1] + more[1] + missed * scale, floor
        error = _lengths(step, a - points[i])
        return error[0] + missed, error[1] + missed * scale, apart + EPS * norm(terms)

    def _natural_bound(self, x: Vector) -> float:
        """Bound the error that x causes in a, in the mass norm; infinite unless all contacts slide and sym A > 0."""
        op, A = self.op, self.op.delassus
        definite = None if op.resting.any() else _definite(A)
        if definite is None:
            return math.inf
        e, lowest = definite
        r = np.minimum(x - op.step.least, (A @ x + op.bias) / A.diagonal())
        forces = (1.0 + float(np.linalg.norm(A * np.outer(e, e), 2))) / lowest * norm(r / e)
        return float(np.linalg.norm(op.motion * e, 2)) * forces


def monotone(sym: Matrix, motion: Matrix) -> bool:
    """Return whether sym A is positive semidefinite and its null vectors cause no acceleration; then a is unique.

    `sym`, (k, k), is the scaled sym(delassus); `motion`, (r, k), is the acceleration caused by each contact, scaled in
    the same way, in coordinates in which the mass norm is the 2-norm.
    """
    values, vectors = np.linalg.eigh(sym)
    size = max(float(np.abs(values).max()), 1e-300)
    if values[0] < -1e-11 * size:
        return False
    effect = motion @ vectors[:, values <= 1e-11 * size]
    return bool(np.abs(effect).max(initial=0.0) <= 1e-7 * math.sqrt(size))


def _is_point(ends: Matrix) -> bool:
    """Return whether the lower and the upper end of every range agree."""
    size = np.abs(ends).max(initial=0.0)
    return bool((ends[:, 1] - ends[:, 0] <= 1e-9 * size).all()) if np.isfinite(size) else False


def _lengths(step: StepData, e: Vector) -> tuple[float, float]:
    """Return ||e||_M and ||e||_2."""
    size = float(np.abs(e).max(initial=0.0))
    if not 0.0 < size < math.inf:
        return size, size
    e = e / size
    return size * math.sqrt(max(float(e @ step.M @ e), 0.0)), size * norm(e)


def _definite(A: Matrix) -> tuple[Vector, float] | None:
    """Return E with diag(E A E) = 1, and the least eigenvalue of sym(E A E); None unless it is clearly positive."""
    diagonal = A.diagonal()
    if not (diagonal > 0).all():
        return None
    e = 1.0 / np.sqrt(diagonal)
    lowest = float(np.linalg.eigvalsh(0.5 * (A + A.T) * np.outer(e, e))[0])
    return (e, lowest) if lowest > DEFINITE * len(A) else None
