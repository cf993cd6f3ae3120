"""Many motions together: Runge-Kutta steps as SIMD code over the lanes of a block, with blocks shared between cores.

All data of a block of W lanes lie in one flat array, entry i of lane l at i W + l, so that the compiler sees at once
that no two entries overlap. Lanes never branch: a lane that fails is marked, and its further results are not used.
The generated functions alternate the lines for lane l and for lane l + W / 2, so that the elimination of one lane hides
the latency of the other. On a GPU each thread has a block of a single lane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussopt.compiled.march.common import MOST_CORRECTIONS
from gaussopt.core.arrays import Vector
from gaussopt.core.endings import last_step

if TYPE_CHECKING:
    from gaussopt.compiled.march.given import (
        BEST,
        CALLS,
        DONE,
        FAILED,
        LANES,
        LENGTH,
        PROJECTED,
        REACH,
        SHARE,
        SIZE,
        STAGES,
        STATE,
        TOTAL,
        C,
        constants,
        corrected,
        first,
        stage,
    )

WIDTH = 16
"""Number of motions in a block on the CPU: two vectors of the largest width."""


def all_on_constraints(memory: Vector, t: float, sharp: float, number: float) -> None:
    """Project the states of all lanes, as `gaussopt.compiled.march.common` does; mark lanes that do not settle."""
    for l in range(LANES):
        memory[BEST + l], memory[DONE + l] = 1e300, 0.0
    for _ in range(MOST_CORRECTIONS):
        for l in range(CALLS):
            corrected(memory, l, t, sharp, number)
        left = 0
        for l in range(LANES):
            if memory[DONE + l] == 0.0 and memory[FAILED + l] == 0.0:
                left += 1
        if left == 0:
            break
    for l in range(LANES):
        failed = memory[FAILED + l]
        memory[FAILED + l] = failed if memory[DONE + l] > 0.0 or failed > 0.0 else number


def stages(memory: Vector, start: float, h: float, number: float, limit: float) -> None:
    """Compute all stages of a step, each in a loop over the lanes."""
    for j in range(STAGES):
        t, reach, share = start + C[j] * h, REACH[j] * h, SHARE[j] * h
        if j == 0:
            for l in range(CALLS):
                first(memory, l, t, reach, share, number, limit)
        else:
            for l in range(CALLS):
                stage(memory, l, t, reach, share, number)
    for i in range(SIZE * LANES):
        memory[STATE + i] = memory[TOTAL + i]


def prepare_block(memory: Vector, begin: float, sharp: float) -> None:
    """Compute the constants of all lanes; if steps end with a projection, project the states at the start, too."""
    for l in range(LANES):
        constants(memory, l)
    if PROJECTED:
        all_on_constraints(memory, begin, sharp, 1.0)


def block(
    memory: Vector, begin: float, dt: float, end: float, first_step: int, count: int, every: int, limit: float,
    sharp: float, states: Vector, instants: int, left: int,
) -> None:  # fmt: skip
    """Take steps of the motions in one block; record the state after every step whose number is a multiple of `every`.

    `states` begins with the first motion of the block; `left` is the number of motions in this and later blocks.
    """
    for step in range(first_step, first_step + count):
        start = begin + step * dt
        stop = last_step(begin + (step + 1) * dt, end, dt)
        stages(memory, start, stop - start, step + 1.0, limit)
        if PROJECTED:
            all_on_constraints(memory, stop, sharp, step + 1.0)
        if (step + 1) % every == 0:
            for l in range(LANES):
                row = SIZE * (l * instants + (step + 1) // every)
                if l < left:
                    for i in range(SIZE):
                        states[row + i] = memory[STATE + i * LANES + l]


def march(
    first_block: int, last_block: int, memory: Vector, fresh: int, begin: float, dt: float, end: float,
    first_step: int, count: int, every: int, limit: float, sharp: float, states: Vector, members: int, instants: int,
) -> None:  # fmt: skip
    """Take steps of the blocks first_block, ..., last_block - 1; if `fresh`, prepare them first.

    `states` holds `instants` states of each of `members` motions, one after the other.
    """
    for b in range(first_block, last_block):
        own = memory[LENGTH * b :]
        if fresh:
            prepare_block(own, begin, sharp)
        block(
            own, begin, dt, end, first_step, count, every, limit, sharp, states[SIZE * LANES * b * instants :],
            instants, members - LANES * b,
        )  # fmt: skip
