"""Drawings of mechanisms: labelled at rest, and animated in motion."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gaussopt.animation.animate import data_of, description, parameters_of, still_svg
from gaussopt.animation.marks import LETTER, Part, View, Word, fit, fixed, page, placed
from gaussopt.animation.notes import arrow, room
from gaussopt.animation.playback import speed_words
from gaussopt.animation.scene import scene_of
from gaussopt.animation.shapes import Look, over_frames, parts_of
from gaussopt.animation.smil import animated_svg
from gaussopt.core.motion import RecordedMotion
from gaussopt.modelling import sketch
from gaussopt.modelling.problem import Problem, sketch_of
from gaussopt.plotting.colours import FRICTION, NORMAL
from gaussopt.reporting.document import Animation, Figure

if TYPE_CHECKING:
    import pandas as pd

SIZE = (520.0, 260.0)
MARGINS = (30.0, 30.0, 30.0, 30.0)
ARROWS = (44.0, 34.0)
"""Lengths of the arrows of normal force and friction, px."""
NOUNS: dict[type, tuple[str, str]] = {
    sketch.Bar: ("bar", "bars"), sketch.Block: ("block", "blocks"), sketch.Disk: ("round body", "round bodies"),
    sketch.Blade: ("knife edge", "knife edges"), sketch.Pin: ("hinge", "hinges"),
    sketch.Bearing: ("fixed bearing", "fixed bearings"), sketch.Spring: ("spring", "springs"),
    sketch.Damper: ("damper", "dampers"), sketch.Ground: ("ground", "grounds"), sketch.Wall: ("wall", "walls"),
    sketch.Point: ("marked point", "marked points"),
    sketch.ContactPoint: ("contact with its forces", "contacts with their forces"),
    sketch.Angle: ("angle", "angles"), sketch.Length: ("length", "lengths"), sketch.Force: ("force", "forces"),
    sketch.Torque: ("torque", "torques"),
}  # fmt: skip


def drawing_figure(problem: Problem, name: str) -> Figure:
    """Draw a mechanism with labels, in the pose of its sketch or else at the start; raises BadInput without sketch."""
    shapes, posed = drawn_shapes(problem)
    alt = f"Drawing of the mechanism “{problem.title}”: {inventory(shapes)}."
    at = "at a configuration that shows all its parts" if posed else "at its start"
    return Figure(name, f"{problem.title}, drawn {at}.", alt, _svg(problem, shapes, alt), _data(shapes))


def drawn_shapes(problem: Problem) -> tuple[tuple[sketch.Shape, ...], bool]:
    """Return the shapes of the drawing, and whether they show the sketch's pose instead of the motion's start."""
    drawn = sketch_of(problem)
    parameters = problem.parameter_values
    posed = drawn.pose is not None and problem.state is None
    q = np.asarray(drawn.pose(parameters), dtype=np.float64) if posed and drawn.pose else problem.q0
    return drawn.shapes(q, parameters, problem.name), posed


def inventory(shapes: Sequence[sketch.Shape]) -> str:
    """List the shapes of a drawing in words: how many of each kind, and their labels."""
    said = []
    for kind, (one, many) in NOUNS.items():
        of = [s for s in shapes if type(s) is kind]
        if not of:
            continue
        letters = [sketch.words(_label(s)) for s in of]
        named = ", ".join(x for x in letters if x)
        head = f"{len(of)} {many}" if len(of) > 1 else one
        said.append(f"{head} ({named})" if named else head)
    return "; ".join(said)


def _label(shape: sketch.Shape) -> str:
    return str(getattr(shape, "label", "") or getattr(shape, "name", ""))


def _svg(problem: Problem, shapes: Sequence[sketch.Shape], alt: str) -> str:
    places = np.array([p for s in shapes for p in sketch.segments(s)], dtype=np.float64).reshape(-1, 2)
    near = [row for s in shapes for row in (*room(s), *_contact_room(s))]
    view = fit(places, np.array(near, dtype=np.float64).reshape(-1, 4), SIZE, MARGINS, least=260.0)
    parts = parts_of(over_frames([shapes], problem.name), view, Look())
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    rough = dict(zip(problem.system.contact_names, step.mu > 0, strict=True))  # whether each contact has friction
    for s in shapes:
        if isinstance(s, sketch.ContactPoint):
            parts += _contact(s, view, rough.get(s.name, False), float(places[:, 0].mean()))
    return page([placed(p) for p in parts], view.width, view.height, alt)


def _contact_room(shape: sketch.Shape) -> list[tuple[float, float, float, float]]:
    if not isinstance(shape, sketch.ContactPoint):
        return []
    reach = [(ARROWS[0] + 6, shape.normal), (ARROWS[1] + 26, shape.tangent)]
    return [(*shape.at, size * u[0], -size * u[1]) for size, u in reach]


def _contact(contact: sketch.ContactPoint, view: View, rough: bool, middle: float) -> list[Part]:
    """Draw the forces of a contact as arrows with symbols; `middle` is the x coordinate of the body's centre, m."""
    x, y = view.pixels(contact.at)
    name = contact.name if len(contact.name) <= 2 else ""
    forces = [("N", contact.normal, NORMAL, ARROWS[0])]
    if rough:
        forces.append(("T", contact.tangent, FRICTION, ARROWS[1]))
    found = []
    for letter, direction, colour, size in forces:
        u = (direction[0], -direction[1])
        tip = (x + size * u[0], y + size * u[1])
        upright = abs(u[1]) > 0.7
        right = contact.at[0] >= middle if upright else u[0] > 0  # an upright arrow's label is outside
        at = (tip[0] + (8 if right else -8) if upright else tip[0] + 2 * u[0], tip[1] + (6 if upright else 17))
        label = f"{letter}_{name}" if name else letter
        anchor = "start" if right else "end"
        found.append(fixed(*arrow((x, y), tip, colour, 2.0), Word(at, label, anchor, LETTER, colour)))
    return found


def _data(shapes: Sequence[sketch.Shape]) -> pd.DataFrame:
    """Return a table of the shapes and their positions, m and rad."""
    import pandas as pd

    rows = []
    for s in (s for s in shapes if not isinstance(s, sketch.Axes)):
        ends = sketch.segments(s) if not isinstance(s, sketch.Block | sketch.Disk | sketch.Blade) else (s.centre,)
        end = ends[-1] if len(ends) > 1 else (math.nan, math.nan)
        rows.append((type(s).__name__, _label(s), *ends[0], *end, getattr(s, "angle", math.nan)))
    return pd.DataFrame(rows, columns=["what", "label", "x", "y", "x2", "y2", "angle"])


def animation_block(
    trajectory: RecordedMotion, problem: Problem, name: str, caption: str, *,
    beside: Mapping[str, RecordedMotion] | None = None, label: str = "", t_end: float | None = None,
) -> Animation:  # fmt: skip
    """Make a block of a report that shows a motion until `t_end` (s): animation, still picture, description, and data.

    The sketch is that of `problem`; the speed of playback is added to the caption. Further motions, `beside`, are drawn
    in the same picture, where `label` names the first motion. Raises BadInput if there is no sketch, or if it fails.
    """
    scene = scene_of(
        trajectory, sketch_of(problem), parameters_of(trajectory, problem), beside=beside, label=label, t_end=t_end
    )
    alt = description(scene, trajectory, problem.title)
    shown = f"{caption} Playback: {speed_words(scene.frames.speed)}."
    return Animation(name, shown, alt, animated_svg(scene, alt), still_svg(scene, alt), data_of(scene, trajectory))
