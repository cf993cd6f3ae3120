"""The command `gaussopt atlas`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaussopt.cli.common import Json, Set, argument, option, plain, progress_bar, settings_of, show

if TYPE_CHECKING:
    from gaussopt.atlas.scan import Atlas

Export = Annotated[
    int,
    option("--export-counterexamples", "Write up to N steps on which the printed QP is wrong as files for "
           "`gaussopt solve` and `verify`.", metavar="N", min=0),
]  # fmt: skip
Slips = Annotated[
    str,
    option("--slips", "Signs of slip of the contacts, such as +,- for two of them; several joined by |.",
           metavar="all|+,-|..."),
]  # fmt: skip
WithContacts = Annotated[
    str,
    argument("PROBLEM", "A problem with contacts: a name from `gaussopt list problems`, or a file.py.", "problem",
             files=(".py",)),
]  # fmt: skip
Axes = Annotated[
    list[str] | None,
    option("--axis", "Values of a parameter, evenly spaced; repeatable.", metavar="NAME=LOW:HIGH:COUNT"),
]
Loads = Annotated[int, option("--loads", "Number of directions of the load; 0 for the problem's own load.")]
Out = Annotated[Path | None, option("--out", "Folder of the report, reports/atlas-PROBLEM if not given.")]


def atlas_command(
    context: typer.Context, problem: WithContacts, axis: Axes = None, set_: Set = None, slips: Slips = "all",
    loads: Loads = 0, out: Out = None, export: Export = 0, json_: Json = False,
) -> None:  # fmt: skip
    """Map on a grid of states how many answers the contact laws have, and where the QP of the paper returns one."""
    from gaussopt.atlas.counterexamples import write_counterexamples
    from gaussopt.atlas.scan import scan
    from gaussopt.core.files import write_text
    from gaussopt.modelling.parameter_grid import Axis
    from gaussopt.modelling.problem import problem as find
    from gaussopt.papers.p001_friction.boundaries import TABLES
    from gaussopt.reporting.html.page import prepare_report, refuse_foreign, write
    from gaussopt.reporting.sections.atlas import document

    entry = find(problem, **settings_of(set_))
    axes = [Axis.parse(text) for text in axis or []] or None
    folder = Path("reports") / f"atlas-{entry.name}" if out is None else out
    refuse_foreign(folder)
    with progress_bar("atlas", json_) as progress:
        atlas = scan(entry, axes, slips=slips, loads=loads, progress=progress)
    prepare_report(folder, keep=True)
    file = folder / "atlas.nc"
    atlas.save(file)
    steps = write_counterexamples(atlas, export, folder / "counterexamples") if export else []
    known = TABLES.get(entry.name)
    page = document(atlas, entry.name, () if known is None else known(False))
    report = write(page, folder)
    data = {
        **_summary(atlas), "file": str(file), "report": str(report), "markdown": str(folder / "index.md"),
        "counterexamples": list(map(str, steps)),
    }  # fmt: skip
    write_text(folder / "atlas.json", json.dumps(plain(data), allow_nan=False) + "\n")
    lines = [f"{atlas.points} states were mapped in {atlas.seconds:.3g} s.", f"Data: {file}", f"Report: {report}"]
    if steps:
        where = folder / "counterexamples"
        lines.append(f"Counterexamples, each a step and its lcp: {len(steps)} in {where}, such as {steps[0].name}")
    elif export:
        lines.append("There is no counterexample on this grid: the printed QP answers as the contact laws do.")
    show(context.obj, json_, data, *map(str, page.findings), *lines)


def _summary(atlas: Atlas) -> dict[str, Any]:
    """Return the summary of an atlas for JSON."""
    return {
        "status": "solved", "message": f"{atlas.points} states mapped.", "problem": atlas.problem,
        "points": atlas.points, "axes": {a.name: [a.values[0], a.values[-1], len(a.values)] for a in atlas.axes},
        "signs": atlas.data["slip"].values.tolist(), "loads": 0 if atlas.loads is None else len(atlas.loads),
        "contacts": list(atlas.contacts), "counts": atlas.summary(), "seconds": atlas.seconds,
    }  # fmt: skip
