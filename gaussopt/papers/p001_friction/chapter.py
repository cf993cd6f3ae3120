"""The chapter on paper 001 in the main document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gaussopt.modelling.problem import problem
from gaussopt.papers.chapters import Chapter, ChapterTexts, Judged, errata_counts
from gaussopt.papers.p001_friction import atlas_section, loop_and_rod, motions, two_bar_motions
from gaussopt.papers.p001_friction.c07_convex_model import MU
from gaussopt.papers.p001_friction.section import PROBLEM, ROD, both
from gaussopt.papers.report_parts import PaperResults
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.document import Figure, blocks_of
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure

text = ChapterTexts(__file__, mu=MU, fed=motions.FED)

MAP = "atlas-two-bar-qp-sliding"


def chapter(outcomes: Mapping[str, JobOutcome], judged: Judged, quick: bool) -> Chapter:
    """Describe the paper's proposal, the results that hold, those that do not and why, and the misprints.

    `outcomes` must also contain the case that computes the map of mu and the angle (the atlas).
    """
    results, bars, rod = PaperResults(outcomes), problem(PROBLEM), problem(ROD)
    runs = motions.pair_of(results, "two-bar-contact")
    loop = results.trajectory("energy: printed sign, printed loop")
    covered, counts = _map(results)
    figures = {
        MAP: covered, "paper-001-forces-over-angle": atlas_section.forces_figure(),
        "paper-001-drawing-rod": drawing_figure(rod, "paper-001-drawing-rod"),
        "paper-001-drawing-bars": drawing_figure(bars, "paper-001-drawing-bars"),
        "paper-001-energy": loop_and_rod.energy_figure(results),
        "paper-001-figure-5": two_bar_motions.figures_3_to_5(runs, "5")[0] if runs else None,
    }  # fmt: skip
    values = {"dt": None if loop is None else loop.meta["dt"], "lift": atlas_section.lift_off()}
    told = {"parameters": _parameters(), "start": _start(), **errata_counts(both(bars, rod), results)}
    return text.chapter("001", judged, values | told | counts, figures)


def _parameters() -> str:
    """Describe the parameters of the two bars, and which of them the paper prints."""
    p = {parameter.name: parameter for parameter in problem(PROBLEM).parameters}
    said = {name: f"{name.replace('mu', 'μ')} = {p[name].value:g} {p[name].unit.replace('^2', '²')}".removesuffix(" 1")
            for name in p}  # fmt: skip
    printed, ours = ("m", "l", "mu"), ("g", "F")
    return f"{', '.join(said[n] for n in printed)} as printed; {', '.join(said[n] for n in ours)} by our choice"


def _start() -> str:
    """Return the initial state on the floor that this package assumes, as part of a sentence."""
    entry = problem(PROBLEM)
    _, y, theta, _ = entry.q0
    values = (y, theta, *entry.v0)
    said = zip(
        ("y", "θ₁ = θ₂", "ẋ", "ẏ", "θ̇₁", "θ̇₂"), values, ("m", "rad", "m/s", "m/s", "rad/s", "rad/s"), strict=True
    )
    return ", ".join(f"{name} = {value:.4g} {unit}" for name, value, unit in said)


def _map(results: PaperResults) -> tuple[Figure | None, dict[str, Any]]:
    """Find the map that compares the printed QP with the contact laws, and count its states by the QP's result."""
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
