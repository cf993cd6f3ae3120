"""The interface of the classes that advance a motion: by interpreted steps, by machine code, or from event to event.

`gaussopt.integration.loop` drives each of them in the same way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from gaussopt.contact.impact_laws import ImpactLaw, newton
from gaussopt.core.arrays import Vector, all_finite
from gaussopt.core.endings import together
from gaussopt.core.errors import BadInput
from gaussopt.core.event import Event, Integrand
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Control, Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.integration.accelerations import CertifiedAccelerations
from gaussopt.integration.looks import Looks
from gaussopt.integration.recorder import Recorder
from gaussopt.solving.answer import Answer

End = tuple[Status, str]
"""End of a motion: status and message."""


class EventKind(StrEnum):
    """Kinds of events that the loops find; an event that a user defines has its name as its kind."""

    IMPACT = "impact"
    LANDING = "landing"
    LIFT_OFF = "lift_off"
    WALL_CHANGE = "wall_change"
    STICK = "stick"
    SLIP = "slip"
    REVERSAL = "reversal"
    ENERGY_GAIN = "energy_gain"
    INDEFINITE = "indefinite"
    ACCUMULATION = "accumulation"


@dataclass(frozen=True, slots=True)
class MotionEvent:
    """An event of a motion, with its kind (the name of a user's event), and `details` that JSON can hold."""

    t: float
    kind: str
    contact: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_mapping(self) -> dict[str, Any]:
        """Return the event as a mapping for trajectories and JSON: {"t", "kind", "contact" if any, ...}."""
        where = {} if self.contact is None else {"contact": self.contact}
        return {"t": self.t, "kind": str(self.kind), **where, **self.details}

    @property
    def place(self) -> tuple[str, str]:
        """Kind and contact (or contacts) of the event; a repetition at the same instant has the same pair."""
        return str(self.kind), str(self.contact or self.details.get("contacts"))


@dataclass(frozen=True, slots=True)
class ContactRules:
    """Rules of a motion: the impact law of its contacts, and the `events` and `integrals` that the user defines.

    If `close` is true, a contact whose impacts accumulate is closed, with e_N = 0; otherwise the motion ends.
    """

    impact: ImpactLaw = newton
    events: Sequence[Event] = ()
    close: bool = False
    integrals: Sequence[Integrand] = ()


class Advance(ABC):
    """Base class of the algorithms that advance a motion; an instance holds the state that the motion has reached.

    In each pass of the loop an advance takes one step, or as many at once as it can. It records the states that are
    due, stores the events that occur, and updates `t`, `q` and `v`. The loop does not depend on methods, contacts or
    machine code; an advance does not report progress and does not decide where a motion ends.

    Parameters
    ----------
    motion : CertifiedAccelerations, computes and certifies accelerations
    method : Stepper
    control : Control, with the end of the motion, and the step length or tolerances
    recorder : receives every state that is due
    every : steps between two recorded states; start, end and events are recorded in any case
    rules : ContactRules; their defaults if not given, as for a motion without contacts

    Attributes
    ----------
    engine : "interpreted" or "compiled"
    why_uncontrolled : str or None, why a control cannot set inputs of the system; None if it can
    t, q, v : the last state reached
    origin : the instant from which steps are counted, s
    steps : steps of the method since `origin`; for an adaptive method all its accepted steps, recorded or not
    earlier : steps of a method of constant step before `origin`, which moves to each instant of a control
    events : list of MotionEvent
    sums : values of the user's integrals at the recorded instants
    looks : Looks or None, receives the positions at the ends of steps, and at requested instants within steps
    why_interpreted : str or None, why a motion that is worth compiling is not compiled, or which part of it is not
    patience : number of accelerations from which the motion says so

    Examples
    --------
    Steps of Euler's method, each recorded with the certified answer at its end; a loop takes them to the end.

    >>> import numpy as np
    >>> import gaussopt as go
    >>> from gaussopt.core.stepper import Control
    >>> from gaussopt.integration.accelerations import CertifiedAccelerations
    >>> from gaussopt.integration.advance import Advance
    >>> from gaussopt.integration.loop import MotionLoop
    >>> from gaussopt.integration.stabilisation import Unstabilised
    >>> from gaussopt.integration.steppers.rk4 import RK4
    >>> from gaussopt.integration.recorder import Recorder
    >>> from gaussopt.solving.step_solver import StepSolver
    >>> class Euler(Advance):
    ...     @classmethod
    ...     def suits(cls, system, method):
    ...         return not system.contact_names
    ...     def begin(self):
    ...         self.record(self.t, self.q, self.v, self.motion.answer(self.t, self.q, self.v))
    ...     def recall(self, memory):
    ...         pass  # the state is all that the next step depends on
    ...     def take(self):
    ...         h, a = self.control.dt, self.motion.acceleration(self.t, self.q, self.v)
    ...         self.t, self.q, self.v = self.t + h, self.q + h * self.v, self.v + h * a
    ...         self.steps += 1
    ...         self.record(self.t, self.q, self.v, self.motion.answer(self.t, self.q, self.v))
    >>> fall = go.System([[1.0]], [-9.81])
    >>> motion = CertifiedAccelerations(fall, StepSolver("gauss", "kkt"), Unstabilised())
    >>> euler = Euler(motion, RK4(), Control(1.0, 0.25, 1e-9, 1e-9), Recorder())
    >>> status, message = MotionLoop(euler).integrate(0.0, np.zeros(1), np.zeros(1))
    >>> print(message, euler.steps, euler.v)
    Reached t = 1. 4 [-9.81]
    """

    engine: ClassVar[str] = "interpreted"
    why_uncontrolled: ClassVar[str | None] = None
    diverged: ClassVar[str] = "the motion diverged and is no longer finite; use a smaller step."
    looks: Looks | None = None
    why_interpreted: str | None = None
    patience = 0.0

    def __init__(
        self, motion: CertifiedAccelerations, method: Stepper, control: Control, recorder: Recorder, every: int = 1,
        rules: ContactRules | None = None,
    ) -> None:  # fmt: skip
        self.motion, self.method, self.control, self.recorder = motion, method, control, recorder
        self.every, self.rules = every, rules or ContactRules()
        self.system = motion.system
        self.events: list[MotionEvent] = []
        self.steps = self.earlier = 0
        self.sums: list[Vector] = []
        self.t, self.q, self.v, self.origin = 0.0, np.zeros(0), np.zeros(0), 0.0

    @classmethod
    @abstractmethod
    def suits(cls, system: AbstractSystem, method: Stepper) -> bool:
        """Return whether the advance is meant for motions of this system by this method."""

    @classmethod
    def can(cls, motion: CertifiedAccelerations, method: Stepper, rules: ContactRules) -> str | None:
        """Return the reason why this advance cannot run a motion that it `suits`; None if it can.

        The reason completes the sentence "It cannot run this motion: ...".
        """
        return None

    def prepare(self, first: StepData, evaluations: float) -> None:
        """Prepare for a motion from the step data `first`, with an expected number of evaluations (inf if unknown).

        Raises NotCompiled if the motion turns out not to be compilable.
        """
        self.system.prepare(evaluations)

    # -- what every advance defines -----------------------------------------------------------------------------

    @abstractmethod
    def begin(self) -> None:
        """Prepare the first step, and record the start; raises BadInput if the motion cannot begin at this state."""

    @abstractmethod
    def recall(self, memory: Mapping[str, Any]) -> None:
        """Prepare the next step from a result of `memory`; an adaptive method begins anew and records the state."""

    @abstractmethod
    def take(self) -> End | None:
        """Take one or more steps; return status and message if they end the motion, None if it goes on.

        Raises Rejected if a step has no accepted answer, and BadInput if the motion is no longer finite.
        """

    # -- what an advance may override ----------------------------------------------------------------------------

    def renew(self, control: Control) -> End | None:
        """Go on to another end after the inputs of the system have changed; return status and message if it ends here.

        By default the motion begins anew at the present state, and steps are counted from there.
        """
        self.go_on(control)
        self.begin()
        return None

    def go_on(self, control: Control) -> None:
        """Discard what belongs to other inputs, and set the end to go on to."""
        self.motion.forget()
        self.control = control
        if not self.method.adaptive:
            self.earlier, self.steps, self.origin = self.earlier + self.steps, 0, self.t

    def memory(self) -> dict[str, Any]:
        """Return the data on which later steps depend, in addition to instant, state and number of steps."""
        return {}

    def trace_failure(self) -> None:  # noqa: B027 - most advances know the step that failed
        """Find the step that failed, if only recorded states are known, and raise its error."""

    def reached(self) -> str:
        """Return the message of a motion that reached its end."""
        return f"Reached t = {self.control.t_end:g}."

    def acceleration(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the certified acceleration at a state, (n,)."""
        return self.motion.acceleration(t, q, v)

    def may_exceed(self, limit: float, t: float, q: Vector, v: Vector) -> bool:
        """Return whether the norm of the acceleration at a state may exceed `limit`; True if this is unknown."""
        return True

    def about(self) -> dict[str, Any]:
        """Return entries for `Trajectory.meta`: engine, number of steps, and any reason why nothing was compiled."""
        slow = {"why_interpreted": self.why_interpreted} if self._slow else {}
        return {"engine": self.engine, "steps": self.earlier + self.steps, **slow}

    @property
    def _slow(self) -> bool:
        """Whether it is told why the motion is interpreted."""
        return self.why_interpreted is not None and self.motion.evaluations >= self.patience

    def slow_sentence(self) -> str | None:
        """Return a warning if the motion was worth compiling but could not be compiled; None otherwise."""
        if not self._slow:
            return None
        return f"Every step was interpreted, which is slow, because {self.why_interpreted}."

    def record_start(self) -> None:
        """Record the start where its step has no accepted answer, with NaN for acceleration and forces."""
        self.recorder.add(*self.motion.row_without_answer(self.t, self.q, self.v))

    # -- common to all advances ------------------------------------------------------------------------------------

    def refuse_divergence(self, q: Vector, u: Vector) -> None:
        """Raise BadInput for a state that is not finite."""
        if not (all_finite(q) and all_finite(u)):
            raise BadInput(self.diverged)

    def record(self, t: float, q: Vector, v: Vector, answer: Answer) -> None:
        """Record a state with its certified answer."""
        begin = perf_counter()
        self.recorder.add(*self.motion.row(t, q, v, answer))
        self.motion.timing["record"] += perf_counter() - begin

    def note(self, kind: str, contact: int | None = None, **details: Any) -> None:
        """Append an event at the present instant to `events`."""
        name = None if contact is None else self.system.contact_names[contact]
        self.events.append(MotionEvent(self.t, kind, name, details))

    def forget_repetitions(self) -> None:
        """Keep only the first event of each kind and contact at the present instant."""
        seen: set[tuple[str, str]] = set()
        kept: list[MotionEvent] = []
        for event in self.events:
            now = abs(event.t - self.t) <= together(self.t, self.origin)
            if not (now and event.place in seen):
                kept.append(event)
            if now:
                seen.add(event.place)
        self.events[:] = kept
