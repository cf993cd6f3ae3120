"""Arrays of unit quaternions e; the angular velocity is 2 E e' in space and 2 G e' in the body, see `bodies.space`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix


def spin_rows(e: Matrix, sign: float = -1.0) -> NDArray[np.float64]:
    """Return the matrices G of N quaternions, (N, 4), as an array (N, 3, 4), or the matrices E if `sign` is 1."""
    e0, e1, e2, e3 = e.T
    rows = [[-e1, e0, -sign * e3, sign * e2], [-e2, sign * e3, e0, -sign * e1], [-e3, -sign * e2, sign * e1, e0]]
    return np.array(rows).transpose(2, 0, 1)
