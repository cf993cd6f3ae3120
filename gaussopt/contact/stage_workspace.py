"""Codes and arrays of the kernel of a contact stage; see `gaussopt.contact.stage_kernel`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.lcp.pivoting import Index, Indices

MASSLESS, DEPENDENT_JOINTS, HELD, UNLAWFUL = 5, 6, 7, 8
"""Codes beside those of `gaussopt.lcp.pivoting`: M is not positive definite; the joints depend on each other or nearly
so; a row is not moved by its own force; laws do not hold to rounding."""

DEFINITE, P_MATRIX, ORIENTED, MONOTONE, UNDECIDED, OPEN = 0, 1, 2, 3, 4, 5
"""How uniqueness is known, of forces also where it comes before `MONOTONE`; undecided as the general path leaves it for
contacts that stick, or open: it would look further at these, which slide."""

NUMBERS = 11
"""error_bound, error_norm, constraint_residual, force_residual, rounding_floor, norm_a, norm_a_2, natural_scale,
law_residual, smallest_w, norm_gamma: what a stage writes of its certificate, in this order."""


class StageWorkspace(NamedTuple):
    """What `stage` works in, kept through a phase; see `stage_workspace`.

    Attributes
    ----------
    K, L, first, body : (n + m, n + m) twice, (n + m,), (3, n + m); the block of the joints in K must be zero
    rows, sigma, law, order : (2 p + 1, n + m), (c, d), (7, 2 p - c), (3, 2 p - c)
        Columns of `rows` behind n must be zero.
    motion, norm : (2 p + 1, n + m), (2 p + 1,)
        Written: what the rows, their forces, and the forces without contacts cause; its mass norm.
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
    """Return one for n coordinates, m joint rows, d tangents and `closed` contacts, `resting` of them without slip."""
    p, size, whole = closed + resting, closed + 2 * resting, n + m
    return StageWorkspace(
        np.zeros((whole, whole)), np.zeros((whole, whole)), np.zeros(whole, np.int64), np.zeros((3, whole)),
        np.zeros((2 * p + 1, whole)), np.zeros((2 * p + 1, whole)), np.zeros(2 * p + 1), np.zeros((closed, d)),
        np.zeros((7, size)), np.zeros((3, size), np.int64), np.zeros((size, size)), np.zeros((closed, closed)),
        np.zeros((size, size)), np.zeros((size, size)),
    )  # fmt: skip
