"""Automatic pictures of a model: shapes whose positions are expressions, evaluated at a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import sympy as sp

from gaussopt.bodies.body import TIME, RigidBody, evaluated
from gaussopt.bodies.element import Element
from gaussopt.core.arrays import Vector
from gaussopt.modelling.sketch import Bar, Block, Disk, Draw, Parameters, Point, Shape


def drawn(bodies: Sequence[RigidBody], elements: Sequence[Element], parameters: Sequence[str]) -> Draw:
    """Return a function (q, p) -> shapes; frames with prescribed motion are drawn at their positions at t = 0."""
    ends: dict[RigidBody, list[Any]] = {body: [] for body in bodies}
    for element in elements:
        for marker in (element.a, element.b):
            if marker.body.q and not any(marker.s == other for other in ends[marker.body]):
                ends[marker.body].append(marker.s)
    shapes: list[Any] = [shape for body, used in ends.items() for shape in _body(body, used)]
    shapes += [shape for element in elements for shape in element.shapes()]
    unique = dict.fromkeys(shapes)  # a floor that several bodies touch is drawn once
    flat = [sp.sympify(x) for shape in unique for x in _numbers(shape)]
    symbols = [sp.Symbol(name, real=True) for name in parameters]
    numbers = evaluated([TIME, [q for body in bodies for q in body.new_q], symbols], flat, bodies, "math")

    def draw(q: Vector, given: Parameters) -> list[Shape]:
        values = iter(numbers(0.0, q.tolist(), [given[name] for name in parameters]))
        return [_filled(shape, values) for shape in unique]

    return draw


def _body(body: RigidBody, used: list[Any]) -> Iterator[Any]:
    """Yield a body as a disk, a block, bars through its points, or the path of its centre."""
    centre: Any = tuple(body.r)
    if isinstance(body.shape, tuple | list):
        width, height = body.shape
        yield Block(centre, width, height, body.angle)
    elif body.shape is not None:
        yield Disk(centre, body.shape, body.angle)
    places = [tuple(body.r + body.R * s) for s in used or [sp.zeros(body.dim, 1)]]
    if body.shape is None:
        places += [centre] if len(places) == 1 and any(used[0] if used else ()) else []
        closed = [(places[-1], places[0])] if len(places) > 2 else []
        for start, end in [*pairwise(places), *closed]:
            yield Bar(start, end)
    yield Point(centre, trace=True)


def _numbers(shape: Any) -> Iterator[Any]:
    """Yield the numbers in a shape, one by one."""
    for entry in fields(shape):
        value = getattr(shape, entry.name)
        if isinstance(value, tuple):
            yield from value
        elif value is not None and not isinstance(value, str | bool):
            yield value


def _filled(shape: Any, values: Iterator[Any]) -> Shape:
    """Return the shape with its expressions replaced by numbers in the order of `_numbers`."""
    found: dict[str, Any] = {}
    for entry in fields(shape):
        value = getattr(shape, entry.name)
        if isinstance(value, tuple):
            found[entry.name] = tuple(float(next(values)) for _ in value)
        elif value is not None and not isinstance(value, str | bool):
            found[entry.name] = float(next(values))
    filled: Shape = replace(shape, **found)
    return filled
