"""Chains of links in MuJoCo, every pin a `connect`: time per step and its growth."""

from __future__ import annotations

import numpy as np
from measuring import Competitor, interleave, seconds
from mechanisms import chain
from page import Section, Table, number, spread
from rivals import mujoco_engine
from rivals.mujoco_engine import Settings

LINKS = (100, 300, 1000, 3000, 10000)
GROWTH_FROM = 1000
"""Links from which on the exponent is fitted: below, the costs that do not grow are seen."""

DT = 1e-3
CALL = 0.05
"""Seconds of a timed call, about."""


def measure(budget: float) -> Section:
    """Free bodies and `connect`, sparse Newton; the tree of hinges for comparison."""
    missing = mujoco_engine.RK4_HARD.missing
    competitors: list[Competitor] = []
    refused: list[tuple[str, str]] = []
    for form in () if missing else ("connect", "tree"):
        for links in LINKS:
            try:
                competitors.append(_competitor(links, form))
            except ValueError as error:  # MuJoCo's word for models that it cannot take; larger ones neither
                refused.append((_name(links, form), str(error).splitlines()[-1]))
                break
    times = interleave(competitors, budget)
    rows = [(c.name, spread(times.of(c.name), 1e3)) for c in competitors] + refused
    rows += [("MuJoCo", missing)] if missing else []
    data = [{"engine": c.name, "seconds_per_step": times.of(c.name).median} for c in competitors]
    fitted = [n for n in LINKS if n >= GROWTH_FROM and _name(n, "connect") in times]
    growth = ""
    if len(fitted) > 1:
        medians = [times.of(_name(n, "connect")).median for n in fitted]
        exponent = float(np.polyfit(np.log(fitted), np.log(medians), 1)[0])
        growth = (
            f" From {fitted[0]} to {fitted[-1]} links the time with `connect` grows like N to the {number(exponent)}."
        )
    return Section(
        "Chains",
        (
            "N planar links in a row, let go horizontally, a step of `implicitfast` (one evaluation of the "
            "accelerations; RK4 takes four). `connect`: every link free in the plane, 3 N coordinates, every pin a "
            f"constraint, sparse Newton solver. `tree`: N hinges and no constraint.{growth}",
            f"MuJoCo does more: {mujoco_engine.DOES_MORE}.",
        ),
        (Table(("engine", "milliseconds per step"), rows, data),),
    )


def _competitor(links: int, form: str) -> Competitor:
    """The same first steps in every call."""
    import mujoco

    model, data = mujoco_engine.build(chain(links), DT, Settings("implicitfast", tree=form == "tree"))

    def steps(count: int) -> None:
        mujoco.mj_resetData(model, data)
        mujoco.mj_step(model, data, nstep=count)

    steps(1)
    count = max(1, round(CALL / seconds(lambda: steps(1))))
    return Competitor(_name(links, form), lambda: steps(count), count)


def _name(links: int, form: str) -> str:
    return f"MuJoCo, {form}, {links} links"
