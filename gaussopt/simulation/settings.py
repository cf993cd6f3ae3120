"""The checked settings of a run: system, start, method, formulation, solver and certification."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gaussopt.contact.impact_laws import impact_law
from gaussopt.core import registry
from gaussopt.core.arrays import Vector, as_coordinates, check_progress
from gaussopt.core.display import listed
from gaussopt.core.errors import BadInput, GaussoptError, IllPosed, NotAccepted
from gaussopt.core.event import Event
from gaussopt.core.output import Output
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Control, Stabilisation, Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.core.time_step import SteppedSystem
from gaussopt.integration import stabilisation
from gaussopt.integration.accelerations import evaluated
from gaussopt.integration.advance import ContactRules
from gaussopt.integration.stabilisation import Projection
from gaussopt.integration.trajectory import MOST_BYTES
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.problem import problem as find_problem
from gaussopt.simulation.continuation import Continuation
from gaussopt.simulation.control import ControlledInputs
from gaussopt.simulation.integrands import integrands
from gaussopt.simulation.requested_outputs import requested
from gaussopt.simulation.setting_table import MOST_STEPS, check_choices, completed
from gaussopt.solving.defaults import default_solver
from gaussopt.solving.foreign_formulation import find

START_TOLERANCE = 1e-8
"""Largest constraint residual allowed for an initial state, relative to 1 + its largest entry."""

LEAST_RTOL = 2.3e-14
"""Least relative tolerance that SciPy's methods accept."""

NEVER = 2**40
"""Number of steps between two recorded states that exceeds the steps of any motion."""


@dataclass(frozen=True)
class RunStart:
    """The start of a run: system, parameters, initial state q and v, (n,), times, s, and the problem's events.

    dt is None if neither user nor problem gives it; `fixed` says whether no parameter affects q and v.
    """

    system: AbstractSystem
    name: str
    variant: str
    parameters: Mapping[str, float]
    q: Vector
    v: Vector
    dt: float | None
    t_end: float
    events: Sequence[Event] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    fixed: bool = True
    entry: Problem | AbstractSystem | None = None

    @classmethod
    def of(cls, given: Any, q0: Any, v0: Any, dt: float | None, t_end: float | None) -> RunStart:
        """Make the start from a user's arguments; raises BadInput or UnknownName."""
        problem = problem_or_system(given)
        if isinstance(problem, AbstractSystem):
            named = None if problem.size is None else problem.coordinates(problem.size)
            q = None if q0 is None else as_coordinates("q0", q0, named)
            missing = [f"{k}=..." for k, x in (("q0", q0), ("v0", v0), ("t_end", t_end)) if x is None]
            if missing or q is None or t_end is None:
                raise BadInput(
                    f"A bare system has no start and no end of its own: give {listed(missing)} by name, too."
                )
            v = as_coordinates("v0", v0, problem.coordinates(len(q)))
            return cls(problem, problem.name, "", problem.parameters, q, v, dt, t_end, entry=problem)
        if start := {k: x for k, x in (("q0", q0), ("v0", v0)) if x is not None}:
            problem = problem.at(**start)  # otherwise keep the problem, whose start is cached
        return cls(
            problem.system, problem.name or problem.system.name, problem.variant, problem.parameter_values, problem.q0,
            problem.v0, problem.dt if dt is None else dt, problem.t_end if t_end is None else t_end,
            problem.user_events, problem.units, problem.fixed_start, problem,
        )  # fmt: skip


@dataclass(frozen=True)
class RunSettings:
    """Checked settings of a run; attributes not described here have their meaning in `simulate`.

    Attributes
    ----------
    system : the system of the start, prepared for one motion
    first : the step data at the start, kept so that they need not be evaluated again
    formulation, solver, named : names, given by the user or chosen; whether the user gave at least one of them
    watched : whether to search for singular positions; False for a motion that only serves as a comparison
    continued : the motion to continue; None for a new motion
    inputs : the inputs under a control, or None
    """

    start: RunStart
    system: AbstractSystem
    first: StepData
    method: Stepper
    control: Control
    stabiliser: Stabilisation
    rules: ContactRules
    formulation: str
    solver: str
    named: bool
    impact: str
    solver_options: Mapping[str, Any] | None
    tolerance: float
    warm_start: bool
    state: str | None
    engine: str
    record_every: int
    on_singular: str = "warn"
    watched: bool = True
    outputs: Mapping[str, Output] = field(default_factory=dict)
    continued: Continuation | None = None
    inputs: ControlledInputs | None = None

    @classmethod
    def of(cls, problem: Any, formulation: str | None, solver: str | None, given: Mapping[str, Any]) -> RunSettings:
        """Make settings from the arguments of `simulate`; `given` holds the keyword arguments.

        Raises GaussoptError if the run cannot begin.
        """
        for kind, name in (("formulation", formulation), ("solver", solver)):
            if not isinstance(name, str | None):
                raise BadInput(f"{kind} is {name!r:.60}; give its name. A start is given as q0=..., v0=... by name.")
        asked = {name: given[name] for name in ("rtol", "atol")}
        continued = None if given["start"] is None else Continuation(given["start"])
        if continued is not None:
            problem = (continued.motion.problem or continued.problem()) if problem is None else problem
            continued.check(problem_or_system(problem))
            given = continued.filled({**given, "formulation": formulation, "solver": solver})
            formulation, solver = given["formulation"], given["solver"]
        stepper, given = given["stepper"], completed(given)
        check_choices(given)
        check_kinds(given["stabilisation"], given["progress"])
        if not isinstance(given["solver_options"], Mapping | None):
            raise BadInput(f"solver_options is {given['solver_options']!r}; give names with values.")
        if not isinstance(given["events"], list | tuple):
            raise BadInput(f"events is {given['events']!r}; give a list of gaussopt.Event objects.")
        start = RunStart.of(problem, given["q0"], given["v0"], given["dt"], given["t_end"])
        t0 = given["t0"]
        method = check_settings(start.dt, start.t_end, stepper or start.system.stepper, t0, **asked)
        recorded = given["dt"] if method.adaptive else start.dt
        control = Control(start.t_end, recorded, given["rtol"], given["atol"])
        stabiliser = stabilisation.make(given["stabilisation"])
        law = impact_law(given["impact"])
        for event in given["events"]:
            if not isinstance(event, Event):
                raise BadInput(f"events holds a {type(event).__name__}; give gaussopt.Event objects.")
        rules = ContactRules(law, [*start.events, *given["events"]], given["accumulation"] == "close",
                             integrands(given["integrals"] or {}, start.system, method, len(start.q)))  # fmt: skip
        system = start.system.in_steps(method.loop, formulation, solver)
        first = evaluated(system, t0, start.q, start.v)  # also counts the contacts of a system of plain functions
        if continued is not None:
            watched = [[x.name for x in some] for some in (rules.events, rules.integrals)]
            continued.check_first(start.name, watched[0], watched[1], first)
            continued.check_end(start.t_end)
        system = system.of_motion(first.m)
        every = stride(given["record_every"])
        _check_size(first, max(first.k, len(system.contact_names)), control.dt, start.t_end - t0, every)
        own = method.pair or (None, None)
        pair = _pair(formulation or own[0], solver or own[1], system, first)
        if not system.contact_names:
            _check_without_contacts(system, method)
        if given["state"] == "quasi-velocity" and system.contact_names:
            raise NotAccepted("The state of a motion with contacts is the velocity; leave out state='quasi-velocity'.")
        names = ("impact", "solver_options", "tolerance", "warm_start", "state", "engine", "on_singular")
        outputs = requested(given["outputs"] or {}, start.system, t0, start.q, start.v)
        inputs = None if given["control"] is None else ControlledInputs.of(given, start, system.row_names, outputs)
        return cls(
            start, system if inputs is None else copy(system), first, method, control, stabiliser, rules, *pair,
            named=formulation is not None or solver is not None, record_every=every, continued=continued,
            outputs=outputs, inputs=inputs,
            **{name: given[name] for name in names},
        )  # fmt: skip

    @property
    def with_contacts(self) -> bool:
        """Return whether the motion has contacts."""
        return bool(self.system.contact_names) or isinstance(self.system, SteppedSystem)

    def check_stepper(self, state: str) -> None:
        """Raise NotAccepted if the stepper cannot integrate the motion with this state variable."""
        reason = self.method.refuses(self.system, state, self.stabiliser)
        if reason is not None:
            raise NotAccepted(f"The stepper {self.method.name!r} does not fit: {reason}.")

    def consistent_start(self) -> tuple[float, Vector, Vector]:
        """Return the time, positions and velocities from which the loop starts; they satisfy the constraints.

        Raises BadInput if the start is off the constraints and the stabilisation does not move it onto them, or if the
        rows of the system contradict each other.
        """
        t, q, v = self.first.t, self.start.q, self.start.v
        _check_residuals(self.system, self.first.m, t, q, v)
        q, v = _consistent(self.system, t, q, v, self.stabiliser)
        self.system.check_rows(t, q, v)
        return t, q, v


def problem_or_system(given: Any) -> Problem | AbstractSystem:
    """Return the problem or system that a user gives, possibly by name or file; raises BadInput or UnknownName."""
    if isinstance(given, str | os.PathLike):
        return find_problem(given)
    if isinstance(given, AbstractSystem | Problem):
        return given
    kind = "None" if given is None else f"A {type(given).__name__}"
    hint = "; give its .system" if isinstance(getattr(given, "system", None), AbstractSystem) else ""
    raise BadInput(f"{kind} is neither a problem nor a system, nor the name or file of one{hint}.")


def stride(record_every: Any) -> int:
    """Return the user's number of steps between two recorded states after checks; raises BadInput."""
    whole = isinstance(record_every, int | np.integer) and not isinstance(record_every, bool)
    if not whole or record_every < 1:
        raise BadInput(f"record_every is {record_every!r}; give a whole number of steps, 1 or more.")
    return min(int(record_every), NEVER)


def check_settings(
    dt: float | None, t_end: float, stepper: str, t0: float = 0.0, rtol: float | None = None,
    atol: float | None = None,
) -> Stepper:  # fmt: skip
    """Return the stepper of this name; raises UnknownName, or BadInput if it cannot run with these settings."""
    method: Stepper = registry.load("stepper", stepper)
    for label, value in (("t0", t0), ("dt", dt), ("t_end", t_end), ("rtol", rtol), ("atol", atol)):
        if value is not None and (isinstance(value, str) or not hasattr(value, "__float__")):
            raise BadInput(f"{label} is {value!r}; give a number.")
    if not (math.isfinite(t_end) and t_end > t0):
        raise BadInput(f"t_end is {t_end:g}; it must be a finite time after the start at t = {t0:g}.")
    if dt is not None and not (math.isfinite(dt) and dt > 0):
        raise BadInput(f"dt is {dt:g}; the step size must be positive.")
    if dt is not None and (t_end - t0) / dt > MOST_STEPS:
        raise BadInput(
            f"dt is {dt:g}; that makes {(t_end - t0) / dt:.2g} steps to t = {t_end:g}, more than {MOST_STEPS:g}."
        )
    if dt is not None and dt < 8 * math.ulp(max(abs(t0), abs(t_end))):
        raise BadInput(f"dt is {dt:g}; instants that close cannot be told apart at t = {max(t0, t_end, key=abs):g}.")
    if dt is None and not method.adaptive:
        raise BadInput(f"The stepper {method.name!r} needs a step size dt.")
    for label, value in (("rtol", rtol), ("atol", atol)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise BadInput(f"{label} is {value:g}; it must be positive.")
        if value is not None and not method.adaptive:
            raise BadInput(
                f"The stepper {method.name!r} takes constant steps and has no {label}; make dt smaller, or choose a "
                "stepper that adapts its steps, such as dop853."
            )
    if rtol is not None and rtol < LEAST_RTOL:
        raise BadInput(f"rtol is {rtol:g}; rounding allows no less than {LEAST_RTOL:g}.")
    return method


def check_kinds(stabilisation: Any, progress: Any) -> None:
    """Raise BadInput for a stabilisation or a progress function of the wrong type."""
    if not (isinstance(stabilisation, str) or hasattr(stabilisation, "correct")):
        raise BadInput(f"stabilisation is {stabilisation!r}; give none, baumgarte, projection or a Stabilisation.")
    check_progress(progress)


def check_start(problem: Problem) -> None:
    """Raise BadInput if the start of a problem is off its constraints."""
    system, q, v = problem.system, problem.q0, problem.v0
    _check_residuals(system, system.evaluate(0.0, q, v).m, 0.0, q, v)
    _consistent(system, 0.0, q, v, stabilisation.make("none"))


def _check_size(step: StepData, k: int, dt: float | None, duration: float, every: int) -> None:
    if dt is not None:
        instants = duration / dt / every
        size = 8 * instants * (3 * step.n + step.m + 16 + k * (3 + 2 * step.J_T.shape[1]))
        refuse_large(f"{instants:.3g} instants", size, every)


def refuse_large(what: str, size: float, every: int, instead: str = "") -> None:
    """Raise BadInput if a recording of `size` bytes would not fit into usual memory."""
    if size > MOST_BYTES:
        raise BadInput(
            f"Recording {what} takes {size / 2**30:.1f} GiB, more than {MOST_BYTES / 2**30:g}; raise record_every to "
            f"{math.ceil(every * size / MOST_BYTES)}{instead}."
        )


def _check_without_contacts(system: AbstractSystem, method: Stepper) -> None:
    """Raise NotAccepted for a method that is only for motions with contacts."""
    if method.loop and not isinstance(system, SteppedSystem):
        raise NotAccepted(f"The stepper {method.name!r} is for motions with contacts, and {system.name!r} has none.")


def _check_residuals(system: AbstractSystem, m: int, t: float, q: Vector, v: Vector) -> None:
    """Raise BadInput if the number of constraint residuals does not fit the m rows of J."""
    phi, rate = system.position_residual(t, q), system.velocity_residual(t, q, v)
    if phi is not None and len(phi) > m:
        raise BadInput(f"position of {system.name!r} returns {len(phi)} values, but J has only {m} rows.")
    if rate is not None and len(rate) != m:
        raise BadInput(f"velocity of {system.name!r} returns {len(rate)} values, but J has {m} rows.")


def _consistent(
    system: AbstractSystem, t: float, q: Vector, v: Vector, stabiliser: Stabilisation
) -> tuple[Vector, Vector]:
    """Return the initial state, projected if the user chose projection; otherwise check that constraints hold."""
    if isinstance(stabiliser, Projection):
        return stabiliser.correct(system, t, q, v)
    phi = system.position_residual(t, q)
    rate = system.velocity_residual(t, q, v)
    for what, residual, state in (("position", phi, q), ("velocity", rate, v)):
        if residual is None or not len(residual):
            continue
        i = int(np.argmax(np.abs(residual)))
        allowed = max(START_TOLERANCE, system.row_rounding)
        if abs(residual[i]) > allowed * (1.0 + float(np.abs(state).max())):
            where = f", {system.row_names[i]}" if system.row_names else ""
            raise BadInput(
                f"The initial state of {system.name!r} is off the constraints: {what} residual {residual[i]:.6g} in "
                f"constraint {i + 1} of {len(residual)}{where}; {_nearest(system, t, q, v)}"
            )
    return q, v


def _nearest(system: AbstractSystem, t: float, q: Vector, v: Vector) -> str:
    """Return advice for a start off the constraints, with the nearest state on the constraints, if there is one."""
    near = q, v
    try:
        near = Projection().correct(system, t, q, v)
        residuals = system.position_residual(t, near[0]), system.velocity_residual(t, *near)
        missed = max(float(np.abs(x).max(initial=0.0)) for x in residuals if x is not None)
    except (GaussoptError, np.linalg.LinAlgError):
        missed = math.inf
    if not missed <= START_TOLERANCE * (1.0 + max(float(np.abs(x).max()) for x in near)):
        return "no state near it satisfies all constraints: see whether two of them contradict each other."
    names = system.coordinates(len(q))
    found = [(abs(x - y), f"{name} = {x:.6g}") for name, x, y in zip(names, near[0], q, strict=True)]
    found += [(abs(x - y), f"the velocity of {name} {x:.6g}") for name, x, y in zip(names, near[1], v, strict=True)]
    moved = listed((words for size, words in sorted(found, reverse=True) if size > START_TOLERANCE), 3)
    return (
        "correct q0 and v0, or choose the stabilisation 'projection', which moves the start to the nearest state on "
        f"the constraints, with {moved}."
    )


def _pair(formulation: str | None, solver: str | None, system: AbstractSystem, step: StepData) -> tuple[str, str]:
    """Return formulation and solver; choose by the first step what the user did not give."""
    if isinstance(system, SteppedSystem):
        if formulation not in (None, "coulomb-soccp"):
            raise NotAccepted(f"{system.name!r} states its own time steps, as problems of coulomb-soccp.")
        return "coulomb-soccp", solver or "hybrid"
    if formulation is not None and registry.load("formulation", formulation).level != "acceleration":
        raise NotAccepted(
            f"The formulation {formulation!r} is at velocity level: it solves jumps, not accelerations. Choose "
            "stick-slip, or the stepper moreau-jean."
        )
    name = formulation or ("stick-slip" if system.contact_names else "gauss")
    if solver is not None:
        return name, solver
    if name == "stick-slip" and step.k:
        return name, "lemke"  # its programs are linear complementarity problems
    entry = find(name)
    if step.k:
        step = replace(step, v_T=np.where(step.v_T == 0, 1.0, step.v_T))  # formulations may refuse v_T = 0
    try:
        entry.check(step)
        return name, default_solver(entry.apply(step)[0])
    except (NotAccepted, IllPosed):
        return name, "lemke" if step.k else "kkt"
