"""A stage of a motion with contacts as one compiled kernel: operator, laws, solution and certificate of one instant.

The kernel takes the regular case only: M positive definite, joints independent, every contact moved by its own force,
and friction far enough from the limit where the contact operator loses its definiteness. Whatever else comes up it says
so and the general path (`contact_operator`, `solving`, `contact_certificate`) decides. What it returns carries the same
certificate as there: the distance of the acceleration to what its own forces cause, from the equations of motion
themselves; the natural map of all laws; and the distance to the solution of the mode, by one refinement more.

Forces and accelerations of contacts are in the unit of the mass norm: with own = sqrt(row K row^T), z is own times the
force and w the acceleration over own, so that all entries of the laws are near 1. The system of the mode is inverted,
not factorised, because the certificate needs what every single row does to the acceleration.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gaussopt.contact.saddle_kernel import factorise, mass_norm, respond, solve
from gaussopt.core.step_data import Matrix, Vector
from gaussopt.jit.kernel import kernel
from gaussopt.lcp.pivoting import DEPENDENT, SIGN, SOLVED, STABLE, UNSOLVED, Active, Index, Indices
from gaussopt.linalg.dense import EPS

MASSLESS, DEPENDENT_JOINTS, HELD, UNLAWFUL = 5, 6, 7, 8
"""Codes beside those of `gaussopt.lcp.pivoting`: M is not positive definite; the joints depend on each other or nearly
so; a row is not moved by its own force; laws do not hold to rounding."""

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

NUMBERS = 11
"""error_bound, error_norm, constraint_residual, force_residual, rounding_floor, norm_a, norm_a_2, natural_scale,
law_residual, smallest_w, norm_gamma: what a stage writes of its certificate, in this order."""


class StageWorkspace(NamedTuple):
    """What `stage` works in, kept through a phase; see `stage_workspace`.

    Attributes
    ----------
    K, L, first, body : (n + m, n + m) twice, (n + m,), (3, n + m)
        The block of the joints in K must be zero.
    rows, sigma, law, order, B, T : (2 p + 1, n + m), (c, d), (7, 2 p - c), (3, 2 p - c), (2 p - c, 2 p - c) twice
        Columns of `rows` behind n must be zero.
    motion, norm : (2 p + 1, n + m), (2 p + 1,)
        Written: what the rows, their forces, and the forces without contacts cause; its mass norm.
    S : (c, c)
        Written: sym(delassus) in the unit of the mass norm.
    """

    K: Matrix
    L: Matrix
    first: Index
    body: Matrix
    rows: Matrix
    motion: Matrix
    norm: Vector
    sigma: Matrix
    law: Matrix
    order: Indices
    B: Matrix
    S: Matrix
    T: Matrix


def stage_workspace(n: int, m: int, d: int, closed: int, resting: int) -> StageWorkspace:
    """For n coordinates, m joint rows, d tangents, and so many closed contacts, of them so many without slip."""
    p, size, whole = closed + resting, closed + 2 * resting, n + m
    return StageWorkspace(
        np.zeros((whole, whole)), np.zeros((whole, whole)), np.zeros(whole, np.int64), np.zeros((3, whole)),
        np.zeros((2 * p + 1, whole)), np.zeros((2 * p + 1, whole)), np.zeros(2 * p + 1), np.zeros((closed, d)),
        np.zeros((7, size)), np.zeros((3, size), np.int64), np.zeros((size, size)), np.zeros((closed, closed)),
        np.zeros((size, size)),
    )  # fmt: skip


def read_saddle(data: Vector, n: int, m: int, K: Matrix, b: Vector) -> None:
    """Fill K and b = (Q - h, gamma) from the flat data of a stage."""
    at = n * n + n
    for i in range(n):
        b[i] = data[n * n + i]
        for j in range(n):
            K[i, j] = data[i * n + j]
    for c in range(n, n + m):
        b[c] = data[at + m * n + c - n]
        for j in range(n):
            K[c, j] = K[j, c] = data[at + (c - n) * n + j]


def read_laws(
    data: Vector, n: int, m: int, k: int, d: int, closed: Index, modes: Vector, rows: Matrix, bias: Vector, mu: Vector,
    sigma: Matrix, partner: Index,
) -> bool:  # fmt: skip
    """Fill the rows of the laws, J_N and then J_T of the contacts without slip, and behind them those of their forces.

    lam_T is mu lam_N sigma, with sigma = -1 and lam_R added where a contact has no slip. Sliding friction follows the
    phase in the plane; in space it follows the slip, unless a trial step has gone beyond its end.

    Parameters
    ----------
    rows : (2 p + 1, n) or wider
    bias, mu, sigma, partner : (p,) or longer, (c,), (c, d), (c,)
        Written, also: the row of its friction where a contact has no slip, 0 elsewhere.

    Returns
    -------
    fits
        Whether the contacts without slip are as many as rows are there for, and in the plane.
    """
    at_N = n * n + n + m * n + m
    at_T = at_N + k * n + k
    at_v = at_T + k * d * n + k * d
    p, place = len(rows) // 2, len(closed)
    for c in range(len(closed)):
        i = closed[c]
        wall, coefficient = modes[k * d + i], data[at_v + k * d + i]
        bias[c], mu[c], partner[c] = wall * data[at_N + k * n + i], coefficient, 0
        for j in range(n):
            rows[c, j] = rows[p + c, j] = wall * data[at_N + i * n + j]
        ahead = speed = length = 0.0
        for e in range(i * d, i * d + d):
            mode, slip = modes[e], data[at_v + e]
            ahead -= mode * slip
            speed += slip * slip
            length += mode * mode
        rests = coefficient > 0.0 and length == 0.0
        if rests:
            if d > 1 or place == p:
                return False
            partner[c], bias[place] = place, data[at_v - k + i]
            for j in range(n):
                rows[place, j] = rows[p + place, j] = data[at_T + i * n + j]
            place += 1
        for e in range(d):
            way = -1.0 if rests else 0.0
            if length > 0.0:
                turned = d > 1 and ahead > 0.0
                way = -data[at_v + i * d + e] / math.sqrt(speed) if turned else modes[i * d + e] / math.sqrt(length)
            sigma[c, e] = way
            for j in range(n):
                rows[p + c, j] += coefficient * way * data[at_T + (i * d + e) * n + j]
    return place == p


def uniqueness(B: Matrix, S: Matrix, T: Matrix, order: Index, mu: Vector) -> int:
    """How uniqueness is known of contacts that slide, B being their scaled delassus; S is filled with sym B."""
    c = len(S)
    sliding = False
    for p in range(c):
        sliding = sliding or mu[p] > 0.0
        for s in range(c):
            S[p, s] = 0.5 * (B[p, s] + B[s, p])
    clear = factorise(S, T, order, c) == c
    for p in range(c):
        clear = clear and T[p, p] * CLEAR < 1.0
    if clear:
        return DEFINITE
    s = c - 1
    if s == 1 and B[0, 0] > 0.0 and B[s, s] > 0.0 and B[0, 0] * B[s, s] - B[0, s] * B[s, 0] > CLEAR:
        return P_MATRIX
    return OPEN if sliding else MONOTONE  # without friction what has no response causes no acceleration either


def invert(B: Matrix, active: Active, T: Matrix, place: Index, taken: Index) -> None:
    """Invert the principal system of the active pairs; dependent pairs become inactive.

    In the given order where pivots on the diagonal are stable, else with complete pivoting.

    Parameters
    ----------
    T : (size, size)
        Written: z_t = sum of T[place[t], u] b[place[u]] over the active u solves B z = b.
    place, taken : (size,)
        Written: the row in which an active pair stands, -1 at others; whether a row is one.
    """
    size, largest = len(B), 0.0
    for i in range(size):
        place[i], taken[i] = -1, 0
        for j in range(size):
            entry = B[i, j]
            T[i, j] = entry
            largest = max(largest, abs(entry))
    for _ in range(size):
        best, s, t = DEPENDENT * largest, -1, -1
        for i in range(size):
            if active[i] and not taken[i]:
                if place[i] < 0 and T[i, i] > STABLE * largest:
                    s = t = i
                    break
                for j in range(size):
                    entry = abs(T[i, j])
                    if active[j] and place[j] < 0 and entry > best:
                        best, s, t = entry, i, j
        if s < 0:
            break
        place[t], taken[s] = s, 1
        pivot = T[s, t]
        T[s, t] = -1.0
        for j in range(size):
            T[s, j] /= -pivot
        for i in range(size):
            if i != s:
                factor = T[i, t]
                T[i, t] = 0.0
                for j in range(size):
                    T[i, j] += factor * T[s, j]
    for i in range(size):
        if place[i] < 0:
            active[i] = 0


def solve_pairs(
    B: Matrix, q: Vector, active: Active, z: Vector, w: Vector, extent: Vector, error: Vector, T: Matrix, place: Index,
    taken: Index,
) -> bool:  # fmt: skip
    """0 <= z, w = B z + q >= 0, z . w = 0 from the active pairs of the stage before; False if that takes many sets.

    Parameters
    ----------
    active : (size,)
        In and out: the pairs with w_i = 0.
    z, w, extent, error : (size,)
        Written, also: the terms of w by absolute value; the correction that a further refinement would make.
    T, place, taken
        Written: as of `invert`.
    """
    size = len(q)
    for _ in range(SETS):
        invert(B, active, T, place, taken)
        for i in range(size):
            z[i] = error[i] = 0.0
        for _ in range(3):
            for i in range(size):
                z[i] += error[i]
            for i in range(size):
                value = q[i]
                terms = abs(value)
                for j in range(size):
                    term = B[i, j] * z[j]
                    value += term
                    terms += abs(term)
                w[i], extent[i] = value, terms
            for t in range(size):
                value = 0.0
                for u in range(size if active[t] else 0):
                    if active[u]:
                        value -= T[place[t], u] * w[place[u]]
                error[t] = value
        wrong = False
        for i in range(size):
            tiny = SIGN * extent[i]
            # Not merely "negative": a NaN is wrong too.
            if active[i] and not (z[i] >= -tiny and abs(w[i]) <= 10.0 * tiny):
                active[i], wrong = 0, True
            elif not active[i] and not w[i] >= -tiny:
                active[i], wrong = 1, True
            elif z[i] < 0.0:
                z[i] = 0.0
        if not wrong:
            return True
    return False


def certify_motion(
    K: Matrix, L: Matrix, first: Index, n: int, b: Vector, x: Vector, u: Vector, half: Vector, size: Vector,
    numbers: Vector,
) -> None:  # fmt: skip
    """Numbers 0 to 6 and 10 of x = (a, -lam), b being all forces and gamma.

    Computed from the equations of motion, K x - b, as `certificate._regular` does: K tells which error of the
    acceleration explains what is left of them. u, half and size are memory.
    """
    missed = demanded = reported = growth = norm = norm_a = 0.0
    for i in range(len(x)):
        value = -b[i]
        terms = abs(value)
        for j in range(len(x) if i < n else n):
            term = K[i, j] * x[j]
            value += term
            terms += abs(term)
        u[i], size[i] = value, terms
        missed += value * value if i >= n else 0.0
        demanded += b[i] * b[i] if i >= n else 0.0
    for i in range(len(x)):
        # L^-1 u, and |L^-1| size bounded by substitution with absolute values; the joints for themselves.
        value, terms, inverse = u[i], size[i], L[i, i]
        for j in range(first[i] if i < n else n, i):
            value -= L[i, j] * half[j]
            terms += abs(L[i, j]) * size[j]
        half[i], size[i] = value, terms
        reported += inverse * value * value if i < n else 0.0
        growth += terms * terms * abs(inverse)
    solve(L, first, u)
    for i in range(n):
        value, a = u[i], x[i]
        norm += value * value
        norm_a += a * a
    numbers[0], numbers[1], numbers[2] = mass_norm(K, first, n, u), math.sqrt(norm), math.sqrt(missed)
    numbers[3], numbers[4] = math.sqrt(reported), EPS * math.sqrt(growth)
    numbers[5], numbers[6], numbers[10] = mass_norm(K, first, n, x), math.sqrt(norm_a), math.sqrt(demanded)


@kernel
def stage(
    data: Vector, n: int, m: int, k: int, d: int, closed: Index, modes: Vector, active: Active, space: StageWorkspace,
    out: Vector, numbers: Vector,
) -> tuple[int, int]:  # fmt: skip
    """Solve and certify one instant in the modes of a phase, with p rows: c normals, then those without slip.

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
    active : (2 p - c,)
        In and out: the pairs of the complementarity problem with w_i = 0: normals, then stick, then slip.
    space : Memory
    out : flat
        Written: a (n,), lam (m,), lam_N (c,), lam_T (c, d).
    numbers : (`NUMBERS`,)
        Written.

    Returns
    -------
    code, how
        `SOLVED`, or why the stage is for the general path; and how uniqueness is known.
    """
    K, L, first, body, rows, motion, norm, sigma, law, order, B, S, T = space
    c, p, size = len(closed), len(norm) // 2, len(active)
    b, x, u, y, terms = rows[2 * p], motion[2 * p], body[0], body[1], body[2]
    bias, mu, q, z, w, extent, error = law[0], law[1], law[2], law[3], law[4], law[5], law[6]
    partner, place, taken = order[0], order[1], order[2]
    if not read_laws(data, n, m, k, d, closed, modes, rows, bias, mu, sigma, partner):
        return HELD, UNDECIDED
    read_saddle(data, n, m, K, b)
    done = factorise(K, L, first, n)
    if done < len(K):
        return (MASSLESS if done < n else DEPENDENT_JOINTS), UNDECIDED

    # What every row and force moves, and the laws in the unit of the mass norm.
    for r in range(2 * p + 1):
        respond(K, L, first, n, rows, motion, norm, u, r)
    free = norm[2 * p]
    for i in range(size):
        q[i] = 0.0
        for j in range(size):
            B[i, j] = 0.0
    for r in range(p):
        bare, value = 0.0, bias[r]
        for i in range(n):
            row = rows[r, i]
            bare += row * row / K[i, i]
            value += row * x[i]
        if not norm[r] > MOVED * math.sqrt(bare):
            return HELD, UNDECIDED
        q[r] = value / norm[r]
        for s in range(p):
            value = 0.0
            for i in range(n):
                value += rows[r, i] * motion[p + s, i]
            B[r, s] = value / (norm[r] * norm[s])
    for r in range(c):
        s = partner[r]
        if s:
            t = s + p - c
            B[s, t], B[t, r], B[t, s] = 1.0, 2.0 * mu[r] * norm[s] / norm[r], -1.0
    how = uniqueness(B, S, T, place, mu)
    if not solve_pairs(B, q, active, z, w, extent, error, T, place, taken):
        return UNSOLVED, UNDECIDED

    # The motion by all forces, and its certificate.
    light = 0.0
    for i in range(len(x)):
        total, a = b[i], x[i]
        light += total * total / K[i, i] if i < n else 0.0
        for r in range(p):
            push = z[r] / norm[r]
            total += rows[p + r, i] * push
            a += motion[p + r, i] * push
        b[i], x[i] = total, a
        out[i] = a if i < n else -a
    certify_motion(K, L, first, n, b, x, u, y, terms, numbers)
    # What rounding of the rows of the mode can do, and the distance to its solution.
    rounding = free
    for r in range(p):
        rounding += norm[p + r] / norm[r] * z[r]
    for t in range(size + 1):
        distance = 0.0
        for i in range(n):
            value = 0.0
            for r in range(p):
                if active[r]:
                    value += motion[p + r, i] / norm[r] * (T[place[r], t] if t < size else error[r])
            y[i] = value
            distance += value * value
        length = mass_norm(K, first, n, y)
        if t == size:
            numbers[0] += length
            numbers[1] += math.sqrt(distance)
        elif active[t]:
            rounding += length * extent[place[t]]
    numbers[4] += EPS * rounding
    numbers[7] = free + numbers[5] + math.sqrt(light)
    # All laws at the reported point: their natural map.
    violated, smallest = 0.0, math.inf
    for r in range(p):
        value = bias[r]
        for i in range(n):
            value += rows[r, i] * x[i]
        w[r] = value
    for r in range(c):
        at, s, own = len(x) + c + r * d, partner[r], norm[r]
        push, value = z[r] / own, w[r]
        bound = mu[r] * push
        out[len(x) + r] = push
        for e in range(d):
            out[at + e] = bound * sigma[r, e]
        smallest = min(smallest, value)
        violated += min(push * own, value / own) ** 2
        if s:
            own = norm[s]
            friction = z[s] / own - bound
            out[at] = friction
            violated += ((friction - min(max(friction - w[s] / own**2, -bound), bound)) * own) ** 2
    numbers[8], numbers[9] = math.sqrt(violated), smallest
    # By what the step calls for: beside huge accelerations of its own any answer would be lawful.
    called = 0.0
    for r in range(p):
        called += q[r] * q[r]
    if not numbers[8] <= EXACT * (math.sqrt(called) + free):
        return UNLAWFUL, UNDECIDED
    return SOLVED, how if p == c else UNDECIDED
