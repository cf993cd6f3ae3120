"""Checks of the names in a report: every link has a target, and a name means one thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from gaussopt.reporting import document as parts
from gaussopt.reporting.document import Document, Link, Tex, blocks_of, sections_of
from gaussopt.reporting.references import MISSING, REFERENCE, RESERVED, anchors_of


def check(document: Document) -> None:
    """Raise ValueError for a link that leads nowhere, or for names that two parts share.

    Two pages may show the same figure or table, and then its name is the same.
    """
    _unique("pages", (p.name for p in document.every_page))
    _unique("sections", (s.anchor for p in document.every_page for s in sections_of(p.sections)))
    for page in document.every_page:
        blocks = list(blocks_of(page.sections))
        _unique(
            "anchors", [*RESERVED, *(s.anchor for s in sections_of(page.sections)), *filter(None, map(_anchor, blocks))]
        )
        files = [b.name for b in blocks if hasattr(b, "name")]
        _unique("files", [*files, *(f"{b.name}-animated" for b in blocks if isinstance(b, parts.Animation))])
    known: dict[str, Any] = {}
    for block in (b for p in document.every_page for b in blocks_of(p.sections) if hasattr(b, "name")):
        if known.setdefault(block.name, _content(block)) != _content(block):
            raise ValueError(f"Two parts of the report {document.title!r} have the same name: {block.name}.")
    anchors = {a for p in document.every_page for a in anchors_of(p)}
    lost = sorted({a for p in document.every_page for a in _targets(p)} - anchors)
    if lost:
        raise ValueError(f"Links of the report {document.title!r} lead nowhere: {', '.join(lost)}.")


def missing(document: Document) -> list[str]:
    """Figures and tables to which texts refer and which no page has, since a case failed."""
    anchors = {a for p in document.every_page for a in anchors_of(p)}
    return sorted({a for p in document.every_page for a in _references(p)} - anchors)


def _unique(what: str, names: Iterable[str]) -> None:
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"Two {what} of the report have the same name: {', '.join(twice)}.")


def _anchor(block: parts.Block) -> str:
    match block:
        case parts.Figure() | parts.Animation():
            return f"figure-{block.name}"
        case parts.Table():
            return f"table-{block.name}"
    return ""


def _content(block: Any) -> tuple[Any, ...]:
    """What the files of a block hold."""
    match block:
        case parts.Table():
            return block.columns, [[str(cell) for cell in row] for row in block.rows]
        case parts.Data():
            return (block.frame.to_csv(),)
        case parts.Animation():
            return block.svg, block.still
    return (block.svg,)


def _texts(page: Document) -> Iterator[object]:
    """Everything on a page that may lead somewhere."""
    yield page.lead
    for finding in page.findings:
        yield finding.text if isinstance(finding, parts.Finding) else finding
    for block in blocks_of(page.sections):
        match block:
            case parts.Paragraph():
                yield block.text
            case parts.Items():
                yield from block.items
            case parts.Table():
                yield block.caption
                yield from (cell for row in block.rows for cell in row)
            case parts.Figure() | parts.Animation() | parts.Data():
                yield block.caption


def _references(page: Document) -> Iterator[str]:
    for text in _texts(page):
        if isinstance(text, Tex):
            yield from REFERENCE.findall(text)


def _targets(page: Document) -> Iterator[str]:
    """Anchors that must be there; a figure or table that a text refers to may be left out by a failed case."""
    yield from (text.anchor for text in _texts(page) if isinstance(text, Link))
    yield from (f.anchor for f in page.findings if isinstance(f, parts.Finding))
    yield from (a for a in _references(page) if not a.startswith(tuple(f"{kind}-" for kind in MISSING)))
