"""Residual, distance and uniqueness of contact laws over friction cones.

The distance of a candidate is that to the solution of the mode (open, stick or slip) that its forces indicate: Newton's
method on the equations of that mode, with steps of least norm if redundant contacts leave forces undetermined, then a
check of every inequality. If that finds no solution, the bound of monotonicity holds, see `cone_bounds`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gaussopt.certificates.cone_bounds import OPEN, SLIP, STICK, ModeSystem, global_bound, matrix_norm, modes_of
from gaussopt.cone.monotonicity import monotonicity
from gaussopt.cone.one_contact import OneContact, solve_contact
from gaussopt.contact.friction_cones import FrictionCones
from gaussopt.contact.laws import ContactLaws, ContactSolution, Uniqueness, UniquenessProof
from gaussopt.contact.mode_solution import EXACT
from gaussopt.contact.operator import ContactOperator
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.status import Status
from gaussopt.linalg.cones import project, rows_of, scaled, shifted, steps_of
from gaussopt.linalg.dense import EPS, mass_norm, norm

STEPS = 8
"""Maximum number of Newton steps to the solution of a mode; from a point near it two are enough."""

CLOSED = 1e-9
"""Gap acceleration, relative to those of all gaps, up to which a contact may push."""

DEPENDENT = 1e-10
"""Singular value, relative to the largest, below which equations of a mode count as dependent."""


def laws_of(op: ContactOperator) -> ContactLaws:
    """Return the contact laws of a step: over friction cones if a contact rests in space, else an LCP."""
    return ConeLaws(op.cones) if op.step.rests_in_space else op.complementarity


@dataclass(frozen=True)
class ConeLaws:
    """The `ContactLaws` of contacts in space, some of them without slip."""

    cones: FrictionCones

    def uniqueness(self, thorough: bool = True, joints_unique: bool = True) -> Uniqueness:
        """Decide uniqueness by strong monotonicity, or for a single contact by enumeration of its modes."""
        problem = self.cones.problem
        if problem.k == 1:
            found = solve_contact(problem)
            if found.complete:
                return self._enumerated(found, joints_unique)
        if monotonicity(problem) > 0:
            return Uniqueness(Status.SOLVED, UniquenessProof.MONOTONE, joints_unique)
        return Uniqueness(Status.SOLVED, UniquenessProof.UNDECIDED, False)

    def _enumerated(self, found: OneContact, joints_unique: bool) -> Uniqueness:
        """Return the verdict on one contact whose modes are all known."""
        reason = UniquenessProof.ENUMERATION
        if not found.solutions:
            return Uniqueness(Status.NO_SOLUTION, reason, False)
        if len(found.solutions) > 1:
            several = tuple(self._solution(self.cones.x(r)) for r in found.solutions)
            return Uniqueness(Status.MULTIPLE_SOLUTIONS, reason, False, several)
        return Uniqueness(Status.SOLVED, reason, joints_unique and found.impulses_unique is True)

    def _solution(self, x: Vector) -> ContactSolution:
        op = self.cones.op
        a, (lam_N, lam_T) = op.acceleration(x), op.split(x)
        return ContactSolution(a, op.multipliers(x), lam_N, lam_T, op.step.J_N @ a + op.step.zeta_N)

    def residual(self, a: Vector, lam_N: Vector, lam_T: Matrix) -> float:
        """Return the natural map of all laws at the reported point, in the unit of the mass norm.

        Each contact has one step length in de Saxce's law, so that the map does not depend on the tangents chosen.
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
        """Return least-squares forces that explain an acceleration, in their cones, completed in their mode."""
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
        """Return the distance to the solution of the mode of x, or a bound if the law is strongly monotone."""
        op, scale = self.cones.op, float(self.cones.op.scale.max())
        true, floor = self._complete(x)
        if true is not None:
            e = a - op.acceleration(true)
            return mass_norm(e, op.step.M @ e), norm(e), floor + op.rounding(x - true, own_error)
        if residual <= EXACT * (norm(op.start / op.weights) + norm(op.joints.a_J / op.scale)):
            # All laws hold to rounding: this is a solution, even if its mode is degenerate.
            return own_error + residual, (own_error + residual) * scale, 0.0
        problem = self.cones.problem
        found = global_bound(problem, self.cones.r(x), monotonicity(problem))
        bound = math.inf if found is None else own_error + matrix_norm(op.motion) * found.impulse
        return bound, bound * scale, 0.0

    def _complete(self, x: Vector) -> tuple[Vector | None, float]:
        """Return the solution nearest to x in the mode of x, and the rounding error of its acceleration, in mass norm.

        The solution is None if that mode has none.
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
        """Tell whether impulses obey equations and inequalities of their modes, each contact relative to its terms."""
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
