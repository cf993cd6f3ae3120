"""Friction cones: projections, the natural map, and the scaling that gives impulses the unit of velocities.

K_i = {|r_T| <= mu_i r_N} and its dual K_i* = {u_N >= mu_i |u_T|}. Rows are those of `ConeComplementarity`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.cone_program import ConeProgram
from gaussopt.core.delassus import scaled_operator
from gaussopt.core.errors import BadInput
from gaussopt.linalg.dense import EPS

MOST_ROWS = 6_000
"""Maximum number of rows of a sparse operator that may be converted to a dense one."""

DENSE_ROWS = 1_500
"""Maximum number of rows of a sparse operator that is converted to a dense one for a proof."""

INSIDE = 1e-8
"""Impulses lie inside a cone if mu^2 r_N^2 - |r_T|^2, relative to mu^2 r_N^2, exceeds this number."""


def dense(problem: ConeComplementarity) -> ConeComplementarity:
    """Return the same problem with a dense operator; raises BadInput if the dense matrix would be too large."""
    if not problem.sparse:
        return problem
    if problem.n > MOST_ROWS:
        raise BadInput(
            f"This needs a dense operator, and that of {problem.k} contacts is too large; coulomb-soccp by hybrid or "
            "nsgs takes it as it is."
        )
    W: Any = problem.W
    return ConeComplementarity(W.toarray(), problem.q, problem.mu)


def rows_of(x: Vector) -> Matrix:
    """Return a vector, (3 k,), as an array with a row for each contact, (k, 3)."""
    return x.reshape(-1, ROWS)


def project(x: Vector, mu: Vector) -> Vector:
    """Return P_K(x), (3 k,), the projection of x onto the friction cones K."""
    normal, tangent = rows_of(x)[:, 0], rows_of(x)[:, 1:]
    size = np.hypot(tangent[:, 0], tangent[:, 1])
    # Without friction the cone is a ray; then a point with r_N < 0 must count as a point of the polar cone only.
    inside, polar = (size <= mu * normal) & (normal >= 0.0), mu * size <= -normal
    height = np.where(inside, normal, np.where(polar, 0.0, (normal + mu * size) / (1.0 + mu * mu)))
    factor = np.where(inside, 1.0, mu * height / np.where(size > 0, size, 1.0))
    return np.column_stack((height, factor[:, None] * tangent)).ravel()


def feasible(program: ConeProgram, x: Vector) -> Vector:
    """Return the feasible point of a cone program that is nearest to x, (3 k,)."""
    if program.radius is None:
        return project(x, program.mu)
    found = rows_of(x).copy()
    size = np.hypot(found[:, 1], found[:, 2])
    found[:, 0] = np.maximum(found[:, 0], 0.0)
    found[:, 1:] *= np.where(size > program.radius, program.radius / np.where(size > 0, size, 1.0), 1.0)[:, None]
    return np.asarray(found.ravel())


def shifted(u: Vector, mu: Vector) -> Vector:
    """Return de Saxce's u~ = u + mu |u_T| n, (3 k,)."""
    found = rows_of(u).copy()
    found[:, 0] += mu * np.hypot(found[:, 1], found[:, 2])
    return found.ravel()


def way_inside(mu: Vector, r: Vector, d: Vector) -> float:
    """Return the largest s such that all contacts with r inside their cones stay in them along r + s d."""
    p, e = rows_of(r), rows_of(d)
    c = (mu * p[:, 0]) ** 2 - p[:, 1] ** 2 - p[:, 2] ** 2
    b = 2.0 * (mu**2 * p[:, 0] * e[:, 0] - p[:, 1] * e[:, 1] - p[:, 2] * e[:, 2])
    a = (mu * e[:, 0]) ** 2 - e[:, 1] ** 2 - e[:, 2] ** 2
    inside = c > INSIDE * (mu * p[:, 0]) ** 2
    root = b**2 - 4.0 * a * c
    turn = np.sqrt(np.maximum(root, 0.0)) - b  # the smallest positive root of a s^2 + b s + c is 2 c / turn
    leaves = inside & (root >= 0.0) & (turn > 0.0)
    opens = (mu == 0.0) & (p[:, 0] > 0.0) & (e[:, 0] < 0.0)
    ways = np.concatenate((2.0 * c[leaves] / turn[leaves], -p[opens, 0] / e[opens, 0]))
    return float(ways.min(initial=np.inf))


def steps_of(W: Matrix) -> Vector:
    """Return the step sizes rho_i = 3 / tr W_ii, kg, (k,); for a zero block W_ii the mean trace is used."""
    return steps_of_traces(W.diagonal().reshape(-1, ROWS).sum(axis=1))


def steps_of_traces(trace: Vector) -> Vector:
    """Return the same as `steps_of` from tr W_ii, (k,)."""
    mean = float(np.abs(trace).mean()) if len(trace) else 0.0
    small = ~(trace > 1e-14 * mean)
    return np.asarray(ROWS / np.where(small, mean or float(ROWS), trace))


def natural_map(problem: ConeComplementarity, r: Vector, rho: Vector) -> Vector:
    """Return e_i = (r_i - P_K(r_i - rho_i u~_i)) / rho_i, m/s, (3 k,), which is zero if and only if r is a solution."""
    each = np.repeat(rho, ROWS)
    u = shifted(problem.u(r), problem.mu)
    return np.asarray((r - project(r - each * u, problem.mu)) / each)


def velocity_size(problem: ConeComplementarity) -> float:
    """Return |q|, m/s, by which residuals are divided; 1 if q vanishes."""
    return math.sqrt(problem.q.dot(problem.q)) or 1.0


def residual(problem: ConeComplementarity, r: Vector) -> float:
    """Return the norm of the natural map relative to |q|, or the norm itself if q vanishes."""
    if not np.isfinite(r).all():
        return np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(np.linalg.norm(natural_map(problem, r, steps_of(problem.W)))) / velocity_size(problem)
    return found if np.isfinite(found) else np.inf


def in_cones(problem: ConeComplementarity, r: Vector) -> tuple[Vector, float]:
    """Return x = P_K(r - rho u~), or r if x has the larger `residual`; also return the residual.

    Where a block W_ii nearly vanishes, the impulses r_i hardly change any velocity, and may be far outside their cone
    although the residual is small. In x all impulses are inside their cones, and zero at open contacts.
    """
    found = residual(problem, r)
    if not np.isfinite(found):
        return r, found
    rho = steps_of(problem.W)
    with np.errstate(over="ignore", invalid="ignore"):
        x = project(r - np.repeat(rho, ROWS) * shifted(problem.u(r), problem.mu), problem.mu)
    now = residual(problem, x)
    return (x, now) if now <= found else (r, found)


def rounding(problem: ConeComplementarity, r: Vector) -> Vector:
    """Return the sum of the rounding errors of u = W r + q and of (r - rho u) / rho in each entry, m/s, (3 k,)."""
    lost = np.abs(r) / np.repeat(steps_of(problem.W), ROWS)
    return np.asarray(EPS * (abs(problem.W) @ np.abs(r) + np.abs(problem.q) + lost))


def scaled(problem: ConeComplementarity) -> tuple[ConeComplementarity, Vector]:
    """Return the problem in r^ = r / s and u^ = s u with s_i = sqrt(rho_i), which leaves the cones unchanged; and s."""
    s = np.repeat(np.sqrt(steps_of(problem.W)), ROWS)
    return ConeComplementarity(scaled_operator(problem.W, s), s * problem.q, problem.mu), s
