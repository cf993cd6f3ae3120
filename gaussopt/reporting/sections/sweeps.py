"""The report of a comparison: results along swept parameters (dials) of families, and reversals of rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from gaussopt.comparison.rank_reversals import Place, Reversal, places, reversals_of
from gaussopt.comparison.records import Answers, Times, on_machine
from gaussopt.core.display import gathered
from gaussopt.reporting.document import Block, Data, Figure, Paragraph, Section, Table
from gaussopt.reporting.figures import plots
from gaussopt.reporting.sections.grouping import Group, anchor_of, first, in_words, listed, per_cent, short
from gaussopt.reporting.sections.speed import DRAWN
from gaussopt.reporting.texts import Texts

texts = Texts(__file__, str)

MOST_REVERSALS = 12
MOST_VALUES = 9


def section(groups: Sequence[Group], looks: Mapping[str, int]) -> tuple[Section | None, list[str]]:
    """Return a section with a part for each family and dial, and the reversals as findings."""
    parts, lines = [], []
    for group in groups:
        if group.kind != "family":
            continue
        answers, times = group.main()
        for dial in dict.fromkeys(a.source.swept for a in answers if a.source.swept):
            part, found = _dial(group, dial, answers, times, looks)
            if part is not None:
                parts.append(part)
            lines += found
    if not parts:
        return None, lines
    lead = Paragraph(texts("lead"))
    return Section("families", "Families: along each dial", (lead,), tuple(parts)), lines


def _dial(
    group: Group, dial: str, answers: Sequence[Answers], times: Sequence[Times], looks: Mapping[str, int]
) -> tuple[Section | None, list[str]]:
    exact = [a for a in answers if a.exact]
    pairs = places(exact, times, dial)
    main = places(exact, times, dial, formulation=group.formulation)
    if not pairs:
        return None, []
    anchor = anchor_of(group.anchor, dial)
    blocks: list[Block] = []
    lines: list[str] = []
    turned: list[Reversal] = []
    if main:
        what = f"{dial}, by formulation {group.formulation}" if group.formulation else dial
        caption = texts("work", what=what)
        blocks.append(_figure(f"dial-{anchor}", caption, main, "solver", looks))
        blocks.append(_accuracy(f"dial-accuracy-{anchor}", dial, main))
        turned = reversals_of(main)
        blocks += _reversals(f"reversals-{anchor}", dial, turned, "solvers", group.formulation)
        lines += _lines(group, dial, turned)
    if len({p.formulation for p in pairs}) > 1:
        fast = _fast(pairs)
        caption = texts("pairs", count=len(fast))
        shown = [p for p in pairs if p.label in fast]
        blocks.append(_figure(f"dial-pairs-{anchor}", caption, shown, "label", None))
        told = {(r.first, r.then, r.before, r.after) for r in turned}
        turned = reversals_of(shown)
        blocks += _reversals(f"reversals-pairs-{anchor}", dial, turned, "these pairs")
        lines += _lines(group, dial, [r for r in turned if (r.first, r.then, r.before, r.after) not in told])
    blocks.append(Data(f"dial-all-{anchor}", "All pairs at all values.", _frame(pairs), OF_TIME))
    return Section(f"family-{anchor}", f"{on_machine(group.name, group.machine)}: {dial}", tuple(blocks)), lines


def _fast(pairs: Sequence[Place]) -> list[str]:
    """Return the pairs that are fastest by the geometric mean, over the swept values, of time over least time."""
    work = pd.Series({(p.others, p.value, p.label): p.work for p in pairs}).unstack()
    # A failure, or a value at which all fail, counts as a factor of 1000; this only decides which pairs are drawn.
    factors = work.div(work.min(axis=1), axis=0).clip(upper=1e3).fillna(1e3)
    return list(np.log(factors).mean().sort_index().sort_values(kind="stable").index[:DRAWN])


OF_TIME = ("seconds", "q25", "q75", "success")
"""Columns that depend on times. `success` does so, too, since an answer that differs in a timed run is a failure."""


def _frame(found: Sequence[Place]) -> Any:
    rows = [
        (p.family, " ".join(f"{k}={v:g}" for k, v in p.others), p.dial, p.value, p.formulation, p.solver, p.work,
         *p.band, p.success, p.certified)
        for p in found
    ]  # fmt: skip
    columns = ["family", "other_dials", "dial", "value", "formulation", "solver", "seconds", "q25", "q75", "success",
               "largest_certified"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def _figure(name: str, caption: str, found: Sequence[Place], label: str, looks: Mapping[str, int] | None) -> Figure:
    dial = found[0].dial
    by = gathered(found, attrgetter(label))
    several = len({p.others for p in found}) > 1
    curves, bands, hollow = {}, {}, {}
    for who in sorted(by, key=lambda k: (looks or {}).get(k, 0)):
        of = sorted((p for p in by[who] if np.isfinite(p.work)), key=lambda p: (p.others, p.value))
        if of:
            curves[who] = np.array([p.value for p in of]), np.array([1e6 * p.work for p in of])
            bands[who] = np.array([1e6 * p.band[0] for p in of]), np.array([1e6 * p.band[1] for p in of])
            hollow[who] = np.array([p.success < 1 for p in of])
    failing = sorted({k for k, of in by.items() if any(np.isinf(p.work) for p in of)})
    missing = f" Not drawn where half of the steps fail or more: {listed(failing)}." if failing else ""
    mixed = " Other dials were turned as well; their points are joined." if several else ""
    partly = " Hollow: some steps fail." if any(h.any() for h in hollow.values()) else ""
    ends = [f"{k} from {y[0]:.3g} to {y[-1]:.3g} µs" for k, (_, y) in curves.items()]
    svg = plots.sweeps(curves, dial, "microseconds of a step, median", bands=bands, hollow=hollow, looks=looks)
    alt = f"Time against {dial} on logarithmic axes: {listed(ends, 16)}."
    return Figure(name, f"{caption}{partly}{missing}{mixed}", alt, svg, _frame(found), timed=True)


def _accuracy(name: str, dial: str, found: Sequence[Place]) -> Table:
    """Return a table with a row per solver and a column per value, or for MOST_VALUES evenly chosen values."""
    values = sorted({p.value for p in found})
    if len(values) > MOST_VALUES:
        values = [values[i] for i in np.unique(np.linspace(0, len(values) - 1, MOST_VALUES).round().astype(int))]
    cells = gathered(found, lambda p: (p.solver, p.value))
    rows = tuple((s, *(_cell(cells.get((s, v), ())) for v in values)) for s in sorted({p.solver for p in found}))
    return Table(name, texts("accuracy", dial=dial), ("solver", *(f"{v:g}" for v in values)), rows)


def _cell(of: Sequence[Place]) -> Any:
    if not of:
        return "–"
    worst = max((p.certified for p in of if not np.isnan(p.certified)), default=None)
    success = min(p.success for p in of)
    names = dict.fromkeys(s for p in of for s in p.recognised)
    known = f"recognised as {in_words(list(names))}" if names else ""
    if success == 1 and not known:
        return worst
    error = known if worst is None else f"{worst:.0e}" if np.isfinite(worst) else "∞"
    return "; ".join(dict.fromkeys((error, known if success == 1 else per_cent(success))))


def _reversals(name: str, dial: str, turned: Sequence[Reversal], what: str, formulation: str = "") -> list[Block]:
    """Return the table of reversals; a formulation that all competitors share is named only once."""
    shared = f"{formulation} by " if formulation else ""
    if not turned:
        return [Paragraph(f"No order of {what} reverses beyond the noise along {dial}.")]
    shown, more = first(turned, MOST_REVERSALS, "; changes of the first place come first")
    rows = (
        (r.first.removeprefix(shared), r.then.removeprefix(shared), r.before, r.after, short(r.ratio_before),
         short(r.ratio_after), "yes" if r.leads else "no")
        for r in shown
    )  # fmt: skip
    table = texts.table("reversals", rows, anchor=name, timed=True, what=what, dial=dial, more=more)
    if not more:
        return [table]
    data = pd.DataFrame(turned)
    data.columns = pd.Index(["faster_before", "faster_after", "before", "after", "factor_before", "factor_after",
                             "leads"])  # fmt: skip
    return [table, Data(f"{name}-all", "All reversals.", data, tuple(data.columns))]


def _lines(group: Group, dial: str, turned: Sequence[Reversal]) -> list[str]:
    """Return sentences on up to two changes of the fastest competitor, or else on the clearest other reversal."""
    leads = [r for r in turned if r.leads] or sorted(turned, key=lambda r: -min(r.ratio_before, r.ratio_after))[:1]
    return [
        texts("finding", group=group.title, dial=dial, before=r.before, after=r.after, first=r.first,
                then=r.then, ratio_before=_times(r.ratio_before, r.then), ratio_after=_times(r.ratio_after, r.first),
                leads=", and the first place changes hands" * r.leads)
        for r in leads[:2]
    ]  # fmt: skip


def _times(ratio: float, other: str) -> str:
    return f"right where {other} fails" if np.isinf(ratio) else f"{ratio:.2g} times faster than {other}"
