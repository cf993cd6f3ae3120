"""Scene of a motion: bodies, contact forces, paths, and the text next to them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gaussopt.animation import playback
from gaussopt.animation.marks import Mark, Part, Pixels, Stroke, View, Word, fit, fixed, plain
from gaussopt.animation.notes import HEAD, arrow, arrow_head, room
from gaussopt.animation.playback import Caption, Frames, nice_below
from gaussopt.animation.shapes import FIXED, LETTERED, Look, column, over_frames, parts_of, turn
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.motion import RecordedMotion
from gaussopt.modelling.sketch import NOTES, Bearing, ContactPoint, Parameters, Pin, Point, Sketch, segments
from gaussopt.plotting.colours import FRICTION, INK, NORMAL, OTHER, OTHER_BODY, PALE, PATH

SIZE = (580.0, 300.0)
MARGINS = (26.0, 62.0, 26.0, 52.0)
LEAST = 460.0
LONGEST_ARROW = 72.0
"""Length of the arrow of the largest contact force, px."""

LINE = 18.0
"""Height of a line of text, px."""

FURTHER = 0.4
"""Largest distance, relative to the motion's extent, by which compared motions may extend a picture."""

SECOND = Look(fill=OTHER_BODY, edge=OTHER, letters=False)


@dataclass(frozen=True)
class Track:
    """The path of a point, (F, 2) px, with its colour and name."""

    points: Matrix
    colour: str
    label: str


@dataclass(frozen=True)
class Legend:
    """Legend of the contact forces: scale of the arrows, px/N, and force and length (N, px) of the sample arrow.

    `friction` tells whether the legend names friction.
    """

    scale: float
    value: float
    length: float
    friction: bool


@dataclass(frozen=True)
class Scene:
    """Parts of a picture of a motion.

    Attributes
    ----------
    frames : frames of the motion
    captions : texts at the events
    view : map from metres to pixels
    parts : bodies and joints over all frames, from the back to the front
    arrows : contact forces over all frames
    struck : for each contact in an impact, its caption and its position in pixels
    tracks : paths
    legend : legend of the forces, None if there are none
    names : labels and colours of the motions, if the picture shows several
    shapes : for each shape, its states over all frames
    """

    frames: Frames
    captions: tuple[Caption, ...]
    view: View
    parts: Sequence[Part]
    arrows: Sequence[Part]
    struck: Sequence[tuple[Caption, Pixels]]
    tracks: Sequence[Track]
    legend: Legend | None
    names: Sequence[tuple[str, str]]
    shapes: Sequence[Sequence[Any]]


def scene_of(
    trajectory: RecordedMotion, sketch: Sketch, parameters: Parameters, *,
    beside: Mapping[str, RecordedMotion] | None = None, label: str = "", t_end: float | None = None,
) -> Scene:  # fmt: skip
    """Return the scene of a motion and of the motions `beside` it, up to `t_end`, s, or the end of the shortest motion.

    Raises BadInput if there is nothing to draw or the sketch fails, UnknownName for a contact unknown to the motion.
    """
    owner = str(trajectory.meta.get("problem", "the problem"))
    others = dict(beside or {})
    ends = [float(x.t[-1]) for x in others.values() if len(x.t)] + ([] if t_end is None else [t_end])
    frames = playback.frames_of(trajectory, min(ends) if ends else None)
    shapes = _tracks(sketch, frames, parameters, owner)
    contacts = _contacts(shapes, trajectory, owner)
    legend = _legend(frames, [i for _, i in contacts])
    forces = [force for c, i in contacts for force in _forces(c, frames, i)]
    near = [row for s in shapes if isinstance(s[0], Bearing) for row in room(s[0])]
    seen = np.array([p for track in shapes for p in _seen(track)], dtype=np.float64).reshape(-1, 2)
    ghosts = {name: _beside(sketch, other, frames, parameters, owner) for name, other in others.items()}
    for ghost in ghosts.values():
        seen = np.concatenate((seen, _near(np.array([p for s in ghost for p in _seen(s)]).reshape(-1, 2), seen)))
    tips = [force.tips(legend) for force in forces] if legend else []
    more = np.concatenate([np.array(near, dtype=np.float64).reshape(-1, 4), *tips])
    captions = playback.captions_of(trajectory, frames)
    # Captions have a separate line below the scale of the forces.
    line = LINE if legend is not None and captions else 0.0
    left, top, right, bottom = MARGINS
    view = fit(seen, more, SIZE, (left, top + line, right, bottom), LEAST)
    parts = parts_of(shapes, view, Look())
    tracks = _paths(shapes, view, PATH, label)
    names = [(label, PATH)] if others else []
    for i, (name, ghost) in enumerate(ghosts.items()):
        colour = (OTHER, FRICTION, INK)[i % 3]
        parts[:0] = parts_of(ghost, view, replace(SECOND, edge=colour))
        tracks += _paths(ghost, view, colour, name)
        names.append((name, colour))
    arrows = [part for force in forces for part in force.arrow(legend, view)] if legend else []
    struck = _struck(captions, contacts, frames, view)
    return Scene(frames, captions, view, parts, arrows, struck, tracks, legend, names, shapes)


def _contacts(
    shapes: Sequence[Sequence[Any]], trajectory: RecordedMotion, owner: str
) -> list[tuple[Sequence[Any], int]]:
    """Return the drawn contacts over all frames, with their indices in the motion; empty if it has no contacts."""
    drawn = [s for s in shapes if isinstance(s[0], ContactPoint) and trajectory.contacts]
    for track in drawn:
        if track[0].name not in trajectory.contacts:
            raise UnknownName(f"contact in the sketch of {owner}", track[0].name, trajectory.contacts)
    return [(track, trajectory.contacts.index(track[0].name)) for track in drawn]


def _beside(
    sketch: Sketch, other: RecordedMotion, frames: Frames, parameters: Parameters, owner: str
) -> list[list[Any]]:
    """Return the bodies of a compared motion at the frames' instants, without its forces and events."""
    own = playback.sampled(other, np.unique(frames.t), frames.speed)
    at = np.clip(np.searchsorted(own.t, frames.t), 0, len(own.t) - 1)
    bodies = [s for s in _tracks(sketch, own, parameters, owner) if not isinstance(s[0], FIXED)]
    return [[s[j] for j in at] for s in bodies]


def _near(places: Matrix, seen: Matrix) -> Matrix:
    """Return the points near the region that must be visible, so that a diverging motion does not change the scale."""
    low, high = seen.min(axis=0), seen.max(axis=0)
    reach = FURTHER * float((high - low).max())
    return np.asarray(places[((places >= low - reach) & (places <= high + reach)).all(axis=1)])


def _tracks(sketch: Sketch, frames: Frames, parameters: Parameters, owner: str) -> list[list[Any]]:
    """Return the shapes over all frames, without those that only the labelled drawing shows."""
    drawn = []
    for q in frames.q:
        shapes = [s for s in sketch.shapes(q, parameters, owner) if not isinstance(s, NOTES)]
        if not shapes:
            raise BadInput(f"The sketch of {owner} returned nothing that moves; angles and the like are notes only.")
        # In an animation only points have labels.
        drawn.append([replace(s, label="") if isinstance(s, LETTERED) and s.label else s for s in shapes])
    return over_frames(drawn, owner)


def _seen(track: Sequence[Any]) -> list[tuple[float, float]]:
    """Return the points of a shape that the picture must contain."""
    return [p for s in (track[:1] if isinstance(track[0], FIXED) else track) for p in segments(s)]


def _legend(frames: Frames, contacts: Sequence[int]) -> Legend | None:
    normal, friction = (float(np.abs(x[:, contacts]).max(initial=0.0)) for x in (frames.lam_N, frames.lam_T))
    largest = max(normal, friction)
    if largest <= 0:
        return None
    scale = LONGEST_ARROW / largest
    value = nice_below(largest)
    return Legend(scale, value, value * scale, friction > 1e-9 * largest)


@dataclass(frozen=True)
class _Force:
    """A contact force over all frames: its point of action (F, 2), direction (F, 2) and size (F,), and its colour."""

    at: Matrix
    direction: Matrix
    size: Vector
    colour: str

    def tips(self, legend: Legend) -> Matrix:
        """Return the tips of the arrows, (F, 4), each as a point (x, y), m, and an offset (right, down), px."""
        u = self.direction * (legend.scale * self.size)[:, None]
        return np.column_stack((self.at, u[:, 0], -u[:, 1]))

    def arrow(self, legend: Legend, view: View) -> list[Part]:
        """Return the shaft and the head of the arrow; their lengths are zero where the force is zero."""
        length = legend.scale * self.size
        if float(np.abs(length).max()) < 0.05:
            return []
        x, y = view.points(self.at).T
        angle = turn(np.arctan2(self.direction[:, 1], self.direction[:, 0]))
        size = np.minimum(1.0, np.abs(length) / HEAD[0])
        shaft = np.sign(length) * np.maximum(np.abs(length) - 0.7 * HEAD[0] * size, 0.0)
        tip = x + length * np.cos(np.radians(angle)), y + length * np.sin(np.radians(angle))
        return [
            Part((Stroke((((0.0, 0.0), (1.0, 0.0)),), self.colour, 2.4),), x, y, angle, shaft),
            Part((arrow_head((0.0, 0.0), 0.0, self.colour),), *tip, angle, np.sign(length) * size, size),
        ]


def _forces(track: Sequence[ContactPoint], frames: Frames, i: int) -> list[_Force]:
    """Return normal force and friction; where N < 0 in a two-sided contact, both forces act at the opposite wall."""
    N, T = frames.lam_N[:, i], frames.lam_T[:, i]
    at = column(track, "at")
    if track[0].other is not None:
        at = np.where((N < 0)[:, None], column(track, "other"), at)
    return [_Force(at, column(track, "normal"), N, NORMAL), _Force(at, column(track, "tangent"), T, FRICTION)]


def _struck(
    captions: Sequence[Caption], contacts: Sequence[tuple[Sequence[ContactPoint], int]], frames: Frames, view: View
) -> list[tuple[Caption, Pixels]]:
    """Return the caption of each impact with the position, px, of each of its contacts."""
    found = []
    for caption in captions:
        frame = min(int(np.searchsorted(frames.t, caption.t)), len(frames.t) - 1)
        found += [(caption, view.pixels(t[frame].at)) for t, _ in contacts if t[0].name in caption.impacts]
    return found


def _paths(shapes: Sequence[Sequence[Any]], view: View, colour: str, label: str) -> list[Track]:
    found = []
    for s in shapes:
        if isinstance(s[0], Point) and s[0].trace:
            hinges = (h[0].label for h in shapes if isinstance(h[0], Pin | Bearing) and h[0].at == s[0].at)
            name = label or s[0].label or next(hinges, "")
            found.append(Track(view.points(column(s, "at")), colour, name))
    return found


def words_beside(scene: Scene, still: bool = False) -> list[Part]:
    """Return the texts at the edges of the picture, which do not change: speed, scale of forces, names of motions."""
    right = scene.view.width - 14
    found = []
    if not still:
        found.append(fixed(plain((right, 22), playback.speed_words(scene.frames.speed), "end")))
    if scene.legend is not None:
        found.append(_scale(scene.legend, right))
    x = 14.0
    for name, colour in scene.names:
        y = scene.view.height - (12 if still else 36)
        line = Stroke((((x, y - 4), (x + 20, y - 4)),), colour, 3.0)
        found.append(fixed(line, plain((x + 26, y), name, colour=colour)))
        x += 44 + 7.0 * len(name)
    return found


def _scale(legend: Legend, right: float) -> Part:
    """Return the scale of the picture: sample arrows, labelled with the force that they represent."""
    text = f"= {legend.value:g} N"
    x, y = right - 8.0 * len(text), 40.0
    marks: list[Mark] = [plain((right, y + 4), text, "end")]
    kinds = [("friction", FRICTION)] if legend.friction else []
    for name, colour in [*kinds, ("normal force", NORMAL)]:
        tip = x - 8
        marks += [
            *arrow((tip - legend.length, y), (tip, y), colour, 2.4),
            plain((tip - legend.length - 6, y + 4), name, "end", colour),
        ]
        x = tip - legend.length - 6 - 7.2 * len(name) - 6
    return fixed(*marks)


def clock_word(text: str) -> Word:
    """Return the displayed time as a `Word` of the picture."""
    return plain((14, 22), text)


def caption_word(scene: Scene, caption: Caption) -> Word:
    """Return a caption as a `Word` at its position below the scale of the forces."""
    place = 14.0, 44.0 + (LINE if scene.legend is not None else 0.0)
    return plain(place, caption.text, colour=NORMAL if caption.impacts else INK)


def timeline(scene: Scene) -> tuple[list[Part], float, float, float]:
    """Return the time axis at the lower edge with its events, the x positions of its ends, and its height, px."""
    left, right, y = 44.0, scene.view.width - 76.0, scene.view.height - 18.0
    t0, span = float(scene.frames.t[0]), scene.frames.span
    marks: list[Mark] = [
        Stroke((((left, y), (right, y)),), PALE, 1.6),
        plain((left - 9, y + 4), f"{t0:g}", "end"),
        plain((right + 11, y + 4), f"{scene.frames.t[-1]:.4g} s"),
    ]
    for caption in scene.captions:
        x = left + (right - left) * ((caption.t - t0) / span if span else 0.0)
        marks.append(Stroke((((x, y - 6), (x, y + 6)),), NORMAL if caption.impacts else INK, 1.6))
    return [fixed(*marks)], left, right, y


def stamps(frames: Frames) -> tuple[Vector, list[str]]:
    """Return the instants, s, at which the displayed time changes, and the displayed texts."""
    if frames.span <= 0:
        return np.array([frames.t[0]]), [f"t = {frames.t[0]:g} s"]
    step = nice_below(frames.span / 30)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    count = math.floor(frames.span / step + 1e-9)
    times = frames.t[0] + step * np.arange(count + 1)
    return times, [f"t = {t:.{digits}f} s" for t in times]
