"""Motions of paper 001 against the references, the printed loop, the energy by the sign of friction, and the rod."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.problem import problem
from gaussopt.papers.p001_friction import motions
from gaussopt.papers.report_parts import PaperResults
from gaussopt.reporting.animation.animate import animation_block
from gaussopt.reporting.document import Block, Gallery, Paragraph, Section, Table, Tex


def agreement_section(results: PaperResults, findings: list[str]) -> Section:
    """States, forces and event times against the references, for both problems."""
    states, events = [], []
    worst = late = 0.0
    compared = 0
    for name, references in motions.REFERENCES.items():
        for reference in references:
            entry = motions.reference_of(name, reference)
            rows = entry.load()
            for label, traj in motions.pair_of(results, reference).items():
                n, q, v, N = motions.agreement(traj, rows)
                states.append((
                    reference, label, str(traj.status), n, q, v, N, traj.worst.relative_error, motions.rise(traj),
                    traj.meta["evaluations"], traj.timing["total"],
                ))  # fmt: skip
                worst, compared = max(worst, q, v), compared + n
                for event, time in entry.events:
                    mine = np.array([e["t"] for e in traj.events if motions.event_name(e) == event] or [math.nan])
                    nearest = float(mine[np.argmin(np.abs(mine - time))])
                    late = max(late, abs(nearest - time))
                    told = motions.spoken(event)
                    events.append((reference, told, label, f"{time:.15f}", f"{nearest:.15f}", nearest - time))
    blocks: list[Block] = []
    if states:
        blocks = [
            Table("agreement-001", "Event-driven motions against the references at common instants. 'Rise' is the "
                  "largest rise of the energy between recorded instants, 'certified' the largest bound of the "
                  "certificate on the relative error of an acceleration.",
                  ("reference", "program", "status", "states", "error of q", "error of v",
                   "error of the normal forces / N", "certified", "rise / "
                   "J", "evaluations", "seconds"), tuple(states), ("seconds",)),
            Table("events-001", "Events, in seconds.",
                  ("reference", "event", "program", "reference time", "this run", "difference"), tuple(events)),
        ]  # fmt: skip
        findings.append(
            f"Event-driven motions of paper 001: {compared} states within {worst:.1e} of the references and "
            f"{len(events)} event times within {late:.1e} s."
        )
    return Section("agreement-001", "Agreement with the references", tuple(blocks))


def printed_loop(results: PaperResults, findings: list[str]) -> Section:
    """The source's six steps, from the floor and from the air."""
    blocks: list[Block] = [
        Paragraph(
            "The six steps of the source: from q and q̇ form M, Q, the contact rows and the signs of the slips; form A "
            "and b (the source's B); find the contact forces by Newton's method on the optimality conditions of (29); "
            "then the acceleration; advance by a fixed step; repeat. Nothing asks for a gap, an impact, a slip that "
            "vanishes or a bar that lies flat. The integrator of the source is not stated; here it is semi-implicit "
            "Euler, and every answer is taken, whatever its certificate."
        )
    ]
    rows = motions.reference_of("two-bar", "two-bar-contact").load()
    table = []
    for key, traj in results.group("loop, ").items():
        n, q, v, N = motions.agreement(traj, rows)
        table.append((key, str(traj.status), traj.meta["dt"], n, q, v, N, float(np.abs(traj.gap).max()),
                      float(np.sin(traj.q[-1, 2]))))  # fmt: skip
    if table:
        blocks.append(Table(
            "loop-001",
            "From the start with both ends on the floor. The errors are those of a fixed step of first order that "
            "steps over the reversals, where it uses the old direction of friction for one step. The loop goes "
            "on after the bars lie flat: the last column is the height of B over l at the end.",
            ("steps: program", "status", "step / s", "states", "error of q", "error of v",
             "error of the normal forces / N", "largest gap / m", "sin θ₁ at the end"),
            tuple(table),
        ))  # fmt: skip
    for n in (*motions.STEPS, *motions.FEW_STEPS):
        both = results.trajectories(f"loop, {n} steps: ")
        if len(both) == len(motions.PAIRS):
            q, N = motions.difference(*both.values())
            findings.append(
                f"Printed loop on the reconstruction, {n} steps: quadratic program and LCP differ by {q:.1e} in the "
                f"coordinates and {N:.1e} N in the forces."
            )
    air = results.trajectories("air: ")
    if air:
        blocks += _from_the_air(air, findings)
    return Section("loop-001", "The loop as printed", tuple(blocks))


def _from_the_air(air: Mapping[str, Trajectory], findings: list[str]) -> list[Block]:
    table = Table(
        "air-001",
        "The printed start. The loop takes every contact as closed: a force beside a positive gap is a floor that "
        "presses from the air.",
        ("run", "status", "gap of A at the start / m", "force at A at the start / N", "force at C at the start / N",
         "largest force / N", "smallest gap / m", "largest gap / m", "end / s"),
        tuple((k, str(v.status), v.gap[0, 0], v.lam_N[0, 0], v.lam_N[0, 1], float(np.abs(v.lam_N).max()),
               float(v.gap.min()), float(v.gap.max()), v.t[-1]) for k, v in air.items()),
    )  # fmt: skip
    blocks: list[Block] = [
        Paragraph(
            "The same loop from the printed start. F and g are not printed. The printed formulas are run with a load "
            "F = −40 N (downwards at B) without gravity and without any load, the correct ones with gravity and "
            f"without any load. {' '.join(_in_the_air(k, v) for k, v in air.items())}"
        ),
        table,
    ]
    label = next(iter(motions.AIR))
    loaded = air.get(label)
    if loaded is not None:
        shown = (
            ("forces", loaded.lam_N, "normal force / N", "N", "at",
             f"Normal forces at A and C, both above the floor at the start: {label}.", "Contact forces"),
            ("gaps", loaded.gap, "gap / m", "m", "gap of",
             f"Gaps of the same run; the smallest is {loaded.gap.min():.3g} m, and a negative one is a bar inside the "
             "floor.", "Gaps"),
        )  # fmt: skip
        figures = []
        for name, values, ylabel, unit, of, caption, words in shown:
            data = {"A": values[:, 0], "C": values[:, 1]}
            told = ", ".join(motions.span(f"{of} {k}", y, unit) for k, y in data.items())
            alt = f"{words}: {told}."
            figures.append(motions.curves_figure(f"paper-001-air-{name}", caption, alt, loaded.t, data, ylabel))
        blocks.append(Gallery(tuple(figures)))
        findings.append(
            f"Printed loop from the printed start ({label}): contact forces of {loaded.lam_N[0, 0]:.1f} N and "
            f"{loaded.lam_N[0, 1]:.1f} N with both ends {loaded.gap[0].min():.3f} m above the floor."
        )
    still = {k: v for k, v in air.items() if k.endswith("F = g = 0")}
    if still:
        largest = max(float(np.abs(v.lam_N).max()) for v in still.values())
        findings.append(
            f"Printed start with F = g = 0, as literally printed: the largest contact force of {len(still)} runs is "
            f"{largest:g} N."
        )
    return blocks


def _in_the_air(label: str, traj: Trajectory) -> str:
    """A sentence on one run of the loop from the air."""
    start = traj.gap[0].min()
    pressed = traj.lam_N[0].max() > 0
    text = f"{label[:1].upper()}{label[1:]}: "
    text += f"the floor presses from {start:.3f} m below at once" if pressed else "no contact force at the start"
    below = [
        f"{contact} passes through the floor at {traj.t[np.argmax(traj.gap[:, i] < 0)]:.3f} s, which the loop does not "
        "notice" for i, contact in enumerate(traj.contacts) if (traj.gap[:, i] < 0).any()
    ]  # fmt: skip
    ends = " and ".join(f"{gap:.3f}" for gap in traj.gap[-1])
    return f"{text}, {', '.join(below) or f'the gaps end at {ends} m'}."


def energy(results: PaperResults, findings: list[str]) -> Section:
    """Friction with the correct and with the printed sign."""
    runs = results.trajectories("energy: ")
    blocks: list[Block] = [
        Paragraph(Tex(
            "The text of the source takes friction along the slip, $s=\\operatorname{sgn}v_T$; its rod uses "
            "$s=-\\operatorname{sgn}v_T$, which is correct. Two bars on the floor from the same start, event-driven up "
            f"to {motions.FED:g} s, before any event, then further up to {motions.LATER:g} s, and by the printed loop "
            "up to there. The last column says how each run ended."
        ))
    ]  # fmt: skip
    if not runs:
        return Section("energy-001", "Energy and the sign of friction", tuple(blocks))
    blocks.append(Table(
        "energy-001", "Mechanical energy.",
        ("run", "start / J", f"at {motions.FED:g} s / J", "end / s", "at the end / J", "largest rise in a step / J",
         "how it ended"),
        tuple((k, v.energy[0], float(np.interp(motions.FED, v.t, v.energy)), v.t[-1], v.energy[-1], motions.rise(v),
               v.message) for k, v in runs.items()),
    ))  # fmt: skip
    drawn = {k: v for k, v in runs.items() if "," in k}
    if drawn:
        curves = {k: v.energy for k, v in drawn.items()}
        words = "; ".join(motions.span(k, y, "J") for k, y in curves.items())
        changes = ", ".join(f"{y[-1] - y[0]:+.3g} J ({k})" for k, y in curves.items())
        blocks.append(motions.curves_figure(
            "paper-001-energy",
            f"Mechanical energy with the correct and the printed sign of friction; its change over each run is "
            f"{changes}.",
            f"Energy: {words}.", {k: v.t for k, v in drawn.items()}, curves, "energy / J", size=(6.4, 3.4),
        ))  # fmt: skip
    right, wrong = (runs.get(f"{k} sign") for k in ("correct", "printed"))
    if right is not None and wrong is not None:
        findings.append(
            f"Friction with the printed sign {'feeds' if wrong.energy[-1] > wrong.energy[0] else 'takes'} energy: "
            f"{wrong.energy[0]:.5f} J at the start, "
            f"{wrong.energy[-1]:.6f} J at {wrong.t[-1]:g} s; with the correct sign {right.energy[-1]:.6f} J."
        )
    return Section("energy-001", "Energy and the sign of friction", tuple(blocks))


def rod(results: PaperResults, findings: list[str]) -> Section:
    """Slides until it lies flat; slides, stops and sticks; slides and lifts off."""
    entry = problem("sliding-rod")
    blocks: list[Block] = [
        Paragraph(
            "The source derives the rod and prints no parameters. Three cases of ours: "
            + "; ".join(f"{case}: {entry.cases[case].description}" for case in motions.ROD)
            + ". Lines: the source's program by Newton's method. Circles: the LCP by Lemke's, and the events."
        )
    ]
    gallery = []
    for case in motions.ROD:
        runs = motions.pair_of(results, f"rod-{case}")
        traj = next(iter(runs.values()), None)
        if traj is None:
            continue
        happened = ", ".join(f"{name} at {t:.10f} s" for name, t in motions.events_of(traj))
        blocks.append(animation_block(
            traj, entry, f"paper-001-rod-{case}-motion", f"Rod, case {case}: {entry.cases[case].description}.",
        ))  # fmt: skip
        for title, what, column, ylabel, unit in (
            ("angle", "q", 2, "angle θ / rad", "rad"),
            ("force", "lam_N", 0, "normal force / N", "N"),
        ):
            values = {k: {title: getattr(v, what)[:, column]} for k, v in runs.items()}
            gallery.append(motions.curves_figure(
                f"paper-001-rod-{case}-{title}", f"Rod, case {case}: {title}; {happened}.",
                f"{motions.span(title, next(iter(values.values()))[title], unit)}; {happened}. {motions.apart(runs)}",
                ylabel=ylabel, **motions.beside(runs, values),
            ))  # fmt: skip
    if gallery:
        blocks.append(Gallery(tuple(gallery)))
    blocks += _rod_tables(results, findings)
    return Section("rod-001", "Rod: sliding, stopping, lifting off", tuple(blocks))


def _rod_tables(results: PaperResults, findings: list[str]) -> list[Block]:
    rows: list[tuple[Any, ...]] = []
    for case in motions.ROD:
        for label, v in motions.pair_of(results, f"rod-{case}").items():
            rows.append((case, label, *_rod_row(v)))
        loop = results.trajectory(f"rod loop: {case}")
        if loop is not None:
            rows.append((case, "printed loop", *_rod_row(loop)))
    if not rows:
        return []
    blocks: list[Block] = [Table(
        "rod-001", "The rod's motions. 'Slip changes sign' counts recorded steps; 'gap' is the height of A at the end.",
        ("case", "program", "events", "slip changes sign", "largest slip after the stop / (m/s)", "gap / m", "θ / rad",
         "energy at the end / J"),
        tuple(rows),
    )]  # fmt: skip
    stop = next(iter(motions.pair_of(results, "rod-stop").values()), None)
    loop = results.trajectory("rod loop: stop")
    stuck = None if stop is None else next((e["t"] for e in stop.events if e["kind"] == "stick"), None)
    if stop is not None and loop is not None and stuck is not None:
        i = int(np.flatnonzero(stop.t <= stuck + 1e-12)[-1])
        ratio = abs(float(stop.lam_T[i, 0, 0] / stop.lam_N[i, 0]))
        mu = stop.meta["parameters"]["mu"]
        after = loop.lam_N[loop.t > stuck, 0]
        blocks.append(Paragraph(Tex(
            f"After the stop at {stuck:.12f} s the rod sticks: $|\\lambda_T|/\\lambda_N$ = {ratio:.4f} there, "
            f"{'below' if ratio < mu else 'not below'} $\\mu$ = {mu:g}. The printed loop has no law for sticking: its "
            f"slip changes sign {len(motions.changes(loop))} times, and after the stop its normal force is between "
            f"{after.min():.4g} and {after.max():.4g} N."
        )))  # fmt: skip
        findings.append(Tex(
            f"Rod that stops: it sticks at {stuck:.12f} s with $|\\lambda_T|/\\lambda_N$ = {ratio:.4f}; the printed "
            f"loop instead changes the sign of its slip {len(motions.changes(loop))} times."
        ))  # fmt: skip
    return blocks


def _rod_row(traj: Trajectory) -> tuple[Any, ...]:
    stop = next((e["t"] for e in traj.events if e["kind"] == "stick"), None)
    if stop is None and len(motions.changes(traj)):
        stop = traj.t[motions.changes(traj)[0]]
    after = traj.slip[traj.t > stop, 0, 0] if stop is not None else np.zeros(0)
    return (
        ", ".join(f"{name} at {t:.9f} s" for name, t in motions.events_of(traj)) or "none looked for",
        len(motions.changes(traj)), float(np.abs(after).max()) if len(after) else math.nan, float(traj.gap[-1, 0]),
        float(traj.q[-1, 2]), float(traj.energy[-1]),
    )  # fmt: skip
