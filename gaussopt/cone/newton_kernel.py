"""Newton's method on Alart and Curnier's function of a few contacts, as a compiled kernel.

The function is Phi_N = r_N - max(0, x_N), Phi_T = r_T - P(x_T), where x = r - rho u and P projects onto the disc of
radius mu max(0, x_N). Steps are never shortened: the method converges near a solution or not at all. If redundant
contacts leave forces undetermined, a shift of the Jacobian keeps the undetermined part of a step small.
"""

from __future__ import annotations

import math

import numpy as np

from gaussopt.core.arrays import Index, Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.jit.kernel import kernel
from gaussopt.linalg.cones import velocity_size

SHIFT = 1e-9
"""Shift of the diagonal of the Jacobian, whose entries are of order one."""

STEPS = 30
"""Largest number of steps of Newton's method."""


SMALL = 1e-14
"""Trace of a block, relative to the mean trace, below which the block counts as zero."""


@kernel
def steps_into(w: Vector, rho: Vector) -> None:
    """Write rho_i = 3 / tr W_ii, the numbers that `gaussopt.linalg.cones.steps_of` returns."""
    k, mean = len(rho), 0.0
    for i in range(k):
        trace = 0.0
        for row in range(3 * i, 3 * i + 3):
            trace += w[row * 3 * k + row]
        rho[i] = trace
        mean += abs(trace) / k
    for i in range(k):
        trace = rho[i]
        if not trace > SMALL * mean:
            trace = mean if mean > 0.0 else 3.0
        rho[i] = 3.0 / trace


@kernel
def states_into(
    w: Vector, q: Vector, mu: Vector, rho: Vector, r: Vector, used: Index, phi: Vector, parts: Vector
) -> float:  # fmt: skip
    """Write Phi, (n,), and the derivatives dP of each contact, (6 k,); return |Phi / rho| in m/s.

    The first entry is 1 if the contact pushes, otherwise 0; the other five are s, t, a, b, c in the derivative
    dP = (s, t) dx_N + (a, b; b, c) dx_T of the projection P(x_T). `used`, (n,), is working memory.
    """
    n, size, count = len(q), 0.0, 0
    for j in range(n):
        if r[j] != 0.0:
            used[count] = j
            count += 1
    for i in range(len(mu)):
        p, step = 3 * i, rho[i]
        u0, u1, u2 = q[p], q[p + 1], q[p + 2]
        for at in range(count):
            j = used[at]
            u0 += w[p * n + j] * r[j]
            u1 += w[(p + 1) * n + j] * r[j]
            u2 += w[(p + 2) * n + j] * r[j]
        x0, x1, x2 = r[p] - step * u0, r[p + 1] - step * u1, r[p + 2] - step * u2
        length = math.sqrt(x1 * x1 + x2 * x2)
        pushed = 1.0 if x0 > 0.0 else 0.0
        radius = mu[i] * x0 * pushed
        slides = 1.0 if length > radius else 0.0
        t1 = x1 / length if length > 0.0 else 0.0
        t2 = x2 / length if length > 0.0 else 0.0
        part = slides * radius / length if length > 0.0 else 0.0
        keep = 1.0 - slides
        phi[p] = r[p] - x0 * pushed
        phi[p + 1] = r[p + 1] - (keep + part) * x1
        phi[p + 2] = r[p + 2] - (keep + part) * x2
        size += (phi[p] * phi[p] + phi[p + 1] * phi[p + 1] + phi[p + 2] * phi[p + 2]) / (step * step)
        at = 6 * i
        parts[at], parts[at + 1], parts[at + 2] = pushed, slides * pushed * mu[i] * t1, slides * pushed * mu[i] * t2
        parts[at + 3], parts[at + 4] = keep + part * (1.0 - t1 * t1), -part * t1 * t2
        parts[at + 5] = keep + part * (1.0 - t2 * t2)
    return math.sqrt(size)


@kernel
def fill(
    w: Vector, rho: Vector, r: Vector, phi: Vector, parts: Vector, closed: Index, c: int, J: Vector, y: Vector
) -> None:  # fmt: skip
    """Write the Jacobian, (9 c^2,), by rows, and the right-hand side of a Newton step for the c closed contacts.

    The step makes the impulses of open contacts zero.
    """
    n, m = len(r), 3 * c
    for a in range(c):
        i = closed[a]
        p, step = 3 * i, rho[i]
        pushed, along1, along2 = parts[6 * i], parts[6 * i + 1], parts[6 * i + 2]
        s11, s12, s22 = parts[6 * i + 3], parts[6 * i + 4], parts[6 * i + 5]
        e0, e1, e2 = 0.0, 0.0, 0.0
        for j in range(n):
            if r[j] != 0.0 and parts[6 * (j // 3)] == 0.0:
                e0 += w[p * n + j] * r[j]
                e1 += w[(p + 1) * n + j] * r[j]
                e2 += w[(p + 2) * n + j] * r[j]
        y[3 * a] = phi[p] - step * pushed * e0
        y[3 * a + 1] = phi[p + 1] - step * (along1 * e0 + s11 * e1 + s12 * e2)
        y[3 * a + 2] = phi[p + 2] - step * (along2 * e0 + s12 * e1 + s22 * e2)
        for b in range(c):
            for axis in range(3):
                j, column = 3 * closed[b] + axis, 3 * b + axis
                d0, d1, d2 = -step * w[p * n + j], -step * w[(p + 1) * n + j], -step * w[(p + 2) * n + j]
                if j == p:
                    d0 += 1.0
                if j == p + 1:
                    d1 += 1.0
                if j == p + 2:
                    d2 += 1.0
                J[3 * a * m + column] = -pushed * d0
                J[(3 * a + 1) * m + column] = -along1 * d0 - s11 * d1 - s12 * d2
                J[(3 * a + 2) * m + column] = -along2 * d0 - s12 * d1 - s22 * d2
        for row in range(3 * a, 3 * a + 3):
            J[row * m + row] += 1.0 + SHIFT


@kernel
def eliminate(J: Vector, y: Vector) -> float:
    """Solve J x = y by elimination with row exchanges; write x over y; return the least pivot, 0 if J is singular."""
    n, least = len(y), 1.0
    for i in range(n):
        best = i
        for row in range(i + 1, n):
            if abs(J[row * n + i]) > abs(J[best * n + i]):
                best = row
        if best != i:
            for j in range(i, n):
                J[i * n + j], J[best * n + j] = J[best * n + j], J[i * n + j]
            y[i], y[best] = y[best], y[i]
        pivot = J[i * n + i]
        least = min(least, abs(pivot))
        if least == 0.0:
            return 0.0
        for row in range(i + 1, n):
            factor = J[row * n + i] / pivot
            if factor != 0.0:
                for j in range(i + 1, n):
                    J[row * n + j] -= factor * J[i * n + j]
                y[row] -= factor * y[i]
    for back in range(n):
        i = n - 1 - back
        total = y[i]
        for j in range(i + 1, n):
            total -= J[i * n + j] * y[j]
        y[i] = total / J[i * n + i]
    return least


@kernel
def solve_coupled(J: Vector, y: Vector, most: int) -> float:
    """Solve J x = y like `eliminate`, but first solve, one by one, all rows with only one unknown entry of x.

    Such rows belong to open contacts, and to sliding contacts whose normal force is known. J is overwritten.
    Return 0 if J is singular, or if more than `most` rows remain.
    """
    n = len(y)
    known = np.zeros(n)
    left, before = n, n + 1
    while left < before:
        before = left
        for i in range(n):
            if known[i] == 0.0 and J[i * n + i] != 0.0:
                total, alone = y[i], True
                for j in range(n):
                    if j != i and J[i * n + j] != 0.0:
                        if known[j] == 0.0:
                            alone = False
                            break
                        total -= J[i * n + j] * y[j]
                if alone:
                    y[i] = total / J[i * n + i]
                    known[i] = 1.0
                    left -= 1
    if left > most:
        return 0.0
    rest, row = np.zeros(left), 0
    for i in range(n):
        if known[i] == 0.0:
            total, column = y[i], 0
            for j in range(n):
                if known[j] == 0.0:
                    J[row * left + column] = J[i * n + j]  # compact J in place; this entry has been read
                    column += 1
                else:
                    total -= J[i * n + j] * y[j]
            rest[row] = total
            row += 1
    if eliminate(J, rest) == 0.0:
        return 0.0
    row = 0
    for i in range(n):
        if known[i] == 0.0:
            y[i] = rest[row]
            row += 1
    return 1.0


@kernel
def settle(w: Vector, q: Vector, mu: Vector, r: Vector, tolerance: float, enough: float, most: int) -> int:
    """Take at most `STEPS` steps from r, which is overwritten; return how many, or `STEPS` if a step is impossible.

    The iteration ends when |Phi / rho|, m/s, is within the tolerance, or is below `enough` and no longer halves.
    """
    n, k, before = len(q), len(mu), 0.0
    rho, phi, parts, y = np.zeros(k), np.zeros(n), np.zeros(6 * k), np.zeros(n)
    J, used, closed = np.empty(n * n), np.zeros(n, np.int64), np.zeros(k, np.int64)
    steps_into(w, rho)
    for step in range(STEPS):
        size = states_into(w, q, mu, rho, r, used, phi, parts)
        if size <= tolerance or (size <= enough and size > 0.5 * before):
            return step
        before, c = size, 0
        for i in range(k):
            if parts[6 * i] > 0.0:
                closed[c] = i
                c += 1
        fill(w, rho, r, phi, parts, closed, c, J, y)
        if c > 0 and solve_coupled(J[0 : 9 * c * c], y[0 : 3 * c], most) == 0.0:
            return STEPS
        c = 0
        for i in range(k):
            if parts[6 * i] > 0.0:
                for axis in range(3):
                    r[3 * i + axis] -= y[3 * c + axis]
                c += 1
            else:
                r[3 * i] = r[3 * i + 1] = r[3 * i + 2] = 0.0
    return STEPS


def continued(
    problem: ConeComplementarity, start: Vector, tolerance: float, enough: float, most: int
) -> tuple[Vector, int | None]:
    """Return the impulses that Newton's method reaches from `start`, and its number of steps; None without convergence.

    `start` holds impulses of a similar problem. Here `tolerance` and `enough` of `settle` are relative to |q|.
    `most` is the largest number of rows that depend on each other; where there are more, the method is not tried.
    """
    r, size, W = start.copy(), velocity_size(problem), np.ascontiguousarray(problem.W)
    count = settle(W.ravel(), np.ascontiguousarray(problem.q), problem.mu, r, tolerance * size, enough * size, most)
    return r, None if count >= STEPS else int(count)
