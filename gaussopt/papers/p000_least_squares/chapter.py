"""The chapter on paper 000 in the main document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Judgement
from gaussopt.papers.p000_least_squares import section as supplement
from gaussopt.papers.p000_least_squares.minimal_crank_slider import Crank
from gaussopt.papers.p000_least_squares.motions import PROBLEM, REFERENCE
from gaussopt.papers.report_parts import Chapter, Important, PaperResults
from gaussopt.papers.texts import ChapterTexts, number, numbers_of, supported, verdict_on
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.document import Block, Figure, Section, Timed
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure

text = ChapterTexts(__file__)

EXACT_16, PRINTED_16 = (f"eq. (16): {name}, tau = -0.5" for name in ("lagrange", "least-squares-as-printed"))
C1_HOLDS = (True, False, True)
"""The readings of C1 that hold: eq. (14), eq. (16) with Moore-Penrose inverses, and with weighted ones."""
C2_HOLDS = (True, False, False, False, False, False, True, False)
"""The readings of C2 that hold: fewer unknowns than the system, and fewer operations than it by eq. (16)."""


def chapter(outcomes: Mapping[str, JobOutcome], judged: Mapping[str, Judgement | str], quick: bool) -> Chapter:
    """What the paper proposes, what holds, what does not and why, and what is misprinted."""
    results = PaperResults(outcomes)
    values = {**_of_claims(judged), **_of_motions(results)}
    c1, c2, c3, c4 = (judged[f"C{i}"] for i in range(1, 5))
    counted = numbers_of(c2, "boundary", "operations", "times", "grid", "below", "count", "printed")
    parts = (
        ("proposal", "What the paper proposes", text.told("proposal") + text.figure("figure-drawing", _drawing())),
        ("reproduction", "What we reproduced",
         _told("reproduction", values, "samples") + _told("motion", values, "end", "miss")),
        ("holds", "Eq. (14), trees and loops", [
            *supported(c1, C1_HOLDS, _told("holds", values, "worst")), verdict_on("C4", c4),
            *supported(c4, (True,), _told("alike", values, "tree", "loop", "trees_16", "loops_16")),
        ]),
        ("fails", "Eq. (16)", [
            verdict_on("C1", c1),
            *supported(c1, C1_HOLDS,
                       text.told("equation-15") + _told("error-16", values, "median", "largest", "factors")),
            *_told("motion-16", values, "exact", "printed", "residual"),
            *text.figure("figure-16", supplement.equation_16_figure(results), parameters=_parameters()),
        ]),
        ("efficiency", "Fewer unknowns and efficiency", [
            verdict_on("C2", c2), *supported(c2, C2_HOLDS, text.told("efficiency", Timed, **counted)),
            *text.figure("figure-operations", supplement.operations_figure(), boundary=counted["boundary"]),
        ]),
        ("rest", "Does it come to rest?", [
            verdict_on("C3", c3),
            *supported(c3, (True, False, True, False), _told(
                "rest", values, "spins", "torques", "choices", "resting", "tried", "static", work=_work(),
            )),
            *text.figure("figure-turning", supplement.turning_figure()),
        ]),
        ("misprints", "Misprints", _misprints(results) + text.told("errata", **_errata(results))),
    )  # fmt: skip
    sections = tuple(Section(f"chapter-000-{name}", title, tuple(blocks)) for name, title, blocks in parts)
    title = "Yuan & Ge 2016: least squares for a crank-slider"
    return Chapter(Section("chapter-000", title, (), sections), _found(values))


def _told(name: str, values: Mapping[str, Any], *names: str, **more: Any) -> list[Block]:
    """An entry with some of the values."""
    return text.told(name, **{key: values[key] for key in names}, **more)


def _of_claims(judged: Mapping[str, Judgement | str]) -> dict[str, Any]:
    """What the claims found; None where one was not computed."""
    found = {
        **numbers_of(judged["C1"], "samples", "worst", "median", "largest", "factors"),
        **numbers_of(judged["C4"], "tree", "loop", "trees_16", "loops_16"),
        **numbers_of(judged["C3"], "spins", "torques", "mean", "choices", "resting"),
    }
    found |= {k: None if found[k] is None else number(found[k]) for k in ("worst", "tree", "loop")}
    choices = found["choices"]
    found["tried"] = None if choices is None else choices["count"] + choices["tried"]
    found["resting"] = found["resting"] if found["resting"] is None else "Some" if found["resting"] else "None"
    # At this angle it rests without torque, if it does.
    rests = found["torques"] is not None and found["torques"][0] < 0 < found["torques"][1]
    return {**found, "static": _static() if rests else None}


def _of_motions(results: PaperResults) -> dict[str, Any]:
    """What the motions found; None where one failed."""
    found: dict[str, Any] = dict.fromkeys(("end", "miss", "exact", "printed", "residual"))
    motion = results.trajectory("motion: exact")
    if motion is not None:
        miss = supplement.end_miss(motion, problem(PROBLEM).reference(REFERENCE))
        found |= {"end": float(motion.t[-1]), "miss": number(miss)}
    exact, printed = results.trajectory(EXACT_16), results.trajectory(PRINTED_16)
    if exact is not None and printed is not None:
        found |= {"exact": float(exact.q[-1, 2]), "printed": float(printed.q[-1, 2]),
                  "residual": number(printed.worst.constraint_residual, 1)}  # fmt: skip
    return found


def _static() -> float:
    """The angle at which the mechanism rests without torque, rad."""
    return Crank.of(problem(PROBLEM).parameter_values).at(tau=0.0).static(-np.pi, 0.0)


def _work() -> float:
    """The work of the printed torque in a turn, J."""
    return 2 * np.pi * abs(problem(PROBLEM).parameter_values["tau"])


def _parameters() -> str:
    """Values and units of all parameters but the torque, and whose they are."""
    whose: dict[bool, list[str]] = {True: [], False: []}
    for p in problem(PROBLEM).parameters:
        if p.name != "tau":
            whose[p.printed].append(f"{p.name} = {p.value:.4g} {p.unit}")
    return f"{', '.join(whose[True])} as printed; {', '.join(whose[False])} by our choice".replace("^2", "²")


def _drawing() -> Figure | None:
    return drawing_figure(problem(PROBLEM), "paper-000-drawing")


def _misprints(results: PaperResults) -> list[Block]:
    evidence = results.value("erratum 000-6")
    found = {} if evidence is None else evidence.numbers
    return text.told("misprints", printed=_first(found, "printed J"), exact=_first(found, "derived J"))


def _first(numbers: Mapping[str, float], words: str) -> float | None:
    """The first number whose name contains these words."""
    return next((float(v) for k, v in numbers.items() if words in k), None)


def _errata(results: PaperResults) -> dict[str, Any]:
    """How many errata there are, and how many this run confirms."""
    names = [e.id for e in problem(PROBLEM).errata]
    found = [results.value(f"erratum {name}") for name in names]
    return {"count": len(names), "confirmed": sum(e is not None and not e.holds for e in found)}


def _found(values: Mapping[str, Any]) -> tuple[Important, ...]:
    """The sentences of the first screen whose numbers are there."""
    wanted = (
        ("found-16", "paper-000-equation-16", "fails", ("median", "printed", "exact", "residual")),
        ("found-rest", "paper-000-turning", "rest", ("mean", "torques")),
    )
    return tuple(
        Important(text(name, **{key: values[key] for key in keys}), figure, f"chapter-000-{part}")
        for name, figure, part, keys in wanted if all(values[key] is not None for key in keys)
    )  # fmt: skip
