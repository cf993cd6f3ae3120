"""The ledger of claims: which there are, their checks as cases, and what the report says of them."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache

from gaussopt.papers.claim import Claim, ClaimVerdict, Judgement
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.reporting.document import Block, Link, Paragraph, Section, Table, Tex, Timed
from gaussopt.reporting.texts import Texts

CLAIM = re.compile(r"c\d\d_\w+")
"""Names of the files that hold a claim."""

NOT_COMPUTED = "not computed"

texts = Texts(__file__)


@cache
def ledger() -> tuple[Claim, ...]:
    """All claims, in the order of their numbers."""
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
    """One case for each claim."""
    return [Job(_key(c), check, {"identifier": c.id, "quick": quick}, c.weight) for c in ledger()]


def judgements(outcomes: Mapping[str, JobOutcome]) -> dict[str, Judgement | str]:
    """The evidence for each claim by its number, or in one sentence the reason why there is none."""
    found: dict[str, Judgement | str] = {}
    for c in ledger():
        outcome = outcomes.get(_key(c))
        found[c.id] = "not run" if outcome is None else outcome.failure or outcome.value
    return found


def counts(found: Mapping[str, Judgement | str]) -> dict[str, int]:
    """The number of claims with each verdict; those without evidence last, if there are any."""
    number = Counter(str(j.verdict) if isinstance(j, Judgement) else NOT_COMPUTED for j in found.values())
    return {v: number[v] for v in (*map(str, ClaimVerdict), NOT_COMPUTED) if number[v] or v != NOT_COMPUTED}


def overview(found: Mapping[str, Judgement | str]) -> Section:
    """All claims with their verdicts, each leading to its evidence."""
    rows = (
        (Link(c.id, _anchor(c)), c.paper, _verdict(found[c.id]), Tex(c.says), _conditions(found[c.id]))
        for c in ledger()
    )
    return Section("claims", "The claims", (*texts.blocks("lead"), texts.table("claims", rows)))


def section(paper: str, found: Mapping[str, Judgement | str]) -> Section:
    """The claims of one paper with their evidence."""
    parts = tuple(_claim(c, found[c.id]) for c in ledger() if c.paper == paper)
    return Section(f"claims-{paper}", "Claims of the source", (), parts)


def _claim(claim: Claim, judged: Judgement | str) -> Section:
    blocks: list[Block] = [Paragraph(Tex(f"{claim.where}: {claim.says}."))]
    if claim.reading:
        blocks.append(Paragraph(Tex(f"Read as: {claim.reading}.")))
    title = f"{claim.id}: {_verdict(judged)}"
    if isinstance(judged, str):
        return Section(_anchor(claim), title, (*blocks, Paragraph(f"Nothing was computed: {judged}")))
    text = Timed if judged.times_decide else Tex
    blocks.append(Paragraph(text(judged.sentence)))
    if judged.conditions:
        blocks.append(Paragraph(Tex(f"Where it holds: {judged.conditions}")))
    name = _anchor(claim)
    derived = ((Tex(d.statement), text(d.computed), d.holds) for d in judged.derivations)
    sought = ((Tex(s.sought), Tex(s.covered), text(s.found), s.refutes) for s in judged.searches)
    blocks.append(texts.table("derivation", derived, anchor=f"{name}-derivation", claim=claim))
    blocks.append(texts.table("search", sought, anchor=f"{name}-search", claim=claim))
    if judged.rows:
        blocks.append(Table(name, f"{claim.id}, the numbers behind it.", judged.columns, judged.rows, judged.timed))
    return Section(_anchor(claim), title, tuple(blocks))


def _verdict(judged: Judgement | str) -> str:
    return str(judged.verdict) if isinstance(judged, Judgement) else NOT_COMPUTED


def _conditions(judged: Judgement | str) -> str:
    if isinstance(judged, str):
        return judged
    if judged.conditions:
        return Tex(judged.conditions)
    return (Timed if judged.times_decide else Tex)(judged.sentence)


def _key(claim: Claim) -> str:
    return f"claim {claim.id}"


def _anchor(claim: Claim) -> str:
    return f"claim-{claim.id.lower()}"
