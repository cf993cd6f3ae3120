"""The loop around a step: evaluate, formulate, solve, certify, advance, stabilise, record."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.contact.impact_laws import ImpactLaw, impact_law
from gaussopt.core import registry
from gaussopt.core.errors import BadInput, GaussoptError, IllPosed, MotionStopped, NotAccepted, UnknownName
from gaussopt.core.event import Event
from gaussopt.core.files import write_text
from gaussopt.core.foreign import raised
from gaussopt.core.machine import is_machine, machine_failure
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData, Vector, as_array
from gaussopt.core.stepper import Control, Stabilisation, Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.integration import stabilisation
from gaussopt.integration.accelerations import CertifiedAccelerations, QuasiVelocityAccelerations, Rejected
from gaussopt.integration.bilateral_loop import Record
from gaussopt.integration.events.accelerations import ContactAccelerations, ContactModes, Solvers
from gaussopt.integration.loops import Loop, make_loop
from gaussopt.integration.singular_positions import abrupt_sentence
from gaussopt.integration.stabilisation import Projection
from gaussopt.integration.trajectory import MOST_BYTES, Recorder, Trajectory, WorstCertificate
from gaussopt.linalg.redundancy import named_forces
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.problem import problem as find_problem
from gaussopt.simulation.engine import EngineChoice, contact_engine, leap_over, smooth_loop, stride
from gaussopt.solving.answer import Answer
from gaussopt.solving.defaults import default_solver
from gaussopt.solving.foreign_formulation import find
from gaussopt.solving.step_solver import StepSolver

START_TOLERANCE = 1e-8
"""Largest constraint residual of an initial state, relative to 1 + its largest entry."""


MOST_STEPS = 1e9
"""Steps beyond which a run is refused as a slip of the pen."""

ACCUMULATION = ("stop", "close")

LEAST_RTOL = 2.3e-14
"""Smallest relative tolerance that SciPy's methods accept."""

FEW = 50
"""Numbers up to which a list is faster than an array."""

DIVERGED = 1e15
"""Entry of a state beyond which a failure to solve is called a divergence."""


@np.errstate(over="ignore", invalid="ignore")  # a motion that runs away is reported, not warned about
def simulate(
    problem: str | Problem | AbstractSystem,
    formulation: str | None = None,
    solver: str | None = None,
    *,
    stepper: str = "rk4",
    dt: float | None = None,
    t_end: float | None = None,
    rtol: float = 1e-9,
    atol: float = 1e-9,
    tolerance: float = DEFAULT_TOLERANCE,
    stabilise: str | Stabilisation = "none",
    warm_start: bool = True,
    state: str | None = None,
    q0: Any = None,
    v0: Any = None,
    t0: float = 0.0,
    solver_options: Mapping[str, Any] | None = None,
    impact: str = "newton",
    accumulation: str = "stop",
    events: Sequence[Event] = (),
    step_folder: str | Path | None = ".",
    keep_interrupted: bool = False,
    progress: Callable[[float], None] | None = None,
    engine: str = "auto",
    record_every: int = 1,
) -> Trajectory:
    """Integrate a problem, certifying every step.

    Parameters
    ----------
    problem : name, Problem or System
        A bare system needs `q0`, `v0` and `t_end`.
    formulation, solver, stepper : names
        Formulation and solver are `gauss` and `kkt` if not given, with contacts `stick-slip` and one that fits.
        With contacts the integration goes from event to event, unless the stepper is a time-stepping method.
    dt : float, optional
        Step of a fixed-step stepper, s (the problem's own if not given); recording interval of an adaptive
        one (its own steps if not given).
    t_end : float, optional
        s; the problem's own if not given.
    rtol, atol : float
        Tolerances of an adaptive stepper.
    tolerance : float
        Relative distance to the true acceleration that a step may have; `inf` only records it.
    stabilise : "none", "baumgarte", "projection" or a Stabilisation
        Projection also moves the initial state onto the constraints.
    warm_start : bool
        Start each solve from the previous answer.
    state : "velocity" or "quasi-velocity", optional
        What is integrated beside q. With quasi-velocities the velocity constraints hold identically; the
        default for the formulation `quasi-velocity`, the velocity otherwise.
    q0, v0 : (n,), optional
        Initial state; the problem's own if not given.
    solver_options : options of the solver
    impact : "newton", "poisson" or "none"
        Impact law; the coefficients of restitution belong to the contacts.
    accumulation : "stop" or "close"
        Whether impacts that accumulate end the motion (status `accumulation`, with the estimated instant) or close the
        contact, with e_N = 0, shortly before that instant.
    events : further events to locate, beside those of the problem; in motions with contacts
    step_folder : where a step that is not accepted is saved; None: nowhere
    keep_interrupted : bool
        Whether Ctrl-C ends the run with what was computed instead of raising KeyboardInterrupt.
    progress : called with the fraction done
    engine : "auto", "interpreted" or "compiled"
        Interpreted, every stage goes through formulation, solver and certificate. Compiled, the loop runs as generated
        code (see `gaussopt.compiled`): the same motion to rounding, the residuals of every step checked, every recorded
        state certified; it knows no other formulation than `gauss` and no other solver than `kkt`
        (`sparse-kkt` for linkages given by tables). With contacts it stands for the contact laws solved by pivots:
        steps in which nothing happens run as one compiled loop, every stage certified (see `compiled.contact_phases`).
        By default long runs that name neither formulation nor solver are compiled where that is possible.
    record_every : int
        Steps between two recorded states; events are recorded in any case.

    Returns
    -------
    Trajectory
        Also when the run stops early: with what was computed, the reason and the offending step.

    Raises
    ------
    GaussoptError
        If the run cannot begin.
    """
    check_kinds(stabilise, progress)
    if not isinstance(solver_options, Mapping | None):
        raise BadInput(f"solver_options is {solver_options!r}; give names with values.")
    if not isinstance(events, list | tuple):
        raise BadInput(f"events is {events!r}; give a list of gaussopt.Event objects.")
    explicit_dt = dt is not None
    system, values, q, v, dt, t_end, name, user_events = _resolve(problem, q0, v0, dt, t_end)
    method = check_settings(dt, t_end, stepper, t0, rtol, atol)
    if method.adaptive and not explicit_dt:
        dt = None
    stabiliser = stabilisation.make(stabilise)
    law = check_impacts(impact, accumulation)
    for event in events:
        if not isinstance(event, Event):
            raise BadInput(f"events holds a {type(event).__name__}; give gaussopt.Event objects.")
    first = system.evaluate(t0, q, v)  # a plain system learns here how many contacts it has
    system = system.of_motion(first.m)
    every = stride(record_every)
    _check_size(first, dt, t_end - t0, every)
    named = formulation is not None or solver is not None
    if method.pair is not None:
        formulation, solver = formulation or method.pair[0], solver or method.pair[1]
    if formulation is not None and registry.load("formulation", formulation).level != "acceleration":
        raise NotAccepted(
            f"The formulation {formulation!r} is at velocity level: it solves jumps, not accelerations. Choose "
            "stick-slip, or the stepper moreau-jean."
        )
    formulation, solver = _pair(formulation, solver, system, t0, q, v)
    control = Control(t_end, dt, rtol, atol)
    contacts = bool(system.contact_names)
    if not contacts:
        _check_without_contacts(system, method, [*user_events, *events])
    choice = EngineChoice(engine, named, formulation, solver, solver_options, every)
    recorder = Recorder(len(system.contact_names))
    accelerations: CertifiedAccelerations
    loop: Loop
    about: Callable[[], dict[str, Any]] = dict
    if contacts or method.loop:
        _check_stepper(method, system, "velocity", stabiliser)
        contact = _contact_accelerations(system, formulation, solver, solver_options, tolerance, warm_start, stabiliser,
                                         t0, q, v)  # fmt: skip
        engine = contact_engine(choice, contact, method, control, (t0, q, v))
        accelerations, about = contact, lambda: {"engine": engine, "steps": loop.steps}
        loop = make_loop(
            method,
            contact,
            control,
            law,
            [*user_events, *events],
            recording(recorder, contact),
            progress,
            accumulation == "close",
            choice.record_every,
        )
        if engine == "compiled":
            leap_over(loop, contact, method, control, recorder)
        kind_name = "velocity"
    else:
        step_solver = StepSolver(formulation, solver, solver_options, tolerance, warm_start)
        kind = _state_kind(state, step_solver, system)
        kind_name = "quasi-velocity" if kind is QuasiVelocityAccelerations else "velocity"
        _check_stepper(method, system, kind_name, stabiliser)
        accelerations = kind(system, step_solver, stabiliser)
        record = recording(recorder, accelerations)
        smooth = smooth_loop(choice, accelerations, method, control, recorder, record, progress, (t0, q, v))
        loop, about = smooth, smooth.about
    _check_residuals(system, t0, q, v)
    q, v = _consistent(system, t0, q, v, stabiliser)
    system.check_rows(t0, q, v)
    failed: StepData | None = None
    gave_out = False  # the machine
    begin = perf_counter()
    try:
        status, message = loop.integrate(t0, q, v)
    except Rejected as rejected:
        failed = rejected.step
        status = rejected.answer.status
        message = f"Stopped at t = {failed.t:.9g}: {rejected.answer.message}"
        size = max((float(np.abs(x).max()) for x in (failed.q, failed.v) if x is not None), default=0.0)
        if size > DIVERGED:
            message = (
                f"Stopped at t = {failed.t:.9g}: the motion diverged (an entry of the state is {size:.3g}); use a "
                "smaller step."
            )
    except Exception as error:
        # Whatever it is, a defect of this package included: what was computed until then is not lost.
        if not len(recorder):
            raise
        gave_out = is_machine(error)
        status, message = _ended_by(error, loop.t)
    except KeyboardInterrupt:
        if not (keep_interrupted and len(recorder)):
            raise
        status, message = Status.INTERRUPTED, f"Interrupted after t = {loop.t:.9g}; the motion up to there is kept."
    timing = {**accelerations.timing, "total": perf_counter() - begin}
    if math.isnan(timing["backend"]):
        del timing["backend"]
    columns = recorder.arrays(len(q))
    if status is Status.BAD_INPUT and len(columns["t"]) and "diverged" not in message:
        size = max(float(np.abs(columns[name][-1]).max(initial=0.0)) for name in ("q", "v"))
        message += f" The motion diverged: an entry of its last state is {size:.3g}." if size > DIVERGED else ""
    many = _of_many(accelerations.open_forces, system.contact_names)
    message += _in_words(many, columns["forces_unique"])
    abrupt = None if contacts else abrupt_sentence(columns["t"], columns["v"], columns["a"], about().get("steps", 0))
    found = (*accelerations.warnings, accelerations.singular.sentence(), abrupt)
    warnings = tuple(sentence for sentence in found if sentence is not None)
    message = " ".join([message, *warnings])
    meta = {
        "problem": name, "variant": problem.variant if isinstance(problem, Problem) else "",
        "parameters": values, "formulation": formulation, "solver": solver,
        "solver_options": {k: str(x) for k, x in (solver_options or {}).items()}, "stepper": method.name,
        "dt": dt, "t_end": t_end, "rtol": rtol if method.adaptive else None, "atol": atol if method.adaptive else None,
        "tolerance": tolerance if math.isfinite(tolerance) else "inf", "stabilisation": stabiliser.name,
        "warm_start": warm_start, "state": kind_name,
        "coordinates": list(system.coordinates(len(q))),
        "evaluations": accelerations.evaluations, "iterations": accelerations.iterations,
        "record_every": choice.record_every, "open_forces": many,
        "contacts": list(system.contact_names), "impact": impact if contacts else None, **about(),
        **({"machine_failure": True} if gave_out else {}),
    }  # fmt: skip
    file = _save_failed(failed, name, message, step_folder)
    if file is not None:
        message = f"{message} The step is saved in {file}."
    worst = WorstCertificate(**accelerations.worst, evaluations=accelerations.evaluations)
    return Trajectory(
        **columns, status=status, message=message, worst=worst, timing=timing, meta=meta,
        events=tuple(loop.events), failed_step=failed, failed_step_file=file, warnings=warnings,
    )  # fmt: skip


def _resolve(
    problem: str | Problem | AbstractSystem, q0: Any, v0: Any, dt: float | None, t_end: float | None
) -> tuple[AbstractSystem, dict[str, float], Vector, Vector, float | None, float, str, Sequence[Event]]:
    """System, parameter values, initial state, step, end, name and events."""
    problem = problem_or_system(problem)
    if isinstance(problem, AbstractSystem):
        if q0 is None or v0 is None or t_end is None:
            raise BadInput("A bare system needs q0, v0 and t_end.")
        q = as_array("q0", q0, (None,))
        v = as_array("v0", v0, (len(q),))
        return problem, problem.parameters, q, v, dt, t_end, problem.name, ()
    overrides = {k: x for k, x in (("q0", q0), ("v0", v0)) if x is not None}
    problem = problem.at(**overrides)
    return (
        problem.system, problem.parameter_values, problem.q0, problem.v0, problem.dt if dt is None else dt,
        problem.t_end if t_end is None else t_end, problem.name or problem.system.name, problem.user_events,
    )  # fmt: skip


def problem_or_system(given: Any) -> Problem | AbstractSystem:
    """What a person names or gives.

    Raises
    ------
    BadInput, UnknownName
    """
    if isinstance(given, str | os.PathLike):
        return find_problem(given)
    if isinstance(given, AbstractSystem | Problem):
        return given
    kind = "None" if given is None else f"A {type(given).__name__}"
    hint = "; give its .system" if isinstance(getattr(given, "system", None), AbstractSystem) else ""
    raise BadInput(f"{kind} is neither a problem nor a system, nor the name or file of one{hint}.")


def check_start(problem: Problem) -> None:
    """Refuse a start that is off the constraints.

    Raises
    ------
    BadInput
    """
    _check_residuals(problem.system, 0.0, problem.q0, problem.v0)
    _consistent(problem.system, 0.0, problem.q0, problem.v0, stabilisation.make("none"))


def _state_kind(state: str | None, solver: StepSolver, system: AbstractSystem) -> type[CertifiedAccelerations]:
    known = {"velocity": CertifiedAccelerations, "quasi-velocity": QuasiVelocityAccelerations}
    if state is None:
        natural = solver.formulation.state
        state = natural if natural == "velocity" or system.has_quasi_velocities else "velocity"
    if state not in known:
        raise UnknownName("state", state, known)
    if state == "quasi-velocity" and not system.has_quasi_velocities:
        raise BadInput(f"{system.name!r} names no quasi-velocities; give quasi_velocities to from_lagrangian.")
    return known[state]


def check_settings(
    dt: float | None, t_end: float, stepper: str, t0: float = 0.0, rtol: float = 1e-9, atol: float = 1e-9
) -> Stepper:
    """The stepper, if it can run with these settings.

    Raises
    ------
    UnknownName, BadInput
    """
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
        if not (math.isfinite(value) and value > 0):
            raise BadInput(f"{label} is {value:g}; it must be positive.")
    if method.adaptive and rtol < LEAST_RTOL:
        raise BadInput(f"rtol is {rtol:g}; rounding allows no less than {LEAST_RTOL:g}.")
    return method


def check_kinds(stabilise: Any, progress: Any) -> None:
    """Refuse what is no stabilisation and no function.

    Raises
    ------
    BadInput
    """
    if not (isinstance(stabilise, str) or hasattr(stabilise, "correct")):
        raise BadInput(f"stabilise is {stabilise!r}; give none, baumgarte, projection or a Stabilisation.")
    if progress is not None and not callable(progress):
        raise BadInput(f"progress is {progress!r}; give a function of the fraction done.")


def check_impacts(impact: str, accumulation: str) -> ImpactLaw:
    """The impact law, if there are such a law and such a way through accumulations.

    Raises
    ------
    UnknownName
    """
    if accumulation not in ACCUMULATION:
        raise UnknownName("way through accumulations", accumulation, ACCUMULATION)
    return impact_law(impact)


def _check_stepper(method: Stepper, system: AbstractSystem, state: str, stabiliser: Stabilisation) -> None:
    """Refuse a motion that the stepper cannot integrate."""
    reason = method.refuses(system, state, stabiliser)
    if reason is not None:
        raise NotAccepted(f"The stepper {method.name!r} does not fit: {reason}.")


def _check_size(step: StepData, dt: float | None, duration: float, every: int) -> None:
    """Refuse a recording that does not fit into a usual memory."""
    if dt is None:
        return
    instants = duration / dt / every
    size = 8 * instants * (3 * step.n + step.m + 16 + step.k * (3 + 2 * step.J_T.shape[1]))
    if size > MOST_BYTES:
        raise BadInput(
            f"Recording {instants:.3g} instants takes {size / 2**30:.1f} GiB, more than {MOST_BYTES / 2**30:g}; raise "
            f"record_every to {math.ceil(every * size / MOST_BYTES)}."
        )


def _check_without_contacts(system: AbstractSystem, method: Stepper, events: Sequence[Event]) -> None:
    """Refuse what only motions with contacts have."""
    if method.loop:
        raise NotAccepted(f"The stepper {method.name!r} is for motions with contacts, and {system.name!r} has none.")
    if events:
        raise NotAccepted(
            f"Events are located in motions with contacts, and {system.name!r} has none; look for them in what is "
            "recorded."
        )


def _check_residuals(system: AbstractSystem, t: float, q: Vector, v: Vector) -> None:
    """Constraint functions must match the rows of J."""
    m = system.evaluate(t, q, v).m
    phi, rate = system.position_residual(t, q), system.velocity_residual(t, q, v)
    if phi is not None and len(phi) > m:
        raise BadInput(f"position of {system.name!r} returns {len(phi)} values, but J has only {m} rows.")
    if rate is not None and len(rate) != m:
        raise BadInput(f"velocity of {system.name!r} returns {len(rate)} values, but J has {m} rows.")


def _consistent(
    system: AbstractSystem, t: float, q: Vector, v: Vector, stabiliser: Stabilisation
) -> tuple[Vector, Vector]:
    """The initial state on the constraints, or a sentence on how far off it is."""
    if isinstance(stabiliser, Projection):
        corrected = stabiliser.correct(system, t, q, v)
        assert corrected is not None
        return corrected
    phi = system.position_residual(t, q)
    rate = system.velocity_residual(t, q, v)
    for what, residual, state in (("position", phi, q), ("velocity", rate, v)):
        if residual is None or not len(residual):
            continue
        i = int(np.argmax(np.abs(residual)))
        if abs(residual[i]) > START_TOLERANCE * (1.0 + float(np.abs(state).max())):
            raise BadInput(
                f"The initial state of {system.name!r} is off the constraints: {what} residual {residual[i]:.6g} in "
                f"constraint {i + 1} of {len(residual)}; correct q0 and v0, or choose the stabilisation "
                "'projection', which moves the start onto the constraints."
            )
    return q, v


def _pair(
    formulation: str | None, solver: str | None, system: AbstractSystem, t: float, q: Vector, v: Vector
) -> tuple[str, str]:
    """Formulation and solver, where they are not given."""
    name = formulation or ("stick-slip" if system.contact_names else "gauss")
    if solver is not None:
        return name, solver
    entry = find(name)
    step = system.evaluate(t, q, v)
    if step.k:
        step = replace(step, v_T=np.where(step.v_T == 0, 1.0, step.v_T))  # the kind of program does not depend on it
    try:
        entry.check(step)
        return name, default_solver(entry.apply(step)[0])
    except (NotAccepted, IllPosed):
        return name, "lemke" if step.k else "kkt"


def _contact_accelerations(
    system: AbstractSystem, formulation: str, solver: str, options: Mapping[str, Any] | None, tolerance: float,
    warm: bool, stabiliser: Stabilisation, t: float, q: Vector, v: Vector,
) -> ContactAccelerations:  # fmt: skip
    solvers = Solvers.of(formulation, solver, options, tolerance, warm)
    step = system.evaluate(t, q, v)
    return ContactAccelerations(system, solvers, stabiliser, ContactModes.flight(step.k, step.J_T.shape[1]))


def _ended_by(error: Exception, t: float) -> tuple[Status, str]:
    """Status and message of a motion that an exception ended."""
    reason = str(error)
    if is_machine(error):
        status, reason = Status.CRASHED, str(machine_failure("the step was not done", error))
    elif isinstance(error, NotAccepted):
        status = Status.UNSUPPORTED
        if "stick in space" in reason:
            reason = (
                "a contact came to rest, and stick in space is a cone program that no formulation here solves; "
                "end the motion before, or model the contact in the plane."
            )
    elif isinstance(error, GaussoptError):
        status = Status.SOLVER_ERROR if isinstance(error, MotionStopped) else Status.BAD_INPUT
    elif "GAUSSOPT_DEBUG" in os.environ:
        raise error
    else:
        status, reason = Status.CRASHED, f"{raised(error).rstrip('.')} (GAUSSOPT_DEBUG=1 shows where)."
    return status, f"Stopped after t = {t:.9g}: {reason}"


def recording(recorder: Recorder, motion: CertifiedAccelerations) -> Record:
    """What writes down a state of a motion."""
    system = motion.system

    def record(t: float, q: Vector, v: Vector, answer: Answer) -> None:
        drift = _largest(system.position_residual(t, q)), _largest(system.velocity_residual(t, q, v))
        energy = system.energy(t, q, v)
        c = answer.certificate
        motion.singular.note(t, c.independence, c.closeness)
        if isinstance(motion, ContactAccelerations):
            drift = _with_contacts(drift, motion.whole(t, q, v), motion.phase)
        row = (
            t, q, v, answer.a, answer.lam, c.error_bound, c.relative_error, *drift,
            *((math.nan,) * 3 if energy is None else (energy.kinetic, energy.potential, energy.power)),
            motion.determined(t, q, v, answer),
        )  # fmt: skip
        if isinstance(motion, ContactAccelerations):
            step = motion.whole(t, q, v)
            contacts = (*motion.forces(answer), step.g_N, step.v_T, motion.phase.modes())
            recorder.add(*row)
            recorder.add_contacts(*contacts)
        else:
            recorder.add(*row)

    return record


def _with_contacts(drift: tuple[float, float], step: StepData, phase: ContactModes) -> tuple[float, float]:
    """Drift of joints, closed gaps and sticking slips."""
    closed = list(phase.closed)
    if not closed or step.g_N is None or step.gdot_N is None:
        return drift
    # A NaN, where there are no joints, loses the comparison.
    position, velocity = _largest(step.g_N[closed]), _largest(step.gdot_N[closed])
    if phase.sticking:
        velocity = max(velocity, _largest(step.v_T[list(phase.sticking)]))
    return max(position, drift[0]), max(velocity, drift[1])


def _largest(residual: Vector | None) -> float:
    if residual is None:
        return math.nan
    if not 0 < len(residual) <= FEW:
        return float(np.abs(residual).max(initial=0.0))
    values = residual.ravel().tolist()
    return max(0.0, max(values), -min(values)) if math.isfinite(sum(values)) else math.nan


def _of_many(found: Collection[tuple[str, int]], contacts: Sequence[str]) -> dict[str, list[Any]]:
    """Forces that are some of many: rows of lam, counted from 0, and contacts of lam_N and lam_T by name."""
    many: dict[str, list[Any]] = {}
    for name, i in sorted(found):
        many.setdefault(name, []).append(i if name == "lam" else contacts[i])
    return many


def _in_words(many: Mapping[str, list[Any]], unique: NDArray[np.bool_]) -> str:
    """What is said where recorded forces are not the only ones; nothing where they are."""
    some, named = int((~unique).sum()), named_forces(many)
    if not some:
        return ""
    forces = f"the forces ({named})" if named else "the forces"
    return f" At {some} of {len(unique)} recorded instants {forces} are one choice of many."


def _save_failed(step: StepData | None, name: str, message: str, folder: str | Path | None) -> str | None:
    if step is None or folder is None or not Path(folder).is_dir():
        return None
    safe = "".join(c if c.isalnum() else "-" for c in name)
    path = Path(folder) / f"gaussopt-step-{safe}-t{step.t:.6g}.json"
    try:
        write_text(path, json.dumps({**step.to_mapping(), "name": name, "note": message}, indent=1))
    except BadInput:
        return None  # the step is still on the trajectory; a read-only folder must not hide the reason
    return str(path)
