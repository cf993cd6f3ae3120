"""Automatic pictures of a model in space: solids of its bodies, joints and contacts, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import combinations, product
from typing import Any

import numpy as np
import sympy as sp

from gaussopt.bodies.body import TIME, RigidBody, evaluated
from gaussopt.bodies.element import Element, spot
from gaussopt.bodies.space import SpaceBody
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput
from gaussopt.modelling.solids import (
    SOLIDS,
    Ball,
    BallContact,
    Box,
    Cylinder,
    FaceContact,
    Line,
    Solid,
    SpacePicture,
)  # fmt: skip

CORNERS = np.array(list(product((-0.5, 0.5), repeat=3)))
"""Coordinates of the corners of a box with edges of length 1."""


def as_solids(name: str, shape: Any) -> tuple[Solid, ...]:
    """Return the solids of a body from its `shape`, no solids if it is None; raises BadInput."""
    if shape is None:
        return ()
    found = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    if found and all(isinstance(s, SOLIDS) for s in found):
        return found
    try:
        sizes = [sp.sympify(x, strict=True) for x in found]
    except (sp.SympifyError, TypeError):
        sizes = []
    if len(sizes) in (1, 3) and all(isinstance(x, sp.Expr) for x in sizes):
        return (Ball(sizes[0]),) if len(sizes) == 1 else (Box(tuple(sizes)),)
    raise BadInput(
        f"shape of {name!r} is {shape!r}; in space give a radius, three edges of a box, or one or several of Box, "
        "Ball, Cylinder and Capsule of gaussopt.bodies."
    )


def drawn_in_space(
    bodies: Sequence[RigidBody], elements: Sequence[Element], gravity: Sequence[Any], values: Mapping[Any, float],
    built: Sequence[RigidBody],
) -> SpacePicture:  # fmt: skip
    """Return the picture of a model at values of its symbols; a body without a shape is drawn from inertia and joints.

    `built` holds the same bodies in the coordinates of the motion, from which their positions are computed.
    """

    def number(x: Any) -> float:
        return float(sp.sympify(x, strict=True).subs(values))

    parts: list[Any] = [(b.name, s) for b in bodies for s in _solids(b, elements, number)]
    parts += [part for element in elements for part in element.in_space()]
    found = [_checked(part, number) for part in parts]
    solids = list(dict.fromkeys(part for part in found if isinstance(part, tuple)))  # a shared floor is drawn once
    joints = {e.name: _filled(spot(e.b), number) for e in elements if {"x", "y", "z"} <= set(e.holonomic())}
    down = np.array([number(x) for x in gravity])
    return SpacePicture(
        solids, [x for x in found if isinstance(x, Line)], joints,
        [x for x in found if isinstance(x, FaceContact | BallContact)],
        tuple(-down / np.linalg.norm(down)) if down.any() else (0, 0, 1),
        {b.name: _posed(b, values) for b in built if b not in bodies or not b.q},
    )  # fmt: skip


def _checked(part: Any, number: Callable[[Any], float]) -> Any:
    """Return a part with expressions replaced by numbers; raises BadInput if a solid of a body cannot be drawn."""
    try:
        filled = _filled(part, number)
    except (sp.SympifyError, TypeError, ValueError):
        raise BadInput(f"The solid {part!r} holds something else than numbers and parameters of the model.") from None
    solid = filled[1] if isinstance(filled, tuple) else None
    entries = [(f.name, getattr(solid, f.name)) for f in fields(solid)] if solid is not None else []
    for name, value in entries:
        numbers = [value] if not isinstance(value, tuple) else value
        if any(not isinstance(x, float) for x in numbers):
            raise BadInput(f"The shape of {filled[0]!r} has the {name} {value!r}; give numbers or parameters.")
        wrong = len(value) != (4 if name == "turn" else 3) if isinstance(value, tuple) else not value >= 0
        if wrong or (name == "edges" and min(value) <= 0):
            raise BadInput(
                f"The shape of {filled[0]!r} has a {type(solid).__name__} whose {name} is {value!r}; places and edges "
                "have three numbers, a turn four, and no size is negative."
            )
    return filled


def _posed(body: RigidBody, values: Mapping[Any, float]) -> Callable[[Vector, Mapping[str, Vector]], Matrix]:
    """Return a function (t (F,), coordinates) -> positions and quaternions (F, 7)."""
    from scipy.spatial.transform import Rotation

    numbers = evaluated([TIME, *body.q, *values], [*body.r, *body.R], [body], "numpy")

    def posed(t: Vector, columns: Mapping[str, Vector]) -> Matrix:
        found = numbers(t, *(columns[str(x)] for x in body.q), *values.values())
        table = np.stack([np.broadcast_to(x, t.shape) for x in found], axis=1).astype(float)
        e = Rotation.from_matrix(table[:, 3:].reshape(-1, 3, 3)).as_quat(scalar_first=True)
        # Quaternions are interpolated linearly between frames: e and -e are the same rotation, so take the nearer one.
        e[1:] *= np.cumprod(np.where((e[1:] * e[:-1]).sum(axis=1) < 0, -1.0, 1.0))[:, None]
        return np.hstack((table[:, :3], e))

    return posed


def _filled(part: Any, number: Callable[[Any], float]) -> Any:
    """Return a part of the picture with numbers in place of its expressions."""
    if part is None or isinstance(part, str):
        return part
    if isinstance(part, tuple | list):
        return tuple(_filled(x, number) for x in part)
    if isinstance(part, sp.MatrixBase):
        return tuple(tuple(number(x) for x in part.row(i)) for i in range(part.rows))
    if isinstance(part, Line | FaceContact | BallContact | Solid):
        return replace(part, **{f.name: _filled(getattr(part, f.name), number) for f in fields(part)})
    return number(part)


def _solids(body: RigidBody, elements: Sequence[Element], number: Callable[[Any], float]) -> Iterator[Solid]:
    """Yield a body's shape; if it has none and no element draws it, yield a box or a point, and links to its joints."""
    if body.shape:
        yield from body.shape
        return
    round_ = any(isinstance(p, tuple) and p[0] == body.name for e in elements for p in e.in_space())
    frame = _frame(body, number) if isinstance(body, SpaceBody) and not round_ else []
    yield from frame
    if body.q and not (frame or round_):
        yield Ball(0)
    for place in dict.fromkeys(tuple(m.s) for e in elements for m in (e.a, e.b) if m.body is body and body.q):
        if any(place) and not round_:
            yield Cylinder(0, (0, 0, 0), place)


def _frame(body: SpaceBody, number: Callable[[Any], float]) -> list[Solid]:
    """Return the edges of the homogeneous box with a body's mass and inertia; none if no box has this inertia."""
    inertia, mass = np.array(body.inertia.applyfunc(number).tolist(), dtype=float), number(body.mass)
    moments, axes = np.linalg.eigh(inertia)
    squares = 6 * (moments.sum() / 2 - moments) * 2 / max(mass, 1e-300)
    if mass <= 0 or squares.max() <= 0 or squares.min() < -1e-9 * squares.max():
        return []
    corners = (CORNERS * np.sqrt(np.maximum(squares, 0.0)) @ axes.T).tolist()
    ends = [(i, j) for i, j in combinations(range(8), 2) if np.abs(CORNERS[i] - CORNERS[j]).sum() == 1.0]
    return [Cylinder(0, tuple(corners[i]), tuple(corners[j])) for i, j in ends]
