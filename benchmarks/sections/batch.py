"""Many crank-sliders at once, each with a torque of its own, on two threads."""

from __future__ import annotations

import numpy as np
import ours
from batch import March
from measuring import Competitor, interleave
from mechanisms import crank_slider
from page import Goal, Section, Table, number, spread
from rivals import mujoco_engine

DT, STEPS, COUNT, THREADS = 1e-3, 2000, 64, 2
MANY = 4096
"""Motions of our batch; its time is told per step. The first `COUNT` have the torques of the others' batch."""

OURS, MARCH = "gaussopt, the whole call", "gaussopt, the steps alone"
MUJOCO = "MuJoCo rollout, RK4, hard constraints"


def measure(budget: float) -> Section:
    """Steps per second, and how far the last angles are from each other."""
    mechanism = crank_slider()
    torques = np.linspace(-0.6, -0.4, COUNT)
    ask = np.resize(torques, MANY)
    mine = ours.batch(mechanism, DT, STEPS, ask)
    march = March(mechanism.name, "none", THREADS, MANY)
    competitors = [Competitor(OURS, mine, STEPS * len(ask)), Competitor(MARCH, march.seconds, march.steps)]
    missing = mujoco_engine.RK4_HARD.missing
    apart = ""
    if not missing:
        rollout = mujoco_engine.rollouts(mechanism, DT, STEPS, torques, THREADS)
        apart = f" The angles at the end differ by {number(float(np.abs(rollout() - mine()[:COUNT]).max()))} rad."
        competitors.append(Competitor(MUJOCO, rollout, STEPS * COUNT))
    times = interleave(competitors, budget)
    rows, data = [], []
    for c in competitors:
        pace = times.of(c.name)
        rows.append((c.name, spread(pace, 1e6), f"{number(1 / pace.median)}"))
        data.append({"engine": c.name, "seconds_per_step": pace.median, "rounds": pace.count})
    if missing:
        rows.append((MUJOCO, missing, ""))

    def goal(what: str, name: str) -> Goal:
        ratio = None if missing else times.ratio(MUJOCO, name)
        return Goal(f"{what} against MuJoCo rollout", 250, False, ratio, missing, mujoco_engine.DOES_MORE)

    return Section(
        "Batches",
        (
            f"{COUNT} motions of {STEPS} steps, ours {MANY}, torques from {torques[0]:g} to {torques[-1]:g} N m, "
            f"{THREADS} threads. The whole call starts from parameters and ends with a data set whose last states are "
            "certified; MuJoCo's models and data were made before, so its time is that of the steps. Our "
            f"residuals are checked at every step.{apart}",
        ),
        (Table(("engine", "microseconds per step of one motion", "steps per second"), rows, data),),
        (goal("batch on two cores, steps", MARCH), goal("batch on two cores, the whole call", OURS)),
    )
