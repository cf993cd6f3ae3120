"""Motions of paper 001 for the report: two bars, the printed loop, the rod, and what friction does to the energy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussopt.comparison import Indices, common_instants
from gaussopt.core.step_data import Matrix, Vector
from gaussopt.modelling.problem import problem
from gaussopt.modelling.reference import Reference, ReferenceData
from gaussopt.papers import report_parts as common
from gaussopt.papers.report_parts import Results
from gaussopt.processes.job import Job
from gaussopt.reporting.animation.animate import animation_block
from gaussopt.reporting.document import Block, Figure, Gallery, Paragraph, Section, Table, Tex
from gaussopt.reporting.figures import plots

if TYPE_CHECKING:
    import pandas as pd

    from gaussopt.integration.trajectory import Trajectory

PRINTED = ("normal-force-qp", "newton")
MECHANICS = ("lcp", "lemke")
PAIRS = {"QP (29) by Newton": PRINTED, "LCP by Lemke": MECHANICS}
"""The source's program by the source's method, and the LCP beside it."""

LOOP = "as-printed-001"
EXACT: dict[str, Any] = {"stepper": "dop853", "rtol": 1e-12, "atol": 1e-12}

STEPS, FEW_STEPS = (600, 1200), (200,)
"""Steps of the printed loop up to the last event of the reference, and in a quick run; the first by both programs."""

ROWS = {"two-bar-contact": (100, 200), "two-bar": (50, 200), "sliding-rod": (20, 50)}
"""Instants of the references at which the motions are recorded, by the two pairs; a fifth of them in a quick run,
and 20 at most."""

LATER = 0.5
"""End of the runs that compare energies by the printed loop, s."""

FED = 0.09
"""Instant at which the energies with both signs of friction are compared, s; no event lies before it."""

AIR: dict[str, dict[str, Any]] = {
    "printed formulas, F = −40 N, g = 0": {"variant": "as-printed", "F": -40.0, "g": 0.0},
    "correct formulas, F = 0, g = 9.81 m/s²": {},
    "printed formulas, F = g = 0": {"variant": "as-printed", "F": 0.0, "g": 0.0},
    "correct formulas, F = g = 0": {"F": 0.0, "g": 0.0},
}
"""Runs of the printed loop from the printed start."""

FLIGHT = "event-driven, F = g = 0"
ROD = ("floor", "stop", "lift")


# -- the work ------------------------------------------------------------------------------------------


def cases(quick: bool) -> list[Job]:
    """All motions."""
    found = []
    for name, references in (("two-bar", ("two-bar-contact", "two-bar-airborne")), ("sliding-rod", _rods())):
        for reference in references:
            for label, pair in PAIRS.items():
                n = ROWS.get(reference, ROWS[name])[pair == MECHANICS]
                n = min(n // 5, 20) if quick else n
                arguments = {"name": name, "reference": reference, "pair": pair, "rows": n}
                found.append(Job(f"{reference}: {label}", follow, arguments, 1.5e-2 * n))
    counts = FEW_STEPS if quick else STEPS
    for n in counts:
        for label, pair in list(PAIRS.items())[: 2 if n == counts[0] else 1]:
            arguments = {"name": "two-bar", "reference": "two-bar-contact", "pair": pair, "rows": n, "stepper": LOOP,
                         "tolerance": math.inf}  # fmt: skip
            found.append(Job(f"loop, {n} steps: {label}", follow, arguments, 2e-3 * n))
    for label, settings in AIR.items():
        arguments = _two_bar(PRINTED, {"case": "airborne", **settings}, stepper=LOOP,
                             dt=1e-2 if quick else 2e-3, tolerance=math.inf)  # fmt: skip
        found.append(Job(f"air: {label}", common.motion, arguments, 0.4 if quick else 1.0))
    arguments = _two_bar(MECHANICS, {"case": "airborne", "F": 0.0, "g": 0.0}, **EXACT, dt=0.05, t_end=5.0)
    found.append(Job(f"air: {FLIGHT}", common.motion, arguments, 0.3))
    for label, settings in (("correct", {}), ("printed", {"variant": "printed-sign"})):
        arguments = _two_bar(MECHANICS, settings, **EXACT, dt=FED / (5 if quick else 30), t_end=FED)
        found.append(Job(f"energy: {label} sign", common.motion, arguments, 0.5))
        arguments = _two_bar(MECHANICS, settings, stepper="dop853", rtol=1e-9, atol=1e-9,
                             dt=0.05 if quick else 0.01, t_end=LATER)  # fmt: skip
        found.append(Job(f"energy: {label} sign, further", common.motion, arguments, 0.5))
        arguments = _two_bar(PRINTED, settings, stepper=LOOP, dt=4e-3 if quick else 1e-3, t_end=LATER,
                             tolerance=math.inf)  # fmt: skip
        found.append(Job(f"energy: {label} sign, printed loop", common.motion, arguments, 0.6))
    for case in ("stop", "lift"):
        arguments = {"name": "sliding-rod", "formulation": PRINTED[0], "solver": PRINTED[1],
                     "settings": {"case": case}, "stepper": LOOP, "dt": 1e-3, "tolerance": math.inf}  # fmt: skip
        found.append(Job(f"rod loop: {case}", common.motion, arguments, 0.3))
    return found


def _rods() -> tuple[str, ...]:
    return tuple(f"rod-{case}" for case in ROD)


def _two_bar(pair: tuple[str, str], settings: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    return {"name": "two-bar", "formulation": pair[0], "solver": pair[1], "settings": settings, **options}


def follow(name: str, reference: str, pair: tuple[str, str], rows: int, **options: Any) -> Trajectory:
    """The motion of a reference, recorded at instants of it: so many until its end."""
    entry = _reference(name, reference)
    end, case = float(entry.load().t[-1]), reference.rpartition("-")[2]
    t_end = min(problem(name, case=case).t_end, 2 * end)
    return common.motion(name, *pair, {"case": case}, dt=end / rows, t_end=t_end, **(options or EXACT))


def _reference(name: str, reference: str) -> Reference:
    return next(r for r in problem(name).references if r.name == reference)


# -- what is read off ----------------------------------------------------------------------------------


def ends(traj: Trajectory) -> dict[str, Matrix]:
    """Places of the centroid of AB, of its ends A and B, and of C, each (2, N), m."""
    x, y, th1, th2 = traj.q.T
    l = traj.meta["parameters"]["l"]
    along = l / 2 * np.array([np.cos(th1), np.sin(th1)])
    centre = np.array([x, y])
    B = centre + along
    return {"centroid": centre, "A": centre - along, "B": B, "C": B + l * np.array([np.sin(th2), -np.cos(th2)])}


def event_name(event: Mapping[str, Any]) -> str:
    """The kind with the contact's name, as references write it."""
    return f"{event['kind']}:{event['contact']}" if "contact" in event else str(event["kind"])


def _spoken(name: str) -> str:
    kind, _, contact = name.replace("_", "-").partition(":")
    if kind == "floor":
        return "bar on the floor"
    return f"{kind} of {contact}" if contact else kind


def _happened(traj: Trajectory, digits: int = 4) -> str:
    """The events of a motion with their times, one after the other."""
    names = (f"{event['kind']} of {' and '.join(event['contacts'])}" if "contacts" in event
             else _spoken(event_name(event)) for event in traj.events)  # fmt: skip
    # A landing with an impact is told by the impact.
    hit = {event["t"] for event in traj.events if event["kind"] == "impact"}
    told = [f"{name} at {event['t']:.{digits}f} s" for name, event in zip(names, traj.events, strict=True)
            if event["kind"] != "landing" or event["t"] not in hit]  # fmt: skip
    return ", then ".join(told) or "no event"


def _way(slip: Vector) -> str:
    """To which side an end slides, rounding left out."""
    found = [side for side, there in (("left", slip < -1e-9), ("right", slip > 1e-9)) if there.any()]
    return f"to the {' and to the '.join(found)}" if found else "nowhere"


def _jump(traj: Trajectory) -> float:
    """Largest jump of a contact force between the two rows of an event, N."""
    rows = np.flatnonzero(np.diff(traj.t) < 1e-12)
    return float(np.abs(traj.lam_N[rows + 1] - traj.lam_N[rows]).max(initial=0.0))


def marks(traj: Trajectory, values: Vector) -> tuple[Vector, Vector]:
    """Points of a curve at the events of the motion."""
    t = np.array(sorted({e["t"] for e in traj.events}))
    return t, np.interp(t, traj.t, values)


def agreement(traj: Trajectory, rows: ReferenceData) -> tuple[int, float, float, float]:
    """Instants that both have, and the largest errors of q, v and the normal forces there."""
    here, there = common_instants(traj, rows)
    if not len(here):
        return 0, math.nan, math.nan, math.nan
    q, v = (float(np.abs(getattr(traj, k)[here] - getattr(rows, k)[there]).max()) for k in ("q", "v"))
    return len(here), q, v, float(np.abs(traj.lam_N[here] - rows.lam_N[there]).max())


def rise(traj: Trajectory) -> float:
    """Largest rise of the energy from one recorded instant to the next, J."""
    return float(np.diff(traj.energy).max(initial=0.0))


def difference(first: Trajectory, second: Trajectory) -> tuple[float, float]:
    """Largest differences of q and of the normal forces at instants that both recorded.

    An event is recorded twice, before and after it; first is compared with first, last with last.
    """
    q, N = [0.0], [0.0]
    for side in (0, -1):
        known = {round(t, 11): i for i, t in list(enumerate(second.t))[:: 1 if side else -1]}
        own = {round(t, 11): i for i, t in list(enumerate(first.t))[:: 1 if side else -1]}
        for t in own.keys() & known.keys():
            q.append(float(np.abs(first.q[own[t]] - second.q[known[t]]).max()))
            N.append(float(np.abs(first.lam_N[own[t]] - second.lam_N[known[t]]).max()))
    return max(q), max(N)


def pair_of(results: Results, reference: str) -> dict[str, Trajectory]:
    """The motions of a reference by label of the pair."""
    return results.trajectories(f"{reference}: ")


# -- figures -------------------------------------------------------------------------------------------


def _figure(
    name: str, caption: str, words: str, t: Vector | Mapping[str, Vector], curves: Mapping[str, Vector], ylabel: str,
    markers: Mapping[str, tuple[Vector, Vector]] | None = None, size: tuple[float, float] = (4.4, 2.8),
    data: pd.DataFrame | None = None, **how: Any,
) -> Figure:  # fmt: skip
    import pandas as pd

    svg = plots.lines(t, curves, "t / s", ylabel, size=size, markers=markers, **how)
    if data is None and isinstance(t, Mapping):
        data = pd.concat([pd.DataFrame({"curve": k, "t": t[k], "value": y}) for k, y in curves.items()])
    elif data is None:
        data = pd.DataFrame({"t": t, **curves})
    notes = "" if isinstance(t, Mapping) or markers else common.remarks(curves)
    return Figure(name, f"{caption}{notes}", words, svg, data)


def _range(label: str, y: Vector, unit: str) -> str:
    low, high = float(np.min(y)), float(np.max(y))
    ends = sorted((float(y[0]), float(y[-1])))
    beyond = max(ends[0] - low, high - ends[1]) > 1e-6 * max(1e-12, high - low)
    within = f" within {low + 0.0:.4g} to {high + 0.0:.4g}" if beyond else ""
    return f"{label} from {float(y[0]) + 0.0:.4g} to {float(y[-1]) + 0.0:.4g}{within} {unit}"


# -- two bars on the floor -----------------------------------------------------------------------------


def reconstruction(results: Results, findings: list[str]) -> Section:
    """Figures 3 to 5 of the source for the start with both ends on the floor."""
    runs = pair_of(results, "two-bar-contact")
    first = next(iter(runs.values()), None)
    told = "" if first is None else (
        f"A slides {_way(first.slip[:, 0, 0])}, C {_way(first.slip[:, 1, 0])}; {_happened(first)}. "
    )  # fmt: skip
    blocks: list[Block] = [
        Paragraph(Tex(
            "The figures of the source need both ends on the floor, which its printed start does not have. Here A is "
            "put on the floor ($y=\\frac l2\\sin\\frac\\pi4$, $\\dot y=\\frac l2\\cos(\\theta_1)\\,\\dot\\theta_1$), "
            "with "
            f"gravity and $F=0$. {told}From event to event by "
            "DOP853 with tolerance 1e-12. Lines: the source's quadratic program with Newton's method. Circles: the LCP "
            "with Lemke's method, and the events."
        ))
    ]  # fmt: skip
    if first is not None:
        blocks.append(animation_block(
            first, problem("two-bar"), "paper-001-motion",
            f"Two bars with both ends on the floor, with their contact forces: {_happened(first)}.",
        ))  # fmt: skip
        blocks.append(Gallery(_figures_3_to_5(runs)))
    if len(runs) == len(PAIRS):
        q, N = difference(*runs.values())
        findings.append(
            f"Two bars with both ends on the floor: the quadratic program by Newton and the LCP by Lemke differ along "
            f"the motion by at most {q:.1e} in the coordinates and {N:.1e} N in the contact forces."
        )
        blocks.append(Paragraph(
            f"Largest difference between the two: {q:.1e} in the coordinates (m, rad), {N:.1e} N in the contact forces."
        ))  # fmt: skip
    return Section("motion-001", "Two bars: figures 3 to 5", tuple(blocks))


def _beside(runs: Mapping[str, Trajectory], values: Mapping[str, Mapping[str, Vector]]) -> dict[str, Any]:
    """Curves of the first run, points of the others, and all of it as data.

    `values` holds the curves by name, for each run.
    """
    import pandas as pd

    first, *others = runs
    points = {}
    for k in others:
        some = slice(None, None, max(1, len(runs[k].t) // 25))
        t = np.concatenate([runs[k].t[some]] * len(values[k]))
        points[k] = t, np.concatenate([y[some] for y in values[k].values()])
    named = next(iter(values[first].values()))
    data = pd.concat([
        pd.DataFrame({"program": k, "curve": name, "t": runs[k].t, "value": y})
        for k in runs for name, y in values[k].items()
    ])  # fmt: skip
    curves = {f"{name}, {first}": y for name, y in values[first].items()}
    return {
        "t": runs[first].t,
        "curves": curves,
        "markers": {**points, "events": marks(runs[first], named)},
        "data": data,
    }


def _apart(runs: Mapping[str, Trajectory]) -> str:
    """How far two programs are apart, as a sentence; nothing if there is one."""
    if len(runs) < len(PAIRS):
        return ""
    q, N = difference(*runs.values())
    return f"The two programs differ by at most {q:.1e} in the coordinates and {N:.1e} N in the forces."


def _figures_3_to_5(runs: Mapping[str, Trajectory]) -> tuple[Figure, ...]:
    places = {k: ends(v) for k, v in runs.items()}
    shown: list[tuple[str, str, str, str, dict[str, dict[str, Vector]]]] = []
    for axis, letter, points, named in (
        (0, "x", ("centroid", "A", "C"), "centroid of AB and the ends A and C"),
        (1, "y", ("centroid", "B"), "centroid of AB and the hinge B (A and C stay on the floor)"),
    ):
        values = {k: {point: places[k][point][axis] for point in points} for k in runs}
        shown.append((f"3-{letter}", f"Figure 3. {letter} of the {named}", f"{letter} / m", "m", values))
    for number, what, ylabel, unit, columns in (
        ("4", "q", "angle / rad", "rad", {"θ₁": 2, "θ₂": 3}),
        ("5", "lam_N", "normal force / N", "N", {"force at A": 0, "force at C": 1}),
    ):
        values = {k: {name: getattr(v, what)[:, j] for name, j in columns.items()} for k, v in runs.items()}
        jump = _jump(next(iter(runs.values())))
        jumps = f"Contact forces; at the events they jump by up to {jump:.3g} N"
        title = "Angles θ₁ and θ₂" if number == "4" else jumps
        shown.append((number, f"Figure {number}. {title}", ylabel, unit, values))
    figures = []
    apart = _apart(runs)
    for name, title, ylabel, unit, values in shown:
        words = "; ".join(_range(k, y, unit) for k, y in next(iter(values.values())).items())
        figures.append(_figure(
            f"paper-001-figure-{name}", f"{title}.", f"{words}. {apart}",
            ylabel=ylabel, above=True, **_beside(runs, values),
        ))  # fmt: skip
    return tuple(figures)


# -- agreement with the references ---------------------------------------------------------------------


def agreement_section(results: Results, findings: list[str]) -> Section:
    """States, forces and event times against the references, for both problems."""
    states, events = [], []
    worst = late = 0.0
    compared = 0
    for name, references in (("two-bar", ("two-bar-contact", "two-bar-airborne")), ("sliding-rod", _rods())):
        for reference in references:
            entry = _reference(name, reference)
            rows = entry.load()
            for label, traj in pair_of(results, reference).items():
                n, q, v, N = agreement(traj, rows)
                states.append((reference, label, str(traj.status), n, q, v, N, traj.worst.relative_error, rise(traj),
                               traj.meta["evaluations"], traj.timing["total"]))  # fmt: skip
                worst, compared = max(worst, q, v), compared + n
                for event, time in entry.events:
                    mine = [e["t"] for e in traj.events if event_name(e) == event]
                    nearest = min(mine, key=lambda t, time=time: abs(t - time), default=math.nan)  # type: ignore[misc]
                    late = max(late, abs(nearest - time))
                    events.append((reference, _spoken(event), label, f"{time:.15f}", f"{nearest:.15f}", nearest - time))
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


# -- the printed start ---------------------------------------------------------------------------------


def printed_start(results: Results, findings: list[str]) -> Section:
    """Flight, landing, impact, reversal, floor."""
    runs = pair_of(results, "two-bar-airborne")
    traj = runs.get(next(reversed(PAIRS)))
    impact = None if traj is None else next((e for e in traj.events if e["kind"] == "impact"), None)
    told = "" if traj is None else (
        f" At the start A is {traj.gap[0, 0]:.4f} m and C {traj.gap[0, 1]:.4f} m above the floor; "
        f"{_happened(traj)}.{_sides(traj, impact)}"
    )  # fmt: skip
    blocks: list[Block] = [
        Paragraph(Tex(
            "The printed start is $y=l\\sin\\frac\\pi4$, $\\dot y=1$. Here gravity acts. The source has no law for a "
            "landing; this run takes Newton's law of impact with $e_N=0$ and Coulomb's law between the impulses and "
            f"the slip after the impact.{told}"
        ))
    ]  # fmt: skip
    if traj is None:
        return Section("airborne-001", "Two bars: the printed start", tuple(blocks))
    blocks.append(animation_block(
        traj, problem("two-bar"), "paper-001-airborne-motion",
        f"From the printed start: {_happened(traj)}.",
    ))  # fmt: skip
    floor = {"events": marks(traj, np.zeros(len(traj.t)))}
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
        words = "; ".join(_range(k, y, unit) for k, y in data.items())
        marked = {"events": marks(traj, traj.energy)} if key == "energy" else floor
        gallery.append(_figure(f"paper-001-airborne-{key}", f"{title}; points mark the events.{common.remarks(data)}",
                               f"{title}: {words}.", traj.t, data, ylabel, marked))  # fmt: skip
    blocks.append(Gallery(tuple(gallery)))
    if impact is not None:
        blocks.append(_impact_table(traj, impact))
        first = traj.energy[np.searchsorted(traj.t, impact["t"] - 1e-12)]
        findings.append(
            f"Printed start: both ends are {traj.gap[0].min():.5f} m above the floor and rise at "
            f"{_gap_rates(traj)[0]:.5f} m/s; {' and '.join(impact['contacts'])} land at {impact['t']:.12f} s with "
            f"{abs(impact['gap_rates'][0]):.6f} m/s, and the impact takes the energy from {first:.4f} to "
            f"{first + impact['energy_change']:.4f} J."
        )
    return Section("airborne-001", "Two bars: the printed start", tuple(blocks))


def _sides(traj: Trajectory, impact: Mapping[str, Any] | None) -> str:
    """To which side the ends slide before and after an impact, as a sentence."""
    if impact is None:
        return ""
    system = problem("two-bar", case="airborne").system
    q = traj.q[np.searchsorted(traj.t, impact["t"] - 1e-12)]
    before, after = (system.evaluate(impact["t"], q, np.array(impact[k])).v_T for k in ("v_before", "v_after"))
    told = (f"{contact} comes in {_way(before[i])} and goes on {_way(after[i])}"
            for i, contact in enumerate(traj.contacts))  # fmt: skip
    return f" At the impact {', '.join(told)}."


def _gap_rates(traj: Trajectory) -> Vector:
    """Gap rates of the start, m/s."""
    entry = problem("two-bar", case="airborne")
    step = entry.system.evaluate(0.0, traj.q[0], traj.v[0])
    assert step.gdot_N is not None
    return step.gdot_N


def _impact_table(traj: Trajectory, impact: Mapping[str, Any]) -> Table:
    before, after = (np.array(impact[k]) for k in ("v_before", "v_after"))
    system = problem("two-bar", case="airborne").system
    q = traj.q[np.searchsorted(traj.t, impact["t"] - 1e-12)]
    steps = [system.evaluate(impact["t"], q, v) for v in (before, after)]
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


# -- the printed loop ----------------------------------------------------------------------------------


def printed_loop(results: Results, findings: list[str]) -> Section:
    """The source's six steps, from the floor and from the air."""
    blocks: list[Block] = [
        Paragraph(
            "The six steps of the source: from q and q̇ form M, Q, the contact rows and the signs of the slips; form A "
            "and b (the source's B); find the contact forces by Newton's method on the optimality conditions of (29); "
            "then the "
            "acceleration; advance by a fixed step; repeat. Nothing asks for a gap, an impact, a slip that vanishes or "
            "a bar that lies flat. The integrator of the source is not stated; here it is semi-implicit Euler, and "
            "every answer is taken, whatever its certificate."
        )
    ]
    rows = _reference("two-bar", "two-bar-contact").load()
    table = []
    for key, traj in results.group("loop, ").items():
        n, q, v, N = agreement(traj, rows)
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
    for n in (*STEPS, *FEW_STEPS):
        both = results.trajectories(f"loop, {n} steps: ")
        if len(both) == len(PAIRS):
            q, N = difference(*both.values())
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
    label = next(iter(AIR))
    loaded = air.get(label)
    if loaded is not None:
        forces = {"A": loaded.lam_N[:, 0], "C": loaded.lam_N[:, 1]}
        gaps = {"A": loaded.gap[:, 0], "C": loaded.gap[:, 1]}
        words = f"{_range('at A', forces['A'], 'N')}, {_range('at C', forces['C'], 'N')}"
        span = f"{_range('gap of A', gaps['A'], 'm')}, {_range('gap of C', gaps['C'], 'm')}"
        blocks.append(Gallery((
            _figure("paper-001-air-forces", f"Normal forces at A and C, both above the floor at the start: "
            f"{label}.", f"Contact forces: {words}.",
                    loaded.t, forces, "normal force / N"),
            _figure("paper-001-air-gaps", f"Gaps of the same run; the smallest is {loaded.gap.min():.3g} m, and a "
            f"negative one is a "
                    "bar inside the floor.",
                    f"Gaps: {span}.", loaded.t, gaps, "gap / m"),
        )))  # fmt: skip
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
    """What the loop does from the air in one run, as a sentence."""
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


# -- energy --------------------------------------------------------------------------------------------


def energy(results: Results, findings: list[str]) -> Section:
    """Friction with the correct and with the printed sign."""
    runs = results.trajectories("energy: ")
    blocks: list[Block] = [
        Paragraph(Tex(
            "The text of the source takes friction along the slip, $s=\\operatorname{sgn}v_T$; its rod uses "
            "$s=-\\operatorname{sgn}v_T$, which is correct. "
            f"Two bars on the floor from the same start, event-driven up to {FED:g} s, before any event, then further "
            f"up to {LATER:g} s, and by the printed loop up to there. The last column says how each run ended."
        ))
    ]  # fmt: skip
    if not runs:
        return Section("energy-001", "Energy and the sign of friction", tuple(blocks))
    blocks.append(Table(
        "energy-001", "Mechanical energy.",
        ("run", "start / J", f"at {FED:g} s / J", "end / s", "at the end / J", "largest rise in a step / J",
         "how it ended"),
        tuple((k, v.energy[0], float(np.interp(FED, v.t, v.energy)), v.t[-1], v.energy[-1], rise(v), v.message)
              for k, v in runs.items()),
    ))  # fmt: skip
    drawn = {k: v for k, v in runs.items() if "," in k}
    if drawn:
        curves = {k: v.energy for k, v in drawn.items()}
        words = "; ".join(_range(k, y, "J") for k, y in curves.items())
        changes = ", ".join(f"{y[-1] - y[0]:+.3g} J ({k})" for k, y in curves.items())
        blocks.append(_figure(
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


# -- the rod -------------------------------------------------------------------------------------------


def rod(results: Results, findings: list[str]) -> Section:
    """Slides until it lies flat; slides, stops and sticks; slides and lifts off."""
    entry = problem("sliding-rod")
    blocks: list[Block] = [
        Paragraph(
            "The source derives the rod and prints no parameters. Three cases of ours: "
            + "; ".join(f"{case}: {entry.cases[case].description}" for case in ROD)
            + ". Lines: the source's program by Newton's method. Circles: the LCP by Lemke's, and the events."
        )
    ]
    gallery = []
    for case in ROD:
        runs = pair_of(results, f"rod-{case}")
        traj = next(iter(runs.values()), None)
        if traj is None:
            continue
        happened = ", ".join(f"{_spoken(event_name(e))} at {e['t']:.10f} s" for e in traj.events)
        blocks.append(animation_block(
            traj, entry, f"paper-001-rod-{case}-motion", f"Rod, case {case}: {entry.cases[case].description}.",
        ))  # fmt: skip
        for title, what, column, ylabel, unit in (
            ("angle", "q", 2, "angle θ / rad", "rad"),
            ("force", "lam_N", 0, "normal force / N", "N"),
        ):
            values = {k: {title: getattr(v, what)[:, column]} for k, v in runs.items()}
            gallery.append(_figure(
                f"paper-001-rod-{case}-{title}", f"Rod, case {case}: {title}; {happened}.",
                f"{_range(title, next(iter(values.values()))[title], unit)}; {happened}. {_apart(runs)}",
                ylabel=ylabel, **_beside(runs, values),
            ))  # fmt: skip
    if gallery:
        blocks.append(Gallery(tuple(gallery)))
    blocks += _rod_tables(results, findings)
    return Section("rod-001", "Rod: sliding, stopping, lifting off", tuple(blocks))


def _rod_tables(results: Results, findings: list[str]) -> list[Block]:
    rows: list[tuple[Any, ...]] = []
    for case in ROD:
        for label, v in pair_of(results, f"rod-{case}").items():
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
    stop = next(iter(pair_of(results, "rod-stop").values()), None)
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
            f"slip "
            f"changes sign {len(_changes(loop))} times, and after the stop its normal force is between "
            f"{after.min():.4g} and {after.max():.4g} N."
        )))  # fmt: skip
        findings.append(Tex(
            f"Rod that stops: it sticks at {stuck:.12f} s with $|\\lambda_T|/\\lambda_N$ = {ratio:.4f}; the printed "
            f"loop instead changes "
            f"the sign of its slip {len(_changes(loop))} times."
        ))  # fmt: skip
    return blocks


def _changes(traj: Trajectory) -> Indices:
    """Steps over which the slip changes its sign, rounding left out."""
    slip = np.where(np.abs(traj.slip[:, 0, 0]) < 1e-9, 0.0, traj.slip[:, 0, 0])
    return np.flatnonzero(slip[1:] * slip[:-1] < 0)


def _rod_row(traj: Trajectory) -> tuple[Any, ...]:
    stop = next((e["t"] for e in traj.events if e["kind"] == "stick"), None)
    if stop is None and len(_changes(traj)):
        stop = traj.t[_changes(traj)[0]]
    after = traj.slip[traj.t > stop, 0, 0] if stop is not None else np.zeros(0)
    return (
        ", ".join(f"{_spoken(event_name(e))} at {e['t']:.9f} s" for e in traj.events) or "none looked for",
        len(_changes(traj)), float(np.abs(after).max()) if len(after) else math.nan, float(traj.gap[-1, 0]),
        float(traj.q[-1, 2]), float(traj.energy[-1]),
    )  # fmt: skip


def sections(results: Results, findings: list[str]) -> Sequence[Section]:
    """All of them in the order of the report."""
    return tuple(
        make(results, findings)
        for make in (reconstruction, printed_start, agreement_section, printed_loop, energy, rod)
    )
