"""Recognise what can be drawn of a planar model: points, contact points, and constraints drawn as rods."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, islice
from typing import Any

import numpy as np
import sympy as sp

from gaussopt.core.system import Outline
from gaussopt.symbolic.model import TIME, SymbolicModel

Point = tuple[Any, Any]


def outline_function(model: SymbolicModel, contacts: Sequence[str]) -> Callable[[Any, Any], Outline] | None:
    """Return a function (q, p) -> Outline; None if the model has neither points nor contact points in the plane.

    Points are pairs of coordinates named x and y, x1 and y1, and so on. A constraint that keeps two points, or a point
    and the origin, at a fixed distance is a rod; a contact point is connected to the points on which it depends.
    """
    names = [model.names[v] for v in model.v]
    points = list(_points(names, model.q))
    touching = {
        name: (c.place[0], c.place[1]) for name, c in zip(contacts, model.contacts, strict=True) if len(c.place) == 2
    }
    if not points and not touching:
        return None
    origin = (sp.Integer(0), sp.Integer(0))
    couples = combinations([*points, origin], 2)
    rods = [(a, b) for a, b in couples if any(_keeps(row, a, b, model) for row in model.holonomic)]
    held = [origin] if any(b is origin for _, b in rods) else []
    for place in touching.values():
        symbols = place[0].free_symbols | place[1].free_symbols
        rods += [(p, place) for p in points if set(p) & symbols and p != place]
    flat = [x for p in (*points, *(e for rod in rods for e in rod), *held, *touching.values()) for x in p]
    numbers = sp.lambdify(
        [list(model.q), list(model.p)],
        model.replaced(flat, {TIME: sp.Integer(0)}),
        "math",
        cse=model.recursion.cse if model.recursion else False,
    )

    def outline(q: Any, p: Any) -> Outline:
        at = iter([(x, y) for x, y in np.array(numbers(list(q), list(p)), dtype=float).reshape(-1, 2).tolist()])
        free, ends = list(islice(at, len(points))), list(islice(at, 2 * len(rods)))
        bearings, contacts = list(islice(at, len(held))), list(at)
        pairs = list(zip(ends[::2], ends[1::2], strict=True))
        return Outline(free, pairs, bearings, dict(zip(touching, contacts, strict=True)))

    return outline


def _points(names: Sequence[str], q: Sequence[Any]) -> Iterator[Point]:
    """Yield pairs of coordinates whose names, such as x1 and y1, indicate the position of a point."""
    known = dict(zip(names, q, strict=True))
    for name in names:
        found = re.fullmatch(r"[xX](.*)", name)
        if found and (other := f"{'y' if name[0] == 'x' else 'Y'}{found[1]}") in known:
            yield known[name], known[other]


def _keeps(row: Any, a: Point, b: Point, model: SymbolicModel) -> bool:
    """Tell whether a constraint equals, up to its sign, the squared distance of two points minus a constant."""
    distance = (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2
    return any(not (sp.expand(row - sign * distance).free_symbols & {*model.q, TIME}) for sign in (1, -1))
