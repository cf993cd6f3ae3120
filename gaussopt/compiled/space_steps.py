"""A compiled loop over Moreau-Jean steps in space, each solved and certified by the kernel of stages.

The steps are those of `gaussopt.integration.advances.moreau_jean`, with angular velocities w as unknowns, v = T(q) w,
as in `gaussopt.integration.rotations`. As in `gaussopt.compiled.contact_kernel`, only the equations belong to a system;
they and the kernel of stages are called by their addresses. The loop ends before a step in which other contacts take
part, or that is not regular.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gaussopt.compiled.contact_kernel import Equations, Stage, copy
from gaussopt.compiled.march.landing import landed
from gaussopt.compiled.projection_kernel import largest
from gaussopt.contact.activity import TOUCHING
from gaussopt.contact.stage_laws import MONOTONE, NUMBERS, OPEN, StageWorkspace, certified, stage_workspace
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.core.endings import last_step
from gaussopt.integration.advances.moreau_jean import MOST_FORCES, SETTLED, THETA
from gaussopt.integration.events.modes import TOLERANCES
from gaussopt.jit.kernel import kernel
from gaussopt.lcp.pivoting import SOLVED, Active, Indices

GAIN = TOLERANCES.energy
"""A tolerance under a name that kernels can read."""


class SpaceSteps(NamedTuple):
    """Sizes and work space of `march_in_space`: n coordinates, w velocities, k contacts, c of which take part.

    Attributes
    ----------
    m : number of rows of joints
    places, columns, kept, rows : the coordinates of each quaternion, (b, 4), and its columns of T, (b, 3); the
        coordinate of each other column, (w,); the rows of joints other than e . e = 1
    closed, modes, active, memory, data, out, numbers : arguments of `stage`
    flat, said : results of the equations
    T, turned, product : (n, w), T at the start, and at another state; (n w,), M T there
    mass, other : (w, w), T^T M T at the start, and at another state
    force, pull : (w,), force of the step, and at another state
    state, mean, end : (2 n,), state at the start; positions and rates at the weighted state, and at the end of the step
    dv, middle, bias, rest : (n,), change of the velocity, mean velocity, T' w, and working memory
    push, kept_idle : (k,), normal impulses, and `idle` before the step
    """

    m: int
    places: Indices
    columns: Indices
    kept: Index
    rows: Index
    closed: Index
    modes: Vector
    active: Active
    memory: StageWorkspace
    data: Vector
    out: Vector
    numbers: Vector
    flat: Vector
    said: Vector
    T: Matrix
    turned: Matrix
    product: Vector
    mass: Matrix
    other: Matrix
    force: Vector
    pull: Vector
    state: Vector
    mean: Vector
    end: Vector
    dv: Vector
    middle: Vector
    bias: Vector
    rest: Vector
    push: Vector
    kept_idle: Vector


def space_of(
    quaternions: Sequence[tuple[int, Sequence[int]]], sizes: tuple[int, int, int, int], closed: Index, resting: int
) -> SpaceSteps:
    """Return a work space for n coordinates, m rows of joints, m_h of them holonomic, and k contacts.

    `quaternions` are those of the system, `resting` is the number of the `closed` contacts with friction.
    """
    n, m, m_h, k = sizes
    places = np.array([e for _, e in quaternions], dtype=np.int64).reshape(-1, 4)
    kept = np.setdiff1d(np.arange(n), places[:, 0])
    rows = np.setdiff1d(np.arange(m), [row for row, _ in quaternions])
    w, c = len(kept), len(closed)
    modes = np.concatenate((np.zeros(2 * k), np.ones(k)))
    return SpaceSteps(
        m, places, np.searchsorted(kept, places[:, 1:]), kept, rows, closed, modes,
        np.zeros(c + 2 * resting, np.int64), stage_workspace(w, len(rows), 2, c, resting),
        np.zeros((w + len(rows) + 3 * k) * (w + 1) + 3 * k), np.zeros(w + len(rows) + 3 * c), np.zeros(NUMBERS),
        np.zeros(n * n + 2 * n + m * (n + 1) + k * (3 * n + 7)), np.zeros(3 + m_h + m), np.zeros((n, w)),
        np.zeros((n, w)), np.zeros(n * w), np.zeros((w, w)), np.zeros((w, w)), np.zeros(w), np.zeros(w),
        np.zeros(2 * n), np.zeros(2 * n), np.zeros(2 * n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n),
        np.zeros(k), np.zeros(k),
    )  # fmt: skip


def turn(q: Vector, T: Matrix, space: SpaceSteps) -> None:
    """Write T(q)."""
    for c in range(len(space.kept)):
        for i in range(len(T)):
            T[i, c] = 1.0 if i == space.kept[c] else 0.0
    for b in range(len(space.places)):
        at, to = space.places[b], space.columns[b]
        e0, e1, e2, e3 = 0.5 * q[at[0]], 0.5 * q[at[1]], 0.5 * q[at[2]], 0.5 * q[at[3]]
        T[at[0], to[0]], T[at[1], to[0]], T[at[2], to[0]], T[at[3], to[0]] = -e1, e0, -e3, e2
        T[at[0], to[1]], T[at[1], to[1]], T[at[2], to[1]], T[at[3], to[1]] = -e2, e3, e0, -e1
        T[at[0], to[2]], T[at[1], to[2]], T[at[2], to[2]], T[at[3], to[2]] = -e3, -e2, e1, e0


def bias(q: Vector, v: Vector, space: SpaceSteps) -> None:
    """Write T' w."""
    for i in range(len(space.bias)):
        space.bias[i] = 0.0
    for b in range(len(space.places)):
        at, square = space.places[b], 0.0
        for e in range(4):
            square += v[at[e]] * v[at[e]]
        for e in range(4):
            space.bias[at[e]] = -square * q[at[e]]


def moved(y: Vector, v: Vector, h: float, to: Vector, space: SpaceSteps) -> None:
    """Write positions and rates that follow from the positions in y and the velocity v after a time h at constant w."""
    n = len(v)
    for i in range(n):
        to[i], to[n + i] = y[i] + h * v[i], v[i]
    for b in range(len(space.places)):
        at, size, along, square = space.places[b], 0.0, 0.0, 0.0
        for e in range(4):
            size += y[at[e]] * y[at[e]]
        size = math.sqrt(size)
        for e in range(4):
            along += y[at[e]] / size * v[at[e]]
        for e in range(4):
            square += (v[at[e]] - along * y[at[e]] / size) ** 2
        speed = math.sqrt(square)
        c, s = math.cos(h * speed), math.sin(h * speed) / speed if speed > 0.0 else h
        for e in range(4):
            place = y[at[e]] / size
            rate = v[at[e]] - along * place
            to[at[e]], to[n + at[e]] = c * place + s * rate, c * rate - s * square * place


def reduced(q: Vector, v: Vector, T: Matrix, mass: Matrix, force: Vector, space: SpaceSteps) -> None:
    """Write T, T^T M T and T^T (Q - h - M T' w) at the state whose step data are in `flat`."""
    flat, X, rest, n, w = space.flat, space.product, space.rest, len(v), len(force)
    turn(q, T, space)
    bias(q, v, space)
    for i in range(n):
        rest[i] = flat[n * n + n + i] - flat[n * n + i]
        for j in range(n):
            rest[i] -= flat[i * n + j] * space.bias[j]
    times(flat, 0, n, T, X, 0)
    for c in range(w):
        force[c] = 0.0
        for i in range(n):
            force[c] += T[i, c] * rest[i]
        for e in range(c + 1):
            value = 0.0
            for i in range(n):
                value += T[i, c] * X[i * w + e] + T[i, e] * X[i * w + c]
            mass[c, e] = mass[e, c] = 0.5 * value


def times(flat: Vector, begin: int, rows: int, T: Matrix, to: Vector, at: int) -> int:
    """Write X T for the rows of X that begin at flat[begin] to `to` from `at` on; return the index behind them."""
    n, w = len(T), len(T[0])
    for r in range(rows):
        for c in range(w):
            value = 0.0
            for i in range(n):
                value += flat[begin + r * n + i] * T[i, c]
            to[at + r * w + c] = value
    return at + rows * w


def opened(h: float, law: Vector, space: SpaceSteps) -> bool:
    """Write the data of the step from `state` but for its force; return whether the `closed` contacts take part."""
    flat, said, data, n, w, k = space.flat, space.said, space.data, len(space.dv), len(space.force), len(law) // 3
    m = space.m
    gaps, found, near = n * n + 2 * n + m * (n + 1), 0, TOUCHING * (1.0 + largest(space.state[:n]))
    for i in range(k):
        if flat[gaps + i] + 0.5 * h * flat[gaps + k + i] <= near:
            if found == len(space.closed) or space.closed[found] != i:
                return False
            found += 1
    if found < len(space.closed):
        return False
    reduced(space.state[:n], space.state[n:], space.T, space.mass, space.force, space)
    for i in range(w):
        for j in range(w):
            data[i * w + j] = space.mass[i, j]
    at = w * w + w
    for r in range(len(space.rows)):
        at = times(flat, n * n + 2 * n + space.rows[r] * n, 1, space.T, data, at)
    for r in range(len(space.rows)):
        data[at + r] = -said[len(said) - m + space.rows[r]]
    at = times(flat, gaps + 2 * k, k, space.T, data, at + len(space.rows))
    for i in range(k):
        data[at + i] = (1.0 + law[k + i]) * flat[gaps + k + i]
    at = times(flat, gaps + 2 * k + k * n + k, 2 * k, space.T, data, at + k)
    for i in range(2 * k):
        data[at + i], data[at + 2 * k + i] = (1.0 + law[2 * k + i // 2]) * flat[len(flat) - 2 * k + i], 0.0
    for i in range(k):
        data[at + 4 * k + i] = law[i]
    return True


def settled_force(step: Equations, stage: Stage, t: float, h: float, p: Vector, space: SpaceSteps) -> int:
    """Solve the step until the force at the weighted state is the assumed one; return the proof, or `OPEN`."""
    data, out, n, w = space.data, space.out, len(space.dv), len(space.force)
    mean, dv, middle = space.mean, space.dv, space.middle
    for _ in range(MOST_FORCES):
        for i in range(w):
            data[w * w + i] = h * space.force[i]
        code, how = stage(
            data, w, len(space.rows), len(space.push), 2, space.closed, space.modes, space.active, space.memory, out,
            space.numbers,
        )  # fmt: skip
        if code != SOLVED:
            return OPEN
        for i in range(n):
            dv[i] = 0.0
            for c in range(w):
                dv[i] += space.T[i, c] * out[c]
            middle[i] = space.state[n + i] + THETA * dv[i]
        moved(space.state, middle, THETA * h, mean, space)
        step(t + THETA * h, mean[:n], mean[n:], p, space.flat)
        reduced(mean[:n], mean[n:], space.turned, space.other, space.pull, space)
        change, size = 0.0, 0.0
        for i in range(w):
            for j in range(w):
                space.pull[i] += (space.mass[i, j] - space.other[i, j]) * out[j] / h
            change, size = max(change, abs(space.pull[i] - space.force[i])), max(size, abs(space.pull[i]))
        if change <= SETTLED * (1.0 + size):
            return how
        copy(space.pull, space.force, 0)
    return OPEN


def carried(y: Vector, space: SpaceSteps) -> None:
    """Write the state at the end: positions of `end`, and the velocity after the step with its angular velocities."""
    n = len(space.dv)
    for i in range(n):
        space.rest[i] = space.state[n + i] + space.dv[i]
        y[i], y[n + i] = space.end[i], space.rest[i]
    turn(y[:n], space.turned, space)
    for b in range(len(space.places)):
        at, to = space.places[b], space.columns[b]
        for e in range(4):
            y[n + at[e]] = 0.0
        for j in range(3):
            omega = 0.0
            for e in range(4):
                omega += 4.0 * space.T[at[e], to[j]] * space.rest[at[e]]
            for e in range(4):
                y[n + at[e]] += space.turned[at[e], to[j]] * omega


def fed(law: Vector, space: SpaceSteps) -> bool:
    """Return whether the contacts have added energy in the step, by the data of the step and its impulses."""
    data, out, w, k, c, work = space.data, space.out, len(space.force), len(law) // 3, len(space.closed), 0.0
    normals = w * w + w + len(space.rows) * (w + 1)
    tangents, at = normals + k * (w + 1), w + len(space.rows)
    for place in range(c):
        i = space.closed[place]
        rate = data[normals + k * w + i] / (1.0 + law[k + i])
        for j in range(w):
            rate += 0.5 * data[normals + i * w + j] * out[j]
        work += out[at + place] * rate
        for e in range(2 * i, 2 * i + 2):
            slip = data[tangents + 2 * k * w + e] / (1.0 + law[2 * k + i])
            for j in range(w):
                slip += 0.5 * data[tangents + e * w + j] * out[j]
            work += out[at + c + 2 * place + e - 2 * i] * slip
    return bool(work > GAIN * (1.0 + space.said[0]))


def write_step(
    about: Equations, stop: float, h: float, y: Vector, p: Vector, how: int, space: SpaceSteps, row: Vector
) -> None:
    """Write the row of a step behind its number, see `march_in_space`; `flat` holds the step data at its end."""
    n, w, k, numbers, flat = len(space.dv), len(space.force), len(space.push), space.numbers, space.flat
    gaps = n * n + 2 * n + space.m * (n + 1)
    at = copy(space.end[n:], row, copy(space.middle, row, copy(y, row, copy(space.state, row, 1))))
    row[at], row[at + 1], row[at + 2] = 1.0, numbers[0], numbers[0] / (1.0 + numbers[5])
    row[at + 3] = 1.0 if how < MONOTONE else 0.0
    bias(space.state[:n], space.state[n:], space)
    for i in range(n):
        row[at + 4 + i] = space.dv[i] + h * space.bias[i]
    at += 4 + n
    for r in range(space.m):
        row[at + r] = 0.0
    for r in range(len(space.rows)):
        row[at + space.rows[r]] = space.out[w + r]
    at = copy(space.out[w + len(space.rows) :], row, at + space.m)
    at = copy(flat[len(flat) - 2 * k :], row, copy(flat[gaps : gaps + 2 * k], row, at))
    about(stop, y[:n], y[n:], p, row[at : len(row) - 1])


@kernel
def march_in_space(
    step: Equations, about: Equations, stage: Stage, origin: float, dt: float, end: float, first: int, count: int,
    y: Vector, p: Vector, law: Vector, tolerance: float, bits: float, space: SpaceSteps, idle: Vector, events: Vector,
    worst: Vector, trace: Matrix,
) -> int:  # fmt: skip
    """Take the steps first, ..., first + count - 1; return the number taken before an irregular one.

    y, idle and events are those of `gaussopt.compiled.march.moreau_jean.march`. Each row of `trace` holds the number of
    the step; both states; mean velocity, and the rates at the end that belong to it; the numbers that
    `gaussopt.compiled.step_certificates.columns_of` reads; and `bits`.
    """
    n, w, k, mean = len(y) // 2, len(space.force), len(idle), space.middle
    for number in range(first, first + count):
        t, stop = origin + number * dt, last_step(origin + (number + 1) * dt, end, dt)
        copy(y, space.state, 0)
        copy(idle, space.kept_idle, 0)
        step(t, y[:n], y[n:], p, space.flat)
        about(t, y[:n], y[n:], p, space.said)
        if not opened(stop - t, law, space):
            return number - first
        how = settled_force(step, stage, t, stop - t, p, space)
        if how == OPEN or not certified(space.numbers, tolerance, worst):
            return number - first
        for i in range(k):
            space.push[i] = 0.0
        for place in range(len(space.closed)):
            space.push[space.closed[place]] = space.out[w + len(space.rows) + place]
        noted = events[0]
        if landed(space.push, 1, k, number, idle, events) and fed(law, space):
            copy(space.kept_idle, idle, 0)
            events[0] = noted
            return number - first
        moved(space.state, mean, stop - t, space.end, space)
        carried(y, space)
        row = trace[number - first]
        row[0], row[len(row) - 1] = number, bits
        step(stop, y[:n], y[n:], p, space.flat)
        write_step(about, stop, stop - t, y, p, how, space, row)
    return count
