"""What a report is made of, independent of how it is written out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula: MathML for HTML, plain text for Markdown and screen readers."""

    mathml: str
    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A bulleted list."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure, the data it shows, and what to see in it.

    Attributes
    ----------
    name : str
        File name without extension.
    caption : str
        What to see.
    alt : str
        The figure in words.
    svg : str
    data : DataFrame
        Written beside the report as CSV.
    """

    name: str
    caption: str
    alt: str
    svg: str
    data: pd.DataFrame


@dataclass(frozen=True, slots=True)
class Gallery:
    """Small figures that belong together."""

    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; numbers are formatted by `text_of`.

    Attributes
    ----------
    name : str
        File name of its CSV without extension.
    caption : str
    columns : header texts
    rows : cells, numbers or texts
    """

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Data:
    """A table too long for the page: it is written as CSV, and the page links to it.

    Attributes
    ----------
    name : str
        File name without extension.
    caption : str
        What is in it.
    frame : DataFrame
    """

    name: str
    caption: str
    frame: pd.DataFrame


Block = Paragraph | Formula | Items | Figure | Gallery | Table | Data


@dataclass(frozen=True, slots=True)
class Section:
    """A section with an anchor."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: str
    lead: str
    findings: tuple[str, ...]
    sections: tuple[Section, ...] = field(default=())


def text_of(cell: Any) -> str:
    """A cell as text: numbers to the digits that matter, NaN as a dash."""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return str(cell)
    if isinstance(cell, float) or hasattr(cell, "dtype"):
        value = float(cell)
        if math.isnan(value):
            return "–"
        if value == 0:
            return "0"
        if math.isinf(value):
            return "∞" if value > 0 else "−∞"
        return f"{value:.3e}" if not 1e-3 <= abs(value) < 1e6 else f"{value:.6g}"
    return str(cell)


def figures_of(sections: Sequence[Section]) -> list[Figure]:
    """All figures, in order."""
    found: list[Figure] = []
    for section in sections:
        for block in section.blocks:
            if isinstance(block, Figure):
                found.append(block)
            elif isinstance(block, Gallery):
                found.extend(block.figures)
        found.extend(figures_of(section.sections))
    return found


def tables_of(sections: Sequence[Section]) -> list[Table]:
    """All tables, in order."""
    found: list[Table] = []
    for section in sections:
        found.extend(b for b in section.blocks if isinstance(b, Table))
        found.extend(tables_of(section.sections))
    return found


def data_of(sections: Sequence[Section]) -> list[Data]:
    """All tables that are not on the page, in order."""
    found: list[Data] = []
    for section in sections:
        found.extend(b for b in section.blocks if isinstance(b, Data))
        found.extend(data_of(section.sections))
    return found
