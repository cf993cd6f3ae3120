"""The command `gaussopt plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gaussopt.cli.common import Json, show


def plot_command(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="MOTION.nc", help="A motion that `gaussopt run --save` wrote.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Coordinates, rows of lam (lam1), contact forces (lam_N_A), or groups such as lam, forces, drift, "
            "energy; coordinates, forces, drift and energy if none is given.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.svg|pdf|pgf|png", help="File of the figure; MOTION.svg if not given."),
    ] = None,
    json_: Json = False,
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
    show(context.obj, json_, data, f"Figure of {', '.join(labels)}: {target}")
