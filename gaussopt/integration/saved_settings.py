"""Checks of the settings and other non-array entries of a saved motion, before they are used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gaussopt.core.errors import BadInput

Check = tuple[str, Callable[[Any], bool]]
"""The expected kind of an entry, in words, and a test of a value."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and 0 <= value < 2**63 and value == int(value)


TEXT: Check = ("a text", lambda x: isinstance(x, str))
NUMBER: Check = ("a number", _is_number)
COUNT: Check = ("a count", _is_count)


def _or_none(check: Check) -> Check:
    return f"{check[0]} or nothing", lambda x: x is None or check[1](x)


def _list(check: Check) -> Check:
    return f"a list, each entry {check[0]}", lambda x: isinstance(x, list) and all(map(check[1], x))


def _table(check: Check) -> Check:
    return f"a mapping, each value {check[0]}", lambda x: isinstance(x, dict) and all(map(check[1], x.values()))


ANY: Check = ("anything", lambda x: True)

META: dict[str, Check] = {
    **dict.fromkeys(("problem", "formulation", "solver", "stepper", "stabilisation", "variant", "engine"), TEXT),
    **dict.fromkeys(("dt", "t_end", "rtol", "atol"), _or_none(NUMBER)), "steps": COUNT,
    "tolerance": ("a number or 'inf'", lambda x: x == "inf" or _is_number(x)),
    "parameters": _table(NUMBER), "residuals": _table(NUMBER),
    **dict.fromkeys(("output_units", "solver_options"), _table(TEXT)),
    "open_forces": _table(_list(("a row or a name", lambda x: _is_count(x) or isinstance(x, str)))),
    **dict.fromkeys(("coordinates", "contacts", "rows", "without_rows", "units", "stand_ins", "compared_with"),
                    _list(TEXT)),
    **dict.fromkeys(("evaluations", "iterations", "handed_over"), COUNT),
}  # fmt: skip
"""Expected entries of `Trajectory.meta`, with their checks."""

OPTIONAL = frozenset((
    "variant", "engine", "residuals", "open_forces", "coordinates", "contacts", "rows", "without_rows", "units",
    "stand_ins", "compared_with", "evaluations", "iterations", "handed_over",
    "output_units",
))  # fmt: skip

RESTART: dict[str, Check] = {
    "ended": TEXT, "continues": _or_none(TEXT), "key": TEXT, "equations": _list(NUMBER), "begin": _table(ANY),
    "settings": _table(ANY), "mark": _table(ANY),
}  # fmt: skip
"""Entries of `Trajectory.restart` of a motion that can be continued; other motions have the first two, or none."""

SETTINGS: dict[str, Check] = {
    "events": _list(TEXT), "integrals": _list(TEXT), "solver_options": _or_none(_table(ANY)),
    "stabilisation": ("a name with numbers", lambda x: isinstance(x, dict) and isinstance(x.get("name"), str)
                      and all(_is_number(x[k]) for k in x if k != "name")),
}  # fmt: skip
"""Entries of the settings in a restart that are not checked again when a run begins."""


def check_saved(meta: Any, restart: Any, instants: int, coordinates: int) -> None:
    """Check the entries `meta` and `restart` of a saved motion; raises BadInput that names the first wrong entry."""
    _check("meta", meta, META, OPTIONAL)
    if len(meta.get("units", ())) not in (0, coordinates):
        raise BadInput(f"units of meta are {len(meta['units'])}, expected {coordinates}")
    _check("restart", restart, RESTART, frozenset(RESTART if "mark" not in restart else ()))
    if "mark" not in restart:
        return
    _check("settings of restart", restart["settings"], SETTINGS, frozenset(("integrals",)))
    _check("mark of restart", restart["mark"], {"rows": COUNT, "events": COUNT, "steps": COUNT, "memory": _table(ANY)})
    if restart["mark"]["rows"] > instants:
        raise BadInput(f"rows in the mark of restart is {restart['mark']['rows']}, and {instants} instants are there")


def _check(owner: str, data: Any, known: Mapping[str, Check], optional: frozenset[str] = frozenset()) -> None:
    if not isinstance(data, dict):
        raise BadInput(f"{owner} is a {type(data).__name__}, expected a mapping")
    for name, (words, fits) in known.items():
        if name not in data and name not in optional:
            raise BadInput(f"{owner} lacks {name!r}")
        if name in data and not fits(data[name]):
            raise BadInput(f"{name} of {owner} is {data[name]!r:.60}, expected {words}")
