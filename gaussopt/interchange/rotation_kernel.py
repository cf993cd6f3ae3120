"""Rates of MuJoCo's coordinates from its velocities, and the reverse, as compiled kernels.

For a quaternion e of a body with angular velocity w in its own frame, e' = e (0, w) / 2, so that w = 2 e* e'.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Vector
from gaussopt.jit.kernel import kernel

Index: TypeAlias = NDArray[np.int64]


@kernel
def rates_into(q: Vector, w: Vector, places: Index, plain: int, v: Vector) -> None:
    """Write rates v, (nq,), from w. `places` are index pairs into v and w: of `plain` scalars, then of quaternions."""
    for i in range(plain):
        v[places[2 * i]] = w[places[2 * i + 1]]
    for i in range(plain, len(places) // 2):
        a, b = places[2 * i], places[2 * i + 1]
        e0, e1, e2, e3 = q[a], q[a + 1], q[a + 2], q[a + 3]
        x, y, z = 0.5 * w[b], 0.5 * w[b + 1], 0.5 * w[b + 2]
        v[a] = -e1 * x - e2 * y - e3 * z
        v[a + 1] = e0 * x - e3 * y + e2 * z
        v[a + 2] = e3 * x + e0 * y - e1 * z
        v[a + 3] = -e2 * x + e1 * y + e0 * z


@kernel
def velocities_into(q: Vector, v: Vector, places: Index, plain: int, w: Vector) -> None:
    """Write velocities w, (nv,), from rates v, (nq,)."""
    for i in range(plain):
        w[places[2 * i + 1]] = v[places[2 * i]]
    for i in range(plain, len(places) // 2):
        a, b = places[2 * i], places[2 * i + 1]
        e0, e1, e2, e3 = q[a], q[a + 1], q[a + 2], q[a + 3]
        d0, d1, d2, d3 = 2.0 * v[a], 2.0 * v[a + 1], 2.0 * v[a + 2], 2.0 * v[a + 3]
        w[b] = -e1 * d0 + e0 * d1 + e3 * d2 - e2 * d3
        w[b + 1] = -e2 * d0 - e3 * d1 + e0 * d2 + e1 * d3
        w[b + 2] = -e3 * d0 + e2 * d1 - e1 * d2 + e0 * d3
