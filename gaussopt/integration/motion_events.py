"""Events of a motion: what happened when, as loops note it and trajectories keep it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


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
