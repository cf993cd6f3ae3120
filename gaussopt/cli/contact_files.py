"""Contacts with friction cones on the command line: one file, or a folder of files of any known format."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gaussopt.cli.common import option, progress_bar
from gaussopt.core.errors import BadInput, GaussoptError

FAILED = ("infeasible", "no_solution", "iteration_limit")
"""Statuses that a wrong order of rows can cause."""

MOST_TRIED = 100
"""An unsolved problem with at most this number of contacts is also tried with the other order of rows."""

RowOrder = Annotated[
    str | None,
    option("--rows", "Rows of a contact in the file: normal-first (N, T1, T2) or tangents-first; that of its format if "
           "absent.", words=("normal-first", "tangents-first"), metavar="ORDER"),
]  # fmt: skip

if TYPE_CHECKING:
    from gaussopt.core.cone_complementarity import ConeComplementarity, GlobalContacts


def solve_contact_problem(
    data: ConeComplementarity | GlobalContacts, formulation: str | None, solver: str | None, tolerance: float,
    options: dict[str, Any], save: Path | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Solve and certify contacts; problem and answer are written to an FCLIB file if `save` is given."""
    from gaussopt.core.files import check_target
    from gaussopt.interchange import fclib
    from gaussopt.solving.solve import solve_contacts

    if save is not None:
        check_target(save)
    result = solve_contacts(data, formulation or "coulomb-soccp", solver, tolerance=tolerance, solver_options=options)
    if save is not None:
        fclib.write_fclib(save, data, result["r"], "gaussopt", result["message"])
        result["saved"] = str(save)
    return result


def other_order(file: Path, data: ConeComplementarity | GlobalContacts, status: str) -> str:
    """Return a hint if contacts that failed are solved when read in the other order of rows, else ""."""
    from gaussopt.core.files import read_bytes
    from gaussopt.interchange.contact_rows import ORDERS, reordered
    from gaussopt.interchange.problem_reader import order_of_format
    from gaussopt.solving.solve import solve_contacts

    if status not in FAILED or data.k > MOST_TRIED:
        return ""
    own = order_of_format(read_bytes(file))
    other = next(name for name in ORDERS if name != own)
    if solve_contacts(reordered(data, other, own))["status"] != "solved":
        return ""
    return f" With its rows in the order {other} it is solved: if the file has them so, give --rows {other}."


def solve_folder(
    folder: Path, formulation: str | None, solver: str | None, tolerance: float, options: dict[str, Any], quiet: bool,
    rows: str | None,
) -> tuple[dict[str, Any], list[str]]:  # fmt: skip
    """Solve every contact problem of a folder; other files are listed as bad input, with a reason."""
    from gaussopt.interchange.problem_reader import members, read_problem
    from gaussopt.kinds import page_of

    told: list[dict[str, Any]] = []
    files = members(folder)
    with progress_bar(f"solve {folder}", quiet, lines=True) as progress:
        for i, file in enumerate(files):
            begin = time.perf_counter()
            try:
                data: Any = read_problem(file, rows)
                if page_of(data).formulations != "contact":
                    raise BadInput(f"{file} holds no contacts with friction cones; solve it alone.")
                found = solve_contact_problem(data, formulation, solver, tolerance, options)
                k, residual = data.k, found["certificate"]["residual"]
                status, message = found["status"], found["message"]
            except GaussoptError as error:
                k, residual, status, message = 0, None, "bad_input", str(error)
            seconds = time.perf_counter() - begin
            told.append({"file": file.name, "contacts": k, "status": status, "residual": residual, "seconds": seconds,
                         "message": message})  # fmt: skip
            if progress is not None:
                progress((i + 1) / len(files))
    counts = Counter(row["status"] for row in told)
    message = ", ".join(f"{status} {count}" for status, count in counts.most_common()) + f" of {len(told)} files"
    status = "solved" if set(counts) == {"solved"} else "bad_input" if set(counts) == {"bad_input"} else "inaccurate"
    width = max(len(row["file"]) for row in told)
    lines = [
        f"{row['file']:<{width}}  {row['contacts']:>5}  {row['status']:<18}  {_short(row['residual'])}  "
        f"{row['seconds']:.3g} s"
        for row in told
    ]
    return {"status": status, "message": f"{message}.", "counts": dict(counts), "files": told}, lines


def _short(residual: float | None) -> str:
    return "       -" if residual is None else f"{residual:8.1e}"
