"""One Moreau-Jean step with few contacts in the plane, for the processor and for a graphics card.

A step is that of `gaussopt.integration.advances.moreau_jean`, by the same force at the weighted state and the same rule
for the end of its iteration. With M = L L^T the unknown is x = L^T dv, in which the mass norm is the 2-norm, as in
`gaussopt.compiled.march.mass_norm`; the contact problem is solved by `gaussopt.compiled.march.contact_modes`. Residuals
of the equations of motion, of the joints and of the laws are computed from the step data of the model. A step for which
any of this is not certain is left to the caller.

The work space `own` of a step begins with the step data; capital names are the places of its parts, see `given.pyi`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussopt.compiled.march.common import copied, largest
from gaussopt.compiled.march.contact_modes import LAWFUL, best_mode, natural, solve_mode
from gaussopt.compiled.march.mass_norm import factorised, moving, product, projected, rows_of, scaled
from gaussopt.contact.activity import TOUCHING
from gaussopt.core.arrays import Vector
from gaussopt.integration.advances.moreau_jean import MOST_FORCES, SETTLED, THETA
from gaussopt.integration.events.turning import CAPPED, TURN
from gaussopt.jit.kernel import inlined

if TYPE_CHECKING:
    from gaussopt.compiled.march.given import (
        ACTIVE,
        ANGLES,
        BASIS,
        BIAS,
        DELASSUS,
        DRIFT,
        FACTOR,
        FORCE,
        FREE,
        FRICTION,
        GAPS,
        JOINTS,
        JUMP,
        LENGTHS,
        LIFT,
        MEAN,
        MOTION,
        MOVED,
        NEXT,
        NORMALS,
        PARTS,
        PERIODIC,
        PUSH,
        SIZE,
        TABLEAU,
        TANGENTS,
        TURNS,
        K,
        M,
        N,
        angles,
        force,
        step,
        velocity,
    )

MOST_ACTIVE = 3
"""Largest number of contacts that may close in a step; each of them multiplies the number of modes by four."""

KEPT = 1e-12
"""Relative residual of the laws up to which the mode of the previous force is kept."""


@inlined
def opened(t: float, h: float, y: Vector, p: Vector, law: Vector, own: Vector) -> int:
    """Evaluate the step data, and prepare the contact problem; return the number of contacts, -1 if it is irregular."""
    step(t, y[:N], y[N:SIZE], p, own)
    velocity(t, y[:N], y[N:SIZE], p, own[DRIFT:])
    closing, sound, near = 0, True, TOUCHING * (1.0 + largest(y, N))
    for c in range(K):
        reach = own[GAPS + c] + 0.5 * h * own[GAPS + K + c]
        own[ACTIVE + c] = 1.0 if reach <= near else 0.0
        closing += 1 if reach <= near else 0
        sound = sound and abs(reach) < 1e300
    if closing > MOST_ACTIVE or not sound:
        return -1
    if not factorised(own, own[FACTOR:]):
        return -1
    if not rows_of(own, law):
        return -1
    for r in range(2 * K):
        for j in range(2 * K):
            there = own[ACTIVE + r // 2] > 0.0 and own[ACTIVE + j // 2] > 0.0
            entry = product(own[BASIS + (M + r) * N :], own[BASIS + (M + j) * N :])
            own[DELASSUS + r * 2 * K + j] = entry if there else 0.0
    # The parts along the orthonormal rows of joints that remove the drift.
    for r in range(M):
        value = -own[DRIFT + r]
        for j in range(r):
            value -= own[JOINTS + r * M + j] * own[LIFT + j]
        own[LIFT + r] = value / own[JOINTS + r * M + r]
    for i in range(N):
        own[FORCE + i] = own[N * N + N + i] - own[N * N + i]
    return closing


@inlined
def free_motion(h: float, law: Vector, own: Vector) -> None:
    """Write x = L^T dv without contacts, and the terms b of the contact problem."""
    free = own[FREE:]
    for i in range(N):
        own[NEXT + i] = h * own[FORCE + i]
    scaled(own[FACTOR:], own[NEXT:], free)
    projected(own[BASIS:], M, free, own[BIAS:])
    for i in range(N):
        for r in range(M):
            free[i] += own[BASIS + r * N + i] * own[LIFT + r]
        own[MOTION + i] = free[i]
    for r in range(2 * K):
        c = r // 2
        rate = (1.0 + law[K + c]) * own[GAPS + K + c]
        if r % 2 == 1:
            rate = (1.0 + law[2 * K + c]) * own[TANGENTS + K * N + K + c]
        for j in range(M):
            rate += own[PARTS + r * M + j] * own[LIFT + j]
        own[BIAS + r] = product(own[BASIS + (M + r) * N :], free) + rate / own[LENGTHS + r]
        own[PUSH + r] = 0.0


@inlined
def pushed(code: int, own: Vector) -> int:
    """Write the impulses of the contacts, from the modes `code` if they fit; return the modes, -1 if none are lawful.

    The impulses are in the unit of the mass norm; they are added to the motion.
    """
    B, b, mu, active = own[DELASSUS:], own[BIAS:], own[FRICTION:], own[ACTIVE:]
    T, z, found = own[TABLEAU:], own[PUSH:], code
    if code >= 0:
        solve_mode(code, B, b, mu, T, z)
        if not natural(B, b, mu, active, z) <= KEPT:
            found = -1
    if found < 0:
        found = best_mode(B, b, mu, active, T, z)
        if found >= 0:
            solve_mode(found, B, b, mu, T, z)
    for c in range(K):
        if active[c] > 0.0:
            z[2 * c] = max(z[2 * c], 0.0)
            normal, tangent = own[BASIS + (M + 2 * c) * N :], own[BASIS + (M + 2 * c + 1) * N :]
            for i in range(N):
                own[MOTION + i] += normal[i] * z[2 * c] + tangent[i] * z[2 * c + 1]
    return found


@inlined
def settled_force(t: float, h: float, closing: int, y: Vector, p: Vector, law: Vector, own: Vector) -> bool:
    """Solve the step until the force at the weighted state is the assumed one; tell whether that settles."""
    code = -1
    for _ in range(MOST_FORCES):
        free_motion(h, law, own)
        if closing > 0:
            code = pushed(code, own)
            if code < 0:
                return False
        moving(own[FACTOR:], own[MOTION:], own[JUMP:])
        for i in range(N):
            own[MEAN + i] = y[N + i] + THETA * own[JUMP + i]
            own[MOVED + i] = y[i] + THETA * h * own[MEAN + i]
            own[NEXT + i] = 0.0  # generated functions do not write zeros
        force(t + THETA * h, own[MOVED:], own[MEAN:], p, own[NEXT:])
        change, size = 0.0, 0.0
        for i in range(N):
            change = max(change, abs(own[NEXT + i] - own[FORCE + i]))
            size = max(size, abs(own[NEXT + i]))
        if change <= SETTLED * (1.0 + size):
            return True
        copied(own[NEXT:], own[FORCE:], N)
    return False


@inlined
def turned(t: float, stop: float, y: Vector, p: Vector, own: Vector) -> bool:
    """Return whether an angle of a gap turns by more than `TURN` at the mean velocity, see `events.turning.turn`."""
    psi = own[TURNS:]
    if ANGLES > 0:
        angles(t, y[:N], own[MEAN:], p, psi)
        angles(stop, own[MOVED:], own[MEAN:], p, psi[2 * ANGLES :])
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
    own : (WORK,), work space; afterwards it holds the step data at the start of the step, its force (N,) at `FORCE`,
        the change of velocity (N,) at `JUMP`, at `ACTIVE` (K,) whether each contact takes part, and at `PUSH` its
        normal and tangential impulse
    """
    closing = opened(t, stop - t, y, p, law, own)
    if closing < 0:
        return False
    if not settled_force(t, stop - t, closing, y, p, law, own):
        return False
    for i in range(N):
        own[MOVED + i] = y[i] + (stop - t) * own[MEAN + i]
    if turned(t, stop, y, p, own):
        return False
    for c in range(K):
        own[PUSH + 2 * c] /= own[LENGTHS + 2 * c]
        own[PUSH + 2 * c + 1] /= own[LENGTHS + 2 * c + 1]
    if not (balanced(stop - t, limit, own) and lawful(law, own)):
        return False
    for i in range(N):
        y[i] = own[MOVED + i]
        y[N + i] += own[JUMP + i]
    return True


@inlined
def balanced(h: float, limit: float, own: Vector) -> bool:
    """Tell whether the equations of motion and the joints hold, by the step data themselves.

    Impulses of joints are read from the motion: what is missing in it, along their orthonormal rows.
    """
    lam, dv, rest, x = own[LIFT:], own[JUMP:], own[NEXT:], own[FREE:]
    for i in range(N):
        rest[i] = h * own[FORCE + i]
    scaled(own[FACTOR:], rest, x)
    size = product(x, x) + product(own[MOTION:], own[MOTION:])
    for i in range(N):
        x[i] = own[MOTION + i] - x[i]
        for r in range(2 * K):
            if own[ACTIVE + r // 2] > 0.0:
                x[i] -= own[BASIS + (M + r) * N + i] * own[LENGTHS + r] * own[PUSH + r]
    for e in range(M):
        r = M - 1 - e
        value = product(own[BASIS + r * N :], x)
        for j in range(2 * K):
            value -= own[PARTS + j * M + r] * own[PUSH + j]
        for j in range(r + 1, M):
            value -= own[JOINTS + j * M + r] * lam[j]
        lam[r] = value / own[JOINTS + r * M + r]
    for i in range(N):
        rest[i] = product(own[i * N :], dv) - rest[i]
        for r in range(M):
            rest[i] -= own[N * N + 2 * N + r * N + i] * lam[r]
        for c in range(K):
            rest[i] -= own[NORMALS + c * N + i] * own[PUSH + 2 * c]
            rest[i] -= own[TANGENTS + c * N + i] * own[PUSH + 2 * c + 1]
    scaled(own[FACTOR:], rest, x)
    apart, demanded = 0.0, 1.0
    for r in range(M):
        rate = product(own[N * N + 2 * N + r * N :], dv) + own[DRIFT + r]
        apart += rate * rate
        demanded += own[DRIFT + r] * own[DRIFT + r]
    # The comparisons are false for a NaN.
    return (product(x, x) <= limit * size) & (apart <= limit * demanded)


@inlined
def lawful(law: Vector, own: Vector) -> bool:
    """Return whether the contact laws hold up to rounding errors of velocities and impulses, in the mass norm."""
    dv, broken = own[JUMP:], 0.0
    size = product(own[MOTION:], own[MOTION:])
    for c in range(K):
        if own[ACTIVE + c] > 0.0:
            normal, across = own[LENGTHS + 2 * c], own[LENGTHS + 2 * c + 1]
            rate = (1.0 + law[K + c]) * own[GAPS + K + c]
            slip = (1.0 + law[2 * K + c]) * own[TANGENTS + K * N + K + c]
            size += rate * rate / (normal * normal) + slip * slip / (across * across)
            rate += product(own[NORMALS + c * N :], dv)
            slip += product(own[TANGENTS + c * N :], dv)
            push, pull = own[PUSH + 2 * c], own[PUSH + 2 * c + 1]
            size += push * push * normal * normal
            part = min(push * normal, rate / normal)
            broken += part * part
            part = (pull - min(max(pull - slip / (across * across), -law[c] * push), law[c] * push)) * across
            broken += part * part
    return broken <= LAWFUL * LAWFUL * size
