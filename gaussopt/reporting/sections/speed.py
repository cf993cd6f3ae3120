"""The report of a comparison: speed, speed at a given accuracy, and gains of warm starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gaussopt.comparison import performance_profiles as performance
from gaussopt.comparison.performance_profiles import Costs, Mean, profile_of
from gaussopt.comparison.records import STARTS
from gaussopt.comparison.step_table import TimedAnswers, join, quantiles, stacked
from gaussopt.comparison.warm_starts import WarmGain, warm_gain
from gaussopt.core.display import counted as plural
from gaussopt.core.display import gathered
from gaussopt.reporting.document import Block, Data, Figure, Paragraph, Section, Table
from gaussopt.reporting.figures import plots
from gaussopt.reporting.sections.grouping import SWEEP, Group, anchor_of, in_sentence, listed, per_cent, short
from gaussopt.reporting.texts import Texts

texts = Texts(__file__, str)

DRAWN = 12
"""Largest number of pairs in a figure; its data hold all pairs."""

START_WORDS = {"setup": "set up anew", "cold": "updated, cold", "warm": "updated, warm"}
"""Words for the kinds of start in figures; tables use the short names."""

PROGRAMS = ("qp", "lcp", "file", "sequence")
"""Kinds of source whose steps are not steps of a mechanism but mere programs."""

FLOOR = 1e-8
"""Smallest error bound shown for programs; it follows from the duality gap, which cannot resolve smaller errors."""

MEAN = ("mean / µs", "ratio to the first", "failures", "estimated", "steps", "common steps", "refused", "not proved")
"""Columns of a table of means; since the rows are ordered by the means, every column depends on measured times."""

STAGES = ("set-up", "first solve", "re-solve, cold", "re-solve, warm")
"""Columns of medians next to the means of solvers."""

AS_USED = "each started as in a simulation"


@dataclass(frozen=True)
class Speed:
    """Costs of the solvers of a group and their means, computed once for its tables, figures and findings.

    If the group has re-solves, `beside` holds, by name, costs of stages that do not rank the solvers, such as set-up.
    """

    group: Group
    solvers: Costs
    means: list[Mean]
    pairs: Costs
    pair_means: list[Mean]
    beside: Mapping[str, Costs]

    @classmethod
    def of(cls, group: Group) -> Speed:
        """Compute costs and means of the solvers under the group's formulation, and of all formulation-solver pairs."""
        answers, times = group.main()
        exact = [a for a in answers if a.exact]
        solvers = performance.costs(exact, times, formulation=group.formulation)
        pairs = performance.costs(exact, times)
        means, pair_means = performance.geometric_means(solvers), performance.geometric_means(pairs)
        resolves = any(set(range(len(a.status))) - set(a.begins) for a in exact)
        stages = {"set-up and first solve": "setup", "re-solve, cold": "cold"} if resolves else {}
        beside = {
            stage: performance.costs(exact, times, formulation=group.formulation, most=most)
            for stage, most in stages.items()
        }
        return cls(group, solvers, means, pairs, pair_means, beside)

    @property
    def what(self) -> str:
        """Name of the stage of a solve whose times enter the means."""
        return "re-solve" if self.beside else "set-up and solve"

    @property
    def several(self) -> bool:
        """Whether the group has several exact formulations."""
        return len({a.formulation for a in self.group.answers if not a.refused and a.exact}) > 1


def by_formulation(group: Group) -> str:
    """Return "formulation NAME, " for captions; "" if the group has no formulation."""
    return f"formulation {group.formulation}, " if group.formulation else ""


def section(speeds: Sequence[Speed], looks: Mapping[str, int]) -> Section:
    """Show times by kind of start, means and profiles for each problem; families of steps have their own section."""
    lead = texts.paragraphs("lead", shift=1e6 * performance.SHIFT, penalty=performance.PENALTY)
    parts = [_group_section(s, looks) for s in speeds if s.group.ranked and s.means]
    return Section("fast", "How fast", tuple(map(Paragraph, lead)), tuple(parts))


def _group_section(speed: Speed, looks: Mapping[str, int]) -> Section:
    group = speed.group
    apart = f" {plural(speed.solvers.apart, 'step')} left out, counted neither way." if speed.solvers.apart else ""
    caption = texts("means", what=speed.what, formulation=by_formulation(group), as_used=AS_USED, apart=apart)
    means = _means_table(f"means-{group.anchor}", caption, "solver", speed.means, _stages(speed))
    blocks: list[Block] = [means, *_starts(speed)]
    if len(speed.solvers.names) > 1:
        what = f"{speed.what} by solvers of {group.formulation or 'these programs'}, {AS_USED}"
        blocks.append(profile_figure(f"profile-{group.anchor}", speed.solvers, what, looks))
        for stage, table in speed.beside.items():
            what = f"{stage} by the same"
            blocks.append(profile_figure(f"profile-{anchor_of(stage)}-{group.anchor}", table, what, looks))
    if speed.several and len(speed.pairs.names) > 1:
        frame = pd.DataFrame(speed.pair_means).rename(columns={"name": "pair"})
        shown = _first_of_each(speed)
        caption = texts("pairs", shown=len(shown), all=len(speed.pair_means))
        what = f"{speed.what} by pairs of formulation and solver, {AS_USED}"
        blocks += [
            _means_table(f"means-pairs-{group.anchor}", caption, "pair", shown),
            Data(f"means-all-{group.anchor}", "The means of all pairs.", frame, tuple(frame.columns)),
            profile_figure(f"profile-pairs-{group.anchor}", speed.pairs, what, None),
        ]
    return Section(f"fast-{group.anchor}", group.title, tuple(blocks))


def _means_table(
    name: str, caption: str, who: str, means: Sequence[Mean], more: Mapping[str, Sequence[Any]] | None = None
) -> Table:
    """Return a table of means; `more` holds, for each solver, the entries of the columns STAGES."""
    columns = (who, *MEAN, *(STAGES if more is not None else ()))
    rows = tuple(
        (m.name, short(1e6 * m.seconds), short(m.factor), m.failures, m.estimated, m.steps, m.common, m.refused,
         m.unproved, *(more or {}).get(m.name, ()))
        for m in means
    )  # fmt: skip
    return Table(name, caption, columns, rows, columns)


def _timed(group: Group) -> dict[tuple[str, str], list[TimedAnswers]]:
    """Return the timed answers of a group with its main formulation, by solver and start."""
    own = (c for c in join(*group.main()) if c.times is not None and c.answers.formulation == group.formulation)
    return gathered(own, lambda c: (c.answers.solver, c.answers.start))


def _stages(speed: Speed) -> dict[str, list[Any]]:
    """Return median microseconds of set-up, first solve and re-solves, by solver; "–" where none was timed."""
    cases = _timed(speed.group)

    def middle(solver: str, start: str, part: str) -> Any:
        of = cases.get((solver, start), ())
        found = [c.median(part) for c in of]
        return short(1e6 * float(np.median(found))) if found and (start == "setup" or speed.beside) else "–"

    wanted = (("setup", "setup"), ("setup", "solve"), ("cold", "work"), ("warm", "work"))
    return {m.name: [middle(m.name, *stage) for stage in wanted] for m in speed.means}


def _first_of_each(speed: Speed) -> list[Mean]:
    """Return, in order of speed, the pairs in which a solver or a formulation occurs for the first time."""
    parts = {c.label: (c.answers.formulation, c.answers.solver) for c in join(*speed.group.main())}
    seen: set[tuple[int, str]] = set()
    found = []
    for m in speed.pair_means:
        names = set(enumerate(parts[m.name]))
        if not names <= seen:
            found.append(m)
        seen |= names
    return found


def _starts(speed: Speed) -> tuple[Table, Figure]:
    """Show quantiles of the work by solver and kind of start, as a table and as box plots."""
    group = speed.group
    cases = _timed(group)
    nothing = [float("nan")] * 5
    rows: list[tuple[Any, ...]] = []
    drawn: dict[str, list[list[float]]] = {START_WORDS[s]: [] for s in STARTS if any(k[1] == s for k in cases)}
    names = [m.name for m in speed.means if any(k[0] == m.name for k in cases)]
    for name in names:
        for start in (s for s in STARTS if START_WORDS[s] in drawn):
            of = cases.get((name, start))
            q = _work(of) if of else nothing
            drawn[START_WORDS[start]].append(q)
            if of:
                backend = 1e6 * float(np.median([c.times.parts["backend"][2] for c in of if c.times is not None]))
                right = stacked(of, "right") & ~stacked(of, "differs")
                harness = 1e6 * float(np.median([c.times.harness for c in of if c.times is not None]))
                counted = right[~(stacked(of, "several") | stacked(of, "open"))]
                share = per_cent(float(counted.mean())) if len(counted) else "–"
                rows.append((name, start, *q, backend, q[2] - backend, harness, share))
    several = len({c.source.label for of in cases.values() for c in of}) > 1
    pooled = "steps of all sources, of the median of each step" if several else "steps and repetitions"
    shown = (tuple(map(short, row)) for row in rows)
    table = texts.table("starts", shown, anchor=f"starts-{group.anchor}", timed=True, pooled=pooled,
                        formulation=by_formulation(group))  # fmt: skip
    alt = f"Boxes of microseconds on a logarithmic axis for {plural(len(names), 'solver')}{_medians(rows)}."
    svg = plots.boxes(names, drawn, "microseconds of work")
    data = pd.DataFrame(rows, columns=list(table.columns))
    return table, Figure(f"work-{group.anchor}", texts("work"), alt, svg, data, timed=True)


def _medians(rows: Sequence[tuple[Any, ...]]) -> str:
    """Return the least and largest median of the rows in words, for the description of a figure."""
    if not rows:
        return ""
    low, high = (of(rows, key=lambda row: float(row[4])) for of in (min, max))
    return f"; medians from {low[4]:.3g} ({low[0]}) to {high[4]:.3g} ({high[0]})"


def _work(cases: Sequence[TimedAnswers]) -> list[float]:
    """Return quantiles of work, µs, over the steps of all sources; for a single source also over the repetitions."""
    if len(cases) == 1 and cases[0].times is not None:
        return [1e6 * q for q in cases[0].times.parts["work"]]
    return [float(x) for x in 1e6 * quantiles(stacked(cases, "work")[stacked(cases, "ranked")])]


def profile_figure(name: str, table: Costs, what: str, looks: Mapping[str, int] | None) -> Figure:
    """Draw a performance profile; its data also contain the competitors that are not drawn."""
    profile = profile_of(table)
    order = profile.order()
    shown = order[:DRAWN] if looks is None else order
    first = sorted(order, key=lambda j: -profile.rho[0, j])[:3]
    wins = ", ".join(f"{profile.names[j]} {per_cent(float(profile.rho[0, j]))}" for j in first if profile.rho[0, j] > 0)
    more = f" The {len(shown)} with the largest area of {len(order)}." if len(shown) < len(order) else ""
    wins = wins or "nobody"
    guessed = [f"{n} at {plural(k, 'step')}" for n, k in zip(table.names, table.estimated, strict=True) if k]
    more += f" Estimated times: {listed(guessed)}." if guessed else ""
    caption = texts("profile", what=what, steps=profile.problems, wins=wins, more=more)
    curves = {profile.names[j]: profile.rho[:, j] for j in shown}
    sound = sum(bool(profile.solved[j] >= 1.0) for j in shown)
    alt = texts("profile-alt", shown=len(shown), wins=wins, sound=sound)
    svg = plots.profiles(profile.taus, curves, "τ, time over that of the fastest", "share of steps", looks)
    data = pd.DataFrame({"tau": profile.taus, **{profile.names[j]: profile.rho[:, j] for j in order}})
    return Figure(name, caption, alt, svg, data, timed=True)


def findings(speeds: Sequence[Speed]) -> list[str]:
    """Return sentences on the three fastest competitors, by shifted geometric mean, of each problem or family."""
    lines = []
    for s in speeds:
        means = s.pair_means if s.several else s.means
        shown = [m for m in means[:3] if m.failures < m.steps and np.isfinite(m.seconds)]
        if not shown:
            continue
        first = [
            f"{m.name} ({1e6 * m.seconds:.3g} µs"
            + f" over {plural(m.steps, 'step')}" * (len({x.steps for x in shown}) > 1)
            + f", {plural(m.failures, 'failure')}" * bool(m.failures)
            + f", {m.rescaled} of them on rescaled numbers only" * bool(m.rescaled)
            + f", {m.unproved} not proved" * bool(m.unproved)
            + f", {m.refused} refused" * bool(m.refused)
            + f", estimated at {m.estimated} of {plural(m.steps, 'step')}" * bool(m.estimated)
            + ")"
            for m in shown
        ]
        sound = [m for m in means[3:] if not m.failures and not m.refused]
        guess = " by an estimate" if sound and sound[-1].estimated else ""
        slowest = texts("slowest", name=sound[-1].name, factor=sound[-1].factor, guess=guess) if sound else ""
        lines.append(texts("finding", group=s.group.title, what=s.what, first=in_sentence(first), slowest=slowest))
    return lines


def precision_section(groups: Sequence[Group], looks: Mapping[str, int]) -> Section | None:
    """Draw error against time, and name the fastest solvers at each accuracy, for each problem or family."""
    parts = []
    for group in groups:
        exact = [a for a in group.answers if a.exact]
        points = performance.work_precision(exact, group.times, formulation=group.formulation)
        if len(points) > 1:
            blocks = _precision_figure(group, points, looks), _fastest(group, points)
            parts.append(Section(f"precision-{group.anchor}", group.title, blocks))
    if not parts:
        return None
    lead = Paragraph(texts("precision-lead"))
    return Section("precision", "Accuracy against time", (lead,), tuple(parts))


def _precision_figure(group: Group, points: Sequence[Any], looks: Mapping[str, int]) -> Figure:
    frame = pd.DataFrame(points)
    by = dict(list(frame[np.isfinite(frame["error"])].groupby("base", sort=False)))
    curves = {base: (of["error"].clip(lower=1e-17).to_numpy(), 1e6 * of["work"].to_numpy()) for base, of in by.items()}
    hollow = {base: ~of["front"].to_numpy() for base, of in by.items()}
    data = frame.rename(columns={"error": "largest_certified", "typical": "median_certified", "work": "seconds"})
    front = list(frame["solver"][frame["front"]])
    absent = sorted(set(frame["solver"][np.isinf(frame["error"])]))
    left_out = f" Not drawn, because some steps have no answer: {listed(absent)}." if absent else ""
    caption = texts("precision", formulation=by_formulation(group), left_out=left_out)
    alt = f"Points of certified error and microseconds. On the front: {listed(front)}."
    joined = {base for base, of in by.items() if len(of) >= SWEEP}
    svg = plots.sweeps(curves, "largest certified relative error", "microseconds of work, median", hollow=hollow,
                       looks=looks, joined=joined)  # fmt: skip
    return Figure(f"precision-{group.anchor}", caption, alt, svg, data, timed=True)


def _fastest(group: Group, points: Sequence[Any]) -> Table:
    rows = []
    rough = group.kind in PROGRAMS
    targets = [t for t in performance.TARGETS if t >= FLOOR or not rough]
    for target, best in performance.fastest_at(points, targets).items():
        names = [f"{p.solver} {1e6 * p.work:.3g} µs" for p in best[:3]]
        rows.append((f"{target:.0e}", *(*names, "–", "–", "–")[:3], len(best)))
    floor = f" {texts('floor', floor=FLOOR)}" if rough else ""
    anchor, places = f"fastest-{group.anchor}", ("first", "second", "third")
    return texts.table("fastest", rows, anchor=anchor, timed=places, floor=floor)


def warm_section(groups: Sequence[Group]) -> tuple[Section | None, list[str]]:
    """Return the section on gains and losses by warm starts, by problem or family, and its findings."""
    found = [(group, gain) for group in groups for gain in warm_gain(*group.main())]
    if not found:
        return None, []

    def row(group: Group, g: WarmGain) -> tuple[Any, ...]:
        ratios = (short(x) for x in (g.iterations, *g.work, g.update[1]))
        return (group.title, g.formulation, g.solver, g.steps, *ratios, g.lost, g.won, g.verdict)

    columns = texts.columns("warm-pairs")
    telling = [
        (group, g) for group, g in found
        if g.formulation == group.formulation and (g.verdict in ("gain", "loss") or g.lost or g.won
                                                   or (np.isfinite(g.iterations) and abs(g.iterations - 1) > 0.01))
    ]  # fmt: skip
    blocks: list[Block] = [Paragraph(texts("warm"))]
    if telling:
        caption = "Solvers that a warm start changes, by the formulation that most solvers take."
        blocks.append(Table("warm", caption, columns, tuple(row(*x) for x in telling), columns))
    else:
        blocks.append(Paragraph("A warm start changes nothing beyond the noise for any solver."))
    every = pd.DataFrame([row(*x) for x in found], columns=list(columns))
    blocks.append(Data("warm-all", "All pairs.", every, columns))
    lines = []
    for verdict, words in (("gain", "A warm start saves time"), ("loss", "A warm start costs time")):
        of = sorted(((group, g) for group, g in telling if g.verdict == verdict), key=lambda x: x[1].work[1],
                    reverse=verdict == "loss")  # fmt: skip
        if of:
            named = [f"{g.solver} on {group.title} (takes {g.work[1]:.2g} of the cold time)" for group, g in of]
            lines.append(f"{words}: {listed(named, 5)}.")
    if not lines and any(g.verdict != "not timed" for _, g in found):
        lines.append(
            "No difference between warm and cold starts was measured that is larger than the spread of timings."
        )
    return Section("warm", "Sequences: what a warm start gains", tuple(blocks)), lines
