"""The chapter on paper 001 in the main document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Judgement
from gaussopt.papers.p001_friction import atlas_section, forces_over_angle, loop_and_rod, motions, two_bar_motions
from gaussopt.papers.p001_friction.c07_convex_model import MU
from gaussopt.papers.p001_friction.section import PROBLEM, ROD, both
from gaussopt.papers.report_parts import Chapter, Important, PaperResults
from gaussopt.papers.texts import ChapterTexts, beside, number, numbers_of, supported, verdict_on
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.document import Block, Figure, Section, blocks_of
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure

text = ChapterTexts(__file__)

MAP = "atlas-two-bar-qp-sliding"


def chapter(outcomes: Mapping[str, JobOutcome], judged: Mapping[str, Judgement | str], quick: bool) -> Chapter:
    """What the paper proposes, what holds, what does not and why, and what is misprinted.

    `outcomes` holds the case of the maps as well.
    """
    results = PaperResults(outcomes)
    covered, counts = _map(results)
    c5, c6, c7, c8, c9 = (judged[f"C{i}"] for i in range(5, 10))
    convex = text.told("convex", mu=MU, **numbers_of(c7, "available"))
    parts = (
        ("proposal", "What the paper proposes", [*text.told("proposal"), *beside(_drawings())]),
        ("reproduction", "What we reproduced", text.told("reproduction")),
        ("holds", "What holds: known forces, one contact, symmetric matrices", [
            verdict_on("C8", c8), *supported(c8, (True,) * 3, _known(c8)),
            *([] if isinstance(c6, str) else supported(c6, (True, False, False), text.told("single"))),
        ]),
        ("fails", "What does not hold: several contacts", [
            verdict_on("C5", c5), *supported(c5, (False, False), _fails(c5)),
            *_told("map", counts, "points", "equal", "tensile", "definite", "angles", "frictions"),
            *text.figure("figure-map", covered), *supported(c5, (False, False), text.told("joints", **_joints(c5))),
            verdict_on("C6", c6), *text.told("necessary", **numbers_of(c6, "random")),
            verdict_on("C7", c7), *supported(c7, (False, False, True), convex),
        ]),
        ("simulation", "The simulation of two bars", [
            verdict_on("C9", c9), *supported(c9, (False,), _simulation(c9)), *_figures(results),
        ]),
        ("errata", "Other errata", text.told("errata", **_errata(results))),
    )  # fmt: skip
    sections = tuple(Section(f"chapter-001-{name}", title, tuple(blocks)) for name, title, blocks in parts)
    title = "Yao, Liu & Yang 2020: normal forces under Coulomb friction"
    return Chapter(Section("chapter-001", title, (), sections), _found(counts, c9))


def _told(name: str, values: Mapping[str, Any], *names: str) -> list[Block]:
    """An entry with some of the values."""
    return text.told(name, **{key: values[key] for key in names})


def _drawings() -> list[Block]:
    """The rod and the two bars."""
    return [
        block for entry, which, name in (("figure-rod", ROD, "rod"), ("figure-bars", PROBLEM, "bars"))
        for block in text.figure(entry, drawing_figure(problem(which), f"paper-001-drawing-{name}"))
    ]  # fmt: skip


def _of(judged: Judgement | str, name: str, *path: str) -> Any:
    """A number of a judgement, or within one; None where there is none."""
    found = numbers_of(judged, name)[name]
    for key in path:
        found = None if found is None else found.get(key)
    return found


def _known(c8: Judgement | str) -> list[Block]:
    return text.told(
        "known", number=_of(c8, "known", "number"), once=numbers_of(c8, "once")["once"], one=_of(c8, "varied", "one"),
        two=_of(c8, "varied", "two"),
    )  # fmt: skip


def _fails(c5: Judgement | str) -> list[Block]:
    bars = {key: _of(c5, "bars", key) for key in ("states", "wrong", "lowest")}
    return [
        *text.told("gradient"),
        *text.told("counterexamples", criterion=_of(c5, "criterion", "tally"), **numbers_of(c5, "random"),
                   **{key: _of(c5, "smallest", key) for key in ("z", "x")}),
        *text.told("bars", lift=forces_over_angle.lift_off(), **bars),
        *text.figure("figure-forces", forces_over_angle.forces_figure(), parameters=_parameters()),
    ]  # fmt: skip


def _joints(c5: Judgement | str) -> dict[str, Any]:
    return {key: _of(c5, "joints", key) for key in ("wrong", "admitted")}


def _parameters() -> str:
    """Values and units of the two bars, and whose they are."""
    p = {parameter.name: parameter for parameter in problem(PROBLEM).parameters}
    said = {name: f"{name.replace('mu', 'μ')} = {p[name].value:g} {p[name].unit.replace('^2', '²')}".removesuffix(" 1")
            for name in p}  # fmt: skip
    printed, ours = ("m", "l", "mu"), ("g", "F")
    return f"{', '.join(said[n] for n in printed)} as printed; {', '.join(said[n] for n in ours)} by our choice"


def _map(results: PaperResults) -> tuple[Figure | None, dict[str, Any]]:
    """The map of the printed program, and at how many of its states it does what."""
    found = results.value(atlas_section.KEY)
    blocks = () if found is None else blocks_of([found[0]])
    covered = next((b for b in blocks if isinstance(b, Figure) and b.name == MAP), None)
    if covered is None:
        return None, dict.fromkeys(("points", "equal", "tensile", "definite", "angles", "frictions"))
    classes, angles, frictions = (np.array(covered.data[k]) for k in ("qp", "angle of AB / degrees", "mu"))
    definite = frictions < atlas_section.indefinite_from(np.radians(angles))
    return covered, {
        "points": len(classes), "definite": int(definite.sum()),
        **{k: int(((classes == k) & definite).sum()) for k in ("equal", "tensile")},
        **{k: (len(set(x)), float(x.min()), float(x.max())) for k, x in (("angles", angles), ("frictions", frictions))},
    }  # fmt: skip


def _start(c9: Judgement | str) -> dict[str, Any]:
    """Heights and rates of the ends at the printed start, m and m/s, and how many readings of it there are."""
    literal = _of(c9, "start", "literal")
    return {
        "height": None if literal is None else float(literal.gaps.min()),
        "rise": None if literal is None else float(literal.rates.min()),
        **{key: _of(c9, "starts", key) for key in ("readings",)},
    }


def _energies(c9: Judgement | str) -> dict[str, Any]:
    return {"first": _of(c9, "fed", "first"), "wrong": _of(c9, "fed", "wrong"), "fed": motions.FED}


def _simulation(c9: Judgement | str) -> list[Block]:
    apart = _of(c9, "along", "apart")
    return [
        *text.told("start", **_start(c9)),
        *text.told("formulas", **_energies(c9), low=_of(c9, "formulas", "first"), high=_of(c9, "formulas", "last"),
                   **{key: _of(c9, "formulas", key) for key in ("tried", "kept", "loads")}),
        *text.told("reconstruction", apart=None if apart is None else number(apart, 1),
                   instants=_of(c9, "along", "instants"),
                   **{key: _of(c9, "others", key) for key in ("wrong", "states")}),
    ]  # fmt: skip


def _figures(results: PaperResults) -> list[Block]:
    loop = results.trajectory("energy: printed sign, printed loop")
    dt = None if loop is None else loop.meta["dt"]
    runs = motions.pair_of(results, "two-bar-contact")
    forces = two_bar_motions.figures_3_to_5(runs, "5")[0] if runs else None
    p = problem(PROBLEM).parameter_values
    q0, v0 = problem(PROBLEM).q0, problem(PROBLEM).v0
    start = ", ".join(
        f"{name} = {value:.4g} {unit}" for name, value, unit in (
            ("y", q0[1], "m"), ("θ₁ = θ₂", p["theta1_0"], "rad"), ("ẋ", v0[0], "m/s"), ("ẏ", v0[1], "m/s"),
            ("θ̇₁", v0[2], "rad/s"), ("θ̇₂", v0[3], "rad/s"),
        )
    )  # fmt: skip
    return [
        *text.figure("figure-energy", loop_and_rod.energy_figure(results), dt=dt, fed=motions.FED),
        *text.figure("figure-5", forces, start=start),
    ]


def _errata(results: PaperResults) -> dict[str, Any]:
    """How many errata there are, and how many this run confirms."""
    names = [e.id for e in both(problem(PROBLEM), problem(ROD)).errata]
    found = [results.value(f"erratum {name}") for name in names]
    return {"count": len(names), "confirmed": sum(e is not None and not e.holds for e in found)}


def _found(counts: Mapping[str, Any], c9: Judgement | str) -> tuple[Important, ...]:
    """The sentences of the first screen whose numbers are there."""
    wanted = (
        ("found-map", MAP, "fails", {key: counts[key] for key in ("tensile", "definite")}),
        ("found-start", "paper-001-energy", "simulation", {"height": _start(c9)["height"], **_energies(c9)}),
    )
    return tuple(
        Important(text(name, **values), figure, f"chapter-001-{part}")
        for name, figure, part, values in wanted if all(v is not None for v in values.values())
    )  # fmt: skip
