"""The contact laws of a step as a linear complementarity problem: slip in the plane and in space, stick in the plane.

Without slip, -mu lam_N <= lam_T <= mu lam_N, and slip starts only if |lam_T| = mu lam_N, against lam_T. With lam_R =
lam_T + mu lam_N, lam_L = mu lam_N - lam_T and s = kappa_R - kappa_L the laws of all contacts are an LCP.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gaussopt.cone.proximal_kernel import COMPLIANT, PROXIMAL
from gaussopt.contact.response import CANCELLED, INERT, ContactResponse, without_rounding
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import LCP
from gaussopt.core.step_data import StepData
from gaussopt.lcp.enumeration import LCPSolutions, enumerate_lcp
from gaussopt.lcp.matrix_classes import power_of_two, subsets
from gaussopt.lcp.pivoting import SOLVED, solve_lcp
from gaussopt.lcp.polyhedra import FEASIBLE


@dataclass(frozen=True)
class ContactLCP:
    """The contact laws of one step as an LCP in the contact forces."""

    op: ContactResponse

    @staticmethod
    def refuses(step: StepData) -> str | None:
        """Return why the contact laws of a step cannot be written as an LCP; None if they can."""
        if not step.rests_in_space:
            return None
        return (
            f"Contact {int(np.argmax(step.resting)) + 1} has no slip and two tangents: its friction cone makes no "
            "linear complementarity problem; use the formulation coulomb-soccp."
        )

    @cached_property
    def lcp(self) -> LCP:
        """The contact laws in z = (lam_N - least_N, lam_R, m kappa_L), of size k + 2 r.

        The factor m, `slip_mass`, turns kappa_L into a force, so that rows have similar sizes whatever the masses are.
        """
        op, k, index = self.op, self.op.k, np.flatnonzero(self.op.resting)
        mu, least, r = op.step.mu[index], op.step.least, len(index)
        if not r:
            return LCP(op.delassus, op.bias + op.delassus @ least)
        M = np.zeros((k + 2 * r, k + 2 * r))
        to_x = self.to_x[:, : k + r]
        M[: k + r, : k + r] = without_rounding(op.response @ to_x, op.response_size @ np.abs(to_x))
        M[k : k + r, k + r :] = np.diag(1.0 / self.slip_mass)
        M[k + r :, : k + r] = -self.to_x[k:, : k + r]
        M[k + r + np.arange(r), index] += mu
        return LCP(M, np.concatenate((op.start + op.response @ self.x_0, 2 * mu * least[index])))

    @cached_property
    def shared(self) -> Vector | None:
        """Unknowns x that depend on the data of the step alone where contacts are redundant; None if none are found.

        They are chosen as in space, by the proximal steps of `gaussopt.cone.proximal_kernel.shared_forces`.
        """
        M, q, p, size = self.lcp.M.copy(), self.lcp.q, len(self.to_x), self.lcp.n
        D, x = COMPLIANT * self.op.weights**2, np.zeros(p)
        M[:p] += D[:, None] * self.to_x
        active, (z, w, error) = (np.arange(size) < p).astype(np.int64), np.zeros((3, size))
        for _ in range(PROXIMAL):
            b = q.copy()
            b[:p] += D * (self.x_0 - x)
            if solve_lcp(M, b, active, z, w, error, 10 * size, True)[0] != SOLVED:
                return None
            x = self.x(z)
        return x

    @cached_property
    def supports(self) -> NDArray[np.bool_]:
        """Complementary bases of the LCP that correspond to contact modes, (s, k + 2 r).

        A contact without slip may open and move to either side, stick, or slip to either side: five of eight bases. The
        other three, mostly singular, contain no further solutions. If the normal force has a lower bound, friction acts
        on an open contact too: the basis in which it is open and sticks is kept as well.
        """
        k, r = self.op.k, int(self.op.resting.sum())
        masks = subsets(k + 2 * r)
        keep = np.ones(len(masks), dtype=bool)
        for place, i in enumerate(np.flatnonzero(self.op.resting)):
            normal, right, left = masks[:, i], masks[:, k + place], masks[:, k + r + place]
            keep &= right | ~left
            if not self.op.step.least[i] > 0:
                keep &= ~(right & ~left & ~normal)
        return np.asarray(masks[keep])

    @cached_property
    def slip_mass(self) -> Vector:
        """Effective mass against the friction of each contact without slip, rounded to a power of two, (r,), kg.

        Joints are left out, because they make this mass infinite at a dead centre.
        """
        return power_of_two(((self.op.rows[self.op.k :] * self.op.scale) ** 2).sum(axis=1))

    @cached_property
    def start_size(self) -> Vector:
        """Sum of the magnitudes of the terms of (w, s) at x = x_0, (k + r,).

        Terms that cancel within a_J count only with the rounding error that they leave, so that a larger contradiction
        is not taken for a rounding error, however large these terms are.
        """
        op = self.op
        free = np.maximum(np.abs(op.joints.a_J), CANCELLED / FEASIBLE * op.free_size)
        return np.asarray(np.abs(op.rows) @ free + np.abs(op.zeta) + np.abs(op.response) @ np.abs(self.x_0))

    @cached_property
    def enumerated(self) -> LCPSolutions:
        """All solutions of the LCP; two count as different if their accelerations, in coordinates of mass 1, differ.

        Raises NotAccepted if there are too many contacts.
        """
        op, d = self.op, self.op.scale
        # Coordinates fixed by the joints move only by rounding errors, which must not distinguish solutions.
        moved = np.linalg.norm(op.joints.root, axis=1) > INERT * d
        effect = without_rounding(op.effect @ self.to_x, op.effect_size @ np.abs(self.to_x))
        observe, offset = effect * (moved / d)[:, None], op.acceleration(self.x_0) / d
        size = np.concatenate((self.start_size, np.zeros(int(op.resting.sum()))))  # sizes of the terms of q
        return enumerate_lcp(self.lcp, observe, offset, size=size, supports=self.supports)

    @cached_property
    def x_0(self) -> Vector:
        """Unknowns x at z = 0, (k + r,); zero unless the normal forces have lower bounds."""
        least = self.op.step.least
        return np.concatenate((least, -(self.op.step.mu * least)[self.op.resting]))

    def x(self, z: Vector) -> Vector:
        """Return the unknowns x, the contact forces, from a solution z of the LCP."""
        return np.asarray(self.to_x @ z + self.x_0)

    @cached_property
    def to_x(self) -> Matrix:
        """Matrix with x = to_x z + x_0, (k + r, k + 2 r): lam_N = z + least_N, lam_T = lam_R - mu lam_N."""
        k, r = self.op.k, int(self.op.resting.sum())
        T = np.hstack((np.eye(k + r), np.zeros((k + r, r))))
        index = np.flatnonzero(self.op.resting)
        T[k + np.arange(r), index] = -self.op.step.mu[index]
        return T
