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
    k = len(rho)
    for i in range(k):
        trace = 0.0
        for row in range(3 * i, 3 * i + 3):
            trace += w[row * 3 * k + row]
        rho[i] = trace
    invert_traces(rho)


@kernel
def invert_traces(rho: Vector) -> None:
    """Replace the traces of the diagonal blocks of W by the numbers of `steps_into`."""
    k, mean = len(rho), 0.0
    for i in range(k):
        mean += abs(rho[i]) / k
    for i in range(k):
        trace = rho[i]
        if not trace > SMALL * mean:
            trace = mean if mean > 0.0 else 3.0
        rho[i] = 3.0 / trace


@kernel
def coupled(w: Vector, q: Vector, rho: Vector, share: float, r: Vector, place: Index, inner: Vector, c: Vector) -> int:
    """Write W and q of the rows that depend on others, (l^2,) and (l,); return l. `place`, (n,), is -1 in other rows.

    In a row of W with its diagonal entry only, as dry friction and limits of joints have, a normal impulse, which is
    written to r, and a tangential impulse of zero solve the law. The fraction `share` of 1 / rho is added to the
    diagonal of W, and taken times r from q.
    """
    n, size = len(q), 0
    known, count = np.zeros(n, np.int64), 0
    for i in range(n):
        own, alone, j = w[i * n + i], True, 0
        while j < n:
            if w[i * n + j] != 0.0 and j != i:
                alone, j = False, n
            j += 1
        holds = own > 0.0 or q[i] >= 0.0
        if i % 3 > 0:
            holds = q[i] == 0.0
        alone = alone and holds
        place[i] = -1
        if alone:
            r[i] = -q[i] / own if q[i] < 0.0 else 0.0
            if r[i] != 0.0:
                known[count] = i
                count += 1
        else:
            place[i] = size
            size += 1
    for i in range(n):
        if place[i] >= 0:
            row, total = place[i] * size, q[i]
            for at in range(count):
                total += w[i * n + known[at]] * r[known[at]]
            for j in range(n):
                if place[j] >= 0:
                    inner[row + place[j]] = w[i * n + j]
            more = share / rho[i // 3]
            inner[row + place[i]] += more
            c[place[i]] = total - more * r[i]
    return size


@kernel
def states_into(
    w: Vector, q: Vector, mu: Vector, rho: Vector, place: Index, r: Vector, used: Index, phi: Vector, parts: Vector
) -> float:  # fmt: skip
    """Write Phi of the coupled rows, (l,), and dP of each contact, (6 k,); return |Phi / rho| in m/s.

    The first entry of dP is 1 if the contact pushes, otherwise 0; the other five are s, t, a, b, c in the derivative
    dP = (s, t) dx_N + (a, b; b, c) dx_T of the projection P(x_T). `w`, `q` are those of the coupled rows; `used`, (l,),
    is working memory.
    """
    n, size, count = len(q), 0.0, 0
    for j in range(len(place)):
        if place[j] >= 0 and r[j] != 0.0:
            used[count] = j
            count += 1
    x = np.zeros(3)
    for i in range(len(mu)):
        p, step = 3 * i, rho[i]
        for axis in range(3):
            row = place[p + axis]
            x[axis] = r[p + axis]
            if row >= 0:
                u = q[row]
                for at in range(count):
                    u += w[row * n + place[used[at]]] * r[used[at]]
                x[axis] -= step * u
        x0, x1, x2 = x[0], x[1], x[2]
        length = math.sqrt(x1 * x1 + x2 * x2)
        pushed = 1.0 if x0 > 0.0 else 0.0
        radius = mu[i] * x0 * pushed
        slides = 1.0 if length > radius else 0.0
        t1 = x1 / length if length > 0.0 else 0.0
        t2 = x2 / length if length > 0.0 else 0.0
        part = slides * radius / length if length > 0.0 else 0.0
        keep = 1.0 - slides
        x[0], x[1], x[2] = x0 * pushed, (keep + part) * x1, (keep + part) * x2
        for axis in range(3):
            row = place[p + axis]
            if row >= 0:
                phi[row] = r[p + axis] - x[axis]
                size += phi[row] * phi[row] / (step * step)
        at = 6 * i
        parts[at], parts[at + 1], parts[at + 2] = pushed, slides * pushed * mu[i] * t1, slides * pushed * mu[i] * t2
        parts[at + 3], parts[at + 4] = keep + part * (1.0 - t1 * t1), -part * t1 * t2
        parts[at + 5] = keep + part * (1.0 - t2 * t2)
    return math.sqrt(size)


@kernel
def fill(
    w: Vector, rho: Vector, place: Index, r: Vector, phi: Vector, parts: Vector, rows: Index, m: int, used: Index,
    J: Vector, y: Vector,
) -> None:  # fmt: skip
    """Write the Jacobian, (m^2,), by rows, and the right-hand side of a Newton step for the m rows of closed contacts.

    `rows` are these rows, of r, followed by the other coupled rows with impulses, which the step makes zero. `used`,
    (l,), is working memory.
    """
    n, P, own = len(phi), np.zeros(9), np.zeros(3, np.int64)
    for b in range(len(rows)):
        used[b] = place[rows[b]]
    for a in range(m):
        row = rows[a]
        i, axis = row // 3, row % 3
        step, at = rho[i], 6 * i
        P[0], P[3], P[6] = parts[at], parts[at + 1], parts[at + 2]
        P[4], P[5], P[7], P[8] = parts[at + 3], parts[at + 4], parts[at + 4], parts[at + 5]
        for b in range(max(a - 2, 0), min(a + 3, m)):
            if rows[b] // 3 == i:
                own[rows[b] % 3] = b
        for b in range(m):
            J[a * m + b] = 0.0
        y[a] = phi[place[row]]
        for of in range(3):
            part, source = P[3 * axis + of] * step, place[3 * i + of]
            if source >= 0 and part != 0.0:
                source *= n
                for b in range(m):
                    J[a * m + b] += part * w[source + used[b]]
                J[a * m + own[of]] -= P[3 * axis + of]
                for b in range(m, len(rows)):
                    y[a] -= part * w[source + used[b]] * r[rows[b]]
        J[a * m + a] += 1.0 + SHIFT


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
def settle(
    W: Vector, q: Vector, mu: Vector, r: Vector, tolerance: float, enough: float, most: int, share: float
) -> int:  # fmt: skip
    """Take at most `STEPS` steps from r, which is overwritten; return how many, or `STEPS` if a step is impossible.

    The iteration ends when |Phi / rho|, m/s, is within the tolerance, or is below `enough` and no longer halves.
    `share` is 0, or that of a proximal step, see `coupled`.
    """
    n, k, before = len(q), len(mu), 0.0
    rho, place, inner, free = np.zeros(k), np.zeros(n, np.int64), np.empty(n * n), np.zeros(n)
    steps_into(W, rho)
    size = coupled(W, q, rho, share, r, place, inner, free)
    w, c, phi, parts, y = inner[0 : size * size], free[0:size], np.zeros(size), np.zeros(6 * k), np.zeros(size)
    J, used, rows = np.empty(size * size), np.zeros(size, np.int64), np.zeros(size, np.int64)
    for step in range(STEPS):
        missed = states_into(w, c, mu, rho, place, r, used, phi, parts)
        if missed <= tolerance or (missed <= enough and missed > 0.5 * before):
            return step
        before, m, last = missed, 0, 0
        for j in range(n):
            if place[j] >= 0 and parts[6 * (j // 3)] > 0.0:
                rows[m] = j
                m += 1
        last = m
        for j in range(n):
            if place[j] >= 0 and parts[6 * (j // 3)] == 0.0 and r[j] != 0.0:
                rows[last] = j
                last += 1
        fill(w, rho, place, r, phi, parts, rows[0:last], m, used, J, y)
        if m > 0 and solve_coupled(J[0 : m * m], y[0:m], most) == 0.0:
            return STEPS
        for b in range(m):
            r[rows[b]] -= y[b]
        for b in range(m, last):
            r[rows[b]] = 0.0
    return STEPS


def continued(
    problem: ConeComplementarity, start: Vector, tolerance: float, enough: float, most: int
) -> tuple[Vector, int | None]:
    """Return the impulses that Newton's method reaches from `start`, and its number of steps; None without convergence.

    `start` holds impulses of a similar problem. Here `tolerance` and `enough` of `settle` are relative to |q|.
    `most` is the largest number of rows that depend on each other; where there are more, the method is not tried.
    """
    r, size, W = start.copy(), velocity_size(problem), np.ascontiguousarray(problem.W)
    count = settle(
        W.ravel(), np.ascontiguousarray(problem.q), problem.mu, r, tolerance * size, enough * size, most, 0.0
    )
    return r, None if count >= STEPS else int(count)
