"""Motions in space as binary glTF, the exchange format of 3D programs, written by pygltflib.

Each body is a node with animated translation and rotation; lines between bodies are scaled nodes. A root
node rotates the upward direction of the model to the y axis of glTF. The playback speed is that of the HTML page.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from gaussopt.animation.meshes import THIN, turned_to, unit
from gaussopt.animation.space_scene import SpaceScene
from gaussopt.core.arrays import Matrix
from gaussopt.core.errors import BadInput
from gaussopt.plotting import colours

GREY = colours.EDGE
"""Colour of lines."""


def check_gltf() -> None:
    """Raise BadInput if pygltflib, which writes .glb, is not installed."""
    if find_spec("pygltflib") is None:
        raise BadInput("A .glb needs pygltflib, which is not installed; pip install 'gaussopt[gltf]', or write .html.")


def glb(scene: SpaceScene, title: str) -> bytes:
    """Return a scene as .glb; raises BadInput without pygltflib."""
    check_gltf()
    return _Writer(scene, title).written()


class _Writer:
    """Builder of the nodes, meshes and animations of a scene."""

    def __init__(self, scene: SpaceScene, title: str) -> None:
        import pygltflib

        self.lib: Any = pygltflib
        self.scene, self.blob = scene, bytearray()
        self.model = pygltflib.GLTF2(
            asset=pygltflib.Asset(version="2.0", generator="gaussopt"), scene=0, scenes=[pygltflib.Scene(name=title)]
        )
        self.film = pygltflib.Animation(name=title)
        self.meshes: dict[tuple[str, str], int] = {}
        self.clock = self._numbers(scene.frames.clock, "SCALAR", limits=True)

    def written(self) -> bytes:
        """Return the complete file."""
        from scipy.spatial.transform import Rotation

        scene, lib = self.scene, self.lib
        names = list(scene.poses)
        tops = []
        for i, name in enumerate(names):
            colour = colours.mixed(colours.CURVES[i % 6], 0.55)
            solids = [p for owner, p in scene.solids if owner == name]
            children = [
                self._node(lib.Node(mesh=self._mesh(p.mesh, colours.BODY if p.mesh == "plane" else colour),
                                    translation=p.at.tolist(), rotation=_xyzw(p.turn).tolist(), scale=p.scale.tolist()))
                for p in solids
            ]  # fmt: skip
            tops.append(self._node(lib.Node(name=name or "ground", children=children)))
            if name:
                pose = scene.poses[name]
                self._move(tops[-1], translation=pose[:, :3], rotation=_xyzw(pose[:, 3:]))
        thin = THIN * scene.box[1]
        for line in scene.picture.lines:
            start, along = scene.place(line.start), scene.place(line.end) - scene.place(line.start)
            length = np.linalg.norm(along, axis=1)
            turns = np.array([turned_to(a) if a.any() else (1.0, 0.0, 0.0, 0.0) for a in along])
            tops.append(self._node(lib.Node(name=line.kind, mesh=self._mesh("cylinder", GREY))))
            scale = np.column_stack((np.full((len(length), 2), thin), length))
            self._move(tops[-1], translation=start + along / 2, rotation=_xyzw(turns), scale=scale)
        z_to_y = Rotation.from_euler("x", -90, degrees=True)
        turn = z_to_y * Rotation.from_quat(_xyzw(turned_to(scene.picture.up))).inv()
        self.model.scenes[0].nodes = [self._node(lib.Node(name="up", children=tops, rotation=turn.as_quat().tolist()))]
        if self.film.channels:
            self.model.animations = [self.film]
        self.model.buffers = [lib.Buffer(byteLength=len(self.blob))]
        self.model.set_binary_blob(bytes(self.blob))
        return b"".join(self.model.save_to_bytes())

    def _node(self, node: Any) -> int:
        self.model.nodes.append(node)
        return len(self.model.nodes) - 1

    def _move(self, node: int, **paths: Matrix) -> None:
        """Animate properties of a node."""
        for path, values in paths.items():
            kind = "VEC4" if path == "rotation" else "VEC3"
            if path == "rotation":  # choose the shorter rotation from the frame before
                turn = np.sign((values[1:] * values[:-1]).sum(axis=1))
                values = values * np.concatenate(([1.0], np.cumprod(np.where(turn < 0, -1.0, 1.0))))[:, None]
            sampler = self.lib.AnimationSampler(input=self.clock, output=self._numbers(values, kind))
            self.film.samplers.append(sampler)
            target = self.lib.AnimationChannelTarget(node=node, path=path)
            self.film.channels.append(self.lib.AnimationChannel(sampler=len(self.film.samplers) - 1, target=target))

    def _mesh(self, name: str, colour: str) -> int:
        """Return the index of a unit mesh in a colour, created at the first use."""
        if (name, colour) not in self.meshes:
            lib, (corners, normals, shade) = self.lib, unit(name)
            rgb = [(int(colour[i : i + 2], 16) / 255) ** 2.2 for i in (1, 3, 5)]
            look = lib.PbrMetallicRoughness(baseColorFactor=[*rgb, 1.0], metallicFactor=0.0, roughnessFactor=0.8)
            self.model.materials.append(lib.Material(pbrMetallicRoughness=look, doubleSided=name == "plane"))
            attributes = lib.Attributes(
                POSITION=self._numbers(corners, "VEC3", limits=True), NORMAL=self._numbers(normals, "VEC3"),
                COLOR_0=self._numbers(np.repeat(shade[:, None], 3, axis=1), "VEC3"),
            )  # fmt: skip
            part = lib.Primitive(attributes=attributes, material=len(self.model.materials) - 1)
            self.model.meshes.append(lib.Mesh(name=name, primitives=[part]))
            self.meshes[name, colour] = len(self.model.meshes) - 1
        return self.meshes[name, colour]

    def _numbers(self, values: Any, kind: str, limits: bool = False) -> int:
        """Append numbers to the buffer as 32-bit floats, and return the index of their accessor."""
        lib, table = self.lib, np.ascontiguousarray(values, dtype="<f4")
        view = lib.BufferView(buffer=0, byteOffset=len(self.blob), byteLength=table.nbytes)
        self.blob += table.tobytes()
        self.model.bufferViews.append(view)
        ends = {"min": np.atleast_1d(table.min(axis=0)).tolist(), "max": np.atleast_1d(table.max(axis=0)).tolist()}
        self.model.accessors.append(
            lib.Accessor(bufferView=len(self.model.bufferViews) - 1, componentType=lib.FLOAT, count=len(table),
                         type=kind, **(ends if limits else {}))
        )  # fmt: skip
        return len(self.model.accessors) - 1


def _xyzw(e: Any) -> Any:
    """Return quaternions with the scalar part last, as glTF orders them."""
    return np.roll(e, -1, axis=-1)
