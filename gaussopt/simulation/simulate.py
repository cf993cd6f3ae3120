"""Simulation of one motion: check the settings, choose the engine, integrate, and return a trajectory."""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput, GaussoptError, ModelSlip, MotionStopped, NegativeMass, NotAccepted
from gaussopt.core.event import Event
from gaussopt.core.files import write_text
from gaussopt.core.foreign import raised
from gaussopt.core.keywords import suggesting
from gaussopt.core.machine import is_machine, machine_failure
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Stabilisation
from gaussopt.core.system import AbstractSystem
from gaussopt.integration.accelerations import Rejected
from gaussopt.integration.advance import Advance
from gaussopt.integration.looks import MOST, Steps
from gaussopt.integration.loop import MotionLoop, Progress
from gaussopt.integration.restart import Deferred, Mark
from gaussopt.integration.trajectory import Trajectory, WorstCertificate
from gaussopt.linalg.redundancy import named_forces, rows_by_name
from gaussopt.modelling.model_check import of_start
from gaussopt.modelling.problem import Problem
from gaussopt.simulation.continuation import CONTINUABLE, restart_of
from gaussopt.simulation.control import Controller
from gaussopt.simulation.engine import choose_engine
from gaussopt.simulation.error_estimate import MotionError, estimated, of_motion, unknown
from gaussopt.simulation.motion_sentences import (
    dead_centre_sentence,
    drift_sentence,
    error_sentence,
    growth_sentence,
    loose_sentence,
    start_sentence,
    step_sentence,
)
from gaussopt.simulation.requested_outputs import with_outputs
from gaussopt.simulation.setting_table import kept_of
from gaussopt.simulation.settings import RunSettings

SEEN_LATE = (
    "It should have stopped at a singular position (on_singular is 'stop'), which shows in later states only: do not "
    "trust what follows that position."
)

DIVERGED = 1e15
"""Size of an entry of the state above which a failure to solve counts as divergence of the motion."""


@suggesting
@np.errstate(over="ignore", invalid="ignore")  # a diverging motion is reported, not warned about
def simulate(
    problem: str | Problem | AbstractSystem | None = None, formulation: str | None = None, solver: str | None = None, *,
    stepper: str | None = None, dt: float | None = None, t_end: float | None = None, rtol: float | None = None,
    atol: float | None = None, tolerance: float | None = None, stabilisation: str | Stabilisation | None = None,
    warm_start: bool | None = None, state: str | None = None, q0: Any = None, v0: Any = None, t0: float | None = None,
    solver_options: Mapping[str, Any] | None = None, impact: str | None = None, accumulation: str | None = None,
    events: Sequence[Event] = (), integrals: Mapping[str, Any] | None = None, outputs: Mapping[str, Any] | None = None,
    control: Controller | None = None, step_folder: str | Path | None = None, keep_interrupted: bool = False,
    progress: Callable[[float], None] | None = None, engine: str | None = None, record_every: int | None = None,
    start: Trajectory | str | Path | None = None, error_estimate: bool = True, on_singular: str | None = None,
) -> Trajectory:  # fmt: skip
    """Integrate a problem, certifying every step.

    Parameters
    ----------
    problem : name, Problem or System; a bare system needs `q0`, `v0` and `t_end`. With `start` a name is not needed.
    formulation, solver : names; `gauss` and `kkt` if not given, with contacts `stick-slip` and a solver that fits
    stepper : name, rk4 if not given (moreau-jean for a `Pile`); all but time-stepping methods locate events of contacts
    dt : s, step of a fixed-step stepper (the problem's own if not given); recording interval of an adaptive stepper
    t0, t_end : s; 0 and the problem's own if not given
    rtol, atol : tolerances of an adaptive stepper, 1e-9 if not given; other steppers have none
    tolerance : largest accepted relative error of an acceleration (1e-7 if not given); `inf` only records the error
    stabilisation : "none" (if not given), "baumgarte", "projection" (moves the start, too) or an object
    warm_start : whether each solve starts from the previous answer; true if not given
    state : "velocity", or "quasi-velocity", which keeps velocity constraints; that of the formulation if not given
    q0, v0 : (n,), initial state; the problem's own if not given
    solver_options : options of the solver
    impact : "newton" (if not given), "poisson" or "none"; the coefficients of restitution belong to the contacts
    accumulation : whether impacts that accumulate "stop" the motion (if not given) or "close" the contact, with e_N = 0
    events : further events to locate, in addition to those of the problem
    integrals : functions of (t, q, v), or SymPy expressions, by name, to integrate in time; see docs/own-system.md
    outputs : the same, or `Output` objects such as `model.point("hand")`, by name, to compute at each recorded instant
    control : `Controller`, a function that sets inputs at equal intervals; see docs/control.md
    step_folder : folder in which a step that is not accepted is saved; it is `failed_step` of the motion in any case
    keep_interrupted : whether Ctrl-C ends the run with what was computed instead of raising KeyboardInterrupt
    progress : called with the fraction done
    engine : "auto" (if not given), "interpreted" (every stage through formulation, solver and certificate) or
        "compiled": generated code (`gaussopt.compiled`), the same motion to rounding, every residual checked and every
        recorded state certified; for `gauss` with `kkt` (`sparse-kkt` for linkages given by tables) and for contact
        laws solved by pivots. "auto" compiles long runs where it can and no method is given.
    record_every : steps between two recorded states, 1 if not given; events are recorded in any case
    start : a motion, or its file, to continue. Settings that are not given are those of the motion; other values are
        refused. With a method of constant step and the same engine, the result equals bit for bit that of one longer
        motion; a last step that the end had shortened is taken anew. Adaptive methods choose their steps anew, and
        solvers that iterate from their previous answer start anew. `concatenate` joins the parts.
    error_estimate : whether to estimate the error by the same motion in longer (and, if in doubt, shorter) steps
    on_singular : "warn" (if not given) or "stop" (status `unsupported`) at singular positions, if there are no contacts

    Returns
    -------
    Trajectory
        If the run stops early, it holds the states so far, the reason and the step that failed.

    Raises
    ------
    GaussoptError
        If the run cannot begin.

    Examples
    --------
    >>> import gaussopt as go
    >>> motion = go.simulate("crank-slider", t_end=0.1, dt=1e-3, stabilisation="projection")
    >>> print(motion.status, motion.q.shape)
    solved (101, 7)
    """
    settings, begin = RunSettings.of(problem, formulation, solver, dict(locals())), perf_counter()
    return _trajectory(settings, *_asked(settings, progress, keep_interrupted, error_estimate, begin), step_folder)


@dataclass(frozen=True)
class _End:
    """The end of a motion, with the rejected step, if any, and `machine`: whether the machine failed."""

    status: Status
    message: str
    seconds: float
    failed: StepData | None = None
    machine: bool = False
    error: MotionError | None = None


def _asked(settings: RunSettings, *how: Any) -> tuple[Sequence[str], MotionLoop, dict[str, Any], _End]:
    """Warn of probable mistakes in the model, compute the motion, and add advice to exceptions; return the warnings."""
    slips = tuple(of_start(settings.system, settings.first, settings.start.fixed))
    for sentence in slips:
        warnings.warn(sentence, ModelSlip, stacklevel=5)  # so that the warning points to the user's call of `simulate`
    try:
        return slips, *_computed(settings, *how)
    except NegativeMass as error:
        names = settings.system.coordinates(len(settings.start.q))
        raise BadInput(f"In {settings.start.name!r} {error}{error.where(names)}") from None
    except KeyboardInterrupt as interrupt:
        interrupt.add_note("simulate(..., keep_interrupted=True) returns the motion up to the interruption.")
        raise


def _computed(
    settings: RunSettings, progress: Progress | None, keep_interrupted: bool, error_estimate: bool, begin: float
) -> tuple[MotionLoop, dict[str, Any], _End]:
    """Compute a motion; return its loop, recorded columns, and end, with an error estimate if it reached its end.

    `begin` is the time, by perf_counter, at which its settings had been checked.
    """
    continued = settings.continued
    start = settings.consistent_start() if continued is None else continued.mark
    for long in (False, True):
        loop = choose_engine(settings, of_motion(progress) if error_estimate else progress, long)
        most = MOST if settings.inputs is None else sys.maxsize  # inputs are known for no motion beside this one
        loop.advance.looks = Steps(most) if error_estimate else None
        loop.advance.motion.timing["prepare"] = perf_counter() - begin - loop.advance.motion.seconds
        end = _integrate(loop, start, keep_interrupted, begin)
        if not loop.left:
            break
    columns = loop.advance.recorder.arrays(len(settings.start.q))
    if settings.inputs is not None:
        settings.inputs.complete = True
    if error_estimate and end.status is Status.SOLVED:
        begin = perf_counter()
        state = (start.t, start.q, start.v) if isinstance(start, Mark) else start
        try:
            error = estimated(settings, state, loop, columns, progress)
        except KeyboardInterrupt:
            if not keep_interrupted:
                raise
            error = unknown(settings)
        loop.advance.motion.timing["error_estimate"] = seconds = perf_counter() - begin
        end = replace(end, seconds=end.seconds + seconds, error=error)
    return loop, columns, end


def _integrate(
    loop: MotionLoop, start: tuple[float, Vector, Vector] | Mark, keep_interrupted: bool, begin: float
) -> _End:
    """Integrate from the start to the end, or to the failure that stops the motion."""
    advance = loop.advance
    failed: StepData | None = None
    machine = False
    try:
        with advance.motion.timed("integration"):
            status, message = loop.resume(start) if isinstance(start, Mark) else loop.integrate(*start)
        if not len(advance.recorder):
            advance.record_start()
    except Rejected as rejected:
        failed, status, message = rejected.step, *_rejected(rejected)
        if not len(advance.recorder):
            advance.record_start()
    except Exception as error:
        # The results so far are kept whatever the error is, even if it is a defect of this package.
        if not len(advance.recorder):
            raise
        machine = is_machine(error)
        status, message = _ended_by(error, advance.t)
    except KeyboardInterrupt:
        if not (keep_interrupted and len(advance.recorder)):
            raise
        status, message = (
            Status.INTERRUPTED,
            f"Interrupted after t = {advance.t:.9g}; the motion up to there is kept.",
        )
    return _End(status, message, perf_counter() - begin, failed, machine)


def _rejected(rejected: Rejected) -> tuple[Status, str]:
    """Return status and message of a motion that ended at a step without an accepted answer."""
    step, answer = rejected.step, rejected.answer
    size = max((float(np.abs(x).max()) for x in (step.q, step.v) if x is not None), default=0.0)
    if size > DIVERGED:
        return answer.status, (
            f"Stopped at t = {step.t:.9g}: the motion diverged (an entry of the state is {size:.3g}); use a smaller "
            "step."
        )
    return answer.status, f"Stopped at t = {step.t:.9g}: {answer.message}"


def _ended_by(error: Exception, t: float) -> tuple[Status, str]:
    """Return status and message of a motion that an exception ended."""
    reason = str(error)
    if is_machine(error):
        status, reason = Status.CRASHED, str(machine_failure("the step was not done", error))
    elif isinstance(error, NotAccepted):
        status = Status.UNSUPPORTED
    elif isinstance(error, GaussoptError):
        status = Status.SOLVER_ERROR if isinstance(error, MotionStopped) else Status.BAD_INPUT
    elif "GAUSSOPT_DEBUG" in os.environ:
        raise error
    else:
        status, reason = Status.CRASHED, f"{raised(error).rstrip('.')} (GAUSSOPT_DEBUG=1 shows where)."
    return status, f"Stopped after t = {t:.9g}: {reason}"


def _trajectory(
    settings: RunSettings, slips: Sequence[str], loop: MotionLoop, columns: dict[str, Any], end: _End,
    step_folder: str | Path | None,
) -> Trajectory:  # fmt: skip
    """Return the trajectory of a motion with its message and warnings."""
    advance, start = loop.advance, settings.start
    motion = advance.motion
    message, error, rows = end.message, end.error, settings.system.row_names
    if end.status is Status.BAD_INPUT and len(columns["t"]) and "diverged" not in message:
        size = max(float(np.abs(columns[name][-1]).max(initial=0.0)) for name in ("q", "v"))
        message += f" The motion diverged: an entry of its last state is {size:.3g}." if size > DIVERGED else ""
    message += rows_by_name(message, rows) + dead_centre_sentence(settings, columns, end.status)
    many = _of_many(motion.open_forces, settings.system.contact_names)
    abrupt = step_sentence(settings, loop, columns)
    inexact = None if error is None else error_sentence(settings, columns, error)
    if inexact is None and end.status is Status.SOLVED:
        inexact = drift_sentence(settings, columns)
    growing = growth_sentence(settings, columns) if end.status is Status.SOLVED else None
    passed = motion.singular.sentence()
    if passed is not None and motion.singular.stop and end.status is Status.SOLVED:
        # The singular position lies between two states, and only later states reveal it.
        end = replace(end, status=Status.UNSUPPORTED)
        message = f"{message} {SEEN_LATE}"
    missed = settings.system.may_miss(columns["q"], columns["v"], advance.control.dt)
    found = (*slips, start_sentence(settings, columns), *motion.warnings, missed, passed, abrupt, growing,
             loose_sentence(motion.worst, end.status), inexact, advance.slow_sentence())  # fmt: skip
    told = tuple(sentence for sentence in found if sentence is not None)
    timing = {key: x for key, x in motion.timing.items() if not math.isnan(x)} | {"total": end.seconds}
    restart = _restart(settings, loop, end.status, message)
    message = whole_message(message, many, rows, columns["forces_unique"], told, None)
    file = _save_failed(end.failed, start.name, message, step_folder)
    message += _of_file(file)
    done = Trajectory(
        **columns, status=end.status, message=message, timing=timing, warnings=told, failed_step=end.failed,
        worst=WorstCertificate(**motion.worst, evaluations=motion.evaluations), failed_step_file=file,
        events=_events(advance, error), restart=restart, problem=start.entry,
        integrals=_integrals(settings, advance),
        error_estimate=np.full(len(start.q), math.nan) if error is None else error.largest,
        meta={
            **_about(settings, advance, many), **({"machine_failure": True} if end.machine else {}),
            "compared_with": list(error.compared) if error is not None else [],
        },
    )  # fmt: skip
    return with_outputs(done if settings.inputs is None else settings.inputs.recorded(done), settings.outputs)


def _events(advance: Advance, error: MotionError | None) -> tuple[dict[str, Any], ...]:
    """Return all events; if one ended the motion, add the estimated error of its instant to it."""
    found = tuple(event.to_mapping() for event in advance.events)
    if found and error is not None and found[-1].get("terminal") and math.isfinite(error.end):
        found[-1]["error"] = error.end
    return found


def _integrals(settings: RunSettings, advance: Advance) -> dict[str, Vector]:
    """Return integrals by name, each (N,); zero if only the start is recorded, without an accepted answer."""
    names = [x.name for x in settings.rules.integrals]
    if not names:
        return {}
    rows = np.array(advance.sums if advance.sums else [[0.0] * len(names)] * len(advance.recorder))
    return dict(zip(names, rows.T, strict=True))


def _about(settings: RunSettings, advance: Advance, open_forces: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the entries of `Trajectory.meta`: the settings of the run."""
    s, start, control, motion = settings, settings.start, settings.control, advance.motion
    names = s.system.coordinates(len(start.q))
    adaptive = s.method.adaptive
    return {
        "problem": start.name, "variant": start.variant, "parameters": start.parameters,
        "formulation": s.formulation, "solver": s.solver, "stand_ins": motion.stand_ins,
        "solver_options": {k: str(x) for k, x in (s.solver_options or {}).items()}, "stepper": s.method.name,
        "dt": control.dt, "t_end": control.t_end, "rtol": control.rtol if adaptive else None,
        "atol": control.atol if adaptive else None,
        "tolerance": s.tolerance if math.isfinite(s.tolerance) else "inf", "stabilisation": s.stabiliser.name,
        "warm_start": s.warm_start, "state": motion.state, "coordinates": list(names),
        "rows": list(s.system.row_names), "without_rows": list(s.system.without_rows),
        "chosen_coordinates": s.system.chosen,
        "units": [start.units.get(name, "") for name in names],
        "evaluations": motion.evaluations, "iterations": motion.iterations, "record_every": s.record_every,
        "open_forces": open_forces,
        "contacts": list(s.system.contact_names), "impact": s.impact if s.with_contacts else None, **advance.about(),
    }  # fmt: skip


def whole_message(
    ended: str, open_forces: Mapping[str, list[Any]], rows: Sequence[str], unique: NDArray[np.bool_],
    warnings: Sequence[str], file: str | None,
) -> str:  # fmt: skip
    """Return the message of a motion: how it ended, non-unique forces, warnings, and the file of the failed step."""
    return " ".join([ended + _in_words(open_forces, rows, unique), *warnings]) + _of_file(file)


def _of_file(file: str | None) -> str:
    return "" if file is None else f" The step is saved in {file}."


def _restart(settings: RunSettings, loop: MotionLoop, status: Status, ended: str) -> Mapping[str, Any]:
    """Return the data that the trajectory keeps for its continuation."""
    s, first, continued = settings, settings.first, settings.continued
    about = {"ended": ended, "continues": None if continued is None else continued.kept["key"]}
    mark = loop.kept
    if status not in CONTINUABLE or mark is None or s.inputs is not None:
        return about
    used = {
        **kept_of(s, loop), "stabilisation": s.stabiliser, "events": [event.name for event in s.rules.events],
        **({"integrals": [x.name for x in s.rules.integrals]} if s.rules.integrals else {}),
        "solver_options": s.solver_options and dict(s.solver_options),
    }  # fmt: skip
    begin = Mark(first.t, s.start.q, s.start.v, first.t, 0, 0, 0)
    return Deferred(lambda: about | restart_of(used, begin, first, mark))


def _of_many(found: Collection[tuple[str, int]], contacts: Sequence[str]) -> dict[str, list[Any]]:
    """Return the non-unique forces by kind: numbers of rows (from 0) for lam, names of contacts for lam_N and lam_T."""
    many: dict[str, list[Any]] = {}
    for name, i in sorted(found):
        many.setdefault(name, []).append(i if name == "lam" else contacts[i])
    return many


def _in_words(many: Mapping[str, list[Any]], rows: Sequence[str], unique: NDArray[np.bool_]) -> str:
    """Return a sentence about recorded forces that are not unique; "" if all are unique."""
    some, named = int((~unique).sum()), named_forces(many, rows)
    if not some:
        return ""
    forces = f"the forces ({named})" if named else "the forces"
    return (
        f" At {some} of {len(unique)} recorded instants {forces} are one choice of many, as rows depend on each other: "
        "leave out a constraint that others imply, or read none of these forces by itself."
    )


def _save_failed(step: StepData | None, name: str, message: str, folder: str | Path | None) -> str | None:
    """Save a step to a folder, if the folder exists; return the path of the file, or None if it was not saved."""
    if step is None or folder is None or not Path(folder).is_dir():
        return None
    safe = "".join(c if c.isalnum() else "-" for c in name)
    path = Path(folder) / f"gaussopt-step-{safe}-t{step.t:.6g}.json"
    try:
        write_text(path, json.dumps({**step.to_mapping(), "name": name, "note": message}, indent=1))
    except BadInput:
        return None  # a folder that cannot be written must not hide the reason of the failure
    return str(path)
