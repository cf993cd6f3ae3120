"""How far ahead MuJoCo looks for contacts in a step: as far as geometries may move in it, which is less near rest.

Most pairs of geometries within a centimetre stay apart, and MuJoCo spends most of its time on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.core.errors import BadInput
from gaussopt.jit.kernel import kernel

AHEAD = 0.01
"""Distance, m or rad, below which open contacts and limits are taken into account, if MuJoCo's memory suffices."""

SHARES = 0.1, 0.3, 1.0
"""Distances up to which contacts are looked for, relative to the largest one; limits are always looked for up to it."""

BEFORE, AFTER = 4.0, 2.5
"""Times that a distance must exceed the way of the fastest geometry in a step, by the velocities at its beginning and
by those at its end: two geometries approach each other twice as fast."""

MOVED = 0.1
"""Correction of a displacement, relative to a distance, up to which contacts need not be looked for farther away."""


class Moving(NamedTuple):
    """Geometries that may move and touch others: bodies, roots of their trees, and radii, m, of spheres around them.

    MuJoCo's arrays of the present state are centres, (geometries, 3), m, of geometries, and twists, (bodies, 6), about
    the centres of mass of whole trees, (bodies, 3).
    """

    geometries: Index
    bodies: Index
    roots: Index
    radii: Vector
    centres: Matrix
    twists: Matrix
    trees: Matrix

    @classmethod
    def of(cls, model: Any, data: Any, touchable: list[int]) -> Moving:
        """Return the geometries with these numbers that may move."""
        all_bodies = model.geom_bodyid[touchable]
        moves = model.body_weldid[all_bodies] != 0
        found, bodies = np.array(touchable, dtype=np.int64)[moves], all_bodies[moves].astype(np.int64)
        roots = model.body_rootid[bodies].astype(np.int64)
        return cls(found, bodies, roots, model.geom_rbound[found], data.geom_xpos, data.cvel, data.subtree_com)


@kernel
def fastest(of: Moving) -> float:
    """Return an upper bound for the velocities of all points of the geometries, m/s."""
    found = 0.0
    for i in range(len(of.geometries)):
        body, square, turned = of.bodies[i], 0.0, 0.0
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            arm_b = of.centres[of.geometries[i], b] - of.trees[of.roots[i], b]
            arm_c = of.centres[of.geometries[i], c] - of.trees[of.roots[i], c]
            v = of.twists[body, 3 + a] + of.twists[body, b] * arm_c - of.twists[body, c] * arm_b
            square += v * v
            turned += of.twists[body, a] * of.twists[body, a]
        found = max(found, math.sqrt(square) + math.sqrt(turned) * of.radii[i])
    return found


class LookAhead:
    """Distances up to which MuJoCo finds contacts and limits, as gaps and margins of the user's own copy of a model.

    `place` sets the start. `ahead` is the largest distance, m or rad, that MuJoCo's memory allows; raises BadInput if
    none fits.
    """

    def __init__(self, model: Any, place: Callable[[], None]) -> None:
        self._gaps, margins = (model.geom_gap, model.pair_gap), (model.jnt_margin, model.tendon_margin)
        own = [x.copy() for x in (*self._gaps, *margins)]
        for ahead in (AHEAD, 0.1 * AHEAD, 0.01 * AHEAD):
            each = [[np.maximum(x, share * ahead) for x in own[:2]] for share in SHARES]
            self.ahead, self.level, self._each = ahead, -1, each
            self.look(self.last)
            for x, given in zip(margins, own[2:], strict=True):
                x[:] = given + ahead
            try:
                place()
            except BadInput as error:
                full = error
            else:
                return
        raise full

    @property
    def last(self) -> int:
        """Number of the largest distance."""
        return len(SHARES) - 1

    def look(self, level: int) -> None:
        """Look for contacts up to the distance of this number."""
        if level != self.level:
            self.level = level
            for x, given in zip(self._gaps, self._each[level], strict=True):
                x[:] = given

    def level_for(self, way: float) -> int:
        """Return the number of the least distance for a step in which no geometry moves farther than `way`, m."""
        return next((i for i, share in enumerate(SHARES) if BEFORE * way <= share * self.ahead), self.last)

    def far_enough(self, level: int, way: float, correction: float) -> bool:
        """Return whether a step looked far enough ahead in which geometries moved by `way`, m, and a correction."""
        distance = SHARES[level] * self.ahead
        return level == self.last or (AFTER * way <= distance and correction <= MOVED * distance)
