"""Read files of problems and answers (JSON); misspelt names of entries and values that are not numbers are refused.

A file may hold further entries, such as a title, which are ignored. A name that is nearly that of an entry is refused,
because a step whose friction coefficients are called "Mu" would otherwise be solved without friction.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from gaussopt.core.cone_complementarity import ConeComplementarity, GlobalContacts
from gaussopt.core.display import reads_as_number
from gaussopt.core.errors import BadInput
from gaussopt.core.files import read_json
from gaussopt.core.programs import LCP, QP
from gaussopt.core.step_data import StepData
from gaussopt.kinds import PAGES, page_of

Problem = StepData | QP | LCP | ConeComplementarity | GlobalContacts
"""The problems that files can hold."""

BESIDE = frozenset((
    "a", "answer", "formulation", "lam", "lam_N", "lam_T", "message", "name", "note", "omega", "problem", "q", "r",
    "solver", "source", "t", "title", "u", "v", "w", "x", "y", "z",
))  # fmt: skip
"""Names that a file may use for other purposes, even if they resemble names of entries that are read."""

STATE = ("t", "q", "v")
"""Entries of the state; as these are optional, "T", "Q" or "V" is not taken for a misspelling of them."""

SHORT = 4
"""Names with fewer letters than this are only compared exactly, apart from case and punctuation."""

ALIKE = 0.8
"""A name is taken for a misspelling if `difflib` gives it at least this similarity ratio."""


def parse(data: Mapping[str, Any]) -> Problem:
    """Return the step data, program or contact problem in the contents of a file; raises BadInput."""
    kind = data.get("kind")
    pages = {page.name: page for page in PAGES if page.name}
    if isinstance(kind, str) and kind in pages:
        check_entries(data, pages[kind].entries)
        found: Problem = pages[kind].parse(data)
        return found
    if kind is None:
        entries = " or ".join(f'"kind": "{k}"' for k in pages)
        raise BadInput(f"The file has no 'kind'; write {entries}.")
    raise BadInput(f"The kind {kind!r} is not known here; known: {', '.join(pages)}.")


def read_answer(path: str | os.PathLike[str], problem: Problem) -> dict[str, Any]:
    """Return the entries of a file with an answer to a problem; raises BadInput."""
    data = read_json(path)
    try:
        check_entries(data, page_of(problem).answer)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    return data


def load(path: str | os.PathLike[str]) -> Problem:
    """Read step data, a program or a contact problem from a file; raises BadInput."""
    data = read_json(path)
    try:
        return parse(data)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def check_entries(data: Mapping[str, Any], names: Sequence[str]) -> None:
    """Check that no name is a misspelt entry, and that values of entries are numbers; raises BadInput."""
    for key, value in data.items():
        if key in names:
            _check_numbers(key, value)
        elif key not in BESIDE:
            near = _near(key, value, names, data)
            if near is not None:
                raise BadInput(
                    f"The entry {key!r} is not known and would be ignored; did you mean {near!r}? Rename it, or call "
                    "it something else if it is no part of the problem."
                )


ELSEWHERE = {
    "lower": "l", "lb": "l", "xl": "l", "upper": "u", "ub": "u", "xu": "u", "G": "A", "h": "u", "b": "u"
}  # fmt: skip
"""Names that other codes use for the bounds and rows of a quadratic program, and the names used here."""


def _near(key: str, value: Any, names: Iterable[str], data: Mapping[str, Any]) -> str | None:
    """Return the entry that `key` probably misspells; None if `key` is a different name."""
    if "u" in names and key in ELSEWHERE and isinstance(value, list | dict):
        return ELSEWHERE[key]
    plain = {_plain(name): name for name in names if len(name) > 1}
    if _plain(key) in plain:
        return plain[_plain(key)]
    if len(key) == 1 and isinstance(value, list | dict):
        # A letter in the wrong case is a misspelling only if the right entry is missing: a file with M may also hold m.
        return next((n for n in names if n.casefold() == key.casefold() and n not in STATE and n not in data), None)
    long = [name for name in plain if len(name) >= SHORT]
    close = get_close_matches(_plain(key), long, n=1, cutoff=ALIKE) if len(_plain(key)) >= SHORT else []
    return plain[close[0]] if close and isinstance(value, list | dict) else None


def _plain(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")


def _check_numbers(key: str, value: Any) -> None:
    found = _no_number(value)
    if found is None:
        return
    place, entry = found
    if key == "t" and isinstance(entry, str) and not reads_as_number(entry):
        return  # a text that is not a number is allowed as a label of the time
    where = key + "".join(f"[{i!r}]" for i in place)
    if isinstance(entry, bool):
        raise BadInput(f"{where} is {str(entry).lower()}, which is no number; write 1 or 0 if that is meant.")
    if reads_as_number(entry):
        raise BadInput(f"{where} is the text {entry!r}; write the number without quotation marks.")
    raise BadInput(f"{where} is the text {entry[:40]!r}; what is read there are numbers.")


def _no_number(value: Any) -> tuple[tuple[int | str, ...], str | bool] | None:
    """Return the indices and the value of the first string or boolean in an entry; None if it has neither."""
    if isinstance(value, str | bool):
        return (), value
    if isinstance(value, list):
        if {*map(type, value)} <= {int, float}:
            return None
        parts: Iterable[tuple[int | str, Any]] = enumerate(value)
    elif isinstance(value, dict):
        parts = value.items()
    else:
        return None
    for place, part in parts:
        found = _no_number(part)
        if found is not None:
            return (place, *found[0]), found[1]
    return None
