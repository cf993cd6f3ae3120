"""Known limitations of the report."""

from __future__ import annotations

from gaussopt.papers.texts import Texts
from gaussopt.reporting.document import Items, Section


def section() -> Section:
    """Known limitations."""
    return Section("limitations", "Known limitations", (Items(tuple(Texts(__file__).paragraphs("limitations"))),))
