"""The command line: list, run, solve, verify, papers; animate, atlas, compare, export and report live beside it.

Results go to standard output, progress and errors to standard error. With --json standard output holds exactly
one JSON object, also on failure. Exit codes: 0 done, 1 a step or solve did not end `solved` or the machine gave out,
2 bad input.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaussopt._version import __version__
from gaussopt.cli.animate import animate_command
from gaussopt.cli.atlas import atlas_command
from gaussopt.cli.common import Done, Json, Set, pairs_of, plain, print_json, progress_bar, settings_of
from gaussopt.cli.compare import compare_command, export_command, report_command
from gaussopt.core.cache import UnsafeCache, check_chosen
from gaussopt.core.errors import BadInput, GaussoptError, IllPosed, MachineFailure, Unverified
from gaussopt.core.machine import NOT_OF_OUTPUT, file_error, machine_failure

if TYPE_CHECKING:
    from gaussopt.core.step_data import StepData
    from gaussopt.integration.trajectory import Trajectory

app = typer.Typer(
    name="gaussopt", add_completion=False, pretty_exceptions_enable=False,
    help="Every time step of a mechanical system as an optimisation problem.",
)  # fmt: skip

SolverOption = Annotated[
    list[str] | None,
    typer.Option("--solver-option", metavar="NAME=VALUE", help="Option of the solver; repeatable."),
]
TYPER_INTERRUPTED = 130
"""What Typer returns after Ctrl-C."""

KINDS = {
    "problems": "problem", "formulations": "formulation", "solvers": "solver", "steppers": "stepper",
    "families": "family",
}  # fmt: skip
"""What `list` takes, and what the registry calls one of them."""


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code instead of leaving the interpreter."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        with _plain_warnings():
            return _run(given)
    except OSError as error:  # standard output takes nothing: a full disk, a closed pipe
        print(f"gaussopt: Cannot write the result: {error.strerror or error}.", file=sys.stderr)
        return 1


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """Our own warnings are sentences on standard error; those of others stay as they are."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, UnsafeCache | Unverified):
            print(f"gaussopt: {message}", file=sys.stderr)
        else:
            usual(message, category, *where)

    warnings.showwarning = show  # type: ignore[assignment]
    try:
        yield
    finally:
        warnings.showwarning = usual


def _run(given: list[str]) -> int:
    as_json = "--json" in given
    talk = contextlib.nullcontext(sys.stdout) if "--help" in given else _quiet_backends()
    with talk as out:
        try:
            if app(given, standalone_mode=False, obj=out) == TYPER_INTERRUPTED:
                return _interrupted(out, as_json)
        except Done as done:
            return done.code
        except typer.TyperException as error:
            return _fail(out, as_json, _sentence(error.format_message()))
        except (typer.Abort, KeyboardInterrupt):
            return _interrupted(out, as_json)
        except GaussoptError as error:
            return _fail(out, as_json, str(error), code=1 if isinstance(error, MachineFailure) else 2)
        except BrokenPipeError:
            return 1
        except MemoryError as error:
            return _fail(out, as_json, str(machine_failure("The command was not done", error)), code=1)
        except OSError as error:
            if error.filename is None and error.errno not in NOT_OF_OUTPUT:
                raise  # standard output takes nothing
            what = "The command was not done" if error.filename is None else f"Cannot use {str(error.filename)!r}"
            failure = file_error(what, error)
            return _fail(out, as_json, str(failure), code=1 if isinstance(failure, MachineFailure) else 2)
        except BaseException as error:  # a person's file may raise SystemExit and what else there is
            if "GAUSSOPT_DEBUG" in os.environ:
                raise
            text = f"Unexpected {type(error).__name__}: {error}; this is a defect (GAUSSOPT_DEBUG=1 shows where)."
            return _fail(out, as_json, text, code=1)
        return 0


@contextlib.contextmanager
def _quiet_backends() -> Iterator[Any]:
    """Our own standard output; whatever a backend prints (from C too) goes to standard error."""
    if sys.stdout is None:  # standard output is closed
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            yield nowhere
        return
    sys.stdout.flush()
    try:
        saved = os.dup(1)
        real = True
    except OSError:
        real = False
    # Under a test harness sys.stdout is not file descriptor 1; then it is ours already.
    if not real or sys.stdout is not sys.__stdout__:
        yield sys.stdout
        return
    os.dup2(2, 1)
    out = os.fdopen(saved, "w", encoding="utf-8", closefd=True)
    try:
        yield out
        out.flush()
    finally:
        with contextlib.suppress(OSError):
            sys.__stdout__.flush()
        os.dup2(out.fileno(), 1)
        with contextlib.suppress(OSError):
            out.close()


def _interrupted(out: Any, as_json: bool) -> int:
    # An interrupt inside Python code that an extension module runs (as some do when imported) is noted by CPython,
    # which would then end by the signal, whatever the exit code. Running nothing in the same way forgets it.
    ctypes.pythonapi.PyRun_SimpleString(b"")
    return _fail(out, as_json, "Interrupted.", code=1)


def _fail(out: Any, as_json: bool, sentence: str, code: int = 2) -> int:
    if as_json:
        print_json(out, {"status": "bad_input" if code == 2 else "crashed", "message": sentence})
    print(f"gaussopt: {sentence}", file=sys.stderr)
    return code


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(__version__, file=context.obj)
        raise Done(0)
    if context.invoked_subcommand is None:
        print(context.get_help(), file=context.obj)
        raise Done(2)
    check_chosen()


@app.command("list")
def list_command(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="|".join(KINDS))],
    json_: Json = False,
) -> None:
    """List what is available."""
    from gaussopt.core import registry, solver
    from gaussopt.core.errors import UnknownName

    if kind not in KINDS:
        raise UnknownName("list", kind, KINDS)
    singular = KINDS[kind]
    rows: list[dict[str, Any]] = []
    for name in registry.names(singular):
        entry = registry.load(singular, name)
        row: dict[str, Any] = {"name": name, "title": entry.title, "source": entry.source}
        if singular == "solver":
            missing = solver.missing_packages(entry)
            row |= {
                "available": not missing,
                "missing": missing,
                "accepts": [t.__name__ for t in entry.accepts],
            }
        elif singular == "formulation":
            row["exact"] = entry.exact
        elif singular == "stepper":
            row |= {"order": entry.order, "adaptive": entry.adaptive}
        elif singular == "problem":
            row["parameters"] = [
                {"name": p.name, "value": p.value, "unit": p.unit, "meaning": p.meaning, "printed": p.printed}
                for p in entry.parameters
            ]
            row |= {"cases": sorted(entry.cases), "variants": sorted(entry.variants)}
            row["references"] = [r.name for r in entry.references]
        elif singular == "family":
            row["dials"] = [dial.to_mapping() for dial in entry.dials]
        rows.append(row)
    if json_:
        print_json(context.obj, {"status": "solved", kind: rows})
        return
    width = max((len(r["name"]) for r in rows), default=0)
    for row in rows:
        note = f"  (not installed: {', '.join(row['missing'])})" if row.get("missing") else ""
        print(f"{row['name']:{width}}  {row['title']}{note}", file=context.obj)
        dials = row.get("dials", ())
        names = max((len(dial["name"]) for dial in dials), default=0)
        for dial in dials:
            unit = "" if dial["unit"] == "1" else f" {dial['unit']}"
            ends = f"{dial['low']:g} to {dial['high']:g}{unit} ({dial['default']:g})"
            print(f"{'':{width}}    {dial['name']:{names}}  {ends:28}  {dial['meaning']}", file=context.obj)


@app.command("run")
def run_command(
    context: typer.Context,
    problem: Annotated[
        str, typer.Argument(metavar="PROBLEM", help="A name from `gaussopt list problems`, or a file.py.")
    ],
    formulation: Annotated[
        str | None, typer.Option("--formulation", help="gauss, or stick-slip with contacts, if not given.")
    ] = None,
    solver: Annotated[str | None, typer.Option("--solver", help="One that fits, if not given.")] = None,
    solver_option: SolverOption = None,
    stepper: Annotated[str, typer.Option("--stepper")] = "rk4",
    dt: Annotated[
        float | None, typer.Option("--dt", help="Step, or recording interval of an adaptive stepper, s.")
    ] = None,
    rtol: Annotated[float, typer.Option("--rtol")] = 1e-9,
    atol: Annotated[float, typer.Option("--atol")] = 1e-9,
    t_end: Annotated[float | None, typer.Option("--t-end", help="End of the motion, s.")] = None,
    stabilisation: Annotated[str, typer.Option("--stabilisation", help="none, baumgarte or projection.")] = "none",
    tolerance: Annotated[float, typer.Option("--tolerance", help="Of the certificate; inf only records.")] = 1e-7,
    impact: Annotated[str, typer.Option("--impact", help="Impact law: newton, poisson or none.")] = "newton",
    accumulation: Annotated[
        str, typer.Option("--accumulation", help="stop where impacts accumulate, or close the contact.")
    ] = "stop",
    engine: Annotated[str, typer.Option("--engine", help="interpreted, compiled (generated code), or auto.")] = "auto",
    record_every: Annotated[int, typer.Option("--record-every", help="Steps between two recorded states.")] = 1,
    set_: Set = None,
    save: Annotated[Path | None, typer.Option("--save", metavar="FILE.nc", help="Write the motion as NetCDF.")] = None,
    json_: Json = False,
) -> None:
    """Simulate a problem, certifying every step."""
    from gaussopt.core.files import check_target
    from gaussopt.modelling.problem import problem as find
    from gaussopt.simulation.simulate import simulate

    settings = settings_of(set_)
    options = pairs_of(solver_option, "--solver-option")
    if save is not None:
        check_target(save)
        if save.suffix != ".nc":
            raise BadInput(f"Cannot write {save}: motions are NetCDF; name a file that ends in .nc.")
    with progress_bar(problem, json_) as progress:
        trajectory = simulate(
            find(problem, **settings), formulation, solver, stepper=stepper, dt=dt, t_end=t_end, rtol=rtol, atol=atol,
            tolerance=tolerance, stabilise=stabilisation, impact=impact, accumulation=accumulation,
            solver_options=options, progress=progress, engine=engine, record_every=record_every,
            step_folder="." if save is None else save.parent, keep_interrupted=True,
        )  # fmt: skip
    lost = None if save is None else _saved(trajectory, save)
    if json_:
        unsaved = {"status": "crashed", "message": f"{lost} {trajectory.message}"} if lost else {}
        print_json(context.obj, _run_mapping(trajectory) | unsaved)
    else:
        _print_run(context.obj, trajectory, None if lost else save)
    if lost:
        print(f"gaussopt: {lost}", file=sys.stderr)
        raise Done(1)
    if str(trajectory.status) != "solved":
        print(f"gaussopt: {trajectory.message}", file=sys.stderr)
        raise Done(2 if str(trajectory.status) == "bad_input" else 1)


def _saved(trajectory: Trajectory, path: Path) -> str | None:
    """Save a motion; why that failed, in a sentence: what was computed is printed all the same."""
    try:
        trajectory.save(path)
    except BadInput as error:
        return str(error)
    return None


def _run_mapping(traj: Trajectory) -> dict[str, Any]:
    last = len(traj.t) - 1
    timing = dict(traj.timing)
    energy: dict[str, Any] = {}
    if last >= 0 and math.isfinite(traj.kinetic[-1]):
        energy = {
            "initial": traj.energy[0], "final": traj.energy[-1], "kinetic": traj.kinetic[-1],
            "potential": traj.potential[-1], "power": traj.power[-1],
        }  # fmt: skip
    drift = {
        name: float(values.max()) if len(values) else None
        for name, values in (("position", traj.position_drift), ("velocity", traj.velocity_drift))
    }

    def final(array: Any) -> Any:
        return array[-1] if last >= 0 else None

    return {
        "problem": traj.meta["problem"], "formulation": traj.meta["formulation"], "solver": traj.meta["solver"],
        "stepper": traj.meta["stepper"], "status": str(traj.status), "message": traj.message, "t": final(traj.t),
        "q": final(traj.q), "v": final(traj.v), "a": final(traj.a), "lam": final(traj.lam),
        "lam_N": final(traj.lam_N), "lam_T": None if last < 0 else _flat(traj.lam_T[-1]),
        "contacts": list(traj.contacts), "g_N": final(traj.gap), "v_T": None if last < 0 else _flat(traj.slip[-1]),
        "coordinates": list(traj.coordinates), "steps": traj.meta["steps"], "events": list(traj.events),
        "certificate": traj.worst.to_mapping(), "drift": drift, "energy": energy, "timing": timing,
        "parameters": traj.meta["parameters"], "settings": {
            k: traj.meta[k] for k in ("dt", "t_end", "rtol", "atol", "tolerance", "stabilisation", "solver_options")
        },
        "engine": traj.meta.get("engine", "interpreted"), "forces_unique": bool(traj.forces_unique.all()),
        "open_forces": traj.meta.get("open_forces", {}), "warnings": list(traj.warnings),
        "failed_step_file": traj.failed_step_file,
    }  # fmt: skip


def _print_run(out: Any, traj: Trajectory, save: Path | None) -> None:
    from gaussopt.linalg.redundancy import named_forces

    data = _run_mapping(traj)
    print(
        f"{data['problem']}: {data['formulation']} by {data['solver']}, {data['stepper']}: {data['status']}",
        file=out,
    )
    if data["t"] is not None:
        compiled = ", compiled" if data["engine"] == "compiled" else ""
        print(f"{data['steps']} steps to t = {data['t']:.9g} s{compiled}", file=out)
        width = max(len(c) for c in traj.coordinates)
        print(f"{'':{width}}  {'q':>20}  {'v':>20}  {'a':>20}", file=out)
        for i, name in enumerate(traj.coordinates):
            print(
                f"{name:{width}}  {data['q'][i]:20.12g}  {data['v'][i]:20.12g}  {data['a'][i]:20.12g}",
                file=out,
            )
    for event in traj.events:
        print(f"event at t = {event['t']:.12g}: {_event_words(event)}", file=out)
    for warning in traj.warnings:
        print(f"warning: {warning}", file=out)
    w = traj.worst
    print(
        f"certified: relative error at most {w.relative_error:.2g} over {_certified(traj)}",
        file=out,
    )
    if not data["forces_unique"]:
        which = named_forces(data["open_forces"])
        some = int((~traj.forces_unique).sum())
        print(
            f"forces: one choice of many at {some} of {len(traj.t)} recorded instants{which and f': {which}'}", file=out
        )
    constrained = traj.lam.shape[1] or traj.contacts
    drift = {k: x for k, x in data["drift"].items() if constrained and x is not None and math.isfinite(x)}
    if drift:
        print(f"drift: {', '.join(f'{k} {x:.2g}' for k, x in drift.items())}", file=out)
    if data["energy"]:
        print(
            f"energy: {data['energy']['initial']:.9g} J at the start, {data['energy']['final']:.9g} J at the end",
            file=out,
        )
    timing = ", ".join(f"{k} {v:.3g} s" for k, v in data["timing"].items())
    print(f"time: {timing}", file=out)
    if save is not None:
        print(f"saved: {save}", file=out)


def _certified(traj: Trajectory) -> str:
    """What the worst certificate stands for."""
    if "residuals" not in traj.meta:
        return f"{traj.worst.evaluations} steps solved"
    residual = max(traj.meta["residuals"].values())
    return f"{len(traj.t)} recorded states; residuals of all steps at most {residual:.2g}"


def _event_words(event: dict[str, Any]) -> str:
    who = event.get("contact") or ", ".join(event.get("contacts", []))
    more = {k: event[k] for k in ("Lam_N", "energy_change", "gain", "time_estimate") if k in event}
    extra = ", ".join(f"{k} = {plain(v)}" for k, v in more.items())
    return " ".join(part for part in (event["kind"].replace("_", " "), who, f"({extra})" if extra else "") if part)


@app.command("solve")
def solve_command(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.json", help="A step, a qp or an lcp.")],
    formulation: Annotated[
        str | None, typer.Option("--formulation", help="Of a step; gauss, or stick-slip with contacts.")
    ] = None,
    solver: Annotated[str | None, typer.Option("--solver", help="One that fits, if not given.")] = None,
    solver_option: SolverOption = None,
    tolerance: Annotated[float, typer.Option("--tolerance")] = 1e-7,
    json_: Json = False,
) -> None:
    """Solve a step, a quadratic program or a complementarity problem from a file and certify the answer."""
    from gaussopt.core import problem_files
    from gaussopt.core.programs import LCP, QP
    from gaussopt.core.status import Status
    from gaussopt.linalg.redundancy import rank_report
    from gaussopt.solving.solve import solve, solve_step

    data = problem_files.load(file)
    options: dict[str, Any] = dict(pairs_of(solver_option, "--solver-option"))
    _check_tolerance(tolerance)
    result: dict[str, Any]
    if isinstance(data, QP):
        if formulation is not None:
            raise BadInput("A qp is a program already; --formulation applies to steps.")
        name = solver or ("kkt" if data.equality.all() else "newton")
        solution = solve(data, name, tolerance=tolerance, solver_options=options)
        result = {
            "status": str(solution.status), "message": solution.message, "solver": name, "x": solution.x,
            "y": solution.y, "objective": None if solution.x is None else data.objective(solution.x),
            "certificate": solution.certificate, "iterations": solution.iterations,
            "timing": solution.timing.to_mapping(),
        }  # fmt: skip
    elif isinstance(data, LCP):
        result = _solve_lcp(data, formulation or "lcp", solver, tolerance, options)
    else:
        name, by = _defaults(data, formulation, solver)
        answer = solve_step(data, name, by, tolerance=tolerance, solver_options=options)
        w: Any = [] if answer.a is None else data.J_N @ answer.a + data.zeta_N
        result = {
            "status": str(answer.status), "message": answer.message, "formulation": name, "solver": by, "a": answer.a,
            "lam": answer.lam, "lam_N": answer.lam_N, "lam_T": _flat(answer.lam_T), "w": w,
            "forces_unique": answer.forces_unique, "certificate": answer.certificate.to_mapping(),
            "ranks": {} if data.sparse else rank_report(data).to_mapping(), "iterations": answer.iterations,
            "timing": answer.timing.to_mapping(), **answer.details,
            **(answer.contact.to_mapping() if answer.contact is not None else {}),
        }  # fmt: skip
        if data.k and answer.certificate.verdict not in (Status.INFEASIBLE, Status.UNBOUNDED):
            result["classification"] = _classification(data)
    _finish(context.obj, result, json_)


def _defaults(step: StepData, formulation: str | None, solver: str | None) -> tuple[str, str]:
    """Formulation and solver that take the step, where none are given."""
    from gaussopt.contact.activity import closed_contacts
    from gaussopt.solving.defaults import default_solver, formulate

    name = formulation or ("stick-slip" if len(closed_contacts(step)) else "gauss")
    if solver is not None:
        return name, solver
    try:
        return name, default_solver(formulate(step, name))
    except IllPosed:
        return name, "newton"  # there is no program to solve; the sentence comes from solve_step


def _classification(step: StepData) -> dict[str, Any] | None:
    """What is known of the contact operator; None where there is none."""
    from gaussopt.certificates.contact_class import classify_step
    from gaussopt.core.errors import NotAccepted

    try:
        return classify_step(step).to_mapping()
    except NotAccepted:
        return None


def _flat(lam_T: Any) -> Any:
    """In the plane the tangent axis is dropped."""
    return lam_T[:, 0] if lam_T.ndim == 2 and lam_T.shape[1] == 1 else lam_T


def _solve_lcp(
    lcp: Any, formulation: str, solver: str | None, tolerance: float, options: dict[str, Any]
) -> dict[str, Any]:
    from gaussopt.solving.solve import solve_lcp

    solution, details = solve_lcp(lcp, formulation, solver, tolerance=tolerance, solver_options=options)
    certificate = dict(solution.certificate)
    listed, z_range = certificate.pop("solutions", None), certificate.pop("z_range", None)
    result: dict[str, Any] = {
        "status": str(solution.status), "message": solution.message, "formulation": formulation, "solver": solver,
        "z": solution.x, "lam_N": solution.x, "w": None if solution.x is None else lcp.w(solution.x),
        "forces_unique": certificate.get("forces_unique"), "certificate": certificate,
        "iterations": solution.iterations, "timing": solution.timing.to_mapping(), **details,
    }  # fmt: skip
    if listed is not None:
        result["solutions"] = listed
    if z_range is not None:
        result["lam_N_range"] = z_range
    return result


@app.command("verify")
def verify_command(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.json", help="A step, a qp or an lcp.")],
    answer_file: Annotated[Path, typer.Argument(metavar="ANSWER.json", help='{"a", "lam"}, {"x"} or {"z"}.')],
    tolerance: Annotated[float, typer.Option("--tolerance")] = 1e-7,
    json_: Json = False,
) -> None:
    """Certify an answer that anybody computed."""
    from gaussopt.certificates.bilateral import Certificate, certify, explain
    from gaussopt.certificates.contact import certify_contact
    from gaussopt.certificates.qp import certify_qp, classify_qp
    from gaussopt.contact.activity import closed_contacts
    from gaussopt.core import problem_files
    from gaussopt.core.programs import LCP, QP
    from gaussopt.core.status import Status
    from gaussopt.core.step_data import as_array
    from gaussopt.lcp.verification import verify_lcp
    from gaussopt.solving.judgement import why_ill_posed

    data = problem_files.load(file)
    given = problem_files.read_answer(answer_file, data)
    _check_tolerance(tolerance)

    def entry(name: str, size: int) -> Any:
        """One array of the answer, None if it is not there."""
        with _naming(answer_file):
            return None if given.get(name) is None else as_array(name, given[name], (size,))

    wanted = "x" if isinstance(data, QP) else "z" if isinstance(data, LCP) else "a"
    if given.get(wanted) is None:
        raise BadInput(f"{answer_file} has no {wanted!r}; an answer to this file needs one.")
    if isinstance(data, LCP):
        result: dict[str, Any] = verify_lcp(data, entry("z", data.n), tolerance)
    elif isinstance(data, QP):
        x, y = entry("x", data.n), entry("y", data.m)
        qp_certificate = certify_qp(data, x, y, tolerance)
        status = Status.SOLVED if qp_certificate.passed(tolerance) else Status.INACCURATE
        message = status.sentence
        if status is Status.INACCURATE:
            verdict = classify_qp(data)
            if verdict is not Status.SOLVED:
                status, message = verdict, verdict.sentence
            else:
                message = qp_certificate.failure(tolerance)
        certificate = qp_certificate.to_mapping()
        result = {"status": str(status), "message": message, "certificate": certificate}
    else:
        a, lam = entry("a", data.n), entry("lam", data.m)
        if data.k:
            lam_N = entry("lam_N", data.k)
            with _naming(answer_file):
                lam_T = _tangent_forces(given.get("lam_T"), data)
            closed = closed_contacts(data)
            _check_open(data, closed, lam_N, lam_T)
            data = data.select(closed)
            lam_N, lam_T = (None if x is None else x[closed] for x in (lam_N, lam_T))
            step_certificate: Certificate = (
                certify_contact(data, a, lam, lam_N, lam_T) if data.k else certify(data, a, lam)
            )
        else:
            step_certificate = certify(data, a, lam)
        if step_certificate.passed(tolerance):
            status, message = Status.SOLVED, Status.SOLVED.sentence
        elif step_certificate.verdict is not Status.SOLVED:
            status = step_certificate.verdict
            message = why_ill_posed(data, step_certificate)
        else:
            status, message = Status.INACCURATE, explain(data, step_certificate, tolerance)
        result = {
            "status": str(status), "message": message, "forces_unique": step_certificate.forces_unique,
            "certificate": step_certificate.to_mapping(),
        }  # fmt: skip
    _finish(context.obj, result, json_)


@contextlib.contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Whatever is wrong is wrong in this file."""
    try:
        yield
    except BadInput as error:
        raise BadInput(f"{file}: {error}") from None


def _check_open(step: StepData, closed: Any, lam_N: Any, lam_T: Any) -> None:
    """Open contacts have no forces."""
    for i in set(range(step.k)) - set(closed.tolist()):
        if (lam_N is not None and lam_N[i] != 0) or (lam_T is not None and lam_T[i].any()):
            assert step.g_N is not None
            raise BadInput(
                f"The answer has a force at contact {i + 1}, which is open (gap {step.g_N[i]:.6g} m); an open "
                "contact has none."
            )


def _tangent_forces(given: Any, step: StepData) -> Any:
    from gaussopt.core.step_data import as_array

    if given is None:
        return None
    shape = step.v_T.shape
    if shape[1] == 1 and not (isinstance(given, list) and given and isinstance(given[0], list)):
        return as_array("lam_T", given, (shape[0],))[:, None]
    return as_array("lam_T", given, shape)


def _check_tolerance(tolerance: float) -> None:
    if not tolerance > 0:
        raise BadInput(f"tolerance is {tolerance:g}; it must be positive.")


def _finish(out: Any, result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(out, result)
    else:
        for key, value in plain(result).items():
            if isinstance(value, dict):
                value = ", ".join(f"{k} {v:.6g}" if isinstance(v, float) else f"{k} {v}" for k, v in value.items())
            print(f"{key}: {value}", file=out)
    if result["status"] != "solved":
        print(f"gaussopt: {result['message']}", file=sys.stderr)
        raise Done(1)


@app.command("papers")
def papers_command(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", help="Folder of the report.")] = Path("reports/papers"),
    quick: Annotated[bool, typer.Option("--quick", help="Shorter motions, fewer states.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", help="Processes; 0 for one per core.")] = 0,
    json_: Json = False,
) -> None:
    """Reproduce the papers and write the report."""
    from gaussopt.papers.reproduce import reproduce

    if jobs < 0:
        raise BadInput(f"jobs is {jobs}; give a number of processes, or 0 for one per core.")
    with progress_bar("papers", json_) as progress:
        summary = reproduce(out, quick=quick, jobs=jobs or (os.cpu_count() or 1), progress=progress)
    if json_:
        print_json(context.obj, summary)
    else:
        print(f"{summary['message']}\nReport: {summary['report']}", file=context.obj)
    if summary["status"] != "solved":
        raise Done(1)


app.command("animate")(animate_command)
app.command("atlas")(atlas_command)
app.command("compare")(compare_command)
app.command("report")(report_command)
app.command("export")(export_command)
