"""Unit quaternions e of rotating bodies in arrays, see `gaussopt.bodies.space`: omega = 2 E e', omega' = 2 G e'."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix


def spin_rows(e: Matrix, sign: float = -1.0) -> NDArray[np.float64]:
    """Return G of quaternions, (N, 4), as an array (N, 3, 4), or E with the sign 1."""
    e0, e1, e2, e3 = e.T
    rows = [[-e1, e0, -sign * e3, sign * e2], [-e2, sign * e3, e0, -sign * e1], [-e3, -sign * e2, sign * e1, e0]]
    return np.array(rows).transpose(2, 0, 1)
