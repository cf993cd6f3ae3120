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
from gaussopt.papers.p004_quasi_velocities.c16_faster_than_routh import SPAN, TOLERANCE
from gaussopt.papers.p004_quasi_velocities.knife_edge import CASES, RANGES
from gaussopt.papers.p004_quasi_velocities.motions import DRAWN_STEP, PROBLEM, REGULAR, TAN
from gaussopt.papers.p004_quasi_velocities.pole import LEAST, poles
from gaussopt.papers.p004_quasi_velocities.spread import FAR, STEP, WITHIN, Crests, Spread
from gaussopt.papers.report_parts import Chapter, Important, PaperResults
from gaussopt.papers.sources import SOURCES
from gaussopt.papers.texts import ChapterTexts, beside, number, numbers_of, supported, verdict_on
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.document import Block, Section, Timed
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure

ANCHOR = "chapter-004"

texts = ChapterTexts(__file__)


def chapter(outcomes: Mapping[str, JobOutcome], judged: Mapping[str, Judgement | str], quick: bool) -> Chapter:
    """The chapter, from the outcomes of the paper's cases and the judgements of all claims."""
    results = PaperResults(outcomes)
    tan, regular = (results.value(f"spread: NH-A, {row}") for row in ("tan", "regular"))
    crests: Crests | None = results.value("spread: NH-B")
    free = None if crests is None else crests.spread
    found = {"A": _distribution(tan), "B": _distribution(free), "R": _distribution(regular)}
    c14, c15, c16, c17 = (judged[f"C{n}"] for n in range(14, 18))
    held = texts.told("C14", step=LONG, **{k: _said(x) for k, x in numbers_of(c14, "control", "by_rk4").items()})
    parts = (
        ("proposal", "What the paper proposes", _proposal()),
        ("holds", "What holds", [
            *texts.told("holds"), verdict_on("C14", c14), *supported(c14, (True,), held),
            verdict_on("C15", c15), *supported(c15, (True, True), _equivalence(c15)),
        ]),
        ("drift", "Singularity and drift", [
            *_figures(results, crests), *texts.told("cause", least=LEAST),
            *texts.told("orders", ranges=RANGES, **numbers_of(c17, "forced", "free", "regular")),
            *_drift(results, tan, free, regular, found),
            verdict_on("C17", c17), *supported(c17, (True, False, False, False, False), _routh(results)),
        ]),
        ("speed", "Speed", [
            verdict_on("C16", c16), *supported(_of_evaluations(c16), (False, False, False), _speed(c16)),
        ]),
        ("misprints", "Misprints that matter", _misprints(results)),
    )  # fmt: skip
    sections = tuple(Section(f"{ANCHOR}-{name}", title, tuple(blocks)) for name, title, blocks in parts)
    first = []
    if tan and free and regular:
        told = texts("found-drift", **_ensemble(tan, free, regular), **found)
        first.append(Important(told, "paper-004-spread", f"{ANCHOR}-drift"))
    if kept := _violations(results):
        first.append(Important(texts("found-constraint", **kept), "paper-004-NH-A-violation", f"{ANCHOR}-holds"))
    return Chapter(Section(ANCHOR, SOURCES["004"].title, tuple(texts.told("lead")), sections), tuple(first))


def _proposal() -> list[Block]:
    """What the paper says, its body, and the two cases."""
    (first, second, *_), (pole, *_) = (poles(*CASES[case]) for case in ("NH-A", "NH-B"))
    told = texts.told("proposal", between=second.instant - first.instant, pole=pole.instant)
    drawing = drawing_figure(problem(PROBLEM), "paper-004-drawing")
    return [*told[:-1], *texts.figure("figure-drawing", drawing), told[-1]]


def _ensemble(tan: Spread, free: Spread, regular: Spread) -> dict[str, Any]:
    """What the sentences on the drift say of its steps."""
    return {"step": STEP, "count": len(tan.random), "end_A": tan.end, "end_B": free.end, "percent": 100 * WITHIN,
            "near": 100 * free.near, "far": FAR, "few": len(regular.random)}  # fmt: skip


def _violations(results: PaperResults) -> dict[str, Any]:
    """The largest velocity across the blade in case NH-A by each method, m/s; {} if a run is missing."""
    methods = {"quasi": motions.QUASI, "regular": REGULAR, "tan": TAN}
    runs = {name: results.trajectory(f"NH-A, {DRAWN_STEP}: {m}") for name, m in methods.items()}
    told: dict[str, Any] = {k: number(float(motions.violation(v).max()), 2) for k, v in runs.items() if v is not None}
    ends = [float(v.t[-1]) for v in runs.values() if v is not None]
    return told | {"end": ends[0], "step": STEP} if len(told) == len(methods) else {}


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
    lost, nearest = numbers_of(judged, "lost", "nearest").values()
    return texts.told("C15", lost=lost, nearest=_said(nearest, 1))


def _said(x: float | None, digits: int = 2) -> str | None:
    return None if x is None else number(x, digits)


def _figures(results: PaperResults, crests: Crests | None) -> list[Block]:
    """The paper's figures 2 to 5 by two cases, and what they show."""
    tan = {k: v for k, v in section.whole_runs(section.drawn_runs(results, "NH-B")).items() if k.startswith(TAN)}
    runs = section.whole_runs(section.drawn_runs(results, "NH-A"))
    steps = _two_steps(list(tan.values()))
    x = {"x": section.PLANE["x"]}
    centroid = None if len(tan) != 2 else section.coordinates("two-steps", "", "NH-B", tan, x, (4.4, 2.9))
    violation = section.violations("NH-A-violation", "", runs) if runs else None
    step = next((v.meta["dt"] for v in runs.values()), None)
    return [
        *texts.told("figures", **_coincide(crests), **steps),
        *beside([
            *texts.figure("figure-two-steps", centroid, body=_body("NH-B")),
            *texts.figure("figure-violation", violation, body=_body("NH-A"), step=step),
        ]),
    ]  # fmt: skip


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
    told = _ensemble(tan, free, regular)
    place = poles(CASES["NH-B"][0], free.end)[0].place(run.meta["dt"])
    drawn = section.spread_figure([tan, free, regular])
    return [
        *texts.told("drift", distance=abs(place - round(2 * place) / 2), **told, **found),
        *texts.figure("figure-spread", drawn, **told),
    ]


def _routh(results: PaperResults) -> list[Block]:
    run = results.trajectory(f"NH-A, {DRAWN_STEP}: {REGULAR}")
    return texts.told("C17", violation=_said(None if run is None else float(motions.violation(run).max()), 1))


def _of_evaluations(judged: Judgement | str) -> Judgement | str:
    """The readings on evaluations alone: the text says nothing of times but their numbers."""
    return judged if isinstance(judged, str) else replace(judged, readings=judged.readings[:3])


def _speed(judged: Judgement | str) -> list[Block]:
    ratios = numbers_of(judged, "regular", "equal", "tan")
    told = {k: None if v is None else _ratio(v) for k, v in ratios.items()}
    others = numbers_of(judged, "few", "many", "cases", "hand", "package")
    bodies, over = (ratios[k] and len(ratios[k]) for k in ("regular", "tan"))
    return texts.told(
        "C16", Timed, ranges=RANGES, tolerance=number(TOLERANCE), span=SPAN, bodies=bodies, poles=over, **told, **others
    )  # fmt: skip


def _ratio(values: Sequence[float]) -> str:
    """The median and the range."""
    return texts("ratio", median=float(np.median(values)), low=min(values), high=max(values))


def _misprints(results: PaperResults) -> list[Block]:
    evidence = results.value("erratum 004-1")
    printed, right = list(evidence.numbers.values())[:2] if evidence else (None, None)
    return texts.told("misprints", printed=printed, right=right)
