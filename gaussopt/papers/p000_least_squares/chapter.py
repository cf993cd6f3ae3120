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
from gaussopt.papers.texts import ChapterTexts, judged_as, number, numbers_of, supported
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.document import Block, Figure, Section, Timed

text = ChapterTexts(__file__)

EXACT_16, PRINTED_16 = (f"eq. (16): {name}, tau = -0.5" for name in ("lagrange", "least-squares-as-printed"))
RATE = supplement.FIGURES[5]
"""Figure 7 of the source."""


def chapter(outcomes: Mapping[str, JobOutcome], judged: Mapping[str, Judgement | str], quick: bool) -> Chapter:
    """What the paper proposes, what holds, what does not and why, and what is misprinted."""
    results = PaperResults(outcomes)
    values = {**_of_claims(judged), **_of_motions(results)}
    c1, c2, c3, c4 = (judged[f"C{i}"] for i in range(1, 5))
    holds = _told("holds", values, "worst"), _told("alike", values, "tree", "loop")
    fails = text.told("equation-15") + _told("error-16", values, "median", "largest", "factors")
    shown = _told("motion-16", values, "exact", "printed", "residual")
    shown += text.figure("figure-16", supplement.equation_16_figure(results), parameters=_parameters())
    verdicts = _told("verdicts-16", values, "trees_16", "loops_16", c1=judged_as(c1), c4=judged_as(c4))
    counted = numbers_of(c2, "boundary", "operations", "times")
    efficiency = text.told("efficiency", Timed, **counted, verdict=judged_as(c2))
    efficiency += text.figure("figure-operations", supplement.operations_figure(), boundary=counted["boundary"])
    rest = _told("rest", values, "spins", "torques", "choices", "static", work=_work(), verdict=judged_as(c3))
    parts = (
        ("proposal", "What the paper proposes", text.told("proposal")),
        ("reproduction", "What we reproduced",
         _told("reproduction", values, "samples") + _told("motion", values, "end", "miss")),
        ("holds", "What holds: eq. (14)",
         supported(c1, (True, False), holds[0]) + supported(c4, (True, False), holds[1])),
        ("fails", "What does not hold: eq. (16)", supported(c1, (True, False), fails) + shown + verdicts),
        ("efficiency", "Fewer unknowns and efficiency", supported(c2, (False,) * 4, efficiency)),
        ("rest", "Does it come to rest?",
         supported(c3, (False, False), rest) + text.figure("figure-rate", _rate(results))),
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
        **numbers_of(judged["C3"], "spins", "torques", "mean", "choices"),
    }
    found |= {k: None if found[k] is None else number(found[k]) for k in ("worst", "tree", "loop")}
    if found["choices"] is not None:
        found["choices"] = "Some choices" if found["choices"] else "No choices"
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


def _rate(results: PaperResults) -> Figure | None:
    exact = results.trajectory("motion: exact")
    return None if exact is None else supplement.history(RATE, exact, problem(PROBLEM).reference(REFERENCE))


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
        ("found-16", "paper-000-equation-16", "fails", ("median", "largest", "printed", "exact", "residual")),
        ("found-rest", "paper-000-figure-7", "rest", ("mean", "torques")),
    )
    return tuple(
        Important(text(name, **{key: values[key] for key in keys}), figure, f"chapter-000-{part}")
        for name, figure, part, keys in wanted if all(values[key] is not None for key in keys)
    )  # fmt: skip
