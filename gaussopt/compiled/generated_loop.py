"""The loop of a motion whose steps run as generated code, certified where it is recorded.

What the generated code cannot do, it hands over: a step with a vanishing pivot, and a recorded state whose certificate
does not pass, go through the same formulation, solver and certificate as an interpreted motion.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.certificates.acceptance import NEGLIGIBLE, accepts
from gaussopt.codegen import modules
from gaussopt.codegen.job import Orders
from gaussopt.codegen.loop import ROW
from gaussopt.core.errors import BadInput, GaussoptError, NotCompiled
from gaussopt.core.status import Status
from gaussopt.core.step_data import Matrix, Vector
from gaussopt.core.stepper import Control, Stepper
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.integration.accelerations import CertifiedAccelerations, Rejected
from gaussopt.integration.bilateral_loop import DIVERGED, BilateralLoop, Record
from gaussopt.integration.stabilisation import Projection, Stabilisation, Unstabilised
from gaussopt.integration.trajectory import Recorder
from gaussopt.linalg.dense import EPS
from gaussopt.modelling.lagrangian import LagrangianSystem
from gaussopt.solving.answer import Answer

CHUNK = 0.2
"""Seconds between two reports of progress, roughly; Ctrl-C is heard in between."""

FIRST = 1000
"""Steps before the first report."""

AGAIN = 3
"""Steps that are interpreted where a motion fails: the one that does, and its neighbours."""


SOLVER = "kkt"
"""What the generated code stands for, with the formulation gauss."""


def why_not(method: Stepper, stabiliser: Stabilisation) -> str | None:
    """Why a motion cannot run as generated code, None if it can."""
    if method.name not in modules.WRITERS:
        return f"the stepper {method.name!r} has no generated loop"
    if not isinstance(stabiliser, Unstabilised | Projection):
        return f"the stabilisation {stabiliser.name!r} has no generated form"
    return None


def loop_of(method: Stepper) -> type[GeneratedLoop]:
    """The loop that runs a method."""
    from gaussopt.compiled.adaptive_loop import GeneratedAdaptiveLoop

    return GeneratedAdaptiveLoop if method.adaptive else GeneratedFixedStepLoop


def norms(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the certificates of recorded rows (..., row) hold as squares, (8, ...)."""
    return np.asarray(np.sqrt(np.abs(np.moveaxis(table[..., 1:9], -1, 0))))


def passing(table: NDArray[np.float64], found: NDArray[np.float64], tolerance: float) -> NDArray[np.bool_]:
    """Recorded rows whose certificate passes, as `Certificate.passed`; others are looked at one by one.

    Parameters
    ----------
    table : (..., row)
    found : (8, ...), their `norms`
    tolerance : relative error allowed
    """
    numbers: Any = found
    error, _, residual, force, floor, a, _, gamma = numbers
    tolerance = min(tolerance, DEFAULT_TOLERANCE)
    # Errors beyond the scale of the step itself are left to the certificate that knows it.
    good = accepts(tolerance, NEGLIGIBLE, error, force, 0.0, EPS * floor, residual, math.nan, 0.0, a, gamma)
    return np.asarray((table[..., 0] == 1.0) & good & np.isfinite(table).all(axis=-1))


class GeneratedLoop(ABC):
    """One integration from start to end by generated code: what all methods share.

    Parameters
    ----------
    motion : the same motion interpreted, for what is handed over; counts evaluations and worst certificates
    method : a stepper with a tableau
    control : from where to where
    every : steps between two recorded states
    recorder : takes whole blocks of rows
    record : writes down a state that was interpreted
    progress : called with the fraction done
    """

    def __init__(
        self,
        motion: CertifiedAccelerations,
        method: Stepper,
        control: Control,
        every: int,
        recorder: Recorder,
        record: Record,
        progress: Callable[[float], None] | None,
    ) -> None:
        self.motion, self.method, self.control, self.every, self.progress = motion, method, control, every, progress
        self._recorder, self._interpreted = recorder, record
        self.events: list[dict[str, Any]] = []
        self.steps = self.handed_over = 0
        self.residuals = [0.0, 0.0]
        self.t = 0.0
        self._suspect: float | None = None
        self._array: Any = np.array if modules.has_llvm() else list
        self.sharp = motion.stabiliser.tolerance if isinstance(motion.stabiliser, Projection) else 0.0
        self.limit = min(motion.solver.tolerance, DEFAULT_TOLERANCE) ** 2

    @property
    def system(self) -> LagrangianSystem:
        """The system whose equations the generated code holds."""
        assert isinstance(self.motion.system, LagrangianSystem)
        return self.motion.system

    @abstractmethod
    def integrate(self, t: float, q: Vector, v: Vector) -> tuple[Status, str]:
        """From a state to the end; returns status and message."""

    def prepare(self, t: float, q: Vector, v: Vector) -> None:
        """Generate and compile for motions from this state.

        Raises
        ------
        NotCompiled
            If the equations cannot be unrolled.
        """
        begin = perf_counter()
        self.t = self._t0 = t
        system, projected = self.system, isinstance(self.motion.stabiliser, Projection)
        orders = Orders.of(system, system.evaluate(t, q, v))
        self._march = modules.march(system.model, self.method, orders, projected)
        array = self._array
        self._p = array(list(system.parameters.values()))
        self._work = array([0.0] * self._march.work)
        self._rows: Callable[..., None] | None = None
        # Without a generated certificate recorded states are certified one by one, by the rank-revealing path.
        with suppress(NotCompiled):
            self._rows = modules.rows(system.model, system.source, orders, self._array is np.array)
        self.motion.timing["compile"] = perf_counter() - begin

    def _table(self, times: Vector, states: Matrix) -> Matrix | None:
        """What is recorded of states, None where there is no generated certificate or its arithmetic fails."""
        if self._rows is None:
            return None
        width = ROW + self.system.n + 2 * self.system.m
        p = self.system.parameters.values()
        if self._array is np.array:
            table = np.zeros(len(times) * width)
            self._rows(len(times), np.ascontiguousarray(times), states.ravel(), np.array(list(p)), table)
            return table.reshape(len(times), width)
        flat = [0.0] * (len(times) * width)
        try:
            self._rows(len(times), times.tolist(), states.ravel().tolist(), list(p), flat)
        except (ArithmeticError, ValueError, TypeError):
            return None
        return np.array(flat).reshape(len(times), width)

    def _flat(self, values: Vector | Matrix) -> Any:
        """Values as generated code reads them; a copy where it is CPython that does."""
        return np.ascontiguousarray(values).ravel() if self._array is np.array else values.ravel().tolist()

    def _zeros(self, size: int) -> Any:
        return np.zeros(size) if self._array is np.array else [0.0] * size

    def about(self) -> dict[str, Any]:
        """Engine, steps, how many were interpreted, and the largest residuals of the others, relative."""
        constraint, force = self.residuals
        return {
            "engine": "compiled", "steps": self.steps, "handed_over": self.handed_over, "record_every": self.every,
            "residuals": {"constraint": constraint, "force": force},
        }  # fmt: skip

    def _end(self) -> tuple[Status, str]:
        note = ""
        if self.handed_over:
            s = "" if self.handed_over == 1 else "s"
            name = self.motion.solver.engine.solver.name
            some = f"{self.handed_over} step{s} of {self.steps}"
            note = f" {some} had a vanishing pivot and went through the solver {name}."
        return Status.SOLVED, f"Reached t = {self.control.t_end:g}.{note}"

    def _note(self, worst: Any) -> None:
        """Remember the largest residuals."""
        self.residuals = [max(r, math.sqrt(w)) for r, w in zip(self.residuals, worst, strict=True)]

    def _record(self, times: Vector, states: Matrix) -> None:
        """Certify and write down states.

        Raises
        ------
        Rejected
            At the first state whose certificate does not pass and cannot be had otherwise; what is before is kept.
        BadInput
            If the motion is no longer finite.
        """
        n, count = self.system.n, len(times)
        begin = perf_counter()
        table = self._table(times, states)
        known = table is not None
        table = np.zeros((count, ROW + n + 2 * self.system.m)) if table is None else table
        found = norms(table)
        good = passing(table, found, self.motion.solver.tolerance) & known
        self.motion.timing["verify"] += perf_counter() - begin
        at = 0
        for bad in [*np.flatnonzero(~good), count]:
            self._keep(times[at:bad], states[at:bad], table[at:bad], found[:, at:bad])
            if bad < count:
                self._suspect = t = float(times[bad])
                q, v = states[bad, :n], states[bad, n:]
                if not np.isfinite(states[bad]).all():
                    raise BadInput(DIVERGED)
                self._write(t, q, v, self.motion.answer(t, q, v))
            at = bad + 1

    def _write(self, t: float, q: Vector, v: Vector, answer: Answer) -> None:
        """Write down a state that was certified by itself."""
        self._interpreted(t, q, v, answer)
        self._reached(t, q, v)

    def _reached(self, t: float, q: Vector, v: Vector) -> None:
        """Remember the last state that is known."""
        self._known, self._suspect = (t, q, v), None
        self.t = max(self.t, t)

    def _keep(self, times: Vector, states: Matrix, table: Matrix, found: Matrix) -> None:
        if not len(times):
            return
        n = self.system.n
        inverse = ROW + n + self.system.m
        error, _, residual, force, floor, a, _, _ = found
        relative = error / (1.0 + a)
        worst = self.motion.worst
        for name, values in (
            ("error_bound", error), ("relative_error", relative), ("constraint_residual", residual),
            ("force_residual", force), ("rounding_floor", EPS * floor),
        ):  # fmt: skip
            worst[name] = max(worst[name], float(values.max()))
        kinetic, potential, power, drift, speed = table[:, 10:ROW].T
        self._recorder.extend(
            times, states[:, :n], states[:, n:], table[:, ROW : ROW + n], table[:, ROW + n : inverse], error, relative,
            drift, speed, kinetic, potential, power, np.ones(len(times)),
        )  # fmt: skip
        self.motion.evaluations += len(times)
        self.motion.singular.extend(times, table[:, 9], table[:, inverse:])
        self._reached(float(times[-1]), states[-1, :n].copy(), states[-1, n:].copy())


class GeneratedFixedStepLoop(GeneratedLoop):
    """Steps of constant length.

    Attributes
    ----------
    least : steps between two reports of progress, at least
    """

    least = FIRST

    def integrate(self, t: float, q: Vector, v: Vector) -> tuple[Status, str]:
        """From a state to the end; returns status and message."""
        self._record(np.array([t]), np.concatenate((q, v))[None, :])
        try:
            return self._to_the_end(t, q, v)
        except (BadInput, Rejected):
            self._retrace()
            raise

    def _retrace(self) -> None:
        """Where a motion fails, find the step that does, which may be far from any recorded state.

        Generated code goes again from the last recorded state, step by step, and the interpreted motion does the last
        steps, to say what is wrong.

        Raises
        ------
        GaussoptError
            What the interpreted motion says; nothing if it does not fail.
        """
        t, q, v = self._known
        dt, end = self.control.dt, self.control.t_end
        assert dt is not None
        last = self.steps + 1 if self._suspect is None else math.ceil((self._suspect - self._t0) / dt - 1e-9)
        self.steps = round((t - self._t0) / dt)
        behind = self.steps, q, v
        while self.steps < last:
            reached = self._one_step(self.steps, q, v)
            if reached is None:
                break
            behind = self.steps, q, v
            self.steps += 1
            q, v = reached
        self.steps, q, v = behind
        self.t = t = float(self._times(np.array([self.steps]), last + 1)[0])
        control = replace(self.control, t_end=self._suspect or min(t + AGAIN * dt, end), origin=self._t0)
        again = BilateralLoop(self.motion, self.method, control, lambda *state: None, None)
        try:
            again.integrate(t, q, v)
        except GaussoptError:
            self.t = again.t
            self.steps += again.steps
            raise

    def _one_step(self, number: int, q: Vector, v: Vector) -> tuple[Vector, Vector] | None:
        """The state behind a step of generated code; None where it cannot do it, or the state is not finite."""
        n, y = len(q), self._array([*q.tolist(), *v.tolist()])
        if not self._march_steps(number, 1, y, self._zeros(2 * n), self._array([0.0, 0.0])):
            return None
        state = np.array(y)
        return (state[:n], state[n:]) if np.isfinite(state).all() else None

    def _to_the_end(self, t: float, q: Vector, v: Vector) -> tuple[Status, str]:
        """The steps of `integrate`, all states finite and certified."""
        dt, end = self.control.dt, self.control.t_end
        assert dt is not None
        total = max(1, math.ceil((end - t) / dt - 1e-9))
        count = self.least
        while self.steps < total:
            begin = perf_counter()
            count = min(count, total - self.steps)
            done, q, v = self._leap(count, total, q, v)
            if done < count:
                q, v = self._interpret(total, q, v)
            spent = perf_counter() - begin
            count = max(self.least, min(4 * count, int(count * CHUNK / max(spent, 1e-9))))
            if self.progress is not None:
                self.progress(self.steps / total)
        return self._end()

    def _leap(self, count: int, total: int, q: Vector, v: Vector) -> tuple[int, Vector, Vector]:
        """Some steps of generated code, as many as it can do; records what is due and returns the state reached."""
        n = len(q)
        y, worst = self._array([*q.tolist(), *v.tolist()]), self._array([0.0, 0.0])
        trace = self._zeros((count // self.every + 1) * 2 * n)
        begin = perf_counter()
        done = self._march_steps(self.steps, count, y, trace, worst)
        self.motion.timing["solve"] += perf_counter() - begin
        self.motion.evaluations += done * self.method.stages
        self._note(worst)
        due = np.arange(self.steps // self.every + 1, (self.steps + done) // self.every + 1) * self.every
        states = np.asarray(trace)[: len(due) * 2 * n].reshape(len(due), 2 * n)
        self.steps += done
        state = np.array(y)
        if self.steps == total and total % self.every and done:
            due, states = np.append(due, total), np.vstack((states, state))
        self._record(self._times(due, total), states)
        self.t = float(self._times(np.array([self.steps]), total)[0])
        return done, state[:n], state[n:]

    def _march_steps(self, first: int, count: int, y: Any, trace: Any, worst: Any) -> int:
        """Steps done by the generated code, with y the state behind them."""
        assert self.control.dt is not None
        before = y.copy()
        try:
            return self._march.march(
                self._t0, self.control.dt, self.control.t_end, first, count, self.every, y, self._p, self.limit,
                self.sharp, self._work, worst, trace,
            )  # fmt: skip
        except (
            ArithmeticError,
            ValueError,
            TypeError,
        ):  # CPython raises where compiled arithmetic goes on with inf or nan
            y[:] = before
        done, place = 0, 0
        while count > 1 and done < count:
            row = self._zeros(len(y))
            if not self._march_steps(first + done, 1, y, row, worst):
                break
            done += 1
            if (first + done) % self.every == 0:
                trace[place : place + len(y)] = row
                place += len(y)
        return done

    def _times(self, steps: NDArray[np.int64], total: int) -> Vector:
        assert self.control.dt is not None
        return np.where(steps >= total, self.control.t_end, self._t0 + steps * self.control.dt)

    def _interpret(self, total: int, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """One step by the interpreted motion."""
        motion, t = self.motion, self.t
        integration = self.method.start(motion, t, q, motion.state_of(t, q, v), replace(self.control, origin=self._t0))
        t, q, v = integration.advance()
        q, v = motion.stabiliser.correct(motion.system, t, q, v) or (q, v)
        self.steps += 1
        self.handed_over += 1
        if self.steps % self.every == 0 or self.steps == total:
            self._record(np.array([t]), np.concatenate((q, v))[None, :])
        self.t = t
        return q, v
