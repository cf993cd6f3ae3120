"""Compare the printed programs of paper 001 with the contact laws: on grids of states, and over the angle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from gaussopt.atlas.contact_study import CLASSES
from gaussopt.atlas.scan import Atlas, scan
from gaussopt.core.arrays import Vector
from gaussopt.modelling.parameter_grid import Axis
from gaussopt.modelling.problem import problem
from gaussopt.papers.chapters import Important
from gaussopt.papers.figures import line_figure
from gaussopt.papers.p001_friction import contact_samples as samples
from gaussopt.papers.p001_friction.boundaries import TABLES
from gaussopt.plotting.colours import CLASS_NAMES
from gaussopt.plotting.figures import svg_of
from gaussopt.plotting.heatmaps import Panel, class_map
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.reporting.document import Figure, Paragraph, Section
from gaussopt.reporting.sections.atlas import atlas_section
from gaussopt.reporting.texts import Texts

KEY = "atlas"
PAPER = "001"
"""The paper whose program is mapped."""

TITLE = "Atlas: quadratic program against LCP"

texts = Texts(__file__)


def cases(quick: bool) -> list[Job]:
    """Return the case that computes maps and boundaries for the two bars and the rod."""
    return [Job(KEY, paper_section, {"quick": quick}, 12.0)]


def section(outcomes: Mapping[str, JobOutcome]) -> tuple[Section, list[str]]:
    """Return the section and its findings (the first finding is `Important`), or a section that reports a failure."""
    outcome = outcomes.get(KEY)
    if outcome is None or outcome.failure:
        why = "It was not run." if outcome is None else outcome.failure
        return Section(KEY, TITLE, (Paragraph(f"Nothing was computed: {why}"),)), []
    whole, (first, *others) = outcome.value
    return whole, [Important(first, f"{KEY}-two-bar-qp-sliding", f"{KEY}-two-bar"), *others]


def paper_section(quick: bool) -> tuple[Section, list[str]]:
    """Return the atlases of the two bars and the rod with their tables, as one section, and the section's findings.

    The first finding is the sentence of `sliding_together`.
    """
    bars = scan("two-bar", _thinned("two-bar", 15 if quick else 45, 8 if quick else 30))
    rod = scan("sliding-rod", _thinned("sliding-rod", 12 if quick else 45, 2 if quick else 3, 8 if quick else 25))
    parts, lines = [], []
    for atlas, name, who in ((bars, "two-bar", "The two bars"), (rod, "sliding-rod", "The rod")):
        section, found = atlas_section(atlas, f"{KEY}-{name}", who)
        # Tables of several problems in one report need distinct names.
        tables = (replace(t, name=f"{t.name}-{name}") if t.name == "boundaries" else t for t in TABLES[name](quick))
        parts.append(replace(section, blocks=(*section.blocks, *tables)))
        lines += [f"{who}: {line[0].lower()}{line[1:]}" for line in found]
    sentence, figure = sliding_together(bars, f"{KEY}-two-bar-qp-sliding")
    parts[0] = replace(parts[0], blocks=(parts[0].blocks[0], figure, *parts[0].blocks[1:]))
    lines.insert(0, sentence)
    return Section(KEY, TITLE, tuple(texts.blocks("lead")), tuple(parts)), lines


ANSWERS = {
    "equal": "returns the forces of the contact laws", "different": "returns other forces",
    "tensile": "lets a contact pull", "unbounded": "has no minimum", "infeasible": "allows no force",
    "not convex": "is not convex, which leaves no unique minimiser", "not unique": "has no unique minimiser",
}  # fmt: skip
"""Descriptions of how the printed program behaves, by class of its answer."""

LEGEND = {"equal": "(29) is right", "tensile": "(29) lets a contact pull", "unbounded": "(29) has no minimum"}
"""Short descriptions of the printed program's behaviour, for the legend of the small map."""


def indefinite_from(theta: Vector) -> Vector:
    """Return the friction coefficient above which A is not positive definite if both ends slide to the left."""
    return np.asarray(4.0 * np.sqrt((1.0 + 3.0 * np.sin(theta) ** 2) * (1.0 + 3.0 * np.cos(theta) ** 2) / 75.0)
                      / np.sin(theta))  # fmt: skip


BOUNDARIES: dict[str, Callable[[Vector], Vector]] = {
    "μ tan θ = 2 for the angle θ, above which C lifts off by the contact laws.": lambda t: 2.0 / np.tan(t),
    "75 μ² sin² θ = 16 (1 + 3 sin² θ) (1 + 3 cos² θ), above which A is not positive definite.": indefinite_from,
}  # fmt: skip
"""By caption, boundaries mu(angle in rad) that are drawn into the map in which both ends slide to the left."""


def sliding_together(bars: Atlas, name: str) -> tuple[str, Figure]:
    """Return a sentence and a small map of the printed QP where both ends of the two bars slide to the left.

    `bars` is the atlas of the two bars over angle and friction coefficient, with all signs of slip.
    """
    theta, mu = bars.axes
    codes = bars.codes("qp")
    index = next(i for i, s in enumerate(bars.slips) if (s < 0).all())
    part = codes[:, :, index]
    definite = int((mu.values[None, :] < indefinite_from(theta.values)[:, None]).sum())
    counts = {i: int((part == i).sum()) for i in range(len(CLASSES["qp"])) if (part == i).any()}
    key = "; ".join(f"it {ANSWERS[CLASSES['qp'][i]]} at {n} ({CLASS_NAMES[i]})" for i, n in counts.items())
    apart = int((np.delete(codes, index, axis=2) == 0).sum())
    others = codes.size - part.size
    sentence = texts("sliding-together", states=part.size, definite=definite, key=key, apart=apart, others=others)
    axes = class_map(
        [Panel("both ends slide to the left", part.T.astype(float))], np.degrees(theta.values), mu.values,
        "angle of AB / degrees", "friction coefficient μ", [LEGEND.get(c, c) for c in CLASSES["qp"]], small=True,
    )  # fmt: skip
    fine = np.linspace(theta.values[0], theta.values[-1], 400)
    # The second curve is white, to be visible on the darkest classes, between which it lies.
    for curve, style, colour in zip(BOUNDARIES.values(), ("-", "--"), ("black", "white"), strict=True):
        axes[0].plot(np.degrees(fine), curve(fine), style, color=colour, linewidth=1.2)
    # The curves extend beyond the map, so limit the axis to the friction coefficients of the map.
    axes[0].set_ylim(mu.values[0], mu.values[-1])
    angles, frictions = np.meshgrid(np.degrees(theta.values).round(6), mu.values, indexing="ij")
    data = {"angle of AB / degrees": angles.ravel(), "mu": frictions.ravel(),
            "qp": np.array(CLASSES["qp"])[part.ravel()]}  # fmt: skip
    lines = f"Solid line: {' White dashed line: '.join(BOUNDARIES)}"
    alt = f"Map of the printed normal-force QP over the angle of AB (across) and μ (up), co-sliding. {key}."
    caption = f"{sentence} Equal means that the forces agree to 1e-8. {lines}"
    return sentence, Figure(name, caption, alt, svg_of(axes[0].figure), pd.DataFrame(data))


def _thinned(name: str, *counts: int) -> list[Axis]:
    """Return the axes of the problem's atlas, with as many values along them as `counts` says."""
    grid = problem(name).atlas
    assert grid is not None
    return [
        Axis(a.name, np.linspace(a.values.min(), a.values.max(), count))
        for a, count in zip(grid.axes, counts, strict=True)
    ]


ANGLES = np.linspace(60.0, 88.0, 57)
"""Angles of AB in the figure of forces, degrees."""


def lift_off() -> float:
    """Return the angle, degrees, above which C lifts off by the contact laws while both ends slide to the left."""
    return float(np.degrees(np.arctan(2.0 / problem("two-bar").parameter_values["mu"])))


@cache
def forces_figure() -> Figure:
    """Draw the forces for bars that do not rotate, both ends sliding to the left, at default parameters."""
    steps = samples.on_floor(np.radians(ANGLES))
    found = samples.compare(steps.A, steps.b)
    curves = {
        f"{end}, {who}": forces[:, i]
        for who, forces in (("contact laws", found.laws), ("program (29)", found.program))
        for i, end in enumerate(("force at A", "force at C"))
    }
    last = ", ".join(f"{k} {y[-1]:.4g} N" for k, y in curves.items())
    return line_figure(
        "paper-001-forces-over-angle",
        f"Normal forces of the two bars with both ends on the floor and sliding to the left, over the angle of AB. "
        f"By the contact laws C lifts off above {lift_off():.2f}°; there the program (29) lets it pull.",
        f"Normal forces over the angle; at {ANGLES[-1]:g}°: {last}.", ANGLES, curves,
        ("angle of AB / degrees", "normal force / N"), above=True, columns=("degrees", "curve"),
    )  # fmt: skip
