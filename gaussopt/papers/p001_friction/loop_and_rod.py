"""Results on paper 001: errors, motions by the paper's own algorithm, energies, and motions of the sliding rod."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.problem import problem
from gaussopt.papers.p001_friction import motions
from gaussopt.papers.p001_friction.c09_agrees_with_physics import PRINTED_SIGN
from gaussopt.papers.p001_friction.sliding_motion import energies
from gaussopt.papers.report_parts import PaperResults, part
from gaussopt.reporting.document import Block, Figure, Gallery, Section, Tex
from gaussopt.reporting.figures.mechanism_drawing import animation_block
from gaussopt.reporting.texts import Texts

texts = Texts(__file__)


def agreement_section(results: PaperResults, findings: list[str]) -> Section:
    """Compare states, forces and event times with the references, for the two bars and the rod."""
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
    if states:
        findings.append(texts("agreement", compared=compared, worst=worst, events=len(events), late=late))
    tables = texts.table("agreement-001", states, timed=("seconds",)), texts.table("events-001", events)
    return part("agreement-001", "Agreement with the references", *tables)


def printed_loop(results: PaperResults, findings: list[str]) -> Section:
    """Show motions by the paper's algorithm of six steps, which is started on the floor and in the air."""
    rows = motions.reference_of("two-bar", "two-bar-contact").load()
    table = []
    for key, traj in results.group("loop, ").items():
        n, q, v, N = motions.agreement(traj, rows)
        table.append((key, str(traj.status), traj.meta["dt"], n, q, v, N, float(np.abs(traj.gap).max()),
                      float(np.sin(traj.q[-1, 2]))))  # fmt: skip
    for n in (*motions.STEPS, *motions.FEW_STEPS):
        both = results.trajectories(f"loop, {n} steps: ")
        if len(both) == len(motions.PAIRS):
            q, N = motions.difference(*both.values())
            findings.append(texts("programs-of-the-loop", n=n, q=q, N=N))
    air = results.trajectories("air: ")
    blocks = _from_the_air(air, findings) if air else None
    return part("loop-001", "The loop as printed", texts.blocks("loop"), texts.table("loop-001", table), blocks)


def _from_the_air(air: Mapping[str, Trajectory], findings: list[str]) -> list[Block]:
    blocks = texts.blocks("from-the-air", runs=" ".join(_in_the_air(k, v) for k, v in air.items()))
    blocks.append(texts.table("air-001", (
        (k, str(v.status), v.gap[0, 0], v.lam_N[0, 0], v.lam_N[0, 1], float(np.abs(v.lam_N).max()), float(v.gap.min()),
         float(v.gap.max()), v.t[-1]) for k, v in air.items()
    )))  # fmt: skip
    label = next(iter(motions.AIR))
    loaded = air.get(label)
    if loaded is not None:
        shown = (
            ("forces", loaded.lam_N, "normal force / N", "N", "at",
             f"Normal forces at A and C, both above the floor at the start: {label}.", "Contact forces"),
            ("gaps", loaded.gap, "gap / m", "m", "gap of",
             texts("gaps-from-the-air", smallest=loaded.gap.min()), "Gaps"),
        )  # fmt: skip
        figures = []
        for name, values, ylabel, unit, of, caption, words in shown:
            data = {"A": values[:, 0], "C": values[:, 1]}
            told = ", ".join(motions.span(f"{of} {k}", y, unit) for k, y in data.items())
            alt = f"{words}: {told}."
            figures.append(motions.curves_figure(f"paper-001-air-{name}", caption, alt, loaded.t, data, ylabel))
        blocks.append(Gallery(tuple(figures)))
        N, height = loaded.lam_N[0], loaded.gap[0].min()
        findings.append(texts("forces-from-the-air", label=label, N=N, height=height))
    still = {k: v for k, v in air.items() if k.endswith("F = g = 0")}
    if still:
        largest = max(float(np.abs(v.lam_N).max()) for v in still.values())
        findings.append(texts("without-load", runs=len(still), largest=largest))
    return blocks


def _in_the_air(label: str, traj: Trajectory) -> str:
    """Return a sentence on one run of the paper's algorithm from a start in the air."""
    start = traj.gap[0].min()
    pressed = traj.lam_N[0].max() > 0
    text = f"{label[:1].upper()}{label[1:]}: "
    text += f"the floor presses from {start:.3f} m below at once" if pressed else "no contact force at the start"
    below = [
        texts("through-the-floor", contact=contact, time=traj.t[np.argmax(gap < 0)])
        for contact, gap in zip(traj.contacts, traj.gap.T, strict=True) if (gap < 0).any()
    ]  # fmt: skip
    ends = " and ".join(f"{gap:.3f}" for gap in traj.gap[-1])
    return f"{text}, {', '.join(below) or f'the gaps end at {ends} m'}."


def energy(results: PaperResults, findings: list[str]) -> Section:
    """Show the energy of motions with the correct sign of friction and with the printed sign."""
    runs = results.trajectories("energy: ")
    fed = {k: float(np.interp(motions.FED, v.t, v.energy)) for k, v in runs.items()}
    rows = [(k, v.energy[0], fed[k], v.t[-1], v.energy[-1], motions.rise(v), v.message) for k, v in runs.items()]
    right, wrong = (runs.get(f"{k} sign") for k in ("correct", "printed"))
    if right is not None and wrong is not None:
        start, end = wrong.energy[0], wrong.energy[-1]
        findings.append(texts(
            "energies", feeds="feeds" if end > start else "takes", E_start=start, E_wrong=end, end=wrong.t[-1],
            E_right=right.energy[-1],
        ))  # fmt: skip
    return part(
        "energy-001", "Energy and the sign of friction",
        texts.blocks("sign-of-friction", fed=motions.FED, later=motions.LATER),
        texts.table("energy-001", rows, fed=motions.FED), energy_figure(results),
    )  # fmt: skip


def energy_figure(results: PaperResults) -> Figure | None:
    """Draw the energy with both signs of friction; None if all motions failed."""
    drawn = {k: v for k, v in results.trajectories("energy: ").items() if "," in k}
    if not drawn:
        return None
    curves = {k: v.energy for k, v in drawn.items()}
    words = "; ".join(motions.span(k, y, "J") for k, y in curves.items())
    changes = ", ".join(f"{y[-1] - y[0]:+.3g} J ({k})" for k, y in curves.items())
    derived = [energies(motions.FED, sign)[1] for sign in (1, PRINTED_SIGN)]
    marks = {f"reference at {motions.FED:g} s": (np.full(2, motions.FED), np.array(derived))}
    return motions.curves_figure(
        "paper-001-energy", texts("energy", changes=changes), f"Energy: {words}.",
        {k: v.t for k, v in drawn.items()}, curves, "energy / J", above=True, size=(4.6, 2.9),
        markers=marks,
    )  # fmt: skip


def rod(results: PaperResults, findings: list[str]) -> Section:
    """Show the rod's motions: it slides until it lies flat; slides, stops and sticks; or slides and lifts off."""
    entry = problem("sliding-rod")
    blocks = texts.blocks("rod", cases="; ".join(f"{case}: {entry.cases[case].description}" for case in motions.ROD))
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
    drawn = Gallery(tuple(gallery)) if gallery else None
    return part("rod-001", "Rod: sliding, stopping, lifting off", blocks, drawn, _rod_tables(results, findings))


def _rod_tables(results: PaperResults, findings: list[str]) -> list[Block]:
    rows: list[tuple[Any, ...]] = []
    for case in motions.ROD:
        for label, v in motions.pair_of(results, f"rod-{case}").items():
            rows.append((case, label, *_rod_row(v)))
        loop = results.trajectory(f"rod loop: {case}")
        if loop is not None:
            rows.append((case, "printed loop", *_rod_row(loop)))
    blocks: list[Block] = [texts.table("rod-001", rows)]
    stop = next(iter(motions.pair_of(results, "rod-stop").values()), None)
    loop = results.trajectory("rod loop: stop")
    stuck = None if stop is None else next((e["t"] for e in stop.events if e["kind"] == "stick"), None)
    if stop is not None and loop is not None and stuck is not None:
        i = int(np.flatnonzero(stop.t <= stuck + 1e-12)[-1])
        ratio = abs(float(stop.lam_T[i, 0, 0] / stop.lam_N[i, 0]))
        mu = stop.meta["parameters"]["mu"]
        after = loop.lam_N[loop.t > stuck, 0]
        changes, below = len(motions.changes(loop)), "below" if ratio < mu else "not below"
        blocks += texts.blocks(
            "sticks", stuck=stuck, ratio=ratio, below=below, mu=mu, changes=changes, least=after.min(), most=after.max()
        )
        findings.append(Tex(texts("rod-that-stops", stuck=stuck, ratio=ratio, changes=changes)))
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
