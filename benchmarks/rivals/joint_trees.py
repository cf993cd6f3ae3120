"""A mechanism as a tree of hinges and the pins that close its loops, for engines with joint coordinates."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from mechanisms import GROUND, Mechanism, Pair, Pin


@dataclass(frozen=True, slots=True)
class Hinge:
    """A body hangs on a parent, or the ground: the point of the parent and the own point, each in its body's frame."""

    parent: int
    at_parent: Pair
    at_own: Pair


@dataclass(frozen=True, slots=True)
class JointTree:
    """Hinges by body and the pins left over. Guided bodies slide on the ground."""

    hinges: dict[int, Hinge]
    loops: tuple[Pin, ...]

    @classmethod
    def of(cls, mechanism: Mechanism) -> JointTree:
        """Breadth first from the ground; loops close where both sides are reached, and at guided bodies."""
        pins: dict[int, list[int]] = {}
        for k, pin in enumerate(mechanism.pins):
            pins.setdefault(pin.first, []).append(k)
            pins.setdefault(pin.second, []).append(k)
        reached = {GROUND, *(i for i, body in enumerate(mechanism.bodies) if body.guided)}
        hinges: dict[int, Hinge] = {}
        used: set[int] = set()
        front = deque([GROUND])
        while front:
            near = front.popleft()
            for k in pins.get(near, ()):
                pin = mechanism.pins[k]
                there = pin.first == near
                far = pin.second if there else pin.first
                if far not in reached:
                    own, other = (pin.at_second, pin.at_first) if there else (pin.at_first, pin.at_second)
                    hinges[far] = Hinge(near, other, own)
                    reached.add(far)
                    used.add(k)
                    front.append(far)
        return cls(hinges, tuple(pin for k, pin in enumerate(mechanism.pins) if k not in used))

    def depth_first(self) -> tuple[int, ...]:
        """The hinged bodies, each followed by all that hang on it."""
        children: dict[int, list[int]] = {}
        for body, hinge in self.hinges.items():
            children.setdefault(hinge.parent, []).append(body)
        order, stack = [], [GROUND]
        while stack:
            body = stack.pop()
            if body != GROUND:
                order.append(body)
            stack.extend(reversed(children.get(body, ())))
        return tuple(order)

    def above(self, body: int) -> tuple[int, ...]:
        """The body and all it hangs on, up to the ground."""
        path = []
        while body != GROUND:
            path.append(body)
            body = self.hinges[body].parent
        return tuple(path)
