"""Newton's method on Alart and Curnier's function of a few contacts, as a compiled kernel.

The function is Phi_N = r_N - max(0, x_N), Phi_T = r_T - P(x_T), where x = r - rho u and P projects onto the disc of
radius mu max(0, x_N). Steps are never shortened: the method converges near a solution or not at all. If redundant
contacts leave forces undetermined, a shift of the Jacobian keeps the undetermined part of a step small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.jit.kernel import kernel
from gaussopt.linalg.cones import steps_of, velocity_size

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
def fill(w: Vector, q: Vector, mu: Vector, rho: Vector, r: Vector, J: Vector, phi: Vector) -> float:
    """Write Phi, (n,), and its Jacobian by rows, (n n,); return |Phi / rho| in m/s."""
    n, size = len(q), 0.0
    for i in range(len(mu)):
        p, step = 3 * i, rho[i]
        u0, u1, u2 = q[p], q[p + 1], q[p + 2]
        for j in range(n):
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
        # dP = along dx_N + (a, b; b, c) dx_T
        along1, along2 = slides * pushed * mu[i] * t1, slides * pushed * mu[i] * t2
        a, b, c = keep + part * (1.0 - t1 * t1), -part * t1 * t2, keep + part * (1.0 - t2 * t2)
        phi[p] = r[p] - x0 * pushed
        phi[p + 1] = r[p + 1] - (keep + part) * x1
        phi[p + 2] = r[p + 2] - (keep + part) * x2
        size += (phi[p] * phi[p] + phi[p + 1] * phi[p + 1] + phi[p + 2] * phi[p + 2]) / (step * step)
        for j in range(n):
            d0, d1, d2 = -step * w[p * n + j], -step * w[(p + 1) * n + j], -step * w[(p + 2) * n + j]
            if j == p:
                d0 += 1.0
            if j == p + 1:
                d1 += 1.0
            if j == p + 2:
                d2 += 1.0
            J[p * n + j] = -pushed * d0
            J[(p + 1) * n + j] = -along1 * d0 - a * d1 - b * d2
            J[(p + 2) * n + j] = -along2 * d0 - b * d1 - c * d2
        for row in range(p, p + 3):
            J[row * n + row] += 1.0 + SHIFT
    return math.sqrt(size)


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
    """Solve J x = y like `eliminate`, where rows that depend on known entries of x only are solved first, one by one.

    These are the rows of open contacts, and the rows of sliding friction that a given normal force bounds. J is
    overwritten; return 0 if it is singular, or if more than `most` rows remain.
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
def newton_steps(
    w: Vector,
    q: Vector,
    mu: Vector,
    rho: Vector,
    r: Vector,
    J: Vector,
    phi: Vector,
    count: int,
    tolerance: float,
    enough: float,
    most: int,
) -> int:
    """Take at most `count` steps from r, which is overwritten; return how many, or `count` if a step is impossible.

    The iteration ends when |Phi / rho|, m/s, is within the tolerance, or is below `enough` and no longer halves.
    """
    before = 0.0
    for step in range(count):
        size = fill(w, q, mu, rho, r, J, phi)
        if size <= tolerance or (size <= enough and size > 0.5 * before):
            return step
        before = size
        if solve_coupled(J, phi, most) == 0.0:
            return count
        for i in range(len(r)):
            r[i] -= phi[i]
    return count


@kernel
def settle(w: Vector, q: Vector, mu: Vector, r: Vector, tolerance: float, enough: float, most: int) -> int:
    """Take at most `STEPS` steps of Newton's method from r, which is overwritten; return their number."""
    n, rho = len(q), np.zeros(len(mu))
    J, phi = np.zeros(n * n), np.zeros(n)
    steps_into(w, rho)
    return newton_steps(w, q, mu, rho, r, J, phi, STEPS, tolerance, enough, most)


def continued(
    problem: ConeComplementarity, start: Vector, tolerance: float, enough: float, most: int,
    softened: Sequence[float] = (),
) -> tuple[Vector, int | None]:  # fmt: skip
    """Return the impulses that Newton's method reaches from `start`, and its number of steps; None without convergence.

    `start` holds impulses of a similar problem. Here `tolerance` and `enough` of `newton_steps` are relative to |q|.
    `most` is the largest number of rows that depend on each other; where there are more, the method is not tried.
    The method is run first with each share in `softened` of the diagonal of W added to W, then with W, each time from
    the last impulses: with the added diagonal redundant contacts have unique forces, which are near a solution for W.
    """
    r, size = start.copy(), velocity_size(problem)
    W, q = np.ascontiguousarray(problem.W), np.ascontiguousarray(problem.q)
    own = np.repeat(1.0 / steps_of(W), 3) if softened else q
    for share in (*softened, 0.0):
        here = W + np.diag(share * own) if share else W
        count = settle(here.ravel(), q, problem.mu, r, tolerance * size, enough * size, most)
        if count >= STEPS:
            return r, None
    return r, int(count)
