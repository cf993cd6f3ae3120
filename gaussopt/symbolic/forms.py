"""Expressions of one form, which differ in the names of their symbols only, such as the energies of equal bodies.

SymPy sorts sums and products by the names of symbols. If a renaming keeps the order of the names, what SymPy makes of
one expression becomes, renamed, what it makes of the other, and renaming takes much less time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp


def form_of(expr: Any) -> tuple[Any, list[Any]]:
    """Return a key that an expression shares with those of its form, and its symbols, which correspond to theirs.

    The symbols have the same assumptions, as those of a model do.
    """
    places: dict[Any, tuple[int]] = {}

    def key(e: Any) -> Any:
        if e.is_Symbol:
            return places.setdefault(e, (len(places),))
        return (type(e), *map(key, e.args)) if e.args else e

    tree, symbols = key(expr), list(places)
    names = [s.name for s in symbols]
    return (tree, *sorted(range(len(names)), key=names.__getitem__)), symbols


def renamed(expr: Any, names: Mapping[Any, Any]) -> Any:
    """Return an expression with other symbols, whose names have the same order, without sorting its terms again."""
    if expr.is_Symbol or not expr.args:
        return names.get(expr, expr)
    args = [renamed(x, names) for x in expr.args]
    return expr.func(*args, evaluate=False) if isinstance(expr, sp.Add | sp.Mul) else expr.func(*args)


class ByForm:
    """A function of an expression of a model that is evaluated once for all expressions of a form."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function, self._found = function, dict[Any, tuple[list[Any], Any]]()

    def __call__(self, expr: Any) -> Any:
        """Return the value of the function."""
        form, symbols = form_of(expr)
        if (found := self._found.get(form)) is None:
            found = self._found[form] = symbols, self._function(expr)
        return renamed(found[1], dict(zip(found[0], symbols, strict=True)))
