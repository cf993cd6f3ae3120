"""Find problems, formulations, solvers, steppers and families by name; each is defined by one file.

A file `my_solver.py` in its folder is the entry `my-solver`. The module holds one object, called `problem`,
`formulation`, `solver`, `stepper` or `family`. Files outside the package are found through the environment variable
GAUSSOPT_PLUGINS (files or folders, separated as in PATH; in folders, files that begin with _ are skipped) or
`register`; a problem may also be given by the path of its file. Such files may import modules from their folder.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import re
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from gaussopt.core.errors import BadInput, GaussoptError, LeftOut, UnknownName
from gaussopt.core.files import missing_file
from gaussopt.core.machine import pass_on
from gaussopt.core.source_loader import Neighbours, imported

PACKAGES = {
    "problem": "gaussopt.problems",
    "formulation": "gaussopt.formulations",
    "solver": "gaussopt.solvers",
    "stepper": "gaussopt.integration.steppers",
    "family": "gaussopt.families",
}
KINDS = tuple(PACKAGES)
INTERFACES = {
    "formulation": ("gaussopt.formulations.base", "Formulation"),
    "solver": ("gaussopt.core.solver", "Solver"),
    "stepper": ("gaussopt.core.stepper", "Stepper"),
}
"""Module and name of the base class of the entries of each kind."""
INTERFACE = "base"
"""Name of the module in each of PACKAGES that holds the interface and is not an entry."""
HOW = {"problem": "end it with problem = gaussopt.Problem.of(system, q0=..., t_end=...)"}
"""Advice on the last line of a user's file, for kinds where that line is not obvious."""


class Registered(NamedTuple):
    """A file from outside the package, with the contents that it had when it was registered."""

    path: str
    source: bytes
    neighbours: tuple[tuple[str, bytes], ...] = ()
    """Names and sources of the modules that the file imports from its folder."""


MODELS = (".xml", ".urdf")
"""Endings of files of other engines, each of which is a problem."""

MODEL = "import gaussopt\nproblem = gaussopt.problem_from_mujoco({path!r}, name={name!r})\n"
"""The Python file that stands for such a file."""

_registered: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
_broken: dict[str, BadInput] = {}
_seen: set[Path] = set()
_files: dict[tuple[str, str], Registered] = {}


def names(kind: str) -> list[str]:
    """Return the sorted names of all entries of a kind; files of the package are listed without importing them."""
    if kind not in PACKAGES:
        raise UnknownName("kind", kind, KINDS)
    _load_plugins()
    return sorted({*_listed(kind), *_registered[kind]})


@cache
def _listed(kind: str) -> tuple[str, ...]:
    package = importlib.import_module(PACKAGES[kind])
    files = (m.name for m in pkgutil.iter_modules(package.__path__))
    return tuple(_name(file) for file in files if not file.startswith("_") and file != INTERFACE)


def load(kind: str, name: str) -> Any:
    """Return the object registered under a name; raises UnknownName, suggesting the nearest name."""
    if kind not in PACKAGES:
        raise UnknownName("kind", kind, KINDS)
    if not isinstance(name, str):
        raise UnknownName(kind, name, names(kind))
    _load_plugins()
    if name in _registered[kind]:
        return _registered[kind][name]
    if name in _broken and name not in _listed(kind):
        raise _broken[name]
    if name not in _listed(kind):
        raise UnknownName(kind, name, names(kind), _perhaps_a_file(kind, name))
    module = importlib.import_module(f"{PACKAGES[kind]}.{name.replace('-', '_')}")
    return _entry(module, kind, name)


def _perhaps_a_file(kind: str, name: str) -> str:
    """Return the part of an unknown-name message that helps a user who may have meant a file."""
    if kind == "problem":
        return "" if os.path.exists(name) else ", and no file or folder has that name"
    file = f"{name.replace('-', '_')}.py"
    told = f" (your own is found by GAUSSOPT_PLUGINS={file}; compare also takes {file} beside the problems)"
    return told if kind == "solver" else ""


def register(
    path: str | os.PathLike[str],
    source: bytes | None = None,
    wanted: str | None = None,
    neighbours: Mapping[str, bytes] | None = None,
) -> tuple[str, str]:
    """Register a file from outside the package; return the kind and name of its entry.

    Parameters
    ----------
    path : the file
    source : bytes, optional, contents of the file; with them the file need not exist, as another process has read it
    wanted : the kind that the entry must have, optional
    neighbours : sources, by name, of the modules that the file imports from its folder; read from there if not given

    Raises
    ------
    BadInput
        If the file cannot be imported or holds no entry.
    """
    file = Path(path).resolve()
    if source is None:
        source = _read(path, file, wanted)
    beside = Neighbours(file.parent, neighbours)
    try:
        with beside.at_hand():
            code = MODEL.format(path=str(file), name=_named(file)).encode() if _is_model(file) else source
            module = imported(f"gaussopt_plugin_{file.stem}", code, str(file))
    except BaseException as error:
        pass_on(f"{file.name} was not loaded", error)
        if _is_model(file) and isinstance(error, GaussoptError):
            raise
        raise BadInput(_blame(file, error)) from error
    for kind in (wanted,) if wanted else KINDS:
        if hasattr(module, kind):
            name = _named(file)
            if name in _listed(kind):
                raise BadInput(
                    f"{file.name} would be the {kind} {name!r}, which ships with gaussopt; give the file another name."
                )
            entry = _entry(module, kind, name)
            if lack := _lack(entry, kind):
                raise BadInput(f"The {kind} in {file.name} {lack}.")
            _registered[kind][name] = entry
            _files.pop((kind, name), None)
            _files[kind, name] = Registered(str(file), source, tuple(beside.found.items()))
            return kind, name
    if wanted:
        raise BadInput(f"{file.name} defines no {wanted!r}; {HOW.get(wanted, 'name the entry so')}.")
    raise BadInput(f"{file.name} defines none of {', '.join(KINDS)}; name the entry so.")


def _read(path: str | os.PathLike[str], file: Path, wanted: str | None) -> bytes:
    """Return the contents of a file that may hold an entry; raises BadInput."""
    if not file.exists():
        raise BadInput(missing_file(path))
    if file.suffix == ".nc":
        raise BadInput(
            f"{path} is a saved motion and no {wanted or 'entry'}; give it with --from to run or animate, or plot it."
        )
    if not file.is_file() or not (file.suffix == ".py" or _is_model(file)):
        raise BadInput(f"{path} is not a Python file; give one .py file, or a model for MuJoCo, .xml or .urdf.")
    try:
        return file.read_bytes()
    except OSError as error:
        raise BadInput(f"Cannot read {path}: {error.strerror}.") from None


def _lack(entry: Any, kind: str) -> str:
    """Return the end of a message, "has no ..." or the like, that names what an entry lacks; "" if it lacks nothing."""
    if kind != "problem":
        for name in ("title", "source"):
            if not isinstance(getattr(entry, name, None), str):
                return f"has no {name}; give it one in words"
    if kind not in INTERFACES:
        return ""
    module, name = INTERFACES[kind]
    base = getattr(importlib.import_module(module), name)
    if kind == "solver":
        return str(base.lack(entry))
    if isinstance(entry, base):
        return ""
    made = f"; end the file with {kind} = {entry.__name__}()" if isinstance(entry, type) else ""
    return f"is no object of a class derived from gaussopt.{kind}.{name}{made}"


def is_file(word: str | os.PathLike[str]) -> bool:
    """Return whether a word is the path of a file, not the name of an entry; raises BadInput for other types."""
    if isinstance(word, os.PathLike):
        return True
    if not isinstance(word, str):
        raise BadInput(f"{word!r} is neither a name nor a file.")
    return word.endswith((".py", ".nc")) or word.lower().endswith(MODELS) or "/" in word or os.sep in word


def _is_model(file: Path) -> bool:
    return file.suffix.lower() in MODELS


def _named(file: Path) -> str:
    """Return the name of the entry in a file; that of a model has its folder's, as many are called scene.xml."""
    return _name(f"{file.parent.name}-{file.stem}" if _is_model(file) else file.stem)


def holds_solver(path: str) -> bool:
    """Return whether a file defines a solver, judging by its text, without importing it."""
    file = Path(path)
    with contextlib.suppress(OSError):
        return file.suffix == ".py" and re.search(rb"(?m)^solver\s*[:=]", file.read_bytes()) is not None
    return False


def named_by_file(kind: str, path: str | os.PathLike[str]) -> str:
    """Return the name of the entry in a file, after registering the file if it is new or has changed.

    Raises BadInput as `register` does, and if another file is already registered under the same kind and name.
    """
    file = Path(path).resolve()
    name = _named(file)
    known = _files.get((kind, name))
    if known is not None and known.path != str(file) and Path(known.path).exists():
        raise BadInput(f"{path} and {known.path} would both be the {kind} {name!r}; rename one of them.")
    with contextlib.suppress(OSError):  # an unreadable file is reported by `register`
        beside = () if known is None else ((file.parent / f"{n}.py", text) for n, text in known.neighbours)
        # A model is read again each time, since the files that it includes may have changed.
        if (
            known is not None
            and not _is_model(file)
            and all(f.read_bytes() == text for f, text in ((file, known.source), *beside))
        ):
            return name
    return register(path, wanted=kind)[1]


def registered_files() -> tuple[Registered, ...]:
    """Return the files registered from outside the package, in the order of their registration."""
    _load_plugins()
    return tuple(_files.values())


def is_registered(kind: str, name: str) -> bool:
    """Return whether an entry comes from a file outside the package."""
    return (kind, name) in _files


def adopt(files: Sequence[Registered]) -> None:
    """Register the files that another process has registered; GAUSSOPT_PLUGINS is not read again."""
    _seen.update(_plugin_files())
    known = list(_files.values())
    if known != list(files):
        for path, source, neighbours in files:
            register(path, source, neighbours=dict(neighbours))


def sources(kind: str, name: str) -> dict[str, bytes]:
    """Return the contents, by file name, of all files that an entry depends on.

    They are its own file, the modules `_*.py` in its folder, and for problems the tables. Raises UnknownName.
    """
    known = names(kind)
    if name not in known:
        raise UnknownName(kind, name, known)
    if (kind, name) in _files:
        return {"plugin": _files[kind, name].source, **dict(_files[kind, name].neighbours)}
    folder = Path(importlib.import_module(PACKAGES[kind]).__path__[0])
    tables = folder.glob("data/*") if kind == "problem" else ()
    files = (folder / f"{name.replace('-', '_')}.py", *folder.glob("_*.py"), *tables)
    return {file.name: file.read_bytes() for file in files}


def _entry(module: ModuleType, kind: str, name: str) -> Any:
    entry = getattr(module, kind, None)
    if entry is None:
        raise BadInput(f"{module.__name__} defines no {kind!r}.")
    where = os.path.basename(str(module.__file__))
    if kind == "problem" and not hasattr(entry, "named"):
        raise BadInput(f"The problem in {where} is of type {type(entry).__name__}; {HOW[kind]}.")
    called = getattr(entry, "name", None)
    if called == "" and hasattr(entry, "named"):
        return entry.named(name)
    if called != name:
        raise BadInput(f"The {kind} in {where} is named {called!r}; its file says {name!r}.")
    return entry


def _name(stem: str) -> str:
    return stem.replace("_", "-")


def _blame(file: Path, error: BaseException) -> str:
    """Return a sentence that states the error in a file and its line."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(file)]
    if isinstance(error, SyntaxError) and error.filename == str(file):
        lines, text = [error.lineno], error.msg
    else:
        text = " ".join(str(error).split())
    where = f"{file.name}, line {lines[-1]}" if lines else file.name
    if isinstance(error, GaussoptError):
        return f"{where}: {text}"
    text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"{where}: {text.rstrip('.')}{_advice(error)}."


def _advice(error: BaseException) -> str:
    """Return advice on a mistake that is frequent in a user's first file; "" for any other error."""
    text = str(error)
    if isinstance(error, TypeError) and re.search("Cannot convert expression to float|ufunc does not support", text):
        return "; functions of symbols are those of SymPy, such as sympy.cos"
    if wrong := re.match(r"(\w+)\.(\w+)\(\) got an unexpected keyword argument '(\w+)'", text):
        owner = getattr(sys.modules.get("gaussopt"), wrong[1], None)
        known = [k for k in signature(getattr(owner, wrong[2])).parameters if k != "self"] if owner else []
        near = get_close_matches(wrong[3], known, n=1, cutoff=0.5)
        return f"; the nearest one is {near[0]!r}" if near else f"; known: {', '.join(known)}" if known else ""
    return ""


def _load_plugins() -> None:
    for file in _plugin_files():
        if file not in _seen:
            _seen.add(file)
            try:
                register(file)
            except BadInput as error:
                _broken[_name(file.stem)] = error
                warnings.warn(f"{str(error).rstrip('.')}; the plug-in is left out.", LeftOut, stacklevel=2)


def _plugin_files() -> Iterator[Path]:
    for part in os.environ.get("GAUSSOPT_PLUGINS", "").split(os.pathsep):
        if part:
            path = Path(part).resolve()
            yield from sorted(path.glob("[!_]*.py")) if path.is_dir() else [path]
