"""Names of arguments: former ones are taken for one release, and misspelt ones are told with the nearest."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def renamed(**former: str) -> Callable[[F], F]:
    """Take arguments by their former names, too: former name and present one; says so by a DeprecationWarning.

    A keyword that is no argument at all raises TypeError, which names the nearest one.
    """

    def decorate(function: F) -> F:
        known = inspect.signature(function).parameters

        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            for old in former.keys() & given.keys():
                new = former[old]
                if new in given:
                    raise TypeError(f"{function.__name__}() got {new} twice: {old} is its former name.")
                sentence = (
                    f"{function.__name__}({old}=...) is called {new} now; the old name goes with the next release."
                )
                warnings.warn(sentence, DeprecationWarning, stacklevel=2)
                given[new] = given.pop(old)
            for name in given.keys() - known.keys():
                near = get_close_matches(name.lower(), known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}."
                raise TypeError(f"{function.__name__}() has no argument {name!r}; {hint}")
            return function(*args, **given)

        return cast(F, call)

    return decorate
