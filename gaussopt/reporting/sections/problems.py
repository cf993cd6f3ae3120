"""Problems in a report: what they are, how they look, what their parameters are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gaussopt.comparison.records import Answers
from gaussopt.core.errors import BadInput, GaussoptError
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.problem import problem as find_problem
from gaussopt.reporting.document import Block, Paragraph, Section, Table
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure
from gaussopt.reporting.sections.grouping import anchor_of


def parameters_table(entry: Problem, name: str, caption: str) -> Table:
    """The parameters with their units, and which of them the source prints."""
    rows = tuple(
        (p.name, p.value, p.unit, p.meaning, "source" if p.printed else "our choice") for p in entry.parameters
    )
    return Table(name, caption, ("name", "value", "unit", "meaning", "from"), rows)


def section(answers: Sequence[Answers]) -> Section | None:
    """The problems whose steps were answered, each with drawing, description and parameters."""
    labels: dict[str, dict[str, None]] = {}
    for a in answers:
        if a.source.kind == "problem":
            # A label is the name, with what differs from the defaults in brackets behind it.
            labels.setdefault(a.source.name.partition(" (")[0], {}).setdefault(a.source.name)
    parts = tuple(_one(name, list(own), word) for (name, own), word in zip(labels.items(), _words(labels), strict=True))
    if not parts:
        return None
    lead = "The mechanisms whose steps are solved here, with their default parameters."
    return Section("problems", "The problems", (Paragraph(lead),), parts)


def _words(names: Iterable[str]) -> Iterator[str]:
    """Names as parts of anchors and file names; those that become alike are numbered."""
    given: set[str] = set()
    for name in names:
        plain = word = anchor_of(name) or "unnamed"
        i = 2
        while word in given:
            word, i = f"{plain}-{i}", i + 1
        given.add(word)
        yield word


def _one(name: str, labels: Sequence[str], word: str) -> Section:
    anchor = f"problem-{word}"
    try:
        entry = find_problem(name)
    except GaussoptError:
        return Section(anchor, name, (Paragraph("It is not registered where this report was written."),))
    changed = [label for label in labels if label != name]
    about = f"{entry.description} Source: {entry.source}."
    blocks: list[Block] = [Paragraph(about + (f" Here as {'; '.join(changed)}." if changed else ""))]
    try:
        blocks.append(drawing_figure(entry, anchor))
    except BadInput as error:
        blocks.append(Paragraph(str(error)))
    if entry.parameters:
        blocks.append(parameters_table(entry, f"parameters-{word}", f"Parameters of {name}."))
    return Section(anchor, entry.title, tuple(blocks))
