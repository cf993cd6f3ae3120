"""Claims of papers as data: their place and wording, the evidence computed for them, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self


class ClaimVerdict(StrEnum):
    """The verdict on a claim of a paper."""

    TRUE = "true"
    CONDITIONAL = "true under conditions"
    PART = "true in part"
    FALSE = "false"
    IRREPRODUCIBLE = "cannot be reproduced"
    UNDECIDED = "not decided"
    UNCLAIMED = "not claimed"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """Base class of evidence; texts quote the numbers of an evidence by its name, as in `{{NAME[worst]}}`."""

    values: Mapping[str, Any] = field(default_factory=dict, compare=False)
    name: str = field(default="", compare=False)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@dataclass(frozen=True, slots=True)
class Derivation(_Evidence):
    """One step of an independent derivation, and what was computed to check it.

    Attributes
    ----------
    statement : a theorem, identity or closed form, in words and formulas (LaTeX between dollar signs)
    computed : a text with the numbers of this run (from `values`) that confirm or contradict the statement
    holds : whether these numbers confirm it
    """

    statement: str
    computed: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Attempt(_Evidence):
    """An attempt to refute a statement by a search; `values` are the numbers quoted in `covered` and `found`.

    Attributes
    ----------
    sought : the counterexample that would refute the statement
    covered : the extent of the search: samples, sizes, ranges, seeds, optimisers
    found : the result, with numbers
    refutes : whether a counterexample was found
    """

    sought: str
    covered: str
    found: str
    refutes: bool


@dataclass(frozen=True, slots=True)
class Circumstance:
    """A named part of the circumstances that a paper states or implies, and whether a reading holds all through it."""

    text: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """One meaning that the words of a claim allow, and the circumstances in which it holds.

    Attributes
    ----------
    meaning : the claim in this reading; a sentence without its full stop
    holds : whether it holds in all circumstances that the paper states or implies
    parts : whether it holds in named parts of these circumstances, which differ in properties of the data
    ours : whether this interpretation is not the paper's but ours, because the paper leaves the meaning open
    statement : the statement that is interpreted, if the claim makes several; a clause that can follow "that"
    """

    meaning: str
    holds: bool
    parts: tuple[Circumstance, ...] = ()
    ours: bool = True
    statement: str = ""

    @property
    def somewhere(self) -> bool:
        """Whether the reading holds in all circumstances or in a named part of them."""
        return self.holds or any(p.holds for p in self.parts)

    @property
    def where(self) -> str:
        """Sentences that state where the reading holds and where it fails."""
        if self.holds:
            return "It holds in general."
        does, fails = ("; and ".join(p.text for p in self.parts if p.holds is truth) for truth in (True, False))
        if not does:
            return "It does not hold in general, and we know no part of the circumstances in which it does."
        return f"It holds {does}. It fails {fails}." if fails else f"It does not hold in general, but it holds {does}."


def verdict(readings: Sequence[Reading], derivations: Sequence[Derivation], missing: str = "") -> ClaimVerdict:
    """Judge a claim by the rule that is common to all claims.

    If this run fails to confirm a derivation, the claim is undecided. Without readings the paper claims nothing, and
    the evidence is our own result. A claim cannot be reproduced if the paper does not print the data that decide it
    (`missing` names them). Otherwise each statement of the claim is true if all its readings hold in all circumstances
    of the paper, false if none holds even in a named part of them, and true under conditions in the remaining cases. A
    claim whose statements get different verdicts is true in part.
    """
    if not all(d.holds for d in derivations):
        return ClaimVerdict.UNDECIDED
    if not readings:
        return ClaimVerdict.UNCLAIMED
    if missing:
        return ClaimVerdict.IRREPRODUCIBLE
    found = {_of_statement(of) for of in _statements(readings).values()}
    return found.pop() if len(found) == 1 else ClaimVerdict.PART


def _statements(readings: Sequence[Reading]) -> dict[str, list[Reading]]:
    """Group the readings of a claim by the statement that they interpret."""
    return {s: [r for r in readings if r.statement == s] for s in dict.fromkeys(r.statement for r in readings)}


def _of_statement(readings: Sequence[Reading]) -> ClaimVerdict:
    if all(r.holds for r in readings):
        return ClaimVerdict.TRUE
    return ClaimVerdict.CONDITIONAL if any(r.somewhere for r in readings) else ClaimVerdict.FALSE


@dataclass(frozen=True, slots=True)
class OwnResult:
    """Our own result on the subject of a claim; it does not influence the verdict.

    Attributes
    ----------
    sentence : the result, with the numbers of this run
    derivations, searches, columns, rows, timed : as in `Judgement`
    """

    sentence: str
    derivations: tuple[Derivation, ...] = ()
    searches: tuple[Attempt, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    timed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and the evidence for it.

    Attributes
    ----------
    verdict : follows from the derivations and searches, never from an expected result
    sentence : the reason in one or two sentences, with the numbers that decide
    derivations, searches : the evidence, at least one derivation and one search
    conditions : where each reading holds and where it fails, one line per reading; "" for a plain verdict
    columns, rows : a table of the numbers on which the verdict rests; () if there is none
    timed : the columns that hold measured times
    times_decide : whether `sentence` and the texts of derivations and searches quote measured times
    readings : the possible meanings of the claim, and where each holds
    own : our own result in addition to the claim, if any
    numbers : numbers by name, for the chapter of the paper to quote
    brief : the reason in one sentence, for places that quote the verdict
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
    readings: tuple[Reading, ...] = ()
    own: OwnResult | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)
    brief: str = ""

    @property
    def reason(self) -> str:
        """The reason in short: `brief` if the claim is decided, else the conditions, else `sentence`."""
        short = "" if self.verdict == ClaimVerdict.UNDECIDED else self.brief
        return short or " ".join(self.conditions.splitlines()) or self.sentence

    @classmethod
    def of(
        cls, readings: Sequence[Reading], sentence: str, derivations: Sequence[Derivation], searches: Sequence[Attempt],
        *, missing: str = "", **table: Any,
    ) -> Self:  # fmt: skip
        """Judge the readings by the rule of `verdict`; `table` holds further attributes, such as columns and rows."""
        found = verdict(readings, derivations, missing)
        failed = [d.statement for d in derivations if not d.holds]
        told = {
            ClaimVerdict.CONDITIONAL: _told(readings, readings),
            ClaimVerdict.PART: "\n".join(_stated(s, of, readings) for s, of in _statements(readings).items()),
            ClaimVerdict.UNDECIDED: f"This run does not confirm: {'; '.join(failed)}.",
            ClaimVerdict.IRREPRODUCIBLE: missing,
        }
        return cls(
            found, sentence, tuple(derivations), tuple(searches), told.get(found, ""), readings=tuple(readings), **table
        )


def _stated(statement: str, readings: Sequence[Reading], numbered: Sequence[Reading]) -> str:
    found = _of_statement(readings)
    told = f"That {statement} is {found}."
    return f"{told}\n{_told(readings, numbered)}" if found is ClaimVerdict.CONDITIONAL else told


def _told(readings: Sequence[Reading], numbered: Sequence[Reading]) -> str:
    """Return a line for each of `readings`: its number in the list `numbered`, its meaning, and where it holds."""
    lines = ((f" {i}" * (len(numbered) > 1), r) for i, r in enumerate(numbered, 1) if r in readings)
    return "\n".join(f"Reading{i}: {r.meaning}. {r.where}" for i, r in lines)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a paper, and the function that checks it.

    Attributes
    ----------
    id : "C1", "C2", ...
    paper : "000", "001", "002" or "004"
    where : section, equation and paragraph of the paper
    says : the claim, in our words and without a full stop
    check : function that computes the evidence, reproducible except for measured times; `check(True)` searches less
    reading : the assumed meaning of the claim if its words are ambiguous, else ""
    weight : approximate duration of the check in seconds
    """

    id: str
    paper: str
    where: str
    says: str
    check: Callable[[bool], Judgement]
    reading: str = ""
    weight: float = 2.0


@dataclass(frozen=True)
class Paper:
    """A paper; `key` is the paper's name in web addresses."""

    number: str
    authors: str
    topic: str
    key: str

    @property
    def page(self) -> str:
        """Name of the page of the supplement with all results on this paper."""
        return f"supplement-{self.key}"

    @property
    def title(self) -> str:
        """Authors and topic of the paper."""
        return f"{self.authors}: {self.topic}"


SOURCES = {
    s.number: s
    for s in (
        Paper("000", "Yuan & Ge 2016", "least squares for a crank-slider", "yuan-ge-2016"),
        Paper("001", "Yao, Liu & Yang 2020", "normal forces under Coulomb friction", "yao-liu-yang-2020"),
        Paper("002", "Yang & Yao 2017", "a singular mass matrix and a genetic algorithm", "yang-yao-2017"),
        Paper("004", "Hao, Liu & Yao 2020", "quasi-velocities against Routh's equations", "hao-liu-yao-2020"),
    )
}
"""The papers, by number."""
