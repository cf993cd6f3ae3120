"""Records that were read from a file: every entry of the type that its field says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args, get_origin, get_type_hints

_TYPES: dict[Any, tuple[type, ...]] = {str: (str,), bool: (bool,), int: (int,), float: (float, int)}
"""What JSON makes of a value of each type: numbers without fraction may lose their point."""

LARGEST = 2**63
"""Of an integer."""

_known: dict[type[Any], dict[str, Any]] = {}


def check_fields(cls: type[Any], data: Any) -> None:
    """See that a mapping holds what a dataclass is made of, fields that are records themselves left aside.

    Raises
    ------
    TypeError
        Naming the field.
    """
    if not isinstance(data, Mapping):
        raise TypeError(f"{cls.__name__} is no mapping")
    hints = _hints(cls)
    for name, value in data.items():
        if name not in hints:
            raise TypeError(f"{cls.__name__} has no {str(name)[:40]!r}")
        if not _fits(value, hints[name]):
            raise TypeError(f"{name} of {cls.__name__} is no {hints[name]}")


def _hints(cls: type[Any]) -> dict[str, Any]:
    if cls not in _known:
        found = get_type_hints(cls)
        _known[cls] = {f.name: found[f.name] for f in fields(cls)}
    return _known[cls]


def _fits(value: Any, kind: Any) -> bool:
    if kind in _TYPES:
        return _all_fit([value], kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is list:
        return type(value) is list and _all_fit(value, inner[0])
    if origin in (dict, Mapping):
        return isinstance(value, dict) and _all_fit(list(value), inner[0]) and _all_fit(list(value.values()), inner[1])
    return True  # a record, which is checked by itself


def _all_fit(values: list[Any], kind: Any) -> bool:
    if kind in _TYPES:
        types = set(map(type, values))
        small = int not in types or max(map(abs, (x for x in values if type(x) is int))) <= LARGEST
        return types <= set(_TYPES[kind]) and small
    return all(_fits(x, kind) for x in values)
