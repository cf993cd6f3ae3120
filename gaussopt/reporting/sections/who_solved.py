"""Report of a comparison on files: the solvers that solved each file, and all answers to each single program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from gaussopt.comparison.records import Answers
from gaussopt.comparison.step_table import TimedAnswers, join
from gaussopt.core.display import gathered
from gaussopt.core.status import Status
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.reporting.document import Document, Link, Section, Table
from gaussopt.reporting.sections.grouping import Group, short
from gaussopt.reporting.texts import Texts

texts = Texts(__file__, str)

PROGRAMS = ("qp", "lcp")
"""Kinds of groups that are single programs."""


def table(group: Group, files: Sequence[str] = ()) -> Table:
    """Return a table of the files, in the order of the answers, with the pairs that solve a file from every start.

    `files` are the file names if they are the items of one source; otherwise each source is one file.
    """
    asked = [  # a pair that failed answers no file of its source
        (a, 1 if a.source.part else len(files) or max(1, len(a.status))) for a in group.main()[0]
        if not a.refused and (a.source.part or not files or len(a.status) in (0, len(files)))
    ]  # fmt: skip
    by = gathered(
        ((_named(a, files, i), (a.formulation, a.solver), a, i) for a, count in asked for i in range(count)),
        lambda row: row[0],
    )
    rows: list[tuple[Any, ...]] = []
    for file, of in by.items():
        pairs = gathered(of, lambda row: row[1])
        right = [pair for pair, rows_of in pairs.items() if all(_satisfies(a, i) for *_, a, i in rows_of)]
        solvers = gathered(sorted(right), lambda pair: pair[0])
        named = "; ".join(f"{f}: {', '.join(s for _, s in of)}".removeprefix(": ") for f, of in solvers.items())
        last = (rows_of[-1] for pair, rows_of in pairs.items() if pair not in right)
        statuses = Counter(a.status[i] if a.status else a.failure.partition(":")[0] for *_, a, i in last)
        others = ", ".join(f"{status.replace('_', ' ')} {count}" for status, count in statuses.most_common())
        linked = Link(file, _anchor(group, len(rows))) if group.kind in PROGRAMS else file
        rows.append((linked, f"{len(right)} of {len(pairs)}", named or "nobody", others or "–"))
    nobody = sum(row[2] == "nobody" for row in rows)
    return texts.table("who-solved", rows, anchor=f"solved-{group.anchor}", files=len(rows), nobody=nobody,
                       tolerance=DEFAULT_TOLERANCE)  # fmt: skip


def page(groups: Sequence[Group]) -> Document | None:
    """Return a page with all answers to each single program, in the order of `table`; None if there is none."""
    parts = tuple(Section(f"singles-{g.anchor}", g.title, (), _singles(g)) for g in groups if g.kind in PROGRAMS)
    parts = tuple(part for part in parts if part.sections)
    return Document("Single problems", texts("singles"), (), parts, "single-problems", "S") if parts else None


def _singles(group: Group) -> tuple[Section, ...]:
    by = gathered((c for c in join(*group.main()) if not c.answers.refused), lambda c: c.source.name)
    return tuple(
        Section(_anchor(group, i), name, (texts.table("single", map(_row, of), anchor=_anchor(group, i), name=name,
                                                      timed=("time / µs",)),))
        for i, (name, of) in enumerate(by.items())
    )  # fmt: skip


def _anchor(group: Group, i: int) -> str:
    return f"single-{group.anchor}-{i + 1}"


def _row(case: TimedAnswers) -> tuple[Any, ...]:
    """Return a table row on the answer of a solver to a program."""
    a = case.answers
    said = (a.failure or "no answer", "–") if not a.status else (a.status[0], a.claim[0])
    told = (case[name][0] for name in ("certified", "error", "primal", "dual", "gap", "iterations"))
    return (a.solver, *(x.replace("_", " ") for x in said), *map(short, map(float, told)), short(1e6 * case["work"][0]))


def _named(answers: Answers, files: Sequence[str], i: int) -> str:
    """Return the name of the program of an answer, or the name of the file if it is a contact problem."""
    source = answers.source
    if source.kind in PROGRAMS:
        return source.name
    return source.part or (files[i] if files else source.name)


def _satisfies(answers: Answers, i: int) -> bool:
    """Return whether an answer is confirmed, or satisfies the contact law where solutions are not unique."""
    if not answers.status:
        return False
    several = answers.status[i] == Status.MULTIPLE_SOLUTIONS
    return answers.confirmed[i] or (several and answers.certified[i] <= DEFAULT_TOLERANCE)
