"""How far a candidate acceleration is from the true one, computed from the mechanics alone.

For equality constraints the distance to the Gauss minimiser a* is computable without solving the problem:
with r_c = J a - gamma, S = (J M^-1 J^T)^-1 and lam = S J M^-1 (M a - Q + h),

    ||a - a*||_M^2 = ||M a + h - Q - J^T lam||_{M^-1}^2 + r_c^T S r_c

(an M-orthogonal splitting into ker J and its complement). For singular M or dependent rows the error itself
is e = J^+ r_c + Z (Z^T M Z)^-1 Z^T (M a + h - Q - M J^+ r_c), Z a basis of ker J.
A constraint check alone proves nothing: a wrong formula can satisfy J a = gamma to the last digit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from gaussopt.core.arrays import check_mass_matrix
from gaussopt.core.errors import NotAccepted
from gaussopt.core.fast_frozen import fast_frozen
from gaussopt.core.status import Status
from gaussopt.core.step_data import Matrix, StepData, Vector
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.linalg.balance import Balanced, resistance
from gaussopt.linalg.dense import (
    EPS,
    cholesky,
    equilibrate,
    invert_lower,
    lapack,
    mass_norm,
    nearest,
    norm,
    solve_lower,
    solve_lower_transposed,
)

ROUGH = 1e3
"""How many tolerances forces that hold coordinates without mass may be off beside themselves."""

NEGLIGIBLE = 1e-9
"""Error relative to ||a||_M below which the natural scale of the step does not matter."""

DEPENDENT = 1e-8
"""Pivot of J M^-1 J^T, relative to its diagonal, below which rows go to the rank-revealing path."""

TINY = 1e-250
"""Squares below which the generated certificate may have lost what they stand for."""

QUIETLY = np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")
"""Numbers beyond the range of numbers do not pass, and are no warning."""

LARGE = 1e250
"""Squares above which it may be about to overflow."""


@fast_frozen
@dataclass(frozen=True, slots=True)
class Certificate:
    """What is proved about a candidate (a, lam).

    Attributes
    ----------
    error_bound : float
        ||a - a*||_M, exact up to `rounding_floor`; infinite where no unique a* exists. Unit kg^(1/2) m/s^2.
    error_norm : float
        ||a - a*||_2; the M-norm sees nothing in the null space of a singular M.
    constraint_residual : float
        ||J a - gamma||_2.
    force_residual : float
        ||M a + h - Q - J^T lam||_{M^-1} for the reported lam: how far the reported forces are from
        explaining a (in the 2-norm if M is singular); 0 if none were reported.
    rounding_floor : float
        The bound cannot be trusted below this value.
    condition : float
        Condition number of the system that the certificate solved (NaN on the regular path).
    norm_a, norm_a_2, norm_gamma : float
        ||a||_M, ||a||_2, ||gamma||_2, the scales of `passed`.
    verdict : Status
        What the mechanics say of the step itself: solved (a unique acceleration exists), infeasible,
        unbounded or acceleration_not_unique.
    forces_unique : bool
        Whether the multipliers are determined.
    singular_mass : bool
    lam : (m,)
        Multipliers that best explain a.
    natural_scale : float
        Size of the accelerations that the forces and constraints of the step call for, in the mass norm; infinite
        where errors are so small beside ||a||_M that it is not needed.
    unit_error : float
        The error in coordinates of unit mass, coordinates without mass measured by the rows that hold them; NaN where
        M is regular and `error_bound` says it all, or where it is not known.
    residual_share : float
        Largest residual of a row of J a = gamma beside its terms |J| |a| + |gamma|; NaN where the constraint residual
        is so small that it is not needed.
    force_share : float
        What the reported forces leave of the equations of motion beside the terms of these; 0 where M is regular and
        `force_residual` says it all.
    independence : float
        Sine of the smallest angle between a row of J and those before it, in the metric of M^-1, an upper bound of the
        smallest singular value of J in unit masses and rows of unit length; where M is singular or rows are nearly
        dependent that singular value, dependent rows left out. NaN where it is not known.
    closeness : (m,) or None
        Reciprocal square of the distance of each row of J from those before it, in unit masses; None where it is not
        known.
    """

    error_bound: float
    error_norm: float
    constraint_residual: float
    force_residual: float
    rounding_floor: float
    condition: float
    norm_a: float
    norm_a_2: float
    norm_gamma: float
    verdict: Status
    forces_unique: bool
    singular_mass: bool
    lam: Vector
    natural_scale: float = math.inf
    unit_error: float = math.nan
    residual_share: float = math.nan
    force_share: float = 0.0
    independence: float = math.nan
    closeness: Vector | None = None

    def passed(self, tolerance: float = DEFAULT_TOLERANCE) -> bool:
        """Whether the candidate is within tolerance (relative, plus the same absolute amount)."""
        if self.verdict is not Status.SOLVED or not math.isfinite(self.error_bound):
            return False
        scale, anything = tolerance * (1.0 + self.norm_a), math.isinf(tolerance)
        if self.overflows:
            return False
        good = (
            (anything or (self.own_error <= math.sqrt(tolerance) and not self.rounding_floor > scale))
            and self.error_bound <= scale
            and self.force_residual <= scale
        )
        # Without mass forces are no accelerations, and none of these says how large they are.
        good = good and not self.force_share > ROUGH * tolerance
        # One norm of all rows, which may have units of their own each; or each row beside its own terms.
        aligned = self.residual_share <= min(tolerance, NEGLIGIBLE)
        good = good and (aligned or self.constraint_residual <= tolerance * (1.0 + self.norm_gamma))
        if self.singular_mass:
            beside = self.unit_error <= tolerance * self.norm_a
            good = good and (beside or self.error_norm <= tolerance * (1.0 + self.norm_a_2))
        return good

    @property
    def overflows(self) -> bool:
        """Whether norms are beyond the range of numbers, so that nothing can be compared with them."""
        return not (math.isfinite(self.norm_a) and math.isfinite(self.norm_gamma) and math.isfinite(self.norm_a_2))

    @property
    def own_error(self) -> float:
        """Largest error, forces, rounding and massless coordinates included, beside what the step itself calls for.

        The "1 +" of `passed` has a unit. Where everything is far below it, errors must at least be small beside this;
        and nothing passes that the arithmetic cannot resolve.
        """
        largest = max(self.error_bound, self.force_residual)
        for more in (self.unit_error, self.rounding_floor):
            if more > largest:  # a NaN loses
                largest = more
        size = self.natural_scale + self.norm_a
        return largest / size if size > 0.0 else math.inf if largest > 0.0 else 0.0

    @property
    def relative_error(self) -> float:
        """error_bound / (1 + ||a||_M), what `passed` compares with the tolerance."""
        return self.error_bound / (1.0 + self.norm_a)

    @property
    def at_rounding_level(self) -> bool:
        """Whether the error is so small that only its order of magnitude is known."""
        return self.error_bound <= 10 * self.rounding_floor

    def to_mapping(self) -> dict[str, Any]:
        """For JSON; infinite and undefined values become null."""

        def number(value: float) -> float | None:
            return value if math.isfinite(value) else None

        return {
            "error_bound": number(self.error_bound),
            "relative_error": number(self.relative_error),
            "error_norm": number(self.error_norm),
            "constraint_residual": number(self.constraint_residual),
            "force_residual": number(self.force_residual),
            "rounding_floor": number(self.rounding_floor),
            "at_rounding_level": self.at_rounding_level,
            "verdict": str(self.verdict),
            "forces_unique": self.forces_unique,
        }


def certify(step: StepData, a: Vector | None, lam: Vector | None = None) -> Certificate:
    """Certify a candidate acceleration of a step without contacts.

    Parameters
    ----------
    step : StepData
    a : (n,) or None
        The candidate; None only classifies the step.
    lam : (m,) or None
        Reported multipliers, to be certified too.

    Raises
    ------
    NotAccepted
        If the step has contacts.
    BadInput
        If M is asymmetric or indefinite.

    Notes
    -----
    Sparse steps have a path of their own, `gaussopt.certificates.bilateral_sparse`.
    """
    if step.k:
        raise NotAccepted(f"The step has {step.k} contacts; the certificate covers steps without contacts.")
    found = _generated(step, a, lam) if step.arithmetic is not None and a is not None else None
    if found is None:
        if a is not None and not math.isfinite(float(a.sum())):
            a = None
        if lam is not None and not math.isfinite(float(lam.sum())):
            lam = np.full(step.m, np.inf)
        if step.sparse:
            from gaussopt.certificates.bilateral_sparse import certify_sparse

            return certify_sparse(step, a, lam)
        found = _regular(step, a, lam)
    if found is None:
        found = _careful(step, a, lam)
    if a is not None and found.verdict is Status.SOLVED:
        found = _beside_its_own(step, a, found)
    return found


def _beside_its_own(step: StepData, a: Vector, found: Certificate) -> Certificate:
    """With the scales of the step itself, where its errors are not so small that they do not matter."""
    c = found
    if c.rounding_floor > DEFAULT_TOLERANCE * (1.0 + c.norm_a) and not c.singular_mass and math.isnan(c.condition):
        sharper = _careful(step, a, None)
        if sharper.rounding_floor < c.rounding_floor and sharper.verdict is Status.SOLVED:
            found = replace(c, rounding_floor=sharper.rounding_floor, error_bound=sharper.error_bound)
    least = NEGLIGIBLE * c.norm_a
    if c.error_bound > least or c.force_residual > least or c.unit_error > least or c.rounding_floor > least:
        found = replace(found, natural_scale=_natural_scale(step))
    if c.constraint_residual > NEGLIGIBLE * (1.0 + c.norm_gamma):
        found = replace(found, residual_share=_residual_share(step, a))
    return found


def _residual_share(step: StepData, a: Vector) -> float:
    """The largest residual of a row beside its terms."""
    left, terms = np.abs(step.J @ a - step.gamma), np.abs(step.J) @ np.abs(a) + np.abs(step.gamma)
    return float((left / np.where(terms > 0, terms, 1.0)).max(initial=0.0))


@QUIETLY
def _natural_scale(step: StepData) -> float:
    """About ||M^-1 (Q - h)||_M plus the size of what J a = gamma alone asks for, of massless coordinates too."""
    d, _ = equilibrate(step.M, step.J)
    return norm(step.force * d) + norm(nearest(step.M, step.J, step.gamma) / d)


def _generated(step: StepData, a: Vector, lam: Vector | None) -> Certificate | None:
    """The regular path by the system's straight-line source, some six times faster; None where a pivot fails."""
    assert step.arithmetic is not None
    evaluation, flat = step.arithmetic
    found = evaluation.certificate(flat, a, lam, step.m)
    if found is None:
        return None
    out, best, inverse = found
    # Squares of numbers beyond 1e125 or below 1e-125 overflow or vanish; the other path scales them.
    if not sum(out) < LARGE:
        return None
    if abs(out[5]) < TINY and (abs(out[4]) < TINY or abs(out[0]) < TINY) and _acts(step, a):
        return None
    # Sums of squares; abs, because rounding may leave a zero slightly negative.
    return Certificate(
        sqrt(abs(out[0])), sqrt(abs(out[1])), sqrt(out[2]), sqrt(abs(out[3])), EPS * sqrt(abs(out[4])), math.nan,
        sqrt(abs(out[5])), sqrt(out[6]), sqrt(out[7]), Status.SOLVED, True, False, best,
        independence=1.0 / sqrt(out[8]), closeness=inverse,
    )  # fmt: skip


def _acts(step: StepData, a: Vector) -> bool:
    """Whether anything of a step and its candidate is not zero."""
    return bool(a.any() or step.gamma.any() or step.force.any())


@QUIETLY
def _regular(step: StepData, a: Vector | None, lam: Vector | None) -> Certificate | None:
    """M positive definite and J of full row rank; None if not."""
    M, J, gamma = step.M, step.J, step.gamma
    if not np.array_equal(M, M.T):
        return None
    L = cholesky(M)
    if L is None:
        return None
    B = solve_lower(L, J.T)
    G = B.T @ B
    C, diagonal = cholesky(G), G.diagonal()
    # Beyond this conditioning the Gram matrix has lost the digits that tell dependent rows apart.
    if C is None or (len(C) and ((pivots := C.diagonal() ** 2) < DEPENDENT * diagonal).any()):
        return None
    if a is None:
        return _undecided(Status.SOLVED, step, True, False)
    f = step.Q - step.h
    Ma = M @ a
    u = solve_lower(L, Ma - f)
    best = solve_lower_transposed(C, solve_lower(C, B.T @ u))
    kernel = u - B @ best
    # Once more: the normal equations alone leave a part of range B in the kernel component.
    correction = solve_lower_transposed(C, solve_lower(C, B.T @ kernel))
    best, kernel = best + correction, kernel - B @ correction
    r_c = J @ a - gamma
    s = solve_lower(C, r_c)
    reported = 0.0 if lam is None else norm(u - B @ lam) if math.isfinite(float(lam.sum())) else math.inf
    size_r = np.abs(M) @ np.abs(a) + np.abs(f) + np.abs(J.T) @ np.abs(best)
    size_c = np.abs(J) @ np.abs(a) + np.abs(gamma)
    floor = EPS * math.hypot(norm(np.abs(invert_lower(L)) @ size_r), norm(np.abs(invert_lower(C)) @ size_c))
    # The error vector itself: M^-1/2 times its two orthogonal parts.
    error = solve_lower_transposed(L, kernel + B @ solve_lower_transposed(C, s))
    return Certificate(
        math.hypot(norm(kernel), norm(s)), norm(error), norm(r_c), reported, floor, float("nan"),
        mass_norm(a, Ma), norm(a), norm(gamma), Status.SOLVED, True, False, best,
        independence=math.sqrt(float((pivots / diagonal).min())) if len(C) else 1.0,
        closeness=1.0 / pivots if len(C) else gamma,
    )  # fmt: skip


@QUIETLY
def _careful(step: StepData, a: Vector | None, lam: Vector | None) -> Certificate:
    """Singular M or dependent rows: ranks first, then the exact error."""
    M = check_mass_matrix(step.M)
    n = step.n
    # Coordinates scaled by their masses and rows to unit length: ranks must not depend on units.
    data = Balanced.of(step, M)
    d, row, space = data.d, data.row, data.space
    forces_unique = space.rank == step.m
    if data.contradictory():
        return _undecided(Status.INFEASIBLE, step, forces_unique, True)
    if data.free.any():
        verdict = Status.UNBOUNDED if data.pulled() else Status.ACCELERATION_NOT_UNIQUE
        return _undecided(verdict, step, forces_unique, True)
    singular = cholesky(M) is None
    if a is None:
        return _undecided(Status.SOLVED, step, forces_unique, singular)
    Md, fd, Jd, gd = data.M, data.f, data.J, data.g
    values, ways = data.inertia
    Z, Jp = ways, space.pinv
    ad = a / d
    r_c = Jd @ ad - gd
    particular = Jp @ r_c
    residual = Md @ ad - fd
    # Constraint forces are taken out before the null space asks what is left: its basis is not exact.
    along = residual - Md @ particular
    held = Jp.T @ along
    along = along - Jd.T @ held
    ed = particular + Z @ ((Z.T @ along) / values)
    best = (Jp.T @ (residual - Md @ ed)) * row  # forces that hold the true acceleration
    reported = share = 0.0
    if lam is not None and not math.isfinite(float(lam.sum())):
        reported = math.inf
    elif lam is not None:
        pull = (step.J * d).T @ lam
        gap = residual - pull
        # The terms of M a, not M a itself, which may vanish while they do not, with all forces.
        share = beside(norm(gap), norm(np.abs(Md) @ np.abs(ad)), norm(fd), norm(pull)) if singular else 0.0
        L = None if singular else cholesky(Md)
        reported = norm(gap if L is None else solve_lower(L, gap))
    condition = float(values[-1] / values[0]) if len(values) else 1.0
    # Rounding of the residuals, as the error in the mass norm that it may feign. The basis of a null space is as exact
    # as the rows are independent, and lets as much of the other forces through.
    size_f = np.abs(Md) @ (np.abs(ad) + np.abs(particular)) + np.abs(fd) + np.abs(Jd).T @ np.abs(held)
    size_c = np.abs(Jd) @ np.abs(ad) + np.abs(gd)
    answers = (Z / np.sqrt(values)).T  # to forces
    called = Jp - answers.T @ (answers @ (Md @ Jp))  # by rows
    lengths = np.sqrt(np.maximum(np.einsum("ij,ij->j", called, Md @ called), 0.0))
    through = n * space.condition * resistance(values) * norm(along)
    floor = EPS * (through + norm(np.abs(answers) @ size_f) + float(lengths @ size_c))
    condition *= space.condition
    return Certificate(
        mass_norm(ed, Md @ ed), norm(ed * d), norm(step.J @ a - step.gamma), reported, floor,
        condition, mass_norm(ad, Md @ ad), norm(a), norm(step.gamma), Status.SOLVED,
        forces_unique, singular, best, unit_error=norm(ed), force_share=share, independence=space.least,
        closeness=_closeness(step.J * d),
    )  # fmt: skip


def _closeness(J: Matrix) -> Vector:
    """Reciprocal squares of the distances of rows from those before them, (m,); infinite beyond the n-th row."""
    m, n = J.shape
    found = np.full(m, np.inf)
    if m:
        found[:n] = 1.0 / lapack().dgeqrf(J.T)[0].diagonal() ** 2
    return found


def beside(left: float, *terms: float) -> float:
    """What is left relative to the terms that it is the sum of."""
    size = sum(terms)
    return left / size if size > 0.0 else 0.0


def _undecided(verdict: Status, step: StepData, forces_unique: bool, singular: bool) -> Certificate:
    """A classification of the step without a candidate to measure."""
    inf, nan = float("inf"), float("nan")
    return Certificate(
        inf, inf, inf, inf, nan, nan, 0.0, 0.0, norm(step.gamma), verdict, forces_unique, singular,
        np.full(step.m, nan),
    )  # fmt: skip


def _floor(c: Certificate) -> str:
    return f"{c.rounding_floor / (1 + c.norm_a):.3g}" if math.isfinite(c.rounding_floor) else "beyond any bound"


def explain(step: StepData, certificate: Certificate, tolerance: float) -> str:
    """One sentence on why a candidate does not pass."""
    c = certificate
    if c.verdict is not Status.SOLVED:
        return c.verdict.sentence
    if not math.isfinite(c.error_bound):
        return "The solver returned no finite acceleration."
    if c.overflows:
        return "The numbers of the step are too large for any certificate; choose other units."
    if c.rounding_floor > tolerance * (1 + c.norm_a):
        return (
            f"The step is so ill-conditioned that no answer can be certified at the tolerance {tolerance:.3g}: the "
            f"rounding floor of the certificate is {_floor(c)}."
        )
    parts = [f"the acceleration is {c.relative_error:.3g} (relative, mass norm) from the true one"]
    if c.own_error > math.sqrt(tolerance):
        size = c.own_error * (c.natural_scale + c.norm_a)
        parts = [f"the error {size:.3g} is not small beside what the step calls for, {c.natural_scale:.3g}"]
    if c.singular_mass:
        parts.append(f"its error is {c.error_norm:.3g} in the 2-norm")
    if c.force_residual > tolerance * (1 + c.norm_a):
        parts.append(f"the reported forces miss it by {c.force_residual:.3g}")
    if c.force_share > ROUGH * tolerance:
        parts.append(f"forces do not balance where there is no mass, by {c.force_share:.3g} of their size")
    laws = getattr(c, "law_residual", 0.0)
    if laws > tolerance * (1 + c.norm_a):
        parts.append(f"the contact and friction laws are missed by {laws:.3g}")
    if c.constraint_residual > tolerance * (1 + c.norm_gamma):
        parts.append(f"the constraint residual is {c.constraint_residual:.3g}")
    return f"The certificate fails: {', '.join(parts)}; the tolerance is {tolerance:.3g}."
