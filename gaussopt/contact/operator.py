"""Contacts with the joints eliminated: how contact forces make accelerations, and the LCP of the contact laws.

With K = M^-1 restricted to the directions that the joints leave free (papers: H) and a_J the acceleration without
contact forces,

    a = a_J + K f,   f = J_N^T lam_N + J_T^T lam_T,   w = J_N a + zeta_N,   s = J_T a + zeta_T.

A sliding contact has lam_T = mu lam_N sigma, sigma = -v_T / |v_T|, so that w = delassus lam_N + bias. A contact without
slip has its friction force open: -mu lam_N <= lam_T <= mu lam_N, and it starts to slip only against the largest one.
With lam_R = lam_T + mu lam_N, lam_L = mu lam_N - lam_T and s = kappa_R - kappa_L this is an LCP too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.errors import NotAccepted, StickInSpace
from gaussopt.core.programs import LCP
from gaussopt.core.status import Status
from gaussopt.core.step_data import Matrix, StepData, Vector
from gaussopt.lcp.enumeration import LCPSolutions, enumerate_lcp
from gaussopt.lcp.matrix_classes import power_of_two, subsets
from gaussopt.linalg.dense import EPS, mass_scale, solve_lower, solve_lower_transposed
from gaussopt.linalg.saddle_point import careful_posedness, factorise

SMALLEST = 1e-150
"""Entry of a row in the mass norm whose square is no longer exact in floating-point numbers."""

INERT = 1e-12
"""Motion of a row by its own force, relative to that of the free bodies, that counts as none."""

CANCELLED = 16 * EPS
"""Response to a force, or acceleration without contact forces, relative to its own terms, that is rounding."""


@dataclass(frozen=True)
class Joints:
    """The step without contact forces, and its answer to an additional force f.

    Attributes
    ----------
    K : (n, n)
        a = a_J + K f.
    a_J : (n,)
    lam_J : (m,)
        lam = lam_J + lift f; of dependent rows the multipliers of least norm.
    lift : (m, n)
    root : (n, r)
        K = root root^T, so that |root^T f| is the mass norm of K f.
    """

    K: Matrix
    a_J: Vector
    lam_J: Vector
    lift: Matrix
    root: Matrix


def eliminate_joints(step: StepData) -> Joints:
    """Solve the joints of a step once for every force.

    Raises
    ------
    NotAccepted
        If the joints contradict each other or leave a direction without mass (rank [M; J] < n).
    """
    joints = _regular(step)
    return _careful(step) if joints is None else joints


def _regular(step: StepData) -> Joints | None:
    """M definite and the joints far from dependent; None if not."""
    factors = factorise(step)
    if factors is None:
        return None
    L, B, C = factors[:3]
    force, inverse = step.force, solve_lower(L, np.eye(step.n))
    if not step.m:
        return Joints(inverse.T @ inverse, inverse.T @ (inverse @ force), np.zeros(0), np.zeros((0, step.n)), inverse.T)
    Y = solve_lower(C, B.T)
    free = inverse - Y.T @ (Y @ inverse)  # (I - projector) L^-1
    free -= Y.T @ (Y @ free)
    lift = -solve_lower_transposed(C, Y @ inverse)
    lam_J = lift @ force + solve_lower_transposed(C, solve_lower(C, step.gamma))
    a_J = inverse.T @ (inverse @ (force + step.J.T @ lam_J))
    # Once more, so that J a_J = gamma to rounding.
    shift = solve_lower_transposed(C, solve_lower(C, step.gamma - step.J @ a_J))
    return Joints(free.T @ free, a_J + inverse.T @ (B @ shift), lam_J + shift, lift, free.T)


def _careful(step: StepData) -> Joints:
    """Singular M or dependent rows, in coordinates that make ranks independent of units."""
    posed = careful_posedness(step)
    if posed.verdict is not Status.SOLVED or posed.space is None:
        raise NotAccepted(
            f"The step has no contact operator, its joints and masses are ill-posed: {posed.verdict.sentence}"
        )
    data = posed.space
    d, row, space, M = data.d, data.row, data.space, data.M
    values, ways = data.inertia
    a_p, root = space.pinv @ data.g, ways / np.sqrt(values)
    K = root @ root.T
    a_J = a_p + K @ (data.f - M @ a_p)
    up = space.pinv.T  # J^T lam = x has the solution of least norm up x
    lift = row[:, None] * (up @ (M @ K - np.eye(step.n))) * d
    return Joints(K * np.outer(d, d), d * a_J, row * (up @ (M @ a_J - data.f)), lift, d[:, None] * root)


@dataclass(frozen=True)
class ContactOperator:
    """The contact laws of one step as an LCP in the contact forces.

    The unknowns are x = (lam_N of all k contacts, lam_T of the r contacts without slip).

    Attributes
    ----------
    step : StepData
    joints : Joints
    resting : (k,) bool
        Contacts with friction and without slip.
    """

    step: StepData
    joints: Joints
    resting: NDArray[np.bool_]

    @classmethod
    def of(cls, step: StepData) -> ContactOperator:
        """Eliminate the joints.

        Raises
        ------
        NotAccepted
            If the joints are ill-posed, a contact in space (two tangents) has no slip, or a number overflows or
            underflows.
        """
        resting = step.resting
        if resting.any() and step.J_T.shape[1] > 1:
            i = int(np.argmax(resting))
            raise StickInSpace(
                f"Contact {i + 1} has no slip and two tangents; stick in space is a cone program, which is not one of "
                "the linear complementarity formulations."
            )
        global _latest
        # Formulation and certificate ask for the operator of the same step one after the other.
        if _latest is None or _latest.step is not step:
            with np.errstate(over="ignore", invalid="ignore"):
                made = cls(step, eliminate_joints(step), resting)
                if not made._in_range():
                    raise NotAccepted(
                        "The accelerations that contact forces cause are too large or too small for floating-point "
                        "numbers; use other units, or look at 'J_N', 'J_T' and 'mu'."
                    )
            _latest = made
        return _latest

    def _in_range(self) -> bool:
        """Whether no product of rows, masses and forces overflows, and no row's own response vanishes by underflow."""
        own, free = self.rows @ self.joints.root, self.rows @ self.joints.a_J
        largest = np.abs(own).max(axis=1, initial=0.0)
        if ((largest > 0) & (largest < SMALLEST)).any():
            return False
        return math.isfinite(np.vdot(own, own) + np.vdot(free, free) + (self.rows @ self.effect).sum())

    @property
    def k(self) -> int:
        """Number of contacts."""
        return self.step.k

    @cached_property
    def forces(self) -> Matrix:
        """Generalised force of each unknown, (n, k + r): J_N^T + J_T^T mu sigma where it slides, then J_T^T."""
        columns = self.step.friction_map  # sigma is zero where there is no slip
        return np.hstack((columns, self.step.J_T[self.resting, 0].T)) if self.resting.any() else columns

    @cached_property
    def delassus(self) -> Matrix:
        """J_N K (J_N^T + J_T^T mu sigma), (k, k), 1/kg."""
        return self.response[: self.k, : self.k]

    @cached_property
    def bias(self) -> Vector:
        """J_N a_J + zeta_N, (k,), m/s^2."""
        return self.start[: self.k]

    @cached_property
    def rows(self) -> Matrix:
        """Rows whose accelerations the laws speak of, (k + r, n): J_N, then J_T of the contacts without slip."""
        return np.vstack((self.step.J_N, self.step.J_T[self.resting, 0])) if self.resting.any() else self.step.J_N

    @cached_property
    def inert(self) -> NDArray[np.bool_]:
        """Rows that no force moves because the joints hold them (a dead centre), (k + r,)."""
        bare = np.linalg.norm(self.rows * mass_scale(self.step.M), axis=1)
        return np.asarray(np.linalg.norm(self.rows @ self.joints.root, axis=1) <= INERT * bare)

    @cached_property
    def response(self) -> Matrix:
        """(w, s) = response x + start, (k + r, k + r)."""
        value = self.rows @ self.effect
        # Where the own mass and friction cancel (the border of a Painleve region), rounding must not choose a sign.
        return np.where(self.inert[:, None] | (np.abs(value) <= CANCELLED * self.response_size), 0.0, value)

    @cached_property
    def response_size(self) -> Matrix:
        """Size of the terms that the entries of `response` are summed from, (k + r, k + r)."""
        root = np.abs(self.joints.root)
        terms = np.abs(self.step.J_N.T) + np.einsum("kdn,kd->nk", np.abs(self.step.J_T),
                                                    np.abs(self.step.sigma) * self.step.mu[:, None])  # fmt: skip
        terms = np.hstack((terms, np.abs(self.forces[:, self.k :])))
        return np.asarray((np.abs(self.rows) @ root) @ (root.T @ terms))

    @cached_property
    def effect(self) -> Matrix:
        """Acceleration by each unknown, K forces, (n, k + r)."""
        columns = self.joints.K @ self.forces
        columns[:, self.k :][:, self.inert[self.k :]] = 0.0
        return np.asarray(columns)

    @cached_property
    def start(self) -> Vector:
        """(w, s) without contact forces, (k + r,)."""
        zeta = np.concatenate((self.step.zeta_N, self.step.zeta_T[self.resting, 0]))
        value = self.rows @ self.joints.a_J + zeta
        d = mass_scale(self.step.M)
        size = np.linalg.norm(self.rows * d, axis=1) * np.linalg.norm(self.joints.a_J / d) + np.abs(zeta)
        terms = np.abs(self.rows) @ np.abs(self.joints.a_J) + np.abs(zeta)
        # Rounding must decide neither to which side a held contact slips nor whether a contact closes.
        return np.where(np.abs(value) <= np.where(self.inert, INERT * size, CANCELLED * terms), 0.0, value)

    @cached_property
    def lcp(self) -> LCP:
        """The contact laws in z = (lam_N - least_N, lam_R, m kappa_L), of size k + 2 r.

        m is `slip_mass`: so all unknowns are forces, and the size of the masses does not separate the rows.
        """
        k, r = self.k, int(self.resting.sum())
        if not r:
            return LCP(self.delassus, self.bias + self.delassus @ self.step.least)
        M = np.zeros((k + 2 * r, k + 2 * r))
        M[: k + r, : k + r] = self.response @ self.to_x[:, : k + r]
        M[k : k + r, k + r :] = np.diag(1.0 / self.slip_mass)
        M[k + r :, : k + r] = -self.to_x[k:, : k + r]
        index = np.flatnonzero(self.resting)
        M[k + r + np.arange(r), index] += self.step.mu[index]
        least = self.step.least
        return LCP(M, np.concatenate((self.start + self.response @ self.x_0, 2 * self.step.mu[index] * least[index])))

    @cached_property
    def supports(self) -> NDArray[np.bool_]:
        """The complementary bases of the LCP that name contact modes, (s, k + 2 r).

        A contact without slip is open with slip to either side, sticks, or slips to either side: five of eight. The
        others, of which most are singular, hold only points that these hold too. With a least normal force friction
        acts on an open contact as well, and it may stick.
        """
        k, r = self.k, int(self.resting.sum())
        masks = subsets(k + 2 * r)
        keep = np.ones(len(masks), dtype=bool)
        for place, i in enumerate(np.flatnonzero(self.resting)):
            normal, right, left = masks[:, i], masks[:, k + place], masks[:, k + r + place]
            keep &= right | ~left
            if not self.step.least[i] > 0:
                keep &= ~(right & ~left & ~normal)
        return np.asarray(masks[keep])

    @cached_property
    def slip_mass(self) -> Vector:
        """Mass that the friction of the contacts without slip would see without joints, a power of two, (r,), kg.

        With the joints it may be infinite (a dead centre).
        """
        return power_of_two(((self.rows[self.k :] * mass_scale(self.step.M)) ** 2).sum(axis=1))

    @cached_property
    def start_size(self) -> Vector:
        """Size of the terms that `start`, with the least forces, was summed from, (k + r,)."""
        zeta = np.concatenate((self.step.zeta_N, self.step.zeta_T[self.resting, 0]))
        size = np.abs(self.rows) @ np.abs(self.joints.a_J) + np.abs(zeta) + np.abs(self.response) @ np.abs(self.x_0)
        return np.asarray(size)

    @cached_property
    def lcp_size(self) -> Vector:
        """Size of the terms that the LCP's q was summed from, for whoever asks whether it vanishes."""
        return np.concatenate((self.start_size, np.zeros(int(self.resting.sum()))))

    @cached_property
    def enumerated(self) -> LCPSolutions:
        """All solutions of the LCP, told apart by their accelerations in units in which masses are 1.

        Raises
        ------
        NotAccepted
            If there are too many contacts.
        """
        d = mass_scale(self.step.M)
        observe, offset = (self.effect @ self.to_x) / d[:, None], self.acceleration(self.x_0) / d
        return enumerate_lcp(self.lcp, observe, offset, size=self.lcp_size, supports=self.supports)

    @cached_property
    def x_0(self) -> Vector:
        """X at z = 0, (k + r,); zero unless the normal forces have a least value."""
        least = self.step.least
        return np.concatenate((least, -(self.step.mu * least)[self.resting]))

    def x(self, z: Vector) -> Vector:
        """The unknowns of a solution of the LCP."""
        return np.asarray(self.to_x @ z + self.x_0)

    @cached_property
    def to_x(self) -> Matrix:
        """X = to_x z + x_0, (k + r, k + 2 r): lam_N = z + least_N, lam_T = lam_R - mu lam_N."""
        k, r = self.k, int(self.resting.sum())
        T = np.hstack((np.eye(k + r), np.zeros((k + r, r))))
        index = np.flatnonzero(self.resting)
        T[k + np.arange(r), index] = -self.step.mu[index]
        return T

    def split(self, x: Vector) -> tuple[Vector, Matrix]:
        """lam_N (k,) and lam_T (k, d) of the unknowns."""
        lam_N = x[: self.k]
        lam_T = self.step.sigma * (self.step.mu * lam_N)[:, None]
        if self.resting.any():
            lam_T[self.resting, 0] = x[self.k :]
        return lam_N, lam_T

    def unknowns(self, lam_N: Vector, lam_T: Matrix) -> Vector:
        """The unknowns x of given forces; the friction of sliding contacts is not looked at."""
        return np.concatenate((lam_N, lam_T[self.resting, 0])) if self.resting.any() else lam_N

    def acceleration(self, x: Vector) -> Vector:
        """A = a_J + K f, (n,)."""
        return np.asarray(self.joints.a_J + self.effect @ x)

    def multipliers(self, x: Vector) -> Vector:
        """lam, (m,)."""
        return np.asarray(self.joints.lam_J + self.joints.lift @ (self.forces @ x))


_latest: ContactOperator | None = None
