"""Paper 004, Hao, Liu & Yao 2020: a body on a knife edge by quasi-velocities and by Routh's equations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.problem import problem
from gaussopt.papers import report_parts as common
from gaussopt.papers.chapters import Important
from gaussopt.papers.claim import SOURCES
from gaussopt.papers.figures import balance_section, energy_residual, forces_figure, line_figure, remarks, thin
from gaussopt.papers.p004_quasi_velocities import motions, spread
from gaussopt.papers.p004_quasi_velocities.knife_edge import CASES
from gaussopt.papers.p004_quasi_velocities.motions import DRAWN, DRAWN_STEP, PROBLEM, QUASI, REGULAR, TAN, violation
from gaussopt.papers.p004_quasi_velocities.motions import cases as cases
from gaussopt.papers.p004_quasi_velocities.pole import LEAST, poles
from gaussopt.papers.p004_quasi_velocities.spread import Crests, Spread
from gaussopt.papers.report_parts import PaperResults
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.document import Block, Figure, Gallery, Paragraph, Section, Table
from gaussopt.reporting.figures.mechanism_drawing import animation_block, drawing_figure
from gaussopt.reporting.texts import Texts

SOURCE = "NH-B"
"""The case that represents the paper's figures."""

PREFIXES = {"NH-B": "NH-B: ", "NH-A": f"NH-A, {DRAWN_STEP}: ", "NH-C": "NH-C: "}
"""For each case, the prefix of the keys of the runs that are drawn."""

PLANE = {"x": 0, "y": 2}
"""Index of each coordinate of the centroid."""

texts = Texts(__file__, drawn_step=DRAWN_STEP)


def section(outcomes: dict[str, JobOutcome], quick: bool) -> tuple[Section, tuple[str, ...]]:
    """Return the paper's section and the findings for the summary."""
    results = PaperResults(outcomes)
    entry = problem(PROBLEM)
    findings: list[str] = []
    states = f"States of the references {', '.join(motions.REFERENCES)}, regular row."
    parts = (
        _model(), common.part("method-004", "Method", texts.blocks("method")), _motions(results, findings),
        *_balance(results), _accuracy(results, findings), _order(results, findings),
        common.states_section("004", results, states), common.errata_section(entry, "004", results, findings),
    )  # fmt: skip
    return Section("paper-004", SOURCES["004"].title, (Paragraph(entry.description),), parts), tuple(findings)


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
    rows = []
    for case in PREFIXES:
        runs = drawn_runs(results, case)
        if not runs:
            continue
        blocks.append(Gallery(tuple(_gallery(case, runs))))
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
    certified = texts("every-step-certified") if all(r[7] < 1e-7 for r in rows) else ""
    frozen = results.trajectory(f"NH-A, {DRAWN_STEP}: {TAN}")
    return common.part(
        "motion-004", "Motion and violation: figures 2 to 5", blocks,
        texts.table("motion-004", rows, certified=certified), _spread(results, findings), _crests(results, findings),
        None if frozen is None else _frozen(frozen),
    )  # fmt: skip


def _balance(results: PaperResults) -> list[Section]:
    """Show the blade's force, drift and energy by quasi-velocities and by Routh's equations with either row."""
    runs = {m: v for m, v in results.trajectories(f"NH-A, {DRAWN_STEP}: ").items() if m in DRAWN}
    carried = {m: v for m, v in runs.items() if m in (REGULAR, TAN)}
    if not carried:
        return []
    forces = []
    for m, v in carried.items():
        row = "tan" if m == TAN else "regular"
        caption = texts("force-by-the-tan-row" if m == TAN else "force-by-the-regular-row", method=m)
        forces.append(forces_figure(f"paper-004-forces-{row}", v, {"λ": 0}, caption, "N"))
    balance = ", ".join(f"{m} {float(np.abs(energy_residual(v)).max()):.1e} J" for m, v in runs.items())
    return [balance_section("004", runs, forces, texts("balance", balance=balance))]


def _apart(one: Trajectory, other: Trajectory, end: float) -> float:
    """Return the largest distance, m, up to the time `end` between the centroids of two runs with equal time steps."""
    shared = min(len(one.t), len(other.t), int(np.searchsorted(one.t, end)) + 1)
    return float(np.linalg.norm((one.q[:shared] - other.q[:shared])[:, [0, 2]], axis=1).max())


def _passes(traj: Trajectory) -> int:
    """Count the poles that a motion passes, which are the sign changes of cos(phi)."""
    return int((np.diff(np.floor(traj.q[:, 1] / np.pi - 0.5)) != 0).sum())


def drawn_runs(results: PaperResults, case: str) -> dict[str, Trajectory]:
    """Return the runs that the figures of a case show."""
    return {k: v for k, v in results.trajectories(PREFIXES[case]).items() if k.startswith(DRAWN)}


def whole_runs(runs: dict[str, Trajectory]) -> dict[str, Trajectory]:
    """Return the runs that reached the end."""
    end = max((float(v.t[-1]) for v in runs.values()), default=0.0)
    return {k: v for k, v in runs.items() if v.t[-1] > 0.99 * end}


def _gallery(case: str, runs: dict[str, Trajectory]) -> list[Figure]:
    """Draw the paper's figures 2 to 5 for the case SOURCE; for other cases, draw x, y and the violation."""
    whole = whole_runs(runs)
    if case != SOURCE:
        of = "of the centroid"
        plane = [coordinates(f"{case}-{s}", f"{s} {of}, {case}", case, whole, {s: i}) for s, i in PLANE.items()]
        return [*plane, violations(f"{case}-violation", f"Violation |v_n|, {case}", whole)]
    quasi = {k: v for k, v in whole.items() if k == QUASI}
    routh = {k: v for k, v in whole.items() if k != QUASI}
    tan = {k: v for k, v in routh.items() if k.startswith(TAN)}
    paper = "of the paper:"
    return [
        coordinates("figure-2", f"As figure 2 {paper} the centroid by quasi-velocities, {case}", case, quasi, PLANE),
        violations("figure-3", f"As figure 3 {paper} violation |v_n| by quasi-velocities, {case}", quasi),
        coordinates("figure-4", f"As figure 4 {paper} the centroid by Routh's equations, {case}", case, tan, PLANE),
        violations("figure-5", f"As figure 5 {paper} violation |v_n| by Routh's equations, {case}", routh),
    ]


def coordinates(
    name: str, title: str, case: str, runs: dict[str, Trajectory], shown: dict[str, int],
    size: tuple[float, float] = (4.4, 3.2),
) -> Figure:  # fmt: skip
    """Draw the centroid's coordinates in `shown` (name to index) for all runs; the axis limits fit the true motion."""
    reference = problem(PROBLEM).reference(case)
    end = max((float(v.t[-1]) for v in runs.values()), default=0.0)
    inside = reference.t <= end + 1e-9
    true = {s: reference.q[inside, i] for s, i in shown.items()}
    low, high = (float(pick([pick(y) for y in true.values()])) for pick in (min, max))
    margin = 0.6 * (high - low)
    times, data = {}, {}
    for s, i in shown.items():
        for k, v in runs.items():
            label, cut = k if len(shown) == 1 else f"{s}: {k}", thin(len(v.t))
            times[label], data[label] = v.t[cut], v.q[cut, i]
    gone = [k for k, y in data.items() if y.min() < low - margin or y.max() > high + margin]
    left = f" Outside the frame, which fits the true motion, is a part of: {'; '.join(gone)}." if gone else ""
    last = ", ".join(f"{k} {float(y[-1]):.4g} m" for k, y in data.items())
    marks = {"reference" if len(shown) == 1 else f"{s}: reference": (reference.t[inside][::6], y[::6])
             for s, y in true.items()}  # fmt: skip
    return line_figure(
        f"paper-004-{name}", f"{title}.{left}",
        f"{' and '.join(shown)} over {end:.4g} s, true values between {low:.3g} and {high:.3g} m; at the end: {last}.",
        times, data, ("t / s", f"{', '.join(shown)} / m"), size=size, markers=marks,
        ylim=(low - margin, high + margin), above=True,
    )  # fmt: skip


def violations(name: str, title: str, runs: dict[str, Trajectory]) -> Figure:
    """Draw the velocity across the blade over time, for all runs."""
    found = {k: violation(v) for k, v in runs.items()}
    drawn = {k: (v.t[thin(len(v.t))], found[k][thin(len(v.t))]) for k, v in runs.items()}
    # This curve is drawn as points, so that it does not cover a curve that coincides with it.
    dotted = {k: (t[::30], y[::30]) for k, (t, y) in drawn.items() if k == motions.FORMULA and len(runs) > 1}
    data = {k: y for k, (_, y) in drawn.items() if k not in dotted}
    largest = "; ".join(f"{k} at most {float(y.max()):.1e} m/s" for k, y in found.items())
    return line_figure(
        f"paper-004-{name}", f"{title} (logarithmic): {largest}.{remarks(data, log=True)}",
        f"Velocity across the blade: {largest}.", {k: drawn[k][0] for k in data}, data,
        ("t / s", "|vₙ| / (m/s)"), size=(4.4, 2.9), log=True, above=True, markers=dotted,
    )  # fmt: skip


def _spread(results: PaperResults, findings: list[str]) -> list[Block]:
    """Show the drift over many step sizes: a table, its distribution, and the findings for the summary."""
    tan, regular = (results.value(f"spread: NH-A, {row}") for row in spread.ROWS)
    crests = results.value("spread: NH-B")
    spreads: list[Spread] = [s for s in (tan, crests and crests.spread, regular) if s]
    if not spreads:
        return []
    figure = spread_figure(spreads)
    if tan and regular:
        findings.append(Important(
            texts("tan-and-regular-row", tan=tan, near=regular.drift.position.max(), low=tan.quantile(0.0),
                  high=tan.quantile(1.0), end=tan.end),
            "paper-004-spread", "motion-004",
        ))  # fmt: skip
        v = tan.drift.violation[len(spread.SHOWN) :]
        findings.append(texts(
            "violation", median=float(np.median(v)), low=v.min(), high=v.max(), count=len(v),
            regular=regular.drift.violation.max(),
        ))  # fmt: skip
    return [texts.table("spread-004", (s.numbers for s in spreads)), figure]


def spread_figure(spreads: Sequence[Spread]) -> Figure:
    """Draw the cumulative distribution of the drift for random step sizes."""
    drifts = {f"{s.case}, Routh, {s.row} row": np.sort(s.random) for s in spreads}
    shares = {k: (np.arange(len(x)) + 1) / len(x) for k, x in drifts.items()}
    law = {
        f"{s.case}, tan row, by the law": (np.sort(s.lawful)[::6], shares[f"{s.case}, Routh, {s.row} row"][::6])
        for s in spreads if len(s.law)
    }  # fmt: skip
    words = "; ".join(f"{k} {np.median(x):.2g} m ({x[0]:.2g} to {x[-1]:.2g} m)" for k, x in drifts.items())
    return line_figure(
        "paper-004-spread", texts("spread-figure", count=len(spreads[0].random)), f"Median and range: {words}.",
        drifts, shares, ("largest position error / m", "share of the steps"), columns=("error", "curve"), logx=True,
        above=True, markers=law,
    )  # fmt: skip


def _crests(results: PaperResults, findings: list[str]) -> Table | None:
    """Tabulate the maxima of x(t) in NH-B, and the distance of Routh's curves from the quasi-velocity curve there."""
    quasi, regular = (results.trajectory(f"NH-B: {m}") for m in (QUASI, REGULAR))
    crests: Crests | None = results.value("spread: NH-B")
    if quasi is None or regular is None or crests is None:
        return None
    at = np.rint(crests.instants / quasi.meta["dt"]).astype(int)
    kept = at < min(len(quasi.t), len(regular.t))
    apart = np.abs(regular.q - quasi.q[: len(regular.q)])[:, [0, 2]].max(axis=1)[at[kept]]
    t, x, tan = crests.instants[kept], crests.heights[kept], crests.spread.drift.at[kept]
    shown, random = tan[:, : len(spread.SHOWN)], tan[:, len(spread.SHOWN) :]
    rows = tuple(
        (j + 1, t[j], x[j], apart[j], *map(float, shown[j]), *(float(np.quantile(random[j], q)) for q in (0, 0.5, 1)))
        for j in range(len(t))
    )
    passed = poles(CASES["NH-B"][0], crests.spread.end)
    if len(t) and passed:
        before, last = t < passed[0].instant, random[-1]
        findings.append(texts(
            "crests", before=int(before.sum()), within=tan[before].max(initial=0.0), pole=passed[0].instant,
            median=float(np.median(last)), low=last.min(), high=last.max(), at=t[-1],
            place=passed[0].place(spread.STEP),
            accident=float(shown[-1, 1]), shorter=float(shown[-1, 0]), longer=float(shown[-1, 2]), regular=apart.max(),
            count=len(last),
        ))  # fmt: skip
    where = ", ".join(f"{p.instant:.2f}" for p in passed) or "none"
    return texts.table("crests-004", rows, where=where, count=random.shape[1])


def _frozen(traj: Trajectory) -> Figure:
    cut = thin(len(traj.t))
    t = traj.t[cut]
    data = {"own residual |ω₃| = |ẋ tan φ − ẏ|": traj.velocity_drift[cut], "violation |vₙ|": violation(traj)[cut]}
    return line_figure(
        "paper-004-frozen",
        "NH-A, tan row: its own residual |ω₃| and the velocity across the blade, |ω₃ cos φ|.",
        f"|ω₃| ends at {traj.velocity_drift[-1]:.2g} m/s; |v_n| reaches {float(violation(traj).max()):.2g} m/s.",
        t, data, ("t / s", "m/s"), log=True,
    )  # fmt: skip


def _accuracy(results: PaperResults, findings: list[str]) -> Section:
    runs = {(i, m): v for i in motions.INTEGRATORS for m, v in results.trajectories(f"NH-A, {i}: ").items()}
    rows = (
        (f"{i}: {m}", v.meta["evaluations"], float(motions.position_error(v).max()), float(violation(v).max()),
         v.worst.relative_error, v.timing["total"], str(v.status))
        for (i, m), v in runs.items()
    )  # fmt: skip
    end, poles = (max(map(of, runs.values()), default=0) for of in (lambda v: v.t[-1], _passes))
    table = texts.table("accuracy-004", rows, timed=("seconds",), end=end, poles=poles)
    regular = runs.get((DRAWN_STEP, REGULAR))
    alike, quasi = runs.get((DRAWN_STEP, motions.FORMULA)), runs.get((DRAWN_STEP, QUASI))
    if alike is not None and regular is not None and quasi is not None:
        formula, row = float(violation(alike).max()), float(violation(regular).max())
        like = "drift like" if max(formula, row) < 10 * min(formula, row) else "drift otherwise than"
        findings.append(texts("formula-only", like=like, formula=formula, row=row, state=violation(quasi).max()))
    return common.part("accuracy-004", "Accuracy and cost", table)


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
    forces: dict[str, tuple[float, list[float]]] | None = results.value("order: forces")
    if forces:
        count = max(len(orders) for _, orders in forces.values())
        by_force = tuple((name, rate, *orders) for name, (rate, orders) in forces.items())
        observed = (f"order {j + 1}" for j in range(count))
        heads = ("motion", "force along the blade at the pole by mass / (m/s²)", *observed)
        caption = texts("forces", place=spread.PLACE)
        blocks.append(Table("order-forces-004", caption, heads, by_force))
        told = "; ".join(f"{name} {orders[-1]:.2f}" for name, (_, orders) in forces.items())
        rest = ", ".join(f"{m} {found[m].orders[-1]:.2f}" for m in (QUASI, REGULAR) if m in found) or "none"
        findings.append(texts("orders", told=told, rest=rest))
    pole: list[tuple[float, float, float, float]] | None = results.value("order: place of the pole")
    if pole:
        low, high = (pick(pole, key=lambda p: p[2] / p[1]) for pick in (min, max))
        blocks += [
            *texts.blocks("place", least=low[0], most=high[0], least_left=low[2] / low[1], most_left=high[2] / high[1],
                          bound=2 * LEAST),
            texts.table("place-004", tuple((p, f"{h:.5f}", e, e / h, law / h) for p, h, e, law in pole)),
        ]  # fmt: skip
    return Section("order-004", "Order of convergence over a pole", tuple(blocks))
