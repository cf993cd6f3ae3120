"""Texts of claims: derivations, searches, and possible readings of the words of a claim."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gaussopt.papers.claim import Attempt, Circumstance, Claim, Derivation, Judgement, OwnResult, Reading
from gaussopt.reporting.texts import Texts


class ClaimTexts(Texts):
    """Builder of evidence and judgements from the entries of the Markdown file of a claim."""

    def derivation(self, name: str, holds: bool, /, **values: Any) -> Derivation:
        """Fill in an entry of two paragraphs: the statement of a derivation, and the numbers that confirm it."""
        statement, computed = self.paragraphs(name, **values)
        return Derivation(statement, computed, holds, values=values, name=name)

    def confirmed(self, name: str, within: float, errors: Iterable[float], /, **values: Any) -> Derivation:
        """Return a derivation that holds if no error exceeds a bound; its text may quote `worst` and `count`."""
        found = list(errors)
        return self.derivation(name, bool(max(found) <= within), worst=max(found), count=len(found), **values)

    def attempt(self, name: str, refutes: bool, /, **values: Any) -> Attempt:
        """Fill in an entry of three paragraphs: the aim, the extent and the result of a search."""
        sought, covered, found = self.paragraphs(name, **values)
        return Attempt(sought, covered, found, refutes, values=values, name=name)

    def reading(
        self, name: str, holds: bool, /, parts: Mapping[str, bool] | None = None, ours: bool = True,
        statement: str = "", **values: Any,
    ) -> Reading:  # fmt: skip
        """Return a reading (an interpretation) of the claim; `statement` and the keys of `parts` are entries, too."""
        told = tuple(Circumstance(self(part, **values), truth) for part, truth in (parts or {}).items())
        return Reading(self(name, **values), holds, told, ours, statement and self(statement))

    def brief(self, readings: Sequence[Reading], /, **values: Any) -> str:
        """Return the reason of a verdict in one sentence; "" if none was written for the set of readings that hold.

        The name of the entry states which readings hold, as in "brief yes no".
        """
        entry = " ".join(("brief", *("yes" if r.holds else "no" for r in readings)))
        return self(entry, **values) if entry in self.entries else ""

    def judgement(
        self, readings: Sequence[Reading], derivations: Sequence[Derivation], searches: Sequence[Attempt], /, *,
        rows: Sequence[tuple[Any, ...]] = (), numbers: Mapping[str, Any] | None = None, own: OwnResult | None = None,
        **fields: Any,
    ) -> Judgement:  # fmt: skip
        """Judge the readings, that is, the interpretations of the claim; "sentence" quotes numbers and evidence.

        The names of the columns of `rows` are in the entry "numbers", unless `fields`, further fields of the judgement,
        contain "columns".
        """
        evidence: list[Derivation | Attempt] = [*own.derivations, *own.searches] if own else []
        evidence += [*derivations, *searches]
        known = {e.name: e for e in evidence} | dict(numbers or {})
        if rows and "columns" not in fields:
            fields["columns"] = self.columns("numbers")
        return Judgement.of(
            readings, self("sentence", **known), derivations, searches, rows=tuple(rows), numbers=known,
            brief=self.brief(readings, **known), own=own, **fields,
        )  # fmt: skip

    def claim(self, identifier: str, paper: str, check: Callable[[bool], Judgement], weight: float) -> Claim:
        """Return the claim in the entry `identifier`, whose paragraphs are its place, wording and reading."""
        where, says, *reading = self.paragraphs(identifier)
        return Claim(identifier, paper, where, says, check, " ".join(reading), weight)
