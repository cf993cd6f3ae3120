"""Which engine runs a motion: interpreted steps, or compiled code for the whole loop or for the contact step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussopt.compiled import loops_of
from gaussopt.core.errors import BadInput, NotAccepted, UnknownName
from gaussopt.core.step_data import Vector
from gaussopt.core.stepper import Control, Stepper
from gaussopt.integration.accelerations import CertifiedAccelerations
from gaussopt.integration.bilateral_loop import BilateralLoop, Record
from gaussopt.integration.events.accelerations import ContactAccelerations
from gaussopt.integration.events.loop import EventLoop
from gaussopt.integration.loops import Loop, SmoothLoop
from gaussopt.integration.trajectory import Recorder

if TYPE_CHECKING:
    from gaussopt.compiled.generated_loop import GeneratedLoop

ENGINES = ("auto", "interpreted", "compiled")

MANY = 20_000
"""Accelerations of a run from which on it is worth compiling by default."""

CONTACT_STAGE = 4
"""How many accelerations without contacts one with contacts counts for."""

LONG_STATE = 100
"""Coordinates that count as one small system."""


NEVER = 2**40
"""Steps between two recorded states that are more than any motion has."""


def stride(record_every: Any) -> int:
    """The number of steps between two recorded states.

    Raises
    ------
    BadInput
    """
    whole = isinstance(record_every, int | np.integer) and not isinstance(record_every, bool)
    if not whole or record_every < 1:
        raise BadInput(f"record_every is {record_every!r}; give a whole number of steps, 1 or more.")
    return min(int(record_every), NEVER)


@dataclass(frozen=True)
class EngineChoice:
    """What a person chose of formulation, solver and engine.

    Attributes
    ----------
    engine : one of `ENGINES`
    named : whether a formulation or a solver was named
    formulation, solver : names
    options : of the solver
    record_every : steps between two recorded states
    """

    engine: str
    named: bool
    formulation: str
    solver: str
    options: Mapping[str, Any] | None
    record_every: int

    def __post_init__(self) -> None:
        """Refuse what is no engine."""
        if self.engine not in ENGINES:
            raise UnknownName("engine", self.engine, ENGINES)

    def why_interpreted(self, motion: CertifiedAccelerations, solver: str) -> str | None:
        """Why formulation and solver keep a motion from code that stands for a solver, None if they do not."""
        if (self.formulation, self.solver) != ("gauss", solver) or self.options:
            return f"it is the formulation gauss with the solver {solver}, not {self.formulation} with {self.solver}"
        if type(motion) is not CertifiedAccelerations:
            return "its state is the velocity, not quasi-velocities"
        return None


def smooth_loop(
    choice: EngineChoice,
    motion: CertifiedAccelerations,
    method: Stepper,
    control: Control,
    recorder: Recorder,
    record: Record,
    progress: Callable[[float], None] | None,
    start: tuple[float, Vector, Vector],
) -> SmoothLoop:
    """The loop of a motion without contacts.

    Parameters
    ----------
    choice : Choice
    motion : accelerations by formulation and solver
    method : the stepper
    control : from where to where
    recorder, record : what takes rows, and what writes down a single state
    progress : called with the fraction done
    start : t, q, v

    Raises
    ------
    NotAccepted
        If generated code was asked for and cannot run this motion.
    """
    long = choice.engine != "auto" or _many(choice, method, control, start)
    reason = None if long else "long runs only"
    if choice.engine != "interpreted" and reason is None:
        from gaussopt.core.errors import NotCompiled

        code = loops_of(motion.system)
        reason = (
            choice.why_interpreted(motion, code.SOLVER) or code.why_not(method, motion.stabiliser)
            if code is not None
            else "the system is not given by energies (System.from_lagrangian)"
        )
        if code is not None and reason is None:
            loop: GeneratedLoop = code.loop_of(method)(
                motion, method, control, choice.record_every, recorder, record, progress
            )
            try:
                loop.prepare(*start)
                return loop
            except NotCompiled as obstacle:
                reason = str(obstacle)
    if choice.engine == "compiled":
        raise NotAccepted(_refused(reason))
    motion.system.prepare(_evaluations(method, control, start[0]))
    return BilateralLoop(motion, method, control, record, progress, choice.record_every)


def contact_engine(
    choice: EngineChoice,
    motion: ContactAccelerations,
    method: Stepper,
    control: Control,
    start: tuple[float, Vector, Vector],
) -> str:
    """Switch on the compiled kernel of contact steps where it was asked for or is worth it; returns the engine's name.

    Raises
    ------
    NotAccepted
        If the kernel was asked for and does not stand for formulation, solver and stepper.
    """
    reason = f"the stepper {method.name!r} has a loop of its own" if method.loop else motion.why_interpreted()
    if choice.engine == "compiled" and reason is not None:
        raise NotAccepted(_refused(reason))
    if choice.engine == "compiled" or (
        reason is None and choice.engine == "auto" and _many(choice, method, control, start, CONTACT_STAGE)
    ):
        motion.kernel = True
    motion.system.prepare(_evaluations(method, control, start[0]))
    return "compiled" if motion.kernel else "interpreted"


def leap_over(loop: Loop, motion: ContactAccelerations, method: Stepper, control: Control, recorder: Recorder) -> None:
    """Let a loop from event to event leap over the steps in which nothing happens, where the motion can."""
    begin = perf_counter()
    from gaussopt.compiled.contact_phases import PhaseMarcher
    from gaussopt.core.errors import NotCompiled

    if isinstance(loop, EventLoop) and PhaseMarcher.fit(motion, method, control):
        with suppress(NotCompiled):  # it goes stage by stage then
            loop.leaps = PhaseMarcher(motion, method, control, recorder)
        motion.timing["compile"] = perf_counter() - begin


def _refused(reason: str | None) -> str:
    return f"The engine 'compiled' cannot run this motion: {reason}. Use the engine 'interpreted'."


def _many(
    choice: EngineChoice, method: Stepper, control: Control, start: tuple[float, Vector, Vector], weight: int = 1
) -> bool:
    """Whether a run that names no formulation and no solver is worth compiling; the same on every machine."""
    if choice.named or control.dt is None:
        return False
    # Numpy steps of long linkages take as long as many of small systems.
    return weight * _evaluations(method, control, start[0]) * max(1, len(start[1]) // LONG_STATE) >= MANY


def _evaluations(method: Stepper, control: Control, t: float) -> float:
    """Evaluations of a motion from t on, infinite where nobody knows."""
    return math.inf if control.dt is None else math.ceil((control.t_end - t) / control.dt) * method.stages
