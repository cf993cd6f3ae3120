"""Round numbers to few bits, so that every machine makes the same problem, and solve large linear systems accurately.

The steps of a mechanism differ by about 1e-16 from machine to machine, because libraries of linear algebra add in
different orders. Numbers rounded to a coarse grid agree on all machines. Their products and sums are exact in any
order, and as fractions they are short.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.sparse_arrays import to_triplets
from gaussopt.linalg.rational import whole

BITS = 16
"""Number of bits of the largest entry of a rounded array."""


def short(x: Any, bits: int = BITS) -> Any:
    """Round an array or a sparse matrix to multiples of 2^(p - bits); p is minimal with all |entries| < 2^p."""
    if hasattr(x, "tocsr"):
        found = x.tocsr().copy()
        found.data = short(found.data, bits)
        found.eliminate_zeros()
        return found
    values = np.asarray(x, dtype=np.float64)
    grid = np.exp2(np.frexp(np.abs(values).max(initial=0.0))[1] - bits)
    return np.round(values / grid) * grid + 0.0  # adding zero removes negative zeros


def significant(x: Any, bits: int = BITS) -> Any:
    """Round every entry of an array to `bits` significant bits."""
    fraction, power = np.frexp(np.asarray(x, dtype=np.float64))
    return np.ldexp(np.round(np.ldexp(fraction, bits)), power - bits)


def refined(A: Any, b: Vector, size: int = 120) -> list[Fraction]:
    """Solve a sparse system by refinement with exact residuals, until a correction is smaller than 2^-size."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    triplets = to_triplets(A)
    rows, columns = np.array(triplets["row"]), np.array(triplets["column"])
    (entries, by), (right, over) = whole(triplets["value"]), whole(b)
    factors, unit = splu(csc_array(A)), 2 ** (2 * size)
    x: Any = np.zeros(len(b), dtype=object)
    for _ in range(60):
        product: Any = np.zeros(len(b), dtype=object)
        np.add.at(product, rows, entries * x[columns])
        residual = [r * unit * by - over * p for r, p in zip(right, product, strict=True)]  # scaled by unit * by * over
        scale = max(max(map(abs, residual)), 1)
        step = factors.solve(np.array([float(Fraction(r, scale)) for r in residual]))
        factor = Fraction(scale, by * over)
        x = x + np.array([round(Fraction(float(s)) * factor) for s in step], dtype=object)
        if max(abs(float(s)) for s in step) * float(Fraction(scale, by * over * 2**size)) < 1.0:
            break
    return [Fraction(int(v), unit) for v in x]


def cholesky(S: Matrix, bits: int = 30) -> list[list[float]] | None:
    """Return a rounded Cholesky factor L of S - c I; c > 0 makes S - L L' diagonally dominant. None if it fails."""
    lowest = float(np.linalg.eigvalsh(S)[0])
    try:
        L = np.linalg.cholesky(S - 0.5 * np.ldexp(1.0, int(np.frexp(lowest)[1]) - 1) * np.eye(len(S)))
    except np.linalg.LinAlgError:
        return None
    return [row[: i + 1].tolist() for i, row in enumerate(short(L, bits))]
