"""Rates of MuJoCo's coordinates from its velocities, and the reverse, as compiled kernels.

For a quaternion e of a body with angular velocity w in its own frame, e' = e (0, w) / 2, so that w = 2 e* e'.
"""

from __future__ import annotations

from typing import NamedTuple

from gaussopt.core.arrays import Index, Vector
from gaussopt.jit.kernel import kernel


class Coordinates(NamedTuple):
    """Index pairs into rates v and velocities w, one after the other: of `plain` scalars, then of quaternions."""

    places: Index
    plain: int


@kernel
def rates_into(q: Vector, w: Vector, of: Coordinates, v: Vector) -> None:
    """Write rates v, (nq,), from velocities w, (nv,)."""
    for i in range(of.plain):
        v[of.places[2 * i]] = w[of.places[2 * i + 1]]
    for i in range(of.plain, len(of.places) // 2):
        a, b = of.places[2 * i], of.places[2 * i + 1]
        e0, e1, e2, e3 = q[a], q[a + 1], q[a + 2], q[a + 3]
        x, y, z = 0.5 * w[b], 0.5 * w[b + 1], 0.5 * w[b + 2]
        v[a] = -e1 * x - e2 * y - e3 * z
        v[a + 1] = e0 * x - e3 * y + e2 * z
        v[a + 2] = e3 * x + e0 * y - e1 * z
        v[a + 3] = -e2 * x + e1 * y + e0 * z


@kernel
def velocities_into(q: Vector, v: Vector, of: Coordinates, w: Vector) -> None:
    """Write velocities w, (nv,), from rates v, (nq,)."""
    for i in range(of.plain):
        w[of.places[2 * i + 1]] = v[of.places[2 * i]]
    for i in range(of.plain, len(of.places) // 2):
        a, b = of.places[2 * i], of.places[2 * i + 1]
        e0, e1, e2, e3 = q[a], q[a + 1], q[a + 2], q[a + 3]
        d0, d1, d2, d3 = 2.0 * v[a], 2.0 * v[a + 1], 2.0 * v[a + 2], 2.0 * v[a + 3]
        w[b] = -e1 * d0 + e0 * d1 + e3 * d2 - e2 * d3
        w[b + 1] = -e2 * d0 - e3 * d1 + e0 * d2 + e1 * d3
        w[b + 2] = -e3 * d0 + e2 * d1 - e1 * d2 + e0 * d3
