"""Rounding in the rows of a step: the entries alone do not tell a small row from one whose terms cancel.

An entry of J is a sum of terms, such as the contributions of the two bodies of a joint. Where the terms cancel, what
is left is their rounding, and no constraint: rows across the plane of a planar loop are of this kind in joint
coordinates. So code that forms rows states for every entry the sizes of its terms, and entries below

    8 max(m, n) eps (sum of the sizes of the terms)

are set to zero when the step is made. From then on a row is zero or a constraint, however small: in other units a row
of 1e-12 may be a constraint.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Matrix, Vector

EPS = float(np.finfo(np.float64).eps)

DOUBT = 1e-9
"""Rounding of a row, relative to its largest entry, from which on ranks are read off singular values."""


def rounding(n: int, m: int) -> float:
    """Return 8 max(m, n) eps, the relative size of rounding in a step of m rows in n coordinates."""
    return 8 * max(m, n) * EPS


def without_rounding(J: Matrix, terms: Matrix | None) -> Matrix:
    """Return J (m, n) with zeros in place of entries that are rounding of their terms; J itself without terms.

    `terms` (m, n) are the sums of the sizes of the terms of each entry; zero where an entry is exact.
    """
    if terms is None:
        return J
    m, n = J.shape
    tiny = np.abs(J) <= rounding(n, m) * terms
    return np.where(tiny, 0.0, J) if tiny.any() else J


def without_rounding_of_zeros(J: Matrix, gamma: Vector, terms: Vector | None) -> Vector:
    """Return gamma (m,), zero in zero rows where it is rounding of its `terms`, (m,); gamma itself without terms."""
    if terms is None:
        return gamma
    m, n = J.shape
    tiny = ~J.any(axis=1) & (np.abs(gamma) <= rounding(n, m) * terms)
    return np.where(tiny, 0.0, gamma) if tiny.any() else gamma


def may_be_rounding(J: Matrix, terms: Matrix) -> bool:
    """Tell whether rounding of the terms (m, n) is so large a part of a row that its direction is in doubt."""
    return bool(
        (
            rounding(J.shape[1], len(J)) * terms.max(axis=1, initial=0.0) > DOUBT * np.abs(J).max(axis=1, initial=0.0)
        ).any()
    )
