"""Texts of claims: what was derived, what was sought, and the claim itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gaussopt.papers.claim import Attempt, Circumstance, Claim, Derivation, Judgement, Reading
from gaussopt.reporting.texts import Texts


class ClaimTexts(Texts):
    """The entries of the Markdown file of a claim."""

    def derivation(self, name: str, holds: bool, /, **values: Any) -> Derivation:
        """An entry with the statement and what was computed."""
        statement, computed = self.paragraphs(name, **values)
        return Derivation(statement, computed, holds)

    def attempt(self, name: str, refutes: bool, /, **values: Any) -> Attempt:
        """An entry with what was sought, where, and what was found."""
        sought, covered, found = self.paragraphs(name, **values)
        return Attempt(sought, covered, found, refutes)

    def reading(
        self, name: str, holds: bool, /, parts: Mapping[str, bool] | None = None, ours: bool = True, **values: Any
    ) -> Reading:
        """An entry as a reading; the named parts of the circumstances are entries too."""
        told = tuple(Circumstance(self(part, **values), truth) for part, truth in (parts or {}).items())
        return Reading(self(name, **values), holds, told, ours)

    def claim(self, identifier: str, paper: str, check: Callable[[bool], Judgement], weight: float) -> Claim:
        """The entry named as the claim: where it stands, what it says, and how it is read if that is not plain."""
        where, says, *reading = self.paragraphs(identifier)
        return Claim(identifier, paper, where, says, check, " ".join(reading), weight)
