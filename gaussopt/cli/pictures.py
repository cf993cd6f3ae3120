"""The commands `gaussopt animate` and `gaussopt plot`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaussopt.cli import common
from gaussopt.core.errors import BadInput

if TYPE_CHECKING:
    from gaussopt.integration.trajectory import Trajectory

Film = Annotated[Path, common.option("--out", "Where to write the animation.", metavar="FILE.gif|svg|html|mp4|glb")]
Drawn = Annotated[
    str | None,
    common.argument("PROBLEM|FILE.py", "A name from `gaussopt list problems`, or a file with a sketch in it; not "
                    "needed with --from.", "problem", files=(".py",)),
]  # fmt: skip
From = Annotated[
    Path | None, common.option("--from", "Draw a motion that `gaussopt run --save` wrote.", metavar="FILE.nc")
]
Saved = Annotated[Path, common.argument("MOTION.nc", "A motion that `gaussopt run --save` wrote.")]
Names = Annotated[
    list[str] | None,
    common.argument("NAME", "Coordinates, rows of lam (lam1), contact forces (lam_N_A), or groups such as lam, "
                    "forces, drift, energy; coordinates, forces, drift and energy if none is given."),
]  # fmt: skip
FigureFile = Annotated[
    Path | None, common.option("--out", "File of the figure; MOTION.svg if not given.", metavar="FILE.svg|pdf|pgf|png")
]


def animate_command(
    context: typer.Context, out: Film, problem: Drawn = None, from_: From = None, formulation: common.OfMotion = None,
    solver: common.SolverName = None, stepper: common.StepperName = None, dt: common.TimeStep = None,
    t_end: common.End = None, stabilisation: common.Stabilisation = None, impact: common.Impact = None,
    accumulation: common.Accumulation = None, set_: common.Set = None, json_: common.Json = False,
) -> None:  # fmt: skip
    """Simulate a problem and draw its motion: bodies, contact forces, paths, events."""
    from gaussopt.animation.animate import animate, check_drawable, check_ending
    from gaussopt.core.files import check_target
    from gaussopt.modelling.problem import problem as find
    from gaussopt.simulation.simulate import simulate

    # Before the motion is computed, check everything that can be checked.
    check_ending(out)
    check_target(out)
    if problem is None and from_ is None:
        raise BadInput("Name the PROBLEM that is simulated, or by --from a motion that `gaussopt run --save` wrote.")
    entry = None if problem is None else find(problem, **common.settings_of(set_))
    if entry is not None:
        check_drawable(entry, out)
    if from_ is not None:
        given = {
            "--set": set_, "--formulation": formulation, "--solver": solver, "--stepper": stepper, "--dt": dt,
            "--t-end": t_end, "--stabilisation": stabilisation, "--impact": impact, "--accumulation": accumulation,
        }  # fmt: skip
        trajectory = _recorded(from_, None if entry is None else entry.name, given)
    else:
        assert entry is not None
        with common.progress_bar(entry.name, json_) as progress:
            trajectory = simulate(
                entry, formulation, solver, stepper=stepper, dt=dt, t_end=t_end, stabilisation=stabilisation,
                impact=impact, accumulation=accumulation, progress=progress, step_folder=None, keep_interrupted=True,
            )  # fmt: skip
    # A motion that ended early is drawn up to its end.
    file = animate(trajectory, out, problem=None if from_ is not None else entry) if len(trajectory.t) > 1 else None
    _finish(context.obj, trajectory, str(trajectory.meta["problem"]) if entry is None else entry.name, file, json_)


def _recorded(file: Path, problem: str | None, given: dict[str, Any]) -> Trajectory:
    """Read a motion from a file; raises BadInput if an option in `given`, which only a simulation can use, is set."""
    from gaussopt.integration.trajectory import Trajectory

    for name, value in given.items():
        if value is not None and value != []:
            raise BadInput(f"{name} belongs to a simulation; with --from the motion is read from {file}.")
    trajectory = Trajectory.load(file)
    if problem is not None and trajectory.meta.get("problem") != problem:
        raise BadInput(f"{file} holds a motion of {trajectory.meta.get('problem')!r}, not of {problem!r}.")
    return trajectory


def _finish(out: Any, trajectory: Trajectory, problem: str, file: Path | None, as_json: bool) -> None:
    status = str(trajectory.status)
    if as_json:
        data: dict[str, Any] = {"status": status, "message": trajectory.message, "problem": problem, "file": None}
        if file is not None:
            data |= {"t": trajectory.t[-1], "events": len(trajectory.events), "file": str(file)}
            data["bytes"] = file.stat().st_size
        common.print_json(out, data)
    elif file is not None:
        print(f"Animation to t = {trajectory.t[-1]:.6g} s: {file}", file=out)
    common.end(status, trajectory.message)


def plot_command(
    context: typer.Context, file: Saved, names: Names = None, out: FigureFile = None, json_: common.Json = False
) -> None:
    """Draw quantities of a saved motion over time, with its events."""
    from gaussopt.core.files import check_target
    from gaussopt.integration.trajectory import Trajectory
    from gaussopt.plotting.figures import check_ending, save_figure

    target = Path(file.name).with_suffix(".svg") if out is None else out
    check_ending(target)
    check_target(target)
    axes = Trajectory.load(file).draw(*(names or ()))
    save_figure(axes[0].figure, target)
    labels = [one.get_ylabel().replace("\n", " ") for one in axes]
    data = {"status": "solved", "message": "", "file": str(target), "axes": labels, "bytes": target.stat().st_size}
    common.show(context.obj, json_, data, f"Figure of {', '.join(labels)}: {target}")
