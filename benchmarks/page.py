"""What a benchmark finds: sections of tables and goals, as Markdown and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from measuring import Spread


@dataclass(frozen=True)
class Goal:
    """A ratio with a limit.

    Attributes
    ----------
    what : in words, who is compared with whom
    limit : the number that should be reached
    most : whether the limit is the largest allowed, or the least wanted
    measured : None where it could not be measured
    why_not : the reason for that
    does_more : what the engine compared with does that ours does not
    unit : behind the numbers
    """

    what: str
    limit: float
    most: bool
    measured: Spread | None
    why_not: str = ""
    does_more: str = ""
    unit: str = "×"

    @property
    def met(self) -> bool | None:
        """Whether the median is on the right side; None if nothing was measured."""
        if self.measured is None:
            return None
        return self.measured.median <= self.limit if self.most else self.measured.median >= self.limit


@dataclass(frozen=True)
class Table:
    """Cells as they are printed, and the numbers behind them for machines."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    data: Sequence[dict[str, Any]] = field(default_factory=tuple)


@dataclass(frozen=True)
class Section:
    """A heading, text, tables, and the goals that follow from them."""

    title: str
    paragraphs: Sequence[str]
    tables: Sequence[Table] = ()
    goals: Sequence[Goal] = ()


def markdown(title: str, introduction: Sequence[str], sections: Sequence[Section], closing: Sequence[str]) -> str:
    """The page: goals first, then every section."""
    lines = [f"# {title}", ""]
    for text in introduction:
        lines += [text, ""]
    goals = [goal for section in sections for goal in section.goals]
    if goals:
        lines += ["## Goals", "", *_lines(goal_table(goals)), ""]
    for section in sections:
        lines += [f"## {section.title}", ""]
        for text in section.paragraphs:
            lines += [text, ""]
        for table in section.tables:
            lines += [*_lines(table), ""]
    for text in closing:
        lines += [text, ""]
    return "\n".join(lines)


def plain(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """All numbers, for JSON."""
    return [
        {
            "section": section.title,
            "goals": [{**asdict(goal), "met": goal.met} for goal in section.goals],
            "tables": [list(table.data) for table in section.tables],
        }
        for section in sections
    ]


def goal_table(goals: Sequence[Goal]) -> Table:
    """Each goal with what was measured, and whether it is met."""
    rows = []
    for goal in goals:
        word = {True: "yes", False: "no", None: "–"}[goal.met]
        measured = goal.why_not if goal.measured is None else spread(goal.measured, 1.0, goal.unit)
        limit = f"at {'most' if goal.most else 'least'} {number(goal.limit)} {goal.unit}"
        rows.append((goal.what, limit, measured, word, goal.does_more))
    return Table(("what", "goal", "measured", "met", "what the other engine does more"), rows)


def spread(value: Spread, factor: float = 1.0, unit: str = "") -> str:
    """Median and quartiles."""
    v = value.scaled(factor)
    tail = f" {unit}" if unit else ""
    if v.count == 1:
        return f"{number(v.median)}{tail}"
    return f"{number(v.median)}{tail} ({number(v.lower)} to {number(v.upper)})"


def number(value: float) -> str:
    """Three digits, without an exponent where one can read it."""
    if value == 0 or 1e-2 <= abs(value) < 1e5:
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return f"{value:.1e}"


def _lines(table: Table) -> list[str]:
    return [
        f"| {' | '.join(table.columns)} |",
        "|---" * len(table.columns) + "|",
        *(f"| {' | '.join(row)} |" for row in table.rows),
    ]
