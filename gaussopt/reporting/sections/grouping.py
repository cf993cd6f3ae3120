"""Groups of records by problem or family, which a report shows together, and the looks of competitors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gaussopt.comparison.records import Answers, StepSource, Times
from gaussopt.comparison.results import Results
from gaussopt.comparison.step_table import base_of

T = TypeVar("T")

SWEEP = 3
"""From so many sets of options on, a solver's options are a sweep of its accuracy, shown where accuracy is."""

FIRST = ("gauss", "lcp-qp", "lcp")
"""Formulations that stand for the others where solvers are compared, if they are taken by as many solvers."""


@dataclass(frozen=True, slots=True)
class Group:
    """All records of a problem, a family, a folder of programs, or of the single programs.

    Attributes
    ----------
    answers, times : `answers` includes refusals
    sweeps : solvers whose options are a sweep; `main` leaves these out
    formulation : the one that most solvers take, by which solvers are compared
    """

    kind: str
    name: str
    anchor: str
    answers: tuple[Answers, ...]
    times: tuple[Times, ...]
    sweeps: frozenset[str]
    formulation: str

    def main(self) -> tuple[tuple[Answers, ...], tuple[Times, ...]]:
        """Records without sweeps of options."""
        return (
            tuple(a for a in self.answers if a.solver not in self.sweeps),
            tuple(t for t in self.times if t.solver not in self.sweeps),
        )

    @property
    def title(self) -> str:
        """In words."""
        titles = {"family": f"Family {self.name}", "sequence": f"Sequence {self.name}", "qp": "Convex programs"}
        return titles.get(self.kind, self.name)


def _widest(answers: Sequence[Answers]) -> str:
    """The exact formulation that most solvers take."""
    taken: dict[str, set[str]] = {}
    right: Counter[str] = Counter()
    for a in answers:
        if not a.refused and a.exact:
            taken.setdefault(a.formulation, set()).add(a.solver)
            right[a.formulation] += sum(a.confirmed)
    order = sorted(taken, key=lambda f: (-len(taken[f]), f not in FIRST, -right[f], f))
    return order[0] if order else ""


def group_of(source: StepSource) -> tuple[str, str]:
    """Kind and name; single programs belong together."""
    return source.kind, "" if source.kind == "qp" else source.name


def groups(results: Results) -> list[Group]:
    """Records by problem or family, in the order of the answers."""
    sets: dict[str, set[str]] = {}
    for a in results.answers:
        sets.setdefault(base_of(a.solver), set()).add(a.solver)
    sweeps = frozenset(s for base, of in sets.items() if len(of) > SWEEP for s in of if s != base)
    answers: dict[tuple[str, str], list[Answers]] = {}
    times: dict[tuple[str, str], list[Times]] = {}
    for a in results.answers:
        answers.setdefault(group_of(a.source), []).append(a)
    for t in results.times:
        times.setdefault(group_of(t.source), []).append(t)
    return [
        Group(kind, name, anchor_of(kind, name), tuple(of), tuple(times.get((kind, name), ())), sweeps,
              _widest(of))
        for (kind, name), of in answers.items()
    ]  # fmt: skip


def anchor_of(*words: str) -> str:
    """Words as a file name and an anchor."""
    text = "-".join(w for w in words if w).lower()
    return "-".join("".join(c if c.isascii() and c.isalnum() else " " for c in text).split())


def looks_of(answers: Sequence[Answers]) -> dict[str, int]:
    """The place of every solver among all, so that it looks the same in all figures."""
    bases = sorted({base_of(a.solver) for a in answers})
    specs = sorted({a.solver for a in answers} - set(bases))
    return {name: i for i, name in enumerate([*bases, *specs])}


def first(rows: Sequence[T], most: int, noun: str = "") -> tuple[Sequence[T], str]:
    """The rows that a table shows, and a sentence for its caption where these are not all."""
    more = f" The first {most} of {len(rows)}{noun}." if len(rows) > most else ""
    return rows[:most], more


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names in a sentence."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def in_words(statuses: Sequence[str]) -> str:
    """Statuses as they stand in a sentence."""
    return " or ".join(s.replace("_", " ") for s in statuses)


def plural(count: int, one: str) -> str:
    """A count and its noun."""
    return f"{count} {one}{'' if count == 1 else 's'}"


def shape_of(reason: str) -> str:
    """A sentence without its numbers, which do not make it another reason."""
    return re.sub(r"\d[\d.e+-]*", "#", reason)


def per_cent(share: float) -> str:
    """A share in per cent; whole only if it is."""
    text = f"{100 * share:.0f}"
    return f"{100 * share:.1f} %" if text in ("0", "100") and share not in (0.0, 1.0) else f"{text} %"


def short(value: Any) -> Any:
    """A number to the four digits that a table needs; anything else as it is."""
    return float(f"{value:.4g}") if isinstance(value, float) else value
