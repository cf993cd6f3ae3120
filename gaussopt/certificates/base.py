"""`Certificate` holds the proved errors of a candidate acceleration; `explain` says why a candidate does not pass."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.acceptance import accepts
from gaussopt.core.arrays import Vector
from gaussopt.core.display import About, error_words, shown
from gaussopt.core.fast_frozen import fast_frozen
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.tolerances import DEFAULT_TOLERANCE, finite_entries
from gaussopt.linalg.dense import norm

ROUGH = 1e3
"""If M is singular, forces may be out of balance by this multiple of the tolerance, relative to their size."""


@shown
@fast_frozen
@dataclass(frozen=True, slots=True)
class Certificate:
    """Proved errors of a candidate (a, lam).

    Attributes
    ----------
    error_bound : ||a - a*||_M, kg^(1/2) m/s^2, exact up to `rounding_floor`; infinite if no unique a* exists
    error_norm : ||a - a*||_2, because the M-norm is zero in the null space of a singular M
    constraint_residual : ||J a - gamma||_2
    force_residual : float
        ||M a + h - Q - J^T lam||_{M^-1}, the residual of the equations of motion with the reported lam; 0 if no forces
        were reported. If M is singular, it is the 2-norm in coordinates of unit mass, with the entries of massless
        coordinates divided by 1 + the size of the forces.
    rounding_floor : the error of `error_bound` that rounding may cause
    condition : condition number of the system that the certificate solved; NaN if it was not computed
    norm_a, norm_a_2, norm_gamma : ||a||_M, ||a||_2, ||gamma||_2, relative to which `passed` judges errors
    verdict : Status
        Verdict on the step, whatever the candidate is: solved (a unique acceleration exists), infeasible, unbounded
        or acceleration_not_unique.
    forces_unique : whether the multipliers are unique
    singular_mass : bool
    lam : (m,), multipliers with the smallest residual of the equations of motion
    natural_scale : float
        Size, in the mass norm, of the accelerations that the forces and constraints of the step cause; infinite if it
        is not needed, because errors are tiny relative to ||a||_M.
    unit_error : float
        2-norm of the error in coordinates of unit mass, where massless coordinates are scaled by the rows that
        constrain them. NaN if it is unknown, or not needed because M is regular and `error_bound` suffices.
    residual_share : float
        Largest residual of a row of J a = gamma relative to the row's terms |J| |a| + |gamma|; NaN if it is not
        needed, because the constraint residual is tiny.
    force_share : float
        Residual of the equations of motion with the reported forces, relative to their terms; 0 if M is regular, so
        that `force_residual` suffices.
    independence : float
        Sine of the smallest angle between a row of J and the span of the rows before it, in the metric of M^-1. If M
        is singular or rows are nearly dependent, the smallest nonzero singular value of J in unit masses and rows of
        unit length is given instead; for independent rows it is a lower bound on the sine. NaN if unknown.
    closeness : (m,) or None
        Reciprocal square of the distance of each row of J from the span of the rows before it, in unit masses, with
        rows of unit length if M is singular; None if unknown.
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

    def _about(self) -> About:
        unique = "forces unique" if self.forces_unique else "forces not unique"
        words = error_words(self.error_bound, self.relative_error, self.rounding_floor)
        return About(f"the step is {self.verdict}, {unique}", (words,), list(self.to_mapping().items()))

    def passed(self, tolerance: float = DEFAULT_TOLERANCE) -> bool:
        """Return whether the errors are within the tolerance, relative to 1 + the size of a."""
        accepted = self.verdict is Status.SOLVED and accepts(
            tolerance, own_tolerance=self.own_tolerance(tolerance), error_bound=self.error_bound,
            force_residual=self.force_residual, law_residual=self.laws_missed, rounding_floor=self.rounding_floor,
            constraint_residual=self.constraint_residual, residual_share=self.residual_share,
            natural_scale=self.natural_scale, norm_a=self.norm_a, norm_gamma=self.norm_gamma,
        )  # fmt: skip
        return bool(accepted) and math.isfinite(self.norm_a_2) and self._holds_massless(tolerance)

    def own_tolerance(self, tolerance: float) -> float:
        """Return the largest error that is allowed relative to the scale of the step, `natural_scale` + ||a||_M."""
        return math.sqrt(tolerance)

    @property
    def laws_missed(self) -> float:
        """Residual of the contact laws, in the unit of ||a||_M; 0 without contacts."""
        return 0.0

    def _holds_massless(self, tolerance: float) -> bool:
        """Return whether errors and forces are small also in coordinates without mass, which the mass norm ignores."""
        if self.unit_error > math.sqrt(tolerance) * (self.natural_scale + self.norm_a):  # false if the error is NaN
            return False
        if self.force_share > ROUGH * tolerance:
            return False
        beside = not self.singular_mass or self.unit_error <= tolerance * self.norm_a
        return beside or self.error_norm <= tolerance * (1.0 + self.norm_a_2)

    @property
    def overflows(self) -> bool:
        """Whether a norm overflows, so that errors cannot be compared with it."""
        return not (math.isfinite(self.norm_a) and math.isfinite(self.norm_gamma) and math.isfinite(self.norm_a_2))

    @property
    def own_error(self) -> float:
        """The largest error (acceleration, forces, massless coordinates, rounding) relative to the scale of the step.

        If all quantities are far below 1 in their units, this number must be small for the candidate to pass.
        """
        largest = max(self.error_bound, self.force_residual)
        for more in (self.unit_error, self.rounding_floor):
            if more > largest:  # false if `more` is NaN
                largest = more
        size = self.natural_scale + self.norm_a
        return largest / size if size > 0.0 else math.inf if largest > 0.0 else 0.0

    @property
    def relative_error(self) -> float:
        """The ratio error_bound / (1 + ||a||_M), which `passed` compares with the tolerance."""
        return self.error_bound / (1.0 + self.norm_a)

    @property
    def at_rounding_level(self) -> bool:
        """Whether the error is so small that only its order of magnitude is known."""
        return self.error_bound <= 10 * self.rounding_floor

    def to_mapping(self) -> dict[str, Any]:
        """Return the certificate for JSON; infinite and undefined values become null."""
        numbers = finite_entries(
            self, "error_bound", "relative_error", "error_norm", "constraint_residual", "force_residual",
            "rounding_floor",
        )  # fmt: skip
        told = {"at_rounding_level": self.at_rounding_level, "verdict": str(self.verdict)}
        return {**numbers, **told, "forces_unique": self.forces_unique}


def beside(left: float, *terms: float) -> float:
    """Return the ratio of the residual `left` to the sum of the sizes of its terms; 0 if all terms are 0."""
    size = sum(terms)
    return left / size if size > 0.0 else 0.0


def without_mass(gap: Vector, heavy: NDArray[np.bool_], forces: float) -> float:
    """Return ||gap|| after dividing the entries of massless coordinates (not `heavy`) by 1 + `forces`."""
    return math.hypot(norm(gap[heavy]), norm(gap[~heavy]) / (1.0 + forces))


def unmeasured(
    step: StepData, verdict: Status, forces_unique: bool, singular_mass: bool, rounding_floor: float = math.nan
) -> Certificate:
    """Return a certificate with the verdict on the step only and infinite errors, because there is no candidate."""
    inf = math.inf
    return Certificate(
        error_bound=inf, error_norm=inf, constraint_residual=inf, force_residual=inf, rounding_floor=rounding_floor,
        condition=math.nan, norm_a=0.0, norm_a_2=0.0, norm_gamma=norm(step.gamma), verdict=verdict,
        forces_unique=forces_unique, singular_mass=singular_mass, lam=np.full(step.m, math.nan),
    )  # fmt: skip


def explain(certificate: Certificate, tolerance: float) -> str:
    """Return a sentence that says why the certificate of a candidate does not pass."""
    c = certificate
    if c.verdict is not Status.SOLVED:
        return c.verdict.sentence
    if not math.isfinite(c.error_bound):
        return "The solver returned no finite acceleration."
    if c.overflows:
        return "The numbers of the step are too large for any certificate; choose other units."
    if c.rounding_floor > tolerance * (1 + c.norm_a):
        floor = f"{c.rounding_floor / (1 + c.norm_a):.3g}" if math.isfinite(c.rounding_floor) else "beyond any bound"
        return (
            f"The step is so ill-conditioned that no answer can be certified at the tolerance {tolerance:.3g}: the "
            f"rounding floor of the certificate is {floor}."
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
    if c.laws_missed > tolerance * (1 + c.norm_a):
        parts.append(f"the contact and friction laws are missed by {c.laws_missed:.3g}")
    if c.constraint_residual > tolerance * (1 + c.norm_gamma):
        parts.append(f"the constraint residual is {c.constraint_residual:.3g}")
    return f"The certificate fails: {', '.join(parts)}; the tolerance is {tolerance:.3g}."
