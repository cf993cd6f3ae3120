"""Paper 002, Yang & Yao 2017: a four-bar linkage with a singular mass matrix, and a genetic algorithm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy.interpolate import CubicHermiteSpline

from gaussopt import comparison
from gaussopt.core import registry
from gaussopt.core.solver import parse_options
from gaussopt.core.step_data import Vector
from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.problem import problem
from gaussopt.papers import histories
from gaussopt.papers import report_parts as common
from gaussopt.papers.figures import line_figure
from gaussopt.papers.p002_singular_mass import crossings
from gaussopt.papers.p002_singular_mass.first_steps import GENETIC, Branch, PenaltyResult, flow_chart, penalties
from gaussopt.papers.p002_singular_mass.genetic_runs import start
from gaussopt.papers.report_parts import GAUSS, PaperResults, motion_case
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.reporting.animation.animate import animation_block
from gaussopt.reporting.document import Block, Formula, Gallery, Paragraph, Section, Table, Timed
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure

PROBLEM, MECHANICS = "four-bar", ("lagrange", "kkt")
REFERENCES = ("four-bar-A", "four-bar-B")
CONTROL_STEP = 1e-3
"""Step of the semi-implicit Euler scheme of figures 3 to 5, s."""


def cases(quick: bool) -> list[Job]:
    """Everything that is computed for this paper."""
    exact: dict[str, Any] = {"stepper": "dop853", "rtol": 1e-12, "atol": 1e-12}
    end = 0.005 if quick else 0.5
    control: dict[str, Any] = {"stepper": "semi-implicit", "dt": CONTROL_STEP, "t_end": end}
    found = [
        motion_case("motion: constant torque", 1.0, PROBLEM, MECHANICS, dt=0.02 if quick else 0.01, t_end=2.0, **exact),
        motion_case("motion: no torque", 1.0, PROBLEM, MECHANICS, {"psi": 0.0}, dt=0.05 if quick else 0.025, t_end=5.0,
                    **exact),
        Job("flow chart", flow_chart, {}, 0.5),
        Job("penalty", penalties, {"seeds": 1 if quick else 5}, 0.5 if quick else 1.5),
        motion_case("control: Lagrange", 0.3, PROBLEM, MECHANICS, **control),
        *(motion_case(f"control: genetic algorithm, {label}", 24.0 * end, PROBLEM, ("gauss", "deap"),
                      tolerance=math.inf, solver_options=options, **control) for label, options in GENETIC.items()),
        *crossings.cases(quick),
    ]  # fmt: skip
    found += common.states_cases(PROBLEM, *((REFERENCES[:1], 50, common.FIRST_ALONE) if quick else (REFERENCES, 2)))
    return found + common.errata_cases(PROBLEM, {})


def section(outcomes: dict[str, JobOutcome], quick: bool) -> tuple[Section, tuple[str, ...]]:
    """The paper's section and the findings for the summary."""
    results = PaperResults(outcomes)
    entry = problem(PROBLEM)
    findings: list[str] = []
    parts = (
        _model(),
        _method(results, findings),
        _motions(results, findings),
        *_balance(results),
        _figures(results, findings),
        crossings.singular(results, findings),
        crossings.noise(results, findings),
        Section("states-002", "Formulations and solvers on given states", tuple(common.formulations_and_solvers(
            "002", results, f"States of the references {' and '.join(REFERENCES)}, with the torque and without."))),
        common.errata_section(entry, "002", results, findings),
    )  # fmt: skip
    title = "Paper 002: four-bar linkage, singular mass matrix, genetic algorithm (Yang & Yao 2017)"
    return Section("paper-002", title, (Paragraph(entry.description),), parts), tuple(findings)


def _model() -> Section:
    entry = problem(PROBLEM)
    diagonal = ", ".join(f"{x:g}" for x in start().M.diagonal())
    forces = Formula(
        r"M = \operatorname{diag}\left(\tfrac{4}{3} m l^2, \tfrac{1}{3} m l^2, 0\right), \quad "
        r"Q = \left(\psi - \tfrac{3}{2} m g l \cos \theta_1,\; -\tfrac{1}{2} m g l \cos \theta_2,\; \tau_3\right)",
        "M = diag(4 m l^2/3, m l^2/3, 0),   Q = (psi - 3/2 m g l cos theta1, -1/2 m g l cos theta2, tau3)",
    )
    rows = Formula(
        r"\theta_1 - \theta_2 = 0, \quad \theta_1 + \theta_3 - \pi = 0 \quad "
        r"\text{(source: } l \sin \theta_1 - l \sin \theta_2 = 0 \text{)}",
        "theta1 - theta2 = 0,   theta1 + theta3 - pi = 0   (source: l sin theta1 - l sin theta2 = 0)",
    )
    text = (
        "Coordinates q = (θ₁, θ₂, θ₃): the angles of the two cranks and the hinge angle between crank 1 and the "
        "coupler. The coupler stays parallel to the ground and its kinetic energy is booked on θ₁; θ₃ therefore has no "
        f"mass, and M = diag({diagonal}) kg m² is singular in every position. The linkage starts at rest at "
        f"θ₁ = {math.degrees(entry.q0[0]):g}°. τ₃ is zero except in one counterexample."
    )
    closing = (
        "The mechanism closes if θ₁ = θ₂. The source writes only the vertical part of that, l sin θ₁ = l sin θ₂, which "
        "also allows θ₂ = π − θ₁; at θ₁ = ±π/2 the two branches meet and the row of the constraint vanishes. Unless "
        "said otherwise the runs below use the regular row θ₁ − θ₂ = 0."
    )
    table = common.parameters_table(entry, "parameters-002", "Parameters of the four-bar linkage.")
    drawing = drawing_figure(entry, "paper-002-drawing")
    return Section("model-002", "Model", (Paragraph(text), drawing, forces, rows, Paragraph(closing), table))


_WITH_PSEUDO_INVERSE = Formula(
    r"\tfrac{1}{2} (M a - \tilde{Q})^T M^+ (M a - \tilde{Q}) = \tfrac{1}{2}\, a^T M a - a^T M M^+ \tilde{Q} + "
    r"\text{const}, \quad \tilde{Q} = Q - h",
    "1/2 (M a - Q~)^T M^+ (M a - Q~) = 1/2 a^T M a - a^T M M^+ Q~ + const,   Q~ = Q - h",
)
"""Gauss's function with the pseudo-inverse of the mass matrix, multiplied out."""


def _method(results: PaperResults, findings: list[str]) -> Section:
    kkt = Formula(
        r"M a - J^T \lambda = Q - h, \quad J a = \gamma; \quad a \text{ is unique if and only if } "
        r"\operatorname{rank}\, [M^T\ J^T] = n",
        "M a - J^T lam = Q - h,   J a = gamma;   a is unique if and only if rank [M^T J^T] = n",
    )
    blocks: list[Block] = [
        Paragraph("Gauss's principle, multiplied out, holds for any positive semidefinite M:"),
        GAUSS,
        Paragraph(
            "Its optimality conditions are Lagrange's equations. The acceleration is unique if and only if no "
            "direction has neither mass nor constraint:"
        ),
        kkt,
        Paragraph(
            "The source's flow chart first asks whether M is singular and then forms Gauss's function with M⁻¹ or M⁺ "
            "(it also prints the sign of Q̃ reversed, which is corrected here). With M⁺ the function is"
        ),
        _WITH_PSEUDO_INVERSE,
        Paragraph(
            "so the force is replaced by its projection on the range of M. For a regular M that changes nothing; for a "
            "singular one it loses the part of the force that acts on massless directions, unless the constraints hold "
            "that part anyway. The first line above needs no inverse, hence no branch. The table compares the two on "
            "first steps, one of them in other coordinates of the same linkage: mechanics do not depend on coordinates."
        ),
    ]
    branches: list[Branch] | None = results.value("flow chart")
    if branches:
        rows = tuple((b.label, b.singular, b.outside, b.chart, b.plain, b.chart - b.plain) for b in branches)
        blocks.append(Table(
            "branch-002",
            "The first step by the flow chart and by the plain objective, both by linear algebra. 'Lost' is the part "
            "of (I − M M⁺) Q̃ that the constraints do not hold.",
            ("step", "M singular", "lost / N m", "θ₁″ by the flow chart", "θ₁″ by the plain objective", "difference"),
            rows,
        ))  # fmt: skip
        wrong = [b for b in branches if abs(b.chart - b.plain) > 1e-9]
        if wrong:
            worst = max(wrong, key=lambda b: abs(b.chart - b.plain))
            same = [b for b in branches if b.plain == worst.plain or abs(b.plain - worst.plain) < 1e-9]
            right = [b for b in same if abs(b.chart - b.plain) <= 1e-9]
            findings.append(
                f"M⁺ in Gauss's function agrees with the plain objective on {len(branches) - len(wrong)} of "
                f"{len(branches)} first steps; {worst.label}: {worst.chart:.4g} instead of {worst.plain:.4g} rad/s²"
                + (", although the same step in other coordinates comes out right." if right else ".")
            )
    return Section("method-002", "Method", tuple(blocks))


def _motions(results: PaperResults, findings: list[str]) -> Section:
    blocks: list[Block] = [
        Paragraph(
            "The source gives the torque at the 'initial moment' only. A torque at one instant moves nothing, so both "
            "readings are shown: constant, and absent. Lagrange's equations by direct linear algebra, DOP853 with "
            "tolerance 1e-12; circles: the reference trajectory."
        )
    ]
    figures, passages = [], []
    for label, name in zip(("constant torque", "no torque"), REFERENCES, strict=True):
        traj = results.trajectory(f"motion: {label}")
        if traj is None:
            continue
        reference = problem(PROBLEM).reference(name)
        here, there = comparison.common_instants(traj, reference)
        miss = float(np.abs(traj.q[here] - reference.q[there]).max())
        psi = traj.meta["parameters"]["psi"]
        blocks.append(animation_block(
            traj, problem(PROBLEM), f"paper-002-motion-{'torque' if psi else 'free'}",
            f"Motion with {label}; the path is that of the middle of the coupler.",
        ))  # fmt: skip
        marks = {"reference": (reference.t[there][::4], reference.q[there, 0][::4])}
        figures.append(line_figure(
            f"paper-002-theta1-{'torque' if psi else 'free'}", f"Crank angle θ₁, ψ = {psi:g} N m.",
            f"Crank angle over {traj.t[-1]:g} s from {traj.q[0, 0]:.3f} to {traj.q[-1, 0]:.3f} rad, at most "
            f"{miss:.1e} from the reference.",
            traj.t, {"this run": traj.q[:, 0]}, ("t / s", "θ₁ / rad"), size=(4.4, 2.8), markers=marks,
            data=pd.DataFrame({"t": traj.t, "theta1": traj.q[:, 0], "omega1": traj.v[:, 0]}),
        ))  # fmt: skip
        crossings = [(psi, angle, t, rate) for angle, t, rate in _crossings(traj)]
        passages += crossings
        first = f", at {crossings[0][1]:g} π first at t = {crossings[0][2]:.7f} s" if crossings else ""
        findings.append(
            f"Four-bar, ψ = {psi:g} N m: θ₁({traj.t[-1]:g} s) = {traj.q[-1, 0]:.12f} rad{first}; at most {miss:.1e} "
            f"from the reference, certified relative error of a step at most {traj.worst.relative_error:.1e}."
        )
    blocks.append(Gallery(tuple(figures)))
    if passages:
        blocks.append(Table(
            "passages-002",
            "The motion passes the positions where the printed row vanishes (cubic Hermite between recorded instants).",
            ("ψ / N m", "θ₁ / π", "t / s", "θ₁′ / (rad/s)"),
            tuple((psi, angle, f"{t:.7f}", rate) for psi, angle, t, rate in passages),
        ))  # fmt: skip
    return Section("motion-002", "Motion", tuple(blocks))


def _balance(results: PaperResults) -> list[Section]:
    """Multipliers, drift and energy of the two motions by Lagrange's equations."""
    runs = results.trajectories("motion: ")
    if not runs:
        return []
    labels = {"λ of θ₁ = θ₂": 0, "λ of θ₁ + θ₃ = π": 1}
    forces = [
        histories.forces_figure(
            f"paper-002-forces-{label.split()[0]}", v, labels,
            f"Multipliers of the two constraints, {label}: torques that hold the rods parallel. Nothing acts on the "
            f"hinge angle; the second is at most {float(np.abs(v.lam[:, 1]).max()):.1e} N m.", "N m",
        )
        for label, v in runs.items()
    ]  # fmt: skip
    changes = ", ".join(f"{float(v.energy[-1] - v.energy[0]):.3g} J with {label}" for label, v in runs.items())
    lead = (
        "The two rods turn alike, so the first multiplier is what has to pass from one crank to the other. The "
        f"energy changes by {changes}, which is to be compared with the torque's work; nothing stabilises here, so the "
        "drift is that of the integrator."
    )
    return [histories.balance_section("002", runs, forces, lead)]


def _crossings(traj: Trajectory) -> list[tuple[float, float, float]]:
    """Passages of odd multiples of pi/2 by theta1: the angle divided by pi, t, and the rate there."""
    if len(traj.t) < 2:
        return []
    angle = CubicHermiteSpline(traj.t, traj.q[:, 0], traj.v[:, 0])
    found = []
    for k in range(math.floor(traj.q[:, 0].min() / np.pi - 0.5), math.ceil(traj.q[:, 0].max() / np.pi)):
        level = k + 0.5
        times = angle.solve(level * np.pi, extrapolate=False)
        found += [(level, float(t), float(angle(t, 1))) for t in times]
    return sorted(found, key=lambda c: c[1])


def _figures(results: PaperResults, findings: list[str]) -> Section:
    lagrange = results.trajectory("control: Lagrange")
    genetic = results.trajectories("control: genetic algorithm, ")
    blocks: list[Block] = [
        Paragraph(
            "The source's figures: the height y₁ = (l/2) sin θ₁ of the centre of rod 1 by Lagrange's equations with "
            "multipliers (3), by Gauss's principle with a genetic algorithm that searches the acceleration of every "
            "step (4), and their difference (5). Both curves come from the same integrator, semi-implicit Euler with "
            f"{CONTROL_STEP:g} s, and the same regular row, so the difference is the solver's alone. The genetic "
            "algorithm runs with an infinite tolerance: its answers are accepted whatever they are, and the distance "
            "to the true acceleration is recorded at every step."
        ),
        Paragraph(_search_words()),
    ]
    if lagrange is None:
        return Section("figures-002", "Figures 3 to 5: Lagrange and the genetic algorithm", tuple(blocks))
    blocks += _heights(lagrange, genetic, findings)
    penalty: list[PenaltyResult] | None = results.value("penalty")
    if penalty:
        blocks += [
            Paragraph(
                "In full coordinates the search pays for violated constraints, which costs accuracy twice: the exact "
                "minimiser of the penalised function (by linear algebra) is not the true acceleration, and the "
                "population has to find it in a valley that a heavier penalty makes narrower."
            ),
            Table(
                "penalty-002",
                f"The first step with penalties: error in rad/s², of the exact penalised minimiser and of the genetic "
                f"algorithm over {len(penalty[0].errors)} seeds.",
                ("penalty", "bias", "genetic algorithm, median", "genetic algorithm, largest"),
                tuple((f"{p.weight:.0e}", p.bias, float(np.median(p.errors)), max(p.errors)) for p in penalty),
            ),
        ]
    return Section("figures-002", "Figures 3 to 5: Lagrange and the genetic algorithm", tuple(blocks))


def _heights(lagrange: Trajectory, genetic: dict[str, Trajectory], findings: list[str]) -> list[Block]:
    """The figures of the source, the certified errors of their steps, and what the genetic algorithm costs."""
    t, half = lagrange.t, lagrange.meta["parameters"]["l"] / 2
    y1 = half * np.sin(lagrange.q[:, 0])
    whole = {k: v for k, v in genetic.items() if len(v.t) == len(t)}
    heights = {k: half * np.sin(v.q[:, 0]) for k, v in whole.items()}
    reference = problem(PROBLEM).reference(REFERENCES[0])
    inside = reference.t <= t[-1] + 1e-9
    marks = {"reference": (reference.t[inside][::2], half * np.sin(reference.q[inside, 0][::2]))}
    figures = [line_figure(
        "paper-002-figure-3", "Figure 3. Height y₁ of the centre of rod 1 by Lagrange's equations.",
        f"Height from {y1[0]:.4f} to {y1[-1]:.4f} m over {t[-1]:g} s. Circles: the reference.",
        t, {"Lagrange": y1}, ("t / s", "y₁ / m"), data=pd.DataFrame({"t": t, "y1": y1}), size=(4.4, 2.8), markers=marks,
    )]  # fmt: skip
    if heights:
        last = ", ".join(f"{k} {float(y[-1]):.4f} m" for k, y in heights.items())
        figures.append(line_figure(
            "paper-002-figure-4", "Figure 4. Height y₁ by Gauss's principle and the genetic algorithm.",
            f"Height at {t[-1]:g} s: {last}; Lagrange {y1[-1]:.4f} m.", t, heights, ("t / s", "y₁ / m"),
            size=(4.4, 2.8),
        ))  # fmt: skip
    blocks: list[Block] = [Gallery(tuple(figures))]
    if heights:
        difference = {k: y1 - y for k, y in heights.items()}
        largest = ", ".join(f"{k} at most {float(np.abs(d).max()):.1e} m" for k, d in difference.items())
        blocks.append(line_figure(
            "paper-002-figure-5", "Figure 5. |y₁ by Lagrange − y₁ by the genetic algorithm| (logarithmic).",
            f"Difference over {t[-1]:g} s: {largest}.", t, difference, ("t / s", "|difference of y₁| / m"), log=True,
        ))  # fmt: skip
        bounds = {"Lagrange": lagrange.relative_error, **{k: v.relative_error for k, v in whole.items()}}
        words = ", ".join(f"{k} {float(np.max(b)):.1e}" for k, b in bounds.items())
        blocks.append(line_figure(
            "paper-002-bounds", "Certified relative error of every step of these runs (logarithmic).",
            f"Largest certified relative error: {words}.", t, bounds, ("t / s", "certified relative error"), log=True,
            above=True,
        ))  # fmt: skip
        blocks.append(_control_table(lagrange, whole, difference))
        cost = {k: _per_solve(v) / _per_solve(lagrange) for k, v in whole.items()}
        for k, d in difference.items():
            findings.append(Timed(
                f"Genetic algorithm as the solver of {len(t)} steps, {k}: y₁ differs from Lagrange's by at most "
                f"{float(np.abs(d).max()):.1e} m over {t[-1]:g} s; certified relative error of its steps up to "
                f"{whole[k].worst.relative_error:.1e} (median {float(np.median(whole[k].relative_error)):.1e}), at "
                f"{cost[k]:.0f} times the cost of a linear solve."
            ))  # fmt: skip
    return blocks


def _search_words() -> str:
    o = {k: parse_options(registry.load("solver", "deap"), options) for k, options in GENETIC.items()}
    null, full = o.values()
    return (
        "The source does not give its settings. Ours: real-coded, blend crossover, Gaussian mutation that shrinks, "
        f"{null.population} individuals, {null.generations} generations, one elite, warm start from the previous step. "
        "In null-space coordinates every candidate satisfies the constraints and one unknown is left; in full "
        f"coordinates three unknowns are searched and a squared violation costs {full.penalty:.0e}."
    )


def _per_solve(traj: Trajectory) -> float:
    return float(traj.timing["solve"] / traj.meta["evaluations"])


def _control_table(lagrange: Trajectory, genetic: dict[str, Trajectory], difference: dict[str, Vector]) -> Table:
    def row(label: str, v: Trajectory, gap: float) -> tuple[Any, ...]:
        return (
            label, v.meta["evaluations"], v.worst.relative_error, float(np.median(v.relative_error)),
            v.worst.constraint_residual, gap, v.q[-1, 0], 1e6 * _per_solve(v),
        )  # fmt: skip

    rows = [row("Lagrange, linear algebra", lagrange, 0.0)]
    rows += [row(f"genetic, {k}", v, float(np.abs(difference[k]).max())) for k, v in genetic.items()]
    return Table(
        "control-002",
        f"The runs of figures 3 to 5 ({lagrange.t[-1]:g} s, semi-implicit Euler, {CONTROL_STEP:g} s).",
        ("solver", "steps", "largest certified", "median certified", "constraint residual", "largest |Δy₁| / m",
         f"θ₁({lagrange.t[-1]:g} s) / rad", "solve / µs per step"),
        tuple(rows), ("solve / µs per step",),
    )  # fmt: skip
