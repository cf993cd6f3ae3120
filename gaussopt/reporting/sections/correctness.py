"""The report of a comparison: right answers and claims of the solvers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gaussopt.comparison import metrics, tables
from gaussopt.comparison.records import Answers, Times
from gaussopt.comparison.step_table import PROGRAM_TOLERANCE, SEVERAL, TimedAnswers, base_of, join, stacked, step_table
from gaussopt.core.display import counted as plural
from gaussopt.core.display import gathered
from gaussopt.reporting.document import Block, Data, Paragraph, Section, Table
from gaussopt.reporting.sections import who_solved
from gaussopt.reporting.sections.grouping import (
    Group,
    in_sentence,
    in_words,
    listed,
    per_cent,
    shape_of,
    short,
)
from gaussopt.reporting.texts import Texts

texts = Texts(__file__, str)

MOST_ROWS = 30
MOST_REASONS = 12


def section(groups: Sequence[Group], answers: Sequence[Answers], files: Mapping[str, Sequence[str]]) -> Section:
    """Show claims of solvers, wrong formulations, right answers by pair and group, and which solvers solved each file.

    `files` are file names, by the name of the group of contact problems to which they belong.
    """
    blocks: list[Block] = []
    words = metrics.words(answers)
    if words:
        swept = frozenset[str]().union(*(g.sweeps for g in groups))
        blocks.append(_words_table([w for w in words if w.solver not in swept]))
        if any(w.solver in swept for w in words):
            blocks.append(Data("words-all", texts("words-all"), _words_frame(words)))
    wrong = metrics.wrong_programs(answers)
    if wrong:
        rows = ((w.formulation, w.source, w.steps, w.wrong, w.worst) for w in wrong)
        blocks.append(texts.table("wrong-programs", rows, tolerance=PROGRAM_TOLERANCE))
    blocks += _reasons(answers)
    told = [g for g in groups if g.kind in who_solved.PROGRAMS or (g.kind == "contact" and g.name in files)]
    solved = {g.anchor: [who_solved.table(g, files.get(g.name, ()))] for g in told}
    parts = tuple(Section(f"right-{g.anchor}", g.title, (*_matrices(g), *solved.get(g.anchor, ()))) for g in groups)
    return Section("right", "Who is right", tuple(blocks), parts)


def _words_table(words: Sequence[Any]) -> Block:
    told = [w for w in words if w.false_claims or w.missed]
    rest = sorted(w.solver for w in words if not w.false_claims and not w.missed)
    if not told:
        return Paragraph(texts("trusted", solvers=listed(rest, 40)))
    rows = (
        (w.solver, w.steps, w.claims, w.refuted, w.denied, w.missed, short(w.correct), short(w.worst),
         listed(w.where, 2))
        for w in told[:MOST_ROWS]
    )  # fmt: skip
    more = f" The {MOST_ROWS} worst of {len(told)}." * (len(told) > MOST_ROWS)
    more += f" Not listed, since claim and certificate agree at every step: {listed(rest, 40)}." if rest else ""
    return texts.table("words", rows, more=more)


def _words_frame(words: Sequence[Any]) -> pd.DataFrame:
    frame = pd.DataFrame(words).drop(columns=["refuted", "said", "never_right"])
    frame["where"] = ["; ".join(w.where) for w in words]
    return frame.rename(columns={"correct": "correct_rate", "worst": "largest_certified"})


def _matrices(group: Group) -> list[Block]:
    main, _ = group.main()
    by = gathered(join(main, ()), lambda c: (c.answers.solver, c.answers.formulation))
    used = [k for k, of in by.items() if not all(c.answers.refused for c in of)]
    if not used:
        return [Paragraph("Every pair refuses these steps; the reasons are listed under Refused.")]
    takers = Counter(f for _, f in used)
    formulations = sorted(takers, key=lambda f: (-takers[f], f))
    # Leave out formulations that only one solver accepts, because their columns would consist of dashes.
    wide = [f for f in formulations if takers[f] > 1] or formulations
    solvers = sorted({s for s, f in used if f in wide}, key=lambda s: (-sum(k[0] == s for k in used), s))
    steps = sum({c.source.key: c.steps for of in by.values() for c in of}.values())
    cells = tuple((s, *(_cell(by.get((s, f)), steps) for f in wide)) for s in solvers)
    parts = len({(c.source.part, tuple(c.source.dials.items())) for of in by.values() for c in of})
    over = f", the worst of {parts} sets of steps" if parts > 1 else ""
    inexact = {c.answers.formulation for of in by.values() for c in of if not c.answers.exact}
    header = ("solver", *(f"{f}{'*' * (f in inexact)}" or "largest certified" for f in wide))
    blocks: list[Block] = [Table(f"right-{group.anchor}", texts("matrices", over=over), header, cells)]
    narrow = [(f, s) for f in formulations if f not in wide for s, g in used if g == f]
    if narrow:
        rows = ((f, s, _cell(by[s, f], steps)) for f, s in narrow)
        blocks.append(texts.table("right-one", rows, anchor=f"right-one-{group.anchor}"))
    frame = tables.summary(group.answers, group.times).drop(columns=list(tables.ORIGIN))
    of_time = ("backend", "overhead", "timed", "repetitions")
    timed = tuple(c for c in frame.columns if c.startswith("work_") or c in of_time)
    return [*blocks, Data(f"summary-{group.anchor}", texts("summary"), frame, timed)]


def _cell(cases: Sequence[TimedAnswers] | None, steps: int) -> float | str:
    """Return a pair's result on a group, with the number of steps if the pair was given only some of them."""
    asked = [c for c in cases or () if not c.answers.refused and c.steps]
    if not asked:
        return "–"
    taken = sum({c.source.key: c.steps for c in asked}.values())
    found = _judged(asked)
    told = f"{found:.0e}" if isinstance(found, float) else found
    return found if taken == steps else f"{told}, at {taken} of {plural(steps, 'step')}"


def _judged(asked: Sequence[TimedAnswers]) -> float | str:
    rows = {name: stacked(asked, name) for name in (*metrics.COUNTED, "right", "open", "certified", "status")}
    counted = ~rows["open"]
    if not counted.any():
        return "several solutions"
    right, recognised = rows["right"][counted], rows["recognised"][counted]
    count = metrics.counts(rows, counted)
    correct = metrics.correct(count) if count["answered"] else 1.0
    worst = float(rows["certified"][counted][~recognised].max(initial=0.0))
    if right.all() and correct == 1 and not recognised.any():
        return worst
    parts = []
    if recognised.any():
        known = f"recognised as {in_words(metrics.ranked(rows['status'][rows['recognised']]))}"
        parts.append(known if recognised.all() else f"{per_cent(float(recognised.mean()))} {known}")
    if not recognised.all():
        error = f"{worst:.0e}" if np.isfinite(worst) else "∞"
        parts.insert(0, f"{error}; {per_cent(float((right & ~recognised).mean()))} confirmed")
    if correct < 1:
        parts.append(f"correct {per_cent(correct)}")
    return ", ".join(parts).replace(" %", "\u202f%")


def findings(groups: Sequence[Group], answers: Sequence[Answers]) -> list[str]:
    """Return findings: solvers that are always right, false claims, failures with reasons, wrong formulations."""
    swept = frozenset[str]().union(*(g.sweeps for g in groups))
    table = step_table(answers, [t for g in groups for t in g.times])
    table = table[~table["refused"]]
    exact = table[table["exact"]]
    if exact.empty:
        return []
    counted = exact[~exact["open"] & ~exact["insoluble"] & ~exact["solver"].isin(swept)]
    pairs = counted.groupby(["formulation", "solver"])["right"].all()
    known = ", or rightly called ill-posed" if exact["recognised"].any() else ""
    wrong = [f"{w.formulation} on {w.source} ({w.wrong} of {w.steps})" for w in metrics.wrong_programs(answers)]
    return [
        *_everywhere(pairs, _asked(exact), known),
        *_lies(answers, swept),
        *_differing(table),
        *_beside_the_clock([t for g in groups for t in g.times]),
        *_by_source("several", exact, exact["status"].isin(SEVERAL)),
        *_by_source("insoluble", exact, exact["insoluble"]),
        *_failing([c for c in join(answers) if c.answers.exact and c.answers.solver not in swept]),
        *([texts("programs", wrong=listed(wrong))] if wrong else []),
    ]  # fmt: skip


def _asked(table: pd.DataFrame) -> dict[Any, str]:
    """State how many steps each pair was given, for pairs that were given only some of the table's steps."""
    steps = table[["source", "step"]].drop_duplicates()
    own = table.drop_duplicates(["formulation", "solver", "source", "step"]).groupby(["formulation", "solver"]).size()
    return {pair: f" (asked at {n} of {plural(len(steps), 'step')})" for pair, n in own.items() if n < len(steps)}


def _everywhere(pairs: Any, asked: Mapping[Any, str], known: str) -> list[str]:
    """Return sentences on the pairs that are right on every step (their entry in `pairs` is True) and on the others."""
    lines = []
    for entry, right in (("everywhere", True), ("not-everywhere", False)):
        told = [(pair, asked.get(pair, "") * right) for pair, is_right in pairs.items() if is_right == right]
        by = gathered(told, lambda x: (x[0][0], x[1]))
        named = [
            (f"{f} by " if f else "") + in_sentence([s for (_, s), _ in of]) + at
            for (f, at), of in sorted(by.items(), key=lambda x: bool(x[0][1]))
        ]
        if named:
            count = sum(map(len, by.values()))
            lines.append(texts(entry, count=count, pairs=plural(len(pairs), "pair"), known=known,
                               named=listed(named, sep="; ")))  # fmt: skip
    return lines


def _lies(answers: Sequence[Answers], swept: frozenset[str]) -> list[str]:
    """Return sentences on each solver's false claims that a step is "solved" or "infeasible"."""
    judged = metrics.liars(answers)
    liars = [r for r in judged if r.solver not in swept]
    lines = [
        texts("never-right", solver=r.solver, refuted=plural(r.refuted, "answer"), correct=r.correct,
                worst=f"{r.worst:.1e}" if np.isfinite(r.worst) else "infinite")
        for r in liars if r.never_right
    ]  # fmt: skip
    others = [r for r in liars if r.refuted and not r.never_right]
    if others:
        named = [
            f"{r.solver} at {r.refuted} of {r.claims} (correct rate {r.correct:.3g} of {plural(r.steps, 'answer')})"
            for r in others
        ]
        lines.append(f"These solvers call answers solved that the certificate does not confirm: {listed(named)}.")
    lines += [
        texts("denied", solver=r.solver, said=in_words(r.said), denied=r.denied, steps=r.steps,
                correct=r.correct)
        for r in liars if r.denied
    ]  # fmt: skip
    loose = [base_of(r.solver) for r in judged if r.solver in swept]
    if loose:
        lines.append(texts("loose", count=len(loose), solvers=listed(sorted(set(loose)))))
    if not any(r.refuted for r in judged):
        lines.append("The certificate confirms every answer that a solver calls solved.")
    return lines


def _differing(table: pd.DataFrame) -> list[str]:
    """Return sentences on solvers whose answers while timed differ from their recorded answers, with the sources."""
    there = table[table["differs"]]
    of = gathered(zip(there["solver"], there["name"], strict=True), lambda row: row[0])
    at = {solver: Counter(name for _, name in rows) for solver, rows in of.items()}
    named = [
        f"{solver} (at {plural(counts.total(), 'step')}, over all starts, of {listed([*counts], 4)})"
        for solver, counts in sorted(at.items(), key=lambda x: -x[1].total())
    ]
    return [texts("differing", named=listed(named))] if named else []


def _beside_the_clock(times: Sequence[Times]) -> list[str]:
    """Return sentences on solvers that remember answers, and on solvers that work outside the timed calls."""
    lines = []
    for solver, of in gathered(times, lambda t: t.solver).items():
        told, known = [t for t in of if math.isfinite(t.replayed)], [t for t in of if t.remembers]
        # A solver that stores answers is fast in every record; a few fast records may be disturbed measurements.
        if len(known) > 1 and 2 * len(known) >= len(told):
            share = max(t.replayed for t in known)
            lines.append(texts("remembers", solver=solver, share=share, rows=plural(len(known), "row"), all=len(told)))
        if any(t.early for t in of):
            lines.append(texts("early", solver=solver, steps=plural(sum(t.early for t in of), "step")))
    return lines


def _by_source(entry: str, table: pd.DataFrame, which: Any) -> list[str]:
    """Return a list of one sentence that counts by source the steps where `which` is true; [] if there are none."""
    there = which.groupby([table["name"], table["source"], table["step"]], sort=False).any()
    named = [
        f"{of.sum()} of {plural(len(of), 'step')} of {name}"
        for name, of in there.groupby(level="name", sort=False) if of.any()
    ]  # fmt: skip
    return [texts(entry, named=listed(named))] if named else []


def _failing(cases: Sequence[TimedAnswers]) -> list[str]:
    """Return a sentence on solvers that are never right on a source, whatever the exact formulation and the start."""
    asked = (
        c for c in cases if not c.answers.refused and (not (c["open"] | c["insoluble"]).all() or c.answers.failure)
    )
    by = gathered(asked, lambda c: (c.answers.solver, c.source.key))
    failing = gathered((of for of in by.values() if not stacked(of, "right").any()), lambda of: of[0].answers.solver)
    named = []
    for solver, sources in sorted(failing.items(), key=lambda x: -len(x[1])):
        why = ranked_reasons(c.answers for of in sources for c in of)
        reason = why[0][0].rstrip(".") if why else "no reason on record"
        named.append(f"{solver} on {plural(len(sources), 'source')} ({cut(reason)})")
    return [f"These solvers fail at every step of a source: {'; '.join(named)}."] if named else []


def ranked_reasons(answers: Iterable[Answers]) -> list[tuple[str, int]]:
    """Return the reasons in records (failures, where no reason is given) with counts, the most frequent first.

    Reasons that differ only in numbers count as the same; the most frequent wording is returned.
    """
    counts: dict[str, Counter[str]] = {}
    for a in answers:
        for reason, count in (a.reasons or ({a.failure: 1} if a.failure else {})).items():
            counts.setdefault(shape_of(reason), Counter())[reason] += count
    ranked = sorted(counts.values(), key=lambda of: -of.total())
    return [(of.most_common(1)[0][0], of.total()) for of in ranked]


def cut(text: str, most: int = 150) -> str:
    """Shorten a long sentence to its beginning; the CSV file holds the complete sentence."""
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} ..."


def _reasons(answers: Sequence[Answers]) -> list[Block]:
    """Return, for each solver, formulation and problem or family, the reasons why steps were not confirmed."""
    by = gathered((a for a in answers if a.reasons), lambda a: (a.solver, a.formulation, a.source.name))
    rows = [(*key, count, reason) for key, of in by.items() for reason, count in ranked_reasons(of)]
    if not rows:
        return []
    rows.sort(key=lambda r: -r[3])
    more = f" The {MOST_REASONS} most frequent of {len(rows)}." * (len(rows) > MOST_REASONS)
    shown = tuple((*row[:-1], cut(row[-1])) for row in rows[:MOST_REASONS])
    blocks: list[Block] = [texts.table("reasons", shown, more=more)]
    if more:
        frame = pd.DataFrame(rows, columns=["solver", "formulation", "source", "steps", "reason"])
        blocks.append(Data("reasons-all", "All reasons.", frame))
    return blocks
