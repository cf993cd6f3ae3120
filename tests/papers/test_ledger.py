"""The ledger: all claims are there, and the report prints what their checks return."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import pytest
from report_pages import tables_of

from gaussopt.papers import ledger
from gaussopt.papers.claim import Attempt, Circumstance, Claim, ClaimVerdict, Derivation, Judgement, OwnResult, Reading
from gaussopt.papers.texts import ClaimTexts
from gaussopt.processes.job import JobOutcome, run_job
from gaussopt.reporting.document import Items, Section

PAPERS = {"000": 4, "001": 5, "002": 4, "004": 4}


def other(verdict: ClaimVerdict, refuted: bool = False) -> Judgement:
    return Judgement(
        verdict, "Seven of nine.", (Derivation("two and two", "4", True),),
        (Attempt("a five", "sums of two numbers", "none", refuted),), "everywhere but here",
        ("number",), ((7,),),
    )  # fmt: skip


def table_of(section: Section) -> dict[str, Any]:
    """The only row of the last table."""
    table = tables_of([section])[-1]
    (row,) = (dict(zip(table.columns, r, strict=True)) for r in table.rows)
    return row


def texts(section: Section) -> str:
    found = [section.title, *(getattr(b, "text", "") for b in section.blocks)]
    found += [str(cell) for t in tables_of([section]) for row in t.rows for cell in row]
    return "\n".join([*found, *(texts(s) for s in section.sections)])


def test_every_claim_is_there() -> None:
    claims = ledger.ledger()
    assert [c.id for c in claims] == [f"C{i}" for i in range(1, 18)]
    assert {p: sum(c.paper == p for c in claims) for p in PAPERS} == PAPERS
    for c in claims:
        assert c.where
        assert c.says
        assert not c.says.endswith(".")


@pytest.mark.parametrize("verdict", list(ClaimVerdict))
@pytest.mark.parametrize("identifier", ["C1", "C9", "C17"])
def test_the_report_prints_what_a_check_returns(
    monkeypatch: pytest.MonkeyPatch, identifier: str, verdict: ClaimVerdict
) -> None:
    changed = [replace(c, check=lambda quick: other(verdict)) for c in ledger.ledger() if c.id == identifier]
    monkeypatch.setattr(ledger, "ledger", lambda: tuple(changed))
    outcomes = {c.key: JobOutcome(c.function(**c.arguments), "", 0.1) for c in ledger.cases(quick=True)}
    found = ledger.judgements(outcomes)
    short, long = (table_of(s) for s in (ledger.verdicts(found), ledger.rule(found)))
    assert (str(short["claim"]), short["verdict"]) == (str(long["claim"]), long["verdict"]) == (identifier, verdict)
    assert long["where it holds, or why"] == "everywhere but here"
    assert short["why, in one sentence"] == "everywhere but here"
    section = ledger.section(changed[0].paper, found)
    assert section.sections[0].title == f"{identifier}: {verdict}"
    for text in ("Seven of nine.", "two and two", "a five", "sums of two numbers"):
        assert text in texts(section)


def test_the_link_of_a_claim_leads_to_its_evidence() -> None:
    found: dict[str, Judgement | str] = {c.id: other(ClaimVerdict.TRUE) for c in ledger.ledger()}
    anchors = {s.anchor for p in PAPERS for s in ledger.section(p, found).sections}
    for part in (ledger.verdicts(found), ledger.rule(found)):
        assert {row[0].anchor for row in tables_of([part])[-1].rows} == anchors


def fails(quick: bool) -> Judgement:
    raise ArithmeticError("nothing to divide by")


def test_a_check_that_fails_has_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    claim: Claim = replace(ledger.ledger()[0], check=fails)
    monkeypatch.setattr(ledger, "ledger", lambda: (claim,))
    found = ledger.judgements({c.key: run_job(c) for c in ledger.cases(quick=True)})
    rows = tables_of([ledger.verdicts(found)])[-1].rows
    assert [row[3] for row in rows].count("not computed") == 1
    text = texts(ledger.section(claim.paper, found))
    assert "not computed" in text
    assert "nothing to divide by" in text
    assert ledger.judgements({})[claim.id] == "not run"


def read(holds: bool, *parts: bool) -> Reading:
    return Reading("it moves", holds, tuple(Circumstance(f"part {i}", p) for i, p in enumerate(parts)))


def of(statement: str, holds: bool) -> Reading:
    return replace(read(holds), statement=statement)


def told(*readings: Reading) -> list[str]:
    """The lines that say where a claim with these readings holds."""
    search, derived = (Attempt("a five", "sums", "none", False),), (Derivation("two and two", "4", True),)
    return Judgement.of(readings, "So it is.", derived, search).conditions.splitlines()


def test_statements_are_told_one_by_one() -> None:
    assert told(of("it starts", True), of("it runs", True), of("it runs", False), of("it stops", False)) == [
        "That it starts is true.",
        "That it runs is true under conditions.",
        "Reading 2: it moves. It holds in general.",
        "Reading 3: it moves. It does not hold in general, and we know no part of the circumstances in which it does.",
        "That it stops is false.",
    ]


def test_every_reading_is_told_in_a_line_of_its_own() -> None:
    partly = read(False, True, False, True)
    assert told(partly, replace(read(False, True), meaning="it turns"), replace(read(True), meaning="it rests")) == [
        "Reading 1: it moves. It holds part 0; and part 2. It fails part 1.",
        "Reading 2: it turns. It does not hold in general, but it holds part 0.",
        "Reading 3: it rests. It holds in general.",
    ]
    assert told(partly) == [f"Reading: it moves. {partly.where}"]
    judged = replace(other(ClaimVerdict.CONDITIONAL), conditions="One.\nTwo.")
    claim = ledger.ledger()[0]
    found: dict[str, Judgement | str] = {c.id: judged for c in ledger.ledger()}
    assert Items(("One.", "Two.")) in ledger.section(claim.paper, found).sections[0].blocks
    assert {row[-1] for part in (ledger.verdicts, ledger.rule) for row in tables_of([part(found)])[-1].rows} == {
        "One. Two."
    }


def test_a_result_of_our_own_has_no_part_in_the_verdict() -> None:
    own = OwnResult("It falls.", (Derivation("one and one", "3", False),), columns=("height",), rows=((2.5,),))
    judged = Judgement.of(
        [read(True)], "So it is.", [Derivation("two and two", "4", True)], [Attempt("a five", "sums", "none", False)],
        own=own,
    )  # fmt: skip
    assert judged.verdict is ClaimVerdict.TRUE
    claim = ledger.ledger()[0]
    section = ledger.section(claim.paper, {c.id: judged for c in ledger.ledger()}).sections[0]
    assert "It falls." in texts(section)
    assert {t.name for t in tables_of([section])} >= {f"claim-{claim.id.lower()}-own{x}" for x in ("", "-derivation")}


@pytest.mark.parametrize(
    ("readings", "verdict"),
    [
        ((read(True),), ClaimVerdict.TRUE),
        ((read(True), read(True, True, True)), ClaimVerdict.TRUE),
        ((read(True), read(False)), ClaimVerdict.CONDITIONAL),
        ((read(False, False, True),), ClaimVerdict.CONDITIONAL),
        ((read(False), read(False, False)), ClaimVerdict.FALSE),
        ((), ClaimVerdict.UNCLAIMED),
        ((of("a", True), of("b", False)), ClaimVerdict.PART),
        ((of("a", True), of("b", True), of("b", False)), ClaimVerdict.PART),
        ((of("a", True), of("a", False), of("b", True), of("b", False)), ClaimVerdict.CONDITIONAL),
        ((of("a", False), of("b", False)), ClaimVerdict.FALSE),
    ],
)
def test_one_rule_judges_all_readings(readings: tuple[Reading, ...], verdict: ClaimVerdict) -> None:
    confirmed, failed = Derivation("two and two", "4", True), Derivation("two and one", "4", False)
    search = Attempt("a five", "sums", "none", False)
    assert Judgement.of(readings, "So it is.", (confirmed,), (search,)).verdict is verdict
    blocked = Judgement.of(readings, "So it is.", (confirmed, failed), (search,))
    assert blocked.verdict is ClaimVerdict.UNDECIDED
    assert "two and one" in blocked.conditions
    if not readings:
        return
    missing = Judgement.of(readings, "So it is.", (confirmed,), (search,), missing="no torque is printed.")
    assert (missing.verdict, missing.conditions) == (ClaimVerdict.IRREPRODUCIBLE, "no torque is printed.")


def test_a_sentence_on_a_verdict_stands_for_one_outcome() -> None:
    c1 = next(c for c in ledger.ledger() if c.id == "C1")
    text = ClaimTexts(inspect.getfile(c1.check))
    right = Reading("by (14)", True), Reading("by (16)", False)
    told = text.brief((*right, right[0]), motions={"median": 1.25})
    assert "is 1.25 in the median" in told
    assert text.brief(right, motions={"median": 1.25}) == ""
    # A claim that is not decided is not told as if it were.
    for verdict, why in ((ClaimVerdict.CONDITIONAL, told), (ClaimVerdict.UNDECIDED, "everywhere but here")):
        found: dict[str, Judgement | str] = {c.id: replace(other(verdict), brief=told) for c in ledger.ledger()}
        assert {row[-1] for row in tables_of([ledger.verdicts(found)])[-1].rows} == {why}
