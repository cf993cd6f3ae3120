"""The labelled drawing of a mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussopt.modelling import sketch
from gaussopt.modelling.problem import Problem, sketch_of
from gaussopt.reporting.animation.marks import LETTER, Margins, Part, View, Word, fit, fixed, page, placed
from gaussopt.reporting.animation.notes import arrow, room
from gaussopt.reporting.animation.shapes import Look, over_frames, parts_of
from gaussopt.reporting.colours import FRICTION, NORMAL
from gaussopt.reporting.document import Figure

if TYPE_CHECKING:
    import pandas as pd

SIZE = (520.0, 260.0)
MARGINS = Margins(30.0, 30.0, 30.0, 30.0)
ARROWS = (44.0, 34.0)
"""Length of the arrows of normal force and friction, px."""
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


def drawing_figure(problem: Problem, name: str, caption: str = "") -> Figure:
    """Figure of a mechanism at one configuration with its letters: bodies, joints, angles, lengths, forces.

    Parameters
    ----------
    problem : Problem
        With a sketch; drawn at the sketch's pose, or at the problem's start.
    name : str
        Of the figure.
    caption : str, optional

    Raises
    ------
    BadInput
        If there is no sketch, or it fails.
    """
    shapes, posed = drawn_shapes(problem)
    alt = f"Drawing of the mechanism “{problem.title}”: {inventory(shapes)}."
    at = "at a configuration that shows all its parts" if posed else "at its start"
    caption = caption or f"{problem.title}, drawn {at}."
    return Figure(name, caption, alt, _svg(problem, shapes, alt), _data(shapes))


def drawn_shapes(problem: Problem) -> tuple[tuple[sketch.Shape, ...], bool]:
    """The shapes of the drawing, and whether they are at the sketch's pose and not at the start.

    Raises
    ------
    BadInput
    """
    drawn = sketch_of(problem)
    parameters = problem.parameter_values
    posed = drawn.pose is not None and problem.state is None
    q = np.asarray(drawn.pose(parameters), dtype=np.float64) if posed and drawn.pose else problem.q0
    return drawn.shapes(q, parameters, problem.name), posed


def inventory(shapes: Sequence[sketch.Shape]) -> str:
    """List the shapes of a drawing in words, counted and with their letters."""
    said = []
    for kind, (one, many) in NOUNS.items():
        of = [s for s in shapes if type(s) is kind]
        if not of:
            continue
        letters = [sketch.words(getattr(s, "label", "") or getattr(s, "name", "")) for s in of]
        named = ", ".join(x for x in letters if x)
        head = f"{len(of)} {many}" if len(of) > 1 else one
        said.append(f"{head} ({named})" if named else head)
    return "; ".join(said)


def places_of(shapes: Sequence[sketch.Shape]) -> np.ndarray:
    """Points that a picture of these shapes must contain, (P, 2), m."""
    return np.array([p for s in shapes for p in sketch.segments(s)], dtype=np.float64).reshape(-1, 2)


def _svg(problem: Problem, shapes: Sequence[sketch.Shape], alt: str) -> str:
    near = [row for s in shapes for row in (*room(s), *_contact_room(s))]
    view = fit(places_of(shapes), SIZE, MARGINS, np.array(near, dtype=np.float64).reshape(-1, 4), least=260.0)
    parts = parts_of(over_frames([shapes], problem.name), view, Look())
    rough = _rough(problem)
    contacts = [
        p for s in shapes if isinstance(s, sketch.ContactPoint) for p in _contact(s, view, rough.get(s.name, False))
    ]
    return page([placed(p) for p in [*parts, *contacts]], view.width, view.height, alt)


def _rough(problem: Problem) -> dict[str, bool]:
    """Whether each contact has friction."""
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    return {name: bool(mu > 0) for name, mu in zip(problem.system.contact_names, step.mu, strict=True)}


def _contact_room(shape: sketch.Shape) -> list[tuple[float, float, float, float]]:
    if not isinstance(shape, sketch.ContactPoint):
        return []
    reach = [(ARROWS[0] + 6, shape.normal), (ARROWS[1] + 26, shape.tangent)]
    return [(*shape.at, size * u[0], -size * u[1]) for size, u in reach]


def _contact(contact: sketch.ContactPoint, view: View, rough: bool) -> list[Part]:
    """The forces of a contact as letters and arrows."""
    x, y = view.pixels(contact.at)
    name = contact.name if len(contact.name) <= 2 else ""
    found = []
    for letter, direction, colour, size, there in (
        ("N", contact.normal, NORMAL, ARROWS[0], True), ("T", contact.tangent, FRICTION, ARROWS[1], rough),
    ):  # fmt: skip
        if not there:
            continue
        u = (direction[0], -direction[1])
        tip = (x + size * u[0], y + size * u[1])
        upright = abs(u[1]) > 0.7
        at = (tip[0] + (8 if upright else 2 * u[0]), tip[1] + (6 if upright else 17))
        label = f"{letter}_{name}" if name else letter
        anchor = "start" if upright or u[0] > 0 else "end"
        found.append(fixed(*arrow((x, y), tip, colour, 2.0), Word(at, label, anchor, LETTER, colour)))
    return found


def _data(shapes: Sequence[sketch.Shape]) -> pd.DataFrame:
    """Table of the shapes and their places, m and rad."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for s in shapes:
        ends = sketch.segments(s) if not isinstance(s, sketch.Block | sketch.Disk | sketch.Blade) else (s.centre,)
        angle = getattr(s, "angle", math.nan)
        rows.append({
            "what": type(s).__name__, "label": getattr(s, "label", "") or getattr(s, "name", ""), "x": ends[0][0],
            "y": ends[0][1], "x2": ends[-1][0] if len(ends) > 1 else math.nan,
            "y2": ends[-1][1] if len(ends) > 1 else math.nan, "angle": angle,
        })  # fmt: skip
    return pd.DataFrame([r for r, s in zip(rows, shapes, strict=True) if not isinstance(s, sketch.Axes)])
