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
from gaussopt.core.arrays import Vector
from gaussopt.interchange.contact_kernel import CLOSED
from gaussopt.interchange.mujoco_damping import EndDamping
from gaussopt.interchange.mujoco_equalities import sparse_rows
from gaussopt.interchange.mujoco_rows import IN_GAP
from gaussopt.jit.kernel import kernel

WRONG = 1e-10
"""Residual of the equation of motion, relative to its terms (Euclidean norms), above which a step is not accepted."""


class Terms(NamedTuple):
    """Terms of the equation of motion: M (w' - w), D (w' - w) and Q - h, (nv,) each."""

    momentum: Vector
    damped: Vector
    force: Vector


@kernel
def balanced(terms: Terms, h: float) -> bool:
    """Return whether the terms of a step of length h, s, sum up to zero."""
    missed, sizes = 0.0, 0.0
    for i in range(len(terms.force)):
        a, b, c = terms.momentum[i], h * terms.damped[i], h * terms.force[i]
        missed += (a + b - c) * (a + b - c)
        sizes += a * a + b * b + c * c
    return missed <= WRONG * WRONG * sizes


@kernel
def stay_open(J: SparseRows, places: Vector, margins: Vector, closed: float, w: Vector, h: float) -> int:
    """Return the number of contacts with gaps beyond `closed` that are not negative after a time h at velocities w.

    Tangents have no gap, as MuJoCo states rows of contacts.
    """
    found = 0
    for i in range(len(places)):
        gap = places[i] - margins[i]
        if gap > closed:
            for e in range(J.begins[i], J.begins[i + 1]):
                gap += h * J.values[e] * w[J.columns[e]]
            if gap >= 0.0:
                found += 1
    return found


class FreeSteps:
    """Take and verify such steps; with Euler, `at_end` is None and D is diag(`damping`); else D is from `at_end`."""

    def __init__(self, mj: Any, model: Any, data: Any, damping: Vector, at_end: EndDamping | None) -> None:
        self._mj, self._model, self._data = mj, model, data
        self._damping, self._at_end, self._change = damping, at_end, np.empty(model.nv)
        self._terms = Terms(np.empty(model.nv), np.empty(model.nv), data.qfrc_smooth)
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
            if data.nefc or numbers.tolist() != warned or not self._holds(here[1], h):
                qpos[:], qvel[:] = here
                break
            before, taken, t = here, taken + 1, end
        option.integrator, option.disableflags = settings
        return taken, before

    def _holds(self, w: Vector, h: float) -> bool:
        """Return whether the step just taken, from velocities w, satisfies the equation and leaves contacts open."""
        data, terms, change = self._data, self._terms, self._change
        np.subtract(data.qvel, w, out=change)
        self._mj.mj_mulM(self._model, data, terms.momentum, change)
        if self._at_end is None:
            np.multiply(self._damping, change, out=terms.damped)
        else:
            np.dot(self._at_end(data), change, out=terms.damped)
        return balanced(terms, h) and (not data.ncon or self._open(h))

    def _open(self, h: float) -> bool:
        """Return whether all contacts nearby are open and stay so, by their normals at the start of the step."""
        mj, model, data, exclude = self._mj, self._model, self._data, self._data.contact.exclude
        number = int((marks := exclude.tolist()).count(IN_GAP))
        if not number:
            return True
        exclude[:] = 0 if number == len(marks) else exclude * (exclude != IN_GAP)
        mj.mj_makeConstraint(model, data)
        rows = sparse_rows(data, data.nefc)
        return stay_open(rows, data.efc_pos, data.efc_margin, CLOSED, data.qvel, h) == number
