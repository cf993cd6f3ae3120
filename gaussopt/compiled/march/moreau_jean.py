"""Moreau-Jean steps with few contacts in the plane, as kernels for the processor and for a graphics card.

A step is that of `gaussopt.integration.advances.moreau_jean`, by the same force at the weighted state and the same rule
for the end of its iteration. With M = L L^T the unknown is x = L^T dv, in which the mass norm is the 2-norm: rows of
joints are made orthonormal, and are projected out of the rows of the contacts. The modes of the contacts that may close
(open, stick, slip in two directions) are few, so that all of them are tried: if every mode has positive pivots, the
determinants of all modes have one sign, and the solution exists and is unique for every force. The mode whose solution
obeys the contact laws best is taken. Residuals of the equations of motion, of the joints and of the laws are computed
from the step data of the model. A step for which any of this is not certain is left to the caller.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from numpy import zeros

from gaussopt.compiled.march.common import copied, largest
from gaussopt.core.arrays import Vector
from gaussopt.core.endings import last_step
from gaussopt.jit.kernel import inlined

if TYPE_CHECKING:
    from gaussopt.compiled.march.given import (
        ANGLES,
        CODES,
        CONSTANTS,
        FAILED,
        FLAT,
        K,
        LAW,
        LENGTH,
        M,
        N,
        PERIODIC,
        ROW,
        ROWS,
        SIZE,
        WORK,
        angles,
        coefficients,
        force,
        step,
        velocity,
    )

THETA = 0.5
"""The weight theta of the end of the step; with 1/2, linear systems conserve their energy."""

SETTLED = 1e-14
"""Change of the force, relative to its size, at which the iteration on f_theta ends."""

MOST_FORCES = 100
"""Largest number of forces of that iteration."""

PENETRATED = 1e-4
"""Largest depth inside an obstacle, relative to 1 + max |q|, at which a motion may start."""

LIFTED = 3
"""Number of steps without a normal force after which a contact counts as lifted off."""

TURN = 0.5
"""Largest change of an angle within a step, rad, for which no contact can enter and leave its obstacle within it."""

CAPPED = 32.0
"""Largest change of an angle in a step, rad, that is counted where its function is not periodic and levels off."""

MOST_ACTIVE = 3
"""Largest number of contacts that may close in a step; each of them multiplies the number of modes by four."""

MOVED = 1e-6
"""Length of a row in the mass norm, relative to that without joints, from which it is surely moved by its force."""

CLEAR = 1e-6
"""Pivot of a mode in the unit of the mass norm that is surely positive."""

KEPT = 1e-12
"""Relative residual of the laws up to which the mode of the previous force is kept."""

LAWFUL = 1e-11
"""Relative residual of the laws that counts as a rounding error."""

GAIN = 1e-10
"""Energy added by contacts in a landing, relative to 1 + the kinetic energy, that is reported."""


@inlined
def factorised(s: Vector, L: Vector) -> bool:
    """Write the factor L of M = L L^T; tell whether M is positive definite."""
    for i in range(N):
        for j in range(i + 1):
            value = s[i * N + j]
            for k in range(j):
                value -= L[i * N + k] * L[j * N + k]
            if j < i:
                L[i * N + j] = value / L[j * N + j]
            elif value > 1e-13 * s[i * N + i]:
                L[i * N + i] = sqrt(value)
            else:
                return False
    return True


@inlined
def scaled(L: Vector, b: Vector, x: Vector) -> None:
    """Write L^-1 b to x."""
    for i in range(N):
        value = b[i]
        for k in range(i):
            value -= L[i * N + k] * x[k]
        x[i] = value / L[i * N + i]


@inlined
def moving(L: Vector, x: Vector, dv: Vector) -> None:
    """Write L^-T x to dv."""
    for e in range(N):
        i = N - 1 - e
        value = x[i]
        for k in range(i + 1, N):
            value -= L[k * N + i] * dv[k]
        dv[i] = value / L[i * N + i]


@inlined
def product(x: Vector, y: Vector) -> float:
    """Return x . y of N entries."""
    value = 0.0
    for i in range(N):
        value += x[i] * y[i]
    return value


@inlined
def projected(Y: Vector, rows: int, y: Vector, parts: Vector) -> float:
    """Take the parts along the first `rows` rows of Y, which are orthonormal, out of y; return the rest's length.

    The parts are written to `parts`; the second pass removes the rounding errors of the first.
    """
    for r in range(rows):
        parts[r] = 0.0
    for _ in range(2):
        for r in range(rows):
            part = product(Y[r * N :], y)
            parts[r] += part
            for i in range(N):
                y[i] -= part * Y[r * N + i]
    return sqrt(product(y, y))


@inlined
def rows_of(s: Vector, L: Vector, active: Vector, law: Vector, Y: Vector, C: Vector, own: Vector) -> bool:
    """Write the rows of joints, then normal and tangent of each contact that may close, times L^-T.

    Joints become orthonormal rows, with the triangular C for which C times them are the rows themselves; rows of
    contacts are orthogonal to them and have the length 1, with their true lengths in `own`, the friction coefficients
    in this unit behind them. Return False if joints depend on each other or a row is hardly moved by its own force.
    """
    at_J, at_N = N * N + 2 * N, N * N + 2 * N + M * N + M + 2 * K
    at_T = at_N + K * N + K
    for r in range(M):
        y = Y[r * N :]
        scaled(L, s[at_J + r * N :], y)
        bare = sqrt(product(y, y))
        length = projected(Y, r, y, C[r * M :])
        if not length > MOVED * bare:
            return False
        C[r * M + r] = length
        for i in range(N):
            y[i] /= length
    for c in range(K):
        own[2 * c], own[2 * c + 1], own[2 * K + c] = 1.0, 1.0, 0.0
        if active[c] > 0.0:
            for e in range(2):
                y = Y[(M + 2 * c + e) * N :]
                scaled(L, s[(at_N if e == 0 else at_T) + c * N :], y)
                bare = sqrt(product(y, y))
                length = projected(Y, M, y, own[3 * K :])
                if length > MOVED * bare:
                    own[2 * c + e] = length
                elif e == 0 or law[c] > 0.0:
                    return False
                for i in range(N):
                    y[i] /= own[2 * c + e]
            own[2 * K + c] = law[c] * own[2 * c + 1] / own[2 * c]
    return True


@inlined
def natural(B: Vector, b: Vector, mu: Vector, active: Vector, z: Vector) -> float:
    """Return the largest entry of the natural map of the laws, relative to the largest entry of b."""
    worst, size = 0.0, 0.0
    for c in range(K):
        if active[c] > 0.0:
            normal, tangent = b[2 * c], b[2 * c + 1]
            size = max(size, max(abs(normal), abs(tangent)))
            for j in range(2 * K):
                normal += B[2 * c * 2 * K + j] * z[j]
                tangent += B[(2 * c + 1) * 2 * K + j] * z[j]
            bound = mu[c] * max(z[2 * c], 0.0)
            pushed = z[2 * c + 1] - min(max(z[2 * c + 1] - tangent, -bound), bound)
            # The sum of both keeps a NaN, which a maximum would lose.
            worst = max(worst, abs(min(z[2 * c], normal))) + 0.0 * normal
            worst = max(worst, abs(pushed)) + 0.0 * pushed
    return worst / size if size > 0.0 else worst


@inlined
def solve_mode(code: int, B: Vector, b: Vector, mu: Vector, T: Vector, z: Vector) -> float:
    """Write the forces z of the modes of all contacts, whose digits `code` has; return the least pivot.

    Digits to the base 4: open, stick, slip along the tangent, slip against it.
    """
    width, rest = 2 * K + 1, code
    for c in range(K):
        mode = rest % 4
        rest = rest // 4
        for e in range(2):
            r = 2 * c + e
            moved = mode > 0 if e == 0 else mode == 1
            for j in range(2 * K):
                T[r * width + j] = B[r * 2 * K + j] if moved else 0.0
            T[r * width + 2 * K] = -b[r] if moved else 0.0
            if not moved:
                T[r * width + r] = 1.0
        if mode > 1:
            T[(2 * c + 1) * width + 2 * c] = mu[c] if mode == 2 else -mu[c]
    least = 1.0
    for i in range(2 * K):
        pivot = T[i * width + i]
        least = min(least, pivot)
        for a in range(i + 1, 2 * K):
            factor = T[a * width + i] / pivot
            for j in range(i + 1, width):
                T[a * width + j] -= factor * T[i * width + j]
    for e in range(2 * K):
        i = 2 * K - 1 - e
        value = T[i * width + 2 * K]
        for j in range(i + 1, 2 * K):
            value -= T[i * width + j] * z[j]
        z[i] = value / T[i * width + i]
    return least


@inlined
def possible(code: int, mu: Vector, active: Vector) -> bool:
    """Tell whether a contact that is not active is open in this mode, and one without friction has the mode 0 or 2."""
    rest, fits = code, True
    for c in range(K):
        mode = rest % 4
        rest = rest // 4
        if mode > 0 and active[c] == 0.0:
            fits = False
        if (mode == 1 or mode == 3) and not mu[c] > 0.0:
            fits = False
    return fits


@inlined
def best_mode(B: Vector, b: Vector, mu: Vector, active: Vector, T: Vector, z: Vector) -> int:
    """Return the code of the modes that obey the laws best; -1 if a mode has no clear pivots or none is lawful."""
    best, found = LAWFUL, -1
    for code in range(CODES):
        if possible(code, mu, active):
            if not solve_mode(code, B, b, mu, T, z) > CLEAR:
                return -1
            residual = natural(B, b, mu, active, z)
            if residual <= best and (found < 0 or residual < best):
                best, found = residual, code
    return found


@inlined
def turned(t: float, stop: float, y: Vector, mean: Vector, moved: Vector, p: Vector, psi: Vector) -> bool:
    """Tell whether an angle of a gap turns by more than `TURN` at the velocity `mean`, as `events.turning.turn` does.

    `moved` are the positions at the end; `psi` (4 ANGLES,) is work space.
    """
    if ANGLES > 0:
        angles(t, y[:N], mean, p, psi)
        angles(stop, moved, mean, p, psi[2 * ANGLES :])
    for i in range(ANGLES):
        first, last = (stop - t) / 3.0 * psi[ANGLES + i], (stop - t) / 3.0 * psi[3 * ANGLES + i]
        length = abs(first) + abs(psi[2 * ANGLES + i] - psi[i] - first - last) + abs(last)
        # The negated comparison counts a NaN as turned.
        if not (length if i < PERIODIC else min(length, CAPPED)) <= TURN:
            return True
    return False


@inlined
def advance(t: float, stop: float, y: Vector, p: Vector, law: Vector, limit: float, own: Vector) -> bool:
    """Take a step from (q, v) in y to `stop`; return False, with y unchanged, if it is not regular.

    Parameters
    ----------
    law : (3 K,), coefficients mu, e_N, e_T
    limit : largest accepted square of a relative residual
    own : (WORK,), work space; afterwards it holds, from its start: the step data at the start of the step (FLAT,), its
        force (N,), the change of velocity (N,), which contacts take part (K,), normal and tangential impulse of each
    """
    s, f, dv = own, own[FLAT:], own[FLAT + N :]
    active, z = own[FLAT + 2 * N :], own[FLAT + 2 * N + K :]
    L, Y = own[FLAT + 2 * N + 3 * K :], own[FLAT + 2 * N + 3 * K + N * N :]
    rest = own[FLAT + 2 * N + 3 * K + N * N + ROWS * N :]
    C, lengths, drift, B = rest, rest[M * M :], rest[M * M + 3 * K + M :], rest[M * M + 3 * K + 2 * M :]
    rest = rest[M * M + 3 * K + 2 * M + 4 * K * K :]
    b, T, lam, x = rest, rest[2 * K :], rest[4 * K + 4 * K * K :], rest[4 * K + 4 * K * K + M :]
    free, mean, moved, new = x[N:], x[2 * N :], x[3 * N :], x[4 * N :]
    psi, mu = x[5 * N :], lengths[2 * K :]
    h = stop - t
    at_g = N * N + 2 * N + M * N + M
    at_N = at_g + 2 * K
    at_T = at_N + K * N + K
    at_v = at_T + K * N + K
    step(t, y[:N], y[N:SIZE], p, s)
    velocity(t, y[:N], y[N:SIZE], p, drift)
    closing = 0
    for c in range(K):
        reach = s[at_g + c] + 0.5 * h * s[at_g + K + c]
        active[c] = 1.0 if reach <= 0.0 else 0.0
        closing += 1 if reach <= 0.0 else 0
        if not abs(reach) < 1e300:
            return False
    if closing > MOST_ACTIVE or not factorised(s, L) or not rows_of(s, L, active, law, Y, C, lengths):
        return False
    for r in range(2 * K):
        for j in range(2 * K):
            there = active[r // 2] > 0.0 and active[j // 2] > 0.0
            B[r * 2 * K + j] = product(Y[(M + r) * N :], Y[(M + j) * N :]) if there else 0.0
    for r in range(M):
        lam[r] = -drift[r]
        for j in range(r):
            lam[r] -= C[r * M + j] * lam[j]
        lam[r] /= C[r * M + r]
    for i in range(N):
        f[i] = s[N * N + N + i] - s[N * N + i]
    code, settles = -1, False
    for _ in range(MOST_FORCES):
        # x = L^T dv without contacts: the part that joints leave of the force, and what removes the drift.
        for i in range(N):
            new[i] = h * f[i]
        scaled(L, new, free)
        projected(Y, M, free, mean)
        for i in range(N):
            for r in range(M):
                free[i] += Y[r * N + i] * lam[r]
            x[i] = free[i]
        for c in range(K):
            e_N, e_T = law[K + c], law[2 * K + c]
            b[2 * c] = product(Y[(M + 2 * c) * N :], free) + (1.0 + e_N) * s[at_g + K + c] / lengths[2 * c]
            b[2 * c + 1] = product(Y[(M + 2 * c + 1) * N :], free) + (1.0 + e_T) * s[at_v + c] / lengths[2 * c + 1]
            z[2 * c], z[2 * c + 1] = 0.0, 0.0
        if closing > 0:
            kept = False
            if code >= 0:
                solve_mode(code, B, b, mu, T, z)
                kept = natural(B, b, mu, active, z) <= KEPT
            if not kept:
                code = best_mode(B, b, mu, active, T, z)
                if code < 0:
                    return False
                solve_mode(code, B, b, mu, T, z)
        for c in range(K):
            if active[c] > 0.0:
                z[2 * c] = max(z[2 * c], 0.0)
                for i in range(N):
                    x[i] += Y[(M + 2 * c) * N + i] * z[2 * c] + Y[(M + 2 * c + 1) * N + i] * z[2 * c + 1]
        moving(L, x, dv)
        for i in range(N):
            mean[i] = y[N + i] + THETA * dv[i]
            moved[i] = y[i] + THETA * h * mean[i]
            new[i] = 0.0  # generated functions do not write zeros
        force(t + THETA * h, moved, mean, p, new)
        change, size = 0.0, 0.0
        for i in range(N):
            change, size = max(change, abs(new[i] - f[i])), max(size, abs(new[i]))
        if change <= SETTLED * (1.0 + size):
            settles = True
            break
        copied(new, f, N)
    for i in range(N):
        moved[i] = y[i] + h * mean[i]
    if not settles or turned(t, stop, y, mean, moved, p, psi):
        return False
    for c in range(K):
        z[2 * c] /= lengths[2 * c]
        z[2 * c + 1] /= lengths[2 * c + 1]
    if not obeyed(h, s, f, dv, active, z, law, drift, L, Y, C, lengths, lam, x, free, new, limit):
        return False
    for i in range(N):
        y[i] = moved[i]
        y[N + i] += dv[i]
    return True


@inlined
def obeyed(
    h: float, s: Vector, f: Vector, dv: Vector, active: Vector, z: Vector, law: Vector, drift: Vector, L: Vector,
    Y: Vector, C: Vector, lengths: Vector, lam: Vector, x: Vector, free: Vector, new: Vector, limit: float,
) -> bool:  # fmt: skip
    """Tell whether the equations of motion, the joints and the contact laws hold, by the step data themselves."""
    at_J, at_N = N * N + 2 * N, N * N + 2 * N + M * N + M + 2 * K
    at_T = at_N + K * N + K
    at_v = at_T + K * N + K
    # Impulses of the joints: what is missing in the mass norm, along their orthonormal rows.
    for i in range(N):
        new[i] = h * f[i]
    scaled(L, new, free)
    size = product(free, free) + product(x, x)
    for i in range(N):
        free[i] = x[i] - free[i]
        for c in range(K):
            if active[c] > 0.0:
                free[i] -= Y[(M + 2 * c) * N + i] * lengths[2 * c] * z[2 * c]
                free[i] -= Y[(M + 2 * c + 1) * N + i] * lengths[2 * c + 1] * z[2 * c + 1]
    for e in range(M):
        r = M - 1 - e
        lam[r] = product(Y[r * N :], free)
        for j in range(r + 1, M):
            lam[r] -= C[j * M + r] * lam[j]
        lam[r] /= C[r * M + r]
    missed = 0.0
    for i in range(N):
        value = -new[i]
        for j in range(N):
            value += s[i * N + j] * dv[j]
        for r in range(M):
            value -= s[at_J + r * N + i] * lam[r]
        for c in range(K):
            value -= s[at_N + c * N + i] * z[2 * c] + s[at_T + c * N + i] * z[2 * c + 1]
        new[i] = value
    scaled(L, new, free)
    missed = product(free, free)
    apart, demanded, broken = 0.0, 1.0, 0.0
    for r in range(M):
        rate = product(s[at_J + r * N :], dv) + drift[r]
        apart += rate * rate
        demanded += drift[r] * drift[r]
    for c in range(K):
        if active[c] > 0.0:
            own, across = lengths[2 * c], lengths[2 * c + 1]
            rate, slip = (1.0 + law[K + c]) * s[at_N - K + c], (1.0 + law[2 * K + c]) * s[at_v + c]
            size += rate * rate / (own * own) + slip * slip / (across * across)
            rate += product(s[at_N + c * N :], dv)
            slip += product(s[at_T + c * N :], dv)
            bound, push = law[c] * z[2 * c], z[2 * c + 1]
            part = min(z[2 * c] * own, rate / own)
            broken += part * part
            part = (push - min(max(push - slip / (across * across), -bound), bound)) * across
            broken += part * part
    # The comparisons are false for a NaN.
    return (missed <= limit * size) & (apart <= limit * demanded) & (broken <= LAWFUL * LAWFUL * size)


@inlined
def fed(y: Vector, own: Vector) -> bool:
    """Tell whether the contacts of the latest step, which `own` holds, have added energy; y is the state after it."""
    s, dv, z = own, own[FLAT + N :], own[FLAT + 2 * N + K :]
    at_N = N * N + 2 * N + M * N + M + 2 * K
    at_T = at_N + K * N + K
    kinetic, work = 0.0, 0.0
    for i in range(N):
        for j in range(N):
            kinetic += 0.5 * (y[N + i] - dv[i]) * s[i * N + j] * (y[N + j] - dv[j])
    for c in range(K):
        work += z[2 * c] * (s[at_N - K + c] + 0.5 * product(s[at_N + c * N :], dv))
        work += z[2 * c + 1] * (s[at_T + K * N + K + c] + 0.5 * product(s[at_T + c * N :], dv))
    return work > GAIN * (1.0 + kinetic)


@inlined
def traced(number: int, before: Vector, y: Vector, own: Vector, row: Vector) -> None:
    """Write the row of step `number`, which `own` holds: the states at its start and its end, its force and contacts.

    A row holds: the number, counted from 0; both states; the force; which contacts take part, as bits.
    """
    bits, bit = 0.0, 1.0
    for c in range(K):
        bits += bit * own[FLAT + 2 * N + c]
        bit *= 2.0
    row[0] = number + 0.0
    copied(before, row[1:], SIZE)
    copied(y, row[1 + SIZE :], SIZE)
    copied(own[FLAT:], row[1 + 2 * SIZE :], N)
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
        noted, lands = events[0], False
        if good:
            for c in range(K):
                kind = 0.0
                if own[FLAT + 2 * N + K + 2 * c] > 0.0:
                    kind = c + 1.0 if idle[c] >= LIFTED else 0.0
                    lands = lands or kind > 0.0
                    idle[c] = 0.0
                elif idle[c] < LIFTED:
                    idle[c] += 1.0
                    kind = -c - 1.0 if idle[c] == LIFTED else 0.0
                if kind != 0.0:
                    events[1 + int(2.0 * noted)], events[2 + int(2.0 * noted)] = number + 1.0, kind
                    noted += 1.0
            good = not (lands and fed(y, own))
        if not good:
            copied(before, y, SIZE)
            copied(known, idle, K)
            return number - first
        events[0] = noted
        if (number + 1) % every == 0 or number + 1 == first + count:
            traced(number, before, y, own, trace[place:])
            place += ROW
    return count


@inlined
def several(
    own: Vector, law: Vector, work: Vector, before: Vector, begin: float, dt: float, end: float, first: int, count: int,
    every: int, steps: int, limit: float, trace: Vector,
) -> None:  # fmt: skip
    """Take steps of a member of a batch of `steps` steps, as `march`, with the rows of recorded states in `trace`.

    `own` holds its state and parameters. The row of its start has the force and the contacts of its first step.
    """
    coefficients(own[CONSTANTS:], law)
    for number in range(first, first + count):
        if own[FAILED] == 0.0:
            copied(own, before, SIZE)
            stop = last_step(begin + (number + 1) * dt, end, dt)
            good = advance(begin + number * dt, stop, own, own[CONSTANTS:], law, limit, work)
            if number == 0:
                for c in range(K):
                    good = good and work[FLAT - K * (2 * N + 5) + c] >= -PENETRATED * (1.0 + largest(before, N))
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
