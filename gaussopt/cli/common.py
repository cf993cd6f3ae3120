"""Shared parts of commands: options, JSON, progress, and the end of a command."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from gaussopt.core.errors import BadInput


def completion(*kinds: str, words: tuple[str, ...] = (), files: tuple[str, ...] = ()) -> Callable[[str], list[str]]:
    """Return a function that completes a word to registered names or `words`, also after commas, or to files."""

    def complete(incomplete: str) -> list[str]:
        from gaussopt.core import registry

        before, comma, begun = incomplete.rpartition(",")
        known = sorted({*words, *(name for kind in kinds for name in registry.names(kind))})
        found = [f"{before}{comma}{name}" for name in known if name.startswith(begun)]
        if files:
            folder, _, _ = incomplete.rpartition("/")
            for path in sorted(Path(folder or ".").glob("*")):
                name = f"{folder}/{path.name}" if folder else path.name
                if name.startswith(incomplete) and (path.suffix in files or path.is_dir()):
                    found.append(f"{name}/" if path.is_dir() else name)
        return found

    return complete


def option(names: str, told: str, *of: str, words: tuple[str, ...] = (), **more: Any) -> Any:
    """Declare an option; a shell completes its value to registered names of the kinds `of` or to `words`."""
    offered = completion(*of, words=words) if of or words else None
    return typer.Option(*names.split(), help=told, autocompletion=offered, **more)


def argument(metavar: str, told: str, *of: str, words: tuple[str, ...] = (), files: tuple[str, ...] = ()) -> Any:
    """Declare an argument like `option`; a shell also completes the argument to files whose names end as in `files`."""
    offered = completion(*of, words=words, files=files) if of or words or files else None
    return typer.Argument(metavar=metavar, help=told, autocompletion=offered)


Json = Annotated[bool, option("--json", "Print one JSON object and nothing else.")]
Set = Annotated[
    list[str] | None,
    option("--set", "Parameter, case, variant, or q0=... and v0=...; repeatable.", metavar="NAME=VALUE"),
]
ProblemName = Annotated[
    str,
    argument("PROBLEM", "A name from `gaussopt list problems`, a file.py, or a model for MuJoCo, .xml or .urdf.",
             "problem", files=(".py", ".xml", ".urdf")),
]  # fmt: skip
SolverOption = Annotated[
    list[str] | None, option("--solver-option", "Option of the solver; repeatable.", metavar="NAME=VALUE")
]
OfMotion = Annotated[
    str | None,
    option("--formulation", "How a step becomes a program; gauss, or stick-slip with contacts, if not given.",
           "formulation"),
]  # fmt: skip
SolverName = Annotated[
    str | None, option("--solver", "Solver of the programs; one that fits is chosen if not given.", "solver")
]
StepperName = Annotated[str | None, option("--stepper", "Method of integration; rk4 if not given.", "stepper")]
TimeStep = Annotated[
    float | None, option("--dt", "Length of a step, or recording interval of an adaptive stepper, in s.")
]
End = Annotated[float | None, option("--t-end", "End of the motion in s; the problem's own if not given.")]
Stabilisation = Annotated[
    str | None,
    option("--stabilisation", "How constraint errors are treated: baumgarte, projection, or none, taken if not given.",
           words=("baumgarte", "projection", "none")),
]  # fmt: skip
Impact = Annotated[str | None, option("--impact", "Impact law: poisson, none, or newton, taken if not given.")]
Accumulation = Annotated[
    str | None, option("--accumulation", "Where impacts accumulate: stop, taken if not given, or close the contact.")
]
OnSingular = Annotated[
    str | None, option("--on-singular", "Close to a singular position: warn, taken if not given, or stop.")
]
Tolerance = Annotated[float, option("--tolerance", "Largest relative error that the certificate lets pass.")]
RelativeTolerance = Annotated[
    float | None, option("--rtol", "Relative tolerance of an adaptive stepper; 1e-9 if not given.")
]
AbsoluteTolerance = Annotated[
    float | None, option("--atol", "Absolute tolerance of an adaptive stepper; 1e-9 if not given.")
]
Engine = Annotated[
    str | None, option("--engine", "interpreted, compiled (generated code), or auto, taken if not given.")
]
ErrorEstimate = Annotated[
    bool, typer.Option(help="Estimate the error of the motion from the same motion by other steps.")
]
RecordEvery = Annotated[int | None, option("--record-every", "Steps between two recorded states; 1 if not given.")]
Jobs = Annotated[int, option("--jobs", "Processes; 0 for one per core.")]
Dask = Annotated[str | None, option("--dask", "Scheduler of a Dask cluster to run on.", metavar="ADDRESS")]
"""Options of several commands."""


def cluster(address: str | None) -> contextlib.AbstractContextManager[Any]:
    """Return a context that holds an executor on the Dask cluster at an address, or None without an address."""
    if address is None:
        return contextlib.nullcontext()
    from gaussopt.execution.dask import dask_executor

    return dask_executor(address)


QUICK = 5.0
"""No progress line is printed within this number of seconds from the start of a task."""


def note(sentence: str) -> None:
    """Print a sentence for the user on standard error, separate from the result."""
    print(f"gaussopt: {sentence}", file=sys.stderr)


def end(status: str, message: str) -> None:
    """End a command with the message and an exit code, unless the status is "solved"."""
    if status != "solved":
        stop(message, 2 if status == "bad_input" else 1)


def stop(message: str, code: int = 1) -> NoReturn:
    """End a command with a message on standard error and an exit code."""
    note(message)
    raise typer.Exit(code)


def show(out: Any, as_json: bool, data: Any, *lines: str) -> None:
    """Print the result of a command on standard output, either as JSON or as lines for the user."""
    if as_json:
        print_json(out, data)
    else:
        print("\n".join(lines), file=out)


def print_json(out: Any, data: Any) -> None:
    """Print one JSON object on standard output."""
    print(json.dumps(plain(data), allow_nan=False, default=str), file=out)


def plain(data: Any) -> Any:
    """Return data in a form for JSON: infinities and NaN become null."""
    if isinstance(data, dict):
        return {str(k): plain(v) for k, v in data.items()}
    if isinstance(data, list | tuple):
        return [plain(v) for v in data]
    if hasattr(data, "tolist"):
        return plain(data.tolist())
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data


def processes(jobs: int) -> int:
    """Return the requested number of processes, where 0 means one per core; raises BadInput."""
    if jobs < 0:
        raise BadInput(f"jobs is {jobs}; give a number of processes, or 0 for one per core.")
    return jobs or (os.cpu_count() or 1)


def pairs_of(items: list[str] | None, flag: str) -> dict[str, str]:
    """Return the values of NAME=VALUE options by name; raises BadInput."""
    pairs: dict[str, str] = {}
    for item in items or []:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise BadInput(f"{flag} {item!r} is not of the form NAME=VALUE.")
        pairs[name.strip()] = value.strip()
    return pairs


def settings_of(items: list[str] | None) -> dict[str, Any]:
    """Return the settings NAME=VALUE of a problem as a dict, with q0 and v0 as lists of numbers; raises BadInput."""
    settings: dict[str, Any] = dict(pairs_of(items, "--set"))
    for key in sorted(settings.keys() & {"q0", "v0"}):
        try:
            settings[key] = [float(x) for x in settings[key].strip("[]() ").split(",")]
        except ValueError:
            raise BadInput(f"{key} is {settings[key]!r}; give numbers separated by commas.") from None
    return settings


def names_of(text: str | None) -> list[str] | None:
    """Return the names of a comma-separated list; None if no list is given.

    Raises BadInput if a name is empty.
    """
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise BadInput(f"Cannot read {text!r}; write name,name and no empty names.")
    return names


class _Milestones:
    """Progress callback that prints when a quarter, a half and three quarters of a slow task are done.

    If `even`, it also prints the remaining time, assuming a constant rate.
    """

    def __init__(self, label: str, even: bool = True) -> None:
        self._label, self._even = label, even
        self._next = 0.25
        self._begin = time.monotonic()

    def __call__(self, fraction: float) -> None:
        if not self._next <= fraction < 1.0:
            return
        self._next = (math.floor(4 * fraction) + 1) / 4
        spent = time.monotonic() - self._begin
        if spent >= QUICK:
            said = f"{100 * fraction:.0f} % of the cases done after {spent:.0f} s"
            if self._even:
                left = spent * (1 - fraction) / fraction
                said = f"{100 * fraction:.0f} % done after {spent:.0f} s, about {left:.0f} s left"
            note(f"{self._label}: {said}.")


@contextlib.contextmanager
def progress_bar(
    label: str, quiet: bool, lines: bool = False, even: bool = True
) -> Iterator[Callable[[float], None] | None]:
    """Show a progress bar if standard error is a terminal; otherwise print nothing or, with `lines`, milestones.

    For `even` work the bar shows the remaining time, otherwise the time spent.
    """
    if quiet or not sys.stderr.isatty():
        yield _Milestones(label, even) if lines and not quiet else None
        return
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn

    columns = Progress.get_default_columns() if even else (*Progress.get_default_columns()[:-1], TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)
