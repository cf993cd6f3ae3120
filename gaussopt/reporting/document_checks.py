"""Checks of the names in a report: every link has a target, and no name occurs twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from gaussopt.reporting import document as parts
from gaussopt.reporting.document import Document, Link, blocks_of, sections_of

RESERVED = ("main", "contents", "findings", "summary", "status")
"""Anchors that every page has."""


def check(document: Document) -> None:
    """Raise ValueError if a link or highlight leads nowhere, or two sections, figures, tables or files share a name."""
    blocks: list[parts.Block] = [] if document.summary is None else [document.summary.counts]
    blocks += blocks_of(document.sections)
    anchors = [*RESERVED, *(s.anchor for s in sections_of(document.sections))]
    files = []
    for block in blocks:
        match block:
            case parts.Figure() | parts.Animation():
                anchors.append(f"figure-{block.name}")
            case parts.Table():
                anchors.append(f"table-{block.name}")
        files += [block.name] if hasattr(block, "name") else []
        files += [f"{block.name}-animated"] if isinstance(block, parts.Animation) else []
    _unique("files", files)
    _unique("anchors", anchors)
    lost = sorted(set(_targets(document, blocks)) - set(anchors))
    if lost:
        raise ValueError(f"Links of the report {document.title!r} lead nowhere: {', '.join(lost)}.")


def _unique(what: str, names: Iterable[str]) -> None:
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"Two {what} of the report have the same name: {', '.join(twice)}.")


def _targets(document: Document, blocks: Iterable[parts.Block]) -> Iterator[str]:
    """Anchors to which the document leads."""
    texts: list[object] = [f for group in document.all_findings for f in group.items]
    for block in blocks:
        match block:
            case parts.Items():
                texts += block.items
            case parts.Table():
                texts += [cell for row in block.rows for cell in row]
    yield from (text.anchor for text in texts if isinstance(text, Link))
    yield from (group.anchor for group in document.all_findings if group.anchor)
    yield from () if document.summary is None else (h.anchor for h in document.summary.highlights)
