"""Which loop drives a motion with contacts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from gaussopt.contact.impact_laws import ImpactLaw
from gaussopt.core.event import Event
from gaussopt.core.status import Status
from gaussopt.core.step_data import Vector
from gaussopt.core.stepper import Control, Stepper
from gaussopt.integration.bilateral_loop import Record
from gaussopt.integration.events.accelerations import ContactAccelerations
from gaussopt.integration.events.loop import EventLoop
from gaussopt.integration.printed_loop import PrintedLoop
from gaussopt.integration.time_stepping import TimeSteppingLoop


class Loop(Protocol):
    """What integrates a motion and says how it ended.

    Attributes
    ----------
    t : the last instant reached
    steps : steps of the method taken up to there; those of an adaptive one are its own, recorded or not
    events : what happened
    """

    t: float
    steps: int
    events: list[dict[str, Any]]

    def integrate(self, t: float, q: Vector, v: Vector) -> tuple[Status, str]:
        """From a state to the end."""


class SmoothLoop(Loop, Protocol):
    """The same without contacts."""

    def about(self) -> dict[str, Any]:
        """What there is to say of the run beside its end: engine, steps, and what was handed over."""


LOOPS: dict[str, Callable[..., Loop]] = {
    "": EventLoop, "time-stepping": TimeSteppingLoop, "without-events": PrintedLoop
}  # fmt: skip


def make_loop(
    method: Stepper,
    motion: ContactAccelerations,
    control: Control,
    impact: ImpactLaw,
    events: Sequence[Event],
    record: Record,
    progress: Callable[[float], None] | None,
    close: bool = False,
    every: int = 1,
) -> Loop:
    """The loop that the stepper names."""
    more: dict[str, Any] = {"close": close} if method.loop == "" else {}
    return LOOPS[method.loop](motion, method, control, impact, events, record, progress, every=every, **more)
