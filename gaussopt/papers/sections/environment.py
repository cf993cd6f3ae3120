"""The section on the machine and software that computed the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from gaussopt.comparison.pairing import installed_solvers
from gaussopt.comparison.solver_spec import solver_class
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.processes.environment import versions
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.document import Paragraph, Section, Table, Timed
from gaussopt.reporting.texts import Texts

ANCHOR = "environment"

texts = Texts(__file__)


def section(outcomes: Mapping[str, JobOutcome]) -> Section:
    """Return a section with versions, machine, tolerance and solver options, and the duration of each case."""
    seconds = ((key, o.seconds, o.failure or "done") for key, o in outcomes.items())
    cases = texts.table("cases", seconds, timed=("seconds",))
    total = sum(o.seconds for o in outcomes.values())
    spent = Timed(f"The {len(outcomes)} cases took {total:.0f} s of one core.")
    opening = (*texts.blocks("reading"), texts.table("environment", versions().items()))
    return Section(ANCHOR, "Environment", (*opening, _settings(), Paragraph(spent), cases))


def _settings() -> Table:
    """Return a table of the solvers' default options and the tolerance of the certificate."""
    rows: list[tuple[Any, ...]] = [("certificate", "tolerance", DEFAULT_TOLERANCE)]
    for name in installed_solvers():
        options = solver_class(name).options_type()
        rows += [(name, f.name, _text(getattr(options, f.name))) for f in fields(options)]
    return texts.table("settings", rows)


def _text(value: Any) -> Any:
    return value if isinstance(value, bool | int | float) else "none" if value is None else str(value)
