"""Which engine runs a motion: interpreted steps, or compiled code for the whole loop or for the contact step."""

from __future__ import annotations

import math
from contextlib import suppress
from time import perf_counter

from gaussopt.bodies.tables import TableSystem
from gaussopt.compiled import loop_of, modules
from gaussopt.compiled.contact_phases import PhaseMarcher
from gaussopt.compiled.generated_loop import GeneratedLoop
from gaussopt.core.errors import BadInput, NotAccepted, NotCompiled
from gaussopt.core.time_step import SteppedSystem
from gaussopt.integration.accelerations import CertifiedAccelerations, QuasiVelocityAccelerations
from gaussopt.integration.bilateral_loop import BilateralLoop
from gaussopt.integration.events.accelerations import ContactAccelerations, ContactSolvers
from gaussopt.integration.events.loop import EventLoop
from gaussopt.integration.events.modes import ContactModes
from gaussopt.integration.events.regular_stages import StageKernel
from gaussopt.integration.impulse_stepping import ContactRecorder, ImpulseSteppingLoop, stepped_why_not
from gaussopt.integration.loops import MotionLoop, Progress
from gaussopt.integration.printed_loop import PrintedLoop
from gaussopt.integration.time_stepping import TimeSteppingLoop
from gaussopt.integration.trajectory import Recorder
from gaussopt.simulation.settings import RunSettings
from gaussopt.solving.step_solver import StepSolver

MANY = 20_000
"""Accelerations of a run from which on it is worth compiling by default."""

CONTACT_STAGE = 20
"""How many accelerations without contacts one with contacts counts for: interpreted it takes a millisecond or more."""

LOOKS = (20, 100, 500)
"""Steps of an adaptive method after which the work of the rest of a run is estimated."""

LONG_STATE = 100
"""Coordinates that count as one small system."""

FOLLOWED = 30
"""Contacts up to which the impulses of a step are looked for from those of the step before by Newton's method."""

CONTACT_LOOPS: dict[str, type[EventLoop | TimeSteppingLoop | PrintedLoop]] = {
    "": EventLoop, "time-stepping": TimeSteppingLoop, "without-events": PrintedLoop
}  # fmt: skip
"""Loops of motions with contacts, by the name that a stepper gives."""


def choose_engine(settings: RunSettings, progress: Progress | None, long: bool = False) -> MotionLoop:
    """The loop of checked settings, by the engine asked for or by the one that is worth it, ready to integrate.

    A loop by an adaptive method may be `left` for machine code; then the run is `long`.

    Raises NotAccepted if compiled code was asked for and cannot run this motion, or the stepper does not fit.
    """
    with_contacts = settings.with_contacts or settings.method.loop
    return _contact_loop(settings, progress) if with_contacts else _bilateral_loop(settings, progress, long)


def _bilateral_loop(settings: RunSettings, progress: Progress | None, long: bool) -> MotionLoop:
    s = settings
    solver = StepSolver(s.formulation, s.solver, s.solver_options, s.tolerance, s.warm_start)
    state = _state(s, solver)
    s.check_stepper(state)
    kinds = {"velocity": CertifiedAccelerations, "quasi-velocity": QuasiVelocityAccelerations}
    motion = kinds[state](s.system, solver, s.stabiliser)
    motion.singular.stop, motion.singular.idle = s.on_singular == "stop", not s.watched
    motion.know(s.first, s.first.t, s.start.q, s.start.v)
    given = motion, s.method, s.control, Recorder(), progress, s.record_every, s.rules
    outlook: _Outlook | None = None
    reason = None if s.engine != "auto" or s.method.adaptive or _many(s) else "long runs only"
    if s.engine != "interpreted" and reason is None:
        kind = loop_of(motion.system, s.method)
        reason = _why_interpreted(s, state, kind)
        if s.engine == "auto" and s.method.adaptive and not long and not _worth(s, s.control.t_end - s.first.t):
            outlook = _Outlook(s)
        if kind is not None and reason is None and outlook is None and not (s.named and s.engine == "auto"):
            loop = kind(*given)
            try:
                loop.prepare(s.first)
                return loop
            except NotCompiled as obstacle:
                reason = str(obstacle)
    if s.engine == "compiled":
        raise NotAccepted(_refused(reason))
    motion.system.prepare(_evaluations(s))
    interpreted = BilateralLoop(*given)
    interpreted.too_long = None if reason is not None or s.named else outlook
    return interpreted


def _state(settings: RunSettings, solver: StepSolver) -> str:
    """The state beside q: asked for, or that of the formulation."""
    system, state = settings.system, settings.state
    if state is None:
        natural = solver.formulation.state
        return natural if natural == "velocity" or system.has_quasi_velocities else "velocity"
    if state == "quasi-velocity" and not system.has_quasi_velocities:
        raise BadInput(f"{system.name!r} names no quasi-velocities; give quasi_velocities to from_lagrangian.")
    return state


def _why_interpreted(settings: RunSettings, state: str, kind: type[GeneratedLoop] | None) -> str | None:
    """Why generated code cannot run a motion without contacts, None if it can."""
    s = settings
    if s.rules.events or s.rules.integrals:
        return "events and integrals look at every step, and generated code records only some"
    if isinstance(s.system, TableSystem):
        return "a model of so many bodies is evaluated in tables and has no generated code"
    if kind is None:
        return "the system is not given by energies (System.from_lagrangian)"
    if not modules.has_llvm():
        return "llvmlite is not installed, or switched off"
    if (s.formulation, s.solver) != ("gauss", kind.solver) or s.solver_options:
        return f"it is the formulation gauss with the solver {kind.solver}, not {s.formulation} with {s.solver}"
    if state != "velocity":
        return "its state is the velocity, not quasi-velocities"
    return kind.why_not(s.method, s.stabiliser)


def _contact_loop(settings: RunSettings, progress: Progress | None) -> MotionLoop:
    s, method = settings, settings.method
    if isinstance(s.system, SteppedSystem):
        return _impulse_loop(s, progress)
    s.check_stepper("velocity")
    solvers = ContactSolvers(s.formulation, s.solver, s.solver_options, s.tolerance, s.warm_start)
    flight = ContactModes.flight(s.first.k, s.first.J_T.shape[1])
    kernel = _stage_kernel(s, solvers)
    motion = ContactAccelerations(s.system, solvers, s.stabiliser, flight, kernel)
    motion.know(s.first, s.first.t, s.start.q, s.start.v)
    motion.system.prepare(math.inf if kernel is not None else _evaluations(s))
    recorder = Recorder(len(s.system.contact_names))
    loop = CONTACT_LOOPS[method.loop](motion, method, s.control, recorder, progress, s.record_every, s.rules)
    if kernel is None:
        return loop
    loop.engine = "compiled"
    if isinstance(loop, EventLoop) and PhaseMarcher.fit(motion, method, s.control):
        begin = perf_counter()
        with suppress(NotCompiled):  # it goes stage by stage then
            loop.fast_forward = PhaseMarcher(motion, method, s.control, recorder)
        motion.timing["compile"] = perf_counter() - begin
    return loop


def _impulse_loop(settings: RunSettings, progress: Progress | None) -> MotionLoop:
    s = settings
    reason = stepped_why_not(s.stabiliser.name, s.method.loop)
    if reason is not None:
        raise NotAccepted(f"The stepper {s.method.name!r} does not fit: {reason}.")
    if s.engine == "compiled":
        raise NotAccepted(_refused("the system states its own time steps"))
    quick = (
        {"searched": 0, "followed": FOLLOWED} if s.solver == "hybrid" and s.solver_options is None else s.solver_options
    )
    solver = StepSolver(s.formulation, s.solver, quick, s.tolerance, s.warm_start)
    motion = CertifiedAccelerations(s.system, solver, s.stabiliser)
    motion.worst |= dict.fromkeys(("error_bound", "relative_error"), math.nan)  # what is measured is Coulomb's law
    return ImpulseSteppingLoop(motion, s.method, s.control, ContactRecorder(), progress, s.record_every, s.rules)


def _stage_kernel(settings: RunSettings, solvers: ContactSolvers) -> StageKernel | None:
    """The compiled kernel of contact steps where it was asked for or is worth it, else None.

    Raises NotAccepted if the kernel was asked for and does not stand for formulation, solver and stepper.
    """
    s, name = settings, settings.method.name
    reason = f"the stepper {name!r} has a loop of its own" if s.method.loop else solvers.why_interpreted()
    if s.engine == "compiled" and reason is not None:
        raise NotAccepted(_refused(reason))
    wanted = s.engine == "compiled" or (reason is None and s.engine == "auto" and _many(s, CONTACT_STAGE))
    return StageKernel(solvers.main.tolerance) if wanted else None


def _refused(reason: str | None) -> str:
    return f"The engine 'compiled' cannot run this motion: {reason}. Use the engine 'interpreted'."


def _many(settings: RunSettings, weight: int = 1) -> bool:
    """Whether a run that names no formulation and no solver is worth compiling; the same on every machine."""
    if settings.named or settings.control.dt is None:
        return False
    # Numpy steps of long linkages take as long as many of small systems.
    return weight * _evaluations(settings) * max(1, settings.first.n // LONG_STATE) >= MANY


class _Outlook:
    """Whether the rest of an interpreted motion by an adaptive method is worth compiling, by the speed of its steps."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings, self._count, self._last = settings, 0, (0, settings.first.t)

    def __call__(self, t: float) -> bool:
        """After one more step, which ended at t; looked at from time to time, since motions may speed up."""
        self._count += 1
        if self._count not in LOOKS:
            return False
        (count, begin), left = self._last, self._settings.control.t_end - t
        self._last = self._count, t
        return _worth(self._settings, left, (self._count - count) * left / (t - begin))


def _worth(settings: RunSettings, seconds: float, steps: float = 0.0) -> bool:
    """Whether so many steps of an adaptive method, over so much of its motion, are worth compiling.

    States that are recorded between steps cost a step each.
    """
    s = settings
    recorded = 0.0 if s.control.dt is None else seconds / s.control.dt
    return s.method.stages * (steps + recorded) * max(1, s.first.n // LONG_STATE) >= MANY


def _evaluations(settings: RunSettings) -> float:
    """Evaluations of a motion, infinite where nobody knows."""
    control = settings.control
    if control.dt is None:
        return math.inf
    return math.ceil((control.t_end - settings.first.t) / control.dt) * settings.method.stages
