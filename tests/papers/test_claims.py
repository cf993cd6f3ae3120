"""What all claims have in common: verdicts, evidence that repeats itself, derivations that have to hold."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from judged_claims import CONDITIONAL, EXPECTED, PART, Judged
from latex2mathml.converter import convert

import gaussopt as go
from gaussopt.comparison.step_table import TimedAnswers
from gaussopt.papers import ledger
from gaussopt.papers.claim import ClaimVerdict, Judgement
from gaussopt.papers.texts import ClaimTexts
from gaussopt.reporting.document import Table

TIMED = {"C2", "C12", "C16"}
PAPERS = {"000": range(1, 5), "001": range(5, 10), "002": range(10, 14), "004": range(14, 18)}


def texts_of(j: Judgement) -> list[str]:
    found = [j.sentence, j.reason, *j.conditions.splitlines(), *(r.meaning for r in j.readings)]
    for part in (j, j.own) if j.own else (j,):
        found += [t for d in part.derivations for t in (d.statement, d.computed)]
        found += [t for s in part.searches for t in (s.sought, s.covered, s.found)]
    return found


@pytest.mark.parametrize("number", EXPECTED)
def test_verdicts_and_texts_that_can_be_shown(judged: Judged, number: str) -> None:
    j = judged(number)
    assert j.verdict is EXPECTED[number]
    assert bool(j.conditions) is (j.verdict in (CONDITIONAL, PART, ClaimVerdict.IRREPRODUCIBLE))
    assert bool(j.readings) is (j.verdict is not ClaimVerdict.UNCLAIMED)
    assert j.derivations
    assert all(d.holds for part in (j, j.own) if part for d in part.derivations)
    assert j.searches
    assert all(s.covered and s.found for s in j.searches)
    if int(number[1:]) > 9:  # the others tell some searches without a number
        assert all(re.search(r"\d", text) for s in j.searches for text in (s.covered, s.found))
    assert all(len(row) == len(j.columns) for row in j.rows)
    assert set(j.timed) <= set(j.columns)
    assert j.times_decide is (number in TIMED)
    claim = next(c for c in ledger.ledger() if c.id == number)
    for text in (claim.where, claim.says, claim.reading, *texts_of(j)):
        assert text.count("$") % 2 == 0, text
        assert not re.search(r"[\x00-\x1f]", text), text
        assert "nan" not in re.sub(r"\$[^$]*\$", "", text).lower().split(), text
        for formula in re.findall(r"\$([^$]*)\$", text):
            assert convert(formula).startswith("<math")


@pytest.mark.parametrize("number", EXPECTED)
def test_a_check_repeats_itself_and_derivations_that_fail_block_its_verdict(
    judged: Judged, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    """In another process it finds the same but for times; what it has found is judged once more, as not derived.

    The times of C16 are others here: a loaded machine changes no numbers of evaluations.
    """
    real, found = ClaimTexts.judgement, []

    def fails(self: ClaimTexts, readings: Any, derivations: Any, searches: Any, /, **more: Any) -> Judgement:
        derived = list(derivations)
        found.append(real(self, readings, derived, searches, **more))
        return real(self, readings, [replace(d, holds=False) for d in derived], searches, **more)

    seconds = {"quasi-velocity": 1.0, "routh": 1e3}
    if number == "C16":
        monkeypatch.setattr(TimedAnswers, "median", lambda case, *_: seconds[case.answers.formulation])
    monkeypatch.setattr(ClaimTexts, "judgement", fails)
    blocked, first = ledger.check(number, True), judged(number)
    assert blocked.verdict is ClaimVerdict.UNDECIDED
    assert all(d.statement in blocked.conditions for d in first.derivations)
    (again,) = found
    assert number in TIMED or repr(again) == repr(first)
    if number == "C16":
        assert "1000.00 (median" in again.searches[-1].found
        assert again.readings[-1].parts[1].holds
        assert (again.verdict, again.rows, again.readings[:3]) == (first.verdict, first.rows, first.readings[:3])


@pytest.mark.parametrize("paper", PAPERS)
def test_the_section_of_a_paper_shows_them(judged: Judged, paper: str) -> None:
    numbers = [f"C{i}" for i in PAPERS[paper]]
    assert [c.id for c in ledger.ledger() if c.paper == paper] == numbers
    found: dict[str, Judgement | str] = {c.id: judged(c.id) if c.id in numbers else "" for c in ledger.ledger()}
    parts = ledger.section(paper, found).sections
    assert [p.title for p in parts] == [f"{n}: {EXPECTED[n]}" for n in numbers]
    assert all(any(isinstance(b, Table) for b in p.blocks) for p in parts)


@pytest.mark.parametrize(
    ("problems", "count", "doubted"),
    [(("crank-slider",), 9, {"000-1", "000-2", "000-6", "000-7", "000-8"}),
     (("two-bar", "sliding-rod"), 13, {"001-2", "001-10", "001-11"})],
)  # fmt: skip
def test_errata_name_their_place_and_kind(problems: tuple[str, ...], count: int, doubted: set[str]) -> None:
    found = [e for name in problems for e in go.problem(name).errata]
    assert len(found) == count
    assert all(e.where and e.kind for e in found)
    assert {e.id for e in found if e.doubt} == doubted
    for text in (t for e in found for t in (e.printed, e.correct)):
        assert text.count("$") % 2 == 0
        assert all(convert(formula).startswith("<math") for formula in re.findall(r"\$([^$]*)\$", text))
