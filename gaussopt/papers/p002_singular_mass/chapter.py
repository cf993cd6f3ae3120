"""Paper 002 in two pages: Gauss's principle with a singular mass matrix, and a genetic algorithm as its solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gaussopt.comparison.paper_claims import SMALL
from gaussopt.core import registry
from gaussopt.core.solver import parse_options
from gaussopt.modelling.problem import problem
from gaussopt.papers.chapters import Chapter, ChapterTexts, Judged, misprint
from gaussopt.papers.claim import Judgement
from gaussopt.papers.evidence.random_steps import EIGENVALUES
from gaussopt.papers.p002_singular_mass import crossings, noisy_linkage, section
from gaussopt.papers.p002_singular_mass.c10_singular_mass import TORQUE
from gaussopt.papers.p002_singular_mass.c11_genetic_accuracy import OTHER, PENALISED, STEP
from gaussopt.papers.p002_singular_mass.genetic_runs import WAYS
from gaussopt.papers.p002_singular_mass.noisy_linkage import NOISE, PRINTED, REGULAR, NoiseResult
from gaussopt.papers.report_parts import PaperResults
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure
from gaussopt.reporting.texts import number

texts = ChapterTexts(__file__, low=EIGENVALUES[0], high=EIGENVALUES[1], small=SMALL, noise=NOISE, torque=TORQUE)


def chapter(outcomes: Mapping[str, JobOutcome], judged: Judged, quick: bool) -> Chapter:
    """Write the chapter from the outcomes of the paper's cases and the judgements of all claims."""
    results, entry, c11 = PaperResults(outcomes), problem(section.PROBLEM), judged["C11"]
    free, full = (parse_options(registry.load("solver", "deap"), options) for options in WAYS.values())
    curves = {k: c11.numbers[k] for k in ("t", "lagrange", "heights")} if isinstance(c11, Judgement) else {}
    noise: dict[str, NoiseResult] = results.group("noise: ")
    drawn = section.heights_figures(**curves) if curves else (None, None)
    figures = {
        "paper-002-drawing": drawing_figure(entry, "paper-002-drawing"), "paper-002-figure-4": drawn[0],
        "paper-002-figure-5": drawn[1], "paper-002-noise": crossings.noise_figure(noise),
    }  # fmt: skip
    motion = results.trajectory("motion: constant torque")
    values = {
        "generations": free.generations, "population": free.population, "penalty": full.penalty,
        "passed": None if motion is None else section.crossings_of(motion)[0][1], **misprint("002-3", results),
    }  # fmt: skip
    # Time steps for the figure of heights and for the figure of noise.
    steps = {"step": STEP, "noise_step": noisy_linkage.STEP}
    marks = c11.numbers["marks"] if isinstance(c11, Judgement) else None
    found = _accelerations(c11, results) | _left(noise) | {
        "shares": marks and ", ".join(f"{told} after {t:g} s" for t, told in marks), "strict": OTHER["penalty"],
    }  # fmt: skip
    return texts.chapter("002", judged, {**entry.parameter_values, **values, **steps, **found}, figures)


def _accelerations(judged: Judgement | str, results: PaperResults) -> dict[str, Any]:
    """Find the errors of the accelerations along the motions with the penalty, and the bias of the penalty."""
    rows = [row for row in judged.rows if row[0] == PENALISED] if isinstance(judged, Judgement) else []
    penalty = results.value("penalty")
    return {
        "seeds": len(rows), "middle": float(np.median([row[-2] for row in rows])) if rows else None,
        "largest": max((r[-1] for r in rows), default=None),
        "bias": penalty and ", ".join(f"{number(x)} rad/s² for $\\varrho$ = {number(w)}" for w, x, _ in penalty),
    }  # fmt: skip


def _left(noise: Mapping[str, NoiseResult]) -> dict[str, Any]:
    """Count the runs with noisy accelerations that leave their branch, by row; None if a case failed."""
    left = {row: [noise[f"{row}, {a:g}"].left for a in NOISE if f"{row}, {a:g}" in noise] for row in (PRINTED, REGULAR)}
    if not all(len(runs) == len(NOISE) for runs in left.values()):
        return dict.fromkeys(("left", "kept", "count"))
    count = len(noise[f"{PRINTED}, {NOISE[0]:g}"].gaps)
    return {"left": left[PRINTED], "kept": sum(left[REGULAR]) or "none", "count": count}
