"""Motions of the two bars and the rod of paper 001, by event-driven integration or by the paper's own algorithm."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from gaussopt.comparison.trajectory_errors import Indices, common_instants
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.problem import problem
from gaussopt.modelling.reference import Reference, ReferenceData
from gaussopt.papers import report_parts as common
from gaussopt.papers.figures import line_figure, remarks
from gaussopt.papers.report_parts import PaperResults, motion_case
from gaussopt.processes.job import Job
from gaussopt.reporting.document import Figure

PRINTED = ("normal-force-qp", "newton")
MECHANICS = ("lcp", "lemke")
PAIRS = {"QP (29) by Newton": PRINTED, "LCP by Lemke": MECHANICS}
"""The paper's program, solved by the paper's method, and the LCP with which it is compared."""

PRINTED_LOOP: dict[str, Any] = {"stepper": "as-printed-001", "tolerance": math.inf}
EXACT: dict[str, Any] = {"stepper": "dop853", "rtol": 1e-12, "atol": 1e-12}

ENGINES = {PRINTED: "interpreted", MECHANICS: "compiled"}
"""Engines of event-driven motions; for the LCP the compiled motion equals the interpreted one up to rounding."""

STEPS, FEW_STEPS = (600, 1200), (200,)
"""Numbers of steps of the paper's algorithm in full and in quick runs; the LCP runs with the first number only."""

ROWS = {"two-bar-contact": (100, 200), "two-bar": (50, 200), "sliding-rod": (20, 50)}
"""Numbers of instants that motions by PRINTED and by MECHANICS record; quick runs record a fifth, at most 20."""

LATER = 0.5
"""End time, s, of the runs whose energies are compared, by event-driven integration and by the paper's algorithm."""

FED = 0.09
"""Instant at which the energies with both signs of friction are compared, s; no event occurs before it."""

AIR: dict[str, dict[str, Any]] = {
    "printed formulas, F = −40 N, g = 0": {"variant": "as-printed", "F": -40.0, "g": 0.0},
    "correct formulas, F = 0, g = 9.81 m/s²": {},
    "printed formulas, F = g = 0": {"variant": "as-printed", "F": 0.0, "g": 0.0},
    "correct formulas, F = g = 0": {"F": 0.0, "g": 0.0},
}
"""Runs of the paper's own time loop from the start that the paper prints, with their settings."""

FLIGHT = "event-driven, F = g = 0"
ROD = ("floor", "stop", "lift")
REFERENCES = {"two-bar": ("two-bar-contact", "two-bar-airborne"), "sliding-rod": tuple(f"rod-{case}" for case in ROD)}
"""References by problem."""


def cases(quick: bool) -> list[Job]:
    """Return the cases of all motions."""
    found = []
    for name, references in REFERENCES.items():
        for reference in references:
            for label, pair in PAIRS.items():
                n = ROWS.get(reference, ROWS[name])[pair == MECHANICS]
                n = min(n // 5, 20) if quick else n
                arguments = {"name": name, "reference": reference, "pair": pair, "rows": n}
                found.append(Job(f"{reference}: {label}", follow, arguments, 1.5e-2 * n))
    counts = FEW_STEPS if quick else STEPS
    for n in counts:
        for label, pair in list(PAIRS.items())[: 2 if n == counts[0] else 1]:
            arguments = {"name": "two-bar", "reference": "two-bar-contact", "pair": pair, "rows": n, **PRINTED_LOOP}
            found.append(Job(f"loop, {n} steps: {label}", follow, arguments, 2e-3 * n))
    bars, rod = partial(motion_case, name="two-bar"), partial(motion_case, name="sliding-rod")
    for label, settings in AIR.items():
        weight, dt = (0.4, 1e-2) if quick else (1.0, 2e-3)
        start = {"case": "airborne", **settings}
        found.append(bars(f"air: {label}", weight, pair=PRINTED, settings=start, dt=dt, **PRINTED_LOOP))
    found.append(bars(f"air: {FLIGHT}", 0.3, pair=MECHANICS, settings={"case": "airborne", "F": 0.0, "g": 0.0}, **EXACT,
                      dt=0.05, t_end=5.0))  # fmt: skip
    for label, settings in (("correct", {}), ("printed", {"variant": "printed-sign"})):
        of = f"energy: {label} sign"
        by_mechanics: dict[str, Any] = {"pair": MECHANICS, "settings": settings, "engine": ENGINES[MECHANICS]}
        found += [
            bars(of, 0.5, **by_mechanics, **EXACT, dt=FED / (5 if quick else 30), t_end=FED),
            bars(f"{of}, event-driven", 0.5, **by_mechanics, stepper="dop853", rtol=1e-9, atol=1e-9,
                 dt=0.05 if quick else 0.01, t_end=LATER),
            bars(f"{of}, printed loop", 0.6, pair=PRINTED, settings=settings, dt=4e-3 if quick else 1e-3, t_end=LATER,
                 **PRINTED_LOOP),
        ]  # fmt: skip
    found += [
        rod(f"rod loop: {case}", 0.3, pair=PRINTED, settings={"case": case}, dt=1e-3, **PRINTED_LOOP)
        for case in ("stop", "lift")
    ]
    return found


def follow(name: str, reference: str, pair: tuple[str, str], rows: int, **options: Any) -> Trajectory:
    """Compute the motion of a reference up to the reference's end, and record it at `rows` instants."""
    entry = reference_of(name, reference)
    end, case = float(entry.load().t[-1]), reference.rpartition("-")[2]
    t_end = min(problem(name, case=case).t_end, 2 * end)
    return common.motion(name, *pair, {"case": case}, dt=end / rows, t_end=t_end,
                         **(options or {**EXACT, "engine": ENGINES[pair]}))  # fmt: skip


def reference_of(name: str, reference: str) -> Reference:
    """Return a reference of a problem by its name."""
    return next(r for r in problem(name).references if r.name == reference)


def ends(traj: Trajectory) -> dict[str, Matrix]:
    """Return the positions of the centroid of AB, of its ends A and B, and of C, each (2, N), m."""
    x, y, th1, th2 = traj.q.T
    l = traj.meta["parameters"]["l"]
    along = l / 2 * np.array([np.cos(th1), np.sin(th1)])
    centre = np.array([x, y])
    B = centre + along
    return {"centroid": centre, "A": centre - along, "B": B, "C": B + l * np.array([np.sin(th2), -np.cos(th2)])}


def event_name(event: Mapping[str, Any]) -> str:
    """Return the name that references give to an event; it consists of the event's kind and contact."""
    return f"{event['kind']}:{event['contact']}" if "contact" in event else str(event["kind"])


def spoken(name: str) -> str:
    """Return the kind of an event in words; `name` is its name in reference files."""
    kind, _, contact = name.replace("_", "-").partition(":")
    if kind == "floor":
        return "bar on the floor"
    return f"{kind} of {contact}" if contact else kind


def events_of(traj: Trajectory) -> list[tuple[str, float]]:
    """Return the events of a motion in words, each with its time in s."""
    return [(spoken(event_name(e)), float(e["t"])) for e in traj.events]


def happened_in(traj: Trajectory) -> str:
    """Describe the events of a motion, with their times, in order."""
    names = (f"{event['kind']} of {' and '.join(event['contacts'])}" if "contacts" in event
             else spoken(event_name(event)) for event in traj.events)  # fmt: skip
    # A landing with an impact is reported as the impact.
    hit = {event["t"] for event in traj.events if event["kind"] == "impact"}
    told = [f"{name} at {event['t']:.4f} s" for name, event in zip(names, traj.events, strict=True)
            if event["kind"] != "landing" or event["t"] not in hit]  # fmt: skip
    return ", then ".join(told) or "no event"


def jump(traj: Trajectory) -> float:
    """Return the largest jump of a contact force at an event, between the rows before and after it, N."""
    rows = np.flatnonzero(np.diff(traj.t) < 1e-12)
    return float(np.abs(traj.lam_N[rows + 1] - traj.lam_N[rows]).max(initial=0.0))


def agreement(traj: Trajectory, rows: ReferenceData) -> tuple[int, float, float, float]:
    """Return the number of common instants, and the largest errors of q, v and the normal forces at these instants."""
    here, there = common_instants(traj, rows)
    if not len(here):
        return 0, math.nan, math.nan, math.nan
    q, v = (float(np.abs(getattr(traj, k)[here] - getattr(rows, k)[there]).max()) for k in ("q", "v"))
    return len(here), q, v, float(np.abs(traj.lam_N[here] - rows.lam_N[there]).max())


def rise(traj: Trajectory) -> float:
    """Return the largest rise of the energy from one recorded instant to the next, J."""
    return float(np.diff(traj.energy).max(initial=0.0))


def difference(first: Trajectory, second: Trajectory) -> tuple[float, float]:
    """Return the largest differences of q and of the normal forces at instants that both motions recorded.

    An event is recorded twice, before and after it; first rows are compared with first rows, last with last.
    """
    q, N = [0.0], [0.0]
    for side in (0, -1):
        known = {round(t, 11): i for i, t in list(enumerate(second.t))[:: 1 if side else -1]}
        own = {round(t, 11): i for i, t in list(enumerate(first.t))[:: 1 if side else -1]}
        for t in own.keys() & known.keys():
            q.append(float(np.abs(first.q[own[t]] - second.q[known[t]]).max()))
            N.append(float(np.abs(first.lam_N[own[t]] - second.lam_N[known[t]]).max()))
    return max(q), max(N)


def pair_of(results: PaperResults, reference: str) -> dict[str, Trajectory]:
    """Return the motions that repeat a reference; the keys are "formulation by solver"."""
    return results.trajectories(f"{reference}: ")


def changes(traj: Trajectory) -> Indices:
    """Return the indices of the steps in which the slip changes its sign; slips below 1e-9 m/s count as zero."""
    slip = np.where(np.abs(traj.slip[:, 0, 0]) < 1e-9, 0.0, traj.slip[:, 0, 0])
    return np.flatnonzero(slip[1:] * slip[:-1] < 0)


def curves_figure(
    name: str, caption: str, words: str, t: Vector | Mapping[str, Vector], curves: Mapping[str, Vector], ylabel: str,
    **how: Any,
) -> Figure:  # fmt: skip
    """Draw curves over time; if they have no markers and share their times, the caption says which curves coincide."""
    notes = "" if isinstance(t, Mapping) or how.get("markers") else remarks(curves)
    return line_figure(name, f"{caption}{notes}", words, t, curves, ("t / s", ylabel), **{"size": (4.4, 2.8), **how})


def span(label: str, y: Vector, unit: str) -> str:
    """Describe a curve by its first and last value, and by its range if that extends beyond them."""
    low, high = float(np.min(y)), float(np.max(y))
    ends = sorted((float(y[0]), float(y[-1])))
    beyond = max(ends[0] - low, high - ends[1]) > 1e-6 * max(1e-12, high - low)
    within = f" within {low + 0.0:.4g} to {high + 0.0:.4g}" if beyond else ""
    return f"{label} from {float(y[0]) + 0.0:.4g} to {float(y[-1]) + 0.0:.4g}{within} {unit}"


def beside(runs: Mapping[str, Trajectory], values: Mapping[str, Mapping[str, Vector]]) -> dict[str, Any]:
    """Return arguments of `curves_figure`: curves of the first run, markers of the other runs, and a table of all runs.

    `values` holds the curves by name, for each run.
    """
    first, *others = runs
    points = {}
    for k in others:
        some = slice(None, None, max(1, len(runs[k].t) // 25))
        t = np.concatenate([runs[k].t[some]] * len(values[k]))
        points[k] = t, np.concatenate([y[some] for y in values[k].values()])
    named = next(iter(values[first].values()))
    data = pd.concat([
        pd.DataFrame({"program": k, "curve": name, "t": runs[k].t, "value": y})
        for k in runs for name, y in values[k].items()
    ])  # fmt: skip
    curves = {f"{name}, {first}": y for name, y in values[first].items()}
    return {
        "t": runs[first].t,
        "curves": curves,
        "markers": {**points, "events": marks(runs[first], named)},
        "data": data,
    }


def apart(runs: Mapping[str, Trajectory]) -> str:
    """Return a sentence on the difference between the motions by two programs; "" if one of the motions is missing."""
    if len(runs) < len(PAIRS):
        return ""
    q, N = difference(*runs.values())
    return f"The two programs differ by at most {q:.1e} in the coordinates and {N:.1e} N in the forces."


def marks(traj: Trajectory, values: Vector) -> tuple[Vector, Vector]:
    """Return the points of a curve at the events of the motion."""
    t = np.array(sorted({e["t"] for e in traj.events}))
    return t, np.interp(t, traj.t, values)


def way(slip: Vector) -> str:
    """Return a clause on the side to which an end slides; slips below 1e-9 m/s count as zero."""
    found = [side for side, there in (("left", slip < -1e-9), ("right", slip > 1e-9)) if there.any()]
    return f"to the {' and to the '.join(found)}" if found else "nowhere"
