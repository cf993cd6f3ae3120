"""Arrays of unit quaternions e; the angular velocity is 2 E e' in space and 2 G e' in the body, see `bodies.space`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix

PLACES = np.array([[1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]])
E_SIGNS = np.array([[-1.0, 1.0, -1.0, 1.0], [-1.0, 1.0, 1.0, -1.0], [-1.0, -1.0, 1.0, 1.0]])
G_SIGNS = np.array([[-1.0, 1.0, 1.0, -1.0], [-1.0, -1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, 1.0]])
"""Signs of the entries of E and of G; PLACES says which entry of e each of them is."""


def spin_rows(e: Matrix, sign: float = -1.0) -> NDArray[np.float64]:
    """Return the matrices G of N quaternions, (N, 4), as an array (N, 3, 4), or the matrices E if `sign` is 1."""
    return np.asarray(e.take(PLACES, 1) * (E_SIGNS if sign > 0 else G_SIGNS))
