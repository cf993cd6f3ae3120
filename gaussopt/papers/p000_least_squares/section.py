"""Paper 000, Yuan & Ge 2016: the crank-slider by least squares with generalised inverses."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from gaussopt.comparison.trajectory_errors import common_instants, errors_against
from gaussopt.core.arrays import Vector
from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.problem import problem
from gaussopt.modelling.reference import ReferenceData
from gaussopt.papers import report_parts as common
from gaussopt.papers.chapters import Important
from gaussopt.papers.claim import SOURCES
from gaussopt.papers.figures import energy_residual, forces_figure, line_figure, remarks, thin
from gaussopt.papers.p000_least_squares import c02_fewer_unknowns as c02
from gaussopt.papers.p000_least_squares import operation_counts as plain
from gaussopt.papers.p000_least_squares.minimal_crank_slider import Crank, backwards, periodic
from gaussopt.papers.p000_least_squares.motions import PROBLEM, REFERENCE
from gaussopt.papers.p000_least_squares.motions import cases as cases
from gaussopt.papers.report_parts import PaperResults
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.document import Block, Figure, Gallery, Paragraph, Section, Timed
from gaussopt.reporting.figures.mechanism_drawing import animation_block, drawing_figure
from gaussopt.reporting.texts import Texts

text = Texts(__file__)

FIGURES = (
    (2, "x1", 0, "q", "Crank centre x₁", "m"),
    (3, "vx1", 0, "v", "Crank centre velocity ẋ₁", "m/s"),
    (4, "y1", 1, "q", "Crank centre y₁", "m"),
    (5, "vy1", 1, "v", "Crank centre velocity ẏ₁", "m/s"),
    (6, "theta1", 2, "q", "Crank angle θ₁", "rad"),
    (7, "omega1", 2, "v", "Crank rate θ̇₁", "rad/s"),
    (8, "x3", 6, "q", "Slider position x₃", "m"),
    (9, "vx3", 6, "v", "Slider velocity ẋ₃", "m/s"),
)
"""Figures of the paper: number, name, index of the coordinate, quantity ("q" or "v"), label, unit."""


def section(outcomes: dict[str, JobOutcome], quick: bool) -> tuple[Section, tuple[str, ...]]:
    """Return the paper's section and the findings for the summary."""
    results = PaperResults(outcomes)
    entry = problem(PROBLEM)
    reference = entry.reference(REFERENCE)
    findings: list[str] = []
    parts = (
        _model(), _method(), _motions(results, reference, findings), _equation_16(results, findings),
        _accuracy(results, reference, findings), _states_section(results, findings), _control(results, findings),
        _drift(results, reference), common.errata_section(entry, "000", results, findings),
    )  # fmt: skip
    return Section("paper-000", SOURCES["000"].title, (Paragraph(entry.description),), parts), tuple(findings)


def _model() -> Section:
    entry = problem(PROBLEM)
    table = common.parameters_table(entry, "parameters-000", "Parameters of the crank-slider.")
    return Section("model-000", "Model", (*text.blocks("model"), drawing_figure(entry, "paper-000-drawing"), table))


def _method() -> Section:
    return Section("method-000", "Method", (*text.blocks("method"), operations_figure()))


@cache
def operations_figure() -> Figure:
    """Draw the ratio of the operations of eq. (14) to those of its rivals with multipliers, as a function of m / n."""
    shares = c02.SHARES
    rivals = {"the system of n + m unknowns by LU": (plain.LU,), "the system by L D Lᵀ": c02.RIVALS["system"],
              "the fastest way with multipliers": c02.RIVALS["fastest"]}  # fmt: skip
    curves = {f"over {words}": c02.operation_ratio(of, True) for words, of in rivals.items()}
    words = "; ".join(f"{k}: {y.max():.3g} at m/n = {shares[0]:g}, {y.min():.3g} at {shares[-1]:g}"
                      for k, y in curves.items())  # fmt: skip
    limit = {"as many operations": np.ones_like(shares)}
    return line_figure(
        "paper-000-operations", f"{text('operations')} {words}.", f"Operations of eq. (14) {words}.", shares,
        curves | limit, ("constraints m / coordinates n", "ratio of operations"), log=True, above=True,
        columns=("m/n", "curve"),
    )  # fmt: skip


def _motions(results: PaperResults, reference: ReferenceData, findings: list[str]) -> Section:
    blocks: list[Block] = [*text.blocks("motion")]
    exact, settles = results.trajectory("motion: exact"), results.trajectory("motion: settles")
    if exact is not None:
        values = {"end": exact.t[-1], "speed": abs(exact.v[-1, 2]), "angle": exact.q[-1, 2]}
        blocks.append(animation_block(exact, problem(PROBLEM), "paper-000-motion", text("printed torque", **values)))
        blocks.append(Gallery(tuple(history(f, exact, reference) for f in FIGURES)))
        blocks.append(turning_figure())
        miss, certified = end_miss(exact, reference), exact.worst.relative_error
        findings.append(text("printed torque found", miss=miss, certified=certified, **values))
    if settles is not None:
        values = {"end": settles.t[-1], "speed": abs(settles.v[-1, 2]), "angle": settles.q[-1, 2]}
        entry = problem(PROBLEM, tau=0.0)
        blocks.append(animation_block(settles, entry, "paper-000-settling", text("without torque", **values)))
        blocks.append(_settling(settles))
        findings.append(text("without torque found", falling=_falling(settles), **values))
    return Section("motion-000", "Motion: figures 2 to 9", tuple(blocks))


def end_miss(exact: Trajectory, reference: ReferenceData) -> float:
    """Return the difference, rad, between the crank's final angle by the exact equations and that of the reference."""
    last = int(np.argmin(np.abs(reference.t - exact.t[-1])))
    return float(abs(exact.q[-1, 2] - reference.q[last, 2]))


def history(entry: tuple[int, str, int, str, str, str], exact: Trajectory, reference: ReferenceData) -> Figure:
    """Draw a figure of the paper, one of FIGURES."""
    number, name, i, what, label, unit = entry
    values: Vector = getattr(exact, what)[:, i]
    here, there = common_instants(exact, reference)
    miss = float(np.abs(values[here] - getattr(reference, what)[there, i]).max())
    inside = reference.t <= exact.t[-1] + 1e-9
    marks = {"reference": (reference.t[inside][::4], getattr(reference, what)[inside, i][::4])}
    symbol = label.split()[-1]
    words = f"between {values.min():.3g} and {values.max():.3g} {unit}, at most {miss:.0e} {unit} from the reference"
    return line_figure(
        f"paper-000-figure-{number}", f"As figure {number} of the paper: {label[0].lower()}{label[1:]}, {words}.",
        f"{label} over time: {words}.", exact.t,
        {"this run": values}, ("t / s", f"{symbol} / {unit}"), data=pd.DataFrame({"t": exact.t, name: values}),
        size=(4.4, 2.8), markers=marks, above=True,
    )  # fmt: skip


TORQUES, TURNS = (-0.5, -0.30, -0.28), 50
"""Torques, N m: the printed one, and two close to the least torque that lets the crank stop; number of turns."""


@cache
def turning_figure() -> Figure:
    """Draw the crank's mean rate in each turn from the printed start, with several torques."""
    crank, per_turn = Crank.of(problem(PROBLEM).parameter_values), 100
    run = backwards(crank.at(tau=np.array(TORQUES)), 0.0, TURNS, per_turn)
    turns = np.arange(2.0, TURNS + 1)
    curves, stops, said = {}, {}, []
    for i, torque in enumerate(TORQUES):
        label = f"τ = {torque:g} N m"
        if run.stops[i]:
            made = run.covered[np.flatnonzero(run.kinetic[1:, i] <= 0)[0] + 1] / (2 * np.pi)
            stops[f"{label} stops"] = (np.array([made]), np.zeros(1))
            said.append(f"with {label} it stops after {made:.2f} turns")
            continue
        speed = crank.speed(-run.covered[per_turn:], run.kinetic[per_turn:, i])  # skip turn 1, which begins at rest
        slow = 1 / speed
        spent = np.append(0.0, np.cumsum((slow[1:] + slow[:-1]) / 2 * (run.covered[1] - run.covered[0])))[::per_turn]
        curves[label] = -2 * np.pi / np.diff(spent)
        said.append(f"with {label} it has {curves[label][-1]:.1f} rad/s in turn {TURNS}")
    mean = periodic(crank, per_turn)[0]
    words = f"{', '.join(said)}; with {TORQUES[0]:g} N m it tends to {-mean:.1f} rad/s"
    return line_figure(
        "paper-000-turning", f"{text('turning')} At last: {words}.", f"Mean rate of the crank in a turn: {words}.",
        turns, curves | {f"limit, τ = {TORQUES[0]:g} N m": np.full_like(turns, -mean)},
        ("turns made backwards", "mean θ̇₁ of a turn / (rad/s)"), above=True, columns=("turns", "curve"), markers=stops,
    )  # fmt: skip


def _equation_16(results: PaperResults, findings: list[str]) -> Section:
    runs = results.trajectories("eq. (16): ")
    rows = [(_label(k), v.q[-1, 2], v.v[-1, 2], v.worst.relative_error, v.worst.constraint_residual)
            for k, v in runs.items()]  # fmt: skip
    figure = equation_16_figure(results)
    if figure is not None:
        exact, printed = (float(v.q[-1, 2]) for v in list(runs.values())[:2])
        residual = list(runs.values())[1].worst.constraint_residual
        findings.append(Important(
            text("eq. (16) found", printed=printed, exact=exact, residual=residual), "paper-000-equation-16",
            "equation-16-000",
        ))  # fmt: skip
    blocks = *text.blocks("eq. (16)"), text.table("equation-16-000", rows), figure
    return common.part("equation-16-000", "The motion by eq. (16) as printed", *blocks)


def equation_16_figure(results: PaperResults) -> Figure | None:
    """Draw the crank's angle by the exact equations and by eq. (16); None where a motion failed."""
    runs = results.trajectories("eq. (16): ")
    if len(runs) < 4:
        return None
    curves = {_label(k): v.q[:, 2] for k, v in runs.items()}
    words = "; ".join(f"{k}: {float(c[-1]):.4g} rad" for k, c in curves.items())
    return line_figure(
        "paper-000-equation-16",
        f"Crank angle by the exact equations and by eq. (16) as printed, after 0.25 s: {words}.",
        f"Crank angle after 0.25 s: {words}.", next(iter(runs.values())).t, curves, ("t / s", "θ₁ / rad"),
        size=(3.8, 2.8), above=True,
    )  # fmt: skip


def _label(run: str) -> str:
    """Return the label of a motion by eq. (16) or by the exact equations, from the key of its case."""
    names = {"exact": "exact", "least-squares-as-printed": "eq. (16)"}
    return f"{names[run.split(',')[0]]}, τ = {run.split('= ')[1]}"


def _falling(settles: Trajectory) -> str:
    """Return a clause on falling amplitude if the angle's range decreases from quarter to quarter; else return ""."""
    quarters = [float(np.ptp(part)) for part in np.array_split(settles.q[:, 2], 4)]
    return " with falling amplitude" if all(np.diff(quarters) < 0) else ""


def _settling(settles: Trajectory) -> Figure:
    curves = {"theta1": settles.q[:, 2]}
    return line_figure(
        "paper-000-settles", "Crank angle with the torque removed (τ = 0).",
        f"The crank angle swings{_falling(settles)} and ends at {settles.q[-1, 2]:.4f} rad.", settles.t, curves,
        ("t / s", "θ₁ / rad"), data=pd.DataFrame({"t": settles.t, **curves, "omega1": settles.v[:, 2]}),
    )  # fmt: skip


def _accuracy(results: PaperResults, reference: ReferenceData, findings: list[str]) -> Section:
    motions = results.trajectories("rk4: ")
    rows, curves, certified = [], {}, {}
    t: Vector = reference.t
    for label, traj in motions.items():
        t, errors = errors_against(traj, reference)
        energy = float(np.abs(np.interp(t, traj.t, traj.energy) - reference.energy[: len(t)]).max())
        curves[label] = errors
        certified[label] = traj.relative_error[np.searchsorted(traj.t, t - 1e-9)]
        rows.append((label, str(traj.status), errors[-1], errors.max(), traj.worst.relative_error, energy,
                     traj.position_drift.max(), traj.timing["total"]))  # fmt: skip
    blocks: list[Block] = [text.table("accuracy-000", rows, timed=("seconds",))]
    if curves and len({len(c) for c in curves.values()}) == 1:
        spread = max(float(np.abs(np.array(list(curves.values())) - curves[next(iter(curves))]).max()), 0.0)
        largest_error = max(float(np.max(c)) for c in curves.values())
        so = ", so the integrator, not the solver, limits the accuracy" if spread < 0.1 * largest_error else ""
        findings.append(text("accuracy found", pairs=len(curves), spread=spread, so=so))
        for name, what, data, ylabel in (
            ("paper-000-error", "Error against the reference", curves, "max |q - q_ref|"),
            ("paper-000-certified", "Certified relative error of the steps", certified, "certified relative error"),
        ):
            worst = {k: f"{float(np.max(v)):.1e}" for k, v in data.items()}
            alike = len(set(worst.values())) == 1
            largest = f"{worst[next(iter(worst))]} by each pair" if alike else "; ".join(map(" ".join, worst.items()))
            blocks.append(_largest(name, what, t, data, ylabel, largest, "RK4, dt = 1 ms, "))
    return Section("accuracy-000", "Formulations and solvers on the motion", tuple(blocks))


def _largest(
    name: str, what: str, t: Vector, curves: dict[str, Vector], ylabel: str, largest: str, how: str = ""
) -> Figure:
    """Draw curves on a logarithmic scale; the text `largest` goes into caption and description."""
    caption = f"{what} ({how}logarithmic); largest: {largest}.{remarks(curves, log=True)}"
    alt = f"{what}; largest: {largest}."
    return line_figure(name, caption, alt, t, curves, ("t / s", ylabel), log=True, above=True)


def _states_section(results: PaperResults, findings: list[str]) -> Section:
    printed = results.value("states: least-squares-as-printed")
    if printed is not None and printed.pairs:
        findings.append(text("states found", wrong=printed.pairs[0]))
    return common.states_section("000", results, f"States of the reference {REFERENCE}.")


def _control(results: PaperResults, findings: list[str]) -> Section:
    controls = results.trajectories("control: ")
    end = f"{max((v.t[-1] for v in controls.values()), default=0.0):g} s"
    rows = ((k, *common.certified(v), v.q[-1, 2], 1e6 * common.per_solve(v)) for k, v in controls.items())
    table = text.table("control-000", rows, timed=("solve / µs per step",), end=end)
    blocks: list[Block] = [*text.blocks("control"), table]
    if controls:
        t = next(iter(controls.values())).t
        data = {k: v.relative_error for k, v in controls.items() if len(v.t) == len(t)}
        words = "; ".join(f"{k} at most {float(v.max()):.1e}" for k, v in data.items())
        blocks.append(line_figure(
            "paper-000-control",
            f"Certified relative error of every step (logarithmic): {words}.{remarks(data, log=True)}",
            f"Certified relative error over {end}: {words}.", t, data, ("t / s", "certified relative error"), log=True,
            above=True,
        ))  # fmt: skip
        ga, newton = controls.get("deap, full coordinates with penalty"), controls.get("newton")
        if ga is not None and newton is not None:
            found = text("control found", genetic=ga.worst.relative_error, newton=newton.worst.relative_error,
                         times=common.per_solve(ga) / common.per_solve(newton))  # fmt: skip
            findings.append(Timed(found))
    return Section("control-000", "OSQP, Newton and a genetic algorithm as the solver of every step", tuple(blocks))


def _drift(results: PaperResults, reference: ReferenceData) -> Section:
    runs = results.trajectories("drift: ")
    rows = tuple(
        (label, str(v.status), v.t[-1], v.position_drift.max(), v.velocity_drift.max(),
         float(np.abs(energy_residual(v)).max()))
        for label, v in runs.items()
    )  # fmt: skip
    blocks: list[Block] = [*text.blocks("drift"), text.table("drift-000", rows), *_drift_figures(runs, reference)]
    exact = results.trajectory("motion: exact")
    if exact is not None:
        blocks.append(Gallery(tuple(
            forces_figure(
                f"paper-000-forces-{what}", exact, {f"λ{'₁₂₃₄₅₆'[i]}": i for i in rows},
                f"Constraint forces, {where} (rows {rows[0] + 1} and {rows[1] + 1} of the constraints).", "N",
            )
            for what, rows, where in (("bearing", (0, 1), "bearing of the crank"), ("pin", (2, 3), "crank pin"),
                                      ("slider", (4, 5), "slider: along and across its guide"))
        )))  # fmt: skip
    return Section("drift-000", "Forces, constraint drift and energy", tuple(blocks))


def _drift_figures(runs: dict[str, Trajectory], reference: ReferenceData) -> list[Block]:
    """Draw drift and energy of the complete runs; runs that stopped early are only in the table."""
    longest = max((len(v.t) for v in runs.values()), default=0)
    whole = {k: v for k, v in runs.items() if len(v.t) == longest}
    if not whole:
        return []
    blocks: list[Block] = []
    cut = thin(longest)
    t = next(iter(whole.values())).t[cut]
    for name, what, attribute in (
        ("paper-000-drift", "Position drift, max |φ|", "position_drift"),
        ("paper-000-velocity-drift", "Velocity drift, max |φ̇|", "velocity_drift"),
    ):
        data = {k: getattr(v, attribute)[cut] for k, v in whole.items()}
        words = "; ".join(f"{k} {float(getattr(v, attribute).max()):.1e}" for k, v in whole.items())
        blocks.append(_largest(name, what, t, data, what, words))
    energy = {k: v.energy[cut] for k, v in whole.items()}
    inside = reference.t <= t[-1]
    marks = {"reference": (reference.t[inside][::8], reference.energy[inside][::8])}
    last = ", ".join(f"{k} {float(v.energy[-1]):.4g} J" for k, v in whole.items())
    blocks.append(line_figure(
        "paper-000-energy",
        f"Mechanical energy (the constant torque counted as a potential).{remarks(energy)}",
        f"Energy over time from 0 J; at the end: {last}. Circles: the reference over its first seconds.", t, energy,
        ("t / s", "energy / J"), markers=marks, above=True,
    ))  # fmt: skip
    return blocks
