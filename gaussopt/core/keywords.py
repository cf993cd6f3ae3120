"""Helpful TypeErrors for misspelt and missing keyword arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def suggesting(function: F) -> F:
    """Wrap a function so that its TypeError names a missing keyword, or the known keyword nearest to an unknown one."""
    known = inspect.signature(function).parameters
    needed = {x.name for x in known.values() if x.kind is x.KEYWORD_ONLY and x.default is x.empty}
    any_name = any(x.kind is x.VAR_KEYWORD for x in known.values())

    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        for name in needed - given.keys():
            raise TypeError(f"{function.__qualname__}() needs {name}; give {name}=... by name.")
        for name in () if any_name else given.keys() - known.keys():
            near = get_close_matches(name.lower(), known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}."
            raise TypeError(f"{function.__name__}() has no argument {name!r}; {hint}")
        return function(*args, **given)

    return cast(F, call)
