"""The list of claims, their checks as cases, and their sections of the report."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from functools import cache

from gaussopt.papers.claim import SOURCES, Claim, Judgement, OwnResult
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.reporting.document import Block, Items, Link, Paragraph, Section, Table, Tex, Timed, text_of
from gaussopt.reporting.texts import Texts

CLAIM = re.compile(r"c\d\d_\w+")
"""Names of the files that hold a claim."""

NOT_COMPUTED = "not computed"

texts = Texts(__file__)


@cache
def ledger() -> tuple[Claim, ...]:
    """Return all claims, in the order of their numbers."""
    import gaussopt.papers

    found: list[Claim] = [
        importlib.import_module(m.name).claim
        for m in pkgutil.walk_packages(gaussopt.papers.__path__, "gaussopt.papers.")
        if CLAIM.fullmatch(m.name.rpartition(".")[2])
    ]
    return tuple(sorted(found, key=lambda c: int(c.id[1:])))


def check(identifier: str, quick: bool) -> Judgement:
    """Compute the evidence for one claim."""
    return next(c for c in ledger() if c.id == identifier).check(quick)


def cases(quick: bool) -> list[Job]:
    """Return one case for each claim."""
    return [Job(_key(c), check, {"identifier": c.id, "quick": quick}, c.weight) for c in ledger()]


def judgements(outcomes: Mapping[str, JobOutcome]) -> dict[str, Judgement | str]:
    """Return the judgement of each claim by the claim's number, or a sentence that states why there is none."""
    found: dict[str, Judgement | str] = {}
    for c in ledger():
        outcome = outcomes.get(_key(c))
        found[c.id] = "not run" if outcome is None else outcome.failure or outcome.value
    return found


def verdicts(found: Mapping[str, Judgement | str]) -> Section:
    """Return a summary of the rule, and a table of all claims with verdict, reason and link to the evidence."""
    rows = (
        (Link(c.id, _anchor(c)), SOURCES[c.paper].authors, Tex(c.says), _verdict(found[c.id]), _brief(found[c.id]))
        for c in ledger()
    )
    table = texts.table("claims", rows)
    opening = (*texts.blocks("rule-in-short"), *texts.blocks("errors"))
    return Section("claims", "The claims and their verdicts", (*opening, table))


def rule(found: Mapping[str, Judgement | str]) -> Section:
    """Return the rule by which claims are judged, and a table of where each claim holds."""
    rows = (
        (Link(c.id, _anchor(c)), SOURCES[c.paper].authors, _verdict(found[c.id]), Tex(c.says), _conditions(found[c.id]))
        for c in ledger()
    )
    opening = (*texts.blocks("lead"), *texts.blocks("rule"), texts.table("verdict-rule"))
    return Section("rule", "The rule for verdicts", (*opening, texts.table("claims-where", rows)))


def section(paper: str, found: Mapping[str, Judgement | str]) -> Section:
    """Return the claims of one paper with their evidence."""
    parts = tuple(_claim(c, found[c.id]) for c in ledger() if c.paper == paper)
    return Section(f"claims-{paper}", "Claims of the source", (), parts)


def _claim(claim: Claim, judged: Judgement | str) -> Section:
    blocks: list[Block] = [Paragraph(Tex(f"The source ({claim.where}), in our words: {claim.says}."))]
    if claim.reading:
        blocks.append(Paragraph(Tex(f"Read as: {claim.reading}.")))
    title = f"{claim.id}: {_verdict(judged)}"
    if isinstance(judged, str):
        return Section(_anchor(claim), title, (*blocks, Paragraph(f"Nothing was computed: {judged}")))
    text = Timed if judged.times_decide else Tex
    if judged.brief:
        blocks.append(Paragraph(text(judged.reason)))
    blocks.append(Paragraph(text(judged.sentence)))
    if judged.conditions:
        blocks.append(Items(tuple(map(text, judged.conditions.splitlines()))))
    name = _anchor(claim)
    if judged.readings:
        read = (
            (Tex(r.meaning), "ours" if r.ours else "the source's", _truth(r.holds, text), text(r.where))
            for r in judged.readings
        )
        blocks.append(texts.table("readings", read, anchor=f"{name}-readings", claim=claim))
    blocks += _evidence(name, claim.id, judged, text)
    if judged.own:
        blocks.append(Paragraph(text(texts("own", sentence=judged.own.sentence))))
        blocks += _evidence(f"{name}-own", f"Beside {claim.id}, our own result", judged.own, text)
    return Section(_anchor(claim), title, tuple(blocks))


def _evidence(name: str, what: str, of: Judgement | OwnResult, text: type[Tex]) -> Iterator[Block]:
    """Yield tables of derivations, searches and numbers; texts with numbers have the type `text`, Tex or Timed."""
    derived = ((Tex(d.statement), text(d.computed), d.holds) for d in of.derivations)
    sought = ((Tex(s.sought), Tex(s.covered), text(s.found), _truth(s.refutes, text)) for s in of.searches)
    if of.derivations:
        yield texts.table("derivation", derived, anchor=f"{name}-derivation", what=what)
    if of.searches:
        yield texts.table("search", sought, anchor=f"{name}-search", what=what)
    if of.rows:
        yield Table(name, texts("numbers", what=what), of.columns, of.rows, of.timed)


def _truth(holds: bool, text: type[Tex]) -> bool | Timed:
    """Return `holds`; if it depends on measured times (`text` is `Timed`), mark it as valid for this machine only."""
    return Timed(text_of(holds)) if text is Timed else holds


def _verdict(judged: Judgement | str) -> str:
    return str(judged.verdict) if isinstance(judged, Judgement) else NOT_COMPUTED


def _brief(judged: Judgement | str) -> str:
    if isinstance(judged, str):
        return judged
    return (Timed if judged.times_decide else Tex)(judged.reason)


def _conditions(judged: Judgement | str) -> str:
    if isinstance(judged, str):
        return judged
    return (Timed if judged.times_decide else Tex)(" ".join(judged.conditions.splitlines()) or judged.sentence)


def _key(claim: Claim) -> str:
    return f"claim {claim.id}"


def _anchor(claim: Claim) -> str:
    return f"claim-{claim.id.lower()}"
