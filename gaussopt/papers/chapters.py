"""Chapters on the papers: Markdown templates, filled with the numbers of judgements and of motions.

The headings of a template determine the use of their text:

- `NAME: TITLE` opens a part of the chapter; the text before the first part is the lead;
- `verdict C1` is the verdict on a claim;
- `figure NAME` is a figure of the supplement with the text as caption; `figure NAME, beside` adds it to the gallery
  that directly precedes it, or begins a gallery;
- `found FIGURE in PART` is a sentence for the summary, with a figure and a link to the part that holds the
  details; `found in PART` has no figure;
- `words` ends the chapter; the entries after it hold phrases from which the chapter's module makes values of texts;
- any other heading is a label for paragraphs and is not printed.

If a heading ends in ` if C1 is yes no`, its text is used only if the first reading of claim C1 holds and the second
fails; otherwise the judgement replaces it. A text quotes numbers of a judgement as `{{C1[worst]:.1e}}`, and numbers of
its evidence as `{{C1[random steps][worst]:.1e}}`. If a value is missing because a case failed, a sentence says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Self

from gaussopt.modelling.problem import Problem
from gaussopt.papers.claim import SOURCES, Judgement
from gaussopt.papers.report_parts import PaperResults
from gaussopt.reporting.document import Block, Figure, Gallery, Paragraph, Section, Tex, Timed
from gaussopt.reporting.texts import Texts

Judged = Mapping[str, Judgement | str]
"""The judgement of each claim, or a sentence with the reason why it has none."""

_PART = re.compile(r"([\w-]+): (.+)")
_IF = re.compile(r"(.+?)(?: if (C\d+) is ([a-z ]+))?")
_FOUND = re.compile(r"found (?:([\w-]+) )?in ([\w-]+)")
_FIGURE = re.compile(r"figure ([\w-]+)(, beside)?")


class Important(Tex):
    """A finding for the summary of the report, with one of the report's figures."""

    figure: str
    anchor: str

    def __new__(cls, text: str, figure: str, anchor: str) -> Self:
        """Make a finding from its text, the figure's name, and the `anchor` of the section with details."""
        found = super().__new__(cls, text)
        found.figure, found.anchor = figure, anchor
        return found

    def __getnewargs__(self) -> tuple[str, str, str]:  # type: ignore[override]
        """Return the arguments from which pickle makes a copy in another process."""
        return str(self), self.figure, self.anchor


@dataclass(frozen=True)
class Chapter:
    """The chapter on a paper in the main document.

    Attributes
    ----------
    section : the chapter; it shows figures of the supplement with different captions
    found : the one or two most important findings, with numbers, for the summary
    """

    section: Section
    found: tuple[Important, ...]


class _Absent:
    """A value that was not computed; looking up an entry of it returns the same absent value."""

    def __getitem__(self, name: str) -> Self:
        return self


class ChapterTexts(Texts):
    """The template of a chapter."""

    def chapter(
        self, number: str, judged: Judged, values: Mapping[str, Any], figures: Mapping[str, Figure | None]
    ) -> Chapter:
        """Fill the template of a paper; a value or a figure that could not be computed is None."""
        numbers = {claim: j.numbers if isinstance(j, Judgement) else None for claim, j in judged.items()}
        known = {k: _Absent() if v is None else v for k, v in {**numbers, **values}.items()}
        anchor, told = f"chapter-{number}", ""
        lead: list[Block] = []
        blocks, parts, found = lead, [], []
        for heading in takewhile(lambda h: h != "words", self.entries):
            name, claim, wanted = _IF.fullmatch(heading).groups()  # type: ignore[union-attr]
            fits = not claim or _fits(judged[claim], wanted)
            if part := _PART.fullmatch(heading):
                blocks = []
                parts.append((f"{anchor}-{part[1]}", part[2], blocks))
            elif first := _FOUND.fullmatch(heading):
                if not self._missing(heading, known):
                    found.append(Important(self(heading, **known), first[1] or "", f"{anchor}-{first[2]}"))
            elif not fits:
                blocks += [] if told == claim else [_instead(judged[claim])]
            elif name.startswith("verdict "):
                blocks.append(_verdict(name.removeprefix("verdict "), judged))
            elif missing := self._missing(heading, known, figures):
                blocks.append(_not_computed(name, missing))
            elif claim and isinstance(judged[claim], str):
                continue
            elif shown := _FIGURE.fullmatch(name):
                _show(figures[shown[1]], self(heading, **known), bool(shown[2]), blocks)
            else:
                kind = Timed if claim and getattr(judged[claim], "times_decide", False) else Tex
                own = self.blocks(heading, **known)
                blocks += [replace(b, text=kind(b.text)) if isinstance(b, Paragraph) else b for b in own]
            told = "" if fits else claim
        sections = tuple(Section(where, title, tuple(of)) for where, title, of in parts)
        return Chapter(Section(anchor, SOURCES[number].title, tuple(lead), sections), tuple(found))

    def _missing(
        self, heading: str, known: Mapping[str, Any], figures: Mapping[str, Figure | None] | None = None
    ) -> list[str]:  # fmt: skip
        """Return the names of values and figures that an entry needs but this run did not compute."""
        values = self.values_in(heading, **known)
        shown = _FIGURE.match(heading)
        absent = [field for field, value in values.items() if value is None or isinstance(value, _Absent)]
        return absent + ["figure"] * (shown is not None and figures is not None and figures[shown[1]] is None)


def _show(figure: Figure | None, caption: str, beside: bool, blocks: list[Block]) -> None:
    """Append a figure to `blocks`; with `beside` put it into the gallery at their end, or into a new gallery."""
    assert figure is not None
    drawn = replace(figure, caption=Tex(caption))
    last = blocks[-1] if beside and blocks else None
    if isinstance(last, Gallery):
        blocks[-1] = Gallery((*last.figures, drawn))
    else:
        blocks.append(Gallery((drawn,)) if beside else drawn)


def _fits(judged: Judgement | str, wanted: str) -> bool:
    """Return whether the readings hold as `wanted`, such as "yes no", says; return True if they were not computed."""
    holds = [{"yes": True, "no": False}[word] for word in wanted.split()]
    return isinstance(judged, str) or [r.holds for r in judged.readings[: len(holds)]] == holds


def _instead(judged: Judgement | str) -> Paragraph:
    """Return the judgement as a paragraph, which replaces a text that does not fit the judgement."""
    assert isinstance(judged, Judgement)
    where = " ".join(judged.conditions.splitlines())
    return Paragraph(Tex(f"The verdict is '{judged.verdict}'. {judged.sentence} {where}".strip()))


def _verdict(claim: str, judged: Judged) -> Paragraph:
    """Return the verdict on a claim, with a link to the table of all claims, where its reason is stated."""
    found = judged[claim]
    if isinstance(found, str):
        return Paragraph(Tex(f"The verdict on claim {claim} is not computed: {found}"))
    return Paragraph(Tex(f"[#table-claims] calls claim {claim} “{found.verdict}”."))


def _not_computed(what: str, missing: list[str]) -> Paragraph:
    return Paragraph(Tex(f"Not computed in this run, since a case failed: {what} ({', '.join(missing)})."))


def errata_counts(entry: Problem, results: PaperResults) -> dict[str, Any]:
    """Count the errata of a problem, and how many of them this run confirms."""
    found = [results.value(f"erratum {e.id}") for e in entry.errata]
    return {"errata": len(found), "confirmed": sum(e is not None and not e.holds for e in found)}


def misprint(identifier: str, results: PaperResults) -> dict[str, Any]:
    """Return the first two numbers of an erratum's evidence: the printed value and the correct one."""
    evidence = results.value(f"erratum {identifier}")
    printed, right = list(evidence.numbers.values())[:2] if evidence else (None, None)
    return {"misprint": printed, "instead": right}
