"""Check plain data read from a file against the annotations of a dataclass, or of a mapping's entries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

from gaussopt.core.errors import BadInput

LARGEST = 2**63
"""Largest absolute value that an integer in a file may have."""

Count = Annotated[int, range(LARGEST)]
"""A whole number that is not negative. An annotation may name a range of whole numbers, or a pattern of a text."""

_JSON: dict[Any, set[type]] = {str: {str}, bool: {bool}, int: {int}, float: {float, int}, NoneType: {NoneType}}
"""For each type, the types that a value may have after a round trip through JSON: a float may become an integer."""

_WORDS = {str: "a text", bool: "true or false", int: "a whole number", float: "a number", NoneType: "nothing"}

Schema = dict[str, Any]
"""The annotation, or again a schema, of each entry of a mapping; entries that may be missing are NotRequired."""

_hints = cache(get_type_hints)


def check(owner: str, data: Any, of: type[Any] | Schema) -> None:
    """Check that a mapping has the fields of a dataclass, or the entries of a schema, each of the annotated type.

    Raises BadInput, without a full stop, that names the first wrong entry. A mapping for a schema may have further
    entries; whether fields of a dataclass are missing is left to its constructor.
    """
    if not isinstance(data, Mapping):
        raise BadInput(f"{owner} is {data!r:.60}, expected a mapping")
    whole = isinstance(of, dict)
    known: Mapping[str, Any] = of if isinstance(of, dict) else _hints(of)  # type: ignore[arg-type]
    for name in known if whole else data:
        if name not in known:
            raise BadInput(f"{owner} has no {str(name)[:40]!r}")
        kind, optional = known[name], get_origin(known[name]) is NotRequired
        if name not in data:
            if not optional:
                raise BadInput(f"{owner} lacks {name!r}")
            continue
        kind, value = get_args(kind)[0] if optional else kind, data[name]
        if isinstance(kind, dict) or is_dataclass(kind):
            check(f"{name} of {owner}", value, kind)  # type: ignore[arg-type]
        elif not _all_fit([value], kind):
            raise BadInput(f"{name} of {owner} is {value!r:.60}, expected {_words(kind)}")


def _all_fit(values: list[Any], kind: Any) -> bool:
    """Return whether all values are of a type; they are many numbers, so they are compared together."""
    if kind is Any:
        return True
    if kind in _JSON:
        types = set(map(type, values))
        small = int not in types or max(map(abs, (x for x in values if type(x) is int))) <= LARGEST
        return types <= _JSON[kind] and small
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        fits = inner[1].fullmatch if isinstance(inner[1], re.Pattern) else inner[1].__contains__
        return _all_fit(values, inner[0]) and all(map(fits, values))
    if origin is Literal:
        return all(x in inner for x in values)
    if origin in (Union, UnionType):
        return all(any(_all_fit([x], one) for one in inner) for x in values)
    if origin is list:
        return all(type(x) is list and _all_fit(x, inner[0]) for x in values)
    return all(
        isinstance(x, dict) and _all_fit(list(x), inner[0]) and _all_fit(list(x.values()), inner[1]) for x in values
    )


def _words(kind: Any) -> str:
    """Return the name of a type in a sentence."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated and isinstance(inner[1], range):
        return f"a whole number from {inner[1].start} to {inner[1].stop - 1}"
    if origin is Annotated:
        return f"a text of the form {inner[1].pattern}"
    if origin in (Union, UnionType, Literal):
        return " or ".join(repr(x) if origin is Literal else _words(x) for x in inner)
    if origin is list:
        return f"a list, each entry {_words(inner[0])}"
    if len(inner) == 2:
        keys = "" if inner[0] is str else f"each key {_words(inner[0])}, "
        return f"a mapping, {keys}each value {_words(inner[1])}"
    return _WORDS.get(kind, "anything")
