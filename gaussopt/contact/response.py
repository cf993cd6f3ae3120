"""Contacts with the joints eliminated: how contact forces cause accelerations, for any law of the forces.

With K = M^-1 restricted to the directions that the joints leave free (H in the papers) and a_J the acceleration without
contact forces,

    a = a_J + K f,   f = J_N^T lam_N + J_T^T lam_T,   w = J_N a + zeta_N,   s = J_T a + zeta_T.

A sliding contact has lam_T = mu lam_N sigma, sigma = -v_T / |v_T|, so that w = delassus lam_N + bias. The
friction of a contact without slip is an unknown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gaussopt.contact.joints import Joints
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.linalg.dense import EPS, coordinate_scale

SMALLEST = 1e-150
"""If an entry of a row in the mass norm is below this, its square is inaccurate in floating-point numbers."""

INERT = 1e-12
"""The response of a row to its own force counts as zero up to this fraction of its response without joints."""

CANCELLED = 16 * EPS
"""A response, or an acceleration without contact forces, counts as rounding error up to this, relative to its terms."""


def without_rounding(value: Matrix, size: Matrix) -> Matrix:
    """Return `value`, with zero for entries that may be mere rounding errors of terms of the given size."""
    return np.where(np.abs(value) <= CANCELLED * size, 0.0, value)


@dataclass(frozen=True)
class ContactResponse:
    """Accelerations of a step as affine functions of its contact forces.

    The unknowns are x = (lam_N of all k contacts, lam_T of the r tangents of contacts without slip).

    Attributes
    ----------
    step : StepData
    joints : Joints
    resting : (k,) bool, contacts with friction and without slip
    """

    step: StepData
    joints: Joints
    resting: NDArray[np.bool_]

    def in_range(self) -> bool:
        """Return whether no product of rows, masses and forces overflows, and no response of a row underflows."""
        own, free = self.own, self.rows @ self.joints.a_J
        largest = np.abs(own).max(axis=1, initial=0.0)
        if ((largest > 0) & (largest < SMALLEST)).any():
            return False
        return math.isfinite(np.vdot(own, own) + np.vdot(free, free) + (self.rows @ self.effect).sum())

    @cached_property
    def scale(self) -> Vector:
        """Factors that scale coordinates to mass 1, (n,); see `coordinate_scale`."""
        return coordinate_scale(self.step.M, self.step.J)

    @cached_property
    def own(self) -> Matrix:
        """The product of rows and root, (k + r, rank K): the rows in coordinates where the mass norm is the 2-norm."""
        return self.rows @ self.joints.root

    @cached_property
    def bare(self) -> Vector:
        """Lengths of the rows in coordinates of mass 1, without joints, (k + r,)."""
        return np.asarray(np.linalg.norm(self.rows * self.scale, axis=1))

    @property
    def k(self) -> int:
        """Number of contacts."""
        return self.step.k

    @cached_property
    def rows(self) -> Matrix:
        """Rows whose accelerations appear in the laws, (k + r, n): J_N, then J_T of the contacts without slip."""
        if not self.resting.any():
            return self.step.J_N
        return np.vstack((self.step.J_N, self.step.J_T[self.resting].reshape(-1, self.step.n)))

    @cached_property
    def zeta(self) -> Vector:
        """Accelerations of the rows at a = 0, (k + r,)."""
        return np.concatenate((self.step.zeta_N, self.step.zeta_T[self.resting].ravel()))

    @cached_property
    def forces(self) -> Matrix:
        """Generalised forces per unit of each unknown, (n, k + r): J_N^T + J_T^T mu sigma (sliding), then J_T^T."""
        columns = self.step.friction_map  # sigma is zero at contacts without slip
        return np.hstack((columns, self.rows[self.k :].T)) if self.resting.any() else columns

    @cached_property
    def effect(self) -> Matrix:
        """Acceleration caused by each unknown, K times `forces`, (n, k + r)."""
        forces = self.forces
        bare = np.linalg.norm(forces * self.scale[:, None], axis=0)
        # Rounding errors of forces that the joints balance must not look like an acceleration.
        held = np.linalg.norm(self.motion, axis=0) <= INERT * bare
        return np.where(held, 0.0, self.joints.K @ forces)

    @cached_property
    def motion(self) -> Matrix:
        """root^T times `forces`, (rank K, k + r): accelerations by unit unknowns, where the mass norm is the 2-norm."""
        return self.joints.root.T @ self.forces

    @cached_property
    def inert(self) -> NDArray[np.bool_]:
        """Rows that no force moves because the joints hold them (a dead centre), (k + r,)."""
        return np.asarray(np.linalg.norm(self.own, axis=1) <= INERT * self.bare)

    @cached_property
    def response(self) -> Matrix:
        """Matrix of (w, s) = response x + start, (k + r, k + r)."""
        value = self.rows @ self.effect
        # Where normal response and friction cancel (the border of a Painleve region), rounding must not choose a sign.
        return np.where(self.inert[:, None], 0.0, without_rounding(value, self.response_size))

    @cached_property
    def response_size(self) -> Matrix:
        """Sums of the absolute values of the terms of the entries of `response`, (k + r, k + r)."""
        return np.asarray(np.abs(self.rows) @ self.effect_size)

    @cached_property
    def effect_size(self) -> Matrix:
        """Sums of the absolute values of the terms of the entries of `effect`, (n, k + r)."""
        root = np.abs(self.joints.root)
        terms = np.abs(self.step.J_N.T) + np.einsum("kdn,kd->nk", np.abs(self.step.J_T),
                                                    np.abs(self.step.sigma) * self.step.mu[:, None])  # fmt: skip
        terms = np.hstack((terms, np.abs(self.forces[:, self.k :])))
        return np.asarray(root @ (root.T @ terms))

    @cached_property
    def free_size(self) -> Vector:
        """Sums of the absolute values of the terms of the entries of `joints.a_J`, (n,)."""
        root, joints = np.abs(self.joints.root), self.joints
        own = root @ (root.T @ np.abs(self.step.force)) + np.abs(joints.lift).T @ np.abs(self.step.gamma)
        return np.asarray(np.maximum(own, np.abs(joints.a_J)))

    @cached_property
    def start(self) -> Vector:
        """(w, s) without contact forces, (k + r,)."""
        zeta = self.zeta
        value = self.rows @ self.joints.a_J + zeta
        size = self.bare * np.linalg.norm(self.joints.a_J / self.scale) + np.abs(zeta)
        terms = np.abs(self.rows) @ self.free_size + np.abs(zeta)
        # Rounding errors must decide neither to which side a held contact slips nor whether a contact closes.
        return np.where(np.abs(value) <= np.where(self.inert, INERT * size, CANCELLED * terms), 0.0, value)

    @cached_property
    def weights(self) -> Vector:
        """sqrt(row K row^T), (k + r,): the mass norm of the acceleration by a unit force along each row."""
        own, bare = np.sqrt((self.own**2).sum(axis=1)), self.bare
        # A row that joints hold (at a dead centre) is scaled by its response without joints.
        return np.asarray(np.where(own > 1e-8 * bare, own, np.where(bare > 0, bare, 1.0)))

    @cached_property
    def delassus(self) -> Matrix:
        """J_N K (J_N^T + J_T^T mu sigma), (k, k), 1/kg."""
        return self.response[: self.k, : self.k]

    @cached_property
    def bias(self) -> Vector:
        """J_N a_J + zeta_N, (k,), m/s^2."""
        return self.start[: self.k]

    @cached_property
    def jammed(self) -> int | None:
        """Index of a contact that closes whatever forces act, which proves that there is no solution; None if none.

        Its gap acceleration is negative without contact forces, and every force within the friction cones makes it
        smaller, beyond rounding errors, or has no effect, as bodies that no joint connects.
        """
        k, d = self.k, self.step.J_T.shape[1]
        most, size = self.delassus.copy(), self.response_size[:k].copy()
        for at, j in enumerate(np.flatnonzero(self.resting)):
            tangents = slice(k + at * d, k + (at + 1) * d)
            most[:, j] += self.step.mu[j] * np.linalg.norm(self.response[:k, tangents], axis=1)
            size[:, j] += size[:, tangents].sum(axis=1)
        closes = (self.bias < 0) & ((most < -CANCELLED * size[:, :k]) | (size[:, :k] == 0)).all(axis=1)
        return int(np.argmax(closes)) if closes.any() else None

    def split(self, x: Vector) -> tuple[Vector, Matrix]:
        """Return lam_N (k,) and lam_T (k, d) for the unknowns x."""
        lam_N = x[: self.k]
        lam_T = self.step.sigma * (self.step.mu * lam_N)[:, None]
        if self.resting.any():
            lam_T[self.resting] = x[self.k :].reshape(-1, lam_T.shape[1])
        return lam_N, lam_T

    def unknowns(self, lam_N: Vector, lam_T: Matrix) -> Vector:
        """Return the unknowns x of given forces, without the friction of sliding contacts, which lam_N determines."""
        return np.concatenate((lam_N, lam_T[self.resting].ravel())) if self.resting.any() else lam_N

    def acceleration(self, x: Vector) -> Vector:
        """Return the acceleration a_J + K f, (n,), for the contact forces x."""
        return np.asarray(self.joints.a_J + self.effect @ x)

    def rounding(self, between: Vector, own_error: float) -> float:
        """Bound the rounding error of a_J in the mass norm; distances computed from `acceleration` do not include it.

        Two bounds hold, and the smaller is returned: 8 n EPS times the size of a_J, the error of an elimination with n
        unknowns; and `own_error`, the distance of a candidate's acceleration from the acceleration that its forces
        cause, plus the acceleration caused by `between`, the difference of these forces from the solution's forces.
        """
        far = own_error + float(np.linalg.norm(self.motion @ between))
        return min(far, 8 * self.step.n * EPS * float(np.linalg.norm(self.joints.a_J / self.scale)))

    def multipliers(self, x: Vector) -> Vector:
        """Return the multipliers lam of the joints, (m,), for the contact forces x."""
        return np.asarray(self.joints.lam_J + self.joints.lift @ (self.forces @ x))
