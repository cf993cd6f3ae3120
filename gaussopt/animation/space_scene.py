"""Scene of a motion in space: positions of its bodies, lines and forces in every frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaussopt.animation import playback
from gaussopt.animation.meshes import Placed, placed
from gaussopt.animation.playback import Caption, Frames
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.motion import RecordedMotion
from gaussopt.modelling.solids import BallContact, End, FaceContact, Plane, SpacePicture
from gaussopt.plotting.colours import FRICTION, NORMAL, OTHER

RATE = 50.0
"""Frames per second of playback; between frames positions are interpolated linearly."""

LEAST = 1e-6
"""A force is not drawn if its largest value is below this fraction of the largest value of all forces."""

KINDS = {"normal force": NORMAL, "friction": FRICTION, "joint force": OTHER}
"""Kinds of forces and their colours."""


@dataclass(frozen=True)
class Arrow:
    """A force over all frames: kind, name of its contact or joint, point (F, 3), m, and force on the body (F, 3), N."""

    kind: str
    name: str
    at: Matrix
    force: Matrix


@dataclass(frozen=True)
class SpaceScene:
    """A motion in space as frames of an animation.

    Attributes
    ----------
    frames, captions : frames of the motion, and texts at its events
    picture : the solids and lines that are drawn
    poses : position, m, and quaternion of each body, (F, 7), by name; "" is the ground
    """

    frames: Frames
    captions: tuple[Caption, ...]
    picture: SpacePicture
    poses: dict[str, Matrix]
    motion: RecordedMotion

    def place(self, end: End) -> Matrix:
        """Return a point fixed to a body over all frames, (F, 3)."""
        pose = self.poses[end[0]]
        return pose[:, :3] + rotated(pose[:, 3:], np.asarray(end[1], dtype=float))

    @property
    def bodies(self) -> list[str]:
        """Names of the bodies that move."""
        return [name for name in self.poses if name]

    @cached_property
    def box(self) -> tuple[Vector, float]:
        """Centre (3,) and size, m, of the visible region, which need not contain planes."""
        spots = [self.place(e) for line in self.picture.lines for e in (line.start, line.end)]
        for name, solid in self.picture.solids:
            if not isinstance(solid, Plane):
                reach = max(p.reach for p in placed(solid, np.zeros(3), 0.0))
                spots += [self.poses[name][:, :3] + side * reach for side in (-1, 1)]
        spots += [self.poses[name][:, :3] for name in self.bodies]
        low, high = np.min([x.min(axis=0) for x in spots], axis=0), np.max([x.max(axis=0) for x in spots], axis=0)
        return (low + high) / 2, float((high - low).max()) or 1.0

    @cached_property
    def solids(self) -> list[tuple[str, Placed]]:
        """Unit meshes, each with the name of its body."""
        return [(name, mesh) for name, solid in self.picture.solids for mesh in placed(solid, *self.box)]

    @cached_property
    def arrows(self) -> list[Arrow]:
        """Forces that are not negligible in at least one frame."""
        found = [*self._contact_forces(), *self._joint_forces()]
        sizes = [float(np.linalg.norm(a.force, axis=1).max()) for a in found]
        return [a for a, size in zip(found, sizes, strict=True) if size > LEAST * max(sizes) and size > 0]

    def _contact_forces(self) -> Iterator[Arrow]:
        """Yield the normal force and the friction of each contact."""
        for contact in self.picture.contacts:
            if contact.name not in self.motion.contacts:
                continue
            i = self.motion.contacts.index(contact.name)
            N, T = self.frames.lam_N[:, i], self.frames.friction[:, i]
            if N.any() or T.any():
                at, axes = self._acting(contact)
                yield Arrow("normal force", contact.name, at, N[:, None] * axes[0])
                yield Arrow("friction", contact.name, at, np.einsum("fj,jfi->fi", T, np.array(axes[1:])))

    def _acting(self, contact: FaceContact | BallContact) -> tuple[Matrix, list[Matrix]]:
        """Return the points where the forces of a contact act, (F, 3), and its normal and tangents, (F, 3) each."""
        b = self.place(contact.b)
        if isinstance(contact, FaceContact):
            axes = [rotated(self.poses[contact.a][:, 3:], np.asarray(row, dtype=float)) for row in contact.frame]
        else:
            n = b - self.place(contact.a)
            n /= np.linalg.norm(n, axis=1)[:, None]
            first = np.cross(contact.across or np.eye(3)[np.abs(n).argmin(axis=1)], n)
            first /= np.linalg.norm(first, axis=1)[:, None]
            axes = [n, first, np.cross(n, first)]
        return b - float(contact.radius) * axes[0], axes

    def _joint_forces(self) -> Iterator[Arrow]:
        """Yield the forces of those joints that hold a point fixed in all three directions."""
        rows = self.motion.rows
        for name, end in self.picture.joints.items():
            mine = [f"{name}.{axis}" for axis in "xyz"]
            if set(mine) <= set(rows):
                yield Arrow("joint force", name, self.place(end), self.frames.lam[:, [rows.index(x) for x in mine]])


def space_scene(motion: RecordedMotion, picture: SpacePicture) -> SpaceScene:
    """Return the scene of a motion; raise BadInput if no instant can be drawn or a drawn body has no coordinates."""
    frames = playback.frames_of(motion, rate=RATE)
    columns = dict(zip(motion.coordinates, frames.q.T, strict=True))
    rest = np.zeros((len(frames.t), 7))
    rest[:, 3] = 1.0
    poses = {"": rest}
    names = dict.fromkeys(n.partition("_")[2] for n in columns if n.startswith("x_") and f"z{n[1:]}" in columns)
    for name in names:
        pose = rest.copy()
        pose[:, :3] = np.stack([columns[f"{axis}_{name}"] for axis in "xyz"], axis=1)
        if f"e3_{name}" in columns:
            e = np.stack([columns[f"e{i}_{name}"] for i in range(4)], axis=1)
            pose[:, 3:] = e / np.linalg.norm(e, axis=1)[:, None]
        poses[name] = pose
    for name, moves in picture.moving.items():
        poses[name] = moves(frames.t, columns)
    for name, _ in picture.solids:
        if name not in poses:
            missing = ", ".join(f"{axis}_{name}" for axis in "xyz")
            raise BadInput(f"The picture has a body {name!r}, and the motion no coordinates {missing}.")
    return SpaceScene(frames, playback.captions_of(motion, frames), picture, poses, motion)


def rotated(e: Matrix, s: Vector) -> Matrix:
    """Return a vector (3,) rotated by each of the quaternions (F, 4), as (F, 3)."""
    twice = 2.0 * np.cross(e[:, 1:], s)
    return np.asarray(s + e[:, :1] * twice + np.cross(e[:, 1:], twice))
