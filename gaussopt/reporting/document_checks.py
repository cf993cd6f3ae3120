"""Checks of the names in a report: every link has a target, and no name occurs twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gaussopt.reporting.document import (
    Animation,
    Block,
    Data,
    Document,
    Figure,
    Items,
    Link,
    Paragraph,
    Section,
    Table,
    blocks_of,
    sections_of,
)

RESERVED = ("main", "contents", "findings", "summary", "status")
"""Anchors that every page has."""


def check(document: Document) -> None:
    """Check the names of a document.

    Raises
    ------
    ValueError
        If a link or a highlight leads nowhere, or two sections, figures, tables or files have the same name.
    """
    blocks = list(blocks_of(document.sections))
    anchors = [*RESERVED, *(s.anchor for s in sections_of(document.sections))]
    figures = [b for b in blocks if isinstance(b, Figure | Animation)]
    tables = [b for b in blocks if isinstance(b, Table)]
    if document.summary is not None:
        tables.append(document.summary.counts)
    animated = [f"{b.name}-animated" for b in blocks if isinstance(b, Animation)]
    data = [b.name for b in blocks if isinstance(b, Data)]
    _unique("files", [*(b.name for b in (*figures, *tables)), *animated, *data])
    anchors += [f"figure-{f.name}" for f in figures] + [f"table-{t.name}" for t in tables]
    _unique("anchors", anchors)
    asked = [link.anchor for link in _links(document, blocks, tables)]
    if document.summary is not None:
        asked += [h.anchor for h in document.summary.highlights]
    lost = sorted(set(asked) - set(anchors))
    if lost:
        raise ValueError(f"Links of the report {document.title!r} lead nowhere: {', '.join(lost)}.")


def titles(sections: Sequence[Section]) -> dict[str, str]:
    """Titles of all sections by anchor."""
    return {s.anchor: s.title for s in sections_of(sections)}


def _unique(what: str, names: Iterable[str]) -> None:
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"Two {what} of the report have the same name: {', '.join(twice)}.")


def _links(document: Document, blocks: Iterable[Block], tables: Iterable[Table]) -> Iterator[Link]:
    texts: list[object] = [f for group in document.all_findings for f in group.items]
    texts += [Link(group.title, group.anchor) for group in document.all_findings if group.anchor]
    for block in blocks:
        if isinstance(block, Items):
            texts.extend(block.items)
        elif isinstance(block, Paragraph):
            texts.append(block.text)
    texts.extend(cell for table in tables for row in table.rows for cell in row)
    return (text for text in texts if isinstance(text, Link))
