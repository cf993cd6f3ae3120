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


def table(group: Group, files: Sequence[str]) -> Table:
    """A row for each file, in the order of its answers: pairs whose answers are confirmed from every start."""
    by = gathered((a for a in group.main()[0] if not a.refused), lambda a: (a.formulation, a.solver))
    pairs = {pair: of for pair, of in by.items() if all(len(a.status) == len(files) for a in of)}
    rows = []
    for i, file in enumerate(files):
        right = [pair for pair, of in pairs.items() if all(_satisfies(a, i) for a in of)]
        solvers = gathered(sorted(right), lambda pair: pair[0])
        named = "; ".join(f"{formulation}: {', '.join(s for _, s in of)}" for formulation, of in solvers.items())
        statuses = Counter(a.status[i] for pair, of in pairs.items() for a in of[-1:] if pair not in right)
        others = ", ".join(f"{status.replace('_', ' ')} {count}" for status, count in statuses.most_common())
        rows.append((file, f"{len(right)} of {len(pairs)}", named or "nobody", others or "–"))
    nobody = sum(row[2] == "nobody" for row in rows)
    return texts.table("who-solved", rows, anchor=f"solved-{group.anchor}", files=len(files), nobody=nobody,
                       tolerance=DEFAULT_TOLERANCE)  # fmt: skip


def _satisfies(answers: Answers, i: int) -> bool:
    """Whether an answer is confirmed, or satisfies the law where it is not the only one."""
    several = answers.status[i] == Status.MULTIPLE_SOLUTIONS
    return answers.confirmed[i] or (several and answers.certified[i] <= DEFAULT_TOLERANCE)
