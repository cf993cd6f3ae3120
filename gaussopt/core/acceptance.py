"""The acceptance rule of certificates, shared by Python classes, compiled kernels and arrays of rows."""

from __future__ import annotations

import math
from typing import NamedTuple

from gaussopt.core.tolerances import DEFAULT_TOLERANCE

NEGLIGIBLE = 1e-9
"""Relative size up to which an error is negligible, so that the natural scale of a step need not be computed."""

LARGEST = 1e300
"""Stands for an infinite error or residual; finite, so that it can be recorded."""


def accepts(
    tolerance: float, own_tolerance: float, error_bound: float, force_residual: float, law_residual: float,
    rounding_floor: float, constraint_residual: float, residual_share: float, natural_scale: float, norm_a: float,
    norm_gamma: float,
) -> bool:  # fmt: skip
    """Return whether the error bound, the residuals and the rounding floor of an answer are all small enough.

    The rule uses comparisons only, so that the same source serves for numbers, for arrays and for compiled kernels. An
    answer with a NaN never passes.

    Parameters
    ----------
    tolerance : relative to 1 + ||a||_M and 1 + ||gamma||; infinite if bounds are only recorded, not judged
    own_tolerance : float
        Tolerance relative to the scale of the step itself, `natural_scale` + ||a||_M: the "1 +" above has a unit, and
        where all quantities are far below 1 in that unit, errors must be small relative to the scale of the step.
    error_bound, force_residual, law_residual, rounding_floor : in the unit of ||a||_M, see `Certificate`
    constraint_residual : in the unit of ||gamma||
    residual_share : the largest of the residuals of the constraint rows, each relative to the terms of its row, so that
        rows of different units are not mixed as in `constraint_residual`; NaN if unknown
    natural_scale, norm_a, norm_gamma : scales to which the errors are compared, see `Certificate`
    """
    scale, size = tolerance * (1.0 + norm_a), own_tolerance * (natural_scale + norm_a)
    finite = (error_bound < math.inf) & (law_residual < math.inf) & (norm_a < math.inf) & (norm_gamma < math.inf)
    within = (error_bound <= scale) & (force_residual <= scale) & (law_residual <= scale)
    small = (error_bound <= size) & (force_residual <= size) & (law_residual <= size)
    resolved = (rounding_floor <= size) & (rounding_floor <= scale)
    rows = (constraint_residual <= tolerance * (1.0 + norm_gamma)) | (residual_share <= min(tolerance, NEGLIGIBLE))
    return finite & within & rows & ((small & resolved) | (tolerance == math.inf))


class Measures(NamedTuple):
    """The dimensionless numbers by which an answer to a program is judged.

    Attributes
    ----------
    possible : False if the program is known to have no answer
    residual : the largest of the residuals, each taken relative to the terms of its equation
    error : the relative error; 0 where it is unknown, so that the residual alone decides
    floor : the residual that rounding alone may cause
    rough : the largest residual of the conditions that need to hold only to the square root of the tolerance
    """

    possible: bool
    residual: float
    error: float = 0.0
    floor: float = 0.0
    rough: float = 0.0


class ProgramCertificate:
    """Base of the certificates of programs, which are accepted by the rule for steps, with dimensionless residuals."""

    __slots__ = ()

    @property
    def measures(self) -> Measures:
        """The dimensionless numbers by which the answer is judged."""
        raise NotImplementedError

    def passed(self, tolerance: float = DEFAULT_TOLERANCE) -> bool:
        """Return whether the errors are within the relative tolerance, and rounding errors too small to matter."""
        m = self.measures
        accepted = accepts(
            tolerance, own_tolerance=tolerance, error_bound=min(m.error, LARGEST), force_residual=0.0,
            law_residual=m.residual, rounding_floor=m.floor, constraint_residual=0.0, residual_share=math.nan,
            natural_scale=1.0, norm_a=0.0, norm_gamma=0.0,
        )  # fmt: skip
        return m.possible and bool(accepted) and m.rough <= math.sqrt(tolerance)
