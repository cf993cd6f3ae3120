"""The parallelogram four-bar up to 0.6 s."""

from __future__ import annotations

import motions
import ours
import rivals
from mechanisms import four_bar
from page import Section

SIZE = 1e-3


def measure(budget: float) -> Section:
    """All engines that have a model of it."""
    found = motions.run(four_bar(), (*ours.ALL, *rivals.ALL), SIZE, budget)
    return Section(
        "Four-bar",
        (
            "The others take both cranks and the coupler as bodies joined by pins, up to 9 coordinates and 8 "
            "constraints; ours has the three angles of its source, 2 constraints and a singular mass matrix. 0.6 s "
            "with the printed torque: later the bars come into line, where pins allow a second branch of motion.",
        ),
        (motions.per_step(found, ours.RK4.name), motions.work_precision(found)),
    )
