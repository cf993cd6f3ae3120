"""Texts of claims and of chapters: what was derived, what was sought, and paragraphs whose numbers may be missing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gaussopt.papers.claim import Attempt, Circumstance, Claim, Derivation, Judgement, Reading
from gaussopt.reporting.document import Block, Figure, Gallery, Paragraph, Tex, Timed
from gaussopt.reporting.texts import Texts


class ClaimTexts(Texts):
    """The entries of the Markdown file of a claim."""

    def derivation(self, name: str, holds: bool, /, **values: Any) -> Derivation:
        """An entry with the statement and what was computed."""
        statement, computed = self.paragraphs(name, **values)
        return Derivation(statement, computed, holds, values)

    def attempt(self, name: str, refutes: bool, /, **values: Any) -> Attempt:
        """An entry with what was sought, where, and what was found."""
        sought, covered, found = self.paragraphs(name, **values)
        return Attempt(sought, covered, found, refutes, values)

    def reading(
        self, name: str, holds: bool, /, parts: Mapping[str, bool] | None = None, ours: bool = True,
        statement: str = "", **values: Any,
    ) -> Reading:  # fmt: skip
        """An entry as a reading; the named parts of the circumstances and its statement are entries too."""
        told = tuple(Circumstance(self(part, **values), truth) for part, truth in (parts or {}).items())
        return Reading(self(name, **values), holds, told, ours, statement and self(statement))

    def brief(self, readings: Sequence[Reading], /, **values: Any) -> str:
        """The reason of a verdict in one sentence, "" if none was written for the readings that hold.

        The entry is named by which readings hold, as in "brief yes no".
        """
        entry = " ".join(("brief", *("yes" if r.holds else "no" for r in readings)))
        return self(entry, **values) if entry in self.entries else ""

    def claim(self, identifier: str, paper: str, check: Callable[[bool], Judgement], weight: float) -> Claim:
        """The entry named as the claim: where it stands, what it says, and how it is read if that is not plain."""
        where, says, *reading = self.paragraphs(identifier)
        return Claim(identifier, paper, where, says, check, " ".join(reading), weight)


class ChapterTexts(Texts):
    """The entries of the Markdown file of a chapter."""

    def told(self, name: str, kind: type[Tex] = Tex, /, **values: Any) -> list[Block]:
        """The blocks of an entry, its paragraphs of a kind; one sentence instead if a value is None.

        A value is None if the case that computes it failed.
        """
        missing = [key for key, value in values.items() if value is None]
        if missing:
            return [Paragraph(Tex(f"Not computed in this run, since a case failed: {name} ({', '.join(missing)})."))]
        return [replace(b, text=kind(b.text)) if isinstance(b, Paragraph) else b for b in self.blocks(name, **values)]

    def figure(self, name: str, of: Figure | None, /, **values: Any) -> list[Block]:
        """A figure of the supplement with an entry as its caption; one sentence instead if it or a value is None."""
        if of is None or any(value is None for value in values.values()):
            return self.told(name, **{**values, "figure": of})
        return [replace(of, caption=Tex(self(name, **values)))]


def beside(blocks: list[Block]) -> list[Block]:
    """Small figures side by side, after whatever else there is."""
    figures = tuple(b for b in blocks if isinstance(b, Figure))
    return [*(b for b in blocks if not isinstance(b, Figure)), *([Gallery(figures)] if figures else [])]


def supported(judged: Judgement | str, holds: tuple[bool, ...], blocks: list[Block]) -> list[Block]:
    """Blocks that say of the readings of a claim that they hold or not; what the judgement says where it differs."""
    if isinstance(judged, str) or tuple(r.holds for r in judged.readings) == holds:
        return blocks
    where = " ".join(judged.conditions.splitlines())
    return [Paragraph(Tex(f"The verdict is '{judged.verdict}'. {judged.sentence} {where}".strip()))]


def verdict_on(claim: str, judged: Judgement | str) -> Paragraph:
    """The verdict on a claim with the sentence that the table of all claims says of it."""
    if isinstance(judged, str):
        return Paragraph(Tex(f"The verdict on claim {claim} is not computed: {judged}"))
    kind = Timed if judged.times_decide else Tex
    return Paragraph(kind(f"The verdict on claim {claim} is “{judged.verdict}”. {judged.reason}"))


def judged_as(judged: Judgement | str) -> str:
    """The verdict in words; `judged` is a sentence where nothing was computed."""
    return str(judged.verdict) if isinstance(judged, Judgement) else "not computed"


def numbers_of(judged: Judgement | str, *names: str) -> dict[str, Any]:
    """Numbers of a judgement by their names; None where there are none."""
    known = judged.numbers if isinstance(judged, Judgement) else {}
    return {name: known.get(name) for name in names}


def number(x: float, digits: int = 2) -> str:
    """A number in a sentence, to so many digits: 217, 0.015, 2.2 times a power of ten in LaTeX."""
    rounded = float(f"{x:.{digits}g}")
    if rounded == 0 or not math.isfinite(rounded) or 1e-3 <= abs(rounded) < 1e4:
        return f"{rounded:g}"
    mantissa, exponent = f"{rounded:e}".split("e")
    factor = float(mantissa)
    power = f"10^{{{int(exponent)}}}"
    return f"${power}$" if factor == 1 else rf"${factor:g}\cdot {power}$"
