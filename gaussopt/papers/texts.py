"""Texts of claims: what was derived, what was sought, and the claim itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gaussopt.papers.claim import Attempt, Claim, Derivation, Judgement
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

    def circumstances(self, holds: Mapping[str, bool]) -> str:
        """Under which of the named circumstances something holds, and under which not."""
        yes, no = ("; ".join(self(name) for name, value in holds.items() if value is truth) for truth in (True, False))
        told = f"{yes[0].upper()}{yes[1:]}." if yes else "Nowhere."
        return f"{told} Not {no}." if no else told

    def claim(self, identifier: str, paper: str, check: Callable[[bool], Judgement], weight: float) -> Claim:
        """The entry named as the claim: where it stands, what it says, and how it is read if that is not plain."""
        where, says, *reading = self.paragraphs(identifier)
        return Claim(identifier, paper, where, says, check, " ".join(reading), weight)
