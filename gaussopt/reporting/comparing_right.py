"""The report of a comparison: who is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from gaussopt.comparison import metrics
from gaussopt.comparison.joined import Case, base_of, join
from gaussopt.comparison.records import Answers
from gaussopt.reporting.comparing_view import Group, listed, per_cent, short
from gaussopt.reporting.document import Block, Data, Paragraph, Section, Table

MOST_ROWS = 30


def section(groups: Sequence[Group], answers: Sequence[Answers]) -> Section:
    """Words of solvers, formulations that are wrong, and a matrix for each problem or family."""
    blocks: list[Block] = []
    words = metrics.words(answers)
    if words:
        swept = frozenset[str]().union(*(g.sweeps for g in groups))
        blocks.append(_words_table([w for w in words if w.solver not in swept]))
        if any(w.solver in swept for w in words):
            blocks.append(Data("words-all", "The same with every set of options.", _words_frame(words)))
    wrong = metrics.wrong_programs(answers)
    if wrong:
        rows = tuple((w.formulation, w.source, w.steps, w.wrong, w.worst) for w in wrong)
        blocks.append(Table(
            "wrong-programs",
            "Formulations that are wrong on their own account: answers that solve their program (residuals at most "
            f"{metrics.PROGRAM_TOLERANCE:g}) and are not the mechanics. No solver is blamed for these.",
            ("formulation", "steps of", "answers that solve it", "not confirmed", "largest certified"), rows,
        ))  # fmt: skip
    parts = tuple(Section(f"right-{g.anchor}", g.title, tuple(_matrices(g))) for g in groups)
    return Section("right", "Who is right", tuple(blocks), parts)


def _words_table(words: Sequence[metrics.Record]) -> Block:
    told = [w for w in words if w.false_claims or w.missed]
    rows = tuple(
        (w.solver, w.steps, w.claims, w.false_claims, w.missed, short(w.correct), short(w.worst), listed(w.where, 2))
        for w in told[:MOST_ROWS]
    )
    more = f" The {MOST_ROWS} worst of {len(told)}." if len(told) > MOST_ROWS else ""
    rest = sorted(w.solver for w in words if not w.false_claims and not w.missed)
    if not rows:
        return Paragraph(f"Every claim survives and no right answer is disowned: {listed(rest, 40)}.")
    more += f" Not listed, since claim and certificate agree at every step: {listed(rest, 40)}." if rest else ""
    return Table(
        "words",
        "What the word of each solver is worth, the worst first, over all kinds of start. 'False claims' are answers "
        "that it calls solved and the certificate does not confirm, 'missed' those that are confirmed although it "
        "does not call them solved; the correct rate is the share of steps where the two agree. A tolerance that is "
        f"too loose makes false claims as surely as a bug does: the size of the error tells them apart.{more}",
        ("solver", "steps", "claims", "false claims", "missed", "correct rate", "largest certified among false claims",
         "most of them in"),
        rows,
    )  # fmt: skip


def _words_frame(words: Sequence[metrics.Record]) -> Any:
    import pandas as pd

    rows = [
        (w.solver, w.steps, w.claims, w.false_claims, w.missed, w.correct, w.worst, "; ".join(w.where)) for w in words
    ]
    columns = ["solver", "steps", "claims", "false_claims", "missed", "correct_rate", "largest_certified", "where"]
    return pd.DataFrame(rows, columns=columns)


def _matrices(group: Group) -> list[Block]:
    main, _ = group.main()
    by: dict[tuple[str, str], list[Case]] = {}
    for c in join(main, ()):
        by.setdefault((c.answers.solver, c.answers.formulation), []).append(c)
    used = [k for k, of in by.items() if not all(c.answers.refused for c in of)]
    if not used:
        return [Paragraph("Every pair refuses these steps; the reasons are listed under Refused.")]
    takers = Counter(f for _, f in used)
    formulations = sorted(takers, key=lambda f: (-takers[f], f))
    # Columns of formulations that one solver takes would hold nothing but dashes.
    wide = [f for f in formulations if takers[f] > 1] or formulations
    solvers = sorted({s for s, f in used if f in wide}, key=lambda s: (-sum(k[0] == s for k in used), s))
    cells = tuple((s, *(_cell(by.get((s, f))) for f in wide)) for s in solvers)
    parts = len({(c.source.part, tuple(c.source.dials.items())) for of in by.values() for c in of})
    over = f", the worst of {parts} sets of steps" if parts > 1 else ""
    caption = (
        f"Largest certified relative error{over} and all kinds of start. A bare number: every answer is confirmed and "
        "every claim true. Otherwise the share of steps confirmed follows, and the correct rate of the claims where it "
        "is below one. '–': refused, or not asked. '*': a formulation that does not claim to be exact."
    )
    inexact = {c.answers.formulation for of in by.values() for c in of if not c.answers.exact}
    header = ("solver", *(f"{f}{'*' * (f in inexact)}" or "largest certified" for f in wide))
    blocks: list[Block] = [Table(f"right-{group.anchor}", caption, header, cells)]
    narrow = [(f, s) for f in formulations if f not in wide for s, g in used if g == f]
    if narrow:
        rows = tuple((f, s, _cell(by[s, f])) for f, s in narrow)
        text = "The same for formulations that one solver takes."
        blocks.append(Table(f"right-one-{group.anchor}", text, ("formulation", "solver", "largest certified"), rows))
    return [*blocks, _long(group)]


def _cell(cases: Sequence[Case] | None) -> float | str:
    asked = [c for c in cases or () if not c.answers.refused and c.steps]
    if not asked:
        return "–"
    confirmed = np.concatenate([c.confirmed for c in asked])
    agreed = np.concatenate([np.equal(c.answers.confirmed, c.answers.claimed) for c in asked])
    worst = float(max(c.certified.max() for c in asked))
    if confirmed.all() and agreed.all():
        return worst
    error = f"{worst:.0e}" if np.isfinite(worst) else "∞"
    correct = float(agreed.mean()) if len(agreed) else 1.0
    claims = "" if correct == 1 else f", correct {per_cent(correct)}"
    return f"{error}; {per_cent(float(confirmed.mean()))} confirmed{claims}".replace(" %", "\u202f%")


def _long(group: Group) -> Data:
    import pandas as pd

    from gaussopt.comparison.tables import summary

    frame = summary(group.answers, group.times)
    return Data(
        f"summary-{group.anchor}",
        "Every source, formulation, solver (with all sets of options) and start: counts, rates, quantiles of errors "
        "and work, largest primal, dual and gap residuals, iterations.",
        pd.DataFrame(frame),
    )


def findings(groups: Sequence[Group], answers: Sequence[Answers]) -> list[str]:
    """Who is confirmed everywhere, who is never right, who claims too much, which formulation is wrong."""
    swept = frozenset[str]().union(*(g.sweeps for g in groups))
    cases = [c for c in join(answers, ()) if not c.answers.refused and c.answers.exact and c.steps]
    if not cases:
        return []
    everywhere: dict[str, bool] = {}
    pairs: dict[tuple[str, str], bool] = {}
    for c in cases:
        a, right = c.answers, bool(c.confirmed.all())
        pairs[a.formulation, a.solver] = pairs.get((a.formulation, a.solver), True) and right
        if a.solver not in swept:
            everywhere[a.solver] = everywhere.get(a.solver, True) and right
    sure = sorted(s for s, right in everywhere.items() if right)
    lines = [
        f"{sum(pairs.values())} of {len(pairs)} pairs of an exact formulation and a solver are confirmed on every step "
        f"they were asked. Solvers confirmed throughout: {listed(sure, 16) if sure else 'none'}."
    ]
    liars = metrics.liars(answers)
    lines += [
        f"{r.solver} is never right: the certificate refutes all {r.claims} answers that it calls solved; its correct "
        f"rate is {r.correct:.2g}, its largest certified error {_error(r.worst)}."
        for r in liars if r.never_right and r.solver not in swept
    ]  # fmt: skip
    others = [r for r in liars if not r.never_right and r.solver not in swept]
    if others:
        named = [f"{r.solver} {r.false_claims} of {r.claims} (correct rate {r.correct:.3g})" for r in others]
        lines.append(f"Claims of 'solved' that the certificate does not confirm: {listed(named)}.")
    loose = [r for r in liars if r.solver in swept]
    if loose:
        lines.append(
            f"Of the sets of options that trade accuracy for time, {len(loose)} make false claims too: "
            f"{listed(sorted({base_of(r.solver) for r in loose}))}."
        )
    if not liars:
        lines.append("Every claim of 'solved' survives the certificate.")
    wrong = [f"{w.formulation} on {w.source} ({w.wrong} of {w.steps})" for w in metrics.wrong_programs(answers)]
    if wrong:
        lines.append(f"Programs that were solved and are not the mechanics, whoever solves them: {listed(wrong)}.")
    return lines


def _error(value: float) -> Any:
    return f"{value:.1e}" if np.isfinite(value) else "infinite"
