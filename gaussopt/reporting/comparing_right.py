"""The report of a comparison: who is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gaussopt.comparison import metrics
from gaussopt.comparison.joined import Case, base_of, join
from gaussopt.comparison.records import Answers
from gaussopt.reporting.comparing_view import Group, listed, per_cent
from gaussopt.reporting.document import Block, Data, Paragraph, Section, Table

MOST_ROWS = 30


def section(groups: Sequence[Group], answers: Sequence[Answers]) -> Section:
    """Words of solvers, formulations that are wrong, and a matrix for each problem or family."""
    blocks: list[Block] = []
    words = metrics.words(answers)
    if words:
        blocks.append(_words_table(words))
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
    rows = tuple(
        (w.solver, w.steps, w.claims, w.false_claims, w.missed, w.correct, w.worst, listed(w.where, 2))
        for w in words[:MOST_ROWS]
    )
    more = f" The {MOST_ROWS} worst of {len(words)}." if len(words) > MOST_ROWS else ""
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


def _matrices(group: Group) -> list[Block]:
    main, _ = group.main()
    by: dict[tuple[str, str], list[Case]] = {}
    for c in join(main, ()):
        by.setdefault((c.answers.solver, c.answers.formulation), []).append(c)
    used = [k for k, of in by.items() if not all(c.answers.refused for c in of)]
    if not used:
        return [Paragraph("Every pair refuses these steps; the reasons are listed under Refused.")]
    formulations = sorted({f for _, f in used}, key=lambda f: (-sum(k[1] == f for k in used), f))
    solvers = sorted({s for s, _ in used}, key=lambda s: (-sum(k[0] == s for k in used), s))
    cells = tuple((s, *(_cell(by.get((s, f))) for f in formulations)) for s in solvers)
    parts = len({(c.source.part, tuple(c.source.dials.items())) for of in by.values() for c in of})
    over = f", the worst of {parts} sets of steps" if parts > 1 else ""
    caption = (
        f"Largest certified relative error{over} and all kinds of start. A bare number: every answer is confirmed and "
        "every claim true. In words otherwise: the share of steps confirmed, and the correct rate of the claims where "
        "it is below one. '–': refused."
    )
    # A table as wide as this one is easier to read where rows and columns are exchanged.
    header = ("solver", *(f or "largest certified" for f in formulations))
    return [Table(f"right-{group.anchor}", caption, header, cells), *_long(group, by)]


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
    claims = "" if correct == 1 else f", correct rate {correct:.2g}"
    return f"{error}; {per_cent(float(confirmed.mean()))} confirmed{claims}"


def _long(group: Group, by: dict[tuple[str, str], list[Case]]) -> list[Block]:
    import pandas as pd

    from gaussopt.comparison.tables import summary

    frame = summary(group.answers, group.times)
    return [Data(
        f"summary-{group.anchor}",
        "Every source, formulation, solver (with all sets of options) and start: counts, rates, quantiles of errors "
        "and work, largest primal, dual and gap residuals, iterations.",
        pd.DataFrame(frame),
    )]  # fmt: skip


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
        for r in liars if r.never_right
    ]  # fmt: skip
    others = [r for r in liars if not r.never_right and r.solver not in swept]
    if others:
        named = [f"{r.solver} {r.false_claims} of {r.claims} (correct rate {r.correct:.3g})" for r in others]
        lines.append(f"Claims of 'solved' that the certificate does not confirm: {listed(named)}.")
    loose = [r for r in liars if not r.never_right and r.solver in swept]
    if loose:
        lines.append(
            f"{len(loose)} more sets of options make false claims because their tolerance is loose: "
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
