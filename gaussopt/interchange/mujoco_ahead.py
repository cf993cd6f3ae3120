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

BEFORE, AFTER = 4.0, 2.1
"""Times that a distance must exceed the way of the fastest geometry in a step, as it is expected from the velocities at
the beginning, and as it turns out: two geometries approach each other twice as fast."""


class Moving(NamedTuple):
    """Geometries that may move and touch others: roots of their trees, and radii, m, of spheres around them.

    A geometry moves with the velocities `last` and those `before` it, (nv,), which end with -1. MuJoCo's arrays of the
    present state are centres, (geometries, 3), m, of geometries, and the motions, (nv, 6), that belong to velocities,
    about the centres of mass of whole trees, (bodies, 3).
    """

    geometries: Index
    last: Index
    roots: Index
    radii: Vector
    before: Index
    centres: Matrix
    motions: Matrix
    trees: Matrix

    @classmethod
    def of(cls, model: Any, data: Any, touchable: list[int]) -> Moving:
        """Return the geometries with these numbers that may move."""
        numbers = np.array(touchable, dtype=np.int64)
        found = numbers[model.body_weldid[model.geom_bodyid[numbers]] != 0]
        moved, roots = model.body_weldid[model.geom_bodyid[found]], model.body_rootid[model.geom_bodyid[found]]
        last, *others = (model.body_dofadr + model.body_dofnum - 1)[moved], roots, model.dof_parentid
        index = [np.array(x, dtype=np.int64) for x in (last, *others)]
        state = data.geom_xpos, data.cdof, data.subtree_com
        return cls(found, index[0], index[1], model.geom_rbound[found], index[2], *state)


@kernel
def longest_way(of: Moving, way: Vector) -> float:
    """Return how far at most a displacement, (nv,), moves a point of a geometry to first order, as rows of gaps do."""
    found, sums = 0.0, np.zeros((len(way), 6))
    for j in range(len(way)):
        for a in range(6):
            sums[j, a] = way[j] * of.motions[j, a] + (sums[of.before[j], a] if of.before[j] >= 0 else 0.0)
    for i in range(len(of.geometries)):
        square, turned, at = 0.0, 0.0, of.last[i]
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            arm_b = of.centres[of.geometries[i], b] - of.trees[of.roots[i], b]
            arm_c = of.centres[of.geometries[i], c] - of.trees[of.roots[i], c]
            x = sums[at, 3 + a] + sums[at, b] * arm_c - sums[at, c] * arm_b
            square += x * x
            turned += sums[at, a] * sums[at, a]
        found = max(found, math.sqrt(square) + math.sqrt(turned) * of.radii[i])
    return found


class LookAhead:
    """Distances up to which MuJoCo finds contacts and limits, as gaps and margins of the user's own copy of a model.

    `place` sets the start. `ahead` is the largest distance, m or rad, that MuJoCo's memory allows, and `last` its
    number; raises BadInput if none fits.
    """

    last = len(SHARES) - 1

    def __init__(self, model: Any, moving: Moving, place: Callable[[], None]) -> None:
        self.moving = moving
        self._gaps, margins = (model.geom_gap, model.pair_gap), (model.jnt_margin, model.tendon_margin)
        own = [x.copy() for x in (*self._gaps, *margins)]
        for ahead in (AHEAD, 0.1 * AHEAD, 0.01 * AHEAD):
            each = [[np.maximum(x, share * ahead) for x in own[:2]] for share in SHARES]
            self.ahead, self.level, self._each = ahead, -1, each
            self._distances = [share * ahead for share in SHARES]
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

    def look(self, level: int) -> None:
        """Look for contacts up to the distance of this number."""
        if level != self.level:
            self.level = level
            for x, given in zip(self._gaps, self._each[level], strict=True):
                x[:] = given

    def level_for(self, way: float) -> int:
        """Return the number of the least distance for a step in which no geometry moves farther than `way`, m."""
        level = 0
        while level < self.last and not BEFORE * way <= self._distances[level]:
            level += 1
        return level

    def far_enough(self, way: float) -> bool:
        """Return whether contacts were looked for far enough ahead for a step in which geometries moved by `way`, m."""
        return self.level == self.last or AFTER * way <= self._distances[self.level]
