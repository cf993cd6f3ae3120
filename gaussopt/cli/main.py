"""The command line; each group of commands has its own file in this folder.

Results go to standard output, progress and errors to standard error. With --json standard output holds exactly
one JSON object, also on failure. Exit codes: 0 done, 1 a step or solve did not end `solved` or the machine failed,
2 bad input.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Annotated, Any

import typer

from gaussopt._version import __version__
from gaussopt.cli.atlas import atlas_command
from gaussopt.cli.collection import collection_command
from gaussopt.cli.common import note, option, print_json
from gaussopt.cli.compare import compare_command, export_command, merge_command, report_command
from gaussopt.cli.falsify import falsify_command
from gaussopt.cli.list import list_command
from gaussopt.cli.pictures import animate_command, plot_command
from gaussopt.cli.run import batch_command, run_command
from gaussopt.cli.show import show_command
from gaussopt.cli.solve import solve_command, verify_command
from gaussopt.cli.studies import benchmarks_command, papers_command, recommend_command
from gaussopt.core.cache import UnsafeCache, check_chosen
from gaussopt.core.errors import GaussoptError, LeftOut, MachineFailure, ModelSlip, Unverified
from gaussopt.core.machine import NOT_OF_OUTPUT, file_error, machine_failure

HELP = {"--help", "-h"}
"""Options that print the help of a command."""

MANY = 12
"""The help of a command with more options than this arranges them in groups."""

GROUPS = {
    "Method": "formulation formulations solver solvers solver_option stepper dt rtol atol stabilisation state impact "
    "accumulation on_singular engine tolerance precision settings error_estimate",
    "Problem and motion": "set_ t_end from_ axis family dial qp lcp sequence contact rows stride motions",
    "Work": "jobs threads device dask time_budget case_limit",
    "Results": "out save step_file record_every parquet against json_ help",
}
"""Groups of options in the help of commands with many options: a group's title, and the names of its arguments."""

app = typer.Typer(
    name="gaussopt", pretty_exceptions_enable=False,
    help="Every time step of a mechanical system as an optimisation problem.",
    epilog="The shell completes names of problems, solvers and files after `gaussopt --install-completion`.",
    context_settings={"help_option_names": sorted(HELP)},
)  # fmt: skip

TYPER_INTERRUPTED = 130
"""Exit code of Typer after Ctrl-C."""


COMPLETION = "_GAUSSOPT_COMPLETE"
"""Environment variable with which a shell requests completions; the script of --install-completion sets it."""


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code, without leaving the interpreter."""
    given = sys.argv[1:] if arguments is None else arguments
    if COMPLETION in os.environ or given[:1] in (["--install-completion"], ["--show-completion"]):
        try:
            app(given, prog_name="gaussopt")
        except SystemExit as done:  # Typer ends a completion request in this way
            return done.code if isinstance(done.code, int) else 0
    try:
        with _plain_warnings():
            return _run(given)
    except OSError as error:  # standard output cannot be written, as with a full disk or a closed pipe
        note(f"Cannot write the result: {error.strerror or error}.")
        return 1


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print gaussopt's own warnings as sentences on standard error; leave the warnings of others as they are."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, LeftOut | UnsafeCache | Unverified):
            note(str(message))
        elif not issubclass(category, ModelSlip):  # commands print the warnings of a motion together with the motion
            usual(message, category, *where)

    warnings.showwarning = show  # type: ignore[assignment]
    try:
        yield
    finally:
        warnings.showwarning = usual


def _misread(error: typer.TyperException) -> str:
    """Return the error in the arguments as text, with the value if it could not be converted for its option."""
    text = error.format_message()
    found: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()  # conversion errors of pydantic
    return f"{text.partition(', unable')[0]}, not {found[0]['input']!r}" if found else text


@cache
def command_line() -> Callable[..., Any]:
    """Return all commands. They are built only once, because building them takes longer than most commands run."""
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    root = typer.Context(group, **group.context_settings)
    for command in (group, *group.commands.values()):
        context = root if command is group else typer.Context(command, parent=root)
        options = [x for x in command.get_params(context) if isinstance(x, typer.core.TyperOption)]
        for x in options:
            x.metavar = "" if x.is_flag else x.metavar  # otherwise the help shows <bool> as the value of a flag
            if len(options) > MANY:
                x.rich_help_panel = next((k for k, names in GROUPS.items() if x.name in names.split()), None)
    return group


def _run(given: list[str]) -> int:
    as_json = "--json" in given
    talk = contextlib.nullcontext(sys.stdout) if HELP & set(given) else _quiet_backends()
    with talk as out:
        try:
            ended = command_line()(given, prog_name="gaussopt", standalone_mode=False, obj=out)
            return _interrupted(out, given) if ended == TYPER_INTERRUPTED else int(ended or 0)
        except typer.TyperException as error:
            text = _misread(error)
            return _fail(out, as_json, text if text.endswith((".", "?")) else f"{text}.")
        except (typer.Abort, KeyboardInterrupt):
            return _interrupted(out, given)
        except GaussoptError as error:
            return _fail(out, as_json, str(error), code=1 if isinstance(error, MachineFailure) else 2)
        except BrokenPipeError:
            return 1
        except MemoryError as error:
            return _fail(out, as_json, str(machine_failure("The command was not done", error)), code=1)
        except OSError as error:
            if error.filename is None and error.errno not in NOT_OF_OUTPUT:
                raise  # writing to standard output failed
            what = "The command was not done" if error.filename is None else f"Cannot use {str(error.filename)!r}"
            failure = file_error(what, error)
            return _fail(out, as_json, str(failure), code=1 if isinstance(failure, MachineFailure) else 2)
        except BaseException as error:  # code in a user's file may raise anything, even SystemExit
            if isinstance(error, SystemExit) and HELP & set(given):
                return 1  # Typer exits in this way if a reader such as `head` has closed the pipe
            if "GAUSSOPT_DEBUG" in os.environ:
                raise
            text = f"Unexpected {type(error).__name__}: {error}; this is a defect (GAUSSOPT_DEBUG=1 shows where)."
            return _fail(out, as_json, text, code=1)


@contextlib.contextmanager
def _quiet_backends() -> Iterator[Any]:
    """Yield the command's standard output; meanwhile send output of backends, also from C, to standard error."""
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
    # If sys.stdout is not file descriptor 1, as under a test harness, it already belongs to the command alone.
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


def _interrupted(out: Any, given: list[str]) -> int:
    # If Ctrl-C interrupts Python code that an extension module runs, for instance at import, CPython records this and
    # ends by the signal, whatever the exit code. Running empty code in the same way clears the record.
    ctypes.pythonapi.PyRun_SimpleString(b"")
    resumes = "compare" in given[:2] and any(word.partition("=")[0] == "--out" for word in given)
    kept = " Finished cases are kept; the same command goes on from there." if resumes else ""
    return _fail(out, "--json" in given, f"Interrupted by Ctrl-C.{kept}", code=1, status="interrupted")


def _fail(out: Any, as_json: bool, sentence: str, code: int = 2, status: str = "crashed") -> int:
    if as_json:
        print_json(out, {"status": "bad_input" if code == 2 else status, "message": sentence})
    note(sentence)
    return code


@app.callback(invoke_without_command=True)
def _root(context: typer.Context, version: Annotated[bool, option("--version", "Print the version.")] = False) -> None:
    if version:
        print(__version__, file=context.obj)
        raise typer.Exit(0)
    if context.invoked_subcommand is None:
        print(context.get_help(), file=context.obj)
        raise typer.Exit(2)
    check_chosen()


COMMANDS: dict[str, Callable[..., None]] = {
    "list": list_command, "show": show_command, "run": run_command, "solve": solve_command, "verify": verify_command,
    "papers": papers_command, "plot": plot_command, "animate": animate_command, "atlas": atlas_command,
    "batch": batch_command, "compare": compare_command, "report": report_command, "merge": merge_command,
    "export": export_command, "recommend": recommend_command, "benchmarks": benchmarks_command,
    "falsify": falsify_command, "collection": collection_command,
}  # fmt: skip
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)
