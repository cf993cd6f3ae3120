"""Paper 004 in two pages: its proposal, results that hold, and the cause of the drift of Routh's equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.problem import problem
from gaussopt.papers.chapters import Chapter, ChapterTexts, Judged, misprint
from gaussopt.papers.p004_quasi_velocities import motions, section
from gaussopt.papers.p004_quasi_velocities.c14_no_violation import STEP as LONG
from gaussopt.papers.p004_quasi_velocities.c16_faster_than_routh import SPAN, TOLERANCE
from gaussopt.papers.p004_quasi_velocities.knife_edge import CASES, RANGES
from gaussopt.papers.p004_quasi_velocities.motions import DRAWN_STEP, PROBLEM, QUASI, REGULAR, TAN
from gaussopt.papers.p004_quasi_velocities.pole import LEAST, poles
from gaussopt.papers.p004_quasi_velocities.spread import FAR, STEP, WITHIN, Crests, Spread
from gaussopt.papers.report_parts import PaperResults
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure

texts = ChapterTexts(
    __file__, step=STEP, long=LONG, percent=100 * WITHIN, far=FAR, least=LEAST, ranges=RANGES, tolerance=TOLERANCE,
    span=SPAN,
)  # fmt: skip


def chapter(outcomes: Mapping[str, JobOutcome], judged: Judged, quick: bool) -> Chapter:
    """Write the chapter from the outcomes of the paper's cases and the judgements of all claims."""
    results = PaperResults(outcomes)
    crests: Crests | None = results.value("spread: NH-B")
    spreads = {"A": results.value("spread: NH-A, tan"), "B": crests and crests.spread,
               "R": results.value("spread: NH-A, regular")}  # fmt: skip
    tan = {k: v for k, v in section.whole_runs(section.drawn_runs(results, "NH-B")).items() if k.startswith(TAN)}
    runs = section.whole_runs(section.drawn_runs(results, "NH-A"))
    x = {"x": section.PLANE["x"]}
    figures = {
        "paper-004-drawing": drawing_figure(problem(PROBLEM), "paper-004-drawing"),
        "paper-004-two-steps":
            section.coordinates("two-steps", "", "NH-B", tan, x, (4.4, 2.9)) if len(tan) == 2 else None,
        "paper-004-NH-A-violation": section.violations("NH-A-violation", "", runs) if runs else None,
        "paper-004-spread": section.spread_figure(list(spreads.values())) if all(spreads.values()) else None,
    }  # fmt: skip
    (first, second, *_), (pole, *_) = (poles(*CASES[case]) for case in ("NH-A", "NH-B"))
    values = {
        "between": second.instant - first.instant, "pole": pole.instant,
        "two": _two_steps(list(tan.values())), "drawn": next((v.meta["dt"] for v in runs.values()), None),
        "body_A": _body("NH-A"), "body_B": _body("NH-B"), "violation": _violations(results),
    }  # fmt: skip
    found = _coincide(crests) | _drift(results, spreads) | misprint("004-1", results)
    return texts.chapter("004", judged, values | found, figures)


def _drift(results: PaperResults, spreads: Mapping[str, Spread | None]) -> dict[str, Any]:
    """Return numbers for sentences on the drift; in their names, A is NH-A by TAN, R is NH-A by REGULAR, B is NH-B."""
    found: dict[str, Any] = {k: s and _distribution(s) for k, s in spreads.items()}
    tan, free, regular = spreads.values()
    run = results.trajectory(f"NH-B: {TAN}")
    found |= {
        "count": tan and len(tan.random), "end_A": tan and tan.end, "end_B": free and free.end,
        "near": free and 100 * free.near, "few": regular and len(regular.random), "distance": None,
    }  # fmt: skip
    if free is not None and run is not None:
        place = poles(CASES["NH-B"][0], free.end)[0].place(run.meta["dt"])
        found["distance"] = abs(place - round(2 * place) / 2)
    return found


def _distribution(spread: Spread) -> str:
    """Describe the drift by its median and its 10 % and 90 % quantiles, as its mean is infinite."""
    low, median, high = (spread.quantile(q) for q in (0.1, 0.5, 0.9))
    return texts("distribution", median=median, low=low, high=high)


def _violations(results: PaperResults) -> dict[str, Any]:
    """Return the largest velocity across the blade, m/s, in case NH-A by each method, and the end of the runs, s."""
    runs = {
        name: results.trajectory(f"NH-A, {DRAWN_STEP}: {m}")
        for name, m in (("quasi", QUASI), ("regular", REGULAR), ("tan", TAN))
    }
    found = {k: None if v is None else float(motions.violation(v).max()) for k, v in runs.items()}
    return {**found, "end": next((float(v.t[-1]) for v in runs.values() if v is not None), None)}


def _body(case: str) -> str:
    """Describe the parameters of a case."""
    b, _ = CASES[case]
    return texts("body", b=b, force=f"{b.F0:g} N" if b.nu == 0 else rf"{b.F0:g} N $\cos({b.nu:g}\,t/\mathrm{{s}})$")


def _coincide(crests: Crests | None) -> dict[str, Any]:
    """Count the maxima of x(t) before the first pole; return the largest distance, m, between the two methods there."""
    if crests is None:
        return {"before": None, "within": None}
    before = crests.instants < poles(CASES["NH-B"][0], crests.spread.end)[0].instant
    return {"before": int(before.sum()), "within": float(crests.spread.drift.at[before].max(initial=0.0))}


def _two_steps(runs: Sequence[Trajectory]) -> dict[str, Any] | None:
    """Return the step sizes, s, and largest position errors, m, of the two runs with the tan row."""
    if len(runs) != 2:
        return None
    reference = problem(PROBLEM).reference("NH-B")
    (step, accident), (other, shorter) = ((v.meta["dt"], motions.reference_error(v, reference)) for v in runs)
    return {"step": step, "accident": accident, "other": other, "shorter": shorter}
