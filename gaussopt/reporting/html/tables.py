"""Tables as shown on a page: groups of rows, kinds of columns, values of cells."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from gaussopt.reporting.document import Link, Table, Timed, is_truth, text_of, typeset
from gaussopt.reporting.html.formulas import has_formulas, html
from gaussopt.reporting.references import References

PROSE = 36
"""Largest text length, in characters, in a column of normal width; a column with longer texts is widened."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as shown on the page, or the head of a column.

    Attributes
    ----------
    value : the number with all digits, for sorting and copying; "" for a text
    source : a text with formulas or negative numbers as typed, for copying; "" if the displayed text is the same
    timed : whether the cell holds a measured time
    kind : for the head of a column: "n" if the column holds numbers, "p" for prose, "" for words
    """

    html: Markup
    value: str = ""
    source: str = ""
    timed: bool = False
    kind: str = ""


def columns(table: Table) -> tuple[Cell, ...]:
    """Return the heads of the columns of a table."""
    return tuple(
        Cell(html(name), source=str(name) if has_formulas(name) else "", kind=_kind(cells, name in table.timed))
        for name, *cells in zip(table.columns, *table.rows, strict=True)
    )


def groups(table: Table, references: References | None = None) -> tuple[tuple[tuple[Cell, ...], ...], ...]:
    """Return groups of rows: a row with an empty first cell continues the group of the row above.

    A row that repeats the first cell and has an empty second cell continues the group, too.
    """
    shown = [(name in table.timed, table.digits(name)) for name in table.columns]
    found: list[list[Sequence[Any]]] = []
    head: Sequence[Any] = ()
    for row in table.rows:
        if head and (row[0] == "" or (len(row) > 1 and row[0] == head[0] and row[1] == "")):
            found[-1].append(row)
        else:
            head = row
            found.append([row])
    return tuple(
        tuple(tuple(_cell(cell, *how, references) for cell, how in zip(row, shown, strict=True)) for row in rows)
        for rows in found
    )


def is_number(cell: Any) -> bool:
    """Return whether a cell is a number; NaN is one."""
    return not is_truth(cell) and (isinstance(cell, int | float) or hasattr(cell, "dtype"))


def text(cell: Any, digits: int) -> str | Link:
    """Return the content of a cell: its text or link, or its number with `digits` significant digits."""
    return cell if isinstance(cell, str | Link) else text_of(cell, digits=digits)


def _cell(cell: Any, timed: bool, digits: int, references: References | None) -> Cell:
    return Cell(
        html(text(cell, digits), references),
        json.dumps(cell if isinstance(cell, int) else float(cell)) if is_number(cell) else "",
        str(cell) if has_formulas(cell) or (isinstance(cell, str) and typeset(cell) != cell) else "",
        timed or isinstance(cell, Timed),
    )


def _kind(cells: Sequence[Any], timed: bool) -> str:
    if timed:  # the kind must not depend on the length of texts, since this length varies with the times
        return "n" if any(is_number(c) for c in cells) else ""
    if cells and all(is_number(c) or c in ("", "–") for c in cells):
        return "n"
    return "p" if any(len(str(c)) > PROSE for c in cells if not is_number(c)) else ""
