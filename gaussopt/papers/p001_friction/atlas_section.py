"""The printed programs of paper 001 against the contact laws, on grids of states."""

from __future__ import annotations

from collections.abc import Mapping

from gaussopt.execution.workers import Case, Outcome
from gaussopt.papers.report_parts import Important
from gaussopt.reporting.document import Paragraph, Section

KEY = "atlas"
PAPER = "001"
"""The paper whose program is mapped."""

TITLE = "Atlas: quadratic program against LCP"


def cases(quick: bool) -> list[Case]:
    """Maps and boundaries of the two bars and of the rod."""
    from gaussopt.reporting.sections import atlas

    return [Case(KEY, atlas.paper_section, {"quick": quick, "anchor": KEY, "title": TITLE}, 12.0)]


def section(outcomes: Mapping[str, Outcome]) -> tuple[Section, list[str]]:
    """The section and its findings, of which the first is important; a sentence instead if the case failed."""
    outcome = outcomes.get(KEY)
    if outcome is None or outcome.failure:
        why = "It was not run." if outcome is None else outcome.failure
        return Section(KEY, TITLE, (Paragraph(f"Nothing was computed: {why}"),)), []
    whole, (first, *others) = outcome.value
    return whole, [Important(first, f"{KEY}-two-bar-qp-sliding", f"{KEY}-two-bar"), *others]
