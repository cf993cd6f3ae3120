"""The accelerations of a mechanism by Gauss's principle: certified to sixty decimals, found with the help of floats.

Floats choose rows that seem independent and propose multipliers; fixed-point numbers say what they miss, until nothing
is missed. What is found satisfies *all* rows, also those not chosen, and M a - f is a combination of rows: that proves
it to be the acceleration, whatever was chosen. Where rows depend on each other but for a little, rows stay missed, and
the state is left undecided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr

from .fixed import BITS, ONE, Array, cross, dot, fixed, floats, mul, times, unit, zeros
from .loads import loads
from .parts import Mechanism, State
from .rows import Line, lines

SMALL = 1e-7
"""A row of unit length in unit masses is dependent where less than this is left of it behind others."""
NOISE = 1e-40
ROUNDS = 12
Floats = Any


class Undecided(Exception):
    """Rows that depend on each other but for a little, or masses that are no masses."""


@dataclass
class Frame:
    """Rows of a state as fixed-point numbers, and what floats know of them."""

    lines: list[Line]
    J: Array
    inverse: Array
    """(n, n) of the masses, block diagonal."""
    chosen: Any
    unit: Floats
    factor: Any
    least: float
    """What is left of the last chosen row behind the others, of unit length."""

    @property
    def redundant(self) -> int:
        return len(self.lines) - len(self.chosen)

    def lift(self, misses: Array, allowed: float = NOISE) -> Array:
        """The least change of velocities (or accelerations), in the norm of the masses, by which rows gain `misses`.

        Raises Undecided where the chosen rows gain it and the others do not.
        """
        n, size = len(self.inverse), np.abs(floats(misses)).max(initial=0.0)
        found, rest = zeros(n), misses
        JR = self.J[self.chosen]
        for _ in range(ROUNDS):
            wanted = floats(rest[self.chosen] * (1 << 0)) if len(self.chosen) else np.zeros(0)
            scale = np.abs(wanted).max(initial=0.0)
            if scale <= 1e-60 * size:
                break
            y = cho_solve(self.factor, wanted / scale / self.unit) / self.unit
            step = dot(self.inverse, dot(JR.T, mul(fixed(y), fixed(float(scale)))))
            found = found + step
            rest = misses - dot(self.J, found)
        left = np.abs(floats(rest)).max(initial=0.0)
        if left > allowed * max(size, 1e-300):
            raise Undecided(f"rows are missed by {left / size:.0e}")
        return found


def masses(mechanism: Mechanism, state: State) -> tuple[Array, Floats]:
    """The inverse of all masses, and its root as floats, in the columns of the mechanism."""
    k = len(mechanism.bodies)
    out, half = zeros(6 * k, 6 * k), np.zeros((6 * k, 6 * k))
    for i, body in enumerate(mechanism.bodies):
        at, R = 6 * i, floats(state.R[i])
        for j in range(3):
            out[at + j, at + j] = (ONE << BITS) // body.mass
            half[at + j, at + j] = float(floats(body.mass)) ** -0.5
        if body.particle:
            continue
        block = slice(at + 3, at + 6)
        turned = dot(dot(state.R[i], body.inertia), state.R[i].T)
        out[block, block] = inverse(turned)
        moments, V = np.linalg.eigh(R @ floats(body.inertia) @ R.T)
        half[block, block] = V / np.sqrt(moments) @ V.T
    keep = np.ix_(mechanism.columns, mechanism.columns)
    return out[keep], half[keep]


def inverse(A: Array) -> Array:
    """Of a matrix (3, 3)."""
    rows = np.array([cross(A[1], A[2]), cross(A[2], A[0]), cross(A[0], A[1])], dtype=object)
    return np.array([[(x << BITS) // int(dot(A[0], rows[0])) for x in row] for row in rows], dtype=object).T


def assembled(mechanism: Mechanism, found: list[Line]) -> Array:
    """Rows, (m, n)."""
    J = zeros(len(found), 6 * len(mechanism.bodies))
    for i, row in enumerate(found):
        for body, own in row.at.items():
            J[i, 6 * body : 6 * body + 6] += own
    return J[:, mechanism.columns]


def framed(mechanism: Mechanism, state: State, only: Any = None) -> Frame:
    """Rows at a state, those that seem independent among them; `only` are the joints that count."""
    joints = mechanism.joints if only is None else only
    found = [row for joint in joints for row in lines(joint, state, mechanism.dim)]
    J, (inverted, half) = assembled(mechanism, found), masses(mechanism, state)
    plain = floats(J) if len(found) else np.zeros((0, len(half)))
    plain = plain * (np.abs(plain) > 1e-45 * np.abs(plain).max(initial=0.0))
    B = plain @ half
    size = np.linalg.norm(B, axis=1)
    alive = np.flatnonzero(size > 0)
    if not len(alive):
        return Frame(found, J, inverted, alive, np.zeros(0), None, 1.0)
    unit_rows = B[alive] / size[alive, None]
    _, R, order = qr(unit_rows.T, mode="economic", pivoting=True)
    left = np.abs(np.diag(R))
    rank = int((left > SMALL).sum())
    chosen = np.sort(alive[order[:rank]])
    rows = B[chosen] / size[chosen, None]
    return Frame(found, J, inverted, chosen, size[chosen], cho_factor(rows @ rows.T), float(left[rank - 1]))


def column(x: Any) -> Array:
    return np.array(list(x), dtype=object)


def allowed_velocity(mechanism: Mechanism, state: State, frame: Frame, free: Array, still: bool = False) -> Array:
    """The velocity nearest to a free one that the rows allow, (k, 6); at the present instant if `still`."""
    rates = column(0 if still else row.rate for row in frame.lines)
    inside = free.ravel()[mechanism.columns]
    found = inside + frame.lift(rates - dot(frame.J, inside)) if len(rates) else inside
    return spread(mechanism, found)


def spread(mechanism: Mechanism, x: Array) -> Array:
    """Velocities or accelerations of all bodies, (k, 6)."""
    out = zeros(6 * len(mechanism.bodies))
    out[mechanism.columns] = x
    return out.reshape(-1, 6)


@dataclass
class Truth:
    """Accelerations of all bodies, (k, 6), as floats; those without joints; M^(1/2) of the state; how well determined.

    `least` is what is left of a unit row in unit masses behind the others: its inverse is about the condition number.
    """

    a: Floats
    free: Floats
    size: float
    half: Floats
    least: float
    rows: int
    redundant: int
    freedoms: int
    exact: Array
    """`a` as fixed-point numbers."""


def judge(mechanism: Mechanism, state: State, allowed: float = 1e-35) -> Truth:
    """The accelerations of a state, in which rows miss at most the part `allowed`; raises Undecided."""
    frame = framed(mechanism, state)
    f = loads(mechanism, state).ravel()[mechanism.columns]
    free = dot(frame.inverse, f)
    level = column(row.level for row in frame.lines)
    a = free + frame.lift(level - dot(frame.J, free), allowed) if len(level) else free
    _, half = masses(mechanism, state)
    root = np.linalg.inv(half)
    size = float(np.linalg.norm(root @ floats(free)) + np.linalg.norm(root @ floats(a)))
    return Truth(
        floats(spread(mechanism, a)), floats(spread(mechanism, free)), size, root, frame.least, len(frame.lines),
        frame.redundant, len(f) - len(frame.chosen), spread(mechanism, a),
    )  # fmt: skip


def moved(mechanism: Mechanism, state: State, twist: Array, t: int | None = None) -> State:
    """Another state on the constraints, about so far along a twist, (k, 6), by Newton's method; raises Undecided."""
    now = shifted(state, twist, t)
    for _ in range(60):
        frame = framed(mechanism, now)
        misses = column(0 if row.value is None else -row.value for row in frame.lines)
        largest = np.abs(floats(misses)).max(initial=0.0)
        if largest < 1e-60:
            return now
        if largest > 1e3:
            break
        now = shifted(now, spread(mechanism, frame.lift(misses, 1.0)), t)
    raise Undecided("does not close")


def shifted(state: State, twist: Array, t: int | None) -> State:
    """All bodies moved by a small twist each; quaternions change their sign before half of their angle jumps."""
    e = np.array([turn(e, x[3:]) for e, x in zip(state.e, twist, strict=True)], dtype=object)
    turns = list(state.turns)
    for i, own in enumerate(e):
        if own[0] < -ONE // 2:
            turns[i] += 1 if own[3] >= 0 else -1
            e[i] = -own
    return State(state.r + twist[:, :3], e, state.v, state.w, state.t if t is None else t, tuple(turns))


def turn(e: Array, by: Array) -> Array:
    """A quaternion turned about an axis of the ground, to first order in size and exactly of length one."""
    return unit(times(np.concatenate(([ONE], by >> 1)), e))
