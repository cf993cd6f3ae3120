"""Tables as a page shows them: which rows belong together, which columns are numbers, what a cell is worth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from gaussopt.reporting.document import Link, Table, Timed, is_truth, text_of, typeset
from gaussopt.reporting.html.formulas import has_formulas, html

PROSE = 36
"""A column with a longer text, in characters, gets the width of prose."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as the page shows it.

    Attributes
    ----------
    html : Markup
    value : str
        The number in full, by which is sorted and which is copied; "" for a text.
    source : str
        A text with formulas or negative numbers as typed, which is copied; "" where the text shown says the same.
    timed : bool
        Whether it holds a measured time.
    """

    html: Markup
    value: str
    source: str
    timed: bool


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its head, and whether it holds numbers or prose.

    Attributes
    ----------
    html : Markup
    source : str
        As of a cell.
    kind : str
        "n" for numbers, "p" for prose, "" for words.
    """

    html: Markup
    source: str
    kind: str


def columns(table: Table) -> tuple[Column, ...]:
    """The columns of a table."""
    return tuple(
        Column(
            html(name),
            str(name) if has_formulas(name) else "",
            _kind([row[j] for row in table.rows], name in table.timed),
        )
        for j, name in enumerate(table.columns)
    )


def groups(table: Table) -> tuple[tuple[tuple[Cell, ...], ...], ...]:
    """Rows that belong together: a row continues the one above if it leaves its first cell open.

    It also does if it repeats the first cell and leaves the second one open.
    """
    shown = [(name in table.timed, table.digits(name)) for name in table.columns]
    found: list[list[tuple[Cell, ...]]] = []
    head: Sequence[Any] = ()
    for row in table.rows:
        if head and (row[0] == "" or (len(row) > 1 and row[0] == head[0] and row[1] == "")):
            found[-1].append(_cells(row, shown))
        else:
            head = row
            found.append([_cells(row, shown)])
    return tuple(map(tuple, found))


def is_number(cell: Any) -> bool:
    """Whether it is read as a number, NaN included."""
    return not is_truth(cell) and (isinstance(cell, int | float) or hasattr(cell, "dtype"))


def _cells(row: Sequence[Any], of: Sequence[tuple[bool, int]]) -> tuple[Cell, ...]:
    return tuple(_cell(cell, *which) for cell, which in zip(row, of, strict=True))


def _cell(cell: Any, timed: bool, digits: int) -> Cell:
    return Cell(
        html(cell if isinstance(cell, str | Link) else text_of(cell, digits=digits)),
        _exact(cell) if is_number(cell) else "",
        str(cell) if has_formulas(cell) or (isinstance(cell, str) and typeset(cell) != cell) else "",
        timed or isinstance(cell, Timed),
    )


def _exact(number: Any) -> str:
    if isinstance(number, int):
        return str(number)
    value = float(number)
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "NaN" if math.isnan(value) else repr(value)


def _kind(cells: Sequence[Any], timed: bool) -> str:
    if timed:  # how long its texts are is a matter of times, and the head is not marked
        return "n" if any(is_number(c) for c in cells) else ""
    if cells and all(is_number(c) or c in ("", "–") for c in cells):
        return "n"
    return "p" if any(len(t) > PROSE for t in _texts(cells)) else ""


def _texts(cells: Sequence[Any]) -> Iterator[str]:
    return (str(c) for c in cells if not is_number(c))
