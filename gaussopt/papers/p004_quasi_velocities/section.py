"""Paper 004, Hao, Liu & Yao 2020: a body on a knife edge by quasi-velocities and by Routh's equations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.problem import problem
from gaussopt.papers import histories
from gaussopt.papers import report_parts as common
from gaussopt.papers.figures import line_figure, remarks, thin
from gaussopt.papers.p004_quasi_velocities import motions
from gaussopt.papers.p004_quasi_velocities.motions import DRAWN, DRAWN_STEP, PROBLEM, QUASI, REGULAR, TAN, violation
from gaussopt.papers.p004_quasi_velocities.motions import cases as cases
from gaussopt.papers.report_parts import PaperResults
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.animation.animate import animation_block
from gaussopt.reporting.document import Block, Figure, Formula, Gallery, Paragraph, Section, Table
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure


def section(outcomes: dict[str, JobOutcome], quick: bool) -> tuple[Section, tuple[str, ...]]:
    """The paper's section and the findings for the summary."""
    results = PaperResults(outcomes)
    entry = problem(PROBLEM)
    findings: list[str] = []
    parts = (
        _model(),
        _method(),
        _motions(results, findings),
        *_balance(results),
        _accuracy(results, findings),
        _order(results, findings),
        Section("states-004", "Formulations and solvers on given states", tuple(common.formulations_and_solvers(
            "004", results, f"States of the references {', '.join(motions.REFERENCES)}, regular row."))),
        common.errata_section(entry, "004", results, findings),
    )  # fmt: skip
    title = "Paper 004: body on a knife edge, quasi-velocities and Routh (Hao, Liu & Yao 2020)"
    return Section("paper-004", title, (Paragraph(entry.description),), parts), tuple(findings)


def _model() -> Section:
    entry = problem(PROBLEM)
    rows = Formula(
        r"\dot{x} \sin \varphi - \dot{y} \cos \varphi = 0 \quad "
        r"\text{(source: } \dot{x} \tan \varphi - \dot{y} = 0 \text{)}",
        "vx sin phi - vy cos phi = 0   (source: vx tan phi - vy = 0)",
    )
    text = (
        "Coordinates q = (x, φ, y): centroid C and direction of the blade. With the mass m, which the source and the "
        "parameters below call M, and the central moment of inertia I_C the matrix is M = diag(m, I_C, m); a force "
        "F = F₀ cos νt of fixed direction α acts at C, and a torque L_C. The blade at C lets the body move only along "
        "itself:"
    )
    closing = (
        "The source divides by cos φ. The two rows describe the same motions except where cos φ = 0, at what is called "
        "the pole below; there the printed one is infinite. It prints no parameters, so three cases of ours are run: "
        + ", ".join(f"{name} ({case.description})" for name, case in entry.cases.items())
        + "."
    )
    cases = tuple((name, *(c.values[p.name] for p in entry.parameters if p.name in c.values), c.t_end)
                  for name, c in entry.cases.items())  # fmt: skip
    names = [p for p in entry.parameters if p.name in next(iter(entry.cases.values())).values]
    values = Table(
        "cases-004", "The three cases; what is not listed is as above.",
        ("case", *(f"{p.name} / {p.unit}" for p in names), "end / s"), cases,
    )  # fmt: skip
    table = common.parameters_table(entry, "parameters-004", "Parameters of the body, with the values of NH-A.")
    drawing = drawing_figure(entry, "paper-004-drawing")
    return Section("model-004", "Model", (Paragraph(text), drawing, rows, Paragraph(closing), table, values))


def _method() -> Section:
    reduced = Formula(
        r"v = D \omega + d, \quad J D = 0, \quad a = D \dot{\omega} + w, \quad "
        r"D^T M D \dot{\omega} = D^T (Q - h - M w)",
        "v = D omega + d,   J D = 0,   a = D omega' + w,   D^T M D omega' = D^T (Q - h - M w)",
    )
    body = Formula(
        r"m \dot{\omega}_1 = F \cos(\varphi - \alpha), \quad I_C \dot{\omega}_2 = L_C, \quad "
        r"\dot{x} = \omega_1 \cos \varphi, \quad \dot{y} = \omega_1 \sin \varphi, \quad \dot{\varphi} = \omega_2",
        "m omega1' = F cos(phi - alpha),   I_C omega2' = L_C,   x' = omega1 cos phi,   y' = omega1 sin phi,   "
        "phi' = omega2",
    )
    routh = Formula(r"M a + h = Q + J^T \lambda, \quad J a = \gamma", "M a + h = Q + J^T lam,   J a = gamma")
    frozen = Formula(
        r"\frac{d}{dt} \left(\dot{x} \tan \varphi - \dot{y}\right) = 0, \quad v_n = \omega_3 \cos \varphi",
        "d/dt (vx tan phi - vy) = 0:   v_n = omega3 cos phi with omega3 frozen",
    )
    blocks = (
        Paragraph(
            "Quasi-velocities ω that parametrise the admissible velocities turn Gauss's principle into as many "
            "equations as degrees of freedom, without multipliers:"
        ),
        reduced,
        Paragraph("Here ω₁ is the speed along the blade and ω₂ the turning rate, and the equations become"),
        body,
        Paragraph(
            "If q and ω are what the integrator carries, the velocity constraint holds identically. Used only as a "
            "formula for a, with q and v integrated, the same equations keep nothing that Routh's do not keep. Routh's "
            "equations carry the multiplier along:"
        ),
        routh,
        Paragraph(
            "Multiplying the row by any function leaves the acceleration alone. What differs is what happens to an "
            "error of the velocity: with the regular row v_n = ẋ sin φ − ẏ cos φ itself stays as it is, with the tan "
            "row ω₃ = ẋ tan φ − ẏ does:"
        ),
        frozen,
        Paragraph(
            "An error ε made where cos φ = δ is stored as ω₃ = ε/δ and comes back as a velocity ω₃ cos φ across the "
            "blade when the pole is passed. All violations below are measured by the regular row, v_n."
        ),
    )
    return Section("method-004", "Method", blocks)


def _motions(results: PaperResults, findings: list[str]) -> Section:
    blocks: list[Block] = [
        Paragraph(
            "The source's figures 2 to 5 show the motion of the centroid and the violation of the velocity constraint, "
            "by quasi-velocities and by Routh. Which of the four shows what is our assignment, and case NH-B stands "
            "for the source's unprinted parameters. Its text says that the first crests coincide and Routh's curve "
            f"then departs; the table of crests shows how far that is so here. {DRAWN_STEP} for all; the tan row is "
            "the printed one. Circles: the reference."
        )
    ]
    galleries = (
        ("NH-B", "NH-B: ", ("figure-2", "figure-3", "figure-4", "figure-5")),
        ("NH-A", f"NH-A, {DRAWN_STEP}: ", ("NH-A-x", "NH-A-y", "NH-A-violation")),
        ("NH-C", "NH-C: ", ("NH-C-x", "NH-C-y", "NH-C-violation")),
    )
    rows = []
    for case, prefix, names in galleries:
        runs = {k: v for k, v in results.trajectories(prefix).items() if k in DRAWN}
        if not runs:
            continue
        blocks.append(Gallery(tuple(_gallery(case, names, runs))))
        if case in motions.SEEN and QUASI in runs and TAN in runs:
            blocks.append(animation_block(
                runs[QUASI], problem(PROBLEM, case=case), f"paper-004-motion-{case}",
                f"{case} from above: by quasi-velocities, and by Routh's equations with the printed row, which in this "
                f"time come up to {_apart(runs[QUASI], runs[TAN], motions.SEEN[case]):.2g} m from that path.",
                beside={TAN: runs[TAN]}, label=QUASI, t_end=motions.SEEN[case],
            ))  # fmt: skip
        reference = problem(PROBLEM).reference(case)
        for label, v in runs.items():
            error = motions.reference_error(v, reference)
            rows.append((f"{case}: {label}", str(v.status), v.t[-1], v.meta["dt"], _passes(v), error,
                         float(violation(v).max()), v.worst.relative_error))  # fmt: skip
    if rows:
        blocks.append(Table(
            "motion-004",
            "The runs of these figures: passes of the pole, largest position error against the reference (at its "
            "instants), largest violation |v_n|, and the largest certified relative error of a step."
            + (" Every step of the tan row is certified too: at each state its acceleration is right; what fails is "
               "its integration over the poles." if all(r[7] < 1e-7 for r in rows) else ""),
            ("case and method", "status", "end / s", "step / s", "passes of the pole", "position error / m",
             "violation / (m/s)", "certified"),
            tuple(rows),
        ))  # fmt: skip
        worst = {m: max((r[6] for r in rows if r[0].endswith(m)), default=math.nan) for m in DRAWN}
        findings.append(
            "Largest velocity violation over NH-A, NH-B and NH-C at RK4: "
            + ", ".join(f"{m} {v:.1e} m/s" for m, v in worst.items())
            + "."
        )
    crests = _crests(results, findings)
    if crests is not None:
        blocks.append(crests)
    frozen = results.trajectory(f"NH-A, {DRAWN_STEP}: {TAN}")
    if frozen is not None:
        blocks.append(_frozen(frozen))
    return Section("motion-004", "Motion and violation: figures 2 to 5", tuple(blocks))


def _balance(results: PaperResults) -> list[Section]:
    """Force of the blade, drift and energy by quasi-velocities and by Routh's equations with either row."""
    runs = {m: v for m, v in results.trajectories(f"NH-A, {DRAWN_STEP}: ").items() if m in DRAWN}
    carried = {m: v for m, v in runs.items() if m in (REGULAR, TAN)}
    if not carried:
        return []
    forces = [
        histories.forces_figure(
            f"paper-004-forces-{'tan' if m == TAN else 'regular'}", v, {"λ": 0},
            f"NH-A, multiplier by {m}: " + (
                "it is the force of the blade times cos φ, and so passes through zero where the row is infinite."
                if m == TAN else "the force of the blade."
            ), "N",
        )
        for m, v in carried.items()
    ]  # fmt: skip
    balance = ", ".join(f"{m} {float(np.abs(histories.energy_residual(v)).max()):.1e} J" for m, v in runs.items())
    lead = (
        f"NH-A by {DRAWN_STEP} steps. The blade does no work, so the energy changes by the work of $F$ alone; drift is "
        f"the residual of the row that each run uses. Largest energy less work: {balance}."
    )
    return [histories.balance_section("004", runs, forces, lead)]


def _apart(one: Trajectory, other: Trajectory, end: float) -> float:
    """Largest distance of the centroids of two runs with the same step up to an instant, m."""
    shared = min(len(one.t), len(other.t), int(np.searchsorted(one.t, end)) + 1)
    return float(np.linalg.norm((one.q[:shared] - other.q[:shared])[:, [0, 2]], axis=1).max())


def _passes(traj: Trajectory) -> int:
    """The number of sign changes of cos(phi)."""
    return int((np.diff(np.floor(traj.q[:, 1] / np.pi - 0.5)) != 0).sum())


def _gallery(case: str, names: Sequence[str], runs: dict[str, Trajectory]) -> list[Figure]:
    """x, y and the violation over time; the violations of quasi-velocities and Routh apart if four names are given."""
    reference = problem(PROBLEM).reference(case)
    longest = max(len(v.t) for v in runs.values())
    whole = {k: v for k, v in runs.items() if len(v.t) == longest}
    cut = thin(longest)
    t = next(iter(whole.values())).t[cut]
    inside = reference.t <= t[-1] + 1e-9
    found = []
    for j, i, symbol in ((0, 0, "x"), (1, 2, "y")):
        data = {k: v.q[cut, i] for k, v in whole.items()}
        true = reference.q[inside, i]
        margin = 0.6 * float(true.max() - true.min())
        limits = (float(true.min()) - margin, float(true.max()) + margin)
        marks = {"reference": (reference.t[inside][::6], true[::6])}
        last = ", ".join(f"{k} {float(v.q[-1, i]):.4g} m" for k, v in whole.items())
        gone = [k for k, y in data.items() if y.min() < limits[0] or y.max() > limits[1]]
        left = f" {' and '.join(gone)}: leaves the frame, which fits the true motion." if gone else ""
        found.append(line_figure(
            f"paper-004-{names[j]}", _caption(names[j], f"{symbol} of the centroid, {case}.{left}"),
            f"{symbol} over {t[-1]:g} s, true values between {true.min():.3g} and {true.max():.3g} m; at the end: "
            f"{last}.",
            t, data, ("t / s", f"{symbol}_C / m"), size=(4.4, 3.2), markers=marks, ylim=limits, above=True,
        ))  # fmt: skip
    violations = {k: violation(v) for k, v in whole.items()}
    split = [[QUASI], [REGULAR, TAN]] if len(names) == 4 else [list(DRAWN)]
    what = ("by quasi-velocities", "by Routh") if len(names) == 4 else ("",)
    for name, shown, by in zip(names[2:], split, what, strict=True):
        data = {k: violations[k][cut] for k in shown if k in violations}
        if not data:
            continue
        title, zeros = f"Violation |v_n| {by}".strip(), remarks(data, log=True)
        largest = "; ".join(f"{k} at most {float(violations[k].max()):.1e} m/s" for k in data)
        found.append(line_figure(
            f"paper-004-{name}", _caption(name, f"{title}, {case} (logarithmic): {largest}.{zeros}"),
            f"Velocity across the blade: {largest}.", t, data, ("t / s", "|v_n| / (m/s)"), size=(4.4, 3.2), log=True,
            above=True,
        ))  # fmt: skip
    return found


def _caption(name: str, text: str) -> str:
    text = text[0].upper() + text[1:] if not text.startswith(("x ", "y ")) else text
    return f"Figure {name.split('-')[1]}. {text}" if name.startswith("figure") else text


def _crests(results: PaperResults, findings: list[str]) -> Table | None:
    """NH-B: the crests of x and how far Routh's curves are from the quasi-velocity one there."""
    runs = {m: results.trajectory(f"NH-B: {m}") for m in DRAWN}
    quasi, regular, tan = (runs[m] for m in DRAWN)
    if quasi is None or regular is None or tan is None:
        return None
    shared = min(len(quasi.t), len(regular.t), len(tan.t))
    x = quasi.q[:shared, 0]
    crests = np.flatnonzero((x[1:-1] > x[:-2]) & (x[1:-1] >= x[2:])) + 1
    apart = {
        m: np.abs(v.q[:shared] - quasi.q[:shared])[:, [0, 2]].max(axis=1) for m, v in ((REGULAR, regular), (TAN, tan))
    }
    rows = tuple((j + 1, quasi.t[k], x[k], apart[REGULAR][k], apart[TAN][k]) for j, k in enumerate(crests))
    turns = quasi.q[:shared, 1] / np.pi - 0.5
    poles = np.flatnonzero(np.diff(np.floor(turns)))
    # Within the step the angle is taken as linear in time.
    part = np.array([(max(np.floor(turns[k : k + 2])) - turns[k]) / (turns[k + 1] - turns[k]) for k in poles])
    instants = quasi.t[poles] + part * (quasi.t[poles + 1] - quasi.t[poles]) if len(poles) else np.zeros(0)
    if len(crests) and len(poles):
        before = crests[crests <= poles[0]]
        after = crests[crests > poles[0]]
        findings.append(
            f"NH-B: the first {len(before)} crests of the tan row coincide with those of quasi-velocities within "
            f"{float(apart[TAN][before].max(initial=0.0)):.1e} m; after the pole at t = {instants[0]:.2f} s they "
            f"are apart by up to {float(apart[TAN][after].max(initial=0.0)):.2g} m, with the regular row by at most "
            f"{float(apart[REGULAR].max()):.1e} m."
        )
    where = ", ".join(f"{t:.2f}" for t in instants) or "none"
    return Table(
        "crests-004",
        f"NH-B, the crests of x: distance of Routh's position from that by quasi-velocities. Poles at t = {where} s.",
        ("crest", "t / s", "x / m", "regular row / m", "tan row / m"), rows,
    )  # fmt: skip


def _frozen(traj: Trajectory) -> Figure:
    cut = thin(len(traj.t))
    t = traj.t[cut]
    data = {"own residual |ω₃| = |ẋ tan φ − ẏ|": traj.velocity_drift[cut], "violation |v_n|": violation(traj)[cut]}
    return line_figure(
        "paper-004-frozen",
        "NH-A, tan row: its own residual |ω₃| and the velocity across the blade, |ω₃ cos φ|.",
        f"|ω₃| ends at {traj.velocity_drift[-1]:.2g} m/s; |v_n| reaches {float(violation(traj).max()):.2g} m/s.",
        t, data, ("t / s", "m/s"), log=True,
    )  # fmt: skip


def _accuracy(results: PaperResults, findings: list[str]) -> Section:
    runs = {(i, m): v for i in motions.INTEGRATORS for m, v in results.trajectories(f"NH-A, {i}: ").items()}
    blocks: list[Block] = []
    if runs:
        end = max(v.t[-1] for v in runs.values())
        rows = tuple(
            (f"{i}: {m}", v.meta["evaluations"], float(motions.position_error(v).max()), float(violation(v).max()),
             v.worst.relative_error, v.timing["total"], str(v.status))
            for (i, m), v in runs.items()
        )  # fmt: skip
        blocks.append(Table(
            "accuracy-004",
            f"NH-A over {end:g} s (a cycloid in closed form, {max(_passes(v) for v in runs.values())} poles): "
            "evaluations of the acceleration, largest error of the position at the integrator's own steps, largest "
            "violation. The absolute tolerance of RK45 is a thousandth of the relative one.",
            ("integrator: method", "evaluations", "position error / m", "violation / (m/s)", "certified", "seconds",
             "status"),
            rows, ("seconds",),
        ))  # fmt: skip
    tan, regular = runs.get((DRAWN_STEP, TAN)), runs.get((DRAWN_STEP, REGULAR))
    if tan is not None and regular is not None:
        far, near = (float(motions.position_error(v).max()) for v in (tan, regular))
        findings.append(common.Important(
            f"NH-A, {DRAWN_STEP}: position error {far:.2g} m with Routh's tan row and "
            f"{near:.1e} m with the regular row of the same equations, {far / near:.0e} "
            f"times less.{' What is singular is a factor of the row, not the method.' if far / near > 10 else ''}",
            "paper-004-motion-NH-A", "accuracy-004",
        ))  # fmt: skip
    alike, quasi = runs.get((DRAWN_STEP, motions.FORMULA)), runs.get((DRAWN_STEP, QUASI))
    if alike is not None and regular is not None and quasi is not None:
        formula, row = float(violation(alike).max()), float(violation(regular).max())
        like = "drift like" if max(formula, row) < 10 * min(formula, row) else "drift otherwise than"
        findings.append(
            f"NH-A, {DRAWN_STEP}: quasi-velocities used as a mere acceleration formula {like} Routh with the regular "
            f"row, violation {formula:.1e} and {row:.1e} m/s; as the state of the integrator "
            f"{float(violation(quasi).max()):.1e} m/s."
        )
    return Section("accuracy-004", "Accuracy and cost", tuple(blocks))


def _order(results: PaperResults, findings: list[str]) -> Section:
    found = {m: c for m in motions.METHODS if (c := results.value(f"order: {m}")) is not None}
    blocks: list[Block] = [
        Paragraph(
            f"RK4 on NH-A over {motions.ORDER_END:g} s, which contains one pole. The error of the tan row depends on "
            f"where the pole falls within a step; here every step size puts it at {motions.FRACTION:g} of a step, so "
            "that a clean order shows."
        )
    ]
    if found:
        steps = next(iter(found.values())).steps
        rows = [
            (f"{h:.5f}", *(x for c in found.values() for x in (c.errors[j], c.orders[j - 1] if j else math.nan)))
            for j, h in enumerate(steps)
        ]
        columns = [head for m in found for head in (f"{m} / m", "order")]
        blocks.append(
            Table("order-004", "Largest position error and observed order.", ("step / s", *columns), tuple(rows))
        )
        curves = {m: np.array(c.errors) for m, c in found.items()}
        words = ", ".join(f"{m} {c.orders[-1]:.2f}" for m, c in found.items())
        blocks.append(line_figure(
            "paper-004-order", "Largest position error against the step size, both logarithmic.",
            f"Observed order between the two finest steps: {words}.", np.array(steps), curves,
            ("step / s", "position error / m"), columns=("step", ""), log=True, logx=True,
        ))  # fmt: skip
        findings.append(f"Observed order of RK4 over a pole: {words}.")
    pole: list[tuple[float, float, float]] | None = results.value("order: place of the pole")
    if pole:
        by_rate = sorted(pole, key=lambda p: p[2] / p[1])
        (least, *low), (most, *high) = by_rate[0], by_rate[-1]
        blocks += [
            Paragraph(
                "The tan row with other places of the pole within the step: what is frozen in, per step size, lies "
                f"between {low[1] / low[0]:.3g} and {high[1] / high[0]:.3g} m/s². RK4 evaluates the acceleration at 0, "
                f"1/2 and 1 of a step; least is frozen in at {least:g} of a step, most at {most:g}."
            ),
            Table(
                "place-004",
                "Tan row: the residual ω₃ left after the pole, by the place of the pole within the step.",
                ("place", "step / s", "|ω₃| / (m/s)", "|ω₃| / step / (m/s²)"),
                tuple((p, f"{h:.5f}", e, e / h) for p, h, e in pole),
            ),
        ]
    return Section("order-004", "Order of convergence over a pole", tuple(blocks))
