"""A pin in a slot: n_a . (r_b - r_a) = 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaussopt.bodies.element import Joint, offset, on_axis


class Slot(Joint):
    """The point b stays on the line through a along its axis, and turns freely."""

    def holonomic(self) -> Mapping[str, Any]:
        """across; in space across, across2."""
        return on_axis(self.a, self.b)

    def displacement(self) -> Any:
        """How far b is along the axis of a, m."""
        return self.a.axes[0].dot(offset(self.a, self.b))
