"""The linkage through its singular position for the report: with exact accelerations, and with noisy ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from gaussopt.core.step_data import Vector
from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.problem import problem
from gaussopt.papers import report_parts as common
from gaussopt.papers.figures import line_figure
from gaussopt.papers.p002_singular_mass import noisy_linkage as linkage
from gaussopt.papers.p002_singular_mass.noisy_linkage import END, NOISE, PRINTED, REGULAR, NoiseResult
from gaussopt.papers.report_parts import PaperResults, motion_case
from gaussopt.processes.job import Job
from gaussopt.reporting.document import Block, Paragraph, Section, Table

PROBLEM, REFERENCE, MECHANICS = "four-bar", "four-bar-A", ("lagrange", "kkt")
ROWS = {REGULAR: {}, PRINTED: {"variant": "printed-constraint"}}
"""theta1 - theta2 = 0, and l sin(theta1) - l sin(theta2) = 0 as printed."""

CROSSING_STEPS = (0.01, 0.005, 0.002, 0.001)
APPROACH_STEPS = (1e-5, 4e-6, 1e-6)
"""Steps of the runs that begin just before the singular position, s."""


def cases(quick: bool) -> list[Job]:
    """Runs over the pole, runs that begin just before it, and runs with noise."""
    found = [
        motion_case(f"crossing: {row}, {dt:g}", 6e-4 / dt, PROBLEM, MECHANICS, variant, dt=dt, t_end=1.0)
        for row, variant in ROWS.items() for dt in CROSSING_STEPS[: 2 if quick else None]
    ]  # fmt: skip
    found += [Job(f"approach: {dt:g}", approach, {"dt": dt}, 0.3) for dt in APPROACH_STEPS[: 2 if quick else None]]
    count = linkage.runs(quick)
    noises = [(row, amplitude, False) for row in ROWS for amplitude in NOISE]
    for row, amplitude, admissible in (*noises, (PRINTED, NOISE[-1], True)):
        arguments = {"row": row, "amplitude": amplitude, "count": count, "admissible": admissible}
        label = f"noise: {row}, {amplitude:g}" + (", admissible" if admissible else "")
        found.append(Job(label, linkage.noisy, arguments, 2e-4 * count + 0.1))
    return found


def approach(dt: float) -> Trajectory:
    """Simulate from the last reference state before theta1 = pi/2 over the pole, with the printed row."""
    reference = problem(PROBLEM).reference(REFERENCE)
    k = int(np.flatnonzero(reference.q[:, 0] < np.pi / 2)[-1])
    ahead = (np.pi / 2 - reference.q[k, 0]) / reference.v[k, 0]
    settings = {**ROWS[PRINTED], "q0": reference.q[k], "v0": reference.v[k]}
    return common.motion(PROBLEM, *MECHANICS, settings, dt=dt, t_end=2 * ahead)


def _distance(traj: Trajectory) -> Vector:
    """Angle to the nearest position where the printed row vanishes."""
    return np.asarray(np.abs((traj.q[:, 0] % np.pi) - np.pi / 2))


def singular(results: PaperResults, findings: list[str]) -> Section:
    """The passage with exact accelerations: the multiplier, and where the certificate stops a run."""
    runs = results.trajectories("crossing: ")
    near = results.trajectories("approach: ")
    blocks: list[Block] = [
        Paragraph(
            "With ψ = 450 N m the cranks pass θ₁ = π/2. M has the same rank there as everywhere; it is the printed row "
            "that vanishes, and with it the rank of J. Since the row is l cos θ times the regular one, its multiplier "
            "is the regular one divided by l cos θ: it grows without bound although nothing happens to the forces. "
            "First with exact accelerations (linear algebra), integrated by RK4."
        )
    ]
    if runs:
        blocks.append(Table(
            "crossing-002",
            "Over the singular position with exact accelerations. The largest multiplier of the first row is that of "
            "the recorded instants, at the distance given.",
            ("row, step / s", "status", "end / s", "|θ₁ − θ₂| at the end", "largest |λ₁|", "distance to π/2 there",
             "certified"),
            tuple(_crossing_row(k, v) for k, v in runs.items()),
        ))  # fmt: skip
    if near:
        blocks += [
            Paragraph(
                "Closer: from the last reference state before π/2, with much smaller steps."
                + (
                    " Where the printed row drowns in rounding the certificate does not accept the answer, and the run "
                    "stops."
                    if any(v.failed_step is not None for v in near.values())
                    else ""
                )
            ),
            Table(
                "approach-002",
                "From just before π/2 with the printed row. 'λ₁ l cos θ₁' is the multiplier of the regular row.",
                ("step / s", "status", "closest / rad", "λ₁ there", "λ₁ l cos θ₁ there", "end"),
                tuple(_approach_row(k, v) for k, v in near.items()),
            ),
        ]
    blocks += _multiplier_figure(runs, near)
    printed = {**{k: v for k, v in runs.items() if k.startswith("printed")}, **near}
    regular = {k: v for k, v in runs.items() if k.startswith("regular")}
    if printed and regular:
        # Away from the pole the two rows' multipliers are alike; the regular one is bounded over the same passage.
        peak = max(printed.values(), key=lambda v: float(np.abs(v.lam[:, 0]).max()))
        i = int(np.argmax(np.abs(peak.lam[:, 0])))
        bound = max(float(np.abs(v.lam[:, 0]).max()) for v in regular.values())
        gap = max(float(abs(v.q[-1, 0] - v.q[-1, 1])) for k, v in printed.items() if k.startswith("printed"))
        stopped = [v for v in near.values() if v.failed_step is not None]
        findings.append(
            f"Printed row near θ₁ = π/2: |λ₁| = {abs(peak.lam[i, 0]):.1e} at {_distance(peak)[i]:.1e} rad, where the "
            f"regular row's multiplier is at most {bound:.4g} over the whole run. With exact accelerations RK4 steps "
            f"across with |θ₁ − θ₂| ≤ {gap:.1e} rad"
            + (f"; of {len(near)} runs that come closer the certificate stops {len(stopped)}." if stopped else ".")
        )
    return Section("singular-002", "Through the singular position with exact accelerations", tuple(blocks))


def _multiplier_figure(runs: dict[str, Trajectory], near: dict[str, Trajectory]) -> list[Block]:
    """The first multiplier over the distance from the pole, of the finest run with each row and of all close ones."""
    shown = {f"printed row, {k} s": v for k, v in near.items()}
    for row in reversed(ROWS):
        keys = [k for k in runs if k.startswith(row)]
        finest = f"{row}, {CROSSING_STEPS[-1]:g}"
        if keys:
            key = finest if finest in runs else keys[-1]
            shown = {f"{key} s": runs[key], **shown}
    x: dict[str, Vector] = {}
    y: dict[str, Vector] = {}
    for k, v in shown.items():
        passed = v.q[:, 0] < np.pi / 2
        if passed.any():
            order = np.argsort(_distance(v)[passed])
            x[k], y[k] = _distance(v)[passed][order], np.abs(v.lam[passed, 0])[order]
    if not x:
        return []
    largest = ", ".join(f"{k} {float(y[k].max()):.1e} at {float(x[k][np.argmax(y[k])]):.0e} rad" for k in x)
    data = pd.concat([pd.DataFrame({"run": k, "distance": x[k], "lambda1": y[k]}) for k in x])
    return [line_figure(
        "paper-002-multiplier",
        "Multiplier of the first row on the way to the singular position, against the distance from it, both "
        "logarithmic.",
        f"Largest multiplier: {largest}.", x, y, ("|θ₁ − π/2| / rad", "|λ₁| / N m (printed row: N)"), data=data,
        log=True, logx=True,
    )]  # fmt: skip


def _crossing_row(label: str, v: Trajectory) -> tuple[Any, ...]:
    i = int(np.argmax(np.abs(v.lam[:, 0])))
    return (
        label, str(v.status), v.t[-1], abs(v.q[-1, 0] - v.q[-1, 1]), abs(v.lam[i, 0]), _distance(v)[i],
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
    """The passage with noisy accelerations: which runs leave their branch."""
    found: dict[str, NoiseResult] = results.group("noise: ")
    blocks: list[Block] = [
        Paragraph(
            "An inexact solver, such as the genetic algorithm, leaves an error on every acceleration. Here it is "
            "imitated: each acceleration that RK4 asks for is solved by elimination and then gets an independent "
            "Gaussian error on each crank, which in general violates the constraints: θ₁ and θ₂ part by a little "
            "before π/2, and there the printed row no longer says which of its two branches is meant. For comparison "
            "the last row of the table ('admissible') projects the same kind of errors onto the accelerations that the "
            f"constraints allow. A run counts as off its branch if |θ₁ − θ₂| > {linkage.OFF:g} rad at t = {END:g} s, "
            "after the passage, or if it is no longer finite. They are the runs of claim C13."
        )
    ]
    rows, curves, facts = [], {}, {}
    t: Vector = np.zeros(0)
    for label, run in found.items():
        last = run.gaps[:, -1]
        finite = last[np.isfinite(last)]
        largest = float(finite.max()) if len(finite) else math.inf
        facts[label] = run.left, len(last), largest
        rows.append((label, len(last), run.left, run.left / len(last), int(np.isinf(last).sum()),
                     float(np.median(last)), largest))  # fmt: skip
        if label.endswith(f"{NOISE[0]:g}"):
            t = run.t
            curves[f"{label}, median"] = np.median(run.gaps, axis=0)
            curves[f"{label}, largest"] = run.gaps.max(axis=0)
    if rows:
        blocks.append(Table(
            "noise-002",
            f"Crossing with noisy accelerations, RK4 with {linkage.STEP:g} s.",
            ("row, noise / (rad/s²)", "runs", "off the branch", "share", "not finite",
             f"median |θ₁ − θ₂| at {END:g} s / rad", "largest finite / rad"),
            tuple(rows),
        ))  # fmt: skip
    if curves:
        shown = {k: np.minimum(np.maximum(y, 1e-12), 10.0) for k, y in curves.items()}
        words = ", ".join(
            f"{k} {float(y[-1]):.1e} rad" if np.isfinite(y[-1]) else f"{k} no longer finite" for k, y in curves.items()
        )
        blocks.append(line_figure(
            "paper-002-noise",
            f"|θ₁ − θ₂| with noise of {NOISE[0]:g} rad/s², median and largest over the runs (logarithmic, cut at 10 "
            "rad).",
            f"At t = {END:g} s: {words}.", t, shown, ("t / s", "|θ₁ − θ₂| / rad"),
            data=pd.DataFrame({"t": t, **curves}), log=True,
        ))  # fmt: skip
    for amplitude in NOISE:
        printed, regular = (facts.get(f"{row}, {amplitude:g}") for row in (PRINTED, REGULAR))
        if printed and regular:
            findings.append(
                f"Acceleration noise of {amplitude:g} rad/s²: with the printed row {printed[0]} of {printed[1]} runs "
                f"leave the branch at π/2, with the regular row {regular[0]} of {regular[1]} (|θ₁ − θ₂| ≤ "
                f"{regular[2]:.1e} rad at {END:g} s)."
            )
    return Section("noise-002", "Through the singular position with noisy accelerations", tuple(blocks))
