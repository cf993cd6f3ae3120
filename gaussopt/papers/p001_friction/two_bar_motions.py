"""Two bars in the report of paper 001: figures 3 to 5, from a start on the floor, and the printed start in the air."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.step_data import StepData
from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.problem import problem
from gaussopt.papers.figures import remarks
from gaussopt.papers.p001_friction import motions
from gaussopt.papers.report_parts import PaperResults
from gaussopt.reporting.document import Figure, Gallery, Section, Table
from gaussopt.reporting.figures.mechanism_drawing import animation_block
from gaussopt.reporting.texts import Texts

texts = Texts(__file__)


def reconstruction(results: PaperResults, findings: list[str]) -> Section:
    """Show figures 3 to 5 of the paper for the start with both ends on the floor."""
    runs = motions.pair_of(results, "two-bar-contact")
    first = next(iter(runs.values()), None)
    told = ""
    if first is not None:
        ways = [motions.way(first.slip[:, i, 0]) for i in (0, 1)]
        told = f"A slides {ways[0]}, C {ways[1]}; {motions.happened_in(first)}. "
    blocks = texts.blocks("figures", told=told)
    if first is not None:
        blocks.append(animation_block(
            first, problem("two-bar"), "paper-001-motion",
            f"Two bars with both ends on the floor, with their contact forces: {motions.happened_in(first)}.",
        ))  # fmt: skip
        blocks.append(Gallery(figures_3_to_5(runs)))
    if len(runs) == len(motions.PAIRS):
        q, N = motions.difference(*runs.values())
        findings.append(texts("difference", q=q, n=N))
        blocks += texts.blocks("largest-difference", q=q, n=N)
    return Section("motion-001", "Two bars: figures 3 to 5", tuple(blocks))


def figures_3_to_5(runs: Mapping[str, Trajectory], only: str = "") -> tuple[Figure, ...]:
    """Draw figures 3 to 5 of the paper from `runs`, or those whose numbers begin with `only`."""
    places = {k: motions.ends(v) for k, v in runs.items()}
    shown: list[tuple[str, str, str, str, dict[str, dict[str, Vector]]]] = []
    for axis, letter, points, named in (
        (0, "x", ("centroid", "A", "C"), "centroid of AB and the ends A and C"),
        (1, "y", ("centroid", "B"), "centroid of AB and the hinge B (A and C stay on the floor)"),
    ):
        values = {k: {point: places[k][point][axis] for point in points} for k in runs}
        shown.append(
            (f"3-{letter}", f"As figure 3 of the paper: {letter} of the {named}", f"{letter} / m", "m", values)
        )
    for number, what, ylabel, unit, columns in (
        ("4", "q", "angle / rad", "rad", {"θ₁": 2, "θ₂": 3}),
        ("5", "lam_N", "normal force / N", "N", {"force at A": 0, "force at C": 1}),
    ):
        values = {k: {name: getattr(v, what)[:, j] for name, j in columns.items()} for k, v in runs.items()}
        jump = motions.jump(next(iter(runs.values())))
        jumps = f"contact forces; at the events they jump by up to {jump:.3g} N"
        title = "angles θ₁ and θ₂" if number == "4" else jumps
        shown.append((number, f"As figure {number} of the paper: {title}", ylabel, unit, values))
    figures = []
    apart = motions.apart(runs)
    for name, title, ylabel, unit, values in (s for s in shown if s[0].startswith(only)):
        words = "; ".join(motions.span(k, y, unit) for k, y in next(iter(values.values())).items())
        figures.append(motions.curves_figure(
            f"paper-001-figure-{name}", f"{title}.", f"{words}. {apart}",
            ylabel=ylabel, above=True, **motions.beside(runs, values),
        ))  # fmt: skip
    return tuple(figures)


def printed_start(results: PaperResults, findings: list[str]) -> Section:
    """Show the motion from the printed start: flight, landing, impact, reversal, and sliding on the floor."""
    runs = motions.pair_of(results, "two-bar-airborne")
    traj = runs.get(next(reversed(motions.PAIRS)))
    impact = None if traj is None else next((e for e in traj.events if e["kind"] == "impact"), None)
    told = "" if traj is None else texts(
        "at-the-start", gap=traj.gap[0], events=motions.happened_in(traj), sides=_sides(traj, impact)
    )  # fmt: skip
    blocks = texts.blocks("printed-start", told=told)
    if traj is None:
        return Section("airborne-001", "Two bars: the printed start", tuple(blocks))
    blocks.append(animation_block(
        traj, problem("two-bar"), "paper-001-airborne-motion",
        f"From the printed start: {motions.happened_in(traj)}.",
    ))  # fmt: skip
    floor = {"events": motions.marks(traj, np.zeros(len(traj.t)))}
    curves = {
        "gaps": ({"A": traj.gap[:, 0], "C": traj.gap[:, 1]}, "gap / m", "Heights of A and C above the floor", "m"),
        "forces": ({"A": traj.lam_N[:, 0], "C": traj.lam_N[:, 1]}, "normal force / N", "Normal forces at A and C", "N"),
        "slips": ({"A": traj.slip[:, 0, 0], "C": traj.slip[:, 1, 0]}, "slip / (m/s)",
                  "Velocities of A and C along the floor", "m/s"),
        "energy": ({"energy": traj.energy}, "energy / J",
                   "Mechanical energy" + (f"; the impact changes it by {impact['energy_change']:.4g} "
                   f"J" if impact else ""),
                   "J"),
    }  # fmt: skip
    gallery = []
    for key, (data, ylabel, title, unit) in curves.items():
        words = "; ".join(motions.span(k, y, unit) for k, y in data.items())
        gallery.append(motions.curves_figure(
            f"paper-001-airborne-{key}", f"{title}; points mark the events.{remarks(data)}", f"{title}: {words}.",
            traj.t, data, ylabel, markers={"events": motions.marks(traj, traj.energy)} if key == "energy" else floor,
        ))  # fmt: skip
    blocks.append(Gallery(tuple(gallery)))
    if impact is not None:
        blocks.append(_impact_table(traj, impact))
        start = problem("two-bar", case="airborne").system.evaluate(0.0, traj.q[0], traj.v[0])
        rise = math.nan if start.gdot_N is None else float(start.gdot_N[0])
        first = traj.energy[np.searchsorted(traj.t, impact["t"] - 1e-12)]
        findings.append(texts(
            "landing", height=traj.gap[0].min(), rise=rise, contacts=" and ".join(impact["contacts"]), impact=impact,
            speed=abs(impact["gap_rates"][0]), first=first, last=first + impact["energy_change"],
        ))  # fmt: skip
    return Section("airborne-001", "Two bars: the printed start", tuple(blocks))


def _at_impact(traj: Trajectory, impact: Mapping[str, Any]) -> tuple[StepData, StepData]:
    """Return the steps before and after an impact."""
    system = problem("two-bar", case="airborne").system
    q = traj.q[np.searchsorted(traj.t, impact["t"] - 1e-12)]
    before, after = (system.evaluate(impact["t"], q, np.array(impact[k])) for k in ("v_before", "v_after"))
    return before, after


def _sides(traj: Trajectory, impact: Mapping[str, Any] | None) -> str:
    """Return a sentence on the sides to which the ends slide before and after an impact."""
    if impact is None:
        return ""
    before, after = (step.v_T for step in _at_impact(traj, impact))
    told = (f"{contact} comes in {motions.way(before[i])} and goes on {motions.way(after[i])}"
            for i, contact in enumerate(traj.contacts))  # fmt: skip
    return f" At the impact {', '.join(told)}."


def _impact_table(traj: Trajectory, impact: Mapping[str, Any]) -> Table:
    before, after = (np.array(impact[k]) for k in ("v_before", "v_after"))
    steps = _at_impact(traj, impact)
    rows: list[tuple[Any, ...]] = [(f"{n}′", a, b) for n, a, b in zip(traj.coordinates, before, after, strict=True)]
    for i, contact in enumerate(traj.contacts):
        rates = [s.gdot_N[i] for s in steps if s.gdot_N is not None]
        rows += [
            (f"gap rate of {contact} / (m/s)", *rates),
            (f"slip of {contact} / (m/s)", *(s.v_T[i, 0] for s in steps)),
        ]
    rows += [
        (f"{kind} impulse of {contact} / (N s)", math.nan, value)
        for key, kind in (("Lam_N", "normal"), ("Lam_T", "friction"))
        for contact, value in zip(impact["contacts"], impact[key], strict=True)
    ]
    rows.append(("kinetic energy / J", *(0.5 * v @ s.M @ v for v, s in zip((before, after), steps, strict=True))))
    return Table(
        "impact-001", f"The impact at {impact['t']:.12f} s: velocities in m/s and rad/s, impulses.",
        ("quantity", "before", "after"), tuple(rows),
    )  # fmt: skip
