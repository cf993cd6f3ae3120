"""The commands `gaussopt run` and `gaussopt batch`."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaussopt.cli import common
from gaussopt.core.errors import BadInput
from gaussopt.core.status import Status

if TYPE_CHECKING:
    import xarray as xr

    from gaussopt.integration.trajectory import Trajectory
    from gaussopt.modelling.problem import Problem


Tolerance = Annotated[
    float | None,
    common.option("--tolerance", "Largest error that the certificate lets pass, relative, 1e-7 if not given; inf only "
                  "records it."),
]  # fmt: skip
ProblemOfMotion = Annotated[
    str | None,
    common.argument("PROBLEM", "From `gaussopt list problems`, a file.py, or a model for MuJoCo, .xml or .urdf; not "
                    "needed with --from.", "problem", files=(".py", ".xml", ".urdf")),
]  # fmt: skip
From = Annotated[
    Path | None,
    common.option("--from", "Continue a motion that --save wrote; what is saved then holds both parts.",
                  metavar="FILE.nc"),
]  # fmt: skip
Save = Annotated[Path | None, common.option("--save", "Write the motion as NetCDF.", metavar="FILE.nc")]
StepFile = Annotated[bool, typer.Option(help="Write a step that is not accepted to gaussopt-step-*.json.")]
Axes = Annotated[
    list[str],
    common.option("--axis", "Values of a parameter, evenly spaced; repeatable: every value of one with every value of "
                  "the others.", metavar="NAME=LOW:HIGH:COUNT[:log]"),
]  # fmt: skip
Out = Annotated[
    Path, common.option("--out", "Folder of the finished motions; the same command goes on where it was stopped.")
]
Threads = Annotated[int | None, common.option("--threads", "Cores to use; all if not given.", min=1)]
Device = Annotated[str, common.option("--device", "cpu, or cuda for an NVIDIA card (extra cuda): a thread a motion.")]


def run_command(
    context: typer.Context, problem: ProblemOfMotion = None, formulation: common.OfMotion = None,
    solver: common.SolverName = None, solver_option: common.SolverOption = None, stepper: common.StepperName = None,
    dt: common.TimeStep = None, rtol: common.RelativeTolerance = None, atol: common.AbsoluteTolerance = None,
    t_end: common.End = None, stabilisation: common.Stabilisation = None, tolerance: Tolerance = None,
    impact: common.Impact = None, accumulation: common.Accumulation = None, on_singular: common.OnSingular = None,
    engine: common.Engine = None, record_every: common.RecordEvery = None,
    error_estimate: common.ErrorEstimate = True, step_file: StepFile = True, set_: common.Set = None,
    from_: From = None, save: Save = None, json_: common.Json = False,
) -> None:  # fmt: skip
    """Simulate a problem, certifying the acceleration of every step."""
    from gaussopt.core.files import check_target
    from gaussopt.integration.trajectory import Trajectory
    from gaussopt.simulation.concatenation import concatenate
    from gaussopt.simulation.simulate import simulate

    settings = common.settings_of(set_)
    options = common.pairs_of(solver_option, "--solver-option") if solver_option else None
    if save is not None:
        check_target(save)
        if save.suffix != ".nc":
            raise BadInput(f"Cannot write {save}: motions are NetCDF; name a file that ends in .nc.")
    start = None if from_ is None else Trajectory.load(from_)
    entry = _entry(problem, settings, start)
    with common.progress_bar(entry.name, json_) as progress:
        trajectory = simulate(
            entry, formulation, solver, stepper=stepper, dt=dt, t_end=t_end, rtol=rtol, atol=atol,
            tolerance=tolerance, stabilisation=stabilisation, impact=impact, accumulation=accumulation,
            on_singular=on_singular, solver_options=options, progress=progress, engine=engine,
            record_every=record_every, error_estimate=error_estimate, start=start, keep_interrupted=True,
            step_folder=(save.parent if save else ".") if step_file else None,
        )  # fmt: skip
    if start is not None:
        trajectory = concatenate([start, trajectory])
    lost = ""
    if save is not None:
        try:  # the result is printed even if saving it fails
            trajectory.save(save)
        except BadInput as error:
            lost = str(error)
    if json_:
        unsaved = {"status": "crashed", "message": f"{lost} {trajectory.message}"} if lost else {}
        common.print_json(context.obj, trajectory.to_mapping() | unsaved)
    else:
        _print_run(context.obj, trajectory, None if lost else save)
    if lost:
        common.stop(lost)
    common.end(str(trajectory.status), trajectory.message)


def _entry(problem: str | None, settings: dict[str, Any], start: Trajectory | None) -> Problem:
    """Return the named problem, or the problem of the motion to continue, at the given parameters."""
    from gaussopt.modelling.problem import problem as find
    from gaussopt.simulation.continuation import Continuation

    if start is None:
        if problem is None:
            raise BadInput("Missing argument 'PROBLEM'; name one of `gaussopt list problems`, or a motion with --from.")
        return find(problem, **settings)
    own = Continuation(start).problem(problem)
    return own.at(**settings) if settings else own


def _print_run(out: Any, traj: Trajectory, save: Path | None) -> None:
    from gaussopt.core.display import counted
    from gaussopt.integration.display import Events
    from gaussopt.linalg.redundancy import named_forces

    data = traj.to_mapping()
    warned = f", with {counted(len(traj.warnings), 'warning')} below" if traj.warnings else ""
    pair = traj.method_words
    lines = [f"{data['problem']}: {pair}, {data['stepper']}: {data['status']}{warned}"]
    if data["t"] is not None:
        compiled = ", compiled" if data["engine"] == "compiled" else ""
        width = max(len(c) for c in traj.coordinates)
        rows = zip(traj.coordinates, data["q"], data["v"], data["a"], strict=True)
        errors = [f"  {x:12.2g}" if math.isfinite(x) else "" for x in traj.error_estimate]
        lines += [
            f"{data['steps']} step{'' if data['steps'] == 1 else 's'} to t = {data['t']:.9g} s{compiled}",
            f"{'':{width}}  {'q':>20}  {'v':>20}  {'a':>20}{'  error of q *' if any(errors) else ''}",
            *(
                f"{name:{width}}  {q:20.12g}  {v:20.12g}  {a:20.12g}{error}"
                for (name, q, v, a), error in zip(rows, errors, strict=True)
            ),
        ]
        if data["compared_with"]:
            again = " and again with ".join(data["compared_with"])
            lines.append(
                "* the largest error at the steps of the motion, recorded or not; to estimate it, the motion was "
                f"computed again with {again}"
            )
    lines += Events(traj.events).lines("; --json tells them all")
    lines += [f"warning: {warning}" for warning in traj.warnings]
    if traj.status in (Status.SOLVED, Status.ACCUMULATION):
        lines.append(f"{_certified(traj)}; this says nothing about the error of the time steps")
    if not data["forces_unique"]:
        which = named_forces(data["open_forces"], traj.meta.get("rows", ()))
        some = f"{int((~traj.forces_unique).sum())} of {len(traj.t)} recorded instants{which and f': {which}'}"
        lines.append(f"forces: one choice of many at {some}")
    constrained = traj.lam.shape[1] or traj.contacts
    drift = {k: x for k, x in data["drift"].items() if constrained and x is not None and math.isfinite(x)}
    if drift:
        lines.append(f"drift: {', '.join(f'{k} {x:.2g}' for k, x in drift.items())}")
    if data["energy"]:
        energy = data["energy"]
        lines.append(f"energy: {energy['initial']:.9g} J at the start, {energy['final']:.9g} J at the end")
    lines.append(_times(data["timing"]))
    if save is not None:
        lines.append(f"saved: {save}")
    print("\n".join(lines), file=out)


def _certified(traj: Trajectory) -> str:
    """Describe the worst certificate of a motion, and say which of its accelerations are certified."""
    if not traj.worst.evaluations and math.isnan(traj.worst.error_bound):
        return "no contact closed, so that no contact law had to be certified"
    if "residuals" not in traj.meta:
        return f"accelerations certified in {traj.worst.evaluations} evaluations: {traj.worst.words}"
    residual = max(traj.meta["residuals"].values())
    states = f"accelerations certified at {len(traj.t)} recorded states: {traj.worst.words}"
    return f"{states}; residuals of all steps at most {residual:.2g}"


def _times(timing: dict[str, float]) -> str:
    """Return the total time and its parts above one percent, the largest first."""
    total = timing["total"]
    parts = sorted(((v, k) for k, v in timing.items() if k != "total" and v > 0.01 * total), reverse=True)
    told = ", ".join(f"{k.replace('_', ' ')} {v:.3g} s" for v, k in parts)
    return f"time: {total:.3g} s{told and f', of which {told}'}"


def batch_command(
    context: typer.Context, problem: common.ProblemName, axis: Axes, out: Out, stepper: common.StepperName = None,
    dt: common.TimeStep = None, rtol: common.RelativeTolerance = None, atol: common.AbsoluteTolerance = None,
    t_end: common.End = None, stabilisation: common.Stabilisation = None, tolerance: common.Tolerance = 1e-7,
    impact: common.Impact = None, accumulation: common.Accumulation = None, record_every: common.RecordEvery = None,
    threads: Threads = None, device: Device = "cpu", dask: common.Dask = None, set_: common.Set = None,
    json_: common.Json = False,
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
    with common.cluster(dask) as executor, common.progress_bar("batch", json_, lines=True) as progress:
        data = simulate_batch(
            entry, parameters={a.name: values.ravel() for a, values in zip(axes, grid, strict=True)}, dt=dt,
            t_end=t_end, rtol=rtol, atol=atol, tolerance=tolerance, threads=threads, device=device, progress=progress,
            out=out, executor=executor,
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
