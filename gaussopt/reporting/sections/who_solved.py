"""The report of a comparison on files of contacts: who solved which, and which nobody solved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gaussopt.comparison.records import Answers
from gaussopt.core.status import Status
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.reporting.document import Table
from gaussopt.reporting.sections.grouping import Group, gathered
from gaussopt.reporting.texts import Texts

texts = Texts(__file__, str)


def table(group: Group, files: Sequence[str] = ()) -> Table:
    """A row for each file, in the order of the answers: pairs whose answers are confirmed from every start.

    `files` are their names where they are the items of one source; otherwise each source is one.
    """
    asked = [
        a for a in group.main()[0]
        if not a.refused and (a.source.part or not files or len(a.status) == len(files))
    ]  # fmt: skip
    by = gathered(
        ((_named(a, files, i), (a.formulation, a.solver), a, i) for a in asked for i in range(max(1, len(a.status)))),
        lambda row: row[0],
    )
    rows = []
    for file, of in by.items():
        pairs = gathered(of, lambda row: row[1])
        right = [pair for pair, rows_of in pairs.items() if all(_satisfies(a, i) for *_, a, i in rows_of)]
        solvers = gathered(sorted(right), lambda pair: pair[0])
        named = "; ".join(f"{f}: {', '.join(s for _, s in of)}".removeprefix(": ") for f, of in solvers.items())
        last = (rows_of[-1] for pair, rows_of in pairs.items() if pair not in right)
        statuses = Counter(a.status[i] if a.status else a.failure.partition(":")[0] for *_, a, i in last)
        others = ", ".join(f"{status.replace('_', ' ')} {count}" for status, count in statuses.most_common())
        rows.append((file, f"{len(right)} of {len(pairs)}", named or "nobody", others or "–"))
    nobody = sum(row[2] == "nobody" for row in rows)
    return texts.table("who-solved", rows, anchor=f"solved-{group.anchor}", files=len(rows), nobody=nobody,
                       tolerance=DEFAULT_TOLERANCE)  # fmt: skip


def _named(answers: Answers, files: Sequence[str], i: int) -> str:
    """The name of a program, which is a source by itself, or of a file of contacts."""
    source = answers.source
    if source.kind in ("qp", "lcp"):
        return source.name
    return source.part or (files[i] if files else source.name)


def _satisfies(answers: Answers, i: int) -> bool:
    """Whether there is an answer that is confirmed, or satisfies the law where it is not the only one."""
    if not answers.status:
        return False
    several = answers.status[i] == Status.MULTIPLE_SOLUTIONS
    return answers.confirmed[i] or (several and answers.certified[i] <= DEFAULT_TOLERANCE)
