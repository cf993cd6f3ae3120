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
    """Geometries that may move and touch others: bodies, roots of their trees, and radii, m, of spheres around them.

    A velocity of one moves geometries by at most `reach`, (nv,), 1 or m, and adds to those of the velocities before it
    in its tree, which end with the number `before`, (nv,), or -1. MuJoCo's arrays of the present state are centres,
    (geometries, 3), m, of geometries, and twists, (bodies, 6), about the centres of mass of whole trees, (bodies, 3).
    """

    geometries: Index
    bodies: Index
    roots: Index
    radii: Vector
    reach: Vector
    before: Index
    centres: Matrix
    twists: Matrix
    trees: Matrix

    @classmethod
    def of(cls, mj: Any, model: Any, data: Any, touchable: list[int]) -> Moving:
        """Return the geometries with these numbers that may move."""
        all_bodies = model.geom_bodyid[touchable]
        moves = model.body_weldid[all_bodies] != 0
        found, bodies = np.array(touchable, dtype=np.int64)[moves], all_bodies[moves].astype(np.int64)
        roots, before = model.body_rootid[bodies].astype(np.int64), model.dof_parentid.astype(np.int64)
        known = found, bodies, roots, model.geom_rbound[found], _reaches(mj, model), before
        return cls(*known, data.geom_xpos, data.cvel, data.subtree_com)


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


@kernel
def farthest_change(of: Moving, way: Vector, w: Vector, dt: float) -> float:
    """Return an upper bound, m, for the differences that a displacement other than dt w makes for geometries."""
    found, sums = 0.0, np.zeros(len(w))
    for j in range(len(w)):
        change = abs(way[j] - dt * w[j])
        sums[j] = change * of.reach[j] if change > 0.0 else 0.0
        if of.before[j] >= 0:
            sums[j] += sums[of.before[j]]
        found = max(found, sums[j])
    return found


@kernel
def farthest_way(of: Moving, w: Vector, end: Vector, dt: float) -> float:
    """Return an upper bound, m, for the way of geometries in a step dt at the velocities `end`, from w on."""
    return dt * (fastest(of) + farthest_change(of, end, w, 1.0))


def _reaches(mj: Any, model: Any) -> Vector:
    """Return 1 for velocities along lines, and for others the largest distance, m, of a geometry from their axis."""
    slide, free, joints = mj.mjtJoint.mjJNT_SLIDE, mj.mjtJoint.mjJNT_FREE, model.jnt_type
    size, found = np.zeros(model.nbody), np.ones(model.nv)
    for i, body in enumerate(model.geom_bodyid):
        size[body] = max(size[body], np.linalg.norm(model.geom_pos[i]) + model.geom_rbound[i])
    for body in range(model.nbody - 1, 0, -1):
        first = model.body_jntadr[body]
        for j in range(first + model.body_jntnum[body] - 1, first - 1, -1):  # the last joint moves with all others
            at = model.jnt_dofadr[j] + (3 if joints[j] == free else 0)
            if joints[j] == slide:
                far = np.abs(model.jnt_range[j] - model.qpos0[model.jnt_qposadr[j]]).max()
                size[body] += far if model.jnt_limited[j] else np.inf
            else:
                last = at + (1 if joints[j] == mj.mjtJoint.mjJNT_HINGE else 3)
                found[at:last] = np.linalg.norm(model.jnt_pos[j]) + size[body]
        parent = model.body_parentid[body]
        size[parent] = max(size[parent], np.linalg.norm(model.body_pos[body]) + size[body])
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
