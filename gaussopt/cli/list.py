"""The command `gaussopt list`."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Annotated, Any

import typer

from gaussopt.cli.common import Json, argument, show

KINDS = {
    "problems": "problem", "formulations": "formulation", "solvers": "solver", "steppers": "stepper",
    "families": "family", "relaxations": "relaxation",
}  # fmt: skip
"""Words that `list` takes, with their kinds in the registry; relaxations are formulations of contacts in space."""


Kind = Annotated[
    str | None, argument("KIND", f"{', '.join(KINDS)}; the names of all if not given.", words=tuple(KINDS))
]


def list_command(context: typer.Context, kind: Kind = None, json_: Json = False) -> None:
    """List the problems, formulations, solvers, steppers, families or relaxations of friction in space."""
    from gaussopt.core import registry, solver
    from gaussopt.core.errors import UnknownName
    from gaussopt.relaxations import RELAXATIONS

    def known(singular: str) -> list[str]:
        return sorted(RELAXATIONS) if singular == "relaxation" else registry.names(singular)

    if kind is None:
        every: dict[str, list[str]] = {plural: known(singular) for plural, singular in KINDS.items()}
        told = [f"{plural} ({len(found)}): {', '.join(found)}" for plural, found in every.items()]
        show(context.obj, json_, {"status": "solved", **every}, *told, "More on each kind: gaussopt list KIND")
        return
    if kind not in KINDS:
        raise UnknownName("list", kind, KINDS)
    singular = KINDS[kind]
    rows: list[dict[str, Any]] = []
    for name in known(singular):
        entry: Any = RELAXATIONS[name] if singular == "relaxation" else registry.load(singular, name)
        row: dict[str, Any] = {"name": name, "title": entry.title, "source": entry.source}
        if singular == "solver":
            missing = solver.missing_packages(entry)
            row |= {"available": not missing, "missing": missing, "accepts": [t.__name__ for t in entry.accepts]}
        elif singular in ("formulation", "relaxation"):
            row["exact"] = entry.exact
        elif singular == "stepper":
            row |= {"order": entry.order, "adaptive": entry.adaptive}
        elif singular == "problem":
            row |= {"parameters": [asdict(p) for p in entry.parameters], "cases": sorted(entry.cases)}
            row |= {"variants": sorted(entry.variants), "references": [r.name for r in entry.references]}
        elif singular == "family":
            row["dials"] = [asdict(dial) for dial in entry.dials]
        rows.append(row)
    lines = []
    width = max((len(r["name"]) for r in rows), default=0)
    for row in rows:
        note = f"  (not installed: {', '.join(row['missing'])})" if row.get("missing") else ""
        if singular == "problem" and (paper := re.search(r"paper \d+", row["source"])):
            note += f"  ({paper[0]})"
        lines.append(f"{row['name']:{width}}  {row['title']}{note}")
        dials = row.get("dials", ())
        names = max((len(dial["name"]) for dial in dials), default=0)
        for dial in dials:
            unit = "" if dial["unit"] == "1" else f" {dial['unit']}"
            ends = f"{dial['low']:g} to {dial['high']:g}{unit} ({dial['default']:g})"
            lines.append(f"{'':{width}}    {dial['name']:{names}}  {ends:28}  {dial['meaning']}")
    show(context.obj, json_, {"status": "solved", kind: rows}, *lines)
