"""Numbers of 75 decimals: integers that count units of 2^-256, alone and in arrays of objects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

BITS = 256
ONE = 1 << BITS
Fixed = int
Array = Any
"""An array of such integers."""


def _one(x: float | int | Fraction) -> int:
    top, den = x.as_integer_ratio()
    return (top << BITS) // den


_all = np.frompyfunc(lambda x: _one(x if isinstance(x, int | Fraction) else float(x)), 1, 1)
_float = np.frompyfunc(lambda x: x / ONE, 1, 1)


def fixed(x: Any) -> Any:
    """The exact numbers of floats, rounded down to units; arrays and lists as arrays."""
    return _one(x) if isinstance(x, int | float | Fraction) else _all(np.asarray(x))


def floats(x: Any) -> Any:
    """The floats next to the numbers."""
    return x / ONE if isinstance(x, int) else np.asarray(_float(x), dtype=float)


def zeros(*shape: int) -> Array:
    return np.full(shape, 0, dtype=object)


def mul(a: Any, b: Any) -> Any:
    """Entry by entry."""
    return (a * b) >> BITS


def dot(a: Array, b: Array) -> Any:
    """Products of matrices and vectors."""
    return (a @ b) >> BITS


def div(a: int, b: int) -> int:
    return (a << BITS) // b


def root(a: int) -> int:
    return math.isqrt(a << BITS)


def norm(a: Sequence[int] | Array) -> int:
    return math.isqrt(sum(x * x for x in a))


def unit(a: Array) -> Array:
    size = norm(a)
    return np.array([div(x, size) for x in a], dtype=object)


def cross(a: Array, b: Array) -> Array:
    a0, a1, a2 = a
    b0, b1, b2 = b
    return np.array(
        [(a1 * b2 - a2 * b1) >> BITS, (a2 * b0 - a0 * b2) >> BITS, (a0 * b1 - a1 * b0) >> BITS], dtype=object
    )


def identity(n: int) -> Array:
    out = zeros(n, n)
    for i in range(n):
        out[i, i] = ONE
    return out


def rotation(e: Array) -> Array:
    """The matrix of a unit quaternion (e0, e1, e2, e3)."""
    w, x, y, z = e
    two = 2
    rows = [
        [ONE - ((two * (y * y + z * z)) >> BITS), (two * (x * y - w * z)) >> BITS, (two * (x * z + w * y)) >> BITS],
        [(two * (x * y + w * z)) >> BITS, ONE - ((two * (x * x + z * z)) >> BITS), (two * (y * z - w * x)) >> BITS],
        [(two * (x * z - w * y)) >> BITS, (two * (y * z + w * x)) >> BITS, ONE - ((two * (x * x + y * y)) >> BITS)],
    ]
    return np.array(rows, dtype=object)


def about(axis: Array, half: Fraction | float) -> Array:
    """The unit quaternion of a turn about a unit axis, by the tangent of half its angle."""
    return unit(np.concatenate(([ONE], mul(axis, fixed(half)))))


def times(a: Array, b: Array) -> Array:
    """The product of two quaternions."""
    a0, b0, av, bv = a[0], b[0], a[1:], b[1:]
    top = (a0 * b0 >> BITS) - int(dot(av, bv))
    return np.concatenate(([top], mul(bv, a0) + mul(av, b0) + cross(av, bv)))
