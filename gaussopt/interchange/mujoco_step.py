"""One time step of a MuJoCo model: the contact problem in its impulses, and the state at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.cone.condensing import MASSLESS, ROWS_MAY_DEPEND, condense, finish, least_pushes, way_back
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.errors import BadInput
from gaussopt.core.system import Energy
from gaussopt.core.time_step import Found, Reached, TimeStep
from gaussopt.interchange.mujoco_contacts import NearContacts
from gaussopt.interchange.mujoco_equalities import independent
from gaussopt.interchange.mujoco_model import mass_matrix

NOTHING = Found((), np.zeros(0), np.zeros((0, ROWS - 1)))
"""No contacts and limits."""


class MujocoStep(TimeStep):
    """The time step of a `MujocoSystem` from a state q, v, (n,) each."""

    def __init__(self, system: Any, t: float, q: Vector, v: Vector) -> None:
        self._system, self._q = system, q
        self._w = system.velocities(q, v)
        system.actuate(t, q, self._w)
        data = system.data
        E, phi = system.equalities.rows(data)
        self._phi: Vector = phi.copy()
        self._contacts: NearContacts
        self._R: Matrix
        self._gaps: Vector
        self._contacts, self._R, self._gaps, self._lowest = system.near(E)
        self._force, self.M = data.qfrc_smooth.copy(), mass_matrix(system.mj, system.model, data)
        self._act, self._of_act = data.act.copy(), data.act_dot.copy()
        self.D = None if system.damping_at_end is None else system.damping_at_end(data)
        rows = data.ne or data.nf or data.nl or len(phi)
        self.free = not rows and self._lowest > 0.0 and system.may_be_free

    @property
    def _E(self) -> Matrix:
        return self._R[: len(self._phi)]

    @property
    def names(self) -> Sequence[str]:
        """Names of contacts and limits, by geometries, joints and tendons."""
        return self._contacts.names

    @property
    def opens(self) -> NDArray[np.bool_]:
        """Whether each contact or limit can open: not dry friction of joints, nor torsional or rolling friction."""
        return self._contacts.opens

    @property
    def found(self) -> Found:
        """Contacts and limits that were found; friction without a normal has no gap."""
        if not len(self._gaps):
            return NOTHING
        slip = (self._R[len(self._phi) :] @ self._w).reshape(-1, ROWS)[:, 1:]
        return Found(self._contacts.names, np.where(self.opens, self._gaps, np.nan), slip)

    @property
    def drift(self) -> tuple[float, float]:
        """Largest residuals of MuJoCo's equality rows, at position and velocity level."""
        if not len(self._phi):
            return 0.0, 0.0
        return float(np.abs(self._phi).max(initial=0.0)), float(np.abs(self._E @ self._w).max(initial=0.0))

    def energy(self) -> Energy:
        """Return the energies that MuJoCo computes for its present state."""
        found: Energy = self._system.energy_here()
        return found

    def problem(self, dt: float) -> ConeComplementarity:
        """Return the problem in the impulses of contacts and limits; impulses of equality rows are eliminated."""
        self._dt, self._basis, m = dt, None, len(self._phi)
        found = self._condensed(self._R, m)
        if found == ROWS_MAY_DEPEND:
            # Independent combinations of the rows yield the smallest impulses for the rows themselves.
            self._basis = basis = independent(self._S[len(self._w) :, :m][: len(self._w)])
            found = self._condensed(np.vstack((basis.T @ self._R[:m], self._R[m:])), basis.shape[1])
        if found == MASSLESS:
            raise BadInput("A velocity of the model has no mass; give all bodies that move mass and inertia.")
        n = ROWS * len(self._gaps)
        given = self._local[: n * n].reshape(n, n), self._local[n * n :]
        return ConeComplementarity(*self._contacts.bounded(*given, dt), self._contacts.mu)

    def _condensed(self, R: Matrix, m: int) -> int:
        """Eliminate the first m of the rows R, (p, nv)."""
        (p, nv), n = R.shape, len(R) - m
        self._rows, self._m = R, m
        self._S, self._local = np.empty((2 * nv + p, max(nv, p + 1))), np.empty(n * n + n)
        M = self.M if self.D is None else self.M + self._dt * self.D
        given = M, self._system.damping, R, self._force, self._w, self._gaps, m, self._dt
        return int(condense(*given, self._S, self._local))

    def finish(self, r: Vector, *, project: bool) -> Reached:
        """Return the end of the step; with `project` the displacement also corrects the constraint residuals."""
        system, m, S, R, n = self._system, self._m, self._S, self._rows, len(self._w)
        lam, w, way = np.zeros(m), np.empty(n), np.empty(n)
        phi = self._phi if self._basis is None else self._basis.T @ self._phi
        given = S, R, self._w, m, self._dt, self._local, r, self._gaps, phi
        missed = float(finish(*given, int(project), lam, w, way))
        if missed < 0.0:
            missed = float(finish(*given, 0, lam, w, way))
            way_back(S, len(R), m, phi, least_pushes(self._local, self._gaps, r, self._dt), way)
        if self._basis is not None:
            lam = self._basis @ lam
            missed = float(np.abs(self._E @ w).max())
        if project and len(R):
            state = self._q, self._R, self._phi, self._gaps, self._lowest
            system.projection(state, self.names, system.row_names, self._dt * w, way)
        q = system.moved(self._q, way)
        of_act = self._act
        if len(of_act):
            q[system.model.nq :] = act = system.activations(self._act, self._of_act, self._dt)
            of_act = (act - self._act) / self._dt
        v = system.rates_of(q, w, of_act)
        system.latest = q, v, w
        return Reached(q, v, np.append(lam, np.zeros(system.unit_rows)) if system.unit_rows else lam, missed)
