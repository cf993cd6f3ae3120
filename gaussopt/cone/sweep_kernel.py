"""Nonlinear Gauss-Seidel sweeps over contacts with friction cones, each solved exactly, as compiled kernels.

A contact with u = W r + c is open if c_N >= 0; otherwise it sticks if the impulse that holds it lies in the cone, or
slips with u_T = -alpha r_T, alpha > 0. When u_N = 0 eliminates r_N, u_T = A r_T + b, so that

    r_T = -adj(A + alpha) b / det(A + alpha),
    adj(A + alpha) = adj(A) + alpha,    det(A + alpha) = alpha^2 + alpha tr A + det A

and alpha is a root of f(alpha) = mu W_NN r_N det(A + alpha) - W_NN |adj(A + alpha) b|. If neither open nor stick is
possible, f rises from a negative value to infinity, so that a root exists; the impulse is unique if mu is
small enough (see `gaussopt.cone.monotonicity`), otherwise there may be several impulses.
"""

from __future__ import annotations

import math

import numpy as np

from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.jit.kernel import kernel

ROOT_STEPS = 60
"""Largest number of steps of Newton's method, kept in a bracket, for one slip."""

NEAR = 1e-9
"""After a Newton step of at most this relative length the error, of the order of its square, is at rounding level."""

CLOSE = 4e-16
"""Relative change of alpha that counts as a rounding error."""


@kernel
def slip(a: Vector, b1: float, b2: float, c: float, w1: float, w2: float, wn: float, mu: float, start: float) -> float:
    """Return the root alpha of f, or -1 if none is found; `a` begins with the rows of A, `start` is a guess or 0."""
    a11, a12, a21, a22 = a[0], a[1], a[2], a[3]
    n1, n2 = a22 * b1 - a12 * b2, a11 * b2 - a21 * b1
    trace, determinant = a11 + a22, a11 * a22 - a12 * a21
    low, high = 0.0, -1.0
    alpha = start if start > 0.0 else max(trace, 1e-3 * wn)
    for _ in range(ROOT_STEPS):
        x1, x2 = n1 + alpha * b1, n2 + alpha * b2
        d = (alpha + trace) * alpha + determinant
        size = math.sqrt(x1 * x1 + x2 * x2)
        f = mu * (w1 * x1 + w2 * x2 - c * d) - wn * size
        if f < 0.0:
            low = alpha
        else:
            high = alpha
        slope = mu * (w1 * b1 + w2 * b2 - c * (2.0 * alpha + trace))
        if size > 0.0:
            slope -= wn * (x1 * b1 + x2 * b2) / size
        old = alpha
        alpha = old - f / slope if slope > 0.0 else -1.0
        if slope > 0.0 and abs(alpha - old) <= NEAR * old:
            return alpha
        if high < 0.0:
            if not alpha > low or alpha > 1e3 * old:
                alpha = 10.0 * old
        elif not (alpha > low and alpha < high):
            alpha = 0.5 * (low + high)
        if high >= 0.0 and abs(alpha - old) <= CLOSE * alpha:
            return alpha
    return alpha if high >= 0.0 else -1.0


@kernel
def solve_one(w: Vector, c: Vector, mu: float, r: Vector, space: Vector, start: float) -> float:
    """Write the impulse r, (3,), of one contact with u = W r + c, W by rows in w, (9,).

    Return alpha of the slip; 0 if the contact opens or sticks; -1 if there is no impulse, and r is unchanged.
    """
    if c[0] >= 0.0:
        r[0] = r[1] = r[2] = 0.0
        return 0.0
    wn = w[0]
    if not wn > 0.0:
        return -1.0
    if mu == 0.0:
        r[0], r[1], r[2] = -c[0] / wn, 0.0, 0.0
        return 0.0
    w1, w2 = w[1], w[2]
    h1, h2 = w[3] / wn, w[6] / wn
    a11, a12 = w[4] - h1 * w1, w[5] - h1 * w2
    a21, a22 = w[7] - h2 * w1, w[8] - h2 * w2
    b1, b2 = c[1] - h1 * c[0], c[2] - h2 * c[0]
    d = a11 * a22 - a12 * a21
    n1, n2 = a22 * b1 - a12 * b2, a11 * b2 - a21 * b1
    if d > 1e-14 * (abs(a11 * a22) + abs(a12 * a21)):
        normal = (w1 * n1 + w2 * n2) / d - c[0]
        if mu * normal * d >= wn * math.sqrt(n1 * n1 + n2 * n2):
            r[0], r[1], r[2] = normal / wn, -n1 / d, -n2 / d
            return 0.0
    if b1 == 0.0 and b2 == 0.0:
        r[0], r[1], r[2] = -c[0] / wn, 0.0, 0.0
        return 0.0
    space[0], space[1], space[2], space[3] = a11, a12, a21, a22
    alpha = slip(space, b1, b2, c[0], w1, w2, wn, mu, start)
    if not alpha > 0.0:
        return -1.0
    d = (alpha + a11 + a22) * alpha + d
    x1, x2 = (n1 + alpha * b1) / d, (n2 + alpha * b2) / d
    normal = (w1 * x1 + w2 * x2 - c[0]) / wn
    if not normal >= 0.0:
        return -1.0
    r[0], r[1], r[2] = normal, -x1, -x2
    return alpha


@kernel
def project_one(x: Vector, mu: float) -> None:
    """Replace x, (3,), by the nearest point of the friction cone."""
    size = math.sqrt(x[1] * x[1] + x[2] * x[2])
    if x[0] >= 0.0 and size <= mu * x[0]:
        return
    height = (x[0] + mu * size) / (1.0 + mu * mu)
    if height <= 0.0:
        x[0] = x[1] = x[2] = 0.0
        return
    factor = mu * height / size if size > 0.0 else 0.0
    x[0] = height
    x[1] *= factor
    x[2] *= factor


@kernel
def projected_sweep(
    begin: Index, column: Index, block: Vector, own: Vector, q: Vector, mu: Vector, step: Vector, count: int, r: Vector
) -> None:
    """Sweep `count` times over all contacts, with one projected step r <- P_K(r - step u~) each; see `block_sweeps`.

    `step`, (k,), has a step size for each contact, in kg.
    """
    x = np.zeros(3)
    for _ in range(count):
        for i in range(len(mu)):
            o, p0 = 9 * i, 3 * i
            r0, r1, r2 = r[p0], r[p0 + 1], r[p0 + 2]
            s0 = q[p0] + own[o] * r0 + own[o + 1] * r1 + own[o + 2] * r2
            s1 = q[p0 + 1] + own[o + 3] * r0 + own[o + 4] * r1 + own[o + 5] * r2
            s2 = q[p0 + 2] + own[o + 6] * r0 + own[o + 7] * r1 + own[o + 8] * r2
            for p in range(begin[i], begin[i + 1]):
                j, e = 3 * column[p], 9 * p
                t0, t1, t2 = r[j], r[j + 1], r[j + 2]
                s0 += block[e] * t0 + block[e + 1] * t1 + block[e + 2] * t2
                s1 += block[e + 3] * t0 + block[e + 4] * t1 + block[e + 5] * t2
                s2 += block[e + 6] * t0 + block[e + 7] * t1 + block[e + 8] * t2
            x[0] = r0 - step[i] * (s0 + mu[i] * math.sqrt(s1 * s1 + s2 * s2))
            x[1], x[2] = r1 - step[i] * s1, r2 - step[i] * s2
            project_one(x, mu[i])
            r[p0], r[p0 + 1], r[p0 + 2] = x[0], x[1], x[2]


@kernel
def renew(
    i: int, c: Vector, own: Vector, mu: Vector, rho: Vector, r: Vector, alpha: Vector, changes: Vector, space: Vector
) -> None:
    """Solve contact i with u = W_ii r_i + c; write its impulse, and the square of its change in m/s."""
    p = 3 * i
    x0, x1, x2 = r[p], r[p + 1], r[p + 2]
    alpha[i] = solve_one(own[9 * i : 9 * i + 9], c, mu[i], r[p : p + 3], space, alpha[i])
    x0, x1, x2 = r[p] - x0, r[p + 1] - x1, r[p + 2] - x2
    changes[i] = (x0 * x0 + x1 * x1 + x2 * x2) / (rho[i] * rho[i])


@kernel
def root_of_sum(squares: Vector) -> float:
    """Return the square root of the sum of the given squares."""
    total = 0.0
    for i in range(len(squares)):
        total += squares[i]
    return math.sqrt(total)


@kernel
def blocks_into(W: Matrix, begin: Index, column: Index, beside: Vector, own: Vector) -> None:
    """Write the blocks of W beside the diagonal that are not zero, by rows, and those on it; `begin` is zero."""
    k, place = len(begin) - 1, 0
    for i in range(k):
        for row in range(3):
            for other in range(3):
                own[9 * i + 3 * row + other] = W[3 * i + row, 3 * i + other]
        for j in range(k):
            there = False
            for row in range(3 * i, 3 * i + 3):
                for other in range(3 * j, 3 * j + 3):
                    there = there or W[row, other] != 0.0
            if there and i != j:
                column[place] = j
                for row in range(3):
                    for other in range(3):
                        beside[9 * place + 3 * row + other] = W[3 * i + row, 3 * j + other]
                place += 1
        begin[i + 1] = place


@kernel
def split_blocks(
    begins: Index, columns: Index, blocks: Vector, begin: Index, column: Index, beside: Vector, own: Vector
) -> None:
    """Write the same as `blocks_into` from blocks in compressed rows, among them all those on the diagonal."""
    place = 0
    for i in range(len(begin) - 1):
        for e in range(begins[i], begins[i + 1]):
            if columns[e] == i:
                for entry in range(9):
                    own[9 * i + entry] = blocks[9 * e + entry]
            else:
                column[place] = columns[e]
                for entry in range(9):
                    beside[9 * place + entry] = blocks[9 * e + entry]
                place += 1
        begin[i + 1] = place


@kernel
def block_part(
    order: Index, first: int, last: int, begin: Index, column: Index, block: Vector, own: Vector, q: Vector,
    mu: Vector, rho: Vector, r: Vector, alpha: Vector, changes: Vector,
) -> None:  # fmt: skip
    """Solve the contacts order[first], ..., order[last - 1] in turn; the arguments are those of `block_sweeps`."""
    c, space = np.zeros(3), np.zeros(4)
    for at in range(first, last):
        i = order[at]
        s0, s1, s2 = q[3 * i], q[3 * i + 1], q[3 * i + 2]
        for p in range(begin[i], begin[i + 1]):
            j, o = 3 * column[p], 9 * p
            r0, r1, r2 = r[j], r[j + 1], r[j + 2]
            if r0 != 0.0 or r1 != 0.0 or r2 != 0.0:
                s0 += block[o] * r0 + block[o + 1] * r1 + block[o + 2] * r2
                s1 += block[o + 3] * r0 + block[o + 4] * r1 + block[o + 5] * r2
                s2 += block[o + 6] * r0 + block[o + 7] * r1 + block[o + 8] * r2
        c[0], c[1], c[2] = s0, s1, s2
        renew(i, c, own, mu, rho, r, alpha, changes, space)


@kernel
def block_sweeps(
    order: Index, begin: Index, column: Index, block: Vector, own: Vector, q: Vector, mu: Vector, rho: Vector,
    r: Vector, alpha: Vector, changes: Vector, count: int, tolerance: float,
) -> float:  # fmt: skip
    """Sweep at most `count` times over the contacts in `order`, until impulses change by at most the tolerance, m/s.

    Parameters
    ----------
    begin, column, block : the off-diagonal blocks (3, 3) of W in compressed rows of blocks; `block` is flat
    own : (9 k,), the diagonal blocks
    rho : (k,), kg, which converts changes of impulses to velocities
    r, alpha : (3 k,), (k,), in and out
    changes : (k,), squares of the changes of the last sweep

    Returns
    -------
    Root of the sum of squares of the changes of the last sweep, in m/s.
    """
    change = 0.0
    for _ in range(count):
        block_part(order, 0, len(order), begin, column, block, own, q, mu, rho, r, alpha, changes)
        change = root_of_sum(changes)
        if change <= tolerance:
            return change
    return change


@kernel
def grouped_sweeps(
    order: Index, ends: Index, begin: Index, column: Index, block: Vector, own: Vector, q: Vector, mu: Vector,
    rho: Vector, r: Vector, alpha: Vector, changes: Vector, count: int, tolerance: float,
) -> None:  # fmt: skip
    """Sweep as `block_sweeps` over each group order[ends[g]], ..., order[ends[g + 1] - 1], which no block connects."""
    for g in range(len(ends) - 1):
        for _ in range(count):
            block_part(order, ends[g], ends[g + 1], begin, column, block, own, q, mu, rho, r, alpha, changes)
            change = 0.0
            for at in range(ends[g], ends[g + 1]):
                change += changes[order[at]]
            if change <= tolerance * tolerance:
                break


@kernel
def factor_part(
    order: Index, first: int, last: int, begin: Index, place: Index, h: Vector, g: Vector, own: Vector, q: Vector,
    mu: Vector, rho: Vector, r: Vector, alpha: Vector, changes: Vector, v: Vector,
) -> None:  # fmt: skip
    """Solve the contacts order[first], ..., order[last - 1] in turn; the arguments are those of `factor_sweeps`."""
    c, space = np.zeros(3), np.zeros(4)
    for at in range(first, last):
        i = order[at]
        p, o = 3 * i, 9 * i
        r0, r1, r2 = r[p], r[p + 1], r[p + 2]
        s0 = q[p] - own[o] * r0 - own[o + 1] * r1 - own[o + 2] * r2
        s1 = q[p + 1] - own[o + 3] * r0 - own[o + 4] * r1 - own[o + 5] * r2
        s2 = q[p + 2] - own[o + 6] * r0 - own[o + 7] * r1 - own[o + 8] * r2
        for e in range(begin[i], begin[i + 1]):
            x = v[place[e]]
            s0 += h[3 * e] * x
            s1 += h[3 * e + 1] * x
            s2 += h[3 * e + 2] * x
        c[0], c[1], c[2] = s0, s1, s2
        renew(i, c, own, mu, rho, r, alpha, changes, space)
        if changes[i] > 0.0:
            r0, r1, r2 = r[p] - r0, r[p + 1] - r1, r[p + 2] - r2
            for e in range(begin[i], begin[i + 1]):
                v[place[e]] += g[3 * e] * r0 + g[3 * e + 1] * r1 + g[3 * e + 2] * r2


@kernel
def factor_sweeps(
    order: Index, begin: Index, place: Index, h: Vector, g: Vector, own: Vector, q: Vector, mu: Vector, rho: Vector,
    r: Vector, alpha: Vector, changes: Vector, v: Vector, count: int, tolerance: float,
) -> float:  # fmt: skip
    """Sweep as in `block_sweeps`, with W given by factors H and G = M^-1 H, and with the velocities v = G r of bodies.

    Parameters
    ----------
    begin, place : indices of the velocities that each contact involves
    h, g : three entries of H, and of G, for each of these velocities
    v : (n,), in and out
    """
    change = 0.0
    for _ in range(count):
        factor_part(order, 0, len(order), begin, place, h, g, own, q, mu, rho, r, alpha, changes, v)
        change = root_of_sum(changes)
        if change <= tolerance:
            return change
    return change


@kernel
def colours_of(begin: Index, column: Index, colour: Index, used: Index) -> int:
    """Colour the contacts greedily, so that neighbours differ; write `colour`, (k,), and return the number of colours.

    `used`, (k + 1,), is working memory, in which all entries are -1.
    """
    most = 0
    for i in range(len(colour)):
        for p in range(begin[i], begin[i + 1]):
            if column[p] < i:
                used[colour[column[p]]] = i
        free = 0
        while used[free] == i:
            free += 1
        colour[i] = free
        most = max(most, free + 1)
    return most
