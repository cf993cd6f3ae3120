"""One time step of a MuJoCo model: the contact problem in its impulses, and the state at its end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bsr_array

from gaussopt.cone.condensing import MASSLESS, ROWS_MAY_DEPEND, condense, finish
from gaussopt.cone.groups import groups_into, joined, joined_blocks
from gaussopt.cone.pushes import all_apart
from gaussopt.cone.sparse_rows import SparseRows
from gaussopt.core.arrays import Index, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.delassus import SMALL
from gaussopt.core.errors import BadInput
from gaussopt.core.system import Energy
from gaussopt.core.time_step import Arrived, Found, Reached, Starts, Taken, TimeStep
from gaussopt.interchange.contact_kernel import Nearby, bound_blocks
from gaussopt.interchange.mujoco_contacts import NearContacts
from gaussopt.interchange.mujoco_damping import UNDAMPED
from gaussopt.interchange.mujoco_equalities import independent
from gaussopt.interchange.mujoco_projection import LOOKED
from gaussopt.interchange.step_kernel import AT_LEAST, NUMBERS, step_at_once, taking_part

NOTHING = Found((), np.zeros(0), np.zeros((0, ROWS - 1)))
"""No contacts and limits."""

LARGE = 60
"""Number of velocities up to which groups of bodies are not looked for."""

FARTHER, CLOSE = 2.0, 0.01
"""A contact is taken into a step at first if it would close within FARTHER steps at its present velocity, but for a
gap of CLOSE of the distance up to which contacts are looked for."""


BLOCKS, FILLED = 150, 0.2
"""Number of rows of a contact problem beyond which its operator is stored as blocks, if at most this share of them is
not zero; contacts that no block connects are then solved apart."""

FEW = 24
"""Up to this number of contacts all are taken into the problem, which is then as quickly solved."""


class MujocoStep(TimeStep):
    """The time step of a `MujocoSystem` from a state q, v, (n,) each.

    Contacts that stay apart without forces of their own satisfy Coulomb's law; they are left out of the problem, and
    taken into it where its solution closes one of them.
    """

    def __init__(self, system: Any, t: float, q: Vector, v: Vector) -> None:
        self._system, self._t, self._q, self._v, self._w = system, t, q, v, system.velocities(q, v)
        self._contacts: NearContacts
        self._nearby: Nearby
        self._lowest: float
        self._looks = -1
        self._look(system.look_ahead.last if len(self._w) > LARGE else None)
        self._kept: NearContacts = self._contacts
        self._end: tuple[Vector, Vector, Vector, float] | None = None
        self._groups: tuple[Index, Index, Index, int]
        self.equalities, data = len(self._nearby.phi), system.data
        rows = data.ne or data.nf or data.nl or self.equalities
        self.free = not rows and self._lowest > 0.0 and system.may_be_free

    def _look(self, level: int | None = None) -> None:
        """Read from MuJoCo what the step needs, with contacts as far ahead as `level` or the velocities say."""
        system, data, ahead = self._system, self._system.data, self._system.look_ahead
        if level is not None:
            ahead.look(level)
        if self._looks != system.near.looks:
            system.command(self._t, self._q, self._w)  # a control is asked once for a state, as it may count its calls
        system.place(self._t, self._q, self._w)
        self._contacts, self._nearby, self._lowest, speed = system.near()
        if level is None and (wanted := ahead.level_for(system.dt * speed)) != ahead.level:
            ahead.look(wanted)
            system.place(self._t, self._q, self._w)
            self._contacts, self._nearby, self._lowest, _ = system.near()
        self._level = ahead.level
        self._looks = system.near.looks
        self._act = self._of_act = self._w[:0]
        if system.activations.names:
            self._act, self._of_act = data.act.copy(), data.act_dot.copy()
        self.D = UNDAMPED if system.damping_at_end is None else system.damping_at_end(data)

    @property
    def _near(self) -> Nearby:
        """What MuJoCo says of the state, which is asked again if another step has been made since."""
        if self._looks != self._system.near.looks:
            self._look(self._level)
        return self._nearby

    @property
    def names(self) -> Sequence[str]:
        """Names of contacts and limits, by geometries, joints and tendons."""
        return self._kept.names

    @property
    def opens(self) -> NDArray[np.bool_]:
        """Whether each contact or limit can open: not dry friction of joints, nor torsional or rolling friction."""
        return self._kept.opens

    @property
    def found(self) -> Found:
        """Contacts and limits that were found; friction without a normal has no gap."""
        near = self._near
        if not len(near.gaps):
            return NOTHING
        u = near.R.times(self._w, len(near.phi), 1, np.zeros(ROWS * len(near.gaps)))
        gaps, contacts = near.gaps, self._contacts
        if len(contacts.bounds[0]):
            gaps = np.where(contacts.opens, gaps, np.nan)
        return Found(contacts.names, gaps, u.reshape(-1, ROWS)[:, 1:])

    @property
    def drift(self) -> tuple[float, float]:
        """Largest residuals of MuJoCo's equality rows, at position and velocity level."""
        if not self.equalities:
            return 0.0, 0.0
        return float(np.abs(self._near.phi).max(initial=0.0)), self._missed(self._w)

    def _missed(self, w: Vector) -> float:
        """Return the largest |E w|."""
        return float(np.abs(self._near.R.times(w, 0, 1, np.zeros(self.equalities))).max(initial=0.0))

    def energy(self) -> Energy:
        """Return the energies that MuJoCo computes for its present state."""
        found: Energy = self._system.energy_here()
        return found

    def at_once(
        self, ends: Iterable[float], starts: Starts, arrived: Arrived, solver: Any, accepted: float, *, project: bool
    ) -> TimeStep | None:  # fmt: skip
        """Take steps by `step_at_once` until one fails or no other is to follow."""
        here: Any = self
        for end in ends if len(self._w) <= LARGE else ():
            step = here.quickly(end - here._t, starts, solver, accepted, project)
            if step is None or (here := arrived(step)) is None:
                break
        return here  # type: ignore[no-any-return]

    def _farther(self) -> None:
        """Look for contacts as far ahead as possible."""
        self._look(self._system.look_ahead.last)
        self._kept = self._contacts

    def quickly(
        self, dt: float, starts: Starts, solver: Any, accepted: float, project: bool
    ) -> Taken | None:  # fmt: skip
        """Take a step by `step_at_once`, with all contacts if these are few, else with those that may close."""
        system, near, n, wanted = self._system, self._near, len(self._w), None
        self._kept, k, m = self._contacts, len(near.gaps), self.equalities
        if k > FEW:
            wanted, which = np.empty(k, dtype=np.int64), self._kept.indices
            taking_part(near, *which, FARTHER * dt, CLOSE * system.ahead, wanted)
            self._kept = self._contacts.chosen(wanted)
        size, start = ROWS * len(self._kept.mu), starts(self._kept.names)
        if size > SMALL:
            return None
        memory = system.near.memory(self._kept, wanted, system.damping, m)
        first, last = NUMBERS + size, NUMBERS + size + 2 * n + m + system.unit_rows
        stays = last + len(self._kept.mu)
        start, result = near.gaps[:0] if start is None else start, np.empty(stays + k)
        how = dt, solver.quick_methods(), accepted, project
        if not step_at_once(memory, near, system.look_ahead.moving, self.D, start, result, *how):
            return None
        end = first + n
        r, w, way, lam = result[NUMBERS:first], result[first:end], result[end : end + n], result[end + n : last]
        missed, count, method, off, far, moved = result[:NUMBERS].tolist()
        if not system.look_ahead.far_enough(moved):
            self._farther()
            return self.quickly(dt, starts, solver, accepted, project)
        self._dt = dt
        if not far <= LOOKED**2:
            self._bounded(w, way)
        elif project and self._lowest < -AT_LEAST:
            names, depths = self._contacts.names, result[stays:].tolist()
            system.projection.stuck.update((x, depth) for x, depth in zip(names, depths, strict=True) if depth)
        if missed >= 0.0:
            solver.succeeded(int(method))
        problem, pushes = ConeComplementarity(memory.W, memory.q, memory.mu), result[last:stays].tobytes()
        of, reached, count = self._kept, self._ended(lam, w, way, off), max(int(count), 0)
        return Taken(of.names, of.opens, self._v, reached, dt, problem, r, pushes, missed, count)

    def problem(self, dt: float) -> ConeComplementarity:
        """Return the problem in the impulses of contacts and limits; impulses of equality rows are eliminated."""
        self._dt = dt
        if self._level != self._system.look_ahead.last:
            self._farther()
        everything = np.ones(len(self._near.gaps), dtype=bool)
        if len(everything) <= FEW:
            return self._problem(everything)
        return self._problem(self._after(FARTHER * dt * self._w) <= CLOSE * self._system.ahead)

    def again(self, r: Vector) -> ConeComplementarity | None:
        """Return the problem with the contacts that impulses r close, or None if all contacts left out stay open."""
        if self._kept is self._contacts:
            return None
        self._end = self._reached(r)
        closes = ~self._wanted & (self._after(self._end[2]) < 0.0)
        return self._problem(self._wanted | closes) if closes.any() else None

    def _after(self, way: Vector) -> Vector:
        """Return the gaps, (k,), after a displacement, (nv,), as the rows predict them."""
        near = self._near
        return near.R.times(way, len(near.phi), ROWS, near.gaps.copy())

    def _problem(self, wanted: NDArray[np.bool_]) -> ConeComplementarity:
        """Return the problem of the wanted contacts."""
        (R, gaps, *_), m, self._basis, self._end = self._near, self.equalities, None, None
        self._kept, self._wanted, self._open_by = self._contacts, wanted, gaps
        if not wanted.all():
            self._kept, self._open_by = self._contacts.only(wanted), gaps[wanted]
            R = R.only(m, np.flatnonzero(wanted), ROWS)
        found = self._condensed(R, m)
        if found == ROWS_MAY_DEPEND:
            # Independent combinations of the rows yield the smallest impulses for the rows themselves.
            self._condensed(R, m, apart=False)
            self._basis = basis = independent(self._S[len(self._w) :, :m][: len(self._w)])
            E = basis.T @ R.dense(0, m, len(self._w))
            found = self._condensed(R.after(E, m), len(E), apart=False)
        if found == MASSLESS:
            raise BadInput("A velocity of the model has no mass; give all bodies that move mass and inertia.")
        mu, q = self._kept.mu, np.empty(ROWS * len(self._open_by))
        (_, rows, at, count), local = self._groups, self._local
        if len(q) > BLOCKS:
            begins, most = np.zeros(len(mu) + 1, dtype=np.int64), int(FILLED * len(mu) ** 2)
            columns, data = np.empty(most, dtype=np.int64), np.empty(ROWS**2 * most)
            if joined_blocks(self._m, rows, at, count, local, self._kept.parents, begins, columns, data, q):
                columns, data = columns[: begins[-1]], data[: ROWS**2 * begins[-1]]
                bound_blocks(begins, columns, data, q, *self._kept.bounds, self._dt)
                stored: Any = bsr_array((data.reshape(-1, ROWS, ROWS), columns, begins), shape=(len(q), len(q)))
                return ConeComplementarity(stored, q, mu)
        if count == 1:
            W, q = local[: len(q) ** 2].reshape(len(q), len(q)), local[len(q) ** 2 :]
        else:
            W = np.zeros((len(q), len(q)))
            joined(self._m, rows, at, count, local, W, q)
        return ConeComplementarity(*self._kept.bounded(W, q, self._dt), mu)

    def _condensed(self, R: SparseRows, m: int, apart: bool = True) -> int:
        """Eliminate the first m of the rows R, (p, nv); `apart`, in each group of velocities that none connects."""
        p, nv = len(R.begins) - 1, len(self._w)
        dofs, rows, count = np.arange(nv), np.arange(p), 1
        at = np.array((0, 0, 0, 0, m, nv, p, 2 * nv + (p if m else 0), (p - m) * (p - m + 1)))
        width = max(nv, p + 1)
        if apart and nv > LARGE:
            at = np.empty(5 * (nv + 1), dtype=np.int64)
            count = int(groups_into(self._near.M, self.D, R, m, self._kept.parents, dofs, rows, at))
            ends = at[: 5 * (count + 1)].reshape(-1, 5)
            size = np.diff(ends, axis=0).max(axis=0)
            width = int(max(size[0], size[1] + 1))
        self._rows, self._m, self._groups = R, m, (dofs, rows, at, count)
        self._S, self._local = np.empty((int(at[5 * count + 2]), width)), np.empty(int(at[5 * count + 3]))
        near = self._near
        forces = near.M, self.D, self._system.damping, R, near.force
        return int(condense(*forces, self._w, self._open_by, m, self._dt, *self._groups, self._S, self._local))

    def _reached(self, r: Vector) -> tuple[Vector, Vector, Vector, float]:
        """Return impulses of equality rows, (m,), velocities and displacement, (nv,), and the largest |E w'|."""
        n, m = len(self._w), self._m
        lam, w, way = np.zeros(m), np.empty(n), np.empty(n)
        missed = float(finish(self._rows, self._w, m, self._dt, *self._groups, self._S, r, lam, w, way))
        if self._basis is not None:
            lam = self._basis @ lam
            missed = self._missed(w)
        return lam, w, way, missed

    def finish(self, r: Vector, *, project: bool) -> Reached:
        """Return the end of the step; with `project` the displacement also corrects the constraint residuals."""
        m, R, gaps = self._m, self._rows, self._open_by
        lam, w, way, missed = self._end or self._reached(r)
        if project and len(R):
            push, phi = np.zeros(len(r)), self._near.phi if self._basis is None else self._basis.T @ self._near.phi
            all_apart(m, self._dt, *self._groups, self._S, self._local, gaps, r, phi, push, way)
            if self._kept is not self._contacts and (self._after(way)[~self._wanted] < 0.0).any():
                # The correction closes a contact that was left out.
                kept, whole = self._kept, np.zeros((len(self._wanted), ROWS))
                whole[self._wanted] = r.reshape(-1, ROWS)
                self._problem(np.ones_like(self._wanted))
                found, self._kept = self.finish(whole.ravel(), project=True), kept
                return found
            self._bounded(w, way)
        return self._ended(np.append(lam, np.zeros(self._system.unit_rows)), w, way, missed)

    def _bounded(self, w: Vector, way: Vector) -> None:
        """Shorten the correction of a displacement `way` at velocities w, (nv,), in place, if it must be."""
        near = self._near
        state = near.R, near.phi, near.gaps, self._lowest
        self._system.projection(state, self._contacts.names, self._system.row_names, self._dt * w, way)

    def _ended(self, lam: Vector, w: Vector, way: Vector, missed: float) -> Reached:
        """Return the end of the step from the impulses of all rows, velocities and displacement."""
        system = self._system
        q = system.moved(self._q, way)
        of_act = self._act
        if len(of_act):
            of_act = np.empty(len(of_act))
            system.activations(self._act, self._of_act, self._dt, q[len(q) - len(of_act) :], of_act)
        v = system.rates_of(q, w, of_act)
        return Reached(q, v, lam, missed)
