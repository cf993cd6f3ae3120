"""The first screen of the report: what was run, how the claims fared, the findings that matter most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gaussopt.papers import ledger
from gaussopt.papers.claim import Judgement
from gaussopt.papers.report_parts import Important
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.document import Animation, Figure, Highlight, Section, Summary, Table, Tex, blocks_of

MOST = 3


def summary(
    outcomes: Mapping[str, JobOutcome], found: Mapping[str, Judgement | str], findings: Sequence[str],
    sections: Sequence[Section], papers: Sequence[str], quick: bool,
) -> Summary:  # fmt: skip
    """The first screen, from the evidence `found` for each claim and all findings.

    The `Important` findings name a figure of `sections`; `papers` are their numbers.
    """
    failed = sum(bool(o.failure) for o in outcomes.values())
    done = f"{len(outcomes) - failed} of {len(outcomes)} cases computed"
    run = f"{len(papers)} papers, {len(found)} claims: {done}." + (
        " A quick run: shorter motions, fewer states, coarser grids." if quick else ""
    )
    return Summary(run, _counts(outcomes, found, papers), _highlights(findings, sections))


def _counts(outcomes: Mapping[str, JobOutcome], found: Mapping[str, Judgement | str], papers: Sequence[str]) -> Table:
    by = {p: ledger.counts({c.id: found[c.id] for c in ledger.ledger() if c.paper == p}) for p in papers}
    verdicts = dict.fromkeys(v for p in papers for v in by[p])
    rows = [
        (f"claims: {v}", *(by[p].get(v, 0) for p in papers), sum(by[p].get(v, 0) for p in papers)) for v in verdicts
    ]
    errata = [_confirmed(outcomes, p) for p in papers]
    rows.append(("errata confirmed", *(_of(*e) for e in errata), _of(*map(sum, zip(*errata, strict=True)))))
    return Table("verdicts", "How the papers fared, by number.", ("paper", *papers, "all"), tuple(rows))


def _confirmed(outcomes: Mapping[str, JobOutcome], paper: str) -> tuple[int, int]:
    """The number of confirmed errata of a paper, and of all of them."""
    of = [o for key, o in outcomes.items() if key.startswith(f"{paper}: erratum ")]
    return sum(o.value is not None and not o.value.holds for o in of), len(of)


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole}"


def _highlights(findings: Sequence[str], sections: Sequence[Section]) -> tuple[Highlight, ...]:
    figures = {b.name: b if isinstance(b, Figure) else _still(b)
               for b in blocks_of(sections) if isinstance(b, Figure | Animation)}  # fmt: skip
    return tuple(
        Highlight(Tex(f), figures[f.figure], f.anchor)
        for f in findings if isinstance(f, Important) and f.figure in figures
    )[:MOST]  # fmt: skip


def _still(moving: Animation) -> Figure:
    """A motion as a picture."""
    return Figure(moving.name, moving.caption, moving.alt, moving.still, moving.data)
