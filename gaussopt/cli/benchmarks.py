"""The command that runs the benchmark problems of the field."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gaussopt.cli.common import Json, end, note, processes, progress_bar, show


def benchmarks_command(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", help="Folder of the finished motions and the report.")] = Path(
        "runs/benchmarks"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="One setting of each stepper, a fifth of the time.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", help="Processes; 0 for one per core.")] = 0,
    json_: Json = False,
) -> None:
    """Run the benchmark problems of the field and report errors against published values, and times.

    A killed run goes on where it was.
    """
    from gaussopt.reporting.write import benchmarks

    count = processes(jobs)
    with progress_bar("benchmarks", json_, lines=True) as progress:
        summary = benchmarks(out, quick=quick, jobs=count, progress=progress, note=note)
    show(context.obj, json_, summary, *summary["findings"], f"Report: {summary['report']}")
    end(summary["status"], summary["message"])
