"""Study motions of the linkage through its singular position, by exact and by noisy accelerations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from gaussopt.core.arrays import Vector
from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.problem import problem
from gaussopt.papers import report_parts as common
from gaussopt.papers.figures import line_figure
from gaussopt.papers.p002_singular_mass import noisy_linkage as linkage
from gaussopt.papers.p002_singular_mass.noisy_linkage import END, NOISE, PRINTED, REGULAR, NoiseResult
from gaussopt.papers.report_parts import PaperResults, motion_case
from gaussopt.processes.job import Job
from gaussopt.reporting.document import Figure, Section
from gaussopt.reporting.texts import Texts

text = Texts(__file__)

PROBLEM, REFERENCE, MECHANICS = "four-bar", "four-bar-A", ("lagrange", "kkt")
ROWS = {REGULAR: {}, PRINTED: {"variant": "printed-constraint"}}
"""Constraint rows: theta1 - theta2 = 0, and l sin(theta1) - l sin(theta2) = 0 as printed."""

CROSSING_STEPS = (0.01, 0.005, 0.002)
APPROACH_STEPS = (1e-5, 4e-6, 1e-6)
"""Time steps of the runs that begin just before the singular position, s."""


def cases(quick: bool) -> list[Job]:
    """Return cases: runs through the singular position, runs that begin just before it, and runs with noise."""
    found = [
        motion_case(f"crossing: {row}, {dt:g}", 2e-4 / dt, PROBLEM, common.EXACT, variant, dt=dt, t_end=1.0,
                    engine=common.ENGINE)
        for row, variant in ROWS.items() for dt in CROSSING_STEPS[: 2 if quick else None]
    ]  # fmt: skip
    found += [Job(f"approach: {dt:g}", approach, {"dt": dt}, 0.3) for dt in APPROACH_STEPS[: 2 if quick else None]]
    count = linkage.RUNS
    noises = [(row, amplitude, False) for row in ROWS for amplitude in NOISE]
    for row, amplitude, admissible in (*noises, (PRINTED, NOISE[-1], True)):
        arguments = {"row": row, "amplitude": amplitude, "count": count, "admissible": admissible}
        label = f"noise: {row}, {amplitude:g}" + (", admissible" if admissible else "")
        found.append(Job(label, linkage.noisy, arguments, 2e-4 * count + 0.1))
    return found


def approach(dt: float) -> Trajectory:
    """Simulate, with the printed row, from the last reference state before theta1 = pi/2 to equally far beyond pi/2."""
    reference = problem(PROBLEM).reference(REFERENCE)
    k = int(np.flatnonzero(reference.q[:, 0] < np.pi / 2)[-1])
    ahead = (np.pi / 2 - reference.q[k, 0]) / reference.v[k, 0]
    settings = {**ROWS[PRINTED], "q0": reference.q[k], "v0": reference.v[k]}
    return common.motion(PROBLEM, *MECHANICS, settings, dt=dt, t_end=2 * ahead)


def _distance(traj: Trajectory) -> Vector:
    """Return the angle, rad, from rod 1 to the nearest singular position, where the paper's row of J vanishes."""
    return np.asarray(np.abs((traj.q[:, 0] % np.pi) - np.pi / 2))


def _largest(traj: Trajectory) -> float:
    """Return the largest multiplier of the first row."""
    return float(np.abs(traj.lam[:, 0]).max())


def singular(results: PaperResults, findings: list[str]) -> Section:
    """Show motions through the singular position: their multipliers, and the steps that are not certified."""
    runs = results.trajectories("crossing: ")
    near = results.trajectories("approach: ")
    stopped = sum(v.failed_step is not None for v in near.values())
    printed, regular = ([v for k, v in runs.items() if k.startswith(row)] for row in (PRINTED, REGULAR))
    if printed and regular:
        # Far from the singular position both rows have similar multipliers; that of the regular row stays bounded.
        peak = max((*printed, *near.values()), key=_largest)
        gap = max(float(abs(v.q[-1, 0] - v.q[-1, 1])) for v in printed)
        stops = f"; of {len(near)} runs that come closer the certificate stops {stopped}" if stopped else ""
        findings.append(text(
            "exact found", peak=_largest(peak), distance=_distance(peak)[np.argmax(np.abs(peak.lam[:, 0]))],
            bound=max(map(_largest, regular)), gap=gap, stopped=stops,
        ))  # fmt: skip
    return common.part(
        "singular-002", "Through the singular position with exact accelerations", text.blocks("exact"),
        text.table("crossing-002", [_crossing_row(k, v) for k, v in runs.items()]),
        text.blocks("closer", stops=" " + text("stops") if stopped else "") if near else None,
        text.table("approach-002", [_approach_row(k, v) for k, v in near.items()]), _multiplier_figure(runs, near),
    )  # fmt: skip


def _multiplier_figure(runs: dict[str, Trajectory], near: dict[str, Trajectory]) -> Figure | None:
    """Draw the first multiplier over the distance from the singular position, for `near` and the finest of `runs`."""
    shown = {f"printed row, {k} s": v for k, v in near.items()}
    for row in reversed(ROWS):
        keys = [k for k in runs if k.startswith(row)]
        if keys:
            finest = min(keys, key=lambda k: float(k.rpartition(" ")[2]))
            shown = {f"{finest} s": runs[finest], **shown}
    x: dict[str, Vector] = {}
    y: dict[str, Vector] = {}
    for k, v in shown.items():
        passed = v.q[:, 0] < np.pi / 2
        if passed.any():
            order = np.argsort(_distance(v)[passed])
            x[k], y[k] = _distance(v)[passed][order], np.abs(v.lam[passed, 0])[order]
    if not x:
        return None
    largest = ", ".join(f"{k} {float(y[k].max()):.1e} at {float(x[k][np.argmax(y[k])]):.0e} rad" for k in x)
    data = pd.concat([pd.DataFrame({"run": k, "distance": x[k], "lambda1": y[k]}) for k in x])
    return line_figure(
        "paper-002-multiplier",
        "Multiplier of the first row on the way to the singular position, against the distance from it, both "
        "logarithmic.",
        f"Largest multiplier: {largest}.", x, y, ("|θ₁ − π/2| / rad", "|λ₁| / N m (printed row: N)"), data=data,
        log=True, logx=True,
    )  # fmt: skip


def _crossing_row(label: str, v: Trajectory) -> tuple[Any, ...]:
    i = int(np.argmax(np.abs(v.lam[:, 0])))
    return (
        label, str(v.status), v.t[-1], abs(v.q[-1, 0] - v.q[-1, 1]), _largest(v), _distance(v)[i],
        v.worst.relative_error,
    )  # fmt: skip


def _approach_row(label: str, v: Trajectory) -> tuple[Any, ...]:
    i = int(np.argmin(_distance(v)))
    end = "crossed"
    if v.failed_step is not None and v.failed_step.q is not None:
        where = abs(v.failed_step.q[0] - np.pi / 2)
        end = f"stopped {where:.1e} rad from π/2: error {v.worst.relative_error:.2g} (relative)"
    regular = v.lam[i, 0] * v.meta["parameters"]["l"] * math.cos(v.q[i, 0])
    return (label, str(v.status), _distance(v)[i], v.lam[i, 0], regular, end)


def noise(results: PaperResults, findings: list[str]) -> Section:
    """Show motions through the singular position with noisy accelerations, and which runs leave their branch."""
    found: dict[str, NoiseResult] = results.group("noise: ")
    rows, facts = [], {}
    for label, run in found.items():
        last = run.gaps[:, -1]
        finite = last[np.isfinite(last)]
        largest = float(finite.max()) if len(finite) else math.inf
        facts[label] = run.left, len(last), largest
        rows.append((label, len(last), run.left, run.left / len(last), int(np.isinf(last).sum()),
                     float(np.median(last)), largest))  # fmt: skip
    for amplitude in NOISE:
        printed, regular = (facts.get(f"{row}, {amplitude:g}") for row in (PRINTED, REGULAR))
        if printed and regular:
            findings.append(text("noisy found", noise=amplitude, printed=printed, regular=regular, end=END))
    return common.part(
        "noise-002", "Through the singular position with noisy accelerations",
        text.blocks("noisy", off=linkage.OFF, end=END), text.table("noise-002", rows, step=linkage.STEP, end=END),
        noise_figure(found),
    )  # fmt: skip


def noise_figure(found: Mapping[str, NoiseResult]) -> Figure | None:
    """Draw |theta1 - theta2| over time for the smaller noise: its median and its largest value over the runs."""
    curves: dict[str, Vector] = {}
    t: Vector = np.zeros(0)
    for label, run in found.items():
        if label.endswith(f"{NOISE[0]:g}"):
            t = run.t
            curves[f"{label}, median"] = np.median(run.gaps, axis=0)
            curves[f"{label}, largest"] = run.gaps.max(axis=0)
    if not curves:
        return None
    shown = {k: np.minimum(np.maximum(y, 1e-12), 10.0) for k, y in curves.items()}
    words = ", ".join(
        f"{k} {float(y[-1]):.1e} rad" if np.isfinite(y[-1]) else f"{k} no longer finite" for k, y in curves.items()
    )
    return line_figure(
        "paper-002-noise",
        f"|θ₁ − θ₂| with noise of {NOISE[0]:g} rad/s², median and largest over the runs (logarithmic, cut at 10 rad).",
        f"At t = {END:g} s: {words}.", t, shown, ("t / s", "|θ₁ − θ₂| / rad"), data=pd.DataFrame({"t": t, **curves}),
        log=True,
    )  # fmt: skip
