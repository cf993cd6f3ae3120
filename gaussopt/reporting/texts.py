"""Texts of the report, kept in a Markdown file next to the module that computes their numbers.

A heading names an entry, blank lines separate its paragraphs, and the lines of a paragraph are joined. Values are in
double braces as in a format string: `{{worst:.1e}}`; `{{worst:~}}` is a number as `number` writes it, `{{worst:~1}}` to
one digit. Formulas are LaTeX between dollar signs; a displayed formula is `$$ LaTeX $$`, followed by the same formula
without LaTeX. The entry of a table consists of its caption and a Markdown table with the column heads and, if they are
texts, the rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from string import Formatter
from typing import Any, Literal

from gaussopt.reporting.document import Block, Formula, Paragraph, Table, Tex

_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_VALUE = re.compile(r"\{\{(.+?)\}\}")
_BETWEEN_CELLS = re.compile(r"(?<!\\)\|")


class _Filling(Formatter):
    """Formatter with the additional format `~`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Format a value; specs such as "~" and "~3" call `number` with 2 or 3 digits, others go to the base class."""
        about = format_spec.startswith("~")
        return number(value, int(format_spec[1:] or 2)) if about else str(super().format_field(value, format_spec))


FILLING = _Filling()
"""The formatter that finds and formats the values in texts."""


def number(x: float, digits: int = 2) -> str:
    """Format a number for a sentence to `digits` significant digits: 217, 0.015, or with a power of ten in LaTeX."""
    rounded = float(f"{x:.{digits}g}")
    if rounded == 0 or not math.isfinite(rounded) or 1e-3 <= abs(rounded) < 1e4:
        return f"{rounded:g}"
    mantissa, exponent = f"{rounded:e}".split("e")
    factor = float(mantissa)
    power = f"10^{{{int(exponent)}}}"
    return f"${power}$" if factor == 1 else rf"${factor:g}\cdot {power}$"


class Texts:
    """The entries of a Markdown file.

    Every method takes the name of an entry and the values in its text. It raises KeyError for an entry or a value that
    is missing, and ValueError if the number of paragraphs of the entry does not suit the method.
    """

    def __init__(self, module: str, kind: type[str] = Tex, **values: Any) -> None:
        """Use the Markdown file next to a module, whose `__file__` is `module`, with `values` for all entries.

        Paragraphs and cells are of type `kind`, which is `str` if texts from users are among the values.
        """
        self.file, self.kind, self.values = Path(module).with_suffix(".md"), kind, values

    @cached_property
    def entries(self) -> dict[str, list[str]]:
        """Paragraphs of each entry, by its name, before values are filled in."""
        _, *parts = _HEADING.split(self.file.read_text(encoding="utf-8"))
        return {name: text.strip().split("\n\n") for name, text in zip(parts[::2], parts[1::2], strict=True)}

    def paragraphs(self, name: str, /, **values: Any) -> list[str]:
        """Return the paragraphs of an entry."""
        return [self._filled(text, values) for text in self.entries[name]]

    def values_in(self, name: str, /, **values: Any) -> dict[str, Any]:
        """Return the values that occur in an entry, by their names in the text."""
        known = self.values | values
        found = (
            f for v in _VALUE.findall("".join(self.entries[name])) for _, f, _, _ in FILLING.parse(f"{{{v}}}") if f
        )
        return {field: FILLING.get_field(field, (), known)[0] for field in found}

    def __call__(self, name: str, /, **values: Any) -> str:
        """Return the only paragraph of an entry."""
        (text,) = self.paragraphs(name, **values)
        return text

    def blocks(self, name: str, /, **values: Any) -> list[Block]:
        """Return the paragraphs and displayed formulas of an entry."""
        found: list[Block] = []
        for text in self.paragraphs(name, **values):
            if text.startswith("$$"):
                _, latex, plain = text.split("$$")
                found.append(Formula(latex.strip(), plain.strip()))
            else:
                found.append(Paragraph(self.kind(text)))
        return found

    def table(
        self, name: str, rows: Iterable[tuple[Any, ...]] | None = None, /, *, anchor: str = "",
        timed: tuple[str, ...] | Literal[True] = (), rounded: tuple[str, ...] = (), **values: Any,
    ) -> Table:  # fmt: skip
        """Return a table with the name of its entry; by default the rows are those in the file.

        `timed` lists the columns of measured times; True means all columns. For `rounded` see `Table`.
        """
        *caption, grid = self.entries[name]
        columns, _, *texts = (self._cells(line, values) for line in grid.split("\n"))
        told = tuple(tuple(map(self.kind, row)) for row in texts) if rows is None else tuple(rows)
        words = self.kind(self._filled(" ".join(caption), values))
        return Table(anchor or name, words, columns, told, columns if timed is True else timed, rounded)

    def columns(self, name: str, /, **values: Any) -> tuple[str, ...]:
        """Return the column heads of an entry that is a table without a caption."""
        (grid,) = self.entries[name]
        return self._cells(grid.split("\n")[0], values)

    def _filled(self, text: str, values: dict[str, Any]) -> str:
        # if the value at the end is empty, no space may remain after the text
        known = self.values | values
        found = _VALUE.sub(lambda value: FILLING.vformat(f"{{{value[1]}}}", (), known), text.replace("\n", " "))
        return found.strip()

    def _cells(self, line: str, values: dict[str, Any]) -> tuple[str, ...]:
        cells = _BETWEEN_CELLS.split(line)[1:-1]
        return tuple(self._filled(cell.strip().replace("\\|", "|"), values) for cell in cells)
