"""Paper 002 in two pages: Gauss's principle with a singular mass matrix, and a genetic algorithm as its solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gaussopt.comparison.paper_claims import SMALL
from gaussopt.core import registry
from gaussopt.core.solver import parse_options
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Judgement
from gaussopt.papers.p002_singular_mass import crossings, noisy_linkage, section
from gaussopt.papers.p002_singular_mass.c11_genetic_accuracy import PENALISED, STEP
from gaussopt.papers.p002_singular_mass.genetic_runs import WAYS
from gaussopt.papers.p002_singular_mass.noisy_linkage import NOISE, PRINTED, REGULAR, NoiseResult
from gaussopt.papers.p002_singular_mass.singular_steps import EIGENVALUES
from gaussopt.papers.report_parts import Chapter, Important, PaperResults
from gaussopt.papers.sources import SOURCES
from gaussopt.papers.texts import ChapterTexts, beside, number, numbers_of, supported, verdict_on
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.document import Block, Section, Timed
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure

ANCHOR = "chapter-002"

texts = ChapterTexts(__file__)


def chapter(outcomes: Mapping[str, JobOutcome], judged: Mapping[str, Judgement | str], quick: bool) -> Chapter:
    """The chapter, from the outcomes of the paper's cases and the judgements of all claims."""
    results = PaperResults(outcomes)
    c10, c11, c12, c13 = (judged[f"C{n}"] for n in range(10, 14))
    heights, work = _heights(c11), numbers_of(c12, "times", "operations", "linear", "cheapest")
    entry = problem(section.PROBLEM)
    drawing = drawing_figure(entry, "paper-002-drawing")
    function = numbers_of(c10, "steps", "residual", "plain", "torque", "lost", "true", "other", "reversed")
    function["residual"] = None if function["residual"] is None else number(function["residual"], 1)
    low, high = EIGENVALUES
    parts = (
        ("proposal", "What the paper proposes", [
            *texts.told("proposal"), *texts.figure("figure-drawing", drawing, **entry.parameter_values),
        ]),
        ("holds", "The principle holds, the pseudo-inverse loses forces", [
            *texts.told("holds"),
            verdict_on("C10", c10), *supported(c10, (False, False), texts.told("C10", low=low, high=high, **function)),
        ]),
        ("genetic", "The genetic algorithm: its accuracy and its cost", [
            verdict_on("C11", c11), *supported(c11, (True, False), _accuracy(c11, heights)),
            *_accelerations(c11, results),
            verdict_on("C12", c12), *supported(c12, (False,) * 4, texts.told("C12", Timed, error=SMALL, **work)),
        ]),
        ("singular", "A singular configuration", _singular(c13, results)),
        ("misprints", "Misprints that matter", _misprints(results)),
    )  # fmt: skip
    sections = tuple(Section(f"{ANCHOR}-{name}", title, tuple(blocks)) for name, title, blocks in parts)
    lead = tuple(texts.told("lead"))
    return Chapter(Section(ANCHOR, SOURCES["002"].title, lead, sections), _found(function, heights, work))


def _found(*values: Mapping[str, Any]) -> tuple[Important, ...]:
    """The sentences for the first screen whose numbers are there."""
    known = {k: v for found in values for k, v in found.items()}
    wanted = (
        ("found-forces", "", "holds", ("torque", "lost", "true")),
        ("found-genetic", "paper-002-figure-5", "genetic", ("null", "median", "seeds", "operations")),
    )
    return tuple(
        Important(texts(name, **known), figure, f"{ANCHOR}-{part}")
        for name, figure, part, keys in wanted if all(known[k] is not None for k in keys)
    )  # fmt: skip


def _heights(judged: Judgement | str) -> dict[str, Any]:
    """How far y1 is off in percent of its movement by claim C11: on admissible accelerations, and with the penalty."""
    found = numbers_of(judged, "null", "median", "low", "high", "seeds", "end", "moved")
    return found | {"null": None if found["null"] is None else number(found["null"], 1)}


def _accuracy(judged: Judgement | str, heights: Mapping[str, Any]) -> list[Block]:
    """Heights by both methods, and their difference."""
    free, full = (parse_options(registry.load("solver", "deap"), options) for options in WAYS.values())
    effort = {"generations": free.generations, "population": free.population}
    curves = numbers_of(judged, "t", "lagrange", "heights")
    drawn = (None, None) if None in curves.values() else section.heights_figures(**curves)
    return [
        *texts.told("C11", **effort, **heights),
        *beside(
            [
                *texts.figure("figure-4", drawn[0], step=STEP),
                *texts.figure("figure-5", drawn[1], penalty=full.penalty, seeds=heights["seeds"]),
            ]
        ),
    ]


def _accelerations(judged: Judgement | str, results: PaperResults) -> list[Block]:
    """Errors of the accelerations along the motions with the penalty, and the bias of the penalty."""
    rows = [row for row in judged.rows if row[0] == PENALISED] if isinstance(judged, Judgement) else []
    middle = number(float(np.median([row[-2] for row in rows]))) if rows else None
    penalty = results.value("penalty")
    words = penalty and ", ".join(f"{number(bias)} rad/s² for $\\varrho$ = {number(w)}" for w, bias, _ in penalty)
    return texts.told(
        "accelerations", middle=middle, largest=max((r[-1] for r in rows), default=None), bias=words, small=SMALL,
        seeds=len(rows), **numbers_of(judged, "close", "ways"),
    )  # fmt: skip


def _singular(judged: Judgement | str, results: PaperResults) -> list[Block]:
    """The passage of the singular configuration, and what noisy accelerations do there."""
    motion = results.trajectory("motion: constant torque")
    passed = None if motion is None else section.crossings_of(motion)[0][1]
    noise: dict[str, NoiseResult] = results.group("noise: ")
    left = {row: [noise[f"{row}, {a:g}"].left for a in NOISE if f"{row}, {a:g}" in noise] for row in (PRINTED, REGULAR)}
    whole = all(len(runs) == len(NOISE) for runs in left.values())
    count = len(noise[f"{PRINTED}, {NOISE[0]:g}"].gaps) if whole else None
    (gap,) = numbers_of(judged, "gap").values()
    return [
        *texts.told("C13", passed=passed),
        *texts.told(
            "crossing", gap=None if gap is None else number(gap, 1), small=NOISE[0], large=NOISE[1], count=count,
            left=left[PRINTED] if whole else None, kept="none" if not any(left[REGULAR]) else sum(left[REGULAR]),
        ),
        *texts.figure("figure-noise", crossings.noise_figure(noise), noise=NOISE[0], count=count,
                      step=noisy_linkage.STEP, passed=passed),
    ]  # fmt: skip


def _misprints(results: PaperResults) -> list[Block]:
    evidence = results.value("erratum 002-3")
    printed, right = list(evidence.numbers.values())[:2] if evidence else (None, None)
    return texts.told("misprints", printed=printed, right=right)
