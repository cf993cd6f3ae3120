"""Claims of papers as data: where they stand, what they say, the evidence computed for them, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class ClaimVerdict(StrEnum):
    """The verdict on a claim of a paper."""

    TRUE = "true"
    CONDITIONAL = "true under conditions"
    FALSE = "false"
    IRREPRODUCIBLE = "cannot be reproduced"

    @classmethod
    def of(cls, holds: Sequence[bool]) -> ClaimVerdict:
        """TRUE if all of several readings or circumstances hold, FALSE if none does."""
        return cls.TRUE if all(holds) else cls.CONDITIONAL if any(holds) else cls.FALSE

    def where(self, conditions: str) -> str:
        """The conditions of a claim that holds under some; "" for the other verdicts."""
        return conditions if self is ClaimVerdict.CONDITIONAL else ""


@dataclass(frozen=True, slots=True)
class Derivation:
    """One step of an independent derivation, and what was computed to check it.

    Attributes
    ----------
    statement : a theorem, identity or closed form, in words and formulas (LaTeX between dollar signs)
    computed : the numbers that confirm or contradict it on this run
    holds : whether they confirm it
    """

    statement: str
    computed: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to refute what is said, and how far it went.

    Attributes
    ----------
    sought : what would refute it
    covered : where it was looked for: which samples, sizes, ranges, seeds, optimisers
    found : what came out, with numbers
    refutes : whether something was found
    """

    sought: str
    covered: str
    found: str
    refutes: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and all it rests on.

    Attributes
    ----------
    verdict : follows from the derivations and searches, never from what was expected
    sentence : the reason in one or two sentences, with the numbers that decide
    derivations, searches : at least one each
    conditions : where it holds and where it does not; "" for a plain verdict
    columns, rows : a table of numbers behind it; () if there is none
    timed : the columns that hold measured times
    times_decide : whether `sentence`, `computed` and `found` quote measured times
    """

    verdict: ClaimVerdict
    sentence: str
    derivations: tuple[Derivation, ...]
    searches: tuple[Attempt, ...]
    conditions: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    timed: tuple[str, ...] = ()
    times_decide: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a paper as data.

    Attributes
    ----------
    id : "C1", "C2", ...
    paper : "000", "001", "002" or "004"
    where : equation or section of the paper
    says : the claim, in our words
    check : computes the evidence, the same on every run but for measured times; `check(True)` searches less far
    reading : what was taken as its meaning, where that is not plain; "" if it is
    weight : about how many seconds it takes
    """

    id: str
    paper: str
    where: str
    says: str
    check: Callable[[bool], Judgement]
    reading: str = ""
    weight: float = 2.0
