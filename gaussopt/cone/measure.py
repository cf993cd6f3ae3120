"""Residuals of impulses: natural map, its rounding error and violations; for few contacts by a compiled kernel."""

from __future__ import annotations

import math

import numpy as np

from gaussopt.cone.newton_kernel import invert_traces, steps_into
from gaussopt.core.arrays import Index, Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.delassus import DelassusProduct, stored_blocks
from gaussopt.jit.kernel import kernel
from gaussopt.linalg.cones import residual, rounding, velocity_size

FEW = 300
"""Number of contacts up to which compiled loops take less time than NumPy's operations."""

EPS = 2.220446049250313e-16
"""Relative distance of neighbouring floats."""


@kernel
def project_into(x0: float, x1: float, x2: float, mu: float, found: Vector) -> None:
    """Write P_K(x), (3,), the projection of x onto the friction cone of one contact."""
    size = math.sqrt(x1 * x1 + x2 * x2)
    height, factor = x0, 1.0
    if not (size <= mu * x0 and x0 >= 0.0):
        height, factor = 0.0, 0.0
        if not mu * size <= -x0:
            height = (x0 + mu * size) / (1.0 + mu * mu)
            if size > 0.0:
                factor = mu * height / size
    found[0], found[1], found[2] = height, factor * x1, factor * x2


@kernel
def distances(W: Vector, q: Vector, mu: Vector, r: Vector, violated: Vector) -> tuple[float, float]:
    """Return |e|, m/s, of the natural map e_i = (r_i - P_K(r_i - rho_i u~_i)) / rho_i, and its rounding error.

    Write into `violated`, (3,), the violations of the cones, of the dual cones and of the law, as in
    `gaussopt.certificates.cone.violations`.
    """
    n, rho, u, terms, largest = len(q), np.zeros(len(mu)), np.zeros(len(q)), np.zeros(len(q)), 0.0
    used, count = np.zeros(n, np.int64), 0
    steps_into(W, rho)
    for j in range(n):
        if r[j] != 0.0:
            used[count] = j
            count += 1
    for row in range(n):
        for at in range(count):
            part = W[row * n + used[at]] * r[used[at]]
            u[row] += part
            terms[row] += abs(part)
    free, push = 0.0, 0.0
    for j in range(n):
        largest = max(largest, abs(W[j * n + j]))
        free, push = max(free, abs(q[j])), max(push, abs(r[j]))
    if not push * largest >= (free if free > 0.0 else 1.0):  # otherwise the scale of impulses is already `push`
        for j in range(n * n):
            largest = max(largest, abs(W[j]))
    return judged(u, terms, largest, rho, q, mu, r, violated)


@kernel
def distances_by_blocks(
    begins: Index, columns: Index, blocks: Vector, q: Vector, mu: Vector, r: Vector, violated: Vector
) -> tuple[float, float]:  # fmt: skip
    """Return the same as `distances` for W stored as blocks, (9 b,), in compressed rows."""
    rho, u, terms, largest = np.zeros(len(mu)), np.zeros(len(q)), np.zeros(len(q)), 0.0
    for i in range(len(mu)):
        for e in range(begins[i], begins[i + 1]):
            if columns[e] == i:
                rho[i] = blocks[9 * e] + blocks[9 * e + 4] + blocks[9 * e + 8]
            for axis in range(3):
                for other in range(3):
                    entry = blocks[9 * e + 3 * axis + other]
                    part = entry * r[3 * columns[e] + other]
                    u[3 * i + axis] += part
                    terms[3 * i + axis] += abs(part)
                    largest = max(largest, abs(entry))
    invert_traces(rho)
    return judged(u, terms, largest, rho, q, mu, r, violated)


@kernel
def judged(
    u: Vector, terms: Vector, response: float, rho: Vector, q: Vector, mu: Vector, r: Vector, violated: Vector
) -> tuple[float, float]:  # fmt: skip
    """Return what `distances` returns, for u = W r, the sizes |W| |r| of its terms, and the largest entry of W."""
    e, missed, hidden, free, push = np.zeros(3), 0.0, 0.0, 0.0, 0.0
    for i in range(len(mu)):
        for row in range(3 * i, 3 * i + 3):
            u[row] += q[row]
            # If the impulse is huge relative to rho u, rounding of r - rho u loses digits of the velocity.
            error = EPS * (terms[row] + abs(q[row]) + abs(r[row]) / rho[i])
            hidden += error * error
            free, push = max(free, abs(q[row])), max(push, abs(r[row]))
        step, p = rho[i], 3 * i
        u[p] += mu[i] * math.sqrt(u[p + 1] * u[p + 1] + u[p + 2] * u[p + 2])
        project_into(r[p] - step * u[p], r[p + 1] - step * u[p + 1], r[p + 2] - step * u[p + 2], mu[i], e)
        for j in range(3):
            e[j] = r[p + j] - e[j]
        missed += (e[0] * e[0] + e[1] * e[1] + e[2] * e[2]) / (step * step)
    free = free if free > 0.0 else 1.0
    push = max(push, free / (response if response > 0.0 else 1.0))
    violated[0] = violated[1] = violated[2] = 0.0
    for i in range(len(mu)):
        p = 3 * i
        tangent = math.sqrt(r[p + 1] * r[p + 1] + r[p + 2] * r[p + 2])
        violated[0] = max(violated[0], max(tangent - mu[i] * r[p], -r[p]) / push)
        tangent = math.sqrt(u[p + 1] * u[p + 1] + u[p + 2] * u[p + 2])
        violated[1] = max(violated[1], (mu[i] * tangent - u[p]) / free)
        x0, x1, x2 = r[p] / push - u[p] / free, r[p + 1] / push - u[p + 1] / free, r[p + 2] / push - u[p + 2] / free
        project_into(x0, x1, x2, mu[i], e)
        # Written such that e is exactly u~ / |q| if x is in K.
        e[0], e[1], e[2] = u[p] / free + (x0 - e[0]), u[p + 1] / free + (x1 - e[1]), u[p + 2] / free + (x2 - e[2])
        violated[2] = max(violated[2], math.sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]))
    return math.sqrt(missed), math.sqrt(hidden)


def measured(problem: ConeComplementarity, r: Vector) -> tuple[float, float, tuple[float, float, float] | None]:
    """Return the natural map and its rounding error, relative to |q|, or absolute if q vanishes, and the violations.

    The violations are None for many contacts, for which the caller computes them if it needs them.
    """
    size = velocity_size(problem)
    if isinstance(problem.W, DelassusProduct) or (problem.k > FEW and not problem.sparse):
        return residual(problem, r), float(np.linalg.norm(rounding(problem, r))) / size, None
    contiguous, violated = np.ascontiguousarray, np.empty(3)
    given = contiguous(problem.q), contiguous(problem.mu), contiguous(r), violated
    if problem.sparse:
        missed, hidden = distances_by_blocks(*stored_blocks(problem.W), *given)
    else:
        missed, hidden = distances(contiguous(problem.W).ravel(), *given)
    a, b, c = violated.tolist()
    return missed / size if math.isfinite(missed) else math.inf, hidden / size, (a, b, c)
