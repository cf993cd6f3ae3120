"""Compiled time steps of bodies pinned in a row; see `gaussopt.compiled.linkage_equations`."""

from __future__ import annotations

from collections.abc import Callable

from numpy import zeros

from gaussopt.compiled.linkage_equations import (
    EX,
    EY,
    FALL,
    FX,
    FY,
    INERTIA,
    LX,
    LY,
    MASS,
    Array,
    Table,
    arms,
    eliminate,
    gaps,
    lift,
    pull,
    rates,
    refined,
    spread,
    square,
    substitute,
)  # fmt: skip
from gaussopt.compiled.march.common import MOST_CORRECTIONS
from gaussopt.core.endings import last_step, settled

# Values of `stage`: acceleration without a step; step of semi-implicit Euler; stage 0 of RK4, then 1, 2, 3.
ALONE, SEMI_IMPLICIT, RK4 = -2, -1, 0

TILE = 1024
"""Number of successive bodies that pass through all loops together, so that their data stay in the cache."""

LARGEST = 2.0**20
"""Angle, rad, above which the range reduction in `arms` loses digits."""

REFINED = 1e-24
"""Square of the relative residual of J a = gamma above which accelerations are refined. Multipliers of a long row
between two fixed pins lose digits because S is ill-conditioned; multipliers of a hanging row do not."""


def any_order(function: Callable[..., None]) -> Callable[..., None]:
    """Mark a function whose sums may be taken in any order, so that the compiler vectorises them."""
    return function


@any_order
def check(
    q: Array, v: Array, ax: Array, ay: Array, turn: Array, table: Table, work: Table, sums: Array, low: int, high: int
) -> None:
    """Add the squared residuals in the equations of the bodies low, ..., high - 1 to `sums`.

    `sums` (5,) holds the squares of J a - gamma, gamma, M a - f - J^T lam and f, and the largest angle. The rows of a
    pin count with the body before the pin. (ax, ay, turn) hold the bodies low, ..., high, with body low at index 0.
    """
    count = table.shape[1]
    ex, ey, fx, fy = work[EX, low:], work[EY, low:], work[FX, low:], work[FY, low:]
    lx, ly = work[LX, low:], work[LY, low:]
    m, inertia, fall = table[MASS, low:], table[INERTIA, low:], table[FALL, low:]
    phi, spin = q[2 * count + low :], v[2 * count + low :]
    missed = called = left = weight = 0.0
    farthest = sums[4]
    for k in range(min(high, count - 1) - low):
        here, there = square(spin[k]), square(spin[k + 1])
        gx, gy = fx[k + 1] * there - ex[k] * here, fy[k + 1] * there - ey[k] * here
        dx = ax[k + 1] - ax[k] - fy[k + 1] * turn[k + 1] + ey[k] * turn[k] - gx
        dy = ay[k + 1] - ay[k] + fx[k + 1] * turn[k + 1] - ex[k] * turn[k] - gy
        missed += dx * dx + dy * dy
        called += gx * gx + gy * gy
    for k in range(high - low):
        dx = m[k] * ax[k] - lx[k] + lx[k + 1]
        dy = m[k] * (ay[k] - fall[k]) - ly[k] + ly[k + 1]
        moment = fx[k] * ly[k] - fy[k] * lx[k] + ey[k] * lx[k + 1] - ex[k] * ly[k + 1]
        d = inertia[k] * turn[k] - moment
        f = m[k] * fall[k]
        left += dx * dx + dy * dy + d * d if m[k] > 0.0 else 0.0  # the ground, stored with mass zero, has no residual
        weight += f * f
        farthest = max(farthest, abs(phi[k]))
    sums[0] += missed
    sums[1] += called
    sums[2] += left
    sums[3] += weight
    sums[4] = farthest


def update(
    stage: int, h: float, a: Array, q0: Array, v0: Array, q: Array, v: Array, store: Table, low: int, high: int
) -> None:
    """Write coordinates low, ..., high - 1 for the next stage or the end of the step; a[0] is for coordinate low."""
    q0, v0, q, v = q0[low:high], v0[low:high], q[low:high], v[low:high]
    turn, total = store[1, low:high], store[2, low:high]
    half, sixth = 0.5 * h, h / 6.0
    if stage == SEMI_IMPLICIT:
        for i in range(high - low):
            v[i] = v0[i] + h * a[i]
            q[i] = q0[i] + h * v[i]
    elif stage == RK4:
        for i in range(high - low):
            turn[i] = total[i] = a[i]
            q[i] = q0[i] + half * v0[i]
            v[i] = v0[i] + half * a[i]
    elif stage < RK4 + 3:
        far = half if stage == RK4 + 1 else h
        for i in range(high - low):
            turn[i] += a[i]
            total[i] += 2.0 * a[i]
            q[i] = q0[i] + far * v[i]
            v[i] = v0[i] + far * a[i]
    else:
        # This is q0 + dt/6 (v1 + 2 v2 + 2 v3 + v4), with the velocities of the stages expressed by accelerations.
        for i in range(high - low):
            q[i] = q0[i] + h * (v0[i] + sixth * turn[i])
            v[i] = v0[i] + sixth * (total[i] + a[i])


def evaluate(
    stage: int, refine: bool, h: float, q0: Array, v0: Array, q: Array, v: Array, store: Table, table: Table,
    work: Table, sums: Array, carry: Array,
) -> bool:  # fmt: skip
    """Compute the accelerations of a stage and the state of the next stage; return False if a pivot vanishes.

    Stages 1 to 3 of RK4 evaluate the state (q, v); all other stages evaluate (q0, v0) and add residuals to `sums`. The
    next state is written to (q, v); accelerations are written to store[0] if the stage is ALONE.
    """
    count = table.shape[1]
    pins = count - 1
    a, whole = store[0, : 3 * count], refine or stage == ALONE
    begins = stage <= RK4
    at_q, at_v = (q0, v0) if begins else (q, v)
    good = True
    for i in range(6):
        carry[i] = 0.0
    for low in range(0, pins, TILE):
        high = min(low + TILE, pins)
        arms(at_q, table, work, low + 1 if low > 0 else 0, high + 1)
        pull(at_v, table, work, low, high)
        good &= eliminate(table, work, carry, low, high)
    work[LX, 0] = work[LY, 0] = work[LX, count] = work[LY, count] = 0.0
    if refine:
        substitute(work, 0, pins)
        spread(a[:count], a[count : 2 * count], a[2 * count :], table, work, 1.0, 0, count)
        refined(at_v, a, store[5, : 3 * count], table, work, carry)
    # Unless all accelerations are needed later, the arrays hold one tile at a time.
    span = count if whole else min(TILE + 2, count + 1)
    ax, ay, turn = store[0, :span], store[0, span : 2 * span], store[0, 2 * span :]
    high = count
    for tile in range((pins - 1) // TILE, -1, -1):
        low = tile * TILE
        after = low + 1 if low > 0 else 0  # place low also needs pin low - 1, not computed yet
        at = after if whole else 0
        if not whole:
            size = high - after
            ax[size], ay[size], turn[size] = ax[0], ay[0], turn[0]
        if not refine:
            substitute(work, low, min(low + TILE, pins))
            spread(ax[at:], ay[at:], turn[at:], table, work, 1.0, after, high)
        if begins:
            check(at_q, at_v, ax[at:], ay[at:], turn[at:], table, work, sums, after, high)
        if stage != ALONE:
            update(stage, h, ax[at:], q0, v0, q, v, store, after, high)
            update(stage, h, ay[at:], q0, v0, q, v, store, count + after, count + high)
            update(stage, h, turn[at:], q0, v0, q, v, store, 2 * count + after, 2 * count + high)
        high = after
    return good


def begun(
    stage: int, refine: bool, h: float, q0: Array, v0: Array, q: Array, v: Array, store: Table, table: Table,
    work: Table, sums: Array, carry: Array,
) -> bool:  # fmt: skip
    """Call `evaluate` at (q0, v0); if residuals are large, call it again with refinement and set sums[5] to 1."""
    good = True
    for _ in range(2):
        sums[5] = 1.0 if refine else 0.0
        for i in range(5):
            sums[i] = 0.0
        good = evaluate(stage, refine, h, q0, v0, q, v, store, table, work, sums, carry)
        if not good or refine or not sums[0] > REFINED * (1.0 + sums[1]):
            break
        refine = True
    return good


def alone(q: Array, v: Array, store: Table, table: Table, work: Table) -> None:
    """Write accelerations to store[0] and multipliers to `work`; they are meaningless if a pivot vanishes."""
    begun(ALONE, False, 0.0, q, v, q, v, store, table, work, zeros(6), zeros(6))


def sound(sums: Array, worst: Array, limit: float) -> bool:
    """Check relative squared residuals against `limit`, and angles against `LARGEST`; if they pass, update `worst`."""
    rows, forces = sums[0] / (1.0 + sums[1]), sums[2] / (1.0 + sums[3])
    if not ((rows <= limit) & (forces <= limit) & (sums[4] <= LARGEST)):
        return False
    worst[0], worst[1] = max(worst[0], rows), max(worst[1], forces)
    return True


def project(q: Array, v: Array, a: Array, table: Table, work: Table, carry: Array, sharp: float, refine: bool) -> bool:
    """Close the pins by Newton's method for q, then correct v by one linear solve; see `stabilisation.Projection`."""
    best, found, n = 1e300, False, 3 * table.shape[1]
    for _ in range(MOST_CORRECTIONS):
        arms(q, table, work, 0, table.shape[1])
        size = gaps(q, work)
        reach = 0.0
        for i in range(n):
            reach = max(reach, abs(q[i]))
        goal = sharp * (1.0 + reach)
        if settled(size, goal, best):
            found = True
            break
        best = min(best, size)
        if not lift(a, table, work, carry):
            return False
        for i in range(n):
            q[i] -= a[i]
    if not found:
        return False
    good = True
    for _ in range(2 if refine else 1):
        rates(v, work)
        good &= lift(a, table, work, carry)
        for i in range(n):
            v[i] -= a[i]
    return good


def march(
    method: int, begin: float, dt: float, end: float, first: int, count: int, every: int, y: Array, table: Table,
    work: Table, store: Table, limit: float, sharp: float, worst: Array, trace: Table,
) -> int:  # fmt: skip
    """Take the steps first, ..., first + count - 1, as `gaussopt.compiled.march.fixed` does; return the number taken.

    Parameters
    ----------
    method : SEMI_IMPLICIT or RK4
    y : (6 K,), the state (q, v); where a step fails, the state before it
    store : (STORE, 3 K + 3), work space
    sharp : tolerance of the projection after every step; 0 for no projection
    worst : (2,), largest squared residuals so far
    trace : (r, 6 K), receives the states after every step whose number is a multiple of `every`
    """
    n = 3 * table.shape[1]
    q0, v0, q, v = y[:n], y[n:], store[3, :n], store[4, :n]
    sums, carry = zeros(6), zeros(6)
    place, done, refine = 0, 0, False
    for step in range(first, first + count):
        h = last_step(begin + (step + 1) * dt, end, dt) - (begin + step * dt)
        good = begun(method, refine, h, q0, v0, q, v, store, table, work, sums, carry)
        refine = sums[5] > 0.0
        if good:
            good = sound(sums, worst, limit)
        if method == RK4:
            for stage in range(RK4 + 1, RK4 + 4):
                if good:
                    good = evaluate(stage, refine, h, q0, v0, q, v, store, table, work, sums, carry)
        if good and sharp > 0.0:
            good = project(q, v, store[0, :n], table, work, carry, sharp, refine)
        if not good:
            break
        done += 1
        q0, v0, q, v = q, v, q0, v0
        if (step + 1) % every == 0:
            for i in range(n):
                trace[place, i], trace[place, n + i] = q0[i], v0[i]
            place += 1
    if done % 2:  # the latest state is in `store`, not in y
        for i in range(n):
            q[i], v[i] = q0[i], v0[i]
    return done
