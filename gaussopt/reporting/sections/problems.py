"""Problems in a report: descriptions, drawings and parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from gaussopt.comparison.records import Answers
from gaussopt.core.errors import BadInput, GaussoptError
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.registered import registered_problem
from gaussopt.reporting.document import Block, Paragraph, Section, Table
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure
from gaussopt.reporting.sections.grouping import anchors_of


def parameters_table(entry: Problem, name: str, caption: str) -> Table:
    """Return a table of parameters with units and, if the problem has a source, the origin of each value."""
    said: dict[str, list[Any]] = {
        "name": [p.name for p in entry.parameters], "value": [p.value for p in entry.parameters],
        "unit": [p.unit for p in entry.parameters], "meaning": [p.meaning for p in entry.parameters],
        "from": ["source" if p.printed else "our choice" for p in entry.parameters] if entry.source else [],
    }  # fmt: skip
    there = {head: column for head, column in said.items() if any(x != "" for x in column)}
    return Table(name, caption, tuple(there), tuple(zip(*there.values(), strict=True)))


def section(answers: Sequence[Answers], known: Mapping[str, Any] = MappingProxyType({})) -> Section | None:
    """Show the problems whose steps were answered, each with drawing, description and parameters.

    `known` holds recorded data by label, for problems that are not registered here.
    """
    labels: dict[str, dict[str, None]] = {}
    for a in answers:
        if a.source.kind == "problem":
            # A label is the name, followed in brackets by the settings that differ from the defaults.
            labels.setdefault(a.source.name.partition(" (")[0], {}).setdefault(a.source.name)
    named = zip(labels.items(), anchors_of(labels), strict=True)
    parts = tuple(_one(name, list(own), word, known) for (name, own), word in named)
    if not parts:
        return None
    lead = "The mechanisms whose steps are solved here, with their default parameters."
    return Section("problems", "The problems", (Paragraph(lead),), parts)


def _recorded(name: str, labels: Sequence[str], word: str, known: Mapping[str, Any]) -> Iterator[Block]:
    """Yield the parameters of a problem as they were recorded."""
    for label in labels:
        if values := known.get(label, {}).get("parameters"):
            yield Table(f"parameters-{word}", f"Parameters of {name}.", ("name", "value"), tuple(values.items()))
            return


def _one(name: str, labels: Sequence[str], word: str, known: Mapping[str, Any]) -> Section:
    anchor = f"problem-{word}"
    try:
        entry = registered_problem(name)
    except GaussoptError:
        lead = Paragraph("Its file is not registered where this report was written.")
        return Section(anchor, name, (lead, *_recorded(name, labels, word, known)))
    changed = [label for label in labels if label != name]
    source, here = f"Source: {entry.source}.", f"Here as {'; '.join(changed)}."
    about = ((entry.description, entry.description), (entry.source, source), (changed, here))
    text = " ".join(sentence for there, sentence in about if there)
    blocks: list[Block] = [Paragraph(text)] if text else []
    with contextlib.suppress(BadInput):  # the problem has no sketch, or a sketch that `gaussopt animate` rejects
        blocks.append(drawing_figure(entry, anchor))
    if entry.parameters:
        blocks.append(parameters_table(entry, f"parameters-{word}", f"Parameters of {name}."))
    return Section(anchor, entry.title, tuple(blocks))
