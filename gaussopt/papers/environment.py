"""The section on where and with what the report was computed."""

from __future__ import annotations

from gaussopt.environment import versions
from gaussopt.reporting.document import Paragraph, Section, Table
from gaussopt.work import Outcome


def section(outcomes: dict[str, Outcome]) -> Section:
    """Versions, machine, seconds by case."""
    rows = tuple(versions().items())
    table = Table("environment", "Versions and machine of this run.", ("what", "version"), rows)
    seconds = tuple((key, o.seconds, o.failure or "done") for key, o in outcomes.items())
    cases = Table("cases", "Every case of this run.", ("case", "seconds", "ended"), seconds, ("seconds",))
    text = (
        "Times depend on the machine: read ratios, not microseconds. BLAS runs on one thread. Everything else is "
        "deterministic: the genetic algorithm and every random draw are seeded."
    )
    return Section("environment", "Environment", (Paragraph(text), table, cases))
