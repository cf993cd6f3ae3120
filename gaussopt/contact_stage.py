"""A stage of a motion with contacts as one compiled kernel: operator, laws, solution and certificate of one instant.

The kernel takes the regular case only: M positive definite, joints independent, every contact moved by its own force,
and friction far enough from the limit where the contact operator loses its definiteness. Whatever else comes up it says
so and the general path (`contact_operator`, `solving`, `contact_certificate`) decides. What it returns carries the same
certificate as there: the distance of the acceleration to what its own forces cause, from the equations of motion
themselves; the natural map of all laws; and the distance to the solution of the mode, by one refinement more.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gaussopt.contact_kernel import (
    DEPENDENT_JOINTS,
    MASSLESS,
    accelerate,
    backward,
    eliminate_joints,
    factorise_mass,
    forward,
    free_of_joints,
    respond,
    solve_joints,
)
from gaussopt.jit import jit
from gaussopt.linalg import EPS
from gaussopt.pivoting import (
    SOLVED,
    UNSOLVED,
    Active,
    Index,
    back_substitute,
    eliminate,
    exchange_pairs,
    power_of_two,
    scales,
)
from gaussopt.stepdata import Matrix, Vector

HELD, UNLAWFUL = 7, 8
"""Codes beside those of `contact_kernel`: a row that its own force does not move; laws that do not hold to rounding."""

DEFINITE, P_MATRIX, MONOTONE, UNDECIDED, OPEN = 0, 1, 2, 3, 4
"""How uniqueness is known; undecided as the general path leaves it for contacts that stick, or open: it would look
further at these, which slide."""

MOVED = 1e-8
"""Motion of a row by its own force, relative to that of the free bodies, that a regular contact has at least."""

CLEAR = 1e-6
"""Pivot of the scaled sym(delassus) that is positive beyond doubt; below it the general path looks for proofs."""

EXACT = 1e-11
"""Relative violation of a law that counts as rounding, as in `contact_certificate`."""

SETS = 8
"""Sets of active pairs that are tried before the general path takes over."""

NUMBERS = 10
"""error_bound, error_norm, constraint_residual, force_residual, rounding_floor, norm_a, norm_a_2, natural_scale,
law_residual, smallest_w: what a stage writes of its certificate, in this order."""


@jit
def _length(x: Vector, weight: Matrix) -> float:
    """The root of the sum of weight_ii x_i^2."""
    total = 0.0
    for i in range(len(x)):
        total += weight[i, i] * x[i] ** 2
    return math.sqrt(total)


@jit
def _norm(x: Vector) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i] ** 2
    return math.sqrt(total)


@jit
def contact_rows(
    J_N: Matrix, J_T: NDArray[np.float64], mu: Vector, sigma: Matrix, resting: Active, R: Matrix, F: Matrix
) -> None:
    """Rows of the laws and columns of the forces in z = (lam_N, lam_R): J_N, then J_T of the contacts without slip.

    lam_T is mu lam_N sigma where a contact slides, and lam_R - mu lam_N where it has no slip.
    """
    k, d, n = J_T.shape
    place = k
    for c in range(k):
        for i in range(n):
            R[c, i] = F[c, i] = J_N[c, i]
        if resting[c]:
            for i in range(n):
                F[c, i] -= mu[c] * J_T[c, 0, i]
                R[place, i] = F[place, i] = J_T[c, 0, i]
            place += 1
        elif mu[c] > 0.0:
            for e in range(d):
                for i in range(n):
                    F[c, i] += mu[c] * sigma[c, e] * J_T[c, e, i]


@jit
def direction(phase: Vector, slip: Vector, sigma: Vector) -> bool:
    """Fill sigma, the direction of sliding friction; False where the phase has none, that is where a contact sticks.

    In the plane it is the phase's. In space it follows the slip, unless a trial step has gone beyond its end.
    """
    ahead = speed = length = 0.0
    for e in range(len(phase)):
        ahead -= phase[e] * slip[e]
        speed += slip[e] ** 2
        length += phase[e] ** 2
    if length == 0.0:
        return False
    turned = len(phase) > 1 and ahead > 0.0
    for e in range(len(phase)):
        sigma[e] = -slip[e] / math.sqrt(speed) if turned else phase[e] / math.sqrt(length)
    return True


@jit
def definite(A: Matrix, own: Vector, k: int) -> bool:
    """Whether sym A, scaled by the contacts' own responses, is positive definite beyond doubt, A (k, k) or larger."""
    S = np.empty((k, k))
    for i in range(k):
        for j in range(i + 1):
            S[i, j] = 0.5 * (A[i, j] + A[j, i]) / (own[i] * own[j])
    for i in range(k):
        for j in range(i):
            for c in range(j):
                S[i, j] -= S[i, c] * S[j, c] * S[c, c]
            S[i, j] /= S[j, j]
        for c in range(i):
            S[i, i] -= S[i, c] * S[i, c] * S[c, c]
        if not S[i, i] > CLEAR:
            return False
    return True


@jit
def stage(
    data: Vector, n: int, m: int, k: int, d: int, closed: Index, modes: Vector, active: Active, out: Vector
) -> tuple[int, int]:
    """Solve and certify one instant in the modes of a phase.

    Parameters
    ----------
    data : flat
        M, Q - h, J, gamma, J_N, zeta_N, J_T, zeta_T, v_T, mu of all k contacts, each in rows.
    n, m, k, d : int
        Coordinates, joint rows, contacts, tangents.
    closed : (c,)
        The contacts that are closed.
    modes : flat
        sigma (k, d) of the phase, then its walls (k,).
    active : (c + 2 r,) or longer
        In and out: the pairs of the complementarity problem with w_i = 0.
    out : flat
        Written: a (n,), lam (m,), lam_N (c,), lam_T (c, d), `NUMBERS` numbers, the scaled sym(delassus) (c, c) and
        the accelerations by its contacts in the mass norm, scaled alike, (n, c).

    Returns
    -------
    code, how
        `SOLVED`, or why the stage is for the general path; and how uniqueness is known.
    """
    c = len(closed)
    at_J = n * n + n
    at_N = at_J + m * n + m
    at_T = at_N + k * n + k
    at_v = at_T + k * d * n + k * d
    M, applied = data[: n * n].reshape(n, n), data[n * n : at_J]
    J, gamma = data[at_J : at_J + m * n].reshape(m, n), data[at_J + m * n : at_N]
    J_N, J_T, sigma = np.empty((c, n)), np.empty((c, d, n)), np.zeros((c, d))
    zeta_N, zeta_T, mu, resting = np.empty(c), np.empty(c), np.empty(c), np.zeros(c, np.int8)
    r = sliding = 0
    for p in range(c):
        i = closed[p]
        wall = modes[k * d + i]
        zeta_N[p], zeta_T[p], mu[p] = wall * data[at_N + k * n + i], data[at_v - k * d + i * d], data[at_v + k * d + i]
        for j in range(n):
            J_N[p, j] = wall * data[at_N + i * n + j]
            for e in range(d):
                J_T[p, e, j] = data[at_T + (i * d + e) * n + j]
        if not mu[p] > 0.0:
            continue
        moving = direction(modes[i * d : i * d + d], data[at_v + i * d : at_v + i * d + d], sigma[p])
        if moving:
            sliding += 1
        elif d > 1:
            return HELD, UNDECIDED  # stick in space
        else:
            resting[p] = 1
            r += 1

    L, first, G, A = np.empty((n, n)), np.empty(n, np.int64), np.empty((m, m)), np.empty((c + r, c + r))
    U, V = np.empty((n, m + c + r)), np.empty((n, m + c + r))
    if not factorise_mass(M, L, first):
        return MASSLESS, UNDECIDED
    if not eliminate_joints(J, L, first, U, G):
        return DEPENDENT_JOINTS, UNDECIDED
    R, F = np.empty((c + r, n)), np.empty((c + r, n))
    contact_rows(J_N, J_T, mu, sigma, resting, R, F)
    respond(R, F, L, first, U, V, G, A, False)
    own, bare = np.empty(c + r), np.empty(c + r)
    for p in range(c + r):
        moved = free = 0.0
        for i in range(n):
            moved += L[i, i] * U[i, m + p] ** 2
            free += R[p, i] ** 2 / M[i, i]
        own[p], bare[p] = math.sqrt(moved), math.sqrt(free)
        if not own[p] > MOVED * bare[p]:
            return HELD, UNDECIDED
    how = UNDECIDED
    if r == 0:
        if definite(A, own, c):
            how = DEFINITE
        elif (
            c == 2
            and A[0, 0] > 0.0
            and A[1, 1] > 0.0
            and A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0] > CLEAR * (own[0] * own[1]) ** 2
        ):
            how = P_MATRIX
        elif sliding == 0:
            how = MONOTONE  # A = R K R^T: what has no response causes no acceleration either
        else:
            how = OPEN

    # The laws as one complementarity problem, as in `ContactOperator.lcp`.
    a_J, lam_J = np.empty(n), np.empty(m)
    accelerate(applied, J, gamma, a_J, lam_J, L, first, U, G)
    size = c + 2 * r
    B, q = np.zeros((size, size)), np.zeros(size)
    place = c
    for p in range(c + r):
        for s in range(c + r):
            B[p, s] = A[p, s]
        q[p] = zeta_N[p] if p < c else 0.0
        for i in range(n):
            q[p] += R[p, i] * a_J[i]
    for p in range(c):
        if resting[p]:
            q[place] += zeta_T[p]
            B[place, place + r] = 1.0 / power_of_two(bare[place] ** 2)
            B[place + r, p], B[place + r, place] = 2.0 * mu[p], -1.0
            place += 1
    z, w, error = np.empty(size), np.empty(size), np.empty(size)
    row, column = np.empty(size), np.empty(size)
    scales(B, row, column)
    if exchange_pairs(B, q, row, column, active[:size], z, w, error, SETS) < 0:
        return UNSOLVED, UNDECIDED

    a, lam = out[:n], out[n : n + m]
    lam_N, lam_T = out[n + m : n + m + c], out[n + m + c : n + m + c + c * d].reshape(c, d)
    total = np.empty(n)
    for i in range(n):
        total[i] = applied[i]
    place = c
    for p in range(c):
        lam_N[p] = z[p]
        for e in range(d):
            lam_T[p, e] = mu[p] * z[p] * sigma[p, e]
        if resting[p]:
            lam_T[p, 0] = z[place] - mu[p] * z[p]
            place += 1
        for i in range(n):
            total[i] += J_N[p, i] * lam_N[p]
            for e in range(d):
                total[i] += J_T[p, e, i] * lam_T[p, e]
    accelerate(total, J, gamma, a, lam, L, first, U, G)

    numbers = out[n + m + c + c * d : n + m + c + c * d + NUMBERS]
    joints_and_motion(M, total, J, gamma, a, lam, L, first, U, G, numbers)
    light = np.empty(n)
    for i in range(n):
        light[i] = applied[i] / math.sqrt(M[i, i])
    natural_J = _length(a_J, M)
    numbers[7] = natural_J + _length(a, M) + _norm(light)
    # The distance to the solution of the mode, and what rounding of its rows can do.
    y = np.zeros(n)
    for i in range(n):
        for p in range(c + r):
            y[i] += V[i, m + p] * error[p]
    distance = _length(y, L)
    numbers[0] += distance
    for i in range(n):
        y[i] *= L[i, i]
    backward(L, first, y)
    numbers[1] += _norm(y)
    numbers[4] += EPS * (amplification(B, q, z, row, column, active[:size], V[:, m:], L) + natural_J)
    numbers[8], numbers[9] = law_residual(
        a, lam_N, lam_T, J_N, J_T, zeta_N, zeta_T, mu, resting, own
    )  # fmt: skip
    if not numbers[8] <= EXACT * (numbers[5] + natural_J):
        return UNLAWFUL, UNDECIDED
    scaled = out[n + m + c + c * d + NUMBERS :]
    for p in range(c):
        for s in range(c):
            scaled[p * c + s] = 0.5 * (A[p, s] + A[s, p]) / (own[p] * own[s])
        for i in range(n):
            scaled[c * c + i * c + p] = math.sqrt(L[i, i]) * V[i, m + p] / own[p]
    return SOLVED, how


@jit
def joints_and_motion(
    M: Matrix, force: Vector, J: Matrix, gamma: Vector, a: Vector, lam: Vector, L: Matrix, first: Index, U: Matrix,
    G: Matrix, numbers: Vector,
) -> None:  # fmt: skip
    """The first seven of `NUMBERS` of an acceleration and forces of joints, with the contact forces among the applied.

    Computed from the equations of motion, M a - force - J^T lam and J a - gamma, as `certificate._regular` does.
    """
    m, n = J.shape
    u, size = np.empty(n), np.empty(n)
    norm_a = norm_a_2 = 0.0
    for i in range(n):
        value, extent, inertia = -force[i], abs(force[i]), 0.0
        for j in range(n):
            inertia += M[i, j] * a[j]
            extent += abs(M[i, j] * a[j])
        for j in range(m):
            value -= J[j, i] * lam[j]
            extent += abs(J[j, i] * lam[j])
        u[i], size[i] = value + inertia, extent
        norm_a += a[i] * inertia
        norm_a_2 += a[i] ** 2
    forward(L, first, u)
    numbers[3] = _length(u, L)
    free_of_joints(L, U, G, u)
    kernel = _length(u, L)
    # |L^-1| size, bounded by substitution with absolute values.
    for i in range(n):
        for j in range(first[i], i):
            size[i] += abs(L[i, j]) * size[j]
    growth = _length(size, L) ** 2
    missed, missed_2 = 0.0, 0.0
    x, s, extents = np.empty(m), np.empty(m), np.empty(m)
    for c in range(m):
        value, extent = -gamma[c], abs(gamma[c])
        for i in range(n):
            value += J[c, i] * a[i]
            extent += abs(J[c, i] * a[i])
        x[c], s[c], extents[c] = value, value, extent
        missed_2 += value**2
    solve_joints(G, s)
    for c in range(m):
        missed += x[c] * s[c]
        for j in range(c):
            extents[c] += abs(G[c, j]) * extents[j]
        growth += extents[c] ** 2 * G[c, c]
    missed = max(missed, 0.0)
    numbers[0] = math.sqrt(kernel**2 + missed)
    for i in range(n):
        for c in range(m):
            u[i] += U[i, c] * s[c]
        u[i] *= L[i, i]
    backward(L, first, u)
    numbers[1] = _norm(u)
    numbers[2], numbers[4] = math.sqrt(missed_2), EPS * math.sqrt(growth)
    numbers[5], numbers[6] = math.sqrt(max(norm_a, 0.0)), math.sqrt(norm_a_2)


@jit
def amplification(
    B: Matrix, q: Vector, z: Vector, row: Vector, column: Vector, active: Active, V: Matrix, L: Matrix
) -> float:
    """What one rounding of every row of the mode's linear system does to the acceleration, in the mass norm."""
    size, n, p = len(q), len(V), V.shape[1]
    members = np.empty(size, np.int64)
    held = size - size
    for s in range(size):
        if active[s]:
            members[held] = s
            held += 1
    S = np.empty((held, held))
    for s in range(held):
        for t in range(held):
            S[s, t] = row[members[s]] * B[members[s], members[t]] * column[members[t]]
    right, left = np.empty(held, np.int64), np.empty(held, np.int64)
    rank = eliminate(S, right, left, held)
    b, x, effect = np.empty(held), np.empty(held), np.zeros(n)
    for s in range(held):
        rounding = abs(q[members[s]])
        for t in range(size):
            rounding += abs(B[members[s], t] * z[t])
        for t in range(held):
            b[t] = row[members[s]] if t == s else 0.0
        back_substitute(S, right, left, rank, b, x, held)
        for i in range(n):
            value = 0.0
            for t in range(held):
                if members[t] < p:
                    value += V[i, members[t]] * column[members[t]] * x[t]
            effect[i] += abs(value) * rounding
    for i in range(n):
        for t in range(p):
            effect[i] += abs(V[i, t] * z[t])
    return _length(effect, L)


@jit
def law_residual(
    a: Vector, lam_N: Vector, lam_T: Matrix, J_N: Matrix, J_T: NDArray[np.float64], zeta_N: Vector, zeta_T: Vector,
    mu: Vector, resting: Active, own: Vector,
) -> tuple[float, float]:  # fmt: skip
    """The natural map of all laws in the unit of the mass norm, and the smallest gap acceleration."""
    c, n = J_N.shape
    total, smallest, place = 0.0, math.inf, c
    for p in range(c):
        w = zeta_N[p]
        for i in range(n):
            w += J_N[p, i] * a[i]
        smallest = min(smallest, w)
        total += min(lam_N[p] * own[p], w / own[p]) ** 2
        if resting[p]:
            s = zeta_T[p]
            for i in range(n):
                s += J_T[p, 0, i] * a[i]
            limit, g, t = mu[p] * max(lam_N[p], 0.0), own[place], lam_T[p, 0]
            total += ((t - min(max(t - s / g**2, -limit), limit)) * g) ** 2
            place += 1
    return math.sqrt(total), smallest
