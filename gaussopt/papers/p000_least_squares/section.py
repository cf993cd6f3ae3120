"""Paper 000, Yuan & Ge 2016: the crank-slider by least squares with generalised inverses."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gaussopt.comparison import common_instants, errors_against
from gaussopt.core.step_data import Vector
from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.problem import problem
from gaussopt.modelling.reference import ReferenceData
from gaussopt.papers import histories
from gaussopt.papers import report_parts as common
from gaussopt.papers.figures import line_figure, remarks, thin
from gaussopt.papers.p000_least_squares.motions import PROBLEM, REFERENCE
from gaussopt.papers.p000_least_squares.motions import cases as cases
from gaussopt.papers.report_parts import GAUSS, PaperResults
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.animation.animate import animation_block
from gaussopt.reporting.document import Block, Figure, Formula, Gallery, Paragraph, Section, Table, Timed
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure

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
"""Number in the source, name, coordinate, what, label, unit."""


def section(outcomes: dict[str, JobOutcome], quick: bool) -> tuple[Section, tuple[str, ...]]:
    """The paper's section and the findings for the summary."""
    results = PaperResults(outcomes)
    entry = problem(PROBLEM)
    reference = entry.reference(REFERENCE)
    findings: list[str] = []
    parts = (
        _model(),
        _method(),
        _motions(results, reference, findings),
        _equation_16(results, findings),
        _accuracy(results, reference, findings),
        _states_section(results, findings),
        _control(results, findings),
        _drift(results, reference),
        common.errata_section(entry, "000", results, findings),
    )
    title = "Paper 000: crank-slider, least squares (Yuan & Ge 2016)"
    return Section("paper-000", title, (Paragraph(entry.description),), parts), tuple(findings)


def _model() -> Section:
    table = common.parameters_table(problem(PROBLEM), "parameters-000", "Parameters of the crank-slider.")
    text = (
        "Coordinates q = (x₁, y₁, θ₁, x₂, y₂, θ₂, x₃): centre and angle of the crank, centre and angle of the "
        "connecting rod, position of the slider. M = diag(m₁, m₁, I₁, m₂, m₂, I₂, m₃); gravity, a constant torque τ "
        "on the crank, and a spring k and damper c on the slider act. Six holonomic constraints leave one degree of "
        "freedom. Everything below is derived from the energies and the constraint functions; nothing is typed in."
    )
    drawing = drawing_figure(problem(PROBLEM), "paper-000-drawing")
    return Section("model-000", "Model", (Paragraph(text), drawing, table))


def _method() -> Section:
    formula = Formula(
        r"a = J^+ \gamma + P \left(M^{1/2} P\right)^+ b, \quad P = I - J^+ J, \quad "
        r"b = -\left(M^{1/2} J^+ \gamma - M^{-1/2} (Q - h)\right)",
        "a = J^+ gamma + P (M^(1/2) P)^+ b,   P = I - J^+ J,   b = -(M^(1/2) J^+ gamma - M^(-1/2) (Q - h))",
    )
    blocks = (
        Paragraph("Gauss's principle: of all accelerations that the constraints allow, the true one solves"),
        GAUSS,
        Paragraph(
            "The source solves the constraints by a generalised inverse and minimises over what is left. Its eq. (14), "
            "read with the Moore-Penrose inverse of the product, is exact:"
        ),
        formula,
        Paragraph(
            "J⁺ is the Moore-Penrose inverse of J, P the projector on the accelerations that the constraints leave "
            "free (J P = 0), I the unit matrix; N in units is the newton."
        ),
        Paragraph(
            "Its eq. (16) splits that inverse into a product of inverses, which is false, and thereby minimises the "
            "unweighted distance to the free acceleration: the masses drop out. It satisfies the constraints to the "
            "last digit, which is why a constraint check alone never certifies a step here."
        ),
    )
    return Section("method-000", "Method", blocks)


def _motions(results: PaperResults, reference: ReferenceData, findings: list[str]) -> Section:
    exact = results.trajectory("motion: exact")
    blocks: list[Block] = [
        Paragraph(
            "The figures of the source for its printed case (τ = -0.5 N m, start stretched out and at rest), "
            "numbered as there. Line: this run, Lagrange's equations by direct linear algebra, DOP853 with tolerance "
            "1e-12. Circles: the reference trajectory, good to 1e-13."
        )
    ]
    if exact is not None:
        blocks.append(animation_block(
            exact, problem(PROBLEM), "paper-000-motion",
            f"Motion with the printed torque; the crank's speed is {abs(exact.v[-1, 2]):.3g} rad/s at the end of these "
            f"{exact.t[-1]:g} s.",
        ))  # fmt: skip
        blocks.append(Gallery(tuple(_history(f, exact, reference) for f in FIGURES)))
        last = int(np.argmin(np.abs(reference.t - exact.t[-1])))
        miss = abs(exact.q[-1, 2] - reference.q[last, 2])
        findings.append(
            f"Crank-slider, printed torque: θ₁({exact.t[-1]:g} s) = {exact.q[-1, 2]:.12f} rad, {miss:.1e} from the "
            f"reference; largest certified relative error of a step {exact.worst.relative_error:.1e}."
        )
    settles = results.trajectory("motion: settles")
    if settles is not None:
        blocks.append(animation_block(
            settles, problem(PROBLEM, tau=0.0), "paper-000-settling",
            f"Motion without the torque: the mechanism swings under its weight; after {settles.t[-1]:g} s the crank's "
            f"speed is {abs(settles.v[-1, 2]):.1e} rad/s.",
        ))  # fmt: skip
        blocks.append(_settling(settles))
        findings.append(
            f"Without the torque the mechanism swings{_falling(settles)}: "
            f"θ₁({settles.t[-1]:g} s) = {settles.q[-1, 2]:.10f} rad at {abs(settles.v[-1, 2]):.1e} rad/s."
        )
    return Section("motion-000", "Motion: figures 2 to 9", tuple(blocks))


def _history(entry: tuple[int, str, int, str, str, str], exact: Trajectory, reference: ReferenceData) -> Figure:
    number, name, i, what, label, unit = entry
    values: Vector = getattr(exact, what)[:, i]
    here, there = common_instants(exact, reference)
    miss = float(np.abs(values[here] - getattr(reference, what)[there, i]).max())
    inside = reference.t <= exact.t[-1] + 1e-9
    marks = {"reference": (reference.t[inside][::4], getattr(reference, what)[inside, i][::4])}
    symbol = label.split()[-1]
    words = f"between {values.min():.3g} and {values.max():.3g} {unit}, at most {miss:.0e} {unit} from the reference"
    return line_figure(
        f"paper-000-figure-{number}", f"Figure {number}. {label}, {words}.", f"{label} over time: {words}.", exact.t,
        {"this run": values}, ("t / s", f"{symbol} / {unit}"), data=pd.DataFrame({"t": exact.t, name: values}),
        size=(4.4, 2.8), markers=marks, above=True,
    )  # fmt: skip


def _equation_16(results: PaperResults, findings: list[str]) -> Section:
    runs = results.trajectories("eq. (16): ")
    text = (
        "What eq. (16) does to the motion: from the same start, integrated with the same tolerance (DOP853, 1e-10)"
        f"{_driven(runs)}. Such a run is possible only with an infinite tolerance; otherwise a step whose certificate "
        "fails is refused."
    )
    blocks: list[Block] = [Paragraph(text)]
    names = {"lagrange": "exact", "least-squares-as-printed": "eq. (16)"}
    labels = {k: f"{names[k.split(',')[0]]}, τ = {k.split('= ')[1]}" for k in runs}
    rows = tuple((labels[k], v.q[-1, 2], v.v[-1, 2], v.worst.relative_error, v.worst.constraint_residual)
                 for k, v in runs.items())  # fmt: skip
    blocks.append(Table(
        "equation-16-000", "Crank angle and rate after 0.25 s.",
        ("run", "θ₁ / rad", "θ₁′ / (rad/s)", "largest certified", "largest constraint residual"), rows,
    ))  # fmt: skip
    if len(runs) == 4:
        t = next(iter(runs.values())).t
        curves = {labels[k]: v.q[:, 2] for k, v in runs.items()}
        words = "; ".join(f"{k}: {float(c[-1]):.4g} rad" for k, c in curves.items())
        blocks.append(line_figure(
            "paper-000-equation-16",
            f"Crank angle by the exact equations and by eq. (16) as printed, after 0.25 s: {words}.",
            f"Crank angle after 0.25 s: {words}.", t, curves, ("t / s", "θ₁ / rad"), size=(3.8, 2.8), above=True,
        ))  # fmt: skip
        exact, printed = (float(c[-1]) for c in list(curves.values())[:2])
        findings.append(common.Important(
            f"Integrated as printed (τ = -0.5 N m), eq. (16) brings the crank to {printed:.3f} rad after 0.25 s where "
            f"the true motion is at {exact:.4f} rad, although each of its steps holds the constraints to "
            f"{list(runs.values())[1].worst.constraint_residual:.0e}.",
            "paper-000-equation-16", "equation-16-000",
        ))  # fmt: skip
    return Section("equation-16-000", "The motion by eq. (16) as printed", tuple(blocks))


def _driven(runs: dict[str, Trajectory]) -> str:
    """The first acceleration of the crank by eq. (16) divided by the true one, as a clause."""
    parts = []
    for tau, how in ((-0.5, "with the torque"), (0.0, "without it")):
        pair = [runs.get(f"{f}, tau = {tau:g}") for f in ("least-squares-as-printed", "lagrange")]
        if pair[0] is not None and pair[1] is not None:
            parts.append(f"{pair[0].a[0, 2] / pair[1].a[0, 2]:.3g} times as hard {how}")
    return f", the crank is driven {' and '.join(parts)} at the start" if parts else ""


def _falling(settles: Trajectory) -> str:
    """A clause that is true if every quarter of the motion swings less than the one before it, else nothing."""
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
    table = Table(
        "accuracy-000",
        "The printed case by RK4 with dt = 1 ms, without stabilisation: the errors in q are of the whole motion, "
        "integrator and solver together; the certified relative error is that of the steps.",
        ("formulation by solver", "status", "final error in q", "largest error in q", "certified",
         "largest energy error / J", "position drift", "seconds"),
        tuple(rows), ("seconds",),
    )  # fmt: skip
    blocks: list[Block] = [table]
    if curves and len({len(c) for c in curves.values()}) == 1:
        spread = max(float(np.abs(np.array(list(curves.values())) - curves[next(iter(curves))]).max()), 0.0)
        largest_error = max(float(np.max(c)) for c in curves.values())
        findings.append(
            f"{len(curves)} formulation-solver pairs carry the motion; the errors of their trajectories differ by at "
            f"most {spread:.1e}"
            + (", so the integrator, not the solver, limits the accuracy." if spread < 0.1 * largest_error else ".")
        )
        for name, what, data, ylabel in (
            ("paper-000-error", "Error against the reference", curves, "max |q - q_ref|"),
            ("paper-000-certified", "Certified relative error of the steps", certified, "certified relative error"),
        ):
            worst = {k: f"{float(np.max(v)):.1e}" for k, v in data.items()}
            alike = len(set(worst.values())) == 1
            largest = f"{worst[next(iter(worst))]} by each pair" if alike else "; ".join(map(" ".join, worst.items()))
            caption = f"{what} (RK4, dt = 1 ms, logarithmic); largest: {largest}.{remarks(data, log=True)}"
            alt = f"{what}; largest: {largest}."
            blocks.append(line_figure(name, caption, alt, t, data, ("t / s", ylabel), log=True, above=True))
    return Section("accuracy-000", "Formulations and solvers on the motion", tuple(blocks))


def _states_section(results: PaperResults, findings: list[str]) -> Section:
    blocks = common.formulations_and_solvers("000", results, f"States of the reference {REFERENCE}.")
    printed = results.value("states: least-squares-as-printed")
    if printed is not None and printed.pairs:
        wrong = printed.pairs[0]
        findings.append(
            f"Eq. (16) as printed holds the constraints to {wrong.constraint_residual:.1e} and is wrong by up to "
            f"{wrong.error:.1f} times 1 + the largest true acceleration; its certificate passes on "
            f"{wrong.solved} of {wrong.states} states."
        )
    return Section("states-000", "Formulations and solvers on given states", tuple(blocks))


def _control(results: PaperResults, findings: list[str]) -> Section:
    controls = results.trajectories("control: ")
    end = f"{max((v.t[-1] for v in controls.values()), default=0.0):g} s"
    rows = tuple(
        (k, v.meta["evaluations"], v.worst.relative_error, float(np.median(v.relative_error)),
         v.worst.constraint_residual,
         v.q[-1, 2], 1e6 * v.timing["solve"] / v.meta["evaluations"])
        for k, v in controls.items()
    )  # fmt: skip
    table = Table(
        "control-000",
        f"The first {end} with the papers' integrator (semi-implicit Euler, dt = 1 ms), each step solved by the solver "
        "named and accepted at any accuracy; the certified relative errors are recorded.",
        ("solver", "steps", "largest certified", "median certified", "constraint residual", f"θ₁({end}) / rad",
         "solve / µs per step"),
        rows, ("solve / µs per step",),
    )  # fmt: skip
    blocks: list[Block] = [
        Paragraph(
            "The genetic algorithm is a control, not a competitor. In null-space coordinates the step has one unknown "
            "and the objective is a parabola; in full coordinates it searches seven unknowns and pays for violated "
            "constraints."
        ),
        table,
    ]
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
            cost = [v.timing["solve"] / v.meta["evaluations"] for v in (ga, newton)]
            findings.append(Timed(
                f"Genetic algorithm in full coordinates: certified relative error up to {ga.worst.relative_error:.1e} "
                f"where Newton has {newton.worst.relative_error:.1e}, at {cost[0] / cost[1]:.0f} times the cost of a "
                "solve."
            ))  # fmt: skip
    return Section("control-000", "OSQP, Newton and a genetic algorithm as the solver of every step", tuple(blocks))


def _drift(results: PaperResults, reference: ReferenceData) -> Section:
    runs = results.trajectories("drift: ")
    blocks: list[Block] = [
        Paragraph(
            "Solving each step exactly keeps the second derivative of the constraints at zero; errors of position and "
            "velocity still accumulate in the integrator."
        )
    ]
    rows = tuple(
        (label, str(v.status), v.t[-1], v.position_drift.max(), v.velocity_drift.max(),
         float(np.abs(histories.energy_residual(v)).max()))
        for label, v in runs.items()
    )  # fmt: skip
    blocks.append(Table(
        "drift-000",
        "Constraint drift and energy with and without stabilisation, dt = 1 ms. The energy residual is the largest "
        "|E(t) - E(0) - W(t)|, W the work of the damper by Simpson's rule over the recorded steps.",
        ("run", "status", "end / s", "position drift", "velocity drift", "energy residual / J"), rows,
    ))  # fmt: skip
    blocks += _drift_figures(runs, reference)
    exact = results.trajectory("motion: exact")
    if exact is not None:
        blocks.append(Gallery(tuple(
            histories.forces_figure(
                f"paper-000-forces-{what}", exact, {f"λ{'₁₂₃₄₅₆'[i]}": i for i in rows},
                f"Constraint forces, {where} (rows {rows[0] + 1} and {rows[1] + 1} of the constraints).", "N",
            )
            for what, rows, where in (("bearing", (0, 1), "bearing of the crank"), ("pin", (2, 3), "crank pin"),
                                      ("slider", (4, 5), "slider: along and across its guide"))
        )))  # fmt: skip
    return Section("drift-000", "Forces, constraint drift and energy", tuple(blocks))


def _drift_figures(runs: dict[str, Trajectory], reference: ReferenceData) -> list[Block]:
    """Drift and energy of the runs that did not stop early; those are in the table alone."""
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
        caption = f"{what} (logarithmic); largest: {words}.{remarks(data, log=True)}"
        alt = f"{what}; largest: {words}."
        blocks.append(line_figure(name, caption, alt, t, data, ("t / s", what), log=True, above=True))
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
