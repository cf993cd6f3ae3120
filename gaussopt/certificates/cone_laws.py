"""Contact laws with friction cones: their residual, the distance to a solution, and whether it is unique.

The distance of a candidate is measured to the solution in the modes (open, stick or slip) that its forces indicate.
This solution is found by Newton's method on the equations of the modes, with steps of least norm if redundant contacts
leave forces undetermined; then all inequalities are checked. If no solution is found, `cone_bounds` may give a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gaussopt.certificates.cone_bounds import OPEN, SLIP, STICK, ModeSystem, global_bound, matrix_norm, modes_of
from gaussopt.cone.monotonicity import monotonicity
from gaussopt.cone.one_contact import OneContact, solve_contact
from gaussopt.contact.friction_cones import FrictionCones
from gaussopt.contact.laws import ContactLaws, ContactSolution, Uniqueness, UniquenessProof, unless_jammed
from gaussopt.contact.mode_solution import EXACT
from gaussopt.contact.operator import ContactOperator
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.status import Status
from gaussopt.linalg.cones import project, rows_of, scaled, shifted, steps_of
from gaussopt.linalg.dense import EPS, mass_norm, norm

STEPS = 8
"""Maximum number of Newton steps to the solution in given modes; from a nearby point two are enough."""

CLOSED = 1e-9
"""Largest gap acceleration, relative to the norm over all contacts, at which a contact may have a force."""

DEPENDENT = 1e-10
"""The equations of the modes count as dependent if a singular value, relative to the largest, is at most this."""


def laws_of(op: ContactOperator) -> ContactLaws:
    """Return the contact laws of a step: friction cones if a contact in space has no slip, otherwise an LCP."""
    return ConeLaws(op.cones) if op.step.rests_in_space else op.complementarity


@dataclass(frozen=True)
class ConeLaws:
    """The `ContactLaws` of a step in space in which some contacts have no slip."""

    cones: FrictionCones

    def uniqueness(self, thorough: bool = True, joints_unique: bool = True) -> Uniqueness:
        """Decide uniqueness by strong monotonicity, or for a single contact by enumerating its modes."""
        problem = self.cones.problem
        if problem.k == 1:
            found = solve_contact(problem)
            if found.complete:
                return self._enumerated(found, joints_unique)
        if monotonicity(problem) > 0:
            return Uniqueness(Status.SOLVED, UniquenessProof.MONOTONE, joints_unique)
        return unless_jammed(self.cones.op)

    def _enumerated(self, found: OneContact, joints_unique: bool) -> Uniqueness:
        """Return the verdict on a single contact whose solutions have all been found."""
        reason = UniquenessProof.ENUMERATION
        if not found.solutions:
            return Uniqueness(Status.NO_SOLUTION, reason, False)
        if len(found.solutions) > 1:
            several = tuple(ContactSolution.of(self.cones.op, self.cones.x(r)) for r in found.solutions)
            return Uniqueness(Status.MULTIPLE_SOLUTIONS, reason, False, several)
        return Uniqueness(Status.SOLVED, reason, joints_unique and found.impulses_unique is True)

    def residual(self, a: Vector, lam_N: Vector, lam_T: Matrix) -> float:
        """Return the norm of the natural map of all laws at the reported point, in the unit of the mass norm.

        All rows of a contact have the same step size rho, so that the norm does not depend on the choice of tangents.
        """
        op, step, problem = self.cones.op, self.cones.op.step, self.cones.problem
        mu, rest = problem.mu, op.resting
        u = np.column_stack((step.J_N @ a + step.zeta_N, step.J_T @ a + step.zeta_T))
        r = np.column_stack((lam_N - step.least, lam_T))
        u[~rest, 1:] = r[~rest, 1:] = 0.0
        rho = steps_of(problem.W)
        each = rho[:, None]
        missed = (r - rows_of(project((r - each * rows_of(shifted(u.ravel(), mu))).ravel(), mu))) / np.sqrt(each)
        expected = step.sigma * (step.mu * lam_N)[:, None]
        tangent = np.linalg.norm(np.einsum("kdn,nr->kdr", step.J_T, op.joints.root), axis=(1, 2))
        sliding = (np.linalg.norm(lam_T - expected, axis=1) * tangent)[~rest]
        return norm(np.concatenate((missed.ravel(), sliding)))

    def nearest(self, a: Vector, thorough: bool) -> Vector:
        """Fit forces to `a` by least squares; return the solution in the modes of the fit, or the fit itself."""
        op, problem = self.cones.op, self.cones.problem
        w = op.step.J_N @ a + op.step.zeta_N
        closed = w <= CLOSED * (norm(op.bias) + norm(w))
        owner = np.concatenate((np.arange(op.k), np.repeat(np.flatnonzero(op.resting), ROWS - 1)))
        pushing, x = closed[owner], self.cones.x_0.copy()
        wanted = np.linalg.lstsq(op.joints.root, a - op.acceleration(x), rcond=None)[0]
        x[pushing] += np.linalg.lstsq(op.motion[:, pushing], wanted, rcond=DEPENDENT)[0]
        estimate = self.cones.x(project(self.cones.r(x), problem.mu))
        true, _ = self._complete(estimate)
        return estimate if true is None else true

    def distance(
        self, a: Vector, x: Vector, own_error: float, residual: float, uniqueness: Uniqueness, thorough: bool
    ) -> tuple[float, float, float]:
        """Return the distance (or a bound) to the solution in the modes of x: mass norm, 2-norm and rounding error."""
        op, scale = self.cones.op, float(self.cones.op.scale.max())
        true, floor = self._complete(x)
        if true is not None:
            e = a - op.acceleration(true)
            return mass_norm(e, op.step.M @ e), norm(e), floor + op.rounding(x - true, own_error)
        if residual <= EXACT * (norm(op.start / op.weights) + norm(op.joints.a_J / op.scale)):
            # All laws hold to rounding, so this is a solution, even if its modes are degenerate.
            return own_error + residual, (own_error + residual) * scale, 0.0
        problem = self.cones.problem
        found = global_bound(problem, self.cones.r(x), monotonicity(problem))
        bound = math.inf if found is None else own_error + matrix_norm(op.motion) * found.impulse
        return bound, bound * scale, 0.0

    def _complete(self, x: Vector) -> tuple[Vector | None, float]:
        """Return the solution in the modes of x that is nearest to x, and the mass norm of its rounding error.

        If these modes have no solution, return None in place of the solution.
        """
        op, (own, s) = self.cones.op, scaled(self.cones.problem)
        y = self.cones.r(x) / s
        modes = modes_of(own, y)
        for _ in range(STEPS):
            system = ModeSystem(own, y, modes)
            U, values, Vt = np.linalg.svd(system.J)
            rank = int((values > DEPENDENT * values[0]).sum())
            inverse = (Vt[:rank].T / values[:rank]) @ U[:, :rank].T
            step = inverse @ system.F
            y = y - step
            if not norm(step) > 4 * EPS * norm(y):
                break
        terms = np.abs(own.W) @ np.abs(y) + np.abs(own.q)
        if not self._lawful(own, y, modes, EXACT * rows_of(terms + np.abs(y)).max(axis=1)):
            return None, math.inf
        motion = np.zeros((len(op.motion), own.n))
        motion[:, self.cones.places] = op.motion
        motion *= s
        summed = np.abs(motion) @ np.abs(y) + np.abs(op.joints.root.T @ (op.step.M @ op.joints.a_J))
        hidden = system.hidden + EPS * np.abs(y)
        return self.cones.x(s * y), norm(np.abs(motion @ inverse) @ hidden) + EPS * norm(summed)

    @staticmethod
    def _lawful(own: ConeComplementarity, y: Vector, modes: Vector, tiny: Vector) -> bool:
        """Return whether impulses satisfy the laws of their modes within the tolerances `tiny`, (k,)."""
        r, u = rows_of(y), rows_of(own.u(y))
        lengths = np.hypot(r[:, 1], r[:, 2]), np.hypot(u[:, 1], u[:, 2])
        equal = (np.abs(rows_of(ModeSystem(own, y, modes).F)) <= tiny[:, None]).all(axis=1)
        against = (r[:, 1:] * u[:, 1:]).sum(axis=1) <= tiny * (lengths[0] + lengths[1])
        held = own.mu * r[:, 0] - lengths[0] >= -(1.0 + own.mu) * tiny
        closed = r[:, 0] >= -tiny
        right = np.select(
            [modes == OPEN, modes == STICK, modes == SLIP], [u[:, 0] >= -tiny, held, closed & against], closed
        )
        return bool((equal & right).all())
