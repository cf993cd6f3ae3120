"""A small report with every kind of block, and a page without what measured times say, for the tests of reports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser

import numpy as np
import pandas as pd

from gaussopt.reporting.document import (
    Animation,
    Block,
    Data,
    Document,
    Figure,
    Finding,
    Formula,
    Gallery,
    Items,
    Link,
    Paragraph,
    Section,
    Table,
    Tex,
    Timed,
    blocks_of,
)
from gaussopt.reporting.figures import plots

NASTY = "<script>alert(1)</script> & $x$ | [a](b) *c*"
"""A name that a person may give."""

STILL = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 80"><circle cx="20" cy="40" r="10" fill="#0072b2"/>'
    '<path d="M20 40H180" stroke="#7f7f7f"/></svg>'
)
MOVING = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 80"><circle cx="20" cy="40" r="10" fill="#0072b2">'
    '<animate attributeName="cx" values="20;180;20" dur="2s" repeatCount="indefinite"/></circle></svg>'
)

SORTED = Table(
    "sorted", "Solvers and what they took; a column of numbers, one of words, one of both.",
    ("solver", "error", "what", Tex("cost $c_N$"), "seconds"),
    (
        ("s10", 1.23456789012e-9, "refuses", Tex("$|x| < 1$"), 0.5),
        ("s9", np.float64(2e6), "1 of 2", 3, 0.25),
        ("alpha", float("nan"), "confirmed", 12, 0.75),
        ("Beta", 4e-3, "–", Link("more", "deep-1"), Timed("0.1 s")),
    ),
    timed=("seconds",),
)  # fmt: skip

GROUPED = Table(
    "grouped", "Errata; rows that leave their first cells open belong to the row above.",
    ("erratum", "printed", "computed", "value"),
    (("E2", "sin", "first", 3.0), ("E2", "", "second", 9.0), ("E1", "cos", "first", 5.0), ("", "", "second", -1.0)),
)  # fmt: skip

WIDE = Table("wide", "A table wider than any screen.", tuple(f"column {j}" for j in range(40)),
             (tuple(float(j) / 3 for j in range(40)),) * 2)  # fmt: skip


def figure(name: str, timed: bool = False) -> Figure:
    """A curve."""
    x = np.linspace(0.0, 1.0, 5)
    svg = plots.lines(x, {"a": x**2}, "t / s", "y")
    return Figure(name, Tex(f"The curve {name} rises as $x^2$."), f"A curve from 0 to 1, {name}.", svg,
                  pd.DataFrame({"x": x, "y": x**2}), timed)  # fmt: skip


def every_block(seconds: float = 0.125) -> Document:
    """Every kind of block, texts of all kinds, sections down to the eighth level; `seconds` stand for the clock."""
    deep: tuple[Section, ...] = ()
    for level in reversed(range(7)):
        deep = (Section(f"deep-{level}", f"Level {level + 2}", (Paragraph(f"Down to level {level + 2}."),), deep),)
    measured = Timed(f"It took {seconds} s, $t < 1$.")
    blocks: tuple[Block, ...] = (
        Paragraph(NASTY), Paragraph(Tex(r"With $M a = Q + J^T \lambda$, where $\lambda_N \ge 0$ & $a < b$.")),
        Paragraph(measured), Paragraph(Tex(r"Malformed: $\frac{a}{$ and $\nosuchcommand$ for 5\$.")),
        Formula(r"\min_a\ \tfrac12 a^T M a \quad \text{subject to} \quad J a = \gamma", "min a^T M a, J a = gamma"),
        Items((NASTY, Link("to the table", "table-sorted"), measured)),
        figure("alone"), Gallery((figure("left"), figure("right", timed=True))),
        Animation("motion", "A ball rolls.", "A ball rolls to the right and back.", MOVING, STILL,
                  pd.DataFrame({"t": [0.0, 1.0]})),
        Data("long", "All of it", pd.DataFrame({"a": range(5)})),
    )  # fmt: skip
    tables = (SORTED, GROUPED, WIDE, Table("names", NASTY, (NASTY, "took"), ((NASTY, seconds),), ("took",)))
    named = (
        Finding("A subject", Tex("See [#figure-alone] and [#table-sorted]."), "deep-1"),
        Finding("Other", "x", "more"),
    )
    few = Table("few", "Few.", ("a",), ((Tex("[#figure-alone], [#figure-right], [#blocks]"),),))
    more = Section("more", "More tables", (few, figure("alone")))
    return Document(
        f"A report on {NASTY}", "What it is about.",
        (*named, *(f"Finding {j}." for j in range(7)), Tex("Finding $x_9$."), measured),
        (Section("blocks", f"Blocks of {NASTY}", blocks), Section("tables", "Tables", tables, deep)),
        pages=(Document("A further page", "It has [#table-sorted].", (), (more,), "further", "S1."),),
    )  # fmt: skip


def without_times(page: str) -> str:
    """A page without the contents of the elements that measured times decide."""
    parser = _WithoutTimes(convert_charrefs=False)
    parser.feed(page)
    return "".join(parser.kept)


class _WithoutTimes(HTMLParser):
    void = re.compile("area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr")

    def __init__(self, **options: bool) -> None:
        super().__init__(**options)
        self.kept: list[str] = []
        self.inside = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        timed = "data-timed" in dict(attrs)
        if not self.inside:
            self.kept.append(f"<{tag} timed>" if timed else str(self.get_starttag_text()))
        if (self.inside or timed) and not self.void.fullmatch(tag):
            self.inside += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self.inside:
            self.kept.append(str(self.get_starttag_text()))

    def handle_endtag(self, tag: str) -> None:
        if self.inside:
            self.inside -= 1
        if not self.inside:
            self.kept.append(f"</{tag}>")

    def _keep(self, text: str) -> None:
        if not self.inside:
            self.kept.append(text)

    def handle_data(self, data: str) -> None:
        self._keep(data)

    def handle_entityref(self, name: str) -> None:
        self._keep(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._keep(f"&#{name};")

    def handle_comment(self, data: str) -> None:
        self._keep(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self._keep(f"<!{decl}>")


def figures_of(sections: Sequence[Section]) -> list[Figure]:
    """All figures, in order."""
    return [b for b in blocks_of(sections) if isinstance(b, Figure)]


def tables_of(sections: Sequence[Section]) -> list[Table]:
    """All tables, in order."""
    return [b for b in blocks_of(sections) if isinstance(b, Table)]


def data_of(sections: Sequence[Section]) -> list[Data]:
    """All tables that are not on the page, in order."""
    return [b for b in blocks_of(sections) if isinstance(b, Data)]
