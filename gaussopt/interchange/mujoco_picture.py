"""The picture in space of a MuJoCo model: its geometries, on bodies that MuJoCo's kinematics place in each frame."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.interchange.mujoco_rows import geometry_name
from gaussopt.modelling.solids import Ball, Box, Capsule, Cylinder, FaceContact, Plane, Solid, SpacePicture

SHOWN = 3
"""Geometries of this group and above are left out, as in MuJoCo's viewer; models keep shapes for contacts there."""


def picture_of(mj: Any, model: Any, data: Any, names: tuple[str, ...]) -> SpacePicture:
    """Return the picture of a model whose qpos has these names; meshes and ellipsoids are drawn as their boxes."""
    bodies = ["", *(mj.mj_id2name(model, mj.mjtObj.mjOBJ_BODY, i) or f"body{i}" for i in range(1, model.nbody))]
    solids = [(bodies[model.geom_bodyid[i]], x) for i in range(model.ngeom) for x in _solid(mj, model, i)]
    poses = _poses(mj, model, copy.copy(data), names)
    moving = {body: partial(_pose_of, poses, i) for i, body in enumerate(bodies) if i}
    return SpacePicture(solids, contacts=tuple(_feet(mj, model, bodies)), moving=moving)


def _solid(mj: Any, model: Any, i: int) -> Iterator[Solid]:
    kinds, at, turn, size = mj.mjtGeom, model.geom_pos[i], model.geom_quat[i], model.geom_size[i]
    kind, axes = kinds(int(model.geom_type[i])), _axes(mj, turn)
    if kind == kinds.mjGEOM_PLANE:
        yield Plane(at.tolist(), axes[:, 2].tolist())
    elif model.geom_group[i] >= SHOWN or kind == kinds.mjGEOM_HFIELD:
        return
    elif kind == kinds.mjGEOM_SPHERE:
        yield Ball(size[0], at.tolist())
    elif kind in (kinds.mjGEOM_CAPSULE, kinds.mjGEOM_CYLINDER):
        ends = [(at + side * size[1] * axes[:, 2]).tolist() for side in (-1, 1)]
        yield (Capsule if kind == kinds.mjGEOM_CAPSULE else Cylinder)(size[0], *ends)
    else:
        middle, half = model.geom_aabb[i, :3], model.geom_aabb[i, 3:]
        yield Box((2 * half).tolist(), (at + axes @ middle).tolist(), turn.tolist())


def _axes(mj: Any, turn: Vector) -> Matrix:
    """Return the axes that a quaternion turns to, as columns, (3, 3)."""
    found = np.zeros(9)
    mj.mju_quat2Mat(found, turn)
    return found.reshape(3, 3)


def _feet(mj: Any, model: Any, bodies: list[str]) -> Iterator[FaceContact]:
    """Yield the contacts whose forces are drawn: of balls with planes of the world, in MuJoCo's frame of contacts."""
    kinds = model.geom_type
    for i in np.flatnonzero((kinds == mj.mjtGeom.mjGEOM_PLANE) & (model.geom_bodyid == 0)):
        n = _axes(mj, model.geom_quat[i])[:, 2]
        first = np.array([0.0, 1.0, 0.0] if abs(n[1]) < 0.5 else [0.0, 0.0, 1.0])
        first -= n * (n @ first)
        first /= np.linalg.norm(first)
        for j in np.flatnonzero(kinds == mj.mjtGeom.mjGEOM_SPHERE):
            name = ", ".join(geometry_name(mj, model, int(x)).strip("'") for x in (i, j))
            end = bodies[model.geom_bodyid[j]], model.geom_pos[j].tolist()
            yield FaceContact(name, "", np.array([n, first, np.cross(n, first)]), end, float(model.geom_size[j, 0]))


Poses = Callable[[Mapping[str, Vector]], Matrix]


def _poses(mj: Any, model: Any, data: Any, names: tuple[str, ...]) -> Poses:
    """Return a function of the coordinates by name, (F,) each, that returns poses of all bodies, (F, nbody, 7)."""
    known: list[Any] = [None, None]

    def poses(columns: Mapping[str, Vector]) -> Matrix:
        if known[0] is not columns:
            found = []
            for qpos in np.stack([columns[name] for name in names], axis=1):
                data.qpos[:] = qpos
                mj.mj_kinematics(model, data)
                found.append(np.hstack((data.xpos, data.xquat)))
            known[:] = columns, np.array(found)
        return np.asarray(known[1])

    return poses


def _pose_of(poses: Poses, i: int, t: Vector, columns: Mapping[str, Vector]) -> Matrix:
    return poses(columns)[:, i]
