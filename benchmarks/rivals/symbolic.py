"""The equations of a mechanism in absolute coordinates with any symbolic engine: constraints and applied forces.

Written against the few functions that SymPy and CasADi share, so that both see the same model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mechanisms import GROUND, Mechanism, Pair
from numpy.typing import NDArray


@dataclass(frozen=True)
class Layout:
    """Where the coordinates of each body lie: x, y, angle, or x alone for a guided one.

    first : index of a body's x, (bodies,)
    masses : (n,), the diagonal of M
    start : (n,)
    """

    first: tuple[int, ...]
    masses: NDArray[np.float64]
    start: NDArray[np.float64]

    @classmethod
    def of(cls, mechanism: Mechanism) -> Layout:
        """In the order of the bodies."""
        first: list[int] = []
        masses: list[float] = []
        start: list[float] = []
        for b in mechanism.bodies:
            first.append(len(masses))
            masses += [b.mass] if b.guided else [b.mass, b.mass, b.inertia]
            start += [b.place[0]] if b.guided else [*b.place, b.angle]
        return cls(tuple(first), np.array(masses), np.array(start))

    def watched(self, mechanism: Mechanism) -> int:
        """Index of the angle that is compared."""
        return self.first[mechanism.watch] + 2


def constraints(mechanism: Mechanism, layout: Layout, q: Sequence[Any], sin: Any, cos: Any) -> list[Any]:
    """Two functions of q for every pin, zero where it holds."""

    def point(body: int, at: Pair) -> tuple[Any, Any]:
        if body == GROUND:
            return at
        i = layout.first[body]
        if mechanism.bodies[body].guided:
            return q[i] + at[0], mechanism.bodies[body].place[1] + at[1]
        c, s = cos(q[i + 2]), sin(q[i + 2])
        return q[i] + _times(at[0], c) - _times(at[1], s), q[i + 1] + _times(at[0], s) + _times(at[1], c)

    found = []
    for pin in mechanism.pins:
        first, second = point(pin.first, pin.at_first), point(pin.second, pin.at_second)
        found += [second[0] - first[0], second[1] - first[1]]
    return found


def applied(mechanism: Mechanism, layout: Layout, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
    """Gravity, torques, springs and dampers, one entry for each coordinate."""
    force: list[Any] = [0.0] * len(layout.masses)
    for i, b in zip(layout.first, mechanism.bodies, strict=True):
        if not b.guided:
            force[i + 1] = -b.mass * mechanism.gravity
    for torque in mechanism.torques:
        force[layout.first[torque.body] + 2] += torque.value
    for s in mechanism.springs:
        i = layout.first[s.body]
        force[i] += -s.stiffness * (q[i] - s.rest) - s.damping * v[i]
    return force


def _times(number: float, symbol: Any) -> Any:
    """Their product, nothing for zero: symbols need not stay for it."""
    return number * symbol if number else 0.0
