"""Motions of linkages whose bodies are pinned in a row, by compiled kernels that read the linkage from tables.

Compiling unrolled code takes a millisecond per line; these kernels loop over the bodies instead, and are compiled once
for all linkages. Steps with a vanishing pivot or too large residuals, and recorded states whose certificate does not
pass, are left to formulation and solver, as in `gaussopt.compiled.advances.generated`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.certificates import certify
from gaussopt.compiled import linkage_equations as equations
from gaussopt.compiled import linkage_kernels as kernels
from gaussopt.compiled import modules
from gaussopt.compiled.advances.fixed_steps import GeneratedFixedSteps
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput, NotCompiled
from gaussopt.core.solution import Timing
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.integration.advances.interpreted import DIVERGED
from gaussopt.modelling.linkage import GROUND, Linkage, LinkageSystem
from gaussopt.solving.answer import Answer

METHODS = ("semi-implicit", "rk4")
"""Names of the steppers for which kernels exist."""

MEMORY = 2**23
"""Largest number of floats in the recorded states that are collected before they are certified."""

SMALL = 30
"""Number of bodies of a linkage that takes `least` steps between two reports; larger linkages take fewer."""


@dataclass(frozen=True, eq=False)
class PinRow:
    """Bodies and pins in the order in which they are connected.

    Attributes
    ----------
    bodies : (K,), index of the body at each place; GROUND at an end that is pinned to the ground
    pins : (K - 1,), index of the pin between places k and k + 1
    forward : (K - 1,), whether the body `first` of that pin is at place k
    """

    bodies: NDArray[np.intp]
    pins: NDArray[np.intp]
    forward: NDArray[np.bool_]

    @classmethod
    def of(cls, linkage: Linkage) -> PinRow | None:
        """Find the order of bodies and pins; return None where the pins do not form one row from end to end."""
        N, p = linkage.bodies, linkage.pins
        ends = np.stack((linkage.first, linkage.second), axis=1)
        at = ends.ravel()
        held = np.bincount(at[at != GROUND], minlength=N)
        # A body inside a row has two pins. Several pins may hold the ground; the row ends at each of them.
        if p == 0 or held.max() > 2 or held.min() < 1 or int((held == 1).sum() + (at == GROUND).sum()) != 2:
            return None
        order = np.argsort(at, kind="stable")
        order = order[at[order] != GROUND]
        start = np.cumsum(held) - held
        pins_of = np.stack((order[start] // 2, order[start + held - 1] // 2), axis=1).tolist()
        single = (ends == GROUND) | (held[ends] == 1)
        pin = int(np.argmax(single.any(axis=1)))
        pairs = ends.tolist()
        body = pairs[pin][0 if single[pin, 0] else 1]
        bodies, pins, forward = [body], [], []
        while True:
            ahead = pairs[pin][0] == body and (body != GROUND or pairs[pin][1] != body)
            body = pairs[pin][1] if ahead else pairs[pin][0]
            pins.append(pin)
            forward.append(ahead)
            bodies.append(body)
            if body == GROUND or held[body] == 1:
                break
            one, other = pins_of[body]
            pin = other if one == pin else one
        if len(pins) < p:
            return None
        return cls(np.array(bodies), np.array(pins), np.array(forward))

    def table(self, linkage: Linkage) -> Matrix:
        """Return the table that the kernels read, (9, K)."""
        table = np.zeros((9, len(self.bodies)))
        there = self.bodies != GROUND
        body = self.bodies[there]
        table[equations.MASS, there], table[equations.INERTIA, there] = linkage.mass[body], linkage.inertia[body]
        table[equations.INVERSE_MASS, there] = 1.0 / linkage.mass[body]
        table[equations.INVERSE_INERTIA, there] = 1.0 / linkage.inertia[body]
        table[equations.FALL, there] = -linkage.gravity
        first, second = linkage.at_first[self.pins], linkage.at_second[self.pins]
        forward = self.forward[:, None]
        table[equations.NEXT_X : equations.NEXT_Y + 1, :-1] = np.where(forward, first, second).T
        table[equations.LAST_X : equations.LAST_Y + 1, 1:] = np.where(forward, second, first).T
        return table

    def placed(self, q: Vector, v: Vector) -> Vector:
        """Return a state sorted along the row of bodies, (6 K,): all x, then all y and all phi, then their rates."""
        there = self.bodies != GROUND
        out = np.zeros((6, len(there)))
        for rows, values in ((slice(0, 3), q), (slice(3, 6), v)):
            out[rows, there] = values.reshape(-1, 3)[self.bodies[there]].T
        return out.ravel()

    def coordinates(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert positions, velocities or accelerations along the row, (r, 3 K), to the bodies' order, (r, 3 N)."""
        there = self.bodies != GROUND
        body, count = self.bodies[there], len(values)
        out = np.empty((count, len(body), 3))
        out[:, body] = values.reshape(count, 3, len(there))[:, :, there].transpose(0, 2, 1)
        return out.reshape(count, 3 * len(body))

    def multipliers(self, values: Matrix) -> Vector:
        """Convert multipliers, (2, K - 1), from the order along the row to the order and signs of the pins, (m,)."""
        out = np.empty((len(self.pins), 2))
        out[self.pins] = np.where(self.forward, values, -values).T
        return out.ravel()


class LinkageKernels:
    """The kernels for one linkage and one of `METHODS`, with their tables and work space.

    Raises NotCompiled if the pins do not form a row.
    """

    def __init__(self, linkage: Linkage, method: str) -> None:
        row = PinRow.of(linkage)
        if row is None:
            raise NotCompiled("its pins do not form one row from end to end")
        self.row, self._table = row, row.table(linkage)
        self._compiled = modules.native(kernels, "march", "alone", contract=False)
        places = len(row.bodies)
        self._work, self._store = np.zeros((equations.WORK, places + 1)), np.zeros((equations.STORE, 3 * places + 3))
        self._method = kernels.RK4 if method == "rk4" else kernels.SEMI_IMPLICIT

    @property
    def memory(self) -> int:
        """Number of bytes in the tables of the linkage and in the work space of a step."""
        return sum(x.nbytes for x in (self._table, self._work, self._store))

    def steps(
        self, clock: tuple[float, float, float], number: tuple[int, int, int], y: Vector, trace: Matrix, worst: Vector,
        limit: float, sharp: float = 0.0,
    ) -> int:  # fmt: skip
        """Take steps that change the state y, (6 K,), in place; return the number of steps taken.

        Parameters
        ----------
        clock : start of the motion, step length and end of the motion, s
        number : the first step, the number of steps, and the number of steps between two recorded states
        trace, worst, limit, sharp : see `gaussopt.compiled.linkage_kernels.march`
        """
        done: int = self._compiled["march"](
            self._method, *clock, *number, y, self._table, self._work, self._store, limit, sharp, worst,
            trace,
        )  # fmt: skip
        return done

    def answer(self, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Return acceleration, (n,), and multipliers, (m,), at a state; they are meaningless if a pivot vanishes."""
        y, store, work = self.row.placed(q, v), self._store, self._work
        n = len(y) // 2
        self._compiled["alone"](y[:n], y[n:], store, self._table, work)
        lam = work[equations.LX : equations.LY + 1, 1:-1]
        return self.row.coordinates(store[:1, :n])[0], self.row.multipliers(lam)


class LinkageSteps(GeneratedFixedSteps):
    """Advances a linkage whose bodies are pinned in a row, by steps of constant length."""

    solver = "sparse-kkt"
    methods = METHODS
    why_uncontrolled = "the compiled steps of linkages have no inputs that a control could set"
    form = "kernel for linkages"

    @classmethod
    def suits(cls, system: AbstractSystem, method: Stepper) -> bool:
        """Accept motions of linkages; whether the method has kernels is checked by `can`."""
        return isinstance(system, LinkageSystem)

    def prepare(self, first: StepData, evaluations: float) -> None:
        """Find the order of bodies and pins, and compile the kernels if they are not compiled yet.

        Raises NotCompiled if the pins do not form a row.
        """
        begin = perf_counter()
        self.t = self.origin = first.t
        assert isinstance(self.system, LinkageSystem)
        self._kernels = LinkageKernels(self.system.linkage, self.method.name)
        self._row = self._kernels.row
        self.least = max(1, self.least * SMALL // len(self._row.bodies))
        self.motion.timing["compile"] = perf_counter() - begin

    def _march_steps(self, first: int, count: int, y: Any, trace: Any, worst: Any) -> int:
        control = self.control
        assert control.dt is not None
        clock = self.origin, control.dt, control.t_end
        return self._kernels.steps(clock, (first, count, self._each), y, trace, worst, self.limit, self.sharp)

    def _packed(self, q: Vector, v: Vector) -> Any:
        return self._row.placed(q, v)

    def _unpacked(self, states: Matrix) -> Matrix:
        half = states.shape[1] // 2
        return np.hstack((self._row.coordinates(states[:, :half]), self._row.coordinates(states[:, half:])))

    def _trace(self, rows: int, width: int) -> Any:
        return np.empty((rows, width))

    def _room(self, width: int) -> int:
        return max(1, MEMORY // width) * self._each

    def _write_down(self, times: Vector, states: Matrix) -> None:
        """Certify and record the states at these times, one by one."""
        motion, n = self.motion, states.shape[1] // 2
        for t, state in zip(times.tolist(), states, strict=True):
            self._suspect = t
            if not np.isfinite(state).all():
                raise BadInput(DIVERGED)
            q, v = state[:n].copy(), state[n:].copy()
            begin = perf_counter()
            step = motion.step(t, q, v)
            motion.timing["model"] += perf_counter() - begin
            begin = perf_counter()
            a, lam = self._kernels.answer(q, v)
            finite = math.isfinite(float(a.sum()) + float(lam.sum()))
            certificate = certify(step, a, lam) if finite else None
            if certificate is None or not certificate.passed(min(motion.solver.tolerance, DEFAULT_TOLERANCE)):
                self._write(t, q, v, motion.answer(t, q, v))
                continue
            spent = Timing(0.0, 0.0, 0.0, 0.0, 0.0, perf_counter() - begin, 0.0)
            answer = Answer(
                a, lam, step.zeta_N[:0], step.v_T[:0], Status.SOLVED, Status.SOLVED, Status.SOLVED.sentence,
                certificate, 0, spent,
            )  # fmt: skip
            self._write(t, q, v, motion.counted(step, answer))

    def may_exceed(self, limit: float, t: float, q: Vector, v: Vector) -> bool:
        """Return True, since the kernel returns the acceleration itself."""
        return True

    def acceleration(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the acceleration by the kernel, without a certificate; only the residuals of steps are checked."""
        a = self._kernels.answer(q, v)[0]
        return a if np.isfinite(a).all() else super().acceleration(t, q, v)
