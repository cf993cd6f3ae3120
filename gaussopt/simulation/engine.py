"""Choice of the engine for a motion: the first `Advance` of a list that can run the motion and is worth using."""

from __future__ import annotations

import math

from gaussopt.compiled.advances.adaptive_steps import GeneratedAdaptiveSteps
from gaussopt.compiled.advances.compiled_phases import CompiledPhases
from gaussopt.compiled.advances.fixed_steps import GeneratedFixedSteps
from gaussopt.compiled.advances.linkage_steps import LinkageSteps
from gaussopt.compiled.advances.space_steps import CompiledSpaceSteps
from gaussopt.compiled.advances.time_steps import CompiledTimeSteps
from gaussopt.core.endings import SLIVER
from gaussopt.core.errors import BadInput, NotAccepted, NotCompiled
from gaussopt.core.time_step import NO_CONTACTS, SteppedSystem
from gaussopt.integration.accelerations import CertifiedAccelerations, QuasiVelocityAccelerations
from gaussopt.integration.advance import Advance
from gaussopt.integration.advances.event_phases import EventPhases
from gaussopt.integration.advances.interpreted import InterpretedSteps
from gaussopt.integration.advances.moreau_jean import MoreauJeanSteps
from gaussopt.integration.advances.printed import PrintedSteps
from gaussopt.integration.advances.stated_steps import ContactRecorder, StatedSteps
from gaussopt.integration.events.accelerations import ContactAccelerations, ContactSolvers
from gaussopt.integration.events.modes import ContactModes
from gaussopt.integration.loop import MotionLoop, Progress
from gaussopt.integration.recorder import Recorder
from gaussopt.simulation.settings import RunSettings
from gaussopt.solving.step_solver import StepSolver

MANY = 3000
"""Number of accelerations of a run above which it is worth compiling by default.

Each of twelve registered problems had paid for its compilation by then, most of them within a thousand accelerations.
"""

SLOW = 20_000
"""Number of accelerations, without contacts, from which a motion that cannot be compiled says that it is slow."""

CONTACT_STAGES = 3, 8
"""Cost of an interpreted acceleration with contacts, in the plane and in space, in units of accelerations without; less
than they take, since equations are compiled as well. In space, event-driven, the kernel is the same for all systems."""

LOOKS = (20, 100, 500)
"""Numbers of steps of an adaptive method after which the remaining work of a run is estimated."""

LONG_STATE = 100
"""Number of coordinates that cost as much as one small system: n coordinates count as n // LONG_STATE such systems."""

FOLLOWED = 30
"""Largest number of contacts at which Newton's method looks for impulses near those of the previous step."""

ENOUGH = 0.9
"""Residual of the natural map, relative to the tolerance, with which sweeps may end if Newton's method fails."""

ADVANCES: tuple[type[Advance], ...] = (
    CompiledPhases, LinkageSteps, GeneratedAdaptiveSteps, GeneratedFixedSteps,
    CompiledTimeSteps, CompiledSpaceSteps, StatedSteps, MoreauJeanSteps, PrintedSteps, EventPhases, InterpretedSteps,
)  # fmt: skip
"""Ways of advancing a motion: the first that suits the motion, can take it and is worth using is chosen."""


def choose_engine(settings: RunSettings, progress: Progress | None, long: bool = False) -> MotionLoop:
    """Return the loop for checked settings, ready to integrate, by the requested or presumably fastest engine.

    If the loop of an adaptive method ends with `left` set, compiling is worthwhile: call this again with `long`.

    Raises NotAccepted if compiled code is requested and cannot run this motion, or the stepper does not fit.
    """
    s, recorder = settings, Recorder(len(settings.system.contact_names))
    if isinstance(s.system, SteppedSystem):
        motion, recorder = _stated(s), ContactRecorder()
    else:
        motion = _with_contacts(s) if s.with_contacts else _without_contacts(s)
        motion.know(s.first, s.first.t, s.start.q, s.start.v)
    reason, outlook, slow, patience = None, None, None, 0.0
    for kind in ADVANCES:
        compiled = kind.engine == "compiled"
        if not kind.suits(s.system, s.method) or s.engine not in ("auto", kind.engine):
            continue
        if compiled:
            reason, outlook = _why_not_worth(s, long) if s.engine == "auto" else (None, None)
            worth = reason is None
            reason = reason or kind.can(motion, s.method, s.rules)
            reason = reason or (None if s.inputs is None else kind.why_uncontrolled)
            slow, patience = (reason, SLOW / _weight(s)) if worth else (slow, patience)
            if reason is not None or outlook is not None:
                continue
        elif (unfit := kind.can(motion, s.method, s.rules)) is not None:
            raise NotAccepted(f"The stepper {s.method.name!r} does not fit: {unfit}.")
        advance = kind(motion, s.method, s.control, recorder, s.record_every, s.rules)
        try:
            advance.prepare(s.first, math.inf if s.engine == "compiled" else _evaluations(s))
        except NotCompiled as obstacle:
            slow = reason = str(obstacle)
            patience = 0.0
            continue
        if not compiled:
            advance.why_interpreted, advance.patience = slow, patience
        return MotionLoop(advance, progress, None if compiled or reason is not None else outlook, s.inputs)
    raise NotAccepted(f"The engine 'compiled' cannot run this motion: {reason}. Use the engine 'interpreted'.")


def _without_contacts(s: RunSettings) -> CertifiedAccelerations:
    solver = StepSolver(s.formulation, s.solver, s.solver_options, s.tolerance, s.warm_start)
    state = _state(s, solver)
    s.check_stepper(state)
    kinds = {"velocity": CertifiedAccelerations, "quasi-velocity": QuasiVelocityAccelerations}
    motion = kinds[state](s.system, solver, s.stabiliser)
    motion.singular.stop, motion.singular.idle = s.on_singular == "stop", not s.watched
    return motion


def _state(settings: RunSettings, solver: StepSolver) -> str:
    """Return the variable to integrate together with q: the user's choice, by default the formulation's."""
    system, state = settings.system, settings.state
    if state is None:
        natural = solver.formulation.state
        return natural if natural == "velocity" or system.has_quasi_velocities else "velocity"
    if state == "quasi-velocity" and not system.has_quasi_velocities:
        raise BadInput(f"{system.name!r} names no quasi-velocities; give quasi_velocities to from_lagrangian.")
    return state


def _with_contacts(s: RunSettings) -> ContactAccelerations:
    s.check_stepper("velocity")
    solvers = ContactSolvers(s.formulation, s.solver, s.solver_options, s.tolerance, s.warm_start)
    return ContactAccelerations(s.system, solvers, s.stabiliser, ContactModes.flight(s.first.k, s.first.J_T.shape[1]))


def _stated(s: RunSettings) -> CertifiedAccelerations:
    quick = s.solver_options
    if s.solver == "hybrid" and quick is None:
        quick = {"searched": 0, "followed": FOLLOWED, "enough": ENOUGH * s.tolerance}
    solver = StepSolver(s.formulation, s.solver, quick, s.tolerance, s.warm_start)
    if getattr(s.system, "may_touch", True):
        try:
            solver.sequence.solver.check(NO_CONTACTS)
        except NotAccepted as error:
            raise NotAccepted(f"Steps of {s.system.name!r} may have contacts. {error}") from None
    motion = CertifiedAccelerations(s.system, solver, s.stabiliser)
    motion.worst |= dict.fromkeys(("error_bound", "relative_error"), math.nan)  # only Coulomb's law is certified
    return motion


def _why_not_worth(s: RunSettings, long: bool) -> tuple[str | None, _Outlook | None]:
    """Return why compiling is not worthwhile, or None; and an `_Outlook` if this depends on the rate of steps."""
    if s.named:
        return "the pair that was asked for is interpreted unless the engine 'compiled' is", None
    if not s.method.adaptive:
        return None if _many(_evaluations(s), s) else "only long motions are worth it", None
    steps = 0.0 if s.inputs is None else s.inputs.count
    return None, None if long or _worth(s, s.control.t_end - s.first.t, steps) else _Outlook(s)


def _weight(settings: RunSettings) -> int:
    """Return the cost of an interpreted acceleration, in units of one without contacts."""
    return CONTACT_STAGES[settings.first.J_T.shape[1] > 1] if settings.with_contacts else 1


def _many(evaluations: float, settings: RunSettings) -> bool:
    """Return whether a run of so many accelerations is worth compiling; the answer is the same on every machine."""
    # A step of a long linkage in NumPy takes as long as many steps of a small system.
    return _weight(settings) * evaluations * max(1, settings.first.n // LONG_STATE) >= MANY


class _Outlook:
    """Decides from the rate of steps so far whether the rest of a motion by an adaptive method is worth compiling."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings, self._count, self._last = settings, 0, (0, settings.first.t)

    def __call__(self, t: float) -> bool:
        """Count a step that ended at t; decide again after each step number in `LOOKS`, as steps may become shorter."""
        self._count += 1
        if self._count not in LOOKS:
            return False
        (count, begin), left = self._last, self._settings.control.t_end - t
        self._last = self._count, t
        return _worth(self._settings, left, (self._count - count) * left / (t - begin))


def _worth(settings: RunSettings, seconds: float, steps: float = 0.0) -> bool:
    """Return whether `steps` steps of an adaptive method over `seconds` of motion are worth compiling.

    Each recorded state between the ends of steps takes a step of its own.
    """
    recorded = 0.0 if settings.control.dt is None else seconds / settings.control.dt
    return _many(settings.method.stages * (steps + recorded), settings)


def _evaluations(settings: RunSettings) -> float:
    """Return the number of evaluations of a motion; infinite if it is unknown."""
    control = settings.control
    if control.dt is None:
        return math.inf
    spans, span = 1, control.t_end - settings.first.t
    if settings.inputs is not None:  # a step ends at each instant of a control
        spans, span = settings.inputs.count, min(span, settings.inputs.control.period)
    return spans * math.ceil(span / control.dt - SLIVER) * settings.method.stages
