"""Misspelt names of arguments: a TypeError names the nearest one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def suggesting(function: F) -> F:
    """Return the function, whose TypeError for an unknown keyword names the nearest one."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        for name in given.keys() - known.keys():
            near = get_close_matches(name.lower(), known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}."
            raise TypeError(f"{function.__name__}() has no argument {name!r}; {hint}")
        return function(*args, **given)

    return cast(F, call)
