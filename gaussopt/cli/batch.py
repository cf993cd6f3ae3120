"""The command `gaussopt batch`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaussopt.cli import common

if TYPE_CHECKING:
    import xarray as xr

Axes = Annotated[
    list[str],
    common.option("--axis", "Values of a parameter, evenly spaced; repeatable: every value of one with every value of "
                  "the others.", metavar="NAME=LOW:HIGH:COUNT"),
]  # fmt: skip
Out = Annotated[
    Path, common.option("--out", "Folder of the finished motions; the same command goes on where it was stopped.")
]
Threads = Annotated[int | None, common.option("--threads", "Cores to use; all if not given.", min=1)]


def batch_command(
    context: typer.Context, problem: common.ProblemName, axis: Axes, out: Out, stepper: common.StepperName = None,
    dt: common.TimeStep = None, rtol: common.RelativeTolerance = None, atol: common.AbsoluteTolerance = None,
    t_end: common.End = None, stabilisation: common.Stabilisation = None, tolerance: common.Tolerance = 1e-7,
    impact: common.Impact = None, accumulation: common.Accumulation = None, record_every: common.RecordEvery = None,
    threads: Threads = None, set_: common.Set = None, json_: common.Json = False,
) -> None:  # fmt: skip
    """Simulate a problem at every point of a grid of its parameters; the motions go to OUT/batch.nc."""
    import numpy as np

    from gaussopt.core.display import counted
    from gaussopt.modelling.parameter_grid import Axis
    from gaussopt.modelling.problem import problem as find
    from gaussopt.simulation.batch import simulate_batch
    from gaussopt.storage.netcdf import save_dataset

    entry = find(problem, **common.settings_of(set_))
    axes = [Axis.parse(text) for text in axis]
    grid = np.meshgrid(*(a.values for a in axes), indexing="ij")
    given: dict[str, Any] = {
        "stepper": stepper, "stabilisation": stabilisation, "impact": impact, "accumulation": accumulation,
        "record_every": record_every,
    }  # fmt: skip
    with common.progress_bar("batch", json_, lines=True) as progress:
        data = simulate_batch(
            entry, parameters={a.name: values.ravel() for a, values in zip(axes, grid, strict=True)}, dt=dt,
            t_end=t_end, rtol=rtol, atol=atol, tolerance=tolerance, threads=threads, progress=progress, out=out,
            **{name: value for name, value in given.items() if value is not None},
        )  # fmt: skip
    counts = Counter(map(str, data.status.values))
    missing = grid[0].size - data.sizes["trajectory"]
    stopped = bool(missing or counts["interrupted"])
    file = out / "batch.nc"
    if not stopped:
        save_dataset(data, file)
    ended = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    message = f"{counted(grid[0].size, 'motion')} of {entry.name}: {ended}."
    if stopped:
        message = f"Interrupted: {counts['solved']} of {grid[0].size} motions are done; the same command goes on there."
    status = "interrupted" if stopped else next((s for s in counts if s != "solved"), "solved")
    result = {
        "status": status, "message": message, "problem": entry.name, "motions": grid[0].size, "counts": dict(counts),
        "axes": {a.name: a.values for a in axes}, "file": None if stopped else str(file),
    }  # fmt: skip
    lines = [] if stopped else [message, *_failed(data), f"Data: {file}"]
    common.show(context.obj, json_, result, *lines)
    common.end(status, message)


def _failed(data: xr.Dataset) -> list[str]:
    """Return the first motion that did not reach its end, with its message."""
    failed = [i for i, status in enumerate(data.status.values) if status != "solved"][:1]
    return [f"Motion {i}: {data.message.values[i]}" for i in failed]
