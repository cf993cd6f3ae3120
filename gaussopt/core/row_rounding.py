"""Remove rounding errors from constraint rows: distinguish a small row from a row whose terms cancel.

An entry of J is a sum of terms, such as the contributions of the two bodies of a joint. Where the terms cancel, only
their rounding errors are left, which must not act as a constraint. Examples are the rows normal to the plane of a
planar loop in joint coordinates. So code that forms rows also returns the sizes of the terms, and entries below

    8 max(m, n) eps (sum of the sizes of the terms)

are set to zero when the step is made. From then on every nonzero row is a constraint, however small it is, because in
other units a row of 1e-12 may be a genuine constraint.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Matrix, Vector

EPS = float(np.finfo(np.float64).eps)

DOUBT = 1e-9
"""Rounding error of a row, relative to its largest entry, above which ranks are determined from singular values."""


def rounding(n: int, m: int) -> float:
    """Return 8 max(m, n) eps, the relative size of rounding errors in a step with m rows and n coordinates."""
    return 8 * max(m, n) * EPS


def without_rounding(J: Matrix, terms: Matrix | None) -> Matrix:
    """Return J, (m, n), with zeros in place of entries that are only rounding errors of their terms.

    `terms`, (m, n), holds the sums of the sizes of each entry's terms, 0 for exact entries; None leaves J unchanged.
    """
    if terms is None:
        return J
    m, n = J.shape
    tiny = np.abs(J) <= rounding(n, m) * terms
    return np.where(tiny, 0.0, J) if tiny.any() else J


def without_rounding_of_zeros(J: Matrix, gamma: Vector, terms: Vector | None) -> Vector:
    """Return gamma, (m,), with zeros for rows of J that are zero, if gamma is a rounding error of `terms`, (m,)."""
    if terms is None:
        return gamma
    m, n = J.shape
    tiny = ~J.any(axis=1) & (np.abs(gamma) <= rounding(n, m) * terms)
    return np.where(tiny, 0.0, gamma) if tiny.any() else gamma


def may_be_rounding(J: Matrix, terms: Matrix) -> bool:
    """Return whether rounding errors of the terms, (m, n), are so large that the direction of a row is in doubt."""
    return bool(
        (
            rounding(J.shape[1], len(J)) * terms.max(axis=1, initial=0.0) > DOUBT * np.abs(J).max(axis=1, initial=0.0)
        ).any()
    )
