"""Loops over Moreau-Jean steps: of one motion with its events, and of the members of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy import zeros

from gaussopt.compiled.march.common import copied, largest
from gaussopt.compiled.march.landing import landed
from gaussopt.compiled.march.mass_norm import product
from gaussopt.compiled.march.velocity_step import advance
from gaussopt.core.arrays import Vector
from gaussopt.core.endings import last_step
from gaussopt.integration.advances.moreau_jean import PENETRATED
from gaussopt.integration.events.modes import TOLERANCES
from gaussopt.jit.kernel import inlined

if TYPE_CHECKING:
    from gaussopt.compiled.march.given import (
        ACTIVE,
        CONSTANTS,
        FAILED,
        FORCE,
        GAPS,
        JUMP,
        LAW,
        LENGTH,
        NORMALS,
        PUSH,
        ROW,
        SIZE,
        TANGENTS,
        WORK,
        K,
        N,
        coefficients,
    )

GAIN = TOLERANCES.energy
"""Energy added by contacts in a landing, relative to 1 + the kinetic energy, that is reported; kernels read numbers."""


@inlined
def fed(y: Vector, own: Vector) -> bool:
    """Tell whether the contacts of the latest step, which `own` holds, have added energy; y is the state after it."""
    dv, kinetic, work = own[JUMP:], 0.0, 0.0
    for i in range(N):
        for j in range(N):
            kinetic += 0.5 * (y[N + i] - dv[i]) * own[i * N + j] * (y[N + j] - dv[j])
    for c in range(K):
        work += own[PUSH + 2 * c] * (own[GAPS + K + c] + 0.5 * product(own[NORMALS + c * N :], dv))
        slip = own[TANGENTS + K * N + K + c] + 0.5 * product(own[TANGENTS + c * N :], dv)
        work += own[PUSH + 2 * c + 1] * slip
    return work > GAIN * (1.0 + kinetic)


@inlined
def traced(number: int, before: Vector, y: Vector, own: Vector, row: Vector) -> None:
    """Write the `row` that records step `number`, from the states `before` and `y` and the work array `own`.

    A row holds: the number, counted from 0; both states; the force; which contacts take part, as bits.
    """
    bits, bit = 0.0, 1.0
    for c in range(K):
        bits += bit * own[ACTIVE + c]
        bit *= 2.0
    row[0] = number + 0.0
    copied(before, row[1:], SIZE)
    copied(y, row[1 + SIZE :], SIZE)
    copied(own[FORCE:], row[1 + 2 * SIZE :], N)
    row[1 + 2 * SIZE + N] = bits


def march(
    begin: float, dt: float, end: float, first: int, count: int, every: int, y: Vector, p: Vector, limit: float,
    idle: Vector, events: Vector, trace: Vector,
) -> int:  # fmt: skip
    """Take the steps first, ..., first + count - 1 of one motion; return the number taken before an irregular one.

    Parameters
    ----------
    y : (SIZE,), the state (q, v), changed in place
    idle : (K,), for each contact the number of steps since its last normal force, at most `LIFTED`
    events : receives pairs (number of the step counted from 1, contact counted from 1 and negative where it lifts off)
        behind its first entry, which counts them; a landing that adds energy counts as irregular
    trace : receives the row (see `traced`) of each step i for which i + 1 is a multiple of `every`, and of the last
    """
    law, own, before, known = zeros(LAW), zeros(WORK), zeros(SIZE), zeros(K)
    coefficients(p, law)
    place = 0
    for number in range(first, first + count):
        stop = last_step(begin + (number + 1) * dt, end, dt)
        copied(y, before, SIZE)
        copied(idle, known, K)
        good = advance(begin + number * dt, stop, y, p, law, limit, own)
        noted = events[0]
        if good:
            lands = landed(own[PUSH:], 2, K, number, idle, events)
            good = not (lands and fed(y, own))
        if not good:
            copied(before, y, SIZE)
            copied(known, idle, K)
            events[0] = noted
            return number - first
        if (number + 1) % every == 0 or number + 1 == first + count:
            traced(number, before, y, own, trace[place:])
            place += ROW
    return count


@inlined
def several(
    own: Vector, law: Vector, work: Vector, before: Vector, begin: float, dt: float, end: float, first: int, count: int,
    every: int, steps: int, limit: float, trace: Vector,
) -> None:  # fmt: skip
    """Take steps of one member of a batch, and write the rows of its recorded states (see `traced`) to `trace`.

    `own` holds its state and parameters. The row of the start has the force and the contacts of the first step.
    """
    coefficients(own[CONSTANTS:], law)
    for number in range(first, first + count):
        if own[FAILED] == 0.0:
            copied(own, before, SIZE)
            stop = last_step(begin + (number + 1) * dt, end, dt)
            good = advance(begin + number * dt, stop, own, own[CONSTANTS:], law, limit, work)
            if number == 0:
                for c in range(K):
                    good = good and work[GAPS + c] >= -PENETRATED * (1.0 + largest(before, N))
                traced(-1, before, before, work, trace)
            if not good:
                own[FAILED] = number + 1.0
            elif (number + 1) % every == 0 or number + 1 == steps:
                traced(number, before, own, work, trace[ROW * ((number + every) // every) :])


def march_members(
    first_member: int, last_member: int, memory: Vector, fresh: int, begin: float, dt: float, end: float,
    first_step: int, count: int, every: int, steps: int, limit: float, states: Vector, instants: int,
) -> None:  # fmt: skip
    """Take steps of the members first_member, ..., last_member - 1 of a batch, by `several`."""
    law, work, before = zeros(LAW), zeros(WORK), zeros(SIZE)
    for i in range(first_member, last_member):
        several(
            memory[LENGTH * i :], law, work, before, begin, dt, end, first_step, count, every, steps, limit,
            states[ROW * instants * i :],
        )  # fmt: skip
