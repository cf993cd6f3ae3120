"""The command that recommends a formulation and a solver."""

from __future__ import annotations

import typer

from gaussopt.cli import common


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
