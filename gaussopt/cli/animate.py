"""The command `gaussopt animate`."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from gaussopt.cli.common import Done, Json, Set, print_json, progress_bar, settings_of


def animate_command(
    context: typer.Context,
    problem: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM|FILE.py", help="A name from `gaussopt list problems`, or a file with a sketch in it."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.gif|svg|html", help="Where to write the animation.")],
    from_: Annotated[
        Path | None, typer.Option("--from", metavar="FILE.nc", help="A motion that `run --save` wrote.")
    ] = None,
    formulation: Annotated[
        str | None, typer.Option("--formulation", help="gauss, or stick-slip with contacts, if not given.")
    ] = None,
    solver: Annotated[str | None, typer.Option("--solver", help="One that fits, if not given.")] = None,
    stepper: Annotated[str, typer.Option("--stepper")] = "rk4",
    dt: Annotated[
        float | None, typer.Option("--dt", help="Step, or recording interval of an adaptive stepper, s.")
    ] = None,
    t_end: Annotated[float | None, typer.Option("--t-end", help="End of the motion, s.")] = None,
    stabilisation: Annotated[str, typer.Option("--stabilisation", help="none, baumgarte or projection.")] = "none",
    impact: Annotated[str, typer.Option("--impact", help="Impact law: newton, poisson or none.")] = "newton",
    accumulation: Annotated[
        str, typer.Option("--accumulation", help="stop where impacts accumulate, or close the contact.")
    ] = "stop",
    set_: Set = None,
    json_: Json = False,
) -> None:
    """Simulate a problem and draw its motion: bodies, contact forces, paths, events."""
    from gaussopt.core.errors import BadInput, Unverified
    from gaussopt.core.files import check_target
    from gaussopt.integration.trajectory import Trajectory
    from gaussopt.modelling.problem import problem as find
    from gaussopt.modelling.problem import sketch_of
    from gaussopt.reporting.animation.animate import animate, check_ending
    from gaussopt.simulation.simulate import simulate

    # Everything that can be refused is refused before anything is computed.
    check_ending(out)
    check_target(out)
    entry = find(problem, **settings_of(set_))
    sketch_of(entry)
    if from_ is not None:
        given = {"--set": set_, "--formulation": formulation, "--solver": solver, "--dt": dt, "--t-end": t_end}
        for name, value in given.items():
            if value is not None and value != []:
                raise BadInput(f"{name} belongs to a simulation; with --from the motion is read from {from_}.")
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always", Unverified)
            trajectory = Trajectory.load(from_)
        for warning in noted:
            print(f"gaussopt: {warning.message}", file=sys.stderr)
        if trajectory.meta.get("problem") != entry.name:
            raise BadInput(f"{from_} holds a motion of {trajectory.meta.get('problem')!r}, not of {entry.name!r}.")
    else:
        with progress_bar(problem, json_) as progress:
            trajectory = simulate(
                entry, formulation, solver, stepper=stepper, dt=dt, t_end=t_end, stabilise=stabilisation,
                impact=impact, accumulation=accumulation, progress=progress, step_folder=None, keep_interrupted=True,
            )  # fmt: skip
    status = str(trajectory.status)
    data: dict[str, Any] = {"status": status, "message": trajectory.message, "problem": entry.name, "file": None}
    if len(trajectory.t):  # a motion that ended early shows what there is
        file = animate(trajectory, out, problem=None if from_ is not None else entry)
        data |= {"t": trajectory.t[-1], "events": len(trajectory.events), "file": str(file)}
        data["bytes"] = file.stat().st_size
    if json_:
        print_json(context.obj, data)
    elif data["file"]:
        print(f"Animation to t = {data['t']:.6g} s: {data['file']}", file=context.obj)
    if status != "solved":
        print(f"gaussopt: {trajectory.message}", file=sys.stderr)
        raise Done(2 if status == "bad_input" else 1)
