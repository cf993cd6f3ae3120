"""The command `gaussopt atlas`."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaussopt.cli.common import Json, Set, argument, names_of, option, plain, progress_bar, settings_of, show
from gaussopt.core.errors import BadInput

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
    option("--axis", "Values of a parameter, evenly spaced, with :log behind them in equal ratios; repeatable.",
           metavar="NAME=LOW:HIGH:COUNT[:log]"),
]  # fmt: skip
Parted = Annotated[
    str | None,
    option("--boundary", "In place of the atlas: the values of the last axis at which two formulations part, for every "
           "value of the others.", "formulation", metavar="A,B"),
]  # fmt: skip
Loads = Annotated[int, option("--loads", "Number of directions of the load; 0 for the problem's own load.")]
Out = Annotated[Path | None, option("--out", "Folder of the report, reports/atlas-PROBLEM if not given.")]


def atlas_command(
    context: typer.Context, problem: WithContacts, axis: Axes = None, set_: Set = None, slips: Slips = "all",
    loads: Loads = 0, out: Out = None, export: Export = 0, boundary: Parted = None, json_: Json = False,
) -> None:  # fmt: skip
    """Map on a grid of states how many answers the contact laws have, and where the QP of the paper returns one."""
    if boundary is not None:
        if loads or export:
            raise BadInput("--loads and --export-counterexamples belong to the maps; leave them out with --boundary.")
        _boundary(context, problem, names_of(boundary) or [], axis, set_, slips, out, json_)
        return
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


def _boundary(
    context: typer.Context, problem: str, pair: list[str], given: Axes, set_: Set, slips: str, out: Path | None,
    json_: bool,
) -> None:  # fmt: skip
    """Find the values of the last axis at which two formulations begin to differ."""
    from gaussopt.core.files import write_text
    from gaussopt.falsification.threshold import threshold
    from gaussopt.modelling.parameter_grid import Axis
    from gaussopt.modelling.problem import problem as find

    entry, axes = find(problem, **settings_of(set_)), [Axis.parse(text) for text in given or []]
    if len(pair) != 2 or not axes:
        raise BadInput("--boundary needs two formulations, such as normal-force-qp,lcp, and --axis with the parameter.")
    points = [dict(zip((a.name for a in axes[:-1]), map(float, at), strict=True))
              for at in itertools.product(*(a.values for a in axes[:-1]))]  # fmt: skip
    found = []
    with progress_bar("boundary", json_, lines=True) as progress:
        for number, point in enumerate(points):
            done = None if progress is None else lambda part, n=number: progress((n + part) / len(points))
            found.append((point, threshold(entry.at(**point), pair[0], pair[1], axes[-1], slips=slips, progress=done)))
    lines = [", ".join([*(f"{name} = {value:.6g}" for name, value in point.items()), line])
             for point, of in found for line in of.lines]  # fmt: skip
    count = sum(len(of.thresholds) for _, of in found)
    message = f"{' and '.join(pair)}: {count} thresholds along {axes[-1].name}."
    data = {
        "status": "solved", "message": message,
        "boundaries": [{"at": point, **of.to_mapping()} for point, of in found],
    }  # fmt: skip
    if out is not None:
        write_text(out / "boundary.json", json.dumps(plain(data), allow_nan=False) + "\n")
        lines.append(f"Written: {out / 'boundary.json'}")
    show(context.obj, json_, data, message, *lines)


def _summary(atlas: Atlas) -> dict[str, Any]:
    """Return the summary of an atlas for JSON."""
    return {
        "status": "solved", "message": f"{atlas.points} states mapped.", "problem": atlas.problem,
        "points": atlas.points, "axes": {a.name: [a.values[0], a.values[-1], len(a.values)] for a in atlas.axes},
        "signs": atlas.data["slip"].values.tolist(), "loads": 0 if atlas.loads is None else len(atlas.loads),
        "contacts": list(atlas.contacts), "counts": atlas.summary(), "seconds": atlas.seconds,
    }  # fmt: skip
