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
from gaussopt.reporting.document import Block, Figure, Gallery, Paragraph, Section, Table
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure
from gaussopt.reporting.figures.motion_animation import animation_block
from gaussopt.reporting.texts import Texts

texts = Texts(__file__, drawn_step=DRAWN_STEP)


def section(outcomes: dict[str, JobOutcome], quick: bool) -> tuple[Section, tuple[str, ...]]:
    """The paper's section and the findings for the summary."""
    results = PaperResults(outcomes)
    entry = problem(PROBLEM)
    findings: list[str] = []
    parts = (
        _model(),
        Section("method-004", "Method", tuple(texts.blocks("method"))),
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
    told = ", ".join(f"{name} ({case.description})" for name, case in entry.cases.items())
    text, rows, closing = texts.blocks("model", cases=told)
    names = [p for p in entry.parameters if p.name in next(iter(entry.cases.values())).values]
    values = Table(
        "cases-004", "The three cases; what is not listed is as above.",
        ("case", *(f"{p.name} / {p.unit}" for p in names), "end / s"),
        tuple((name, *(c.values[p.name] for p in names), c.t_end) for name, c in entry.cases.items()),
    )  # fmt: skip
    table = common.parameters_table(entry, "parameters-004", "Parameters of the body, with the values of NH-A.")
    drawing = drawing_figure(entry, "paper-004-drawing")
    return Section("model-004", "Model", (text, drawing, rows, closing, table, values))


def _motions(results: PaperResults, findings: list[str]) -> Section:
    blocks = texts.blocks("figures")
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
                texts("animation", case=case, apart=_apart(runs[QUASI], runs[TAN], motions.SEEN[case])),
                beside={TAN: runs[TAN]}, label=QUASI, t_end=motions.SEEN[case],
            ))  # fmt: skip
        reference = problem(PROBLEM).reference(case)
        for label, v in runs.items():
            error = motions.reference_error(v, reference)
            rows.append((f"{case}: {label}", str(v.status), v.t[-1], v.meta["dt"], _passes(v), error,
                         float(violation(v).max()), v.worst.relative_error))  # fmt: skip
    if rows:
        certified = texts("every-step-certified") if all(r[7] < 1e-7 for r in rows) else ""
        blocks.append(texts.table("motion-004", rows, certified=certified))
        worst = {m: max((r[6] for r in rows if r[0].endswith(m)), default=math.nan) for m in DRAWN}
        told = ", ".join(f"{m} {v:.1e} m/s" for m, v in worst.items())
        findings.append(f"Largest velocity violation over NH-A, NH-B and NH-C at RK4: {told}.")
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
    forces = []
    for m, v in carried.items():
        row = "tan" if m == TAN else "regular"
        caption = texts("force-by-the-tan-row" if m == TAN else "force-by-the-regular-row", method=m)
        forces.append(histories.forces_figure(f"paper-004-forces-{row}", v, {"λ": 0}, caption, "N"))
    balance = ", ".join(f"{m} {float(np.abs(histories.energy_residual(v)).max()):.1e} J" for m, v in runs.items())
    return [histories.balance_section("004", runs, forces, texts("balance", balance=balance))]


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
        before, after = apart[TAN][crests[crests <= poles[0]]], apart[TAN][crests[crests > poles[0]]]
        findings.append(texts(
            "crests", before=len(before), within=before.max(initial=0.0), pole=instants[0],
            after=after.max(initial=0.0), regular=apart[REGULAR].max(),
        ))  # fmt: skip
    where = ", ".join(f"{t:.2f}" for t in instants) or "none"
    return texts.table("crests-004", rows, where=where)


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
        poles = max(_passes(v) for v in runs.values())
        blocks.append(texts.table("accuracy-004", rows, timed=("seconds",), end=end, poles=poles))
    tan, regular = runs.get((DRAWN_STEP, TAN)), runs.get((DRAWN_STEP, REGULAR))
    if tan is not None and regular is not None:
        far, near = (float(motions.position_error(v).max()) for v in (tan, regular))
        so = texts("not-the-method") if far / near > 10 else ""
        findings.append(common.Important(
            texts("tan-and-regular-row", far=far, near=near, ratio=far / near, so=so),
            "paper-004-motion-NH-A", "accuracy-004",
        ))  # fmt: skip
    alike, quasi = runs.get((DRAWN_STEP, motions.FORMULA)), runs.get((DRAWN_STEP, QUASI))
    if alike is not None and regular is not None and quasi is not None:
        formula, row = float(violation(alike).max()), float(violation(regular).max())
        like = "drift like" if max(formula, row) < 10 * min(formula, row) else "drift otherwise than"
        findings.append(texts("formula-only", like=like, formula=formula, row=row, state=violation(quasi).max()))
    return Section("accuracy-004", "Accuracy and cost", tuple(blocks))


def _order(results: PaperResults, findings: list[str]) -> Section:
    found = {m: c for m in motions.METHODS if (c := results.value(f"order: {m}")) is not None}
    blocks = texts.blocks("order", end=motions.ORDER_END, fraction=motions.FRACTION)
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
            *texts.blocks("place", least_left=low[1] / low[0], most_left=high[1] / high[0], least=least, most=most),
            texts.table("place-004", tuple((p, f"{h:.5f}", e, e / h) for p, h, e in pole)),
        ]
    return Section("order-004", "Order of convergence over a pole", tuple(blocks))
