"""Many crank-sliders at once, each with a torque of its own, on two threads."""

from __future__ import annotations

import numpy as np
import ours
from measuring import Competitor, interleave
from mechanisms import crank_slider
from page import Goal, Section, Table, number, spread
from rivals import mujoco_engine

DT, STEPS, COUNT, THREADS = 1e-3, 500, 64, 2
FEW = 2
"""Motions of our batch; its time is told per step."""

OURS, MUJOCO = "gaussopt", "MuJoCo rollout, RK4, hard constraints"


def measure(budget: float) -> Section:
    """Steps per second, and how far the last angles are from each other."""
    mechanism = crank_slider()
    torques = np.linspace(-0.6, -0.4, COUNT)
    ask = torques[:FEW]
    mine = ours.batch(mechanism, DT, STEPS, ask)
    competitors = [Competitor(OURS, mine, STEPS * len(ask))]
    missing = mujoco_engine.RK4_HARD.missing
    apart = ""
    if not missing:
        rollout = mujoco_engine.rollouts(mechanism, DT, STEPS, torques, THREADS)
        apart = f" The angles at the end differ by {number(float(np.abs(rollout()[: len(ask)] - mine()).max()))} rad."
        competitors.append(Competitor(MUJOCO, rollout, STEPS * COUNT))
    times = interleave(competitors, budget)
    rows, data = [], []
    for c in competitors:
        pace = times.of(c.name)
        rows.append((c.name, spread(pace, 1e6), f"{number(1 / pace.median)}"))
        data.append({"engine": c.name, "seconds_per_step": pace.median, "rounds": pace.count})
    if missing:
        rows.append((MUJOCO, missing, ""))
    ratio = None if missing else times.ratio(MUJOCO, OURS)
    return Section(
        "Batches",
        (
            f"{COUNT} motions of {STEPS} steps, the torques between {torques[0]:g} and {torques[-1]:g} N m, "
            f"{THREADS} threads.{apart}",
        ),
        (Table(("engine", "microseconds per step of one motion", "steps per second"), rows, data),),
        (Goal("batch on two cores against MuJoCo rollout", 250, False, ratio, missing, mujoco_engine.DOES_MORE),),
    )
