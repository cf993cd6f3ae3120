"""What joints keep, written for velocities of centres and angular velocities in the frame of the ground.

A row is a combination of velocities, `at` (body -> (6,)), that has a given `rate`; of accelerations the same
combination is `level`. `value` is what the position misses, where it is a row of the position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .fixed import ONE, Array, cross, div, dot, mul, root, zeros
from .parts import FULL, GROUND, Joint, Seen, State, of_tangent


@dataclass
class Line:
    """One row; `value` is None of a row of velocities alone."""

    at: dict[int, Array]
    level: int = 0
    rate: int = 0
    value: int | None = None


def line(*parts: tuple[int, Any, Any], level: int = 0, rate: int = 0, value: int | None = None) -> Line:
    """From bodies with what multiplies the velocities of their centres and their angular velocities."""
    at: dict[int, Array] = {}
    for body, along, about in parts:
        if body != GROUND:
            own = np.concatenate((along, about))
            at[body] = at[body] + own if body in at else own
    return Line(at, level, rate, value)


NONE = zeros(3)


def place(a: Seen, b: Seen, n: Array) -> Line:
    """N . (p_b - p_a) for a direction of the ground."""
    return line(
        (b.body, n, cross(b.arm, n)), (a.body, -n, -cross(a.arm, n)), level=-int(dot(n, b.bias - a.bias)),
        value=int(dot(n, b.p - a.p)),
    )  # fmt: skip


def cosine(a: Seen, u: Array, b: Seen, x: Array) -> Line:
    """U . x for directions u of a and x of b."""
    across, du, dx = cross(u, x), a.rate(u), b.rate(x)
    bias = dot(a.rate(du), x) + 2 * dot(du, dx) + dot(u, b.rate(dx))
    return line((a.body, NONE, across), (b.body, NONE, -across), level=-int(bias), value=int(dot(u, x)))


def along(a: Seen, n: Array, b: Seen) -> Line:
    """N . (p_b - p_a) for a direction of a."""
    d, dd, dn = b.p - a.p, b.v - a.v, a.rate(n)
    bias = dot(a.rate(dn), d) + 2 * dot(dn, dd) + dot(n, b.bias - a.bias)
    return line(
        (b.body, n, cross(b.arm, n)),
        (a.body, -n, cross(n, d) - cross(a.arm, n)),
        level=-int(bias),
        value=int(dot(n, d)),
    )


def turning(a: Seen, b: Seen, u: Array, owner: Seen) -> Line:
    """U . (omega_b - omega_a) for a direction of the owner, which is a or b."""
    level = -int(dot(b.w - a.w, owner.rate(u)))
    return line((b.body, NONE, u), (a.body, NONE, -u), level=level)


def angle(a: Seen, b: Seen, u: Array) -> int:
    """From the second axis of a to that of b about u, in (-pi, pi]."""
    n, x = a.axes[1], b.axes[1]
    return of_tangent(int(dot(cross(n, x), u)), int(dot(n, x)))


def function(coefficients: list[int], t: int) -> tuple[int, int, int]:
    """A polynomial of time with its two derivatives."""
    c0, c1, c2 = coefficients
    return c0 + mul(c1, t) + mul(mul(c2, t), t), c1 + 2 * mul(c2, t), 2 * c2


def lines(joint: Joint, state: State, dim: int) -> list[Line]:
    """All rows of a joint."""
    a, b = Seen(joint.a, state), Seen(joint.b, state)
    return _PLANE[joint.kind](a, b, joint, state) if dim == 2 else _SPACE[joint.kind](a, b, joint, state)


def _together(a: Seen, b: Seen, dim: int) -> list[Line]:
    frame = np.array([[ONE, 0, 0], [0, ONE, 0], [0, 0, ONE]], dtype=object)
    return [place(a, b, n) for n in frame[:dim]]


def _parallel(a: Seen, b: Seen) -> list[Line]:
    return [cosine(a, n, b, b.axes[0]) for n in a.axes[1:]]


def _guided(a: Seen, b: Seen) -> list[Line]:
    return [along(a, n, b) for n in a.axes[1:]]


def _no_turn(a: Seen, b: Seen) -> Line:
    return cosine(a, a.axes[2], b, b.axes[1])


def _distance(a: Seen, b: Seen, joint: Joint, _: State) -> list[Line]:
    d, dd = b.p - a.p, b.v - a.v
    level = -int(dot(dd, dd) + dot(d, b.bias - a.bias))
    square = int(dot(d, d)) - mul(joint.number, joint.number)
    found = line((b.body, d, cross(b.arm, d)), (a.body, -d, -cross(a.arm, d)), level=level, value=square >> 1)
    return [found]


def _gear(a: Seen, b: Seen, joint: Joint, _: State) -> list[Line]:
    return [line((a.body, NONE, mul(a.axes[0], joint.number)), (b.body, NONE, b.axes[0]))]


def _roll_in_space(a: Seen, b: Seen, joint: Joint, _: State) -> list[Line]:
    """The point of a disk that is lowest has no velocity; its place in the disk moves, which the acceleration feels."""
    n, u, radius = a.axes[0], b.axes[0], joint.number
    du = b.rate(u)
    c, dc = int(dot(n, u)), int(dot(n, du))
    up, dup = n - mul(u, c), -(mul(u, dc) + mul(du, c))
    size = root(ONE - mul(c, c))
    dsize = -div(mul(c, dc), size)
    arm = mul(-up, div(radius, size))
    darm = mul(-dup, div(radius, size)) + mul(up, div(mul(radius, dsize), mul(size, size)))
    whole = b.arm + arm
    bias = b.bias + cross(b.w, darm)
    height = int(dot(n, b.p + arm - a.p))
    found = []
    for k, x in enumerate(a.axes):
        found.append(line((b.body, x, cross(whole, x)), level=-int(dot(x, bias)), value=height if k == 0 else None))
    return found


def _roll_in_plane(a: Seen, b: Seen, joint: Joint, _: State) -> list[Line]:
    height = along(a, a.axes[1], b)
    assert height.value is not None
    height.value -= joint.number
    z = np.array([0, 0, joint.number], dtype=object)
    roll, turn = along(a, a.axes[0], b), line((b.body, NONE, z), (a.body, NONE, -z))
    for body, own in turn.at.items():
        roll.at[body] = roll.at[body] + own
    roll.value = None
    return [height, roll]


def _drive(a: Seen, b: Seen, joint: Joint, state: State) -> list[Line]:
    """The angle or the displacement of a joint is a function of time."""
    value, rate, second = function(joint.more["motion"], state.t)
    u = a.axes[2] if joint.more["plane"] else a.axes[0]
    if joint.more["of"] == "prismatic":
        found = along(a, a.axes[0], b)
        assert found.value is not None
        found.value -= value
    else:
        found = turning(a, b, u, a)
        found.value = difference(b.turned - a.turned if joint.more["plane"] else angle(a, b, u), value)
    found.rate, found.level = rate, found.level + second
    return [found]


def difference(x: int, y: int) -> int:
    """Of two angles, in (-pi, pi]."""
    return (x - y + FULL // 2) % FULL - FULL // 2


def _row(a: Seen, b: Seen, joint: Joint, state: State) -> list[Line]:
    """A linear combination of the coordinates of two centres is a number, or of their velocities is zero."""
    parts, total = [], -joint.number
    for seen, weights in ((a, joint.more["a"]), (b, joint.more["b"])):
        if seen.body != GROUND:
            parts.append((seen.body, weights, NONE))
            total += int(dot(weights, state.r[seen.body]))
    return [line(*parts, value=None if joint.more["velocity"] else total)]


_SPACE = {
    "revolute": lambda a, b, j, s: _together(a, b, 3) + _parallel(a, b),
    "prismatic": lambda a, b, j, s: [*_guided(a, b), *_parallel(a, b), _no_turn(a, b)],
    "cylindrical": lambda a, b, j, s: _guided(a, b) + _parallel(a, b),
    "universal": lambda a, b, j, s: [*_together(a, b, 3), cosine(a, a.axes[0], b, b.axes[0])],
    "spherical": lambda a, b, j, s: _together(a, b, 3),
    "weld": lambda a, b, j, s: [*_together(a, b, 3), *_parallel(a, b), _no_turn(a, b)],
    "slot": lambda a, b, j, s: _guided(a, b),
    "free": lambda a, b, j, s: [],
    "distance": _distance, "rolling": _roll_in_space, "gear": _gear, "row": _row, "drive": _drive,
}  # fmt: skip
_PLANE = {
    "revolute": lambda a, b, j, s: _together(a, b, 2),
    "prismatic": lambda a, b, j, s: [along(a, a.axes[1], b), cosine(a, a.axes[1], b, b.axes[0])],
    "slot": lambda a, b, j, s: [along(a, a.axes[1], b)],
    "weld": lambda a, b, j, s: [*_together(a, b, 2), cosine(a, a.axes[1], b, b.axes[0])],
    "distance": _distance, "rolling": _roll_in_plane, "row": _row, "drive": _drive,
    "gear": lambda a, b, j, s: [
        line((a.body, NONE, mul(a.axes[2], j.number)), (b.body, NONE, b.axes[2]))
    ],
}  # fmt: skip
