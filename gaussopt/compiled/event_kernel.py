"""Regular events in machine code: one contact opens, ceases to slip or begins to slip, and the others keep their modes.

`reach` locates the event that ends a phase, and `settle` finds out whether the contact laws confirm the expected modes
after it. Both follow `gaussopt.integration.events` operation by operation, and leave every other event to it: impacts,
several changes at one instant, contacts that share forces, and modes that are not as expected.
"""

from __future__ import annotations

import math

from gaussopt.compiled.contact_kernel import (
    Equations,
    Lines,
    MarchedMotion,
    PhaseWorkspace,
    Stage,
    above,
    copy,
    locate,
    march,
    may_lose_definiteness,
)
from gaussopt.compiled.projection_kernel import SurfaceWorkspace, largest, project
from gaussopt.contact.activity import RESTING, TOUCHING
from gaussopt.contact.stage_laws import MONOTONE
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.integration.events.modes import OPEN, SLIDING, STICKING, TOLERANCES
from gaussopt.integration.events.scanning import CURVED
from gaussopt.jit.kernel import kernel

VANISHING, MOBILE = TOLERANCES.vanishing, TOLERANCES.mobile
"""Tolerances of the event loop, under names that kernels can read."""

NEVER, FALLS, UNCLEAR = 0, 1, 2
"""Whether a watched function falls through zero within a step: no; yes, and only once; or a search must tell."""


def falls(space: PhaseWorkspace, i: int, column: int, h: float) -> int:
    """Return whether a watched function of contact i falls through zero in a step of length h, as `crossings.bracket`.

    A gap falls through zero once if its curvature, by the rule of `scanning.above`, cannot make it rise in between.

    The function has its value, rate and noise in the columns `column`, `column` + 1 and `column` + 3.
    """
    before, after = space.before, space.after
    y0, y1, noise = before[i, column], after[i, column], max(before[i, column + 3], after[i, column + 3])
    if column == 0 and space.kinds[i] == OPEN:
        if above(before, after, i, h):
            return NEVER
        rates = before[i, 1] + after[i, 1]
        bend = CURVED * max(max(abs(before[i, 2]), abs(after[i, 2])), abs(after[i, 1] - before[i, 1]) / h) * h
        return FALLS if y0 > noise and y1 < -noise and rates + bend < 0.0 else UNCLEAR
    if column == 0 or space.kinds[i] != SLIDING or after[i, 5] != after[i, 5]:  # NaN where there is no rate
        return FALLS if y1 < -noise else NEVER if y1 >= -noise else UNCLEAR
    r0, r1, start = before[i, 5], after[i, 5], max(y0, 0.0)
    if y1 >= -noise and not (r0 < 0.0 < r1 and min(y0 + h * r0 / 3.0, y1 - h * r1 / 3.0) < -noise):
        return NEVER
    if start <= noise and r0 > 0.0:
        return UNCLEAR
    steepest = max(max(h * r0, 3.0 * (y1 - start) - h * (r0 + r1)), h * r1)
    return FALLS if y1 < -noise and steepest < 0.0 else UNCLEAR


@kernel
def reach(
    step: Equations, about: Equations, lines: Lines, stage: Stage, t: float, h: float, accuracy: float, y: Vector,
    motion: MarchedMotion, space: PhaseWorkspace, worst: Vector, rows: Matrix, found: Vector,
) -> int:  # fmt: skip
    """Take the step of length h from (t, y), or the part of it up to the event within; return the number of steps.

    Return 0 if a step is irregular, or its event is not that of a single function that falls through zero once.
    `found`, (7 + 2 n,), receives the time from t to the event as its first entry, then from entry 4 on its contact, its
    column (see `falls`), and the friction of the contact and the state at the end of the step; `rows` receives the row
    of the event.
    """
    if march(step, about, lines, stage, t, t, h, 0, 1, y, motion, space, worst, rows, 1) == 0:
        return 0
    hits, contact, column, sticking = 0, 0, 0, len(space.surface.sticking)
    for i in range(len(space.kinds)):
        for part in range(2):
            how = falls(space, i, 4 * part, h)
            if how == UNCLEAR:
                return 0
            if how == FALLS:
                hits, contact, column = hits + 1, i, 4 * part
    if hits != 1 or (may_lose_definiteness(space.kinds, motion.mu) and not space.after[0, 8] > 0.0):
        return 0
    found[0], found[1], found[2], found[3] = 0.0, space.before[contact, column], h, space.after[contact, column]
    found[4], found[5] = contact, column
    if not found[1] > 0.0:
        return 0
    for place in range(len(space.closed)):
        if space.closed[place] == contact:
            found[6] = space.out[len(space.out) - len(space.closed) + place]
    # Contacts that stick together share friction, and one without friction does not show the direction of its slip.
    if column > 0 and space.kinds[contact] == STICKING and (sticking > 1 or found[6] == 0.0):
        return 0
    copy(y, found, 7)
    copy(space.start, y, 0)
    taken = locate(
        step, about, lines, stage, t, found, contact, column, 0.0, accuracy, y, motion, space, worst, rows
    )  # fmt: skip
    return taken + 1 if taken > 0 and 0.0 < found[0] < h else 0


def stays(space: PhaseWorkspace, y: Vector, contact: int) -> bool:
    """Return whether all contacts but `contact` keep their modes by their gaps, gap rates and slips at a state."""
    flat, n, k = space.flat, len(y) // 2, len(space.kinds)
    gap, rest, last = TOUCHING * (1.0 + largest(y[:n])), RESTING * (1.0 + largest(y[n:])), len(flat) - k
    for i in range(k):
        if space.kinds[i] == OPEN:
            if not flat[last - 2 * k * n - 4 * k + i] > gap:
                return False
        else:
            slip = flat[last + i] if space.kinds[i] == STICKING and i != contact else 0.0
            if not (abs(flat[last - 2 * k * n - 3 * k + i]) <= rest and abs(slip) <= rest):
                return False
    return True


def through(data: Vector, first: int, bias: float, n: int, a: Vector, K: Matrix) -> tuple[float, float]:
    """Return bias + row a, and row D^-1 row^T with the diagonal D of K, for the row of n entries from data[first]."""
    rate, light = bias, 0.0
    for j in range(n):
        row = data[first + j]
        rate += row * a[j]
        light += row * row / K[j, j]
    return rate, light


def confirmed(space: PhaseWorkspace, n: int, m: int, contact: int) -> float:
    """Return 1.0 if the solution of a phase keeps its contacts closed, and those that stick at rest; otherwise 0.0.

    If only `contact` begins to slip, return the direction of its friction, doubled: 2.0 or -2.0. The tests are those of
    `Transitions._read_modes`, for a regular M.
    """
    data, out, closed, sticking, K = space.data, space.out, space.closed, space.surface.sticking, space.memory.K
    k, c = len(space.kinds), len(closed)
    at_N = n * n + n + m * n + m
    at_T = at_N + k * n + k
    moved = most = 0.0
    for j in range(n):
        moved += out[j] * out[j] * K[j, j]
    for place in range(c):
        most = max(most, out[n + m + place])
    moved = math.sqrt(moved)
    for place in range(c):
        i = closed[place]
        bias = data[at_N + k * n + i]
        w, light = through(data, at_N + i * n, bias, n, out, K)
        mass, size = 1.0 / light, math.sqrt(light) * moved + abs(bias)
        if out[n + m + place] - mass * space.modes[k + i] * w < -VANISHING * (mass * size + most):
            return 0.0
    verdict = 1.0 if space.numbers[11] == 0.0 else 0.0
    for place in range(len(sticking)):
        i = sticking[place]
        bias = data[at_T + k * n + i]
        s, light = through(data, at_T + i * n, bias, n, out, K)
        size = math.sqrt(light) * moved + abs(bias) + data[at_T + k * n + 2 * k + i] * most * light
        # Where joints hold the contact, its slip must not be projected, see `Transitions.project`.
        free = light > 0.0 if m == 0 else space.memory.norm[c + place] > MOBILE * math.sqrt(light)
        if not free or not (abs(s) <= VANISHING * size or (i == contact and s * s > 0.0)):
            return 0.0
        if not abs(s) <= VANISHING * size and verdict > 0.0:
            verdict = -2.0 if s > 0.0 else 2.0
    return verdict


def reverses(
    step: Equations, about: Equations, lines: Lines, stage: Stage, t: float, y: Vector, contact: int,
    motion: MarchedMotion, space: PhaseWorkspace, worst: Vector, rows: Matrix,
) -> bool:  # fmt: skip
    """Solve the state y with the other direction of friction at a contact; if this fails, keep the former one."""
    last, c = len(rows[0]) - 1, len(space.closed)
    space.modes[contact] = -space.modes[contact]
    for i in range(len(space.active)):
        space.active[i] = 1 if i < c else 0
    solved = march(step, about, lines, stage, t, t, 0.0, 0, 0, y, motion, space, worst, rows, 2) > 0
    if solved and rows[0, last] < MONOTONE and rows[0, last - 1] <= 0.0:
        return True
    space.modes[contact] = -space.modes[contact]
    return False


@kernel
def settle(
    step: Equations, about: Equations, lines: Lines, stage: Stage, t: float, y: Vector, contact: int,
    motion: MarchedMotion, old: PhaseWorkspace, new: PhaseWorkspace, held: SurfaceWorkspace, left: SurfaceWorkspace,
    on: SurfaceWorkspace, worst: Vector, rows: Matrix,
) -> int:  # fmt: skip
    """Project the state y at the event of a contact, and solve it in the modes of `new`; `rows` receives its row.

    Return the number of solved states, 0 if the contact laws do not confirm these modes. `held` and `left` are the
    surfaces of the contacts closed before and after the event, `on` that of the contacts closed and sticking after it;
    `lines` must leave every stage to `stage`, the work space of which is read. If the contact does not come to rest but
    slips back, and no other contact sticks, the state is solved in the modes of `old` with the other direction of
    friction, which replaces the former one; the number is negative then.
    """
    n, m, k, p, c = motion.n, motion.m, len(motion.mu), motion.p, len(new.closed)
    if m + len(old.closed) > 0 and not project(step, about, t, y, p, k, old.closed, old.flat, held, True):
        return 0
    step(t, y[:n], y[n:], p, old.flat)
    if not stays(old, y, contact):
        return 0
    if c < len(old.closed) and m + c > 0 and not project(step, about, t, y, p, k, new.closed, new.flat, left, True):
        return 0
    last, solved = len(rows[0]) - 1, 0
    for attempt in range(2):
        if march(step, about, lines, stage, t, t, 0.0, 0, 0, y, motion, new, worst, rows, 2) == 0:
            return 0
        solved += 1
        if not (rows[0, last] < MONOTONE and rows[0, last - 1] <= 0.0):
            return 0
        if attempt == 0:
            verdict = confirmed(new, n, m, contact) if c > 0 else 1.0
            if abs(verdict) == 2.0 and len(new.surface.sticking) == 1 and verdict * old.modes[contact] < 0.0:
                return -2 if reverses(step, about, lines, stage, t, y, contact, motion, old, worst, rows) else 0
            if verdict != 1.0:
                return 0
            if len(new.surface.sticking) == 0:
                return solved
            copy(y, new.start, 0)
            if not project(step, about, t, y, p, k, new.closed, new.flat, on, True):
                return 0
            moved = 0.0
            for i in range(2 * n):
                moved = max(moved, abs(y[i] - new.start[i]))
            if moved == 0.0:
                return solved
    return solved


@kernel
def projected(
    step: Equations, about: Equations, t: float, y: Vector, p: Vector, k: int, closed: Index, flat: Vector,
    on: SurfaceWorkspace, rates: bool,
) -> bool:  # fmt: skip
    """Project a state as `gaussopt.compiled.projection_kernel.project` does, which the kernels of events call, too."""
    return project(step, about, t, y, p, k, closed, flat, on, rates)
