"""Steps with unilateral contacts: the compiled kernel beside DAQP."""

from __future__ import annotations

import contact_steps
from measuring import Spread
from page import Goal, Section, Table

ROUND = 0.35
"""Seconds of a round, about."""


def measure(budget: float) -> Section:
    """The Gauss program of a step from its matrices to accelerations and forces, along sequences of steps."""
    found = contact_steps.rows(max(8, min(60, round(budget / ROUND / len(contact_steps.cases())))))
    columns = ["sequence", "contacts", *(title for _, title in contact_steps.COLUMNS)]
    rows = [
        (r["sequence"], str(r["contacts"]), *(f"{r[name]:.3g}" for name, _ in contact_steps.COLUMNS)) for r in found
    ]
    ratios = sorted(float(r["ratio"]) for r in found)
    own = sorted(float(r["ratio to C"]) for r in found)
    more = "general dense programs with equality rows and both bounds, infeasibility, soft constraints"
    return Section(
        "Contact steps beside DAQP",
        (
            "Microseconds of a step, medians; the kernel in a compiled loop, warm from the active set before, DAQP "
            f"through its Python interface and by its own clock (set-up and solve). DAQP does more: {more}. The goal "
            "shows the least ratio of all rows; brackets hold the range.",
        ),
        (Table(columns, rows, found),),
        (
            Goal("contact step, up to 16 contacts, warm, against DAQP", 5, False,
                 Spread(ratios[0], ratios[0], ratios[-1], len(ratios)), does_more=more),
            Goal("the same against DAQP's own clock", 5, False, Spread(own[0], own[0], own[-1], len(own)),
                 does_more=more),
        ),
    )  # fmt: skip
