"""Steps of a MuJoCo model in which no constraint acts, taken by MuJoCo's own step and verified afterwards.

Without constraints, MuJoCo's Euler and implicitfast steps solve (M + dt D) (w' - w) = dt (Q - h), as the steps of
`gaussopt.interchange.mujoco_motion` do. This equation is verified for every step, with M, forces and damping at its
beginning, and so is that every contact nearby stays open: then zero impulses satisfy the contact laws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gaussopt.cone.sparse_rows import SparseRows
from gaussopt.core.arrays import Matrix, ShortIndex, Vector
from gaussopt.interchange.contact_kernel import CLOSED
from gaussopt.interchange.mujoco_actuation import Activations
from gaussopt.interchange.mujoco_ahead import LookAhead, longest_way
from gaussopt.interchange.mujoco_damping import UNDAMPED, EndDamping
from gaussopt.interchange.mujoco_rows import IN_GAP
from gaussopt.jit.kernel import kernel

WRONG = 1e-10
"""Residual of the equation of motion, relative to its terms (Euclidean norms), above which a step is not accepted."""


class Equation(NamedTuple):
    """Arrays of MuJoCo's data that the equation of motion holds: the lower part of M, Q - h, and w', (nv,) each.

    `damping` is the diagonal part of D; w' - w and M (w' - w) are written into `change` and `momentum`.
    """

    M: SparseRows
    force: Vector
    after: Vector
    damping: Vector
    change: Vector
    momentum: Vector


@kernel
def balanced(of: Equation, D: Matrix, w: Vector, h: float) -> bool:
    """Return whether a step of length h, s, from velocities w satisfies the equation of motion; D may have no rows."""
    n, missed, sizes = len(w), 0.0, 0.0
    for i in range(n):
        of.change[i], of.momentum[i] = of.after[i] - w[i], 0.0
    for i in range(n):
        for e in range(of.M.begins[i], of.M.begins[i + 1]):
            j = of.M.columns[e]
            of.momentum[i] += of.M.values[e] * of.change[j]
            if j != i:
                of.momentum[j] += of.M.values[e] * of.change[i]
    for i in range(n):
        a, b, c = of.momentum[i], of.damping[i] * of.change[i], h * of.force[i]
        for j in range(n if len(D) > 0 else 0):
            b += D[i, j] * of.change[j]
        b = h * b
        missed += (a + b - c) * (a + b - c)
        sizes += a * a + b * b + c * c
    return missed <= WRONG * WRONG * sizes


@kernel
def stay_open(
    starts: ShortIndex, counts: ShortIndex, columns: ShortIndex, values: Vector, places: Vector, margins: Vector,
    w: Vector, h: float,
) -> int:  # fmt: skip
    """Return the number of contacts with gaps beyond CLOSED that are not negative after a time h at velocities w.

    The rows are given as in `gaussopt.interchange.contact_kernel.collect`. Tangents have no gap, as MuJoCo states rows
    of contacts.
    """
    found = 0
    for i in range(len(places)):
        gap = places[i] - margins[i]
        if gap > CLOSED:
            for e in range(starts[i], starts[i] + counts[i]):
                gap += h * values[e] * w[columns[e]]
            if gap >= 0.0:
                found += 1
    return found


State: TypeAlias = tuple[Vector, Vector, Vector]


class FreeSteps:
    """Take and verify such steps; with Euler, `at_end` is None and D is diag(`damping`); else D is from `at_end`."""

    def __init__(
        self, mj: Any, model: Any, data: Any, masses: SparseRows, damping: Vector, at_end: EndDamping | None,
        ahead: LookAhead, activations: Activations,
    ) -> None:  # fmt: skip
        self._ahead, self._moving = ahead, ahead.moving
        self._mj, self._model, self._data, self._at_end, work = mj, model, data, at_end, np.empty((2, model.nv))
        self._equation = Equation(masses, data.qfrc_smooth, data.qvel, damping, *work)
        kinds, off = mj.mjtIntegrator, int(mj.mjtDisableBit.mjDSBL_EULERDAMP)
        flags = model.opt.disableflags | int(mj.mjtDisableBit.mjDSBL_SENSOR)
        self._settings = (
            int(kinds.mjINT_EULER if at_end is None else kinds.mjINT_IMPLICITFAST),
            flags & ~off if damping.any() else flags | off,
        )
        self._activations = activations
        self.possible = activations.by_euler and (at_end is None or at_end.constant)

    def __call__(
        self, t: float, q: Vector, w: Vector, rates: Vector, ends: Sequence[float]
    ) -> tuple[int, State, State]:  # fmt: skip
        """Take steps from a state to the given instants until one fails; return how many succeeded.

        A state consists of coordinates, velocities w, (nv,), and mean rates of activations in the step before, (na,).
        Return also the states before and after the last successful step.
        """
        model, data, option = self._model, self._data, self._model.opt
        settings, taken, here = (option.integrator, option.disableflags), 0, (q, w, rates)
        option.integrator, option.disableflags = self._settings
        before, qvel, numbers = here, data.qvel, data.warning.number
        warned = numbers.tolist()
        for end in ends:
            h, (q, w, rates) = end - t, here
            self._step(q, w, t, h)
            way = h * longest_way(self._moving, qvel)
            if not self._ahead.far_enough(way):
                self._ahead.look(self._ahead.last)
                self._step(q, w, t, h)
            if model.na:
                after, rates = np.empty((2, model.na))
                self._activations(q[len(q) - model.na :], data.act_dot, h, after, rates)
                if (data.act != after).any():
                    break
            if data.nefc or numbers.tolist() != warned or not self._holds(w, h):
                break
            self._ahead.look(self._ahead.level_for(way))
            q = np.concatenate((data.qpos, data.act)) if model.na else data.qpos.copy()
            before, here, taken, t = here, (q, qvel.copy(), rates), taken + 1, end
        option.integrator, option.disableflags = settings
        if taken < len(ends):
            self._place(*here[:2])
        return taken, before, here

    def _place(self, q: Vector, w: Vector) -> None:
        """Set coordinates and velocities in `data`."""
        data, n = self._data, len(self._data.qpos)
        data.qpos[:], data.qvel[:] = q[:n], w
        if len(q) > n:
            data.act[:] = q[n:]

    def _step(self, q: Vector, w: Vector, t: float, h: float) -> None:
        """Let MuJoCo take a step of length h."""
        self._place(q, w)
        self._data.time, self._model.opt.timestep = t, h
        self._mj.mj_step(self._model, self._data)

    def _holds(self, w: Vector, h: float) -> bool:
        """Return whether the step just taken, from velocities w, satisfies the equation and leaves contacts open."""
        data = self._data
        D = UNDAMPED if self._at_end is None else self._at_end(data)
        return balanced(self._equation, D, w, h) and (not data.ncon or self._open(h))

    def _open(self, h: float) -> bool:
        """Return whether all contacts nearby are open and stay so, by their normals at the start of the step."""
        mj, model, data, exclude = self._mj, self._model, self._data, self._data.contact.exclude
        number = int((marks := exclude.tolist()).count(IN_GAP))
        if not number:
            return True
        exclude[:] = 0 if number == len(marks) else exclude * (exclude != IN_GAP)
        mj.mj_makeConstraint(model, data)
        rows = data.efc_J_rowadr, data.efc_J_rownnz, data.efc_J_colind, data.efc_J
        return stay_open(*rows, data.efc_pos, data.efc_margin, data.qvel, h) == number
