"""Which contacts begin or cease to push in a Moreau-Jean step."""

from __future__ import annotations

from gaussopt.core.arrays import Vector
from gaussopt.integration.advances.moreau_jean import LIFTED
from gaussopt.jit.kernel import inlined


@inlined
def landed(push: Vector, stride: int, count: int, number: int, idle: Vector, events: Vector) -> bool:
    """Note which of `count` contacts begin or cease to push in step `number`; return whether one begins.

    `idle` and `events` are those of `gaussopt.compiled.march.moreau_jean.march`; normal impulses are `stride` apart.
    """
    lands = False
    for c in range(count):
        kind = 0.0
        if push[stride * c] > 0.0:
            kind = c + 1.0 if idle[c] >= LIFTED else 0.0
            lands = lands or kind > 0.0
            idle[c] = 0.0
        elif idle[c] < LIFTED:
            idle[c] += 1.0
            kind = -c - 1.0 if idle[c] == LIFTED else 0.0
        if kind != 0.0:
            noted = events[0]
            events[1 + int(2.0 * noted)], events[2 + int(2.0 * noted)] = number + 1.0, kind
            events[0] = noted + 1.0
    return lands
