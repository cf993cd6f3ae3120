"""Finding problems, formulations, solvers, steppers and families by name: one file each, nothing else to touch.

A file `my_solver.py` in its folder is the entry `my-solver`. The module holds one object, called `problem`,
`formulation`, `solver`, `stepper` or `family`. Files outside the package are found through the environment variable
GAUSSOPT_PLUGINS (files or folders, separated as in PATH) or `register`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from gaussopt.errors import BadInput, UnknownName

PACKAGES = {
    "problem": "gaussopt.problems",
    "formulation": "gaussopt.formulations",
    "solver": "gaussopt.solvers",
    "stepper": "gaussopt.steppers",
    "family": "gaussopt.families",
}
KINDS = tuple(PACKAGES)

_registered: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
_seen: set[Path] = set()


def names(kind: str) -> list[str]:
    """Names of all entries of a kind, sorted; package files are not imported for it."""
    if kind not in PACKAGES:
        raise UnknownName("kind", kind, KINDS)
    _load_plugins()
    package = importlib.import_module(PACKAGES[kind])
    files = [_name(m.name) for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")]
    return sorted({*files, *_registered[kind]})


def load(kind: str, name: str) -> Any:
    """The object registered under a name.

    Raises
    ------
    UnknownName
        Suggesting the nearest name.
    """
    known = names(kind)
    if name not in known:
        raise UnknownName(kind, name, known)
    if name in _registered[kind]:
        return _registered[kind][name]
    module = importlib.import_module(f"{PACKAGES[kind]}.{name.replace('-', '_')}")
    return _entry(module, kind, name)


def register(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Register one file from anywhere; return its kind and name.

    Raises
    ------
    BadInput
        If the file cannot be imported or holds no entry.
    """
    file = Path(path).resolve()
    spec = importlib.util.spec_from_file_location(f"gaussopt_plugin_{file.stem}", file)
    if not file.is_file() or spec is None or spec.loader is None:
        raise BadInput(f"{path} is not a Python file; register takes one .py file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadInput(f"{file.name} cannot be imported: {type(error).__name__}: {error}.") from error
    for kind in KINDS:
        if hasattr(module, kind):
            name = _name(file.stem)
            _registered[kind][name] = _entry(module, kind, name)
            return kind, name
    raise BadInput(f"{file.name} defines none of {', '.join(KINDS)}; name the entry so.")


def _entry(module: ModuleType, kind: str, name: str) -> Any:
    entry = getattr(module, kind, None)
    if entry is None:
        raise BadInput(f"{module.__name__} defines no {kind!r}.")
    if getattr(entry, "name", None) != name:
        called = repr(getattr(entry, "name", None))
        raise BadInput(f"The {kind} in {module.__name__} is named {called}; its file says {name!r}.")
    return entry


def _name(stem: str) -> str:
    return stem.replace("_", "-")


def _load_plugins() -> None:
    for part in os.environ.get("GAUSSOPT_PLUGINS", "").split(os.pathsep):
        if not part:
            continue
        path = Path(part).resolve()
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
            if file not in _seen:
                _seen.add(file)
                register(file)
