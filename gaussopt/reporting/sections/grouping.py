"""Groups of records by problem or family, which a report shows together, and functions that turn names into texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gaussopt.comparison.records import Answers, CaseRecord, Times, on_machine
from gaussopt.comparison.results import Results
from gaussopt.comparison.step_table import base_of
from gaussopt.core.display import gathered
from gaussopt.relaxations import is_contact_formulation

T = TypeVar("T")

SWEEP = 3
"""A solver with more option sets than this gets an accuracy sweep, shown only where accuracy is compared."""

FIRST = ("gauss", "lcp-qp", "lcp")
"""Formulations preferred for comparing solvers, if equally many solvers accept several formulations."""


@dataclass(frozen=True, slots=True)
class Group:
    """All records, refusals included, of a problem, a family, a folder of programs, or of all single programs.

    `sweeps` are the variants of solvers that ran with more than SWEEP sets of options. Solvers are compared with
    `formulation`, the exact formulation that most solvers accept. A merged comparison has groups for each machine.
    """

    kind: str
    name: str
    machine: str
    anchor: str
    answers: tuple[Answers, ...]
    times: tuple[Times, ...]
    sweeps: frozenset[str]
    formulation: str

    def main(self) -> tuple[list[Answers], list[Times]]:
        """Return the records of answers and times without those of `sweeps`."""
        answers = [a for a in self.answers if a.solver not in self.sweeps]
        return answers, [t for t in self.times if t.solver not in self.sweeps]

    @property
    def ranked(self) -> bool:
        """Whether solvers are compared over the whole group; on a family of steps they are compared along its dials."""
        return self.kind != "family" or is_contact_formulation(self.formulation)

    @property
    def title(self) -> str:
        """Heading of the group in reports."""
        of = f" of {self.name}" if self.name else ""
        titles = {"qp": f"Convex programs{of}", "lcp": f"Complementarity problems{of}",
                  "family": f"Family {self.name}", "sequence": f"Sequence {self.name}",
                  "contact": f"Contact problems{of}"}  # fmt: skip
        return on_machine(titles.get(self.kind, self.name), self.machine)


def _widest(answers: Sequence[Answers]) -> str:
    """Return the exact formulation that the largest number of solvers accept."""
    taken = gathered((a for a in answers if not a.refused and a.exact), lambda a: a.formulation)

    def rank(formulation: str) -> tuple[Any, ...]:
        of = taken[formulation]
        right = sum(sum(a.confirmed) for a in of)
        return -len({a.solver for a in of}), formulation not in FIRST, -right, formulation

    return min(taken, key=rank, default="")


def group_of(record: CaseRecord) -> tuple[str, str, str]:
    """Return the kind, name and machine of the group of a record; all single programs form one group."""
    source = record.source
    return source.kind, source.part if source.kind in ("qp", "lcp") else source.name, source.machine


def groups(results: Results) -> list[Group]:
    """Return a group for each problem or family, in the order of the answers."""
    sets = gathered({a.solver for a in results.answers}, base_of)
    sweeps = frozenset(s for base, of in sets.items() if len(of) > SWEEP for s in of if s != base)
    times = gathered(results.times, group_of)
    found = gathered(results.answers, group_of)
    anchors = anchors_of(map("-".join, (filter(None, key) for key in found)))
    return [
        Group(*key, anchor, tuple(of), tuple(times.get(key, ())), sweeps, _widest(of))
        for (key, of), anchor in zip(found.items(), anchors, strict=True)
    ]


def anchor_of(*words: str) -> str:
    """Return a slug made of words, for file names and anchors."""
    text = "-".join(w for w in words if w).lower()
    return "-".join("".join(c if c.isascii() and c.isalnum() else " " for c in text).split())


def anchors_of(names: Iterable[str]) -> Iterator[str]:
    """Yield slugs of names for anchors and file names; equal slugs are numbered."""
    given: set[str] = set()
    for name in names:
        plain = word = anchor_of(name) or "unnamed"
        i = 2
        while word in given:
            word, i = f"{plain}-{i}", i + 1
        given.add(word)
        yield word


def first(rows: Sequence[T], most: int, noun: str = "") -> tuple[Sequence[T], str]:
    """Return the rows that a table shows, and a sentence for its caption if rows are left out."""
    more = f" The first {most} of {len(rows)}{noun}." if len(rows) > most else ""
    return rows[:most], more


def listed(names: Sequence[str], most: int = 8, sep: str = ", ") -> str:
    """Return names separated by commas; if there are more than `most`, the number of the others ends the list."""
    return sep.join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def in_sentence(names: Sequence[str], most: int = 8) -> str:
    """List names in a sentence, with "and" before the last one."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if 1 < len(names) <= most else listed(names, most)


def in_words(statuses: Sequence[str]) -> str:
    """Join statuses by "or" for a sentence, with spaces instead of underscores."""
    return " or ".join(s.replace("_", " ") for s in statuses)


def shape_of(reason: str) -> str:
    """Mask the numbers in a reason, so that reasons that differ only in their numbers become equal."""
    return re.sub(r"\d[\d.e+-]*", "#", reason)


def per_cent(share: float) -> str:
    """Format a fraction in per cent; 0 and 100 are written only if exact."""
    text = f"{100 * share:.0f}"
    return f"{100 * share:.1f} %" if text in ("0", "100") and share not in (0.0, 1.0) else f"{text} %"


def short(value: Any) -> Any:
    """Round a number to the four digits that a table needs; return anything else unchanged."""
    return float(f"{value:.4g}") if isinstance(value, float) else value
