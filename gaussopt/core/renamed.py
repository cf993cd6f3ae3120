"""Former names of arguments, which are taken for one release."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def renamed(**former: str) -> Callable[[F], F]:
    """Take arguments by their former names, too: former name and present one; says so by a DeprecationWarning."""

    def decorate(function: F) -> F:
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
            return function(*args, **given)

        return cast(F, call)

    return decorate
