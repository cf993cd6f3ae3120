"""The rule by which the numbers of a step's certificate pass, one for classes, compiled kernels and arrays of rows."""

from __future__ import annotations

import math

NEGLIGIBLE = 1e-9
"""Error relative to ||a||_M below which the natural scale of the step does not matter."""


def accepts(
    tolerance: float, own: float, error: float, force: float, laws: float, floor: float, constraint: float,
    share: float, natural: float, norm_a: float, norm_gamma: float,
) -> bool:  # fmt: skip
    """Whether error bound, force residual, law residual, rounding floor and constraint residual are small enough.

    Written with comparisons only, so that it holds for numbers, for arrays, and translated to machine code; a NaN is
    small beside nothing.

    Parameters
    ----------
    tolerance : relative to 1 + ||a||_M and 1 + ||gamma||; infinite where bounds are only recorded
    own : float
        The same relative to what the step itself calls for, `natural` + ||a||_M: the "1 +" has a unit, and where
        everything is far below it errors must be small beside this.
    share : largest residual of a row beside its own terms, instead of one norm of rows of several units; NaN if unknown
    """
    scale, size = tolerance * (1.0 + norm_a), own * (natural + norm_a)
    finite = (error < math.inf) & (laws < math.inf) & (norm_a < math.inf) & (norm_gamma < math.inf)
    within = (error <= scale) & (force <= scale) & (laws <= scale)
    small = (error <= size) & (force <= size) & (laws <= size) & (floor <= size) & (floor <= scale)
    rows = (constraint <= tolerance * (1.0 + norm_gamma)) | (share <= min(tolerance, NEGLIGIBLE))
    return finite & within & rows & (small | (tolerance == math.inf))
