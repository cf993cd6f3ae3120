"""The commands `gaussopt solve` and `gaussopt verify`."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from gaussopt.cli import common
from gaussopt.cli.common import Json, Tolerance, argument, option, plain, show
from gaussopt.cli.contact_files import RowOrder, other_order, solve_contact_problem, solve_folder
from gaussopt.core.errors import BadInput

if TYPE_CHECKING:
    from gaussopt.core.step_data import StepData


class Wanted(NamedTuple):
    """How a problem is to be solved: by which formulation, solver, tolerance and options of the solver."""

    formulation: str | None
    solver: str | None
    tolerance: float
    options: dict[str, Any]


ProblemFile = Annotated[Path, argument("FILE", "A step, a qp, an lcp or contacts; or a folder of contacts.")]
OfStep = Annotated[
    str | None, option("--formulation", "Of a step; gauss, or stick-slip with contacts, if not given.", "formulation")
]
Save = Annotated[Path | None, option("--save", "Write contacts and their answer for FCLIB.", metavar="FILE.hdf5")]
OneFile = Annotated[Path, argument("FILE", "A step, a qp, an lcp or contacts.")]
AnswerFile = Annotated[
    Path, argument("ANSWER", 'With "a" and "lam" of a step, "x" of a qp, "z" of an lcp or "r" of contacts.')
]


def solve_command(
    context: typer.Context, file: ProblemFile, formulation: OfStep = None, solver: common.SolverName = None,
    solver_option: common.SolverOption = None, tolerance: Tolerance = 1e-7, rows: RowOrder = None, save: Save = None,
    json_: Json = False,
) -> None:  # fmt: skip
    """Solve a step, a program or a contact problem from a file and certify the answer."""
    from gaussopt.core.tolerances import check_tolerance

    wanted = Wanted(formulation, solver, tolerance, dict(common.pairs_of(solver_option, "--solver-option")))
    check_tolerance(tolerance)
    if file.is_dir():
        if save is not None:
            raise BadInput("--save applies to one file.")
        result, lines = solve_folder(file, *wanted, json_, rows)
        show(context.obj, json_, result, *lines, result["message"])
        common.end(result["status"], result["message"])
        return
    _finish(context.obj, _solved(file, wanted, save, rows), json_)


def _solved(file: Path, wanted: Wanted, save: Path | None, rows: str | None) -> dict[str, Any]:
    """Solve the problem in a file and return the result as a mapping."""
    from gaussopt.interchange.problem_reader import read_problem
    from gaussopt.kinds import page_of

    data: Any = read_problem(file, rows)
    page = page_of(data)
    if page.formulations == "contact":
        result = solve_contact_problem(data, *wanted, save)
        if rows is None and wanted.formulation is None and wanted.solver is None:
            result["message"] += other_order(file, data, result["status"])
        return result
    if save is not None:
        raise BadInput("--save writes contacts with friction cones only.")
    solve: Callable[[Any, Wanted], dict[str, Any]] = {"step": _solve_step, "lcp": _solve_lcp}.get(
        page.name, _solve_program
    )
    return solve(data, wanted)


def _solve_program(data: Any, wanted: Wanted) -> dict[str, Any]:
    from gaussopt.kinds import page_of
    from gaussopt.solving.solve import solve

    page = page_of(data)
    if wanted.formulation is not None:
        raise BadInput(f"{page.article.capitalize()} is a program already; --formulation applies to steps.")
    name = wanted.solver or page.usual_solver(data)
    solution = solve(data, name, tolerance=wanted.tolerance, solver_options=wanted.options)
    cost = {"objective": None if solution.x is None else data.objective(solution.x)} if data.minimises else {}
    return {
        "status": str(solution.status), "message": solution.message, "solver": name, "x": solution.x, "y": solution.y,
        **cost, "certificate": solution.certificate, "iterations": solution.iterations,
        "timing": solution.timing.to_mapping(),
    }  # fmt: skip


def _solve_step(data: StepData, wanted: Wanted) -> dict[str, Any]:
    from gaussopt.core.status import Status
    from gaussopt.linalg.redundancy import rank_report
    from gaussopt.solving.defaults import default_pair
    from gaussopt.solving.solve import solve_step

    name, by = default_pair(data, wanted.formulation, wanted.solver)
    answer = solve_step(data, name, by, tolerance=wanted.tolerance, solver_options=wanted.options)
    w: Any = [] if answer.a is None else data.J_N @ answer.a + data.zeta_N
    result: dict[str, Any] = {
        "status": str(answer.status), "message": answer.message, "formulation": name, "solver": by, "a": answer.a,
        "lam": answer.lam, "lam_N": answer.lam_N, "lam_T": _flat(answer.lam_T), "w": w,
        "forces_unique": answer.forces_unique, "certificate": answer.certificate.to_mapping(),
        "ranks": {} if data.sparse else rank_report(data).to_mapping(), "iterations": answer.iterations,
        "timing": answer.timing.to_mapping(), **answer.details,
        **(answer.contact.to_mapping() if answer.contact is not None else {}),
    }  # fmt: skip
    if data.k and answer.certificate.verdict not in (Status.INFEASIBLE, Status.UNBOUNDED):
        result["classification"] = _classification(data)
    return result


def _classification(step: StepData) -> dict[str, Any] | None:
    """Return the classification of the contact operator; None if there is no operator."""
    from gaussopt.certificates.contact_class import classify_step
    from gaussopt.core.errors import NotAccepted

    try:
        return classify_step(step).to_mapping()
    except NotAccepted:
        return None


def _flat(lam_T: Any) -> Any:
    """Return lam_T as a vector if contacts have a single tangent, as in the plane."""
    return lam_T[:, 0] if lam_T.ndim == 2 and lam_T.shape[1] == 1 else lam_T


def _solve_lcp(lcp: Any, wanted: Wanted) -> dict[str, Any]:
    from gaussopt.solving.solve import solve_lcp

    formulation, solver, tolerance, options = wanted
    formulation = formulation or "lcp"
    solution, details = solve_lcp(lcp, formulation, solver, tolerance=tolerance, solver_options=options)
    certificate = dict(solution.certificate)
    apart = {"solutions": certificate.pop("solutions", None), "lam_N_range": certificate.pop("z_range", None)}
    result: dict[str, Any] = {
        "status": str(solution.status), "message": solution.message, "formulation": formulation, "solver": solver,
        "z": solution.x, "lam_N": solution.x, "w": None if solution.x is None else lcp.w(solution.x),
        "forces_unique": certificate.get("forces_unique"), "certificate": certificate,
        "iterations": solution.iterations, "timing": solution.timing.to_mapping(), **details,
    }  # fmt: skip
    return result | {name: value for name, value in apart.items() if value is not None}


def verify_command(
    context: typer.Context, file: OneFile, answer_file: AnswerFile, tolerance: Tolerance = 1e-7, rows: RowOrder = None,
    json_: Json = False,
) -> None:  # fmt: skip
    """Certify an answer to a step, a QP, an LCP or a contact problem, whatever code computed the answer."""
    from gaussopt.core.tolerances import check_tolerance
    from gaussopt.interchange.problem_reader import read_answer, read_problem
    from gaussopt.kinds import page_of

    data = read_problem(file, rows)
    given = read_answer(answer_file, data)
    check_tolerance(tolerance)
    page = page_of(data)
    _finish(context.obj, page.verify(data, page.read_answer(given, data, answer_file), tolerance), json_)


def _finish(out: Any, result: dict[str, Any], as_json: bool) -> None:
    show(out, as_json, result, *([] if as_json else _lines(plain(result))))
    if result["status"] != "solved":
        common.stop(result["message"])


def _lines(result: dict[str, Any]) -> list[str]:
    """Return a result as lines for the user: status, numbers by name, properties of the problem, and time."""
    from gaussopt.core.display import counted

    names = [str(result[key]) for key in ("formulation", "solver") if result.get(key)]
    certificate, operator = result["certificate"], result.get("classification")
    lines = [f"{' by '.join(names) or 'the answer'}: {_sentence(result)}"]
    lines += [f"{name:7} {text}" for name, value in result.items() if name not in TOLD and (text := _numbers(value))]
    several = result.get("forces_unique") is False and "matrix" not in certificate  # LCP messages state this
    lines += ["The forces are not the only ones that cause this acceleration."] * several
    lines += result.get("ranks", {}).get("sentences", [])
    lines += [f"contact operator: {operator['sentence']}"] if operator else []
    lines += [f"matrix: {certificate['matrix']['sentence']}"] if "matrix" in certificate else []
    if "timing" in result:
        count = f" in {counted(result['iterations'], 'iteration')}" if result["iterations"] else ""
        proofs = certificate.get("proof_seconds")
        apart = f"; proofs: {proofs:.3g} s" if proofs else ""
        lines.append(f"time: {result['timing']['total']:.3g} s{count}{apart}")
    return [*lines, "(--json tells more)"]


TOLD = (
    "status", "message", "formulation", "solver", "certificate", "ranks", "classification", "timing", "iterations",
    "forces_unique",
)  # fmt: skip
"""Entries of a result that are printed on lines of their own; all other entries are numbers."""


def _sentence(result: dict[str, Any]) -> str:
    """Say how a solve ended, and which bound the certificate gives: on the error of the answer, or on its residuals."""
    from gaussopt.core.display import error_words

    if result["status"] != "solved":
        return str(result["status"])  # the command prints the message on standard error
    c = {name: math.inf if value is None else value for name, value in result["certificate"].items()}
    if "rounding_floor" in c:
        words = error_words(c["error_bound"], c["relative_error"], c["rounding_floor"])
    elif "relative_error" in c and math.isfinite(c["error_bound"]):
        bound = f"within {c['error_bound']:.2g} of a solution (relative {c['relative_error']:.2g})"
        words = f"certified: the answer is {bound if c['error_bound'] else 'a solution up to rounding'}"
    elif "relative_residual" in c:
        words = f"its residuals are at most {c['relative_residual']:.2g} (relative)"
    else:
        return str(result["message"])  # the message on a contact problem needs no addition
    return f"{result['message']} {words[0].upper()}{words[1:]}."


def _numbers(value: Any) -> str:
    """Return the numbers of an entry of a result as text, with semicolons between matrix rows; "" for None."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_numbers(x)}" for name, x in value.items() if _numbers(x))
    if isinstance(value, list):
        rows = any(isinstance(x, list | dict) for x in value)
        return ("; " if rows else "  ").join(_numbers(x) for x in value)
    return f"{value + 0:.12g}" if isinstance(value, float | int) else "" if value is None else str(value)
