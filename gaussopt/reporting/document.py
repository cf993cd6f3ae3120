"""Parts of a report, independent of its output formats."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


class Tex(str):
    """A text of this project with LaTeX formulas between dollar signs; texts from users are never parsed for formulas.

    `[#ANCHOR]` becomes a link to an anchor of the report, with the text "Figure 3", "Table 2" or the section's title.
    """

    __slots__ = ()


class Timed(Tex):
    """A text that contains measured times; the page marks it, since the times differ from run to run."""

    __slots__ = ()

    @classmethod
    def plain(cls, text: str) -> Timed:
        """Return a text in which dollar signs are literal, for texts that contain names given by users."""
        return cls(text.replace("$", "\\$"))


@dataclass(frozen=True, slots=True)
class Link:
    """A cell or item with a link to an anchor of the same report, on any of its pages."""

    text: str
    anchor: str

    def __str__(self) -> str:
        """Return the text without the link, as in files."""
        return self.text


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of text."""

    text: str


@dataclass(frozen=True, slots=True)
class Formula:
    """A displayed formula in LaTeX, and its plain text; lines may break at the wide spaces (quads) between formulas."""

    latex: str
    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A bulleted list."""

    items: tuple[str | Link, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: `name` is its file name without suffix, and `alt` describes its content in words.

    Its data are written as CSV in the report's folder; `timed` marks drawings of measured times.
    """

    name: str
    caption: str
    alt: str
    svg: str
    data: pd.DataFrame
    timed: bool = False


@dataclass(frozen=True, slots=True)
class Animation:
    """A motion as a figure: `svg` is animated by SMIL, `still` shows start, end and path."""

    name: str
    caption: str
    alt: str
    svg: str
    still: str
    data: pd.DataFrame


@dataclass(frozen=True, slots=True)
class Gallery:
    """A group of related small figures."""

    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of numbers, texts and links, also written as CSV; `text_of` formats numbers.

    The `timed` columns hold measured times; a single cell may be `Timed`. In the `rounded` columns, such as means and
    errors, digits after the fourth are not significant and are not shown.
    """

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    timed: tuple[str, ...] = ()
    rounded: tuple[str, ...] = ()

    def digits(self, column: str) -> int:
        """Return the number of significant digits shown in a column on the page; files have all digits."""
        return 3 if column in self.timed else 4 if column in self.rounded else 6

    def __post_init__(self) -> None:
        """Raise an error if the table lacks a timed or rounded column."""
        unknown = {*self.timed, *self.rounded} - set(self.columns)
        if unknown:
            raise ValueError(f"The table {self.name} has no columns {sorted(unknown)}.")


@dataclass(frozen=True, slots=True)
class Data:
    """A table that is too long for the page; the page links to it as a CSV file. For `timed` see `Table`."""

    name: str
    caption: str
    frame: pd.DataFrame
    timed: tuple[str, ...] = ()


Block = Paragraph | Formula | Items | Figure | Animation | Gallery | Table | Data


@dataclass(frozen=True, slots=True)
class Section:
    """A section, to which links can lead by its anchor."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding, with its subject and a link to the section with details."""

    subject: str
    text: str
    anchor: str

    def __str__(self) -> str:
        """Return the text without the link."""
        return self.text


@dataclass(frozen=True, slots=True)
class Document:
    """A report: a main page, and optional further `pages`, which are documents without further pages.

    Attributes
    ----------
    findings : what was found, the most important finding first
    name : name of the page's files, without suffix; also the anchor that leads to the page
    prefix : text before the numbers of figures and tables on this page, as in "Figure S1.3"
    """

    title: str
    lead: str
    findings: tuple[str | Finding, ...]
    sections: tuple[Section, ...] = ()
    name: str = "index"
    prefix: str = ""
    pages: tuple[Document, ...] = ()

    @property
    def every_page(self) -> tuple[Document, ...]:
        """The main page and all further pages."""
        return (self, *self.pages)

    @property
    def blocks(self) -> Iterator[Block]:
        """Yield all blocks of all pages; a named block only once, even if it is on several pages."""
        seen = set()
        for page in self.every_page:
            for block in blocks_of(page.sections):
                name = getattr(block, "name", None)
                if name is None or name not in seen:
                    yield block
                seen.add(name)


def is_truth(cell: Any) -> bool:
    """Return whether a cell is a truth value, of Python or of NumPy."""
    return isinstance(cell, bool) or getattr(getattr(cell, "dtype", None), "kind", "") == "b"


_MINUS = re.compile(r"(?<![\w.)\]-])-(?=\.?\d)|(?<=\d[eE])-(?=\d)")


def typeset(text: str) -> str:
    """Replace the hyphens of negative numbers and exponents by minus signs; for display only."""
    return _MINUS.sub("−", text)


def text_of(cell: Any, *, digits: int = 6) -> str:
    """Format a cell: numbers with `digits` digits and a true minus sign, NaN as a dash, booleans as yes or no."""
    if is_truth(cell):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return typeset(str(cell))
    if isinstance(cell, float) or hasattr(cell, "dtype"):
        value = float(f"{float(cell):.{digits}g}")
        if math.isnan(value):
            return "–"
        if value == 0:
            return "0"
        if math.isinf(value):
            return "∞" if value > 0 else "−∞"
        return typeset(f"{value:.3e}" if not 1e-3 <= abs(value) < 1e6 else f"{value:.6g}")
    return str(cell)


def sections_of(sections: Sequence[Section]) -> Iterator[Section]:
    """Yield all sections, in order, each before its parts."""
    for section in sections:
        yield section
        yield from sections_of(section.sections)


def blocks_of(sections: Sequence[Section]) -> Iterator[Block]:
    """Yield all blocks in order; a gallery yields its figures one by one."""
    for section in sections_of(sections):
        for block in section.blocks:
            yield from block.figures if isinstance(block, Gallery) else (block,)
