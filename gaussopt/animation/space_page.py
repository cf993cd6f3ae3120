"""Motions in space as self-contained pages: three.js draws them; a text and a table describe them."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from gaussopt.animation.gltf import glb
from gaussopt.animation.meshes import THIN, unit
from gaussopt.animation.pages import framed, page_of
from gaussopt.animation.playback import CAPTION, HOLD, speed_words, told
from gaussopt.animation.space_scene import KINDS, SpaceScene
from gaussopt.core.display import About, counted, shown
from gaussopt.core.files import check_target, write_bytes
from gaussopt.plotting import colours

SPACE_ENDINGS = (".html", ".glb")
"""Endings of the files that hold a motion in space."""

LONGEST = 0.22
"""Length of the longest arrow, relative to the size of the picture."""

MOST_PATHS = 6
"""Largest number of bodies for which the paths of their centres are drawn."""

MOST_NAMED = 4
"""Largest number of bodies that the page's text lists by name."""

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Instants at which the table gives positions, as fractions of the duration."""

CONTROLS = 290
"""Height of the control elements below the picture in a notebook, px."""


class Film(Protocol):
    """An object that can be saved as an animation."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the animation into a file and return the file's path."""


@shown
@dataclass(frozen=True, eq=False)
class SpaceMotion:
    """A motion in space laid out as an animation, which a notebook shows with a slider and `save` writes to a file.

    Attributes
    ----------
    scene : positions of bodies, lines and forces
    title : title of the animation
    flat : function that makes the animation in the plane from the sketch of the problem
    """

    scene: SpaceScene
    title: str
    flat: Callable[[], Film]

    def _about(self) -> About:
        frames = self.scene.frames
        return About(
            f"{self.title}, t = {frames.t[0]:g} to {frames.t[-1]:.4g} s, {speed_words(frames.speed)}, in space"
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the animation to a file, completely or not at all, and return its path.

        .html is a page that plays the motion in a rotatable view, .glb a model with an animation for other programs;
        .svg, .gif and .mp4 show the sketch of the problem in the plane. Raises BadInput if the file cannot be written,
        there is no sketch, or the program that writes the format is not installed.
        """
        target = Path(path)
        ending = target.suffix.lower()
        if ending not in SPACE_ENDINGS:
            return self.flat().save(path)
        check_target(target)
        write_bytes(target, self.page().encode() if ending == ".html" else glb(self.scene, self.title))
        return target

    @cached_property
    def alt(self) -> str:
        """Description of the motion in words."""
        scene, frames = self.scene, self.scene.frames
        said = [f"{self.title}, t = {frames.t[0]:g} s to {frames.t[-1]:.4g} s."]
        moves = [f"{name} goes from {_spot(p[0])} to {_spot(p[-1])} m" for name, p in self._named()[:MOST_NAMED]]
        more = len(scene.bodies) - MOST_NAMED
        said.append("; ".join(moves) + (f"; {counted(more, 'body', 'bodies')} more" if more > 0 else "") + ".")
        for kind, _, largest in self._legend():
            arrow = max((a for a in scene.arrows if a.kind == kind), key=lambda a: _sizes(a.force).max())
            said.append(f"The largest {kind} is {largest} N, of {arrow.name}, at {_at(frames.t, arrow.force)} s.")
        if str(scene.motion.status) != "solved":
            said.append(scene.motion.message)
        return " ".join(said)

    def page(self, whole: bool = True) -> str:
        """Return a self-contained HTML page, without title and texts unless `whole` is set."""
        room = files("gaussopt.animation")
        three, licence, viewer = (
            room.joinpath(*path).read_text(encoding="utf-8")
            for path in (("three", "three.bundle.js"), ("three", "LICENSE"), ("templates", "space.js"))
        )
        return page_of(
            "space.html.j2", title=self.title, alt=self.alt, whole=whole, colours=colours,
            pace=speed_words(self.scene.frames.speed),
            legend=self._legend(), rows=self._rows(), captions=self.scene.captions, data=self._data(),
            licence=licence, three=three, viewer=viewer,
        )  # fmt: skip

    def _repr_html_(self) -> str:
        return framed(self.alt, self.page(whole=False), f"calc(75cqi + {CONTROLS}px)")

    def _named(self) -> list[tuple[str, Any]]:
        return [(name, self.scene.poses[name][:, :3]) for name in self.scene.bodies]

    def _legend(self) -> list[tuple[str, str, str]]:
        """Return the kinds of forces drawn, each with its colour and its largest force, N."""
        sizes = [(arrow.kind, float(_sizes(arrow.force).max())) for arrow in self.scene.arrows]
        largest = {kind: max((size for own, size in sizes if own == kind), default=0.0) for kind in KINDS}
        return [(kind, KINDS[kind], f"{x:.3g}") for kind, x in largest.items() if x > 0]

    def _rows(self) -> list[list[str]]:
        """Return the positions of the bodies at the instants of the table, as rows of text."""
        t = self.scene.frames.t
        rows = dict.fromkeys(int(np.searchsorted(t, t[0] + share * (t[-1] - t[0]))) for share in SHARES)
        return [[f"{t[i]:.4g}", name, *(told(x, 1e-9) for x in p[i])] for i in rows for name, p in self._named()]

    def _data(self) -> dict[str, Any]:
        """Return the data for the script of the page."""
        scene, frames = self.scene, self.scene.frames
        centre, size = scene.box
        names = list(scene.poses)
        bodies = [colours.mixed(colour, 0.55) for colour in colours.CURVES[:6]]
        meshes = {name: dict(zip(("corners", "normals", "shade"), map(_packed, unit(name)), strict=True))
                  for name in dict.fromkeys(["cylinder", *(p.mesh for _, p in scene.solids)])}  # fmt: skip
        largest = max((float(_sizes(a.force).max()) for a in scene.arrows), default=1.0)
        return {
            "clock": _packed(frames.clock), "playback": frames.playback, "start": float(frames.t[0]), "hold": HOLD,
            "speed": frames.speed, "caption": CAPTION, "thin": THIN * size, "metres": LONGEST * size / largest,
            "captions": [{"second": frames.second(c.t), "text": c.text} for c in scene.captions],
            "centre": centre.tolist(), "size": size, "up": [float(x) for x in scene.picture.up], "meshes": meshes,
            "poses": [_packed(scene.poses[name]) for name in names],
            "paths": [names.index(name) for name in scene.bodies] if len(scene.bodies) <= MOST_PATHS else [],
            "solids": [
                {"body": names.index(name), "mesh": p.mesh, "at": p.at.tolist(), "turn": p.turn.tolist(),
                 "scale": p.scale.tolist(), "colour": names.index(name) % len(bodies)}
                for name, p in scene.solids
            ],
            "lines": [{"kind": line.kind, "ends": _packed(np.hstack((scene.place(line.start), scene.place(line.end))))}
                      for line in scene.picture.lines],
            "arrows": [{"colour": KINDS[a.kind], "vectors": _packed(np.hstack((a.at, a.force)))} for a in scene.arrows],
            "colours": {"ground": colours.WHITE, "plane": colours.BODY, "edge": colours.EDGE, "rule": colours.PALE,
                        "path": colours.PATH, "bodies": bodies, "rod": colours.EDGE, "spring": colours.GREEN,
                        "damper": colours.GREY},
        }  # fmt: skip


def _packed(values: ArrayLike) -> str:
    """Return numbers as the page encodes them: 32-bit floats, little-endian, in base 64."""
    return base64.b64encode(np.asarray(values, dtype="<f4").tobytes()).decode()


def _sizes(force: Any) -> Any:
    return np.linalg.norm(force, axis=1)


def _at(t: Any, force: Any) -> str:
    return f"{t[int(_sizes(force).argmax())]:.4g}"


def _spot(place: Any) -> str:
    return f"({', '.join(told(x, 1e-9) for x in place)})"
