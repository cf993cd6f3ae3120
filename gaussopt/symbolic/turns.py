"""Find unit quaternions of a model, to replace four accelerations and a constraint by three unknowns.

With a row c (e . e - 1), the accelerations e'' of a quaternion that satisfy its row, 2 c e . e'' = g, are

    e'' = T w + beta e,   T = G(e)^T / (2 e . e),   beta = g / (2 c e . e),   G e = 0,

for any w, three numbers. In these unknowns the mass matrix of a rigid body is its inertia, T^T 4 G^T I G T = I, which
is constant and regular, whereas 4 G^T I G is singular and some of its minors vanish wherever an entry of e does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

SAMPLES = 3
"""Number of random quaternions at which T^T M T is compared with its value at (1, 0, 0, 0)."""

ROUNDED = 1e-12
"""These values of T^T M T count as equal up to this difference, relative to the entries of M."""

STAND_INS = sp.symbols("e:4 rate:4", real=True, cls=sp.Dummy)
"""Symbols for the coordinates of any quaternion, and for their rates."""


class Turn(NamedTuple):
    """A unit quaternion of a model.

    Attributes
    ----------
    row : the index of its row, the constraint of unit length
    e : the indices of its four coordinates
    inertia : (3, 3), T^T M T, expressions of parameters
    weightless : whether M e = 0
    rigid : whether the inertia forces h are those of a rigid body, 8 G(e')^T I G(e) e'
    """

    row: int
    e: tuple[int, ...]
    inertia: tuple[tuple[Any, ...], ...]
    weightless: bool
    rigid: bool


def turn_of(row: int, e: Sequence[int], given: tuple[Any, Any], symbols_of: tuple[Any, Any, Any]) -> Turn | None:
    """Return the quaternion with the coordinates e of a model with this (M, h) and these symbols (q, v, p).

    Returns None if M couples e with other coordinates, or T^T M T and T^T M e are not constant and zero.
    """
    (M, h), (q, v, p) = given, symbols_of
    symbols, block = [q[x] for x in e], [M[a][b] for a in e for b in e]
    apart = all(M[a][b] == 0 for a in e for b in range(len(q)) if b not in e)
    if not apart or not set().union(*(x.free_symbols for x in block)) <= {*symbols, *p}:
        return None
    rates = [v[x] for x in e]
    form = dict(zip((*symbols, *rates), STAND_INS, strict=True))
    found = _of_form(*(tuple(sp.sympify(x).xreplace(form) for x in xs) for xs in (block, [h[x] for x in e], p)))
    return None if found is None else Turn(row, tuple(e), *found)


@lru_cache(64)
def _of_form(block: tuple[Any, ...], h: tuple[Any, ...], p: tuple[Any, ...]) -> tuple[Any, bool, bool] | None:
    """Return `inertia`, `weightless` and `rigid` of a `Turn` from its M and h, as functions of STAND_INS and p.

    The result is cached, because bodies of equal masses differ in their symbols only.
    """
    symbols, rates = STAND_INS[:4], STAND_INS[4:]
    numbers = sp.lambdify([symbols, p], block, cse=True)
    random = np.random.default_rng(0)
    values = random.uniform(0.5, 1.5, len(p))

    def at(e: Any) -> Any:
        return np.array(numbers(e, values), dtype=float).reshape(4, 4)

    still, weightless = at([1.0, 0.0, 0.0, 0.0])[1:, 1:] / 4, True
    for now in random.uniform(-1.0, 1.0, (SAMPLES, 4)):
        mass, T = at(now), np.array(rows_of(now)).T / (2 * now @ now)
        near = ROUNDED * float(np.abs(mass).max())
        if np.abs(T.T @ mass @ T - still).max() > near / (now @ now) or np.abs(T.T @ mass @ now).max() > near:
            return None
        weightless &= bool((np.abs(mass @ now) <= near).all())
    there = dict(zip(symbols, (1, 0, 0, 0), strict=True))
    inertia = tuple(tuple(block[4 * a + b].xreplace(there) / 4 for b in range(1, 4)) for a in range(1, 4))
    short = sp.Matrix(rows_of(rates)).T * (8 * sp.Matrix(inertia) * (sp.Matrix(rows_of(symbols)) * sp.Matrix(rates)))
    if not set().union(*(x.free_symbols for x in h)) <= {*STAND_INS, *p}:
        return inertia, weightless, False
    both = sp.lambdify([symbols, rates, p], [*h, *short], cse=True)
    for now, rate in random.uniform(-1.0, 1.0, (SAMPLES, 2, 4)):
        derived, written = np.array(both(now, rate, values), dtype=float).reshape(2, 4)
        if np.abs(derived - written).max() > ROUNDED * np.abs(derived).max():
            return inertia, weightless, False
    return inertia, weightless, True


def rows_of(e: Sequence[Any]) -> list[list[Any]]:
    """Return G(e), (3, 4)."""
    a, b, c, d = e
    return [[-b, a, d, -c], [-c, -d, a, b], [-d, c, -b, a]]
