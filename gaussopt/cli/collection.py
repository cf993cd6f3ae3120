"""The command `gaussopt collection`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gaussopt.cli import common
from gaussopt.core.errors import BadInput
from gaussopt.core.files import write_text


class Action(StrEnum):
    """The actions of `gaussopt collection`."""

    BUILD = "build"
    COMPARE = "compare"


Given = Annotated[Action, typer.Argument(metavar="build|compare", help="Build it, or compare solvers on it.")]
Places = Annotated[
    list[str] | None,
    common.argument("[FOLDER] [SOLVER.py]", "For compare: what build wrote, and files of solvers.", files=(".py",)),
]  # fmt: skip
Out = Annotated[Path, common.option("--out", "Folder of the collection, or of the page.")]
Groups = Annotated[list[str] | None, common.option("--group", "Build only this group; repeatable.")]
Archive = Annotated[bool, common.option("--archive", "Write the collection as a ZIP file beside the folder too.")]
Hashes = Annotated[Path | None, common.option("--hashes", "File into which the hashes of all problems are written.")]
Solvers = Annotated[
    str | None, common.option("--solvers --solver", "Comma-separated names; all installed if absent.", "solver")
]
Beside = Annotated[
    Path | None, common.option("--with", "Table data/solvers.csv of another page, whose solvers are listed beside.")
]
Budget = Annotated[float, common.option("--time-budget", "Seconds on the clock for a solver on a group; 0: no times.")]
Limit = Annotated[float, common.option("--case-limit", "Seconds after which a solver's group is given up.")]


def collection_command(
    context: typer.Context, action: Given, out: Out, places: Places = None, group: Groups = None,
    archive: Archive = False, hashes: Hashes = None, solvers: Solvers = None, beside: Beside = None,
    time_budget: Budget = 0.1, case_limit: Limit = 20.0, jobs: common.Jobs = 1, json_: common.Json = False,
) -> None:  # fmt: skip
    """Build the collection of step problems with proofs, or compare solvers on it; a killed comparison resumes."""
    if action is Action.BUILD:
        from gaussopt.collected_problems.build import build
        from gaussopt.core.display import counted

        if places:
            raise BadInput(f"build takes no {places[0]!r}; the folder that it writes is given by --out.")
        with common.progress_bar("collection", json_, even=False) as progress:
            found = build(out, group or (), archive, progress)
        listed = found.pop("hashes")
        if hashes is not None:
            write_text(hashes, "".join(f"{digest}  {name}\n" for name, digest in listed.items()))
        wrong = found["differing"]
        many = f"{counted(found['problems'], 'problem')} in {counted(found['groups'], 'group')}"
        message = f"{many} ({counted(found['sequences'], 'sequence')}) in {out}."
        status = "crashed" if wrong else "solved"
        told = f"{len(wrong)} of them are not those of the list of hashes, the first {wrong[0]}." if wrong else \
            "All of them are those of the list of hashes."  # fmt: skip
        common.show(context.obj, json_, {"status": status, "message": message, **found}, message, told)
        if wrong:
            common.stop(told)
        return
    from gaussopt.collected_problems.leaderboard import leaderboard

    if not places:
        raise BadInput("compare needs the folder of a collection: gaussopt collection compare FOLDER --out PAGE.")
    named = [*places[1:], *(common.names_of(solvers) or [])]
    with common.progress_bar("collection", json_, lines=True, even=False) as progress:
        summary = leaderboard(
            Path(places[0]), out, named, time_budget=time_budget, case_limit=case_limit, jobs=common.processes(jobs),
            beside=beside, progress=progress, note=common.note,
        )  # fmt: skip
    common.show(context.obj, json_, summary, *summary["findings"], f"Page: {summary['report']}")
    common.end(summary["status"], summary["message"])
