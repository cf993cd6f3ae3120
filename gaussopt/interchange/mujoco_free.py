"""Steps of a MuJoCo model in which no constraint acts, taken by MuJoCo's own step and verified afterwards.

Without constraints, MuJoCo's Euler and implicitfast steps solve (M + dt D) (w' - w) = dt (Q - h), as the steps of
`gaussopt.interchange.mujoco_motion` do. This equation is verified for every step, with M, forces and damping at its
beginning, and so is that every contact nearby stays open: then zero impulses satisfy the contact laws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gaussopt.cone.sparse_rows import SparseRows
from gaussopt.core.arrays import Matrix, ShortIndex, Vector
from gaussopt.interchange.contact_kernel import CLOSED
from gaussopt.interchange.mujoco_ahead import LookAhead, Moving, longest_way
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


class FreeSteps:
    """Take and verify such steps; with Euler, `at_end` is None and D is diag(`damping`); else D is from `at_end`."""

    def __init__(
        self, mj: Any, model: Any, data: Any, masses: SparseRows, damping: Vector, at_end: EndDamping | None,
        ahead: LookAhead, moving: Moving,
    ) -> None:  # fmt: skip
        self._ahead, self._moving = ahead, moving
        self._mj, self._model, self._data, self._at_end, work = mj, model, data, at_end, np.empty((2, model.nv))
        self._equation = Equation(masses, data.qfrc_smooth, data.qvel, damping, *work)
        kinds, off = mj.mjtIntegrator, int(mj.mjtDisableBit.mjDSBL_EULERDAMP)
        flags = model.opt.disableflags | int(mj.mjtDisableBit.mjDSBL_SENSOR)
        self._settings = (
            int(kinds.mjINT_EULER if at_end is None else kinds.mjINT_IMPLICITFAST),
            flags & ~off if damping.any() else flags | off,
        )
        self.possible = model.na == 0 and (at_end is None or at_end.constant)

    def __call__(
        self, t: float, q: Vector, w: Vector, ends: Sequence[float]
    ) -> tuple[int, tuple[Vector, Vector]]:  # fmt: skip
        """Take steps from a state to the given instants until one fails; return how many succeeded, and (qpos, qvel).

        Afterwards `data` hold the state reached; the returned state is the one before the last successful step.
        """
        mj, model, data, option = self._mj, self._model, self._data, self._model.opt
        before, settings, taken = (q, w), (option.integrator, option.disableflags), 0
        option.integrator, option.disableflags = self._settings
        qpos, qvel, numbers = data.qpos, data.qvel, data.warning.number
        qpos[:], qvel[:] = q, w
        warned = numbers.tolist()
        for end in ends:
            here, h = (qpos.copy(), qvel.copy()), end - t
            data.time, option.timestep = t, h
            mj.mj_step(model, data)
            way = h * longest_way(self._moving, qvel)
            if not self._ahead.far_enough(way):
                self._ahead.look(self._ahead.last)
                data.time, qpos[:], qvel[:] = t, *here
                mj.mj_step(model, data)
            if data.nefc or numbers.tolist() != warned or not self._holds(here[1], h):
                qpos[:], qvel[:] = here
                break
            self._ahead.look(self._ahead.level_for(way))
            before, taken, t = here, taken + 1, end
        option.integrator, option.disableflags = settings
        return taken, before

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
