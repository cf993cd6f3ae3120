"""The commands that compute for minutes: `gaussopt papers`, `gaussopt benchmarks` and `gaussopt recommend`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gaussopt.cli import common

Folder = Annotated[Path, common.option("--out", "Folder of the report.")]
Quick = Annotated[bool, common.option("--quick", "Shorter motions, fewer states.")]
Pdf = Annotated[bool, common.option("--pdf", "Print the main document as paper.pdf too, by Chromium.")]
MotionsFolder = Annotated[Path, common.option("--out", "Folder of the finished motions and the report.")]
OneSetting = Annotated[bool, common.option("--quick", "One setting of each stepper, a fifth of the time.")]


def papers_command(
    context: typer.Context, out: Folder = Path("runs/papers"), quick: Quick = False, jobs: common.Jobs = 0,
    pdf: Pdf = False, json_: common.Json = False,
) -> None:  # fmt: skip
    """Reproduce the papers and write the report."""
    from gaussopt.papers.reproduce import reproduce

    count = common.processes(jobs)
    with common.progress_bar("papers", json_) as progress:
        summary = reproduce(out, quick=quick, jobs=count, pdf=pdf, progress=progress)
    lines = [f"Report: {summary['report']}"] + [f"PDF: {summary['pdf']}"] * pdf
    common.show(context.obj, json_, summary, summary["message"], *lines)
    if summary["status"] != "solved":
        raise typer.Exit(1)


def benchmarks_command(
    context: typer.Context, out: MotionsFolder = Path("runs/benchmarks"), quick: OneSetting = False,
    jobs: common.Jobs = 0, json_: common.Json = False,
) -> None:  # fmt: skip
    """Run the benchmark problems of the field and report errors against published values, and times.

    A killed run resumes where it stopped.
    """
    from gaussopt.reporting.write import benchmarks

    count = common.processes(jobs)
    with common.progress_bar("benchmarks", json_, lines=True) as progress:
        summary = benchmarks(out, quick=quick, jobs=count, progress=progress, note=common.note)
    common.show(context.obj, json_, summary, *summary["findings"], f"Report: {summary['report']}")
    common.end(summary["status"], summary["message"])


def recommend_command(
    context: typer.Context, problem: common.ProblemName, set_: common.Set = None, tolerance: common.Tolerance = 1e-7,
    json_: common.Json = False,
) -> None:  # fmt: skip
    """Say which formulation and solver suit a problem, by measuring on this machine for about a minute."""
    from gaussopt.comparison.recommend import recommend
    from gaussopt.modelling.problem import problem as find

    with common.progress_bar("recommend", json_, even=False) as progress:
        found = recommend(find(problem, **common.settings_of(set_)), tolerance=tolerance, progress=progress)
    status = "solved" if found.choices else "not_proved"
    common.show(context.obj, json_, {"status": status, **found.to_mapping()}, str(found))
    common.end(status, found.message)
