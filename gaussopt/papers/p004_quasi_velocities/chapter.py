"""Paper 004 in two pages: what it proposes, what holds, and where the drift of Routh's equations comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Judgement
from gaussopt.papers.p004_quasi_velocities import motions, section
from gaussopt.papers.p004_quasi_velocities.c14_no_violation import STEP as LONG
from gaussopt.papers.p004_quasi_velocities.c15_equivalence import CLEAR
from gaussopt.papers.p004_quasi_velocities.c16_faster_than_routh import TOLERANCE
from gaussopt.papers.p004_quasi_velocities.knife_edge import CASES
from gaussopt.papers.p004_quasi_velocities.motions import DRAWN_STEP, PROBLEM, REGULAR, TAN
from gaussopt.papers.p004_quasi_velocities.pole import LEAST, poles
from gaussopt.papers.p004_quasi_velocities.spread import FAR, STEP, WITHIN, Crests, Spread
from gaussopt.papers.report_parts import Chapter, Important, PaperResults
from gaussopt.papers.sources import SOURCES
from gaussopt.papers.texts import ChapterTexts, beside, judged_as, number, numbers_of, supported
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.document import Block, Section, Timed

ANCHOR = "chapter-004"

texts = ChapterTexts(__file__)


def chapter(outcomes: Mapping[str, JobOutcome], judged: Mapping[str, Judgement | str], quick: bool) -> Chapter:
    """The chapter, from the outcomes of the paper's cases and the judgements of all claims."""
    results = PaperResults(outcomes)
    tan, regular = (results.value(f"spread: NH-A, {row}") for row in ("tan", "regular"))
    crests: Crests | None = results.value("spread: NH-B")
    free = None if crests is None else crests.spread
    kept = {k: _said(v) for k, v in numbers_of(judged["C14"], "worst", "wrong", "control").items()}
    found = {"A": _distribution(tan), "B": _distribution(free), "R": _distribution(regular)}
    c14, c15, c16, c17 = (judged[f"C{n}"] for n in range(14, 18))
    held = texts.told("C14", verdict=judged_as(c14), step=LONG, **kept)
    parts = (
        ("proposal", "What the paper proposes", texts.told("proposal")),
        ("holds", "What holds", [
            *texts.told("holds"), *supported(c14, (True,), held), *supported(c15, (False, True), _equivalence(c15)),
        ]),
        ("drift", "Singularity and drift", [
            *_figures(results, crests), *texts.told("cause", least=LEAST),
            *texts.told("orders", **numbers_of(c17, "forced", "free", "regular")),
            *_drift(results, tan, free, regular, found),
            *supported(c17, (True, False, False, False), _routh(results, judged_as(c17))),
        ]),
        ("speed", "Speed", supported(_of_evaluations(c16), (False, False, False), _speed(c16))),
        ("misprints", "Misprints that matter", _misprints(results)),
    )  # fmt: skip
    sections = tuple(Section(f"{ANCHOR}-{name}", title, tuple(blocks)) for name, title, blocks in parts)
    first = []
    if all(kept.values()):
        first.append(Important(texts("found-constraint", **kept), "paper-004-NH-A-violation", f"{ANCHOR}-holds"))
    if tan and regular:
        told = texts("found-drift", count=len(tan.random), step=STEP, end=tan.end, **found)
        first.insert(0, Important(told, "paper-004-spread", f"{ANCHOR}-drift"))
    return Chapter(Section(ANCHOR, SOURCES["004"].title, tuple(texts.told("lead")), sections), tuple(first))


def _distribution(spread: Spread | None) -> str | None:
    """The median and the range of the drift."""
    if spread is None:
        return None
    low, median, high = (number(spread.quantile(q)) for q in (0.0, 0.5, 1.0))
    return texts("distribution", median=median, low=low, high=high)


def _body(case: str) -> str:
    """The parameters of a case."""
    b, _ = CASES[case]
    return texts("body", b=b, force=f"{b.F0:g} N" if b.nu == 0 else rf"{b.F0:g} N $\cos({b.nu:g}\,t/\mathrm{{s}})$")


def _equivalence(judged: Judgement | str) -> list[Block]:
    same, lost = numbers_of(judged, "worst", "lost").values()
    lost = None if lost is None else f"{100 * lost:.0f}"
    return texts.told("C15", verdict=judged_as(judged), clear=CLEAR, same=_said(same, 1), lost=lost)


def _said(x: float | None, digits: int = 2) -> str | None:
    return None if x is None else number(x, digits)


def _figures(results: PaperResults, crests: Crests | None) -> list[Block]:
    """The paper's figures 2 to 5 by two cases, and what they show."""
    tan = {k: v for k, v in section.whole_runs(section.drawn_runs(results, "NH-B")).items() if k.startswith(TAN)}
    runs = section.whole_runs(section.drawn_runs(results, "NH-A"))
    steps = _two_steps(list(tan.values()))
    centroid = None if len(tan) != 2 else section.coordinates("figure-4", "", "NH-B", tan, section.PLANE)
    violation = section.violations("NH-A-violation", "", runs) if runs else None
    step = next((v.meta["dt"] for v in runs.values()), None)
    return [
        *texts.told("figures", **_coincide(crests), **steps),
        *beside(
            [
                *texts.figure("figure-4", centroid, body=_body("NH-B"), step=steps["step"], other=steps["other"]),
                *texts.figure("figure-violation", violation, body=_body("NH-A"), step=step),
            ]
        ),
    ]


def _coincide(crests: Crests | None) -> dict[str, Any]:
    """The crests before the first pole, and how far apart the two methods are there."""
    if crests is None:
        return {"before": None, "within": None, "pole": None}
    pole = poles(CASES["NH-B"][0], crests.spread.end)[0].instant
    before = crests.instants < pole
    within = float(crests.spread.drift.at[before].max(initial=0.0))
    return {"before": int(before.sum()), "within": number(within, 1), "pole": pole}


def _two_steps(runs: Sequence[Trajectory]) -> dict[str, Any]:
    """The steps of the two runs with the tan row, and their largest errors of the position, m."""
    if len(runs) != 2:
        return {"step": None, "accident": None, "other": None, "shorter": None}
    reference = problem(PROBLEM).reference("NH-B")
    (step, accident), (other, shorter) = ((v.meta["dt"], motions.reference_error(v, reference)) for v in runs)
    return {"step": step, "accident": accident, "other": other, "shorter": shorter}


def _drift(
    results: PaperResults, tan: Spread | None, free: Spread | None, regular: Spread | None, found: dict[str, str | None]
) -> list[Block]:
    run = results.trajectory(f"NH-B: {TAN}")
    if tan is None or free is None or regular is None or run is None:
        return texts.told("drift", **found, run=run)
    ends = {"step": STEP, "count": len(tan.random), "end_A": tan.end, "end_B": free.end}
    place = poles(CASES["NH-B"][0], free.end)[0].place(run.meta["dt"])
    told = {"percent": 100 * WITHIN, "near": 100 * free.near, "far": FAR, "distance": abs(place - round(2 * place) / 2)}
    drawn = section.spread_figure([tan, free, regular])
    return [*texts.told("drift", **told, **found, **ends), *texts.figure("figure-spread", drawn, **ends)]


def _routh(results: PaperResults, verdict: str) -> list[Block]:
    run = results.trajectory(f"NH-A, {DRAWN_STEP}: {REGULAR}")
    return texts.told(
        "C17", verdict=verdict, violation=_said(None if run is None else float(motions.violation(run).max()), 1)
    )


def _of_evaluations(judged: Judgement | str) -> Judgement | str:
    """The readings on evaluations alone: the text says nothing of times but their numbers."""
    return judged if isinstance(judged, str) else replace(judged, readings=judged.readings[:3])


def _speed(judged: Judgement | str) -> list[Block]:
    ratios = numbers_of(judged, "regular", "equal", "tan")
    told = {k: None if v is None else _ratio(v) for k, v in ratios.items()}
    others = numbers_of(judged, "few", "many", "hand", "package")
    bodies = ratios["regular"] and len(ratios["regular"])
    return texts.told(
        "C16", Timed, verdict=judged_as(judged), tolerance=number(TOLERANCE), bodies=bodies, **told, **others
    )


def _ratio(values: Sequence[float]) -> str:
    """The median and the range."""
    return texts("ratio", median=float(np.median(values)), low=min(values), high=max(values))


def _misprints(results: PaperResults) -> list[Block]:
    evidence = results.value("erratum 004-1")
    printed, right = list(evidence.numbers.values())[:2] if evidence else (None, None)
    return texts.told("misprints", printed=printed, right=right)
