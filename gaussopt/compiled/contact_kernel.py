"""One compiled loop that takes steps of a phase up to the first step that may contain an event.

All code except the equations is the same for all systems and compiled once; the equations are passed in as
functions of one signature, by their addresses. A step is taken only if every stage is regular (see
`gaussopt.contact.stage_kernel`), its certificate passes, and no watched function can have fallen through zero (see
`gaussopt.integration.events.functions`, for gaps `scanning`). The event loop takes other steps. Contacts are planar.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gaussopt.compiled.contact_equations import flat_size
from gaussopt.compiled.projection_kernel import SurfaceWorkspace, apart, largest, missed, project, surface
from gaussopt.contact.stage_laws import DEFINITE, MONOTONE, NUMBERS, OPEN, StageWorkspace, certified, stage_workspace
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.integration.events.modes import OPEN as APART
from gaussopt.integration.events.modes import SLIDING, STICKING, TOLERANCES, ContactModes
from gaussopt.integration.events.scanning import CURVED
from gaussopt.jit.kernel import kernel
from gaussopt.lcp.pivoting import SOLVED, Active
from gaussopt.linalg.dense import EPS

NOISE, UNSHARED, FED = TOLERANCES.noise, TOLERANCES.unshared, TOLERANCES.fed
"""Tolerances of the event loop, under names that kernels can read."""

MOST_TRIALS = 100
"""Largest number of steps by which an event is located."""

LEVEL = 1e-9
"""Size of an eigenvalue that is a rounding error, see `gaussopt.contact.operator.smallest_eigenvalue`."""

SEEN = 9
"""Number of watched values per contact: value, rate, acceleration and noise of its gap or normal force, the same of its
slip or stick, and the smallest eigenvalue of the operator of all contacts; NaN where unknown."""


Equations = Callable[[float, Vector, Vector, Vector, Vector], None]
Lines = Callable[[Vector, Vector, Active, Matrix, Matrix, Vector, Vector, Vector], tuple[int, int]]
Stage = Callable[[Vector, int, int, int, int, Index, Vector, Active, StageWorkspace, Vector, Vector], tuple[int, int]]


class MarchedMotion(NamedTuple):
    """Data of a motion by an explicit Runge-Kutta method with the tableau A, b, c.

    p, mu : parameters, coefficients of friction; n, m : numbers of coordinates, joint rows; tolerance : of certificates
    """

    p: Vector
    mu: Vector
    n: int
    m: int
    A: Matrix
    b: Vector
    c: Vector
    tolerance: float


class PhaseWorkspace(NamedTuple):
    """The contact modes of a phase, and the work space of `march`: c closed contacts, r of them sticking.

    Attributes
    ----------
    closed, kinds, modes : numbers of closed contacts, (c,); mode of every contact, (k,); sigma and walls, (2 k,)
    active : (c + 2 r,), active set, see `stage`
    memory : StageWorkspace that `stage` uses
    flat, data : step data as the equations write them, and as `stage` reads them
    out, numbers : results of `stage`: the solution, and the numbers of its certificate
    start, slopes : state at the start of the step, (2 n,); slopes of its stages, (stages, 2 n)
    kept : (c + 2 r,), active set at the start of the step
    before, after : (k, SEEN), watched functions at the start and at the end of the step
    surface : SurfaceWorkspace, work space of the projection
    """

    closed: Index
    kinds: Index
    modes: Vector
    active: Active
    memory: StageWorkspace
    flat: Vector
    data: Vector
    out: Vector
    numbers: Vector
    start: Vector
    slopes: Matrix
    kept: Active
    before: Matrix
    after: Matrix
    surface: SurfaceWorkspace


def space(n: int, m: int, m_h: int, stages: int, phase: ContactModes, sharp: float) -> PhaseWorkspace:
    """Make a workspace for n coordinates, m rows of joints, a method with `stages` stages, and a phase in the plane.

    m_h of the rows are holonomic; `sharp` is the tolerance of the projection, 0 if there is none.
    """
    k, c, r = len(phase.wall), len(phase.closed), len(phase.sticking)
    found = PhaseWorkspace(
        np.zeros(c, np.int64), np.zeros(k, np.int64), np.zeros(2 * k), np.zeros(c + 2 * r, np.int64),
        stage_workspace(n, m, 1, c, r), np.zeros(flat_size(n, m, k)), np.zeros(flat_size(n, m, k) - n - k),
        np.zeros(n + m + 2 * c), np.zeros(NUMBERS), np.zeros(2 * n), np.zeros((stages, 2 * n)),
        np.zeros(c + 2 * r, np.int64), np.zeros((k, SEEN)), np.zeros((k, SEEN)), surface(n, m, m_h, c, r, sharp),
    )  # fmt: skip
    enter(found, phase)
    return found


def enter(space: PhaseWorkspace, phase: ContactModes) -> None:
    """Make a workspace that of another phase with as many closed and as many sticking contacts."""
    k, c, r = len(phase.wall), len(phase.closed), len(phase.sticking)
    kinds = [APART] * k
    for i in phase.closed:
        kinds[i] = STICKING if i in phase.sticking else SLIDING
    space.kinds[:], space.modes[:k], space.modes[k:] = kinds, phase.sigma[:, 0], phase.wall
    space.closed[:], space.surface.sticking[:] = phase.closed, sorted(phase.sticking)
    space.active[:] = [1] * (c + r) + [0] * r


def pack(flat: Vector, mu: Vector, n: int, m: int, data: Vector) -> None:
    """Convert the output of the equations to the input of `stage`: Q - h replaces Q and h, mu replaces the gaps."""
    k = len(mu)
    square, rows = n * n, m * n + m
    for i in range(square):
        data[i] = flat[i]
    for i in range(n):
        data[square + i] = flat[square + n + i] - flat[square + i]
    for i in range(rows):
        data[square + n + i] = flat[square + 2 * n + i]
    begin, target = square + 2 * n + rows + 2 * k, square + n + rows
    for i in range(2 * k * n + 3 * k):
        data[target + i] = flat[begin + i]
    for i in range(k):
        data[target + 2 * k * n + 3 * k + i] = mu[i]


def copy(x: Vector, target: Vector, at: int) -> int:
    """Copy x into target from index `at` on; return the index after the last copied entry."""
    for i in range(len(x)):
        target[at + i] = x[i]
    return at + len(x)


def least(space: PhaseWorkspace) -> float:
    """Return `smallest_eigenvalue` of the scaled sym(delassus) of at most two contacts that slide; NaN otherwise."""
    S, c = space.memory.S, len(space.closed)
    if not 1 <= c <= 2 or len(space.active) > c:
        return math.nan
    a, b = S[0, 0], S[c - 1, c - 1]
    value = a if c == 1 else 0.5 * (a + b) - math.sqrt((0.5 * (a - b)) ** 2 + S[0, c - 1] ** 2)
    return 0.0 if abs(value) <= LEVEL else value


def watch(space: PhaseWorkspace, y: Vector, m: int, seen: Matrix) -> None:
    """Write the watched functions of every contact to `seen`, as `PhaseFunctions.sample`; NaN for unknown rates."""
    flat, data, out, closed, kinds, modes = space.flat, space.data, space.out, space.closed, space.kinds, space.modes
    n = len(y) // 2
    k, c = len(kinds), len(closed)
    at_N = n * n + n + m * n + m
    at_T = at_N + k * n + k
    at_v = at_T + k * n + k
    gaps = n * n + 2 * n + m * n + m
    a, lam_N, lam_T = out[:n], out[n + m : n + m + c], out[n + m + c : n + m + 2 * c]
    still, unshared = NOISE * (1.0 + largest(y[:n])), UNSHARED * largest(lam_N)
    moving, smallest = NOISE * (1.0 + largest(y[n:])), least(space)
    for i in range(k):
        seen[i, 0], seen[i, 1], seen[i, 3] = flat[gaps + i], flat[gaps + k + i], still
        w = data[at_N + k * n + i]
        seen[i, 4], seen[i, 5], seen[i, 6], seen[i, 7], seen[i, 8] = 1.0, math.nan, math.nan, 0.0, smallest
        for j in range(n):
            w += data[at_N + i * n + j] * a[j]
        seen[i, 2] = w
    for p in range(c):
        i = closed[p]
        w, s = data[at_N + k * n + i], data[at_T + k * n + i]
        light = slack = 0.0
        for j in range(n):
            normal, tangent, inverse = data[at_N + i * n + j], data[at_T + i * n + j], 1.0 / space.memory.K[j, j]
            w += normal * a[j]
            s += tangent * a[j]
            light += normal**2 * inverse
            slack += tangent**2 * inverse
        seen[i, 0], seen[i, 3] = lam_N[p] - modes[k + i] * w / light, unshared
        seen[i, 1] = seen[i, 2] = math.nan
        mu = data[at_v + k + i]
        if kinds[i] == STICKING:
            seen[i, 4], seen[i, 7] = mu * lam_N[p] - abs(lam_T[p]) - abs(s) / slack, unshared
        elif mu > 0.0:
            seen[i, 4], seen[i, 5], seen[i, 7] = -modes[i] * data[at_v + i], -modes[i] * s, moving


def above(before: Matrix, after: Matrix, i: int, h: float) -> bool:
    """Return whether the gap of contact i stays positive in a step of length h, by the test of `scanning.above`."""
    y0, y1, r0, r1 = before[i, 0], after[i, 0], before[i, 1], after[i, 1]
    lowest, noise = min(min(y0, y1), min(y0 + h / 3.0 * r0, y1 - h / 3.0 * r1)), max(before[i, 3], after[i, 3])
    bend = CURVED * max(max(abs(before[i, 2]), abs(after[i, 2])), abs(r1 - r0) / h) * h
    return bool(lowest > bend * h / 8.0 or (y0 >= -noise and y1 > noise and r0 > 0.5 * bend))


def quiet(before: Matrix, after: Matrix, kinds: Index, h: float) -> bool:
    """Return whether a step of length h contains no event, provided that no angle changes by more than `TURN` in it.

    No open gap may come near zero, no other watched value may be below -noise, and no slip may have a minimum within
    that could lie below -noise: a cubic lies above the least of its Bernstein coefficients.
    """
    for i in range(len(after)):
        if kinds[i] == APART:
            if not above(before, after, i, h):
                return False
        elif not after[i, 0] >= -max(before[i, 3], after[i, 3]):
            return False
        if not after[i, 4] >= -max(before[i, 7], after[i, 7]):
            return False
        if before[i, 5] < 0.0 < after[i, 5]:
            lowest = min(before[i, 4] + h / 3.0 * before[i, 5], after[i, 4] - h / 3.0 * after[i, 5])
            if not lowest >= -max(before[i, 7], after[i, 7]):
                return False
    return True


def write_row(
    about: Equations, t: float, y: Vector, p: Vector, m: int, space: PhaseWorkspace, how: int, row: Vector
) -> None:
    """Write the row of a step, see `march`, with the proof `how`."""
    flat, closed, out, found = space.flat, space.closed, space.out, space.surface.about
    n, k, c, error = len(y) // 2, len(space.kinds), len(closed), space.numbers[0]
    about(t, y[:n], y[n:], p, found)
    at = copy(out[: n + m], row, copy(y, row, 0))
    row[at], row[at + 1] = error, error / (1.0 + space.numbers[5])
    row[at + 2], row[at + 3] = apart(flat, n, m, closed, found), missed(flat, n, m, k, closed, space.surface)
    at = copy(found[:3], row, at + 4) + 1
    row[at - 1] = 1.0 if how < MONOTONE else 0.0
    for i in range(k):
        row[at + i], row[at + k + i] = 0.0, flat[n * n + 2 * n + m * n + m + i]
        row[at + 2 * k + i], row[at + 3 * k + i], row[at + 4 * k + i] = space.kinds[i], 0.0, flat[len(flat) - k + i]
    for j in range(c):
        row[at + closed[j]] = out[n + m + j] * space.modes[k + closed[j]]
        row[at + 3 * k + closed[j]] = out[n + m + c + j]
    row[len(row) - 2], row[len(row) - 1] = friction_power(space, y[n:]), how


def friction_power(space: PhaseWorkspace, v: Vector) -> float:
    """Return the power of friction, if it is fed in by more than rounding errors, otherwise 0."""
    flat, closed, out = space.flat, space.closed, space.out
    k, c = len(space.kinds), len(closed)
    power = size = speed = 0.0
    for i in range(c):
        force = out[len(out) - c + i]
        power += force * flat[len(flat) - k + closed[i]]
        size = max(size, abs(force))
    if power <= FED:
        return 0.0
    for i in range(len(v)):
        speed += v[i] * v[i]
    return power if power > FED * (1.0 + size * math.sqrt(speed)) else 0.0


def may_lose_definiteness(kinds: Index, mu: Vector) -> bool:
    """Return whether friction may make the contact operator indefinite: some contacts slide, and none sticks."""
    sliding, sticking = False, False
    for i in range(len(kinds)):
        sliding = sliding or (kinds[i] != APART and mu[i] > 0.0)
        sticking = sticking or kinds[i] == STICKING
    return sliding and not sticking


def keep(active: Active, kept: Active) -> None:
    """Copy the active set `active` to `kept`."""
    for i in range(len(active)):
        kept[i] = active[i]


def restore(space: PhaseWorkspace, y: Vector) -> None:
    """Return to the state and the active set at the beginning of the step."""
    copy(space.start, y, 0)
    keep(space.kept, space.active)


def next_stage(s: int, h: float, A: Matrix, b: Vector, space: PhaseWorkspace, y: Vector) -> None:
    """Write the state at stage s of a step of length h to y; if s is the number of stages, the state after the step."""
    for i in range(len(y)):
        value = space.start[i]
        for r in range(s):
            value += h * (A[s, r] if s < len(b) else b[r]) * space.slopes[r, i]
        y[i] = value


@kernel
def march(
    step: Equations, about: Equations, lines: Lines, stage: Stage, t: float, origin: float, dt: float, first: int,
    count: int, y: Vector, motion: MarchedMotion, space: PhaseWorkspace, worst: Vector, rows: Matrix, trial: int,
) -> int:  # fmt: skip
    """Take up to `count` steps of a phase, from step number `first` on; return the number of steps taken.

    Step i goes from origin + i dt, the first one from t, to origin + (i + 1) dt by an explicit Runge-Kutta method; y
    (2 n,) holds q and v and is changed in place. `step` and `about` are those of `ContactEquations`; `stage` is called,
    by its address, where `lines` (see `compiled.stage_lines`) return a negative code. The active set in `space` becomes
    that of the last state; worst (5,) keeps maxima of the certificates. Each row of rows (count, width) holds, for the
    end of one step, the values of `Recorder` without t, then `friction_power`, and the proof of uniqueness.

    A trial step (`trial` is 1) of length dt, which is not rounded, may contain events, and is not projected; the active
    set remains that at its start. If `trial` is 2, the row is that of the state itself; 1 is returned if it is sound.
    """
    active, kept, before, after, kinds = space.active, space.kept, space.before, space.after, space.kinds
    closed, modes, memory, p, mu = space.closed, space.modes, space.memory, motion.p, motion.mu
    n, m, b, k, stages = motion.n, motion.m, motion.b, len(motion.mu), len(motion.b)
    done, s, h, begin, end, doubtful = 0, 0, dt, t, origin + (first + 1) * dt, may_lose_definiteness(kinds, mu)
    for evaluation in range(stages * count + 1):
        step(t, y[:n], y[n:], p, space.flat)
        pack(space.flat, mu, n, m, space.data)
        code, how = lines(space.data, modes, active, memory.K, memory.S, memory.fixed, space.out, space.numbers)
        if code < 0:
            code, how = stage(space.data, n, m, k, 1, closed, modes, active, memory, space.out, space.numbers)
        sound = code == SOLVED and how != OPEN and certified(space.numbers, motion.tolerance, worst)
        if s == 0 and sound:
            # This state begins or ends a step, which needs a quick proof that the contact operator is definite.
            watch(space, y, m, after)
            if evaluation and trial == 0:
                sound = (how == DEFINITE or not doubtful) and quiet(before, after, kinds, h)
            if sound and (evaluation or trial == 2):
                write_row(about, t, y, p, m, space, how, rows[done])
                done, begin, end = done + 1, end, origin + (first + done + 2) * dt
                if trial == 1:
                    keep(kept, active)
                if trial != 0:
                    return done
        if not sound:
            if evaluation:
                restore(space, y)
            return done
        if s == 0:
            copy(y, space.start, 0)
            keep(active, kept)
            for i in range(k):
                copy(after[i], before[i], 0)
            h = dt if trial == 1 else end - begin
        for i in range(n):
            space.slopes[s, i], space.slopes[s, n + i] = y[n + i], space.out[i]
        s += 1
        t = begin + motion.c[s] * h if s < stages else end
        next_stage(s, h, motion.A, b, space, y)
        if s == stages:
            s = 0
            if trial == 0 and not project(step, about, t, y, p, k, closed, space.flat, space.surface, True):
                restore(space, y)
                return done
    copy(space.start, y, 0)
    return done


@kernel
def laws(law: Equations, p: Matrix, none: Vector, table: Matrix) -> None:
    """Write the coefficients of all contacts to `table`, one row per row of p; `none` is an empty array."""
    for r in range(len(p)):
        law(0.0, none, none, p[r], table[r])


@kernel
def locate(
    step: Equations, about: Equations, lines: Lines, stage: Stage, origin: float, bracket: Vector, contact: int,
    column: int, level: float, accuracy: float, y: Vector, motion: MarchedMotion, space: PhaseWorkspace, worst: Vector,
    rows: Matrix,
) -> int:  # fmt: skip
    """Find the length of the step from (origin, y) at whose end a watched value falls through `level`.

    `bracket`, (4,), holds two lengths and the values less `level` at the ends of such steps, of different signs; the
    first entry becomes the length found, within `accuracy`, by the method of T. R. Chandrupatla, Adv. Eng. Softw. 28,
    1997, and `rows` holds the end of that step. The watched value is column `column` of `space.after`. Returns the
    number of steps taken; 0 if one is irregular.
    """
    x1, f1, x2, f2, share = bracket[2], bracket[3], bracket[0], bracket[1], 0.5
    for taken in range(1, MOST_TRIALS):
        x = x1 + share * (x2 - x1)
        done = march(step, about, lines, stage, origin, origin, x, 0, 1, y, motion, space, worst, rows, 1)
        if done == 0:
            return 0
        copy(space.start, y, 0)
        f = space.after[contact, column] - level
        x3, f3 = x1, f1
        if f * f1 <= 0.0:
            x3, f3, x2, f2 = x2, f2, x1, f1
        x1, f1 = x, f
        bracket[0] = x1 if abs(f1) < abs(f2) else x2
        least = (accuracy + 2.0 * EPS * bracket[0]) / abs(x2 - x1)
        if least > 0.5 or f1 == 0.0:
            if bracket[0] == x1:
                return taken
            x = bracket[0]
            done = march(step, about, lines, stage, origin, origin, x, 0, 1, y, motion, space, worst, rows, 1)
            return (taken + 1) * done
        xi, phi, share = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2), 0.5
        if phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi:
            share = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
        share = min(max(share, least), 1.0 - least)
    return 0
