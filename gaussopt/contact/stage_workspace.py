"""Codes and arrays of the kernel of a contact stage; see `gaussopt.contact.stage_kernel`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.lcp.pivoting import Index, Indices

MASSLESS, DEPENDENT_JOINTS, HELD, UNLAWFUL = 5, 6, 7, 8
"""Codes in addition to those of `gaussopt.lcp.pivoting`: M is not positive definite; the joints are dependent or nearly
so; a row is not moved by its own force; laws do not hold up to rounding errors."""

DEFINITE, P_MATRIX, ORIENTED, MONOTONE, UNDECIDED, OPEN = 0, 1, 2, 3, 4, 5
"""Proofs of uniqueness; proofs before `MONOTONE` hold for forces too. `UNDECIDED`: contacts may stick, and the general
path does not decide either. `OPEN`: all contacts slide, and the general path would try more proofs."""

NUMBERS = 11
"""error_bound, error_norm, constraint_residual, force_residual, rounding_floor, norm_a, norm_a_2, natural_scale,
law_residual, smallest_w, norm_gamma: the numbers of the certificate that a stage writes, in this order."""


class StageWorkspace(NamedTuple):
    """Working memory of `stage`, kept through a phase; see `stage_workspace`.

    Attributes
    ----------
    K, L, first, body : (n + m, n + m) twice, (n + m,), (3, n + m); the block of the joints in K must be zero
    rows, sigma, law, order : (2 p + 1, n + m), (c, d), (7, 2 p - c), (3, 2 p - c)
        Columns of the first 2 p `rows` from n on must be zero.
    motion, norm : (2 p + 1, n + m), (2 p + 1,)
        The kernel writes the motions due to forces along the rows, contact forces and all other forces; their norms.
    B, T, D : (2 p - c, 2 p - c)
    S : (c, c), written for contacts that slide: sym(delassus) in the unit of the mass norm
    """

    K: Matrix
    L: Matrix
    first: Index
    body: Matrix
    rows: Matrix
    motion: Matrix
    norm: Vector
    sigma: Matrix
    law: Matrix
    order: Indices
    B: Matrix
    S: Matrix
    T: Matrix
    D: Matrix


def stage_workspace(n: int, m: int, d: int, closed: int, resting: int) -> StageWorkspace:
    """Return a workspace for n coordinates, m joint rows, d tangents, `closed` contacts, `resting` without slip."""
    p, size, whole = closed + resting, closed + 2 * resting, n + m
    return StageWorkspace(
        np.zeros((whole, whole)), np.zeros((whole, whole)), np.zeros(whole, np.int64), np.zeros((3, whole)),
        np.zeros((2 * p + 1, whole)), np.zeros((2 * p + 1, whole)), np.zeros(2 * p + 1), np.zeros((closed, d)),
        np.zeros((7, size)), np.zeros((3, size), np.int64), np.zeros((size, size)), np.zeros((closed, closed)),
        np.zeros((size, size)), np.zeros((size, size)),
    )  # fmt: skip
