"""The crank-slider over 10 s: a step of everybody, and what an error of the angle costs."""

from __future__ import annotations

import motions
import ours
import rivals
from measuring import Spread
from mechanisms import crank_slider
from motions import Motions
from page import Goal, Section, Table, number
from rivals import handwritten, mujoco_engine, scipy_engine
from rivals.interface import Engine

SIZE = 1e-3
COARSE, FINE = 5e-6, 1e-9
"""Errors of the angle over the motion, rad, whose price is told."""


def measure(budget: float) -> Section:
    """All engines, all settings."""
    found = motions.run(crank_slider(), (*ours.ALL, *rivals.ALL), SIZE, budget)
    return Section(
        "Crank-slider",
        (
            "Seven absolute coordinates, six constraints, 10 s from rest with the printed torque (69 turns). The error "
            "is the largest of the crank's angle at every 0.1 s, against a reference of 1e-13.",
            "MuJoCo's equality constraints are springs: its error stays where it is, however small the step, unless "
            "they are made harder with the step (hard constraints).",
        ),
        (motions.per_step(found, handwritten.PLAIN.name), motions.work_precision(found), _prices(found)),
        (
            _step(found, "RK4 step of the loop against hand-written C++", ours.LOOP, handwritten.PLAIN, 1.3, most=True),
            _step(
                found,
                "the same, start and certificates of 100 states included",
                ours.RK4,
                handwritten.PLAIN,
                1.3,
                most=True,
            ),
            _step(found, "RK4 step against MuJoCo's RK4", mujoco_engine.RK4_HARD, ours.RK4, 25),
            _step(
                found, "RK4 step projected to 1e-14 against MuJoCo's RK4", mujoco_engine.RK4_HARD, ours.PROJECTED, 15
            ),
            _price(found, mujoco_engine.RK4_HARD, COARSE, 150),
            _price(found, scipy_engine.DOP853, FINE, 200),
        ),
    )


def _step(found: Motions, what: str, slower: Engine, faster: Engine, limit: float, most: bool = False) -> Goal:
    """Ratio of steps of the same size; the other engine is never us."""
    other = faster if most else slower
    mine = slower if most else faster
    ratio = found.ratio(slower.name, faster.name)
    return Goal(what, limit, most, ratio, other.missing or mine.missing, other.does_more)


def _price(found: Motions, other: Engine, error: float, limit: float) -> Goal:
    """Ratio of the times to an error, ours by our best engine."""
    what = f"time to an angle error of {error:.0e} rad over 10 s against {other.name}"
    mine = [t for e in ours.ALL if (t := found.time_to(e.name, error)) is not None]
    theirs = found.time_to(other.name, error)
    if theirs is None or not mine:
        reason = other.missing or ("not reached by us" if theirs is not None else f"not reached by {other.name}")
        return Goal(what, limit, False, None, reason, other.does_more)
    return Goal(what, limit, False, Spread.of([theirs / min(mine)]), "", other.does_more)


def _prices(found: Motions) -> Table:
    """Seconds to both errors by engine."""
    rows, data = [], []
    for name in dict.fromkeys(p.engine.name for p in found.points):
        cost = [found.time_to(name, error) for error in (COARSE, FINE)]
        rows.append((name, *("not reached" if c is None else number(c) for c in cost)))
        data.append({"engine": name, "seconds_to": dict(zip((str(COARSE), str(FINE)), cost, strict=True))})
    return Table(("engine", f"seconds to {COARSE:.0e} rad", f"seconds to {FINE:.0e} rad"), rows, data)
