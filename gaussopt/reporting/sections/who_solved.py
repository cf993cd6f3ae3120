"""The report of a comparison on files of contacts: who solved which, and which nobody solved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

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
        right = [pair for pair, of in pairs.items() if all(a.confirmed[i] for a in of)]
        solvers = gathered(sorted(right), lambda pair: pair[0])
        named = "; ".join(f"{formulation}: {', '.join(s for _, s in of)}" for formulation, of in solvers.items())
        statuses = Counter(a.status[i] for pair, of in pairs.items() for a in of[-1:] if pair not in right)
        others = ", ".join(f"{status.replace('_', ' ')} {count}" for status, count in statuses.most_common())
        rows.append((file, f"{len(right)} of {len(pairs)}", named or "nobody", others or "–"))
    nobody = sum(row[2] == "nobody" for row in rows)
    return texts.table("who-solved", rows, anchor=f"solved-{group.anchor}", files=len(files), nobody=nobody)
