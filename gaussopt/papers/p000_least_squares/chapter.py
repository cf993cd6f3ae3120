"""The chapter on paper 000 in the main document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaussopt.modelling.problem import problem
from gaussopt.papers.chapters import Chapter, ChapterTexts, Judged, errata_counts, misprint
from gaussopt.papers.p000_least_squares import section as supplement
from gaussopt.papers.p000_least_squares.motions import PROBLEM, REFERENCE
from gaussopt.papers.report_parts import PaperResults
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure

text = ChapterTexts(__file__)

EXACT_16, PRINTED_16 = (f"eq. (16): {name}, tau = -0.5" for name in ("exact", "least-squares-as-printed"))


def chapter(outcomes: Mapping[str, JobOutcome], judged: Judged, quick: bool) -> Chapter:
    """Describe the paper's proposal, the results that hold, those that do not and why, and the misprints."""
    results, entry = PaperResults(outcomes), problem(PROBLEM)
    figures = {
        "paper-000-drawing": drawing_figure(entry, "paper-000-drawing"),
        "paper-000-equation-16": supplement.equation_16_figure(results),
        "paper-000-operations": supplement.operations_figure(), "paper-000-turning": supplement.turning_figure(),
    }  # fmt: skip
    values = {"parameters": _parameters(), **errata_counts(entry, results), **misprint("000-6", results)}
    return text.chapter("000", judged, values | _of_motions(results), figures)


def _of_motions(results: PaperResults) -> dict[str, Any]:
    """Return the numbers on motions that the chapter quotes; a number is None if its motion failed."""
    found: dict[str, Any] = dict.fromkeys(("end", "miss", "exact", "printed", "residual"))
    motion = results.trajectory("motion: exact")
    if motion is not None:
        miss = supplement.end_miss(motion, problem(PROBLEM).reference(REFERENCE))
        found |= {"end": float(motion.t[-1]), "miss": miss}
    exact, printed = results.trajectory(EXACT_16), results.trajectory(PRINTED_16)
    if exact is not None and printed is not None:
        found |= {"exact": float(exact.q[-1, 2]), "printed": float(printed.q[-1, 2]),
                  "residual": printed.worst.constraint_residual}  # fmt: skip
    return found


def _parameters() -> str:
    """Describe all parameters but the torque, and whether the paper prints them."""
    whose: dict[bool, list[str]] = {True: [], False: []}
    for p in problem(PROBLEM).parameters:
        if p.name != "tau":
            whose[p.printed].append(f"{p.name} = {p.value:.4g} {p.unit}")
    return f"{', '.join(whose[True])} as printed; {', '.join(whose[False])} by our choice".replace("^2", "²")
