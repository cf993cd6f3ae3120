"""The smallest correction that meets sparse constraint rows."""

from __future__ import annotations

import threading

import numpy as np

from gaussopt.core.sparse_arrays import Sparse
from gaussopt.core.step_data import Vector
from gaussopt.linalg.sparse_saddle_point import Saddle

ACCURACY = 1e-8
"""Relative accuracy of a correction."""


class _Analysis(threading.local):
    """The last factors: their analysis serves the next matrices of the same pattern."""

    last: Saddle | None = None


_ANALYSIS = _Analysis()


def lift(M: Sparse, J: Sparse, r: Vector) -> Vector:
    """Smallest x in the mass metric with J x = r, (n,); NaN where no factors are found."""
    _ANALYSIS.last, saddle = None, Saddle.of(M, J, _ANALYSIS.last)
    _ANALYSIS.last = saddle
    if saddle is None:
        return np.full(M.shape[0], np.nan)
    return saddle.solve(np.zeros(M.shape[0]), r, ACCURACY).x
