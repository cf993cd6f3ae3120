"""The normal forces of the two bars by the source's program (29) and by the contact laws, over their angle."""

from __future__ import annotations

from functools import cache

import numpy as np

from gaussopt.modelling.problem import problem
from gaussopt.papers.figures import line_figure
from gaussopt.papers.p001_friction import contact_samples as samples
from gaussopt.reporting.document import Figure

ANGLES = np.linspace(60.0, 88.0, 57)
"""Angles of AB, degrees."""

NAME = "paper-001-forces-over-angle"


def lift_off() -> float:
    """Return the angle above which C lifts off by the contact laws, both ends sliding to the left, degrees."""
    return float(np.degrees(np.arctan(2.0 / problem("two-bar").parameter_values["mu"])))


@cache
def forces_figure() -> Figure:
    """Draw the forces with both ends sliding to the left on the floor, no rotation, gravity alone, printed values."""
    steps = samples.on_floor(np.radians(ANGLES))
    found = samples.compare(steps.A, steps.b)
    curves = {
        f"{end}, {who}": forces[:, i]
        for who, forces in (("contact laws", found.laws), ("program (29)", found.program))
        for i, end in enumerate(("force at A", "force at C"))
    }
    last = ", ".join(f"{k} {y[-1]:.4g} N" for k, y in curves.items())
    return line_figure(
        NAME,
        f"Normal forces of the two bars with both ends on the floor and sliding to the left, over the angle of AB. "
        f"By the contact laws C lifts off above {lift_off():.2f}°; there the program (29) lets it pull.",
        f"Normal forces over the angle; at {ANGLES[-1]:g}°: {last}.", ANGLES, curves,
        ("angle of AB / degrees", "normal force / N"), above=True, columns=("degrees", "curve"),
    )  # fmt: skip
