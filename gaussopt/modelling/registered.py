"""Look up registered problems by names that come from data, without ever loading a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaussopt.core import registry
from gaussopt.core.errors import BadInput, UnknownName

if TYPE_CHECKING:
    from gaussopt.modelling.problem import Problem


def registered_problem(name: str, /, **settings: Any) -> Problem:
    """Return the registered problem with a name that comes from data, such as a motion, an atlas or results.

    Loading a problem from a file runs code, and the author of the data must not decide which file runs: only the user
    does, by `problem` or `register`. Raises UnknownName, BadInput.
    """
    try:
        entry: Problem = registry.load("problem", name)
    except UnknownName:
        if not registry.is_file(name):
            raise
        raise BadInput(
            f"The data name the file {name!r} as their problem, and no file runs because data name it; if you wrote "
            "that file or trust it, name it yourself where the problem can be given, or register it."
        ) from None
    return entry.at(**settings) if settings else entry
