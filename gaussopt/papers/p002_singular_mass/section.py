"""Paper 002, Yang & Yao 2017: a four-bar linkage with a singular mass matrix, and a genetic algorithm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.interpolate import CubicHermiteSpline

from gaussopt.comparison.trajectory_errors import common_instants
from gaussopt.core import registry
from gaussopt.core.solver import parse_options
from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.problem import problem
from gaussopt.papers import report_parts as common
from gaussopt.papers.claim import SOURCES
from gaussopt.papers.figures import balance_section, forces_figure, line_figure
from gaussopt.papers.p002_singular_mass import crossings
from gaussopt.papers.p002_singular_mass.c11_genetic_accuracy import STEP
from gaussopt.papers.p002_singular_mass.genetic_runs import WAYS, Branch, flow_chart, penalties, start
from gaussopt.papers.report_parts import PaperResults, motion_case
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.reporting.document import Block, Figure, Gallery, Paragraph, Section
from gaussopt.reporting.figures.mechanism_drawing import animation_block, drawing_figure
from gaussopt.reporting.texts import Texts

text = Texts(__file__)

PROBLEM = "four-bar"
REFERENCES = ("four-bar-A", "four-bar-B")

SHORT = dict(zip(WAYS, ("null-space", "penalty"), strict=True))
"""Names of the variants of the genetic algorithm in the legends of figures."""


def cases(quick: bool) -> list[Job]:
    """Return all cases of this paper."""
    exact: dict[str, Any] = {"stepper": "dop853", "rtol": 1e-12, "atol": 1e-12, "engine": common.ENGINE}
    found = [
        motion_case("motion: constant torque", 0.3, PROBLEM, common.EXACT, dt=0.02 if quick else 0.01,
                    t_end=0.8 if quick else 2.0, **exact),
        motion_case("motion: no torque", 0.3, PROBLEM, common.EXACT, {"psi": 0.0}, dt=0.05 if quick else 0.025,
                    t_end=1.5 if quick else 5.0, **exact),
        Job("flow chart", flow_chart, {}, 0.5),
        Job("penalty", penalties, {"seeds": 1 if quick else 5}, 0.5 if quick else 1.5),
        *crossings.cases(quick),
    ]  # fmt: skip
    found += common.states_cases(PROBLEM, REFERENCES[: 1 if quick else None], 50 if quick else 8, quick)
    return found + common.errata_cases(PROBLEM, {})


def section(outcomes: dict[str, JobOutcome], quick: bool) -> tuple[Section, tuple[str, ...]]:
    """Return the paper's section and the findings for the summary."""
    results = PaperResults(outcomes)
    entry = problem(PROBLEM)
    findings: list[str] = []
    states = f"States of the references {' and '.join(REFERENCES)}, with the torque and without."
    parts = (
        _model(), _method(results, findings), _motions(results, findings), *_balance(results), _figures(results),
        crossings.singular(results, findings), crossings.noise(results, findings),
        common.states_section("002", results, states), common.errata_section(entry, "002", results, findings),
    )  # fmt: skip
    return Section("paper-002", SOURCES["002"].title, (Paragraph(entry.description),), parts), tuple(findings)


def _model() -> Section:
    entry = problem(PROBLEM)
    diagonal = ", ".join(f"{x:g}" for x in start().M.diagonal())
    coordinates, *equations = text.blocks("model", diagonal=diagonal, degrees=math.degrees(entry.q0[0]))
    table = common.parameters_table(entry, "parameters-002", "Parameters of the four-bar linkage.")
    drawing = drawing_figure(entry, "paper-002-drawing")
    return Section("model-002", "Model", (coordinates, drawing, *equations, table))


def _method(results: PaperResults, findings: list[str]) -> Section:
    blocks = text.blocks("method")
    branches: list[Branch] | None = results.value("flow chart")
    if branches:
        rows = [(b.label, b.singular, b.outside, b.chart, b.plain, b.chart - b.plain) for b in branches]
        blocks.append(text.table("branch-002", rows))
        wrong = [b for b in branches if abs(b.chart - b.plain) > 1e-9]
        if wrong:
            worst = max(wrong, key=lambda b: abs(b.chart - b.plain))
            same = [b for b in branches if abs(b.plain - worst.plain) < 1e-9]
            right = any(abs(b.chart - b.plain) <= 1e-9 for b in same)
            findings.append(text(
                "branches found", agree=len(branches) - len(wrong), branches=len(branches), worst=worst,
                although=", although the same step in other coordinates comes out right" if right else "",
            ))  # fmt: skip
    return Section("method-002", "Method", tuple(blocks))


def _motions(results: PaperResults, findings: list[str]) -> Section:
    blocks: list[Block] = [*text.blocks("motion")]
    figures, passages = [], []
    for label, name in zip(("constant torque", "no torque"), REFERENCES, strict=True):
        traj = results.trajectory(f"motion: {label}")
        if traj is None:
            continue
        reference = problem(PROBLEM).reference(name)
        here, there = common_instants(traj, reference)
        miss = float(np.abs(traj.q[here] - reference.q[there]).max())
        psi = traj.meta["parameters"]["psi"]
        which = "torque" if psi else "free"
        blocks.append(animation_block(
            traj, problem(PROBLEM), f"paper-002-motion-{which}",
            f"Motion with {label}; the path is that of the middle of the coupler.",
        ))  # fmt: skip
        ends = {"t": traj.t[[0, -1]], "theta": traj.q[[0, -1], 0], "miss": miss}
        marks = {"reference": (reference.t[there][::4], reference.q[there, 0][::4])}
        figures.append(line_figure(
            f"paper-002-theta1-{which}", f"Crank angle θ₁, ψ = {psi:g} N m.", text("crank angle", **ends),
            traj.t, {"this run": traj.q[:, 0]}, ("t / s", "θ₁ / rad"), size=(4.4, 2.8), markers=marks,
            data=pd.DataFrame({"t": traj.t, "theta1": traj.q[:, 0], "omega1": traj.v[:, 0]}),
        ))  # fmt: skip
        crossings = [(psi, angle, t, rate) for angle, t, rate in crossings_of(traj)]
        passages += crossings
        first = f", at {crossings[0][1]:g} π first at t = {crossings[0][2]:.7f} s" if crossings else ""
        certified = traj.worst.relative_error
        findings.append(text("motion found", psi=psi, first=first, certified=certified, **ends))
    rows = [(psi, angle, f"{t:.7f}", rate) for psi, angle, t, rate in passages]
    return common.part("motion-002", "Motion", blocks, Gallery(tuple(figures)), text.table("passages-002", rows))


def _balance(results: PaperResults) -> list[Section]:
    """Show multipliers, drift and energy of the motions with the printed row and with the regular row."""
    runs = results.trajectories("motion: ")
    if not runs:
        return []
    labels = {"λ of θ₁ = θ₂": 0, "λ of θ₁ + θ₃ = π": 1}
    forces = [
        forces_figure(
            f"paper-002-forces-{label.split()[0]}", v, labels,
            text("forces", label=label, largest=np.abs(v.lam[:, 1]).max()), "N m",
        )
        for label, v in runs.items()
    ]  # fmt: skip
    changes = ", ".join(f"{float(v.energy[-1] - v.energy[0]):.3g} J with {label}" for label, v in runs.items())
    return [balance_section("002", runs, forces, text("balance", changes=changes))]


def crossings_of(traj: Trajectory) -> list[tuple[float, float, float]]:
    """Find where theta1 passes odd multiples of pi/2; return theta1 / pi, the instant, s, and the rate, rad/s."""
    if len(traj.t) < 2:
        return []
    angle = CubicHermiteSpline(traj.t, traj.q[:, 0], traj.v[:, 0])
    found = []
    for k in range(math.floor(traj.q[:, 0].min() / np.pi - 0.5), math.ceil(traj.q[:, 0].max() / np.pi)):
        level = k + 0.5
        times = angle.solve(level * np.pi, extrapolate=False)
        found += [(level, float(t), float(angle(t, 1))) for t in times]
    return sorted(found, key=lambda c: c[1])


def _figures(results: PaperResults) -> Section:
    null, full = (parse_options(registry.load("solver", "deap"), options) for options in WAYS.values())
    blocks = text.blocks("figures", step=STEP, null=null, full=full)
    penalty: list[tuple[float, float, list[float]]] | None = results.value("penalty")
    if penalty:
        rows = [(f"{w:.0e}", bias, float(np.median(errors)), max(errors)) for w, bias, errors in penalty]
        blocks += [*text.blocks("penalty"), text.table("penalty-002", rows, seeds=len(penalty[0][-1]))]
    return Section("figures-002", "Figures 3 to 5: Lagrange and the genetic algorithm", tuple(blocks))


def heights_figures(
    t: Sequence[float], lagrange: Sequence[float], heights: Mapping[str, Sequence[Sequence[float]]]
) -> tuple[Figure, Figure]:
    """Draw the paper's figures 3 and 4, as one figure, and its figure 5.

    `lagrange` is y1 at the instants `t` by Lagrange's equations; `heights` holds y1 by each variant of the genetic
    algorithm, for each seed.
    """
    at, y1, half = np.array(t), np.array(lagrange), problem(PROBLEM).parameter_values["l"] / 2
    reference = problem(PROBLEM).reference(REFERENCES[0])
    inside = reference.t <= at[-1] + 1e-9
    marks = {"reference": (reference.t[inside], half * np.sin(reference.q[inside, 0]))}
    curves, apart, moved = {"Lagrange": y1}, {}, np.ptp(y1)
    for way, runs in heights.items():
        y, away = np.array(runs), 100 * np.abs(np.array(runs) - y1) / moved
        farthest = int(away.max(axis=1).argmax())
        short = SHORT[way]
        curves[f"genetic algorithm, {short}"] = y[farthest]
        apart[short if len(y) == 1 else f"{short}, median"] = np.median(away, axis=0)
        if len(y) > 1:
            apart[f"{short}, least"], apart[f"{short}, largest"] = away.min(axis=0), away.max(axis=0)
    last = ", ".join(f"{k} {y[-1]:.4f} m" for k, y in curves.items())
    largest = ", ".join(f"{k} at most {y.max():.1e} %" for k, y in apart.items())
    return line_figure(
        "paper-002-figure-4", f"Height y₁ of the centre of rod 1 over {at[-1]:g} s.",
        f"Height at {at[-1]:g} s: {last}.", at, curves, ("t / s", "y₁ / m"), size=(4.0, 2.7), markers=marks,
    ), line_figure(
        "paper-002-figure-5", "Difference of y₁ by both methods, by the movement of y₁ (logarithmic).",
        f"Difference: {largest}.", at, apart, ("t / s", "difference by movement / %"), size=(4.0, 2.7), log=True,
    )  # fmt: skip
