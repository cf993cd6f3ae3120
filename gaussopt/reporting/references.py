"""Anchors of a report: their pages, and the wording of references to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from gaussopt.reporting.document import Animation, Document, Figure, Table, blocks_of, sections_of

REFERENCE = re.compile(r"\[#([\w-]+)\]")
"""Pattern of a reference to an anchor in a text."""

RESERVED = {
    "main": "", "contents": "Contents", "findings": "What was found", "supplement": "Supplement", "status": "",
}  # fmt: skip
"""Anchors that every page has, and their titles."""

MISSING = {"figure": "a figure that this run did not draw", "table": "a table that this run did not fill"}
"""By prefix of an anchor, the wording of a reference to a part that is missing because a case failed."""


def anchors_of(page: Document) -> Iterator[tuple[str, str]]:
    """Yield the anchors of a page, each with the wording of a reference to it; the page itself is the first."""
    yield page.name, page.title
    yield from RESERVED.items()
    yield from ((s.anchor, s.title) for s in sections_of(page.sections))
    figures, tables = count(1), count(1)
    for block in blocks_of(page.sections):
        match block:
            case Figure() | Animation():
                yield f"figure-{block.name}", f"Figure {page.prefix}{next(figures)}"
            case Table():
                yield f"table-{block.name}", f"Table {page.prefix}{next(tables)}"


@dataclass(frozen=True)
class References:
    """References from one page of a report; `ending` is the file ending of the pages.

    If several pages hold an anchor, a reference leads to this page if it holds it, or else to the first page that does.
    """

    report: Document
    page: Document
    ending: str
    pages: dict[str, dict[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        """Look up the anchors of all pages once, those of this page first."""
        order = (self.page, *(p for p in self.report.every_page if p is not self.page))
        object.__setattr__(self, "pages", {p.name: dict(anchors_of(p)) for p in order})

    def address(self, anchor: str) -> str:
        """Return the address of the anchor for a link."""
        name = self._page(anchor)
        if name == self.page.name:
            return f"#{'main' if anchor == name else anchor}"
        return f"{name}.{self.ending}" + (f"#{anchor}" if anchor != name else "")

    def words(self, anchor: str) -> str:
        """Return the wording of a reference to the anchor; if no page has it, say that it is missing."""
        name = self._page(anchor)
        return self.pages[name][anchor] if name else MISSING.get(anchor.partition("-")[0], anchor)

    def has(self, anchor: str) -> bool:
        """Return whether a page has the anchor."""
        return bool(self._page(anchor))

    def _page(self, anchor: str) -> str:
        return next((name for name, anchors in self.pages.items() if anchor in anchors), "")
