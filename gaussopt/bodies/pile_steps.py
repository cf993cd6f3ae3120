"""The Moreau-Jean step of a pile, in the angular velocities of its bodies and with the contacts that may close in it.

With u and omega in the frame of the ground and G = H M^-1/2, H the rows of the contacts,

    W = G G^T,   M (w' - w) = h f + H^T r,   f = [m g; -omega x I omega + (I_begin - I) omega'] at mid-step,

with Newton's restitution. The time for a step is proportional to the numbers of bodies and of contacts near closure.
For bodies with equal principal inertias, as balls and cubes, f is constant; for others it is iterated. Compare
`gaussopt.integration.advances.moreau_jean`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bsr_array

from gaussopt.bodies.pile_equations import FEW, Blocks, PileEquations, cross
from gaussopt.contact.activity import TOUCHING
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.delassus import ROWS, SMALL, operator
from gaussopt.core.system import Energy
from gaussopt.core.time_step import Found, Reached, TimeStep
from gaussopt.linalg.quaternions import spin_rows

ALIKE = 1e-5
"""Change of the force, relative to its size, at which the iteration ends if changes no longer halve."""

SIDES = np.array([-1.0, 1.0]).reshape(1, 2, 1, 1)
"""Signs of the velocities of a and b in their relative velocity."""

SETTLED = 1e-14
"""Change of the force, relative to its size, at which the iteration for the force ends."""


class PileStep(TimeStep):
    """The step of a pile from a state q, v, (7 N,) each."""

    def __init__(self, of: PileEquations, q: Vector, v: Vector) -> None:
        self._of, self._q = of, q
        self._r, self._u, self._A, self._w, _ = of.poses(q, v)
        self._turn = q.reshape(of.N, -1)[:, 3:]
        self._numbers: NDArray[np.intp] = np.zeros(0, dtype=np.intp)

    @property
    def names(self) -> Sequence[str]:
        """Names of the contacts of the problem."""
        names = self._of.names
        return [names[i] for i in self._numbers.tolist()]

    @property
    def opens(self) -> NDArray[np.bool_]:
        """Mask, (k,), of the contacts that can open: all of them."""
        return np.ones(len(self._numbers), dtype=bool)

    @cached_property
    def _all(self) -> tuple[Vector, Matrix]:
        """Gaps and relative velocities of all contacts of the pile, (k,) and (k, 3)."""
        gap, F, arms, bodies = self._of.frames(self._r, self._A, self._of.near(self._r))
        return gap, _relative(F, arms, bodies, self._u, self._w)

    @property
    def rates(self) -> Vector:
        """Gap rates of all contacts of the pile, m/s."""
        return self._all[1][:, 0]

    @property
    def found(self) -> Found:
        """The contacts of the pile, all of them."""
        return Found(self._of.names, self._all[0], self._all[1][:, 1:])

    @property
    def drift(self) -> tuple[float, float]:
        """Position error: the deepest penetration. Velocity error: NaN, as a pile has no rows at velocity level."""
        return float(-self._all[0].min(initial=0.0)), math.nan

    def energy(self) -> Energy:
        """Return the kinetic and potential energy."""
        of, n = self._of, self._of.N
        own = np.einsum("bij,bi->bj", self._A[:n], self._w[:n])
        kinetic = 0.5 * float(of.m @ (self._u[:n] ** 2).sum(axis=1) + (of.I * own**2).sum())
        return Energy(kinetic, float(-of.weight @ self._q), 0.0)

    def problem(self, dt: float) -> ConeComplementarity:
        """Return the problem of the contacts whose gaps would close within half the step at their present rates."""
        of, n = self._of, self._of.N
        self._dt, self._change_before, reach = dt, np.inf, np.inf
        if len(of.pairs) > FEW:
            speed = np.linalg.norm(self._u, axis=1) + of.outer * np.linalg.norm(self._w, axis=1)
            reach = dt * float(speed.max())
        i, j = near = of.near(self._r, reach)
        gap, F, arms, bodies = of.frames(self._r, self._A, near)
        rates = _relative(F, arms, bodies, self._u, self._w)
        # Rounding of velocities grows in steps; if it left out a foot of a body at rest, that body would tip.
        active = np.flatnonzero(gap + 0.5 * dt * rates[:, 0] <= TOUCHING * (1.0 + float(np.abs(self._q).max())))
        self._numbers = np.concatenate((i, j + len(of.R)))[active]
        F, arms, self._bodies, self._rates = F[active], arms[active], bodies[active], rates[active]
        self._F, self._arms, k, contacts = F, arms, len(active), of.of
        self._e = np.stack((contacts.e_N, contacts.e_T, contacts.e_T), axis=1)[self._numbers]
        # F and root give the blocks of G for both bodies; angular velocities are taken along the principal axes.
        F, root = F[:, None] * SIDES, of.root[self._bodies][:, :, None]
        parts = np.concatenate((F, cross(arms[:, :, None], F) @ self._A[self._bodies]), axis=3) * root
        if ROWS * k <= SMALL:
            whole = np.zeros((k, ROWS, n + 1, 6))
            whole[np.arange(k)[:, None], :, self._bodies] = parts
            self._G: Any = whole.reshape(ROWS * k, 6 * (n + 1))
            self._W: Any = self._G @ self._G.T
        else:
            order = np.argsort(self._bodies, axis=1)
            blocks = np.take_along_axis(parts, order[:, :, None, None], axis=1).reshape(-1, ROWS, 6)
            columns = np.take_along_axis(self._bodies, order, axis=1).ravel()
            self._G = bsr_array((blocks, columns, 2 * np.arange(k + 1)), shape=(ROWS * k, 6 * (n + 1)))
            self._W = operator((self._G @ self._G.T).tobsr((ROWS, ROWS)), ROWS * k)
        self._force = np.zeros((n, 3)) if of.isotropic else -cross(self._w[:n], self._momentum(self._A[:n], self._w))
        return self._with_force()

    def _momentum(self, A: Blocks, w: Matrix) -> Matrix:
        """Return the angular momenta I w of the bodies at rotations A, (N, 3)."""
        own = np.einsum("bij,bi->bj", A, w[: self._of.N])
        return np.asarray(np.einsum("bij,bj->bi", A, self._of.I * own))

    def _with_force(self) -> ConeComplementarity:
        """Return the contact problem with gravity and the present estimate of the gyroscopic torques."""
        of, n = self._of, self._of.N
        self._du, self._dw = np.zeros((n + 1, 3)), np.zeros((n + 1, 3))
        self._du[:n] = self._dt * of.gravity
        if not of.isotropic:
            A = self._A[:n]
            self._dw[:n] = self._dt * np.einsum("bij,bj->bi", A, np.einsum("bij,bi->bj", A, self._force) / of.I)
        given = _relative(self._F, self._arms, self._bodies, self._du, None if of.isotropic else self._dw)
        q = given + (1.0 + self._e) * self._rates
        self._problem = ConeComplementarity(self._W, q.ravel(), of.of.mu[self._numbers])
        return self._problem

    def fed(self, r: Vector) -> float:
        """Return the energy r . (u + (1 - e) u_before) / 2 that impulses r add in the step, where u = W r + q."""
        return float(0.5 * r @ (self._problem.u(r) + ((1.0 - self._e) * self._rates).ravel()))

    def _change(self, r: Vector) -> tuple[Matrix, Matrix]:
        """Return the changes of u and omega in the step, by the forces and the impulses r, (N + 1, 3) each."""
        pushed = (self._G.T @ r).reshape(-1, 6) * self._of.root
        return self._du + pushed[:, :3], self._dw + (self._A @ pushed[:, 3:, None])[:, :, 0]

    def again(self, r: Vector) -> ConeComplementarity | None:
        """Return the problem with torques at mid-step for the impulses r, or None if the torques have converged."""
        if self._of.isotropic:
            return None
        n = self._of.N
        dw = self._change(r)[1][:n]
        e = _turned(self._turn, self._w[:n] + 0.5 * dw, 0.5 * self._dt)
        A, w, rate = spin_rows(e, 1.0) @ spin_rows(e).transpose(0, 2, 1), self._w[:n] + 0.5 * dw, dw / self._dt
        force = -cross(w, self._momentum(A, w)) + self._momentum(self._A[:n], rate) - self._momentum(A, rate)
        change = float(np.abs(force - self._force).max() / (1.0 + np.abs(force).max() + self._of.heaviest))
        # Impulses are solved to a tolerance, so that the force always changes a little from solve to solve.
        settled = change <= SETTLED or (change <= ALIKE and change > 0.5 * self._change_before)
        self._force, self._change_before = force, change
        return None if settled else self._with_force()

    def finish(self, r: Vector, *, project: bool) -> Reached:
        """Return the end of the step; quaternions keep their unit length."""
        n, (du, dw) = self._of.N, self._change(r)
        e = _turned(self._turn, self._w[:n] + 0.5 * dw[:n], self._dt)
        rates = 0.5 * np.einsum("bij,bi->bj", spin_rows(e, 1.0), self._w[:n] + dw[:n])
        q = np.hstack((self._r[:n] + self._dt * (self._u + 0.5 * du)[:n], e)).ravel()
        return Reached(q, np.hstack(((self._u + du)[:n], rates)).ravel(), np.zeros(n), 0.0)


def _relative(F: Blocks, arms: Blocks, bodies: NDArray[np.intp], u: Matrix, w: Matrix | None) -> Matrix:
    """Return the velocities of b relative to a along the rows of F, (k, 3); if `w` is None, bodies do not rotate."""
    v = u[bodies] if w is None else u[bodies] + cross(w[bodies], arms)
    return np.asarray((F @ (v[:, 1] - v[:, 0])[:, :, None])[:, :, 0])


def _turned(e: Matrix, w: Matrix, h: float) -> Matrix:
    """Return unit quaternions, (N, 4), after a time h at angular velocities w, (N, 3), in the frame of the ground."""
    e = e / np.linalg.norm(e, axis=1)[:, None]
    rate = 0.5 * np.einsum("bij,bi->bj", spin_rows(e, 1.0), w)
    angle = h * np.linalg.norm(rate, axis=1)[:, None]
    return np.asarray(np.cos(angle) * e + h * np.sinc(angle / np.pi) * rate)
