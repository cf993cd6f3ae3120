"""Integration of motions by generated code, with certificates at the recorded states.

A step with a vanishing pivot is repeated by formulation and solver. So is the solution at a recorded state whose
generated certificate does not pass; this solution gets the full certificate.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gaussopt.bodies.tables import TableSystem
from gaussopt.codegen.certificate import FAR
from gaussopt.codegen.job import MOST_LINES, QUICK_LINES, LoopJob, Orders
from gaussopt.compiled import modules
from gaussopt.compiled.march.recording import ROW
from gaussopt.core.acceptance import NEGLIGIBLE, accepts
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Stabilisation, Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.integration.accelerations import CertifiedAccelerations
from gaussopt.integration.advance import Advance, ContactRules
from gaussopt.integration.advances.interpreted import DIVERGED
from gaussopt.integration.stabilisation import Projection, Unstabilised
from gaussopt.jit.kernel import SWITCHED_OFF
from gaussopt.linalg.dense import EPS
from gaussopt.modelling.lagrangian import LagrangianSystem
from gaussopt.modelling.linkage import LinkageSystem
from gaussopt.solving.answer import Answer

LONG = 5000
"""Number of accelerations from which a motion is worth half a minute of compilation."""

CHUNK = 0.2
"""Approximate time between two reports of progress, s; Ctrl-C takes effect in between."""


def norms(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the 8 norms of the generated certificates, (8, ...), from their squares in recorded rows (..., row)."""
    return np.asarray(np.sqrt(np.abs(np.moveaxis(table[..., 1:9], -1, 0))))


def passing(table: NDArray[np.float64], found: NDArray[np.float64], tolerance: float) -> NDArray[np.bool_]:
    """Mark the recorded rows that pass by the rule of `Certificate.passed`; the others need the full certificate.

    Parameters
    ----------
    table : (..., row), recorded rows
    found : (8, ...), their `norms`
    tolerance : relative error allowed
    """
    numbers: Any = found
    error, _, residual, force, floor, a, _, gamma = numbers
    tolerance = min(tolerance, DEFAULT_TOLERANCE)
    # Errors that are small only relative to the natural scale of the step are left to the full certificate.
    good = accepts(tolerance, NEGLIGIBLE, error, force, 0.0, EPS * floor, residual, math.nan, 0.0, a, gamma)
    return np.asarray((table[..., 0] == 1.0) & good & np.isfinite(table).all(axis=-1))


def unique(table: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    """Mark by 1.0 the recorded rows whose multipliers are unique, by 0.0 those of a state with redundant rows."""
    return np.where(table[..., table.shape[-1] - m :].max(axis=-1, initial=0.0) < FAR, 1.0, 0.0)


class GeneratedAdvance(Advance):
    """Base class of the advances by generated code, with the parts common to all methods.

    `motion` takes the steps that generated code cannot take, by formulation and solver; it keeps all certificates.

    Class attributes
    ----------------
    solver : the solver that, together with the formulation gauss, is replaced by the generated code
    adaptive : whether the methods control their step size
    methods, form : names of the steppers that have generated code, and the words for this code in messages
    """

    engine = "compiled"
    diverged = DIVERGED
    solver: ClassVar[str] = "kkt"
    adaptive: ClassVar[bool] = False
    methods: ClassVar[Collection[str]] = modules.METHODS
    form: ClassVar[str] = "generated form"

    def __init__(self, motion: CertifiedAccelerations, *settings: Any) -> None:
        super().__init__(motion, *settings)
        self.handed_over = 0
        self.residuals = [0.0, 0.0]
        self._suspect: float | None = None
        self._rows: Any = None  # the generated certificate; None if there is none
        self.sharp = motion.stabiliser.tolerance if isinstance(motion.stabiliser, Projection) else 0.0
        self.limit = min(motion.solver.tolerance, DEFAULT_TOLERANCE) ** 2

    @classmethod
    def suits(cls, system: AbstractSystem, method: Stepper) -> bool:
        """Accept motions without contacts by methods of this kind, except linkages, which have separate kernels."""
        plain = not system.contact_names and not method.loop and not isinstance(system, LinkageSystem)
        return plain and method.adaptive == cls.adaptive

    @classmethod
    def can(cls, motion: CertifiedAccelerations, method: Stepper, rules: ContactRules) -> str | None:
        """Accept systems given by energies, with `gauss` and `solver` and no events or integrals; else say why not."""
        if rules.events or rules.integrals:
            return "events and integrals look at every step, and generated code records only some"
        if isinstance(motion.system, TableSystem):
            return "a model of so many bodies is evaluated in tables and has no generated code"
        if not isinstance(motion.system, LagrangianSystem | LinkageSystem):
            return "the system is not given by energies (System.from_lagrangian)"
        if not modules.has_llvm():
            return SWITCHED_OFF
        formulation, solver = motion.solver.formulation.name, motion.solver.sequence.solver
        if (formulation, solver.name) != ("gauss", cls.solver) or solver.options != solver.options_type():
            given = f"{formulation} with {solver.name}{' and options' * (solver.options != solver.options_type())}"
            return f"only the formulation gauss with the solver {cls.solver} is compiled, not {given}: leave both out"
        if motion.state != "velocity":
            return "its state is the velocity, not quasi-velocities"
        return cls.why_not(method, motion.stabiliser)

    @classmethod
    def why_not(cls, method: Stepper, stabiliser: Stabilisation) -> str | None:
        """Return why this method with this stabilisation has no generated code; None if it has."""
        if method.name not in cls.methods:
            return f"the stepper {method.name!r} has no {cls.form}"
        if not isinstance(stabiliser, Unstabilised | Projection):
            return f"the stabilisation {stabiliser.name!r} has no {cls.form}"
        return None

    @property
    def equations(self) -> LagrangianSystem:
        """The system from whose equations the code is generated."""
        assert isinstance(self.system, LagrangianSystem)
        return self.system

    @property
    def _p(self) -> Vector:
        """The present values of the parameters."""
        return np.array(list(self.system.parameters.values()))

    def prepare(self, first: StepData, evaluations: float) -> None:
        """Generate and compile the code for motions that start with this step.

        Raises NotCompiled if the equations cannot be unrolled.
        """
        begin = perf_counter()
        self.t = self.origin = first.t
        system, projected = self.equations, isinstance(self.motion.stabiliser, Projection)
        orders = Orders.of(system.model, system.constant_entries, first)
        most = MOST_LINES if evaluations >= LONG else QUICK_LINES
        self._march = modules.compiled(LoopJob(system.model, self.method, orders, projected, most))
        # Without a generated certificate each recorded state gets the full certificate.
        self._rows = modules.rows(system.model, system.source, orders)
        self.motion.timing["compile"] = perf_counter() - begin

    def _table(self, times: Vector, states: Matrix) -> Matrix | None:
        """Return the rows to be recorded for states; None if there is no generated certificate."""
        if self._rows is None:
            return None
        width = ROW + self.equations.n + 2 * self.equations.m
        table = np.zeros(len(times) * width)
        self._rows(len(times), np.ascontiguousarray(times), np.ascontiguousarray(states).ravel(), self._p, table)
        return table.reshape(len(times), width)

    def acceleration(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the acceleration by generated code if its certificate passes, otherwise by formulation and solver."""
        table = self._table(np.array([t]), np.concatenate((q, v))[None])
        if table is None or not passing(table, norms(table), self.motion.solver.tolerance).all():
            return super().acceleration(t, q, v)
        return table[0, ROW : ROW + self.equations.n]

    def about(self) -> dict[str, Any]:
        """Return engine, number of steps, number of interpreted steps, and largest residuals of generated steps."""
        constraint, force = self.residuals
        return {
            **super().about(), "handed_over": self.handed_over, "record_every": self.every,
            "residuals": {"constraint": constraint, "force": force},
        }  # fmt: skip

    def reached(self) -> str:
        """Return the message of a motion that reached its end."""
        note = ""
        if self.handed_over:
            s = "" if self.handed_over == 1 else "s"
            name = self.motion.solver.sequence.solver.name
            some = f"{self.handed_over} step{s} of {self.earlier + self.steps}"
            note = f" {some} had a vanishing pivot and went through the solver {name}."
        return super().reached() + note

    def _note_residuals(self, worst: Any) -> None:
        self.residuals = [max(r, math.sqrt(w)) for r, w in zip(self.residuals, worst, strict=True)]

    def _write_down(self, times: Vector, states: Matrix) -> None:
        """Certify and record states.

        Raises Rejected at the first state where neither the generated nor the full certificate passes; earlier states
        are kept. Raises BadInput if a state is not finite.
        """
        n, count = self.equations.n, len(times)
        begin = perf_counter()
        table = self._table(times, states)
        known = table is not None
        table = np.zeros((count, ROW + n + 2 * self.equations.m)) if table is None else table
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
        """Record a state that was certified individually."""
        self.record(t, q, v, answer)
        self._certified(t, q, v)

    def _certified(self, t: float, q: Vector, v: Vector) -> None:
        """Remember the last certified state."""
        self._known, self._suspect = (t, q, v), None
        self.t = max(self.t, t)

    def _keep(self, times: Vector, states: Matrix, table: Matrix, found: Matrix) -> None:
        if not len(times):
            return
        n = self.equations.n
        inverse = ROW + n + self.equations.m
        error, _, residual, force, floor, a, _, _ = found
        relative = error / (1.0 + a)
        worst = self.motion.worst
        for name, values in (
            ("error_bound", error), ("relative_error", relative), ("constraint_residual", residual),
            ("force_residual", force), ("rounding_floor", EPS * floor),
        ):  # fmt: skip
            worst[name] = max(worst[name], float(values.max()))
        kinetic, potential, power, drift, speed = table[:, 10:ROW].T
        determined = unique(table, self.equations.m)
        if not determined.all():
            k = int(determined.argmin())
            self.motion.note_open_forces(float(times[k]), states[k, :n], states[k, n:])
        self.recorder.extend(
            times, states[:, :n], states[:, n:], table[:, ROW : ROW + n], table[:, ROW + n : inverse], error, relative,
            drift, speed, kinetic, potential, power, determined,
        )  # fmt: skip
        self.motion.evaluations += len(times)
        self.motion.singular.extend(times, table[:, 9], table[:, inverse:])
        self._certified(float(times[-1]), states[-1, :n].copy(), states[-1, n:].copy())
