"""Animations of motions: SVG, GIF, MP4, glTF, an HTML page or a notebook, and a still picture for print."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussopt.animation.gltf import check_gltf
from gaussopt.animation.marks import Part, Stroke, Word, fixed, page, placed, plain
from gaussopt.animation.pages import framed, page_of
from gaussopt.animation.playback import HOLD, SAME, speed_words, told
from gaussopt.animation.raster import gif, mp4
from gaussopt.animation.scene import Scene, clock_word, scene_of, words_beside
from gaussopt.animation.smil import animated_svg, outline
from gaussopt.animation.space_page import SPACE_ENDINGS, SpaceMotion
from gaussopt.animation.space_scene import space_scene
from gaussopt.core.display import About, shown
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.files import check_target, ending_of, write_bytes
from gaussopt.core.keywords import suggesting
from gaussopt.core.motion import RecordedMotion
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.problem import Problem, sketch_of
from gaussopt.modelling.problem import problem as find_problem
from gaussopt.modelling.registered import registered_problem
from gaussopt.modelling.sketch import ContactPoint, Point, as_sketch, words
from gaussopt.plotting import colours

if TYPE_CHECKING:
    import pandas as pd

BETWEEN = (0.25, 0.5, 0.75)
"""Instants at which a still picture shows the bodies in addition to start and end, as fractions of the duration."""

CONTROLS = 84
"""Height of the controls below the picture in a notebook, px."""

MOST_COORDINATES = 4
"""Largest number of coordinates that the text alternative of a picture lists."""


@shown
@dataclass(frozen=True, eq=False)
class AnimatedMotion:
    """A motion laid out as an animation, which a notebook shows with a time slider and `save` writes to a file.

    Attributes
    ----------
    scene : the parts of the picture
    motion : the motion
    title : title of the animation
    """

    scene: Scene
    motion: RecordedMotion
    title: str

    def _about(self) -> About:
        frames = self.scene.frames
        return About(f"{self.title}, t = {frames.t[0]:g} to {frames.t[-1]:.4g} s, {speed_words(frames.speed)}")

    @property
    def alt(self) -> str:
        """Description of the motion in words."""
        return description(self.scene, self.motion, self.title)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the animation to a file, completely or not at all, and return its path.

        Raises BadInput if the ending is not in ENDINGS, the file cannot be written, ffmpeg is missing for .mp4, or the
        ending is .glb and the motion is in the plane.
        """
        target = Path(path)
        ending = check_ending(target)
        if ending not in WRITERS:
            raise BadInput(IN_SPACE)
        check_target(target)
        write_bytes(target, WRITERS[ending](self))
        return target

    def page(self, whole: bool = True) -> str:
        """Return a self-contained HTML page with a slider, without title and texts unless `whole` is set."""
        alt, frames = self.alt, self.scene.frames
        return page_of(
            "animation.html.j2", title=self.title, alt=alt,
            svg=animated_svg(self.scene, alt), still=still_svg(self.scene, alt),
            playback=frames.playback, start=float(frames.t[0]), speed=frames.speed, pace=speed_words(frames.speed),
            hold=HOLD, colours=colours, whole=whole,
        )  # fmt: skip

    def _repr_html_(self) -> str:
        view = self.scene.view
        height = f"calc({view.height / view.width:.4f} * 100cqi + {CONTROLS}px)"
        return framed(self.alt, self.page(whole=False), height)


WRITERS: dict[str, Callable[[AnimatedMotion], bytes]] = {
    ".gif": lambda film: gif(film.scene),
    ".svg": lambda film: animated_svg(film.scene, film.alt).encode(),
    ".html": lambda film: film.page().encode(),
    ".mp4": lambda film: mp4(film.scene),
}
ENDINGS = (*WRITERS, ".glb")
"""Endings of the files in which animations are written."""

IN_SPACE = "A .glb holds a model in space, and this picture is in the plane; write .html, .svg, .gif or .mp4."


@suggesting
def animate(
    trajectory: RecordedMotion,
    out: str | os.PathLike[str],
    *,
    problem: str | Problem | AbstractSystem | None = None,
    sketch: Any = None,
) -> Path:
    """Write a motion as an animation.

    Parameters
    ----------
    trajectory : the result of `simulate` or `Trajectory.load`, which may have ended early
    out : ends in .gif, .svg (animated by SMIL), .html (a page with a time slider), .mp4 if ffmpeg is installed, or
        .glb (binary glTF) for a motion in space if pygltflib is installed
    problem : name or Problem whose bodies or sketch are drawn, or a System whose contact points, pins or rods can be
        drawn; by default the simulated problem. For a problem in space, .html is a page with a rotatable view,
        while .gif, .svg and .mp4 show its sketch in the plane
    sketch : Sketch or callable (q, parameters) -> shapes, drawn instead, for instance for a System without a problem

    Returns
    -------
    Path
        Path of the file, which is written completely or not at all.

    Raises
    ------
    BadInput
        If the ending is unknown, there is no sketch and none can be derived, the file cannot be written, or the
        program that writes .mp4 or .glb is not installed.
    """
    check_ending(Path(out))
    check_target(Path(out))
    return animated(trajectory, problem, sketch).save(out)


def animated(
    motion: RecordedMotion, problem: str | Problem | AbstractSystem | None = None, sketch: Any = None
) -> AnimatedMotion | SpaceMotion:
    """Return the animation of a motion; arguments and errors as in `animate`."""
    entry = _problem_of(motion, problem) if sketch is None or problem is not None else None
    if entry is not None and sketch is None and entry.in_space is not None:
        picture = entry.in_space(parameters_of(motion, entry), entry.variant)
        return SpaceMotion(space_scene(motion, picture), entry.title, partial(_flat, motion, entry, None))
    return _flat(motion, entry, sketch)


def _flat(motion: RecordedMotion, entry: Problem | None, sketch: Any) -> AnimatedMotion:
    """Return the animation in the plane, drawn by the given sketch or else by the sketch of the problem."""
    drawn = sketch_of(entry) if entry is not None and sketch is None else as_sketch(sketch)
    scene = scene_of(motion, drawn, parameters_of(motion, entry))
    title = entry.title if entry is not None else str(motion.meta.get("problem", "Motion"))
    return AnimatedMotion(scene, motion, title)


def check_drawable(entry: Problem, path: Path) -> None:
    """Raise BadInput if a problem cannot be drawn in a type of file; call this before its motion is computed."""
    ending = check_ending(path)
    if entry.in_space is None and ending not in WRITERS:
        raise BadInput(IN_SPACE)
    if ending == ".glb":
        check_gltf()
    if entry.in_space is None or ending not in SPACE_ENDINGS:
        sketch_of(entry)


def check_ending(path: Path) -> str:
    """Return the ending of a file's name; raise BadInput if animations cannot have this ending."""
    return ending_of(path, ENDINGS, "an animation")


def _problem_of(trajectory: RecordedMotion, given: str | Problem | AbstractSystem | None) -> Problem:
    """Return the problem to draw: `given` or, if that is None, the simulated problem, in the variant of the motion."""
    given = trajectory.problem if given is None else given
    if isinstance(given, AbstractSystem):
        ends = float(trajectory.t[-1]) or 1.0
        return Problem.of(given, trajectory.q[0], trajectory.v[0], t_end=ends, name=given.name)
    if isinstance(given, Problem):
        return given
    name = given or str(trajectory.meta.get("problem", ""))
    try:
        entry = find_problem(given) if given else registered_problem(name)
    except UnknownName:
        entry = None
    # A user's System may have the name of a registered problem, so compare the names of the parameters, too.
    known = trajectory.meta.get("parameters") or {}
    if entry is None or (given is None and {p.name for p in entry.parameters} != set(known)):
        raise BadInput(
            f"The motion is of {name!r}, which is no registered problem; give its problem, system or file too, in "
            "Python by animate(..., problem=...), or animate(..., sketch=...) a function of (q, parameters) that "
            "returns shapes of gaussopt.modelling.sketch."
        )
    variant = str(trajectory.meta.get("variant", ""))
    return entry.at(variant=variant) if variant else entry


def parameters_of(trajectory: RecordedMotion, entry: Problem | None) -> Mapping[str, float]:
    """Return the parameter values of a motion by name."""
    own = trajectory.meta.get("parameters") or {}
    return {**(entry.parameter_values if entry is not None else {}), **own}


def still_svg(scene: Scene, label: str) -> str:
    """Return a still picture as SVG: bodies at the start (pale), between (paler) and at the end; paths of points."""
    frames = scene.frames
    last = len(frames.t) - 1
    between = [int(np.searchsorted(frames.t, frames.t[0] + share * frames.span)) for share in BETWEEN]
    ghosts = [(i, 0.16) for i in between] + [(0, 0.42)] if frames.span > 0 else []
    body = [
        *(f'<path {outline(track)} stroke-width="1.4"/>' for track in scene.tracks),
        *(f'<g opacity="{shade}">{"".join(placed(p, i) for p in _bodies(scene))}</g>' for i, shade in ghosts),
        *(placed(p, last) for p in (*scene.parts, *scene.arrows)),
        *(placed(p) for p in (*_read_out(scene), *words_beside(scene, still=True))),
    ]
    return page(body, scene.view.width, scene.view.height, f"Start, end and path. {label}")


def _bodies(scene: Scene) -> list[Part]:
    """Return those parts of a scene that move; labels are left out."""

    def moves(part: Part) -> bool:
        return any(np.ndim(v) and float(np.ptp(v)) > 1e-9 for v in (part.x, part.y, part.angle, part.sx))

    return [p for p in scene.parts if moves(p) and not all(isinstance(m, Word) for m in p.marks)]


def _read_out(scene: Scene) -> list[Part]:
    frames = scene.frames
    text = f"t = {frames.t[0]:g} s (pale) to {frames.t[-1]:.4g} s" if frames.span > 0 else f"t = {frames.t[0]:g} s"
    found = [fixed(clock_word(text))]
    if scene.tracks and not scene.names:
        names = ", ".join(dict.fromkeys(words(t.label) for t in scene.tracks if t.label))
        x, y = 14.0, scene.view.height - 14
        line = Stroke((((x, y - 4), (x + 20, y - 4)),), scene.tracks[0].colour, 1.6)
        found.append(fixed(line, plain((x + 26, y), f"path of {names}" if names else "path")))
    return found


def description(scene: Scene, trajectory: RecordedMotion, title: str) -> str:
    """Describe a motion in words, with numbers computed from its data."""
    frames = scene.frames
    said = [f"{title}, t = {frames.t[0]:g} s to {frames.t[-1]:.4g} s."]
    moves = []
    for name, c in zip(trajectory.coordinates[:MOST_COORDINATES], frames.q.T, strict=False):
        low, high = float(c.min()), float(c.max())
        if high - low <= 1e-9 * (1 + max(abs(low), abs(high))):
            moves.append(f"{name} stays at {told(c[0])}")
            continue
        inside = min(c[0], c[-1]) - low > 0.02 * (high - low) or high - max(c[0], c[-1]) > 0.02 * (high - low)
        between = f" within {told(low)} to {told(high)}" if inside else ""
        moves.append(f"{name} goes from {told(c[0])} to {told(c[-1])}{between}")
    more = len(trajectory.coordinates) - MOST_COORDINATES
    said.append("; ".join(moves) + (f"; {more} more coordinates" if more > 0 else "") + ".")
    for name, N in zip(trajectory.contacts, frames.lam_N.T, strict=True):
        top = int(np.abs(N).argmax())
        if abs(N[top]) <= 1e-9 * float(np.abs(frames.lam_N).max(initial=0.0)) or N[top] == 0:
            said.append(f"Contact {name} bears no force.")
        else:
            said.append(f"Normal force of contact {name} at most {told(N[top])} N, at {frames.t[top]:.4g} s.")
    events = [f"{c.text} at {c.t:.4g} s" for c in scene.captions[:8]]
    if events:
        rest = len(scene.captions) - len(events)
        said.append("Events: " + "; ".join(events) + (f"; and {rest} more" if rest > 0 else "") + ".")
    ends = {track.label: track.points[-1] for track in scene.tracks}
    for label, _ in scene.names[1:]:
        apart = ""
        if label in ends and scene.names[0][0] in ends:
            gap = float(np.hypot(*(ends[label] - ends[scene.names[0][0]]))) / scene.view.scale
            apart = f", {told(gap)} m away at the end"
        said.append(f"Beside it: {label}{apart}.")
    if str(trajectory.status) != "solved":
        said.append(trajectory.message)
    return " ".join(said)


def data_of(scene: Scene, trajectory: RecordedMotion) -> pd.DataFrame:
    """Return a table of the motion, 25 rows per second of playback: coordinates, points (m), contact forces (N)."""
    import pandas as pd

    frames = scene.frames
    columns: dict[str, Any] = {"t": frames.t}
    columns |= {name: frames.q[:, i] for i, name in enumerate(trajectory.coordinates)}
    for track in scene.shapes:
        if isinstance(track[0], Point) and (track[0].trace or track[0].label):
            name = words(track[0].label) or "traced point"
        elif isinstance(track[0], ContactPoint) and track[0].name in trajectory.contacts:
            name = f"contact {track[0].name}"
        else:
            continue
        for j, axis in enumerate("xy"):
            columns.setdefault(f"{axis} of {name}", np.array([s.at[j] for s in track]))
    for i, name in enumerate(trajectory.contacts):
        columns |= {f"lam_N_{name}": frames.lam_N[:, i], f"lam_T_{name}": frames.lam_T[:, i]}
    # Keep the frames on both sides of an event, and every fourth of the other frames.
    jumps = np.flatnonzero(np.diff(frames.t) <= SAME * (1 + np.abs(frames.t[1:])))
    rows = np.unique(np.concatenate((np.arange(0, len(frames.t), 4), jumps, jumps + 1, [len(frames.t) - 1])))
    return pd.DataFrame(columns).iloc[rows].reset_index(drop=True)
