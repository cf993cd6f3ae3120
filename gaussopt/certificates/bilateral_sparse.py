"""The certificate of a sparse step: the exact error of a candidate, in time and memory proportional to its size.

With r = M a + h - Q and r_c = J a - gamma, the error e = a - a* and the multipliers lam of a* satisfy

    M e + J^T lam = r,     J e = r_c

(subtract M a* + h - Q = J^T lam, J a* = gamma). The system is factorised anew, independently of the solver, and the
solution is refined until these equations, evaluated by products with M and J, hold: the factors only influence the
speed. The rounding floor is the effect of rounding in r and r_c on e. For the forces it is |L^-1| times the sizes of
the terms; for the constraints, a few steps of a convex ascent estimate the largest effect over all signs of the errors.

If the regularised system is needed, the residual of refinement leads to a proof: w with J^T w = 0 and w . gamma != 0
proves that the rows contradict each other, and w with M w = 0 and J w = 0 that the direction w has neither mass nor
constraint. If neither is proved and refinement fails, the floor is infinite and no answer passes.

References
----------
N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. 2002, sec. 12 (refinement), sec. 15.2 (ascent
over signs, after Hager).
"""

from __future__ import annotations

import math
import threading
from dataclasses import replace

import numpy as np

from gaussopt.certificates.base import Certificate, beside, unmeasured, without_mass
from gaussopt.core.acceptance import NEGLIGIBLE
from gaussopt.core.arrays import Vector
from gaussopt.core.sparse_arrays import times
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData, parts
from gaussopt.linalg.balance import EVALUATED
from gaussopt.linalg.dense import EPS, WIDE_EPS, largest_share, mass_norm, norm, ratio
from gaussopt.linalg.redundancy import CONTRADICTION, least_contradiction, size_in_units
from gaussopt.linalg.sparse_saddle_point import Saddle, SaddleSolution

ENOUGH = 1e-8
"""Relative accuracy to which the error e is solved for; the multipliers then have fewer correct digits."""

LEFT = 1e-6
"""Singularity is examined if refinement leaves more than this fraction of a right-hand side as residual."""

PROOF = 1e-13
"""M w, J w and J^T w count as zero up to this size relative to w, in unit masses and rows of unit length."""

IDLE = 10.0
"""w . gamma must exceed this multiple of |J^T w| |a| to prove that the rows are contradictory."""

SLOWEST = 0.999
"""Largest ratio of successive corrections that the estimate of the remaining error assumes."""

ASCENTS = 1
"""Steps of the search for the worst signs of rounding errors; on chains of 10^5 links a second step adds 0.2 %."""


class _Workspace(threading.local):
    """The factors of the last certificate, whose symbolic analysis is reused."""

    last: Saddle | None = None


_WORKSPACE = _Workspace()


def certify_sparse(step: StepData, a: Vector | None, lam: Vector | None) -> Certificate:
    """Certify a sparse step without contacts, see `gaussopt.certificates.certify`; a and lam are finite or None."""
    M, J = parts(step)
    _WORKSPACE.last, saddle = None, Saddle.of(M, J, _WORKSPACE.last)
    if saddle is None:  # the step could not be factorised, so no answer passes
        return unmeasured(step, Status.SOLVED, False, True, math.inf)
    _WORKSPACE.last = saddle
    verdict, forces_unique, resolved = (Status.SOLVED, True, True) if saddle.regular else _classify(saddle, step)
    if verdict is not Status.SOLVED:
        return unmeasured(step, verdict, forces_unique, not saddle.definite)
    if a is None:
        return unmeasured(step, verdict, forces_unique, not saddle.definite, math.nan if resolved else math.inf)
    f = step.force
    Ma = times(M, a)
    residual, r_c = Ma - f, times(J, a) - step.gamma
    found = saddle.solve(residual, r_c, ENOUGH)
    e, best = found.x, -found.y
    # Refinement may leave residuals of the rows; they are converted to an acceleration along the rows and added.
    unmet = 0.0 * a if saddle.regular else times(J.T, found.rest_g * saddle.row**2) * saddle.scale
    size_a = times(abs(M), np.abs(a))
    size_f = size_a + np.abs(f) + times(abs(J).T, np.abs(best))
    size_c = times(abs(J), np.abs(a)) + np.abs(step.gamma)
    forces = norm(saddle.whiten_sizes(size_f)) if saddle.definite else _worst(saddle, size_f, 0.0 * size_c)
    constraints = _worst_rows(saddle, size_c) if saddle.regular else _worst(saddle, 0.0 * size_f, size_c)
    # The ascent may miss the worst signs of rounding errors, so the floor is at least the rounding error of a itself.
    floor = EPS * max(math.hypot(forces, constraints), math.sqrt(float(np.abs(a) @ size_a)))
    floor += _unsolved(saddle, found)
    if not resolved or not _met(saddle, found, size_f, size_c):
        floor = math.inf
    reported = share = 0.0
    if lam is not None:
        finite = math.isfinite(float(lam.sum()))
        pull = times(J.T, lam)
        gap = residual - pull
        if not saddle.regular:  # add the rounding error of the sum of multipliers, which may cancel
            gap = np.asarray(residual - J.T.astype(np.longdouble) @ lam, dtype=float)
            gap = gap + np.copysign(WIDE_EPS * times(abs(J).T, np.abs(lam)), gap)
        reported = norm(saddle.whiten(gap)) if finite else math.inf
        if finite and not saddle.definite:
            gap, *sizes = (gap * saddle.scale, *(norm(x * saddle.scale) for x in (Ma, f, pull)))
            # If no force acts at all, the multipliers are only rounding errors of inertia forces.
            none = not f.any() and norm(gap) <= 8 * step.n * EPS * norm(a / saddle.scale)
            share = 0.0 if none else beside(norm(gap), *sizes)
            reported = without_mass(gap, np.asarray(M.diagonal()) > 0, sum(sizes))
    certificate = Certificate(
        error_bound=mass_norm(e, times(M, e)), error_norm=norm(e) + norm(unmet * saddle.scale),
        constraint_residual=norm(r_c), force_residual=reported, rounding_floor=floor, condition=math.nan,
        norm_a=mass_norm(a, Ma), norm_a_2=norm(a), norm_gamma=norm(step.gamma), verdict=Status.SOLVED,
        forces_unique=forces_unique, singular_mass=not saddle.definite, lam=best,
        unit_error=math.nan if saddle.definite else norm(e / saddle.scale) + norm(unmet), force_share=share,
    )  # fmt: skip
    if certificate.constraint_residual > NEGLIGIBLE * (1.0 + certificate.norm_gamma):
        certificate = replace(certificate, residual_share=largest_share(r_c, size_c))
    largest = max(certificate.error_bound, reported, floor)
    if largest > NEGLIGIBLE * certificate.norm_a or certificate.unit_error > NEGLIGIBLE * certificate.norm_a:
        called = saddle.solve(np.zeros_like(a), step.gamma, ENOUGH).x
        certificate = replace(certificate, natural_scale=norm(f * saddle.scale) + norm(called / saddle.scale))
    return certificate


def _worst(saddle: Saddle, size_f: Vector, size_c: Vector) -> float:
    """Estimate the largest mass norm of the solution x over all right-hand sides with entries +-`size_f`, +-`size_c`.

    The square of the norm is a convex function of the right-hand side, and half its gradient is the solution for
    (M x, 0). Each step of the ascent gives the right-hand side the signs of this gradient.
    """
    s, t = (np.copysign(size, np.cos(1.7 * np.arange(len(size)))) for size in (size_f, size_c))
    largest = 0.0
    for i in range(ASCENTS + 1):
        x, y = saddle.precondition(s, t)
        Mx = times(saddle.M, x)
        largest = max(largest, float(x @ Mx))
        if i < ASCENTS:
            x, y = saddle.precondition(Mx, np.zeros_like(t))
            s, t = np.copysign(size_f, x), np.copysign(size_c, -y)
    return math.sqrt(largest)


def _worst_rows(saddle: Saddle, size: Vector) -> float:
    """Estimate `_worst` if size_f = 0: then the squared norm is t . S^-1 t for the right-hand side t of the rows."""
    t = np.copysign(size, np.cos(1.7 * np.arange(len(size))))
    largest = 0.0
    for _ in range(ASCENTS + 1 if len(t) else 0):
        y = saddle.factor.solve(t)
        largest = max(largest, float(y @ t))
        t = np.copysign(size, y)
    return math.sqrt(largest)


def _met(saddle: Saddle, found: SaddleSolution, size_f: Vector, size_c: Vector) -> bool:
    """Return whether the equations of the error e hold to rounding, which shows that e is accurate."""
    if saddle.regular:
        return math.isfinite(float(found.x.sum()))
    left = norm(found.rest_f * saddle.scale) + norm(found.rest_g * saddle.row)
    size = norm(size_f * saddle.scale) + norm(size_c * saddle.row)
    return left <= EVALUATED * size


def _unsolved(saddle: Saddle, found: SaddleSolution) -> float:
    """Estimate, by two more corrections, the mass norm of the error that refinement leaves; 0 for a regular system.

    If rows are nearly dependent, rounding errors are amplified by the reciprocal of the smallest singular value.
    """
    if saddle.regular:
        return 0.0
    sizes, rest_f, rest_g = [], found.rest_f, found.rest_g
    for _ in range(2):
        dx, dy = saddle.precondition(rest_f, rest_g)
        Mdx = times(saddle.M, dx)
        sizes.append(mass_norm(dx, Mdx))
        rest_f, rest_g = rest_f - Mdx + times(saddle.J.T, dy), rest_g - times(saddle.J, dx)
    return sizes[0] / (1.0 - min(ratio(sizes[1], sizes[0]), SLOWEST))


def _classify(saddle: Saddle, step: StepData) -> tuple[Status, bool, bool]:
    """Return the verdict on the step, whether its forces are unique, and whether both are proved."""
    d, row = saddle.scale, saddle.row
    f, gamma = step.force, step.gamma
    rng = np.random.default_rng(0)
    probe_f, probe_g = rng.standard_normal(len(d)), rng.standard_normal(len(row))
    found = saddle.solve(f, gamma, EPS)
    limit, most = least_contradiction(step, row, d), EVALUATED * size_in_units(step, row, d)
    left_g, left_f = norm(found.rest_g * row), norm(found.rest_f * d)
    # Very large accelerations or forces leave residuals by rounding even in consistent equations. Only a dependency
    # that gamma contradicts, or a force along a free direction, proves a contradiction.
    if _contradicted(saddle, step, found):
        return Status.INFEASIBLE, False, True
    if max(left_f, left_g) > limit and _unheld(saddle, f, f, limit):
        return Status.UNBOUNDED, not _idle_rows(saddle, probe_g / row), True
    if max(left_g, left_f) > most:
        return Status.SOLVED, False, False
    # The residual is zero, but a solution for random data must show whether the answer is unique and accurate.
    probe = saddle.solve(probe_f / d, probe_g / row, EPS)
    if norm(probe.rest_f * d) > LEFT * norm(probe_f):
        if _unheld(saddle, probe.rest_f):
            return Status.ACCELERATION_NOT_UNIQUE, not _idle_rows(saddle, probe_g / row), True
        return Status.SOLVED, False, False
    if norm(probe.rest_g * row) > LEFT * norm(probe_g):
        return Status.SOLVED, False, _idle_rows(saddle, probe.rest_g)
    return Status.SOLVED, True, True


def _idle_rows(saddle: Saddle, g: Vector) -> bool:
    """Return whether J^T w = 0 for the component w of g that is orthogonal to the range of J (dependent rows)."""
    w = saddle.left_null(g)
    return norm(times(saddle.J.T, w * saddle.row) * saddle.scale) <= PROOF * norm(w)


def _contradicted(saddle: Saddle, step: StepData, found: SaddleSolution) -> bool:
    """Return whether a dependency w of the rows, found from their residual, contradicts gamma: w . gamma != 0.

    Rounding is estimated from the terms of w . gamma, not from the size of gamma, because rows may differ in units.
    """
    w, g = saddle.left_null(found.rest_g), step.gamma * saddle.row
    idle = norm(times(saddle.J.T, w * saddle.row) * saddle.scale)
    share = CONTRADICTION if step.v is None else EVALUATED
    least = share * float(np.abs(w) @ np.abs(g)) + IDLE * idle * norm(found.x / saddle.scale)
    return idle <= PROOF * norm(w) and abs(float(w @ g)) > least


def _unheld(saddle: Saddle, f: Vector, force: Vector | None = None, limit: float = 0.0) -> bool:
    """Return whether w, the `null` component of f, has M w = J w = 0 and, if `force` is given, w . force != 0."""
    w = saddle.null(f)
    way = w * saddle.scale
    resisted = math.hypot(norm(times(saddle.M, way) * saddle.scale), norm(times(saddle.J, way) * saddle.row))
    free = resisted <= PROOF * norm(w)
    return free and (force is None or abs(float(way @ force)) > limit * norm(w))
