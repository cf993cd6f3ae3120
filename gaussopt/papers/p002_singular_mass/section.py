"""Paper 002, Yang & Yao 2017: a four-bar linkage with a singular mass matrix, and a genetic algorithm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussopt.core.step_data import Matrix, StepData, Vector
from gaussopt.modelling.problem import problem
from gaussopt.papers import histories
from gaussopt.papers import report_parts as common
from gaussopt.papers.formulas import GAUSS
from gaussopt.papers.p002_singular_mass.noisy_linkage import (
    END,
    NOISE,
    OFF,
    PRINTED,
    REGULAR,
    STEP,
    NoiseResult,
    noisy,
    runs,
)
from gaussopt.papers.report_parts import Results
from gaussopt.processes.job import Job, Outcome
from gaussopt.reporting.animation.animate import animation_block
from gaussopt.reporting.document import Block, Figure, Formula, Gallery, Paragraph, Section, Table, Timed
from gaussopt.reporting.figures import plots
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure

if TYPE_CHECKING:
    from gaussopt.integration.trajectory import Trajectory

PROBLEM = "four-bar"
REFERENCES = ("four-bar-A", "four-bar-B")
ROWS = {REGULAR: {}, PRINTED: {"variant": "printed-constraint"}}
"""theta1 - theta2 = 0, and l sin(theta1) - l sin(theta2) = 0 as printed."""

GENETIC: dict[str, dict[str, Any]] = {
    "null-space coordinates": {},
    "full coordinates with penalty": {"coordinates": "full"},
}
"""Two ways to meet the constraints in the search, with options of the solver `deap`."""

PENALTIES = (1e2, 1e4, 1e6)
CONTROL_STEP = 1e-3
"""Step of the semi-implicit Euler scheme of figures 3 to 5, s."""

CROSSING_STEPS = (0.01, 0.005, 0.002, 0.001)
APPROACH_STEPS = (1e-5, 4e-6, 1e-6)
"""Steps of the runs that begin just before the singular position, s."""


# -- the work ------------------------------------------------------------------------------------------


def cases(quick: bool) -> list[Job]:
    """Everything that is computed for this paper."""
    found = [
        Job("motion: constant torque", common.motion, _settings("lagrange", "kkt", stepper="dop853", rtol=1e-12,
             atol=1e-12, dt=0.02 if quick else 0.01, t_end=2.0), 1.0),
        Job("motion: no torque", common.motion, _settings("lagrange", "kkt", {"psi": 0.0}, stepper="dop853",
             rtol=1e-12, atol=1e-12, dt=0.05 if quick else 0.025, t_end=5.0), 1.0),
        Job("flow chart", flow_chart, {}, 0.5),
        Job("penalty", penalties, {"seeds": 1 if quick else 5}, 0.5 if quick else 1.5),
    ]  # fmt: skip
    end = 0.005 if quick else 0.5
    control: dict[str, Any] = {"stepper": "semi-implicit", "dt": CONTROL_STEP, "t_end": end}
    found.append(Job("control: Lagrange", common.motion, _settings("lagrange", "kkt", **control), 0.3))
    for label, options in GENETIC.items():
        settings = _settings("gauss", "deap", tolerance=math.inf, solver_options=options, **control)
        found.append(Job(f"control: genetic algorithm, {label}", common.motion, settings, 24.0 * end))
    for row, variant in ROWS.items():
        for dt in CROSSING_STEPS[:2] if quick else CROSSING_STEPS:
            settings = _settings("lagrange", "kkt", variant, dt=dt, t_end=1.0)
            found.append(Job(f"crossing: {row}, {dt:g}", common.motion, settings, 6e-4 / dt))
    found += [Job(f"approach: {dt:g}", approach, {"dt": dt}, 0.3)
              for dt in APPROACH_STEPS[: 2 if quick else None]]  # fmt: skip
    count = runs(quick)
    noises: list[tuple[str, float, bool]] = [(row, amplitude, False) for row in ROWS for amplitude in NOISE]
    for row, amplitude, admissible in (*noises, (PRINTED, NOISE[-1], True)):
        arguments = {"row": row, "amplitude": amplitude, "count": count, "admissible": admissible}
        label = f"noise: {row}, {amplitude:g}" + (", admissible" if admissible else "")
        found.append(Job(label, noisy, arguments, 2e-4 * count + 0.1))
    found += common.states_cases(PROBLEM, *((REFERENCES[:1], 50, common.FIRST_ALONE) if quick else (REFERENCES, 2)))
    return found + common.errata_cases(PROBLEM, {})


def _settings(formulation: str, solver: str, settings: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return {"name": PROBLEM, "formulation": formulation, "solver": solver, "settings": settings or {}, **options}


@dataclass(frozen=True, slots=True)
class Branch:
    """One step by the source's flow chart (M^-1 or M^+) and by the objective without any inverse.

    Attributes
    ----------
    singular : bool
        Whether M is singular: the question of the flow chart.
    chart, plain : float
        First acceleration by the flow chart and by 1/2 a^T M a - a^T Q~, rad/s^2.
    outside : float
        Part of (I - M M^+) Q~ outside the range of J^T, which the flow chart loses.
    """

    label: str
    singular: bool
    chart: float
    plain: float
    outside: float


def flow_chart() -> list[Branch]:
    """The flow chart on the start of the linkage, in two sets of coordinates, and on a regular M."""
    crank = problem("crank-slider")
    regular = crank.system.evaluate(0.0, crank.q0, crank.v0)
    found = [_branch("crank-slider, first step", regular, 2)]
    # theta1 + theta3 instead of theta3: the same linkage, the same masses.
    other = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    for torque in (0.0, 100.0):
        entry = problem(PROBLEM, tau3=torque)
        step = entry.system.evaluate(0.0, entry.q0, entry.v0)
        found.append(_branch(f"four-bar, τ₃ = {torque:g} N m", step, 0))
        found.append(_branch(f"the same in (θ₁, θ₂, θ₁ + θ₃), τ₃ = {torque:g} N m", _in(other, step), 0))
    return found


def _branch(label: str, step: StepData, i: int) -> Branch:
    from gaussopt.solving.solve import solve_step

    chart, plain = (solve_step(step, name, "kkt", tolerance=math.inf).a for name in ("pinv-mass-as-printed", "gauss"))
    assert chart is not None
    assert plain is not None
    lost = step.force - step.M @ (np.linalg.pinv(step.M) @ step.force)
    held, *_ = np.linalg.lstsq(step.J.T, lost, rcond=None)
    singular = bool(np.linalg.matrix_rank(step.M) < step.n)
    return Branch(label, singular, float(chart[i]), float(plain[i]), float(np.linalg.norm(lost - step.J.T @ held)))


def _in(T: Matrix, step: StepData) -> StepData:
    """The step in the coordinates T q."""
    assert step.q is not None
    assert step.v is not None
    S = np.linalg.inv(T)
    return StepData.smooth(
        S.T @ step.M @ S, S.T @ step.h, S.T @ step.Q, step.J @ S, step.gamma, step.t, T @ step.q, T @ step.v
    )


@dataclass(frozen=True, slots=True)
class PenaltyResult:
    """A penalised first step: its exact minimiser, and what the genetic algorithm finds; errors in rad/s^2."""

    weight: float
    bias: float
    errors: tuple[float, ...]


def penalties(seeds: int) -> list[PenaltyResult]:
    """What a penalty costs at the start, before and after the search."""
    from gaussopt.solving.solve import solve_step

    entry = problem(PROBLEM)
    step = entry.system.evaluate(0.0, entry.q0, entry.v0)
    exact = solve_step(step, "lagrange", "kkt").a
    assert exact is not None
    found = []
    for weight in PENALTIES:
        K = step.M + 2 * weight * step.J.T @ step.J
        minimiser = np.linalg.solve(K, step.force + 2 * weight * step.J.T @ step.gamma)
        errors = []
        for seed in range(seeds):
            options = {**GENETIC["full coordinates with penalty"], "penalty": weight, "seed": seed}
            a = solve_step(step, "gauss", "deap", tolerance=math.inf, **options).a
            errors.append(math.inf if a is None else float(np.abs(a - exact).max()))
        found.append(PenaltyResult(weight, float(np.abs(minimiser - exact).max()), tuple(errors)))
    return found


def approach(dt: float) -> Trajectory:
    """From the last reference state before theta1 = pi/2 over the pole, with the printed row."""
    reference = problem(PROBLEM).reference(REFERENCES[0])
    k = int(np.flatnonzero(reference.q[:, 0] < np.pi / 2)[-1])
    ahead = (np.pi / 2 - reference.q[k, 0]) / reference.v[k, 0]
    settings = {**ROWS[PRINTED], "q0": reference.q[k], "v0": reference.v[k]}
    return common.motion(PROBLEM, "lagrange", "kkt", settings, dt=dt, t_end=2 * ahead)


# -- the text ------------------------------------------------------------------------------------------


def section(outcomes: dict[str, Outcome], quick: bool) -> tuple[Section, tuple[str, ...]]:
    """The paper's section and the findings for the summary."""
    results = Results(outcomes)
    entry = problem(PROBLEM)
    findings: list[str] = []
    parts = (
        _model(),
        _method(results, findings),
        _motions(results, findings),
        *_balance(results),
        _figures(results, findings),
        _singular(results, findings),
        _noise(results, findings),
        Section("states-002", "Formulations and solvers on given states", tuple(common.formulations_and_solvers(
            "002", results, f"States of the references {' and '.join(REFERENCES)}, with the torque and without."))),
        common.errata_section(entry, "002", results, findings),
    )  # fmt: skip
    title = "Paper 002: four-bar linkage, singular mass matrix, genetic algorithm (Yang & Yao 2017)"
    return Section("paper-002", title, (Paragraph(entry.description),), parts), tuple(findings)


def _model() -> Section:
    entry = problem(PROBLEM)
    step = entry.system.evaluate(0.0, entry.q0, entry.v0)
    diagonal = ", ".join(f"{x:g}" for x in step.M.diagonal())
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


def _method(results: Results, findings: list[str]) -> Section:
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
            "singular one it loses the part of the force that acts on massless directions, unless the constraints "
            "hold that part anyway. The first line above needs no inverse, hence no branch. The table compares the two "
            "on first steps, one of them in other coordinates of the same linkage: mechanics do not depend on "
            "coordinates."
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


def _motions(results: Results, findings: list[str]) -> Section:
    import pandas as pd

    from gaussopt import comparison

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
        figures.append(Figure(
            f"paper-002-theta1-{'torque' if psi else 'free'}", f"Crank angle θ₁, ψ = {psi:g} N m.",
            f"Crank angle over {traj.t[-1]:g} s from {traj.q[0, 0]:.3f} to {traj.q[-1, 0]:.3f} rad, at most "
            f"{miss:.1e} from the reference.",
            plots.lines(traj.t, {"this run": traj.q[:, 0]}, "t / s", "θ₁ / rad", size=(4.4, 2.8), markers=marks),
            pd.DataFrame({"t": traj.t, "theta1": traj.q[:, 0], "omega1": traj.v[:, 0]}),
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


def _balance(results: Results) -> list[Section]:
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
    """Where theta1 passes an odd multiple of pi/2: the angle over pi, t, and the rate there."""
    from scipy.interpolate import CubicHermiteSpline

    if len(traj.t) < 2:
        return []
    angle = CubicHermiteSpline(traj.t, traj.q[:, 0], traj.v[:, 0])
    found = []
    for k in range(math.floor(traj.q[:, 0].min() / np.pi - 0.5), math.ceil(traj.q[:, 0].max() / np.pi)):
        level = k + 0.5
        times = angle.solve(level * np.pi, extrapolate=False)
        found += [(level, float(t), float(angle(t, 1))) for t in times]
    return sorted(found, key=lambda c: c[1])


def _figures(results: Results, findings: list[str]) -> Section:
    import pandas as pd

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
    t, half = lagrange.t, lagrange.meta["parameters"]["l"] / 2
    y1 = half * np.sin(lagrange.q[:, 0])
    whole = {k: v for k, v in genetic.items() if len(v.t) == len(t)}
    heights = {k: half * np.sin(v.q[:, 0]) for k, v in whole.items()}
    reference = problem(PROBLEM).reference(REFERENCES[0])
    inside = reference.t <= t[-1] + 1e-9
    marks = {"reference": (reference.t[inside][::2], half * np.sin(reference.q[inside, 0][::2]))}
    figures = [Figure(
        "paper-002-figure-3", "Figure 3. Height y₁ of the centre of rod 1 by Lagrange's equations.",
        f"Height from {y1[0]:.4f} to {y1[-1]:.4f} m over {t[-1]:g} s. Circles: the reference.",
        plots.lines(t, {"Lagrange": y1}, "t / s", "y₁ / m", size=(4.4, 2.8), markers=marks),
        pd.DataFrame({"t": t, "y1": y1}),
    )]  # fmt: skip
    if heights:
        last = ", ".join(f"{k} {float(y[-1]):.4f} m" for k, y in heights.items())
        figures.append(Figure(
            "paper-002-figure-4", "Figure 4. Height y₁ by Gauss's principle and the genetic algorithm.",
            f"Height at {t[-1]:g} s: {last}; Lagrange {y1[-1]:.4f} m.",
            plots.lines(t, heights, "t / s", "y₁ / m", size=(4.4, 2.8)), pd.DataFrame({"t": t, **heights}),
        ))  # fmt: skip
    blocks.append(Gallery(tuple(figures)))
    if heights:
        difference = {k: y1 - y for k, y in heights.items()}
        largest = ", ".join(f"{k} at most {float(np.abs(d).max()):.1e} m" for k, d in difference.items())
        blocks.append(Figure(
            "paper-002-figure-5", "Figure 5. |y₁ by Lagrange − y₁ by the genetic algorithm| (logarithmic).",
            f"Difference over {t[-1]:g} s: {largest}.",
            plots.lines(t, difference, "t / s", "|difference of y₁| / m", log=True),
            pd.DataFrame({"t": t, **difference}),
        ))  # fmt: skip
        bounds = {"Lagrange": lagrange.relative_error, **{k: v.relative_error for k, v in whole.items()}}
        words = ", ".join(f"{k} {float(np.max(b)):.1e}" for k, b in bounds.items())
        blocks.append(Figure(
            "paper-002-bounds", "Certified relative error of every step of these runs (logarithmic).",
            f"Largest certified relative error: {words}.",
            plots.lines(t, bounds, "t / s", "certified relative error", log=True, above=True),
            pd.DataFrame({"t": t, **bounds}),
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


def _search_words() -> str:
    from gaussopt.core import registry
    from gaussopt.core.solver import parse_options

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


def _distance(traj: Trajectory) -> Vector:
    """Angle to the nearest position where the printed row vanishes."""
    return np.asarray(np.abs((traj.q[:, 0] % np.pi) - np.pi / 2))


def _singular(results: Results, findings: list[str]) -> Section:
    import pandas as pd

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
    finest = f"{CROSSING_STEPS[-1]:g}"
    curves: dict[str, tuple[Vector, Vector]] = {}
    for row in ROWS:
        keys = [k for k in runs if k.startswith(row)]
        key = f"{row}, {finest}" if f"{row}, {finest}" in runs else (keys[-1] if keys else "")
        if key:
            v = runs[key]
            passed = v.q[:, 0] < np.pi / 2
            curves[f"{key} s"] = _distance(v)[passed], np.abs(v.lam[passed, 0])
    for k, v in near.items():
        passed = v.q[:, 0] < np.pi / 2
        curves[f"printed row, {k} s"] = _distance(v)[passed], np.abs(v.lam[passed, 0])
    curves = {k: (x, y) for k, (x, y) in curves.items() if len(x)}
    if curves:
        ordered = {k: (x[np.argsort(x)], y[np.argsort(x)]) for k, (x, y) in curves.items()}
        svg = plots.lines(
            {k: x for k, (x, _) in ordered.items()}, {k: y for k, (_, y) in ordered.items()},
            "|θ₁ − π/2| / rad", "|λ₁| / N m (printed row: N)", log=True, logx=True,
        )  # fmt: skip
        data = pd.concat([pd.DataFrame({"run": k, "distance": x, "lambda1": y}) for k, (x, y) in ordered.items()])
        largest = ", ".join(
            f"{k} {float(y.max()):.1e} at {float(x[np.argmax(y)]):.0e} rad" for k, (x, y) in ordered.items()
        )
        blocks.append(Figure(
            "paper-002-multiplier",
            "Multiplier of the first row on the way to the singular position, against the distance from it, both "
            "logarithmic.",
            f"Largest multiplier: {largest}.", svg, data,
        ))  # fmt: skip
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


def _noise(results: Results, findings: list[str]) -> Section:
    import pandas as pd

    found: dict[str, NoiseResult] = results.group("noise: ")
    blocks: list[Block] = [
        Paragraph(
            "An inexact solver, such as the genetic algorithm, leaves an error on every acceleration. Here it is "
            "imitated: each acceleration that RK4 asks for is solved by elimination and then gets an independent "
            "Gaussian error on each crank, which in general violates the constraints: θ₁ and θ₂ "
            "part by a little before π/2, and there the printed row no longer says which of its two branches is meant. "
            "For comparison the last row of the table ('admissible') projects the same kind of errors onto the "
            "accelerations that the constraints allow. A run counts "
            f"as off its branch if |θ₁ − θ₂| > {OFF:g} rad at t = {END:g} s, after the passage, or if it is no longer "
            "finite. They are the runs of claim C13."
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
            f"Crossing with noisy accelerations, RK4 with {STEP:g} s.",
            ("row, noise / (rad/s²)", "runs", "off the branch", "share", "not finite",
             f"median |θ₁ − θ₂| at {END:g} s / rad", "largest finite / rad"),
            tuple(rows),
        ))  # fmt: skip
    if curves:
        shown = {k: np.minimum(np.maximum(y, 1e-12), 10.0) for k, y in curves.items()}
        words = ", ".join(
            f"{k} {float(y[-1]):.1e} rad" if np.isfinite(y[-1]) else f"{k} no longer finite" for k, y in curves.items()
        )
        blocks.append(Figure(
            "paper-002-noise",
            f"|θ₁ − θ₂| with noise of {NOISE[0]:g} rad/s², median and largest over the runs (logarithmic, cut at 10 "
            "rad).",
            f"At t = {END:g} s: {words}.", plots.lines(t, shown, "t / s", "|θ₁ − θ₂| / rad", log=True),
            pd.DataFrame({"t": t, **curves}),
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
