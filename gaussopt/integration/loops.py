"""The skeleton of all loops that integrate a motion: begin, advance step by step, record, report, end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from time import perf_counter
from typing import Any

import numpy as np

from gaussopt.contact.impact_laws import ImpactLaw, newton
from gaussopt.core.arrays import Vector, all_finite
from gaussopt.core.errors import BadInput
from gaussopt.core.event import Event, Integrand
from gaussopt.core.status import Status
from gaussopt.core.stepper import Control, Stepper
from gaussopt.integration.accelerations import CertifiedAccelerations
from gaussopt.integration.looks import Looks
from gaussopt.integration.restart import Mark
from gaussopt.integration.trajectory import Recorder
from gaussopt.solving.answer import Answer

Progress = Callable[[float], None]
"""Told the fraction of the motion that is done."""

End = tuple[Status, str]
"""How a motion ended: status and message."""


class EventKind(StrEnum):
    """Kinds of events beside those that a user defines, whose kind is their name."""

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
    """An event of a motion: its kind, or the name of a user's event, and whatever belongs to it, as JSON holds it."""

    t: float
    kind: str
    contact: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_mapping(self) -> dict[str, Any]:
        """The event as trajectories and JSON hold it: {"t", "kind", "contact" if any, ...}."""
        where = {} if self.contact is None else {"contact": self.contact}
        return {"t": self.t, "kind": str(self.kind), **where, **self.details}

    @property
    def place(self) -> tuple[str, str]:
        """Kind and contact or contacts: equal for repetitions of an event."""
        return str(self.kind), str(self.contact or self.details.get("contacts"))


@dataclass(frozen=True, slots=True)
class ContactRules:
    """Rules of a motion with contacts; `events` and `integrals` are the user's.

    `close` tells whether a contact whose impacts accumulate is closed, with e_N = 0, instead of ending the motion.
    """

    impact: ImpactLaw = newton
    events: Sequence[Event] = ()
    close: bool = False
    integrals: Sequence[Integrand] = ()


class MotionLoop(ABC):
    """One integration from a state to the end.

    Parameters
    ----------
    recorder : takes every state that is due
    progress : called with the fraction done, or None
    every : steps between two recorded states; start, end and events are recorded in any case

    Attributes
    ----------
    t, q, v : the last state reached
    steps : steps of the method taken up to there; those of an adaptive one are its own, recorded or not
    events : list of MotionEvent
    kept : where a continuation begins: before the last step, which the end may have shortened; at the end of an
        adaptive method
    sums : integrals at the recorded instants, where some are asked for
    engine : "interpreted" or "compiled"
    looks : Looks or None, takes the positions at all steps, recorded or not
    too_long : function of the instant or None, asked after every step whether the motion is worth beginning anew as
        machine code; the loop ends there, `left`
    """

    engine = "interpreted"
    looks: Looks | None = None
    too_long: Callable[[float], bool] | None = None
    left = False
    diverged = "the motion diverged and is no longer finite; use a smaller step."

    def __init__(
        self, motion: CertifiedAccelerations, method: Stepper, control: Control, recorder: Recorder,
        progress: Progress | None = None, every: int = 1, rules: ContactRules | None = None,
    ) -> None:  # fmt: skip
        self.motion, self.method, self.control, self.recorder = motion, method, control, recorder
        self.progress, self.every, self.rules = progress, every, rules or ContactRules()
        self.system = motion.system
        self.events: list[MotionEvent] = []
        self.steps = 0
        self.kept: Mark | None = None
        self.sums: list[Vector] = []
        self.t, self.q, self.v = 0.0, np.zeros(0), np.zeros(0)

    def integrate(self, t: float, q: Vector, v: Vector) -> End:
        """Go from a state to the end; returns status and message.

        Raises Rejected if a step has no accepted answer. Raises BadInput if the motion cannot begin there or is no
        longer finite.
        """
        self.enter(t, q, v)
        return self._go_on()

    def enter(self, t: float, q: Vector, v: Vector) -> None:
        """Begin at a state; raises what `integrate` raises."""
        self.t, self.q, self.v, self.origin = t, q, v, t
        self.begin()

    def forward(self) -> End | None:
        """Advance, and look; how the motion ended there, or None."""
        ended = self.advance()
        if ended is None and self.looks is not None:
            self.looks.at(self.t, self.q)
        return ended

    def resume(self, mark: Mark) -> End:
        """Go on to the end from where a loop of the same settings stood, as that loop would have.

        Raises what `integrate` raises.
        """
        self.t, self.q, self.v, self.origin, self.steps = mark.t, mark.q, mark.v, mark.origin, mark.steps
        self.control = replace(self.control, origin=mark.origin)
        try:
            self.recall(mark.memory)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(
                f"What the motion to continue holds for that is damaged ({error!r:.80}); use a copy, or begin anew."
            ) from None
        return self._go_on()

    def _go_on(self) -> End:
        begin, end = self.t, self.control.t_end
        while self.t < end:
            self.kept = self._mark()
            ended = self.forward()
            if ended is not None:
                return ended
            if self.too_long is not None and self.too_long(self.t):
                self.left = True
                return Status.INTERRUPTED, "The motion begins anew as machine code."
            if self.progress is not None:
                self.progress((self.t - begin) / (end - begin))
        if self.method.adaptive:
            self.kept = self._mark()
        return Status.SOLVED, self.reached()

    def _mark(self) -> Mark:
        return Mark(
            self.t, self.q, self.v, self.origin, self.steps, len(self.recorder), len(self.events), self.memory()
        )

    @abstractmethod
    def recall(self, memory: Mapping[str, Any]) -> None:
        """Prepare the next step from what `memory` gave; an adaptive method begins anew and records the state."""

    def memory(self) -> dict[str, Any]:
        """What the steps that follow depend on beside instant, state and number of steps."""
        return {}

    @abstractmethod
    def begin(self) -> None:
        """Prepare the first step; records the start."""

    @abstractmethod
    def advance(self) -> End | None:
        """Take a step, or several; how the motion ended there, or None."""

    def reached(self) -> str:
        """The message of a motion that got to its end."""
        return f"Reached t = {self.control.t_end:g}."

    def refuse_divergence(self, q: Vector, u: Vector) -> None:
        """Raise BadInput for a state that is not finite."""
        if not (all_finite(q) and all_finite(u)):
            raise BadInput(self.diverged)

    def record(self, t: float, q: Vector, v: Vector, answer: Answer) -> None:
        """Write down a state with the certified answer there."""
        begin = perf_counter()
        self.recorder.add(*self.motion.row(t, q, v, answer))
        self.motion.timing["record"] += perf_counter() - begin

    def record_start(self) -> None:
        """Write down the start of a motion whose first step has no accepted answer: what an answer gives is NaN."""
        self.recorder.add(*self.motion.row_without_answer(self.t, self.q, self.v))

    def note(self, kind: str, contact: int | None = None, **details: Any) -> None:
        """Note an event at the present instant."""
        name = None if contact is None else self.system.contact_names[contact]
        self.events.append(MotionEvent(self.t, kind, name, details))

    def forget_repetitions(self) -> None:
        """Leave one event of each kind and contact at the present instant."""
        seen: set[tuple[str, str]] = set()
        kept: list[MotionEvent] = []
        for event in self.events:
            now = abs(event.t - self.t) <= 1e-12 * (1 + abs(self.t))
            if not (now and event.place in seen):
                kept.append(event)
            if now:
                seen.add(event.place)
        self.events[:] = kept

    def about(self) -> dict[str, Any]:
        """Entries of `Trajectory.meta`: the engine and the number of steps."""
        return {"engine": self.engine, "steps": self.steps}
