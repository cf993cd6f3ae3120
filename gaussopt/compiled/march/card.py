"""Kernels for motions on a GPU, with one thread for each motion; compiled by numba-cuda.

All kernels take the same arguments. `memory` holds entry e of member i, of N members, at index e N + i, so that
neighbouring threads read neighbouring numbers; if `fresh`, it holds only states and parameters. A kernel takes steps
first, ..., first + count - 1. It records the start, the state after every step whose number is a multiple of `every`,
and the state after the last of all `steps`. `states` holds `instants` states of each member, one member after the
other. If a step fails, its number, counted from 1, is stored in `memory`, and later states are undefined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussopt.compiled.march.common import copied, on_constraints
from gaussopt.compiled.march.embedded import march as controlled_steps
from gaussopt.compiled.march.fixed import steps as fixed_steps
from gaussopt.compiled.march.lanes import block, prepare_block
from gaussopt.compiled.march.moreau_jean import several

if TYPE_CHECKING:
    from gaussopt.compiled.march.given import (
        CLOCK,
        CONSTANTS,
        FAILED,
        LAW,
        LENGTH,
        M_H,
        ONCE,
        PROJECTED,
        ROW,
        SIZE,
        STATE,
        WORK,
        WORST,
        cuda,
        float64,
        prepare,
    )
    from gaussopt.core.arrays import Vector

MOST_STEPS = 2**40
"""Largest number of accepted steps between two recorded states: in effect no limit."""


def march(
    memory: Vector, members: int, fresh: bool, begin: float, dt: float, end: float, first: int, count: int,
    every: int, steps: int, limit: float, sharp: float, rtol: float, atol: float, times: Vector, states: Vector,
    instants: int,
) -> None:  # fmt: skip
    """Take steps by the loop over blocks of motions, with a single motion in each block.

    The block stays in registers: every index into it must be a constant after unrolling, or the compiler moves the
    whole block to slow memory.
    """
    i = cuda.grid(1)
    if i < members:
        own = cuda.local.array(LENGTH, float64)
        for e in range(LENGTH):
            own[e] = memory[e * members + i]
        recorded = states[SIZE * instants * i :]
        if fresh:
            own[FAILED], own[WORST], own[WORST + 1] = 0.0, 0.0, 0.0
            prepare_block(own, begin, sharp)
            copied(own[STATE:], recorded, SIZE)
        block(own, begin, dt, end, first, count, every, limit, sharp, recorded, instants, 1)
        if first + count == steps:
            copied(own[STATE:], recorded[SIZE * (instants - 1) :], SIZE)
        for e in range(LENGTH):
            memory[e * members + i] = own[e]


def march_fixed(
    memory: Vector, members: int, fresh: bool, begin: float, dt: float, end: float, first: int, count: int,
    every: int, steps: int, limit: float, sharp: float, rtol: float, atol: float, times: Vector, states: Vector,
    instants: int,
) -> None:  # fmt: skip
    """Take steps of constant length by the loop over steps of a single motion."""
    i = cuda.grid(1)
    if i < members:
        own = cuda.local.array(LENGTH, float64)
        work = cuda.local.array(WORK, float64)
        worst = cuda.local.array(2, float64)
        for e in range(LENGTH):
            own[e] = memory[e * members + i]
        y, space, recorded = own[STATE:], work[ONCE + SIZE :], states[SIZE * instants * i :]
        if fresh:
            own[FAILED] = 0.0 if started(begin, y, own[CONSTANTS:], sharp, work) else 1.0
            copied(y, recorded, SIZE)
        if own[FAILED] == 0.0:
            worst[0], worst[1] = 0.0, 0.0
            done = fixed_steps(
                begin, dt, end, first, count, every, y, own[CONSTANTS:], limit, sharp, worst,
                recorded[SIZE * (first // every + 1) :], work, work[ONCE:], space, space[M_H:], space[M_H + SIZE :],
            )  # fmt: skip
            own[FAILED] = first + done + 1.0 if done < count else 0.0
            if first + count == steps:
                copied(y, recorded[SIZE * (instants - 1) :], SIZE)
        for e in range(LENGTH):
            memory[e * members + i] = own[e]


def march_controlled(
    memory: Vector, members: int, fresh: bool, begin: float, dt: float, end: float, first: int, count: int,
    every: int, steps: int, limit: float, sharp: float, rtol: float, atol: float, times: Vector, states: Vector,
    instants: int,
) -> None:  # fmt: skip
    """Take steps with error control, separate for each member; `first` and `count` refer to recorded states.

    The first trial step has the length `dt`.
    """
    i = cuda.grid(1)
    if i < members:
        own = cuda.local.array(LENGTH, float64)
        work = cuda.local.array(WORK, float64)
        worst = cuda.local.array(2, float64)
        trace = cuda.local.array(ROW, float64)
        for e in range(LENGTH):
            own[e] = memory[e * members + i]
        y, clock, recorded = own[STATE:], own[CLOCK:], states[SIZE * instants * i :]
        if fresh:
            own[FAILED] = 0.0 if started(begin, y, own[CONSTANTS:], sharp, work) else 1.0
            clock[0], clock[1], clock[5] = begin, dt, 0.0
            copied(y, recorded, SIZE)
        worst[0], worst[1], clock[2] = 0.0, 0.0, 0.0
        for row in range(first + 1, first + count + 1):
            if own[FAILED] == 0.0:
                clock[4] = 0.0
                done = controlled_steps(
                    times[row:], 1, MOST_STEPS, False, rtol, atol, y, clock, own[CONSTANTS:], limit, sharp, work, worst,
                    trace,
                )  # fmt: skip
                if done < 0 or clock[5] > 0.0:
                    own[FAILED] = float(row)
                copied(y, recorded[SIZE * row :], SIZE)
        for e in range(LENGTH):
            memory[e * members + i] = own[e]


def march_contacts(
    memory: Vector, members: int, fresh: bool, begin: float, dt: float, end: float, first: int, count: int,
    every: int, steps: int, limit: float, sharp: float, rtol: float, atol: float, times: Vector, states: Vector,
    instants: int,
) -> None:  # fmt: skip
    """Take Moreau-Jean steps of one member per thread; `states` receives rows, see `moreau_jean.traced`."""
    i = cuda.grid(1)
    if i < members:
        own = cuda.local.array(LENGTH, float64)
        law = cuda.local.array(LAW, float64)
        work = cuda.local.array(WORK, float64)
        before = cuda.local.array(SIZE, float64)
        for e in range(LENGTH):
            own[e] = memory[e * members + i]
        # Generated functions do not write zeros.
        for e in range(LAW):
            law[e] = 0.0
        for e in range(WORK):
            work[e] = 0.0
        if fresh:
            own[FAILED] = 0.0
        several(
            own, law, work, before, begin, dt, end, first, count, every, steps, limit, states[ROW * instants * i :],
        )  # fmt: skip
        for e in range(LENGTH):
            memory[e * members + i] = own[e]


def started(begin: float, y: Vector, p: Vector, sharp: float, work: Vector) -> bool:
    """Prepare a motion; if its steps end with a projection, project its start; return whether this converged."""
    prepare(p, work)
    if PROJECTED:
        return on_constraints(begin, y, work, sharp, work[ONCE + SIZE :], work[ONCE + SIZE + M_H :])
    return True
