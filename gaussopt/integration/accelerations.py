"""Accelerations along a motion: evaluate, formulate, solve and certify steps, and count their cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from gaussopt.certificates.base import Certificate
from gaussopt.certificates.bilateral import about_rows
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput, GaussoptError
from gaussopt.core.foreign import WRITES
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Stabilisation
from gaussopt.core.system import AbstractSystem
from gaussopt.integration.redundant_rows import agreeing_step, redundant
from gaussopt.integration.singular_positions import SingularWatch
from gaussopt.linalg.redundancy import open_forces
from gaussopt.solving.answer import Answer
from gaussopt.solving.step_solver import StepSolver

FEW = 50
"""Largest number of entries for which a list is faster than an array."""


PARTS = ("model", "build", "setup", "update", "solve", "recover", "verify", "record")
"""Parts of the computing time of a motion that every engine may have; engines add further parts."""


class Rejected(GaussoptError):
    """Raised at a step whose answer is not accepted; `simulate` ends the motion there and reports the reason."""

    def __init__(self, step: StepData, answer: Answer) -> None:
        super().__init__(answer.message)
        self.step, self.answer = step, answer


def evaluated(system: AbstractSystem, t: float, q: Vector, v: Vector) -> StepData:
    """Return the step data at a state.

    Raises BadInput where the equations are undefined, or the system changes the arrays q or v.
    """
    before = q.tobytes() + v.tobytes()
    step = system.evaluate(t, q, v)
    if q.tobytes() + v.tobytes() != before:
        raise BadInput(f"The system {system.name!r} {WRITES}, at t = {t:.9g}.")
    return step


def _rows(m: int, k: int, d: int) -> str:
    contacts = f" and {k} contacts with {d} directions of friction" if k else ""
    return f"{m} equality row{'' if m == 1 else 's'}{contacts}"


def largest(residual: Vector | None) -> float:
    """Return the largest absolute entry: 0 for an empty array, NaN for None, NaN or inf if an entry is not finite."""
    if residual is None:
        return math.nan
    if not 0 < len(residual) <= FEW:
        return float(np.abs(residual).max(initial=0.0))
    values = residual.ravel().tolist()
    return max(0.0, max(values), -min(values)) if math.isfinite(sum(values)) else math.nan


class CertifiedAccelerations:
    """Computes accelerations of a system by a formulation and a solver, and certifies each of them.

    Attributes
    ----------
    state : the variable that is integrated together with q, "velocity" or "quasi-velocity"
    open_forces : set of (name, number)
        Each force that was not unique at a recorded state, as its name (lam, lam_N or lam_T) and the number of its row
        or contact, counted from 0.
    warnings : list of str, sentences about the motion as a whole, for `Trajectory.warnings` and `Trajectory.message`
    singular : SingularWatch, monitors the independence of the constraint rows
    """

    state: ClassVar[str] = "velocity"

    def __init__(self, system: AbstractSystem, solver: StepSolver, stabiliser: Stabilisation) -> None:
        self.system, self.solver, self.stabiliser = system, solver, stabiliser
        self.timing = dict.fromkeys(PARTS, 0.0) | {"backend": 0.0}
        self.worst = dict.fromkeys(
            ("error_bound", "relative_error", "constraint_residual", "force_residual", "rounding_floor"), 0.0
        )
        self.evaluations = self.iterations = 0
        self.open_forces: set[tuple[str, int]] = set()
        self.warnings: list[str] = []
        self.singular = SingularWatch()
        self._last: tuple[float, bytes, Answer] | None = None
        self._whole: tuple[float, bytes, StepData] | None = None
        self._shape: tuple[int, int, int] | None = None
        self._redundant: bool | None = None
        self._agreed: tuple[StepData, StepData] | None = None

    @property
    def stand_ins(self) -> list[str]:
        """Substitutes used where the user's formulation and solver do not apply, such as "stick-slip by lemke"."""
        return []

    @property
    def seconds(self) -> float:
        """Sum of the seconds of all parts, without `backend`, which is contained in `solve`."""
        return sum(x for part, x in self.timing.items() if part != "backend")  # `backend` may be NaN

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Add to `part` the seconds that a `with` block takes, less those that the block adds to other parts."""
        begin, counted = perf_counter(), self.seconds
        try:
            yield
        finally:
            own = perf_counter() - begin - (self.seconds - counted)
            self.timing[part] = self.timing.get(part, 0.0) + own

    def answer(self, t: float, q: Vector, v: Vector) -> Answer:
        """Return the certified answer at a state; a repeated call for the same state costs nothing."""
        state = q.tobytes() + v.tobytes()
        if self._last is not None:
            t0, known_state, known = self._last
            if t == t0 and state == known_state:
                return known
        answer = self._answer(t, q, v)
        self._last = (t, state, answer)
        return answer

    def _answer(self, t: float, q: Vector, v: Vector) -> Answer:
        """Compute the certified answer at a new state."""
        begin = perf_counter()
        step = self.step(t, q, v)
        self.timing["model"] += perf_counter() - begin
        return self.solve(step)

    def step(self, t: float, q: Vector, v: Vector) -> StepData:
        """Return the step data to solve at a state, with the feedback of the stabilisation, if any."""
        step = self.stabiliser.shape(self.system, self.whole(t, q, v))
        if self._redundant is None:
            self._redundant = not self.system.contact_names and redundant(step)
        if not self._redundant:
            return step
        if self._agreed is None or self._agreed[0] is not step:
            self._agreed = step, agreeing_step(self.system, step)
        return self._agreed[1]

    def whole(self, t: float, q: Vector, v: Vector) -> StepData:
        """Return the system's step data with all contacts; repeated calls for the same state evaluate it only once.

        Raises BadInput if the number of rows changes, or the system changes the arrays q or v.
        """
        known = self._whole
        if known is not None and known[0] == t and known[1] == q.tobytes() + v.tobytes():
            return known[2]
        step = self._of_this_motion(evaluated(self.system, t, q, v))
        self.know(step, t, q, v)
        return step

    def forget(self) -> None:
        """Discard the answers and step data of the latest states, as the forces of the system have changed."""
        self._last = self._whole = None

    def know(self, step: StepData, t: float, q: Vector, v: Vector) -> None:
        """Store step data that were evaluated elsewhere, for `whole` to return at this state."""
        self._whole = t, q.tobytes() + v.tobytes(), step

    def _of_this_motion(self, step: StepData) -> StepData:
        """Return the step; raises BadInput if its number of rows or contacts differs from earlier steps."""
        shape = step.m, step.k, step.v_T.shape[1]
        if self._shape is None:
            self._shape = shape
        elif shape != self._shape:
            raise BadInput(
                f"The system {self.system.name!r} has {_rows(*shape)} at t = {step.t:.9g}, and had "
                f"{_rows(*self._shape)} before; their number never changes in a motion."
            )
        return step

    def solve(self, step: StepData, solver: StepSolver | None = None) -> Answer:
        """Solve and certify a step, and add its answer to the statistics; raises Rejected if it is not accepted."""
        return self.counted(step, (self.solver if solver is None else solver).solve(step))

    def counted(self, step: StepData, answer: Answer) -> Answer:
        """Add an answer to the statistics and return it; raises Rejected if it is not accepted."""
        self._count(answer)
        if answer.status is not Status.SOLVED or answer.a is None:
            raise Rejected(step, answer)
        return answer

    def _count(self, answer: Answer) -> None:
        """Add the times and iterations of an answer to the totals, and update the worst values."""
        timing, spent = answer.timing, self.timing
        spent["build"] += timing.build
        spent["setup"] += timing.setup
        spent["update"] += timing.update
        spent["solve"] += timing.solve
        spent["recover"] += timing.recover
        spent["verify"] += timing.verify
        spent["backend"] += timing.backend
        self.iterations += answer.iterations
        c = answer.certificate
        self._tally(c.error_bound, c.relative_error, c.constraint_residual, c.force_residual, c.rounding_floor)

    def _tally(self, *values: float) -> None:
        """Count an evaluation; raise each entry of `worst` to the entry of `values` in its place, if that is larger."""
        self.evaluations += 1
        worst = self.worst
        # A comparison with NaN is false, so that a NaN does not replace the worst value.
        for name, value in zip(worst, values, strict=True):
            if value > worst[name]:
                worst[name] = value

    def determined(self, t: float, q: Vector, v: Vector, answer: Answer) -> bool:
        """Return whether the forces of the answer at a state are unique; add non-unique forces to `open_forces`."""
        return answer.forces_unique or self.note_open_forces(t, q, v)

    def note_open_forces(self, t: float, q: Vector, v: Vector) -> bool:
        """Add the forces that are not unique at a state to `open_forces`, if these are not known; return False."""
        if not self.open_forces:
            step = self.step(t, q, v)
            rows = range(0) if step.sparse else open_forces(step)[0]
            self.open_forces.update(("lam", i) for i in rows)
        return False

    def row(self, t: float, q: Vector, v: Vector, answer: Answer) -> tuple[Any, ...]:
        """Return the values to record for a state and its certified answer, in the order of `Recorder`."""
        c = answer.certificate
        self.singular.note(t, c.independence, c.closeness)
        about = *self.drift(t, q, v), *self._energies(t, q, v)
        return t, q, v, answer.a, answer.lam, c.error_bound, c.relative_error, *about, self.determined(t, q, v, answer)

    def row_without_answer(self, t: float, q: Vector, v: Vector) -> tuple[Any, ...]:
        """Return the values to record for a state without an accepted answer; NaN for acceleration and forces."""
        step, nan = self.system.evaluate(t, q, v), math.nan
        about = *self.drift(t, q, v), *self._energies(t, q, v)
        plain = t, q, v, np.full(step.n, nan), np.full(step.m, nan), nan, nan, *about, True
        if not step.k:
            return plain
        unknown = np.full(step.k, nan)
        return *plain, unknown, step.g_N, unknown, np.full(step.v_T.shape, nan), step.v_T

    def _energies(self, t: float, q: Vector, v: Vector) -> tuple[float, float, float]:
        """Return kinetic and potential energy and power, NaN where the system does not give them."""
        energy = self.system.energy(t, q, v)
        return (math.nan,) * 3 if energy is None else (energy.kinetic, energy.potential, energy.power)

    def drift(self, t: float, q: Vector, v: Vector) -> tuple[float, float]:
        """Return the largest constraint residuals at position and velocity level, NaN where the system gives none."""
        return largest(self.system.position_residual(t, q)), largest(self.system.velocity_residual(t, q, v))

    def passed(self, t: float, q: Vector, u: Vector, *, short: bool = False) -> None:
        """Monitor the independence of the rows after and within an accepted step; if `short`, ignore their rates."""
        if self.singular.idle or self.state != "velocity":
            return
        if self._shape is None or not self._shape[0] or self._shape[1]:
            return
        step = self.whole(t, q, u)
        if step.sparse:
            return
        last = self._last
        known = last is not None and last[:2] == (t, q.tobytes() + u.tobytes())
        found = last[2].certificate if known and last is not None else self._about_rows(step)
        watch = self.singular
        watch.distance(found.independence, found.closeness)
        if inside := watch.between(step, found.independence, None if short else self.system.evaluate):
            self._look(watch.closer([self._look([state]) for state in inside]))
        watch.note(t, found.independence, found.closeness)

    def _look(self, states: Sequence[tuple[float, Vector, Vector]]) -> float:
        """Monitor the independence of the rows at `states`; return the distance of the last from a singularity."""
        found = math.inf
        for state in states:
            with suppress(BadInput):  # the equations may be undefined within a step
                seen = self._about_rows(self.system.evaluate(*state))
                self.singular.note(state[0], seen.independence, seen.closeness)
                found = self.singular.distance(seen.independence, seen.closeness)
        return found

    def _about_rows(self, step: StepData) -> Certificate:
        return about_rows(agreeing_step(self.system, step) if self._redundant else step)

    def velocity(self, t: float, q: Vector, u: Vector) -> Vector:
        """Return dq/dt for the integrated variable u; here u is the velocity itself."""
        return u

    def acceleration(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the certified acceleration, (n,)."""
        a = self.answer(t, q, v).a
        assert a is not None
        return a

    def rate(self, t: float, q: Vector, u: Vector) -> Vector:
        """Return du/dt for the integrated variable u; here it is the acceleration."""
        return self.acceleration(t, q, u)

    def state_of(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the integrated variable u that belongs to the velocity v."""
        return v

    def memory(self) -> dict[str, Any]:
        """Return the data, besides the state, that later answers depend on, except the warm starts of solvers."""
        return {}

    def recall(self, t: float, q: Vector, u: Vector, memory: Mapping[str, Any]) -> None:
        """Restore what `memory` returned at this state."""


class QuasiVelocityAccelerations(CertifiedAccelerations):
    """Accelerations of a motion that integrates quasi-velocities, so that velocity constraints hold identically."""

    state = "quasi-velocity"
    _seen: tuple[float, Vector, Vector, Vector] | None = None

    def forget(self) -> None:
        """Discard what is known of the latest states."""
        super().forget()
        self._seen = None

    def velocity(self, t: float, q: Vector, u: Vector) -> Vector:
        """Return dq/dt: the solution v of omega(q, v, t) = u and f(q, v, t) = 0."""
        guess = np.zeros_like(q)
        if self._seen is not None:
            t0, q0, u0, v = self._seen
            if t == t0 and np.array_equal(q, q0) and np.array_equal(u, u0):
                return v
            guess = v
        v = self.system.velocity_from(t, q, u, guess)
        self._seen = (t, q.copy(), u.copy(), v)
        return v

    def rate(self, t: float, q: Vector, u: Vector) -> Vector:
        """Return du/dt, the rate of the quasi-velocities that belongs to the certified acceleration."""
        v = self.velocity(t, q, u)
        return self.system.quasi_velocity_rate(t, q, v, super().rate(t, q, v))

    def state_of(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the quasi-velocities u = omega(q, v, t)."""
        self._seen = None
        u = self.system.quasi_velocity(t, q, v)
        self._seen = (t, q.copy(), u.copy(), self.system.velocity_from(t, q, u, v))
        return u

    def memory(self) -> dict[str, Any]:
        """Return the latest velocity, from which the next solution for the velocity starts."""
        return {} if self._seen is None else {"velocity": self._seen[3]}

    def recall(self, t: float, q: Vector, u: Vector, memory: Mapping[str, Any]) -> None:
        """Set the stored velocity back to that which `memory` returned."""
        if "velocity" in memory:
            self._seen = t, q.copy(), u.copy(), np.array(memory["velocity"], dtype=np.float64)
