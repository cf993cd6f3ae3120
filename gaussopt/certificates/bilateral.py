"""The distance between a candidate acceleration and the true acceleration, computed from the mechanics alone.

For equality constraints the distance to the Gauss minimiser a* can be computed without solving the problem. With
r_c = J a - gamma, S = (J M^-1 J^T)^-1 and lam = S J M^-1 (M a - Q + h),

    ||a - a*||_M^2 = ||M a + h - Q - J^T lam||_{M^-1}^2 + r_c^T S r_c,

because the components of a - a* in ker J and in its complement are M-orthogonal. If M is singular or rows are
dependent, the error is e = J^+ r_c + Z (Z^T M Z)^-1 Z^T (M a + h - Q - M J^+ r_c), where Z is a basis of ker J.
"""

from __future__ import annotations

import math
from dataclasses import replace
from math import sqrt

import numpy as np

from gaussopt.certificates.base import Certificate, beside, unmeasured, without_mass
from gaussopt.core.acceptance import NEGLIGIBLE
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.linalg.balance import Balanced, resistance
from gaussopt.linalg.dense import (
    EPS,
    WIDE_EPS,
    RowSpace,
    cancelled,
    cholesky,
    equilibrate,
    invert_lower,
    lapack,
    largest_share,
    mass_norm,
    mass_scale,
    nearest,
    norm,
    scaled_by_rows,
    solve_lower,
    solve_lower_transposed,
    without_own_mass,
)
from gaussopt.linalg.saddle_point import careful_posedness, factorise, posedness

TINY, LARGE = 1e-250, 1e250
"""Squares below TINY may have lost digits by underflow in the generated certificate, and above LARGE may overflow."""

FOLLOWS = 1e-9
"""A row is dependent if its distance from the span of earlier rows, relative to its length, is at most this."""

ROUNDED = 2.0**-44
"""Largest residual of an equation of motion, relative to its terms, that counts as rounding of the forces."""

LEADING = 3.0
"""A coordinate dominates a row if its entry exceeds this multiple of the sum of the other entries."""

QUIETLY = np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")
"""Suppresses NumPy's warnings; a number that overflows fails the certificate in any case."""


def certify_dense(step: StepData, a: Vector | None, lam: Vector | None) -> Certificate:
    """Certify a dense step without contacts, see `gaussopt.certificates.certify`; a and lam are finite or None."""
    if a is None:
        posed = posedness(step)
        return unmeasured(step, posed.verdict, posed.forces_unique, posed.singular_mass)
    return with_own_scales(step, a, _regular(step, a, lam) or _careful(step, a, lam))


def about_rows(step: StepData) -> Certificate:
    """Certify the candidate a = 0 of a dense step, for callers that need only the properties of the rows."""
    a = np.zeros(step.n)
    found = None if step.arithmetic is None else certify_generated(step, a, None)
    return found or _regular(step, a, None) or _careful(step, a, None)


def with_own_scales(step: StepData, a: Vector, found: Certificate) -> Certificate:
    """Add the natural scales of the step to a certificate, unless errors are so small that the scales do not matter."""
    c = found
    if c.verdict is not Status.SOLVED:
        return c
    if c.rounding_floor > DEFAULT_TOLERANCE * (1.0 + c.norm_a) and not c.singular_mass and math.isnan(c.condition):
        sharper = _careful(step, a, None)
        if sharper.rounding_floor < c.rounding_floor and sharper.verdict is Status.SOLVED:
            found = replace(c, rounding_floor=sharper.rounding_floor, error_bound=sharper.error_bound)
    least = NEGLIGIBLE * c.norm_a
    if c.error_bound > least or c.force_residual > least or c.unit_error > least or c.rounding_floor > least:
        found = replace(found, natural_scale=_natural_scale(step))
    if c.constraint_residual > NEGLIGIBLE * (1.0 + c.norm_gamma):
        terms = np.abs(step.J) @ np.abs(a) + np.abs(step.gamma)
        found = replace(found, residual_share=largest_share(step.J @ a - step.gamma, terms))
    return found


@QUIETLY
def _natural_scale(step: StepData) -> float:
    """Estimate ||M^-1 (Q - h)||_M plus the norm of the smallest a with J a = gamma, in scaled coordinates."""
    d, _ = equilibrate(step.M, step.J)
    return norm(step.force * d) + norm(nearest(step.M, step.J, step.gamma)[0] / d)


def certify_generated(step: StepData, a: Vector, lam: Vector | None) -> Certificate | None:
    """Certify the regular case by generated code, which is six times faster; in all other cases return None."""
    assert step.arithmetic is not None
    evaluation, flat = step.arithmetic
    found = evaluation.certificate(flat, a, lam, step.m)
    if found is None:
        return None
    out, best, inverse = found
    # Squares of numbers above 1e125 or below 1e-125 may overflow or underflow; the other functions scale them first.
    if not sum(out) < LARGE:
        return None
    vanishing = abs(out[5]) < TINY and (abs(out[4]) < TINY or abs(out[0]) < TINY)
    if vanishing and (a.any() or step.gamma.any() or step.force.any()):
        return None
    # The entries of out are sums of squares; rounding may make a zero slightly negative.
    return Certificate(
        error_bound=sqrt(abs(out[0])), error_norm=sqrt(abs(out[1])), constraint_residual=sqrt(out[2]),
        force_residual=sqrt(abs(out[3])), rounding_floor=EPS * sqrt(abs(out[4])), condition=math.nan,
        norm_a=sqrt(abs(out[5])), norm_a_2=sqrt(out[6]), norm_gamma=sqrt(out[7]), verdict=Status.SOLVED,
        forces_unique=True, singular_mass=False, lam=best, independence=1.0 / sqrt(out[8]), closeness=inverse,
    )  # fmt: skip


@QUIETLY
def _regular(step: StepData, a: Vector, lam: Vector | None) -> Certificate | None:
    """Certify if M is positive definite and J has full row rank; otherwise return None."""
    M, J, gamma = step.M, step.J, step.gamma
    factors = factorise(step) if np.array_equal(M, M.T) else None
    if factors is None:
        return None
    L, B, C, pivots, diagonal = factors
    f = step.Q - step.h
    Ma = M @ a
    u = solve_lower(L, Ma - f)
    best = solve_lower_transposed(C, solve_lower(C, B.T @ u))
    kernel = u - B @ best
    # Refine once: rounding in the normal equations leaves a component in the range of B.
    correction = solve_lower_transposed(C, solve_lower(C, B.T @ kernel))
    best, kernel = best + correction, kernel - B @ correction
    r_c = J @ a - gamma
    s = solve_lower(C, r_c)
    reported = 0.0 if lam is None else norm(u - B @ lam) if math.isfinite(float(lam.sum())) else math.inf
    size_r = np.abs(M) @ np.abs(a) + np.abs(f) + np.abs(J.T) @ np.abs(best)
    size_c = np.abs(J) @ np.abs(a) + np.abs(gamma)
    floor = EPS * math.hypot(norm(np.abs(invert_lower(L)) @ size_r), norm(np.abs(invert_lower(C)) @ size_c))
    # The error vector is L^-T times the sum of its two orthogonal components.
    error = solve_lower_transposed(L, kernel + B @ solve_lower_transposed(C, s))
    return Certificate(
        error_bound=math.hypot(norm(kernel), norm(s)), error_norm=norm(error), constraint_residual=norm(r_c),
        force_residual=reported, rounding_floor=floor, condition=math.nan,
        norm_a=mass_norm(a, Ma), norm_a_2=norm(a), norm_gamma=norm(gamma), verdict=Status.SOLVED, forces_unique=True,
        singular_mass=False, lam=best, independence=math.sqrt(float((pivots / diagonal).min())) if len(C) else 1.0,
        closeness=1.0 / pivots if len(C) else gamma,
    )  # fmt: skip


@QUIETLY
def _careful(step: StepData, a: Vector, lam: Vector | None) -> Certificate:
    """Certify if M is singular or rows are dependent: determine ranks, then compute the exact error."""
    posed = careful_posedness(step)
    data, forces_unique, singular = posed.space, posed.forces_unique, posed.singular_mass
    if posed.verdict is not Status.SOLVED or data is None:
        return unmeasured(step, posed.verdict, forces_unique, singular)
    d, row, space = data.d, data.row, data.space
    Md, fd, Jd, gd = data.M, data.f, data.J, data.g
    values, ways = data.inertia
    Z, Jp = ways, space.pinv
    ad = a / d
    r_c = Jd @ ad - gd
    particular = Jp @ r_c
    residual = Md @ ad - fd
    # Constraint forces are subtracted before the projection onto the null space, because its basis has rounding errors.
    along = residual - Md @ particular
    held = Jp.T @ along
    along = along - Jd.T @ held
    ed = particular + Z @ ((Z.T @ along) / values)
    best = (Jp.T @ (residual - Md @ ed)) * row  # the multipliers of a*
    reported, share = (0.0, 0.0) if lam is None else _explained(step, lam, ad, residual, data, singular)
    condition = float(values[-1] / values[0]) if len(values) else 1.0
    # The floor is the error, in the mass norm, that rounding errors of the residuals may cause.
    # If rows are nearly dependent, the basis Z of the null space is inaccurate; `through` is the error that it causes.
    size_a, size_J = np.abs(ad), np.abs(Jd)
    size_f = np.abs(Md) @ (size_a + np.abs(particular)) + np.abs(fd) + size_J.T @ np.abs(held)
    size_c = size_J @ size_a + np.abs(gd)
    answers = (Z / np.sqrt(values)).T  # `answers` maps forces to accelerations in coordinates with M = 1
    called = Jp - answers.T @ (answers @ (Md @ Jp))  # `called` maps g to the acceleration that the rows require
    lengths = np.sqrt(np.maximum(np.einsum("ij,ij->j", called, Md @ called), 0.0))
    through = step.n * space.condition * resistance(values) * norm(along)
    floor = EPS * (through + norm(np.abs(answers) @ size_f) + float(lengths @ size_c))
    error = mass_norm(ed, Md @ ed)
    # Along nearly massless directions the terms of the mass norm nearly cancel, which adds a rounding error.
    floor += cancelled(ed, Md, error) if singular else 0.0
    condition *= space.condition
    seen, least = _without_mass(step, d, space) if singular else (step.J * d, space.least)
    return Certificate(
        error_bound=error, error_norm=norm(ed * d), constraint_residual=norm(step.J @ a - step.gamma),
        force_residual=reported, rounding_floor=floor, condition=condition, norm_a=mass_norm(ad, Md @ ad),
        norm_a_2=norm(a), norm_gamma=norm(step.gamma), verdict=Status.SOLVED, forces_unique=forces_unique,
        singular_mass=singular, lam=best, unit_error=norm(ed), force_share=share, independence=least,
        closeness=_closeness(seen),
    )  # fmt: skip


def _explained(
    step: StepData, lam: Vector, ad: Vector, residual: Vector, data: Balanced, singular: bool
) -> tuple[float, float]:
    """Return the residual of the equations of motion with `lam`, and its ratio to their terms (0 for regular M)."""
    if not math.isfinite(float(lam.sum())):
        return math.inf, 0.0
    Md, fd, d = data.M, data.f, data.d
    wide = d * (step.J.T.astype(np.longdouble) @ lam)
    pull, gap = np.asarray(wide, dtype=float), np.asarray(residual - wide, dtype=float)
    # Multipliers of dependent rows may be large and cancel: the rounding error of their sum counts as a residual.
    gap = gap + np.copysign(WIDE_EPS * d * (np.abs(step.J).T @ np.abs(lam)), gap)
    if not singular:
        L = cholesky(Md)
        return norm(gap) if L is None else norm(solve_lower(L, gap)), 0.0
    # A residual counts as zero if rounding errors of M a_J can cause it; a_J is the acceleration that the rows require.
    # If no force is applied, the rounding errors of a_J itself are the threshold.
    called = data.space.pinv @ data.g
    size_M, left, forces, reactions = np.abs(Md), norm(gap), norm(fd), norm(pull)
    inertia = size_M @ np.abs(called) if forces else called
    if not left > 8 * step.n * EPS * norm(inertia):
        left = 0.0
    # `share` is the residual divided by the sizes of all terms: of M a, which may cancel, and of all forces.
    terms, own = size_M @ np.abs(ad), Md.diagonal()
    share = beside(left, norm(terms), forces, reactions)
    # Set rounding errors to zero. Otherwise the division by sqrt(scaled mass) could enlarge them if rows set the scale.
    most = norm(terms) + forces + reactions
    beyond = np.abs(gap) > np.maximum(ROUNDED * (terms + np.abs(fd) + np.abs(pull)), 8 * step.n * EPS * most)
    missed = np.where((own > 0) | ~beyond, 0.0, gap)
    if left and missed.any():
        # Judge the share also in units in which nearly massless coordinates are scaled by their mass, not by the rows.
        ratio = scaled_by_rows(step.M, step.J, mass_scale(step.M))[0] / d
        share = max(share, beside(norm(missed * ratio), *(norm(x * ratio) for x in (terms, fd, pull))))
    gap = gap / np.sqrt(np.where((own > 0) & beyond, own, 1.0))
    return without_mass(gap, own > 0, forces + reactions), share


def _without_mass(step: StepData, d: Vector, space: RowSpace) -> tuple[Matrix, float]:
    """Return the rows of a step with singular M, scaled to unit length, and their smallest nonzero singular value.

    In coordinates of unit mass, a nearly massless coordinate would dominate all rows and make them nearly parallel.
    """
    seen = without_own_mass(step.M, np.abs(step.J), d, LEADING)
    rows = step.J * seen
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(lengths > 0, lengths, 1.0)
    if seen is d or not space.rank:
        return rows, space.least
    return rows, float(np.linalg.svd(rows, compute_uv=False)[space.rank - 1])


def _closeness(J: Matrix) -> Vector:
    """Return reciprocal squares of the distances of rows from the span of earlier rows, (m,); infinite if dependent.

    A dependent row is left out of the span for later rows, because its remainder is only rounding error.
    """
    lengths, rows = np.linalg.norm(J, axis=1), np.arange(len(J))
    found = np.full(len(J), np.inf)
    while len(rows):
        distances = np.abs(lapack().dgeqrf(J[rows].T)[0].diagonal())
        apart = rows[: len(distances)]
        follows = np.flatnonzero(~(distances > FOLLOWS * lengths[apart]))
        if not len(follows):
            found[apart] = distances**-2
            break
        rows = np.delete(rows, follows[0])
    return found
