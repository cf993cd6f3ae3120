"""Rules of the layout: one direction of imports, small files and functions, one name for one thing.

`lint-imports` reads the contract of directions in pyproject.toml; `python tests/test_architecture.py` prints what
breaks the other rules, one line each.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import gaussopt as go
from gaussopt.kinds import PAGES

ROOT = Path(__file__).parents[1]
ROOMS = ("gaussopt", "solvers", "problems")
LONGEST_FILE = 400
LONGEST_FUNCTION = 60
MOST_PARAMETERS = 8
MAY_IMPORT_LATE = ("gaussopt/__init__.py", "gaussopt/__main__.py", "gaussopt/cli/", "gaussopt/papers/", "problems/")
"""The facade, the applications and the problems, whose evidence is computed on request only."""
KERNELS = ("_kernel.py", "_kernels.py", "core/acceptance.py", "lcp/pivoting.py")
"""Ends of the names of files whose functions are translated to machine code, where arrays are passed one by one."""
MARCH = "compiled/march/"
"""The room of the loops that are translated."""
DEPENDENCIES = {
    "numpy", "scipy", "sympy", "cvxpy", "osqp", "deap", "matplotlib", "pandas", "xarray", "llvmlite", "h5netcdf",
    "h5py", "jinja2", "typer", "rich", "daqp", "piqp", "proxsuite", "qpsolvers", "clarabel", "highspy", "scs",
    "distributed", "latex2mathml", "PIL",
}  # fmt: skip
OBJECT_MEMORY = re.compile(r"from_address\(\s*id\(|\bid\(\w+\)\s*\+|py_object|\bosqp\.ext|__array_interface__")
"""Reading of objects at fixed offsets, and private modules."""

ENDING = re.compile(r"\w*size >=? 0\.5 \* [\w.]*best|(SLIVER|1e-0?9) \* (self\.)?dt")
"""A residual that stops halving, and a sliver of a step."""

LOOP = re.compile(r"\s*(for \w+ in|while) ")
"""A loop of Python, written into a string."""

CERTIFICATE = re.compile(r"(Contact|QP|Linear|LCP|)Certificate")
"""Classes of certificates, whose many numbers are given by name."""


@cache
def sources() -> dict[str, ast.Module]:
    """Syntax trees of the product's files by their paths from the root; links to the wings are not followed."""
    files = sorted(
        file
        for room in ROOMS
        for file in (ROOT / room).rglob("*.py")
        if not any((ROOT / Path(*file.relative_to(ROOT).parts[:n])).is_symlink() for n in (2, 3))
    )
    return {file.relative_to(ROOT).as_posix(): ast.parse(file.read_text(encoding="utf-8")) for file in files}


@cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a file, which every rule looks through."""
    return tuple(ast.walk(tree))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions and methods of a file."""
    return (node for node in nodes(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def imported(node: ast.AST) -> list[str]:
    """Modules that a statement imports; none where it is no import."""
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [name.name for name in node.names] if isinstance(node, ast.Import) else []


def long_files() -> Iterator[str]:
    for file in sources():
        lines = (ROOT / file).read_text(encoding="utf-8").count("\n")
        if lines > LONGEST_FILE:
            yield f"{file}: {lines} lines"


def long_functions() -> Iterator[str]:
    for file, tree in sources().items():
        for function in functions(tree):
            example = (ast.get_docstring(function) or "").partition("\nExamples\n")[2]
            lines = (function.end_lineno or 0) - function.lineno + 1 - (len(example.splitlines()) + 2 if example else 0)
            if lines > LONGEST_FUNCTION:
                yield f"{file}:{function.lineno} {function.name}: {lines} lines"


def wide_functions() -> Iterator[str]:
    for file, tree in sources().items():
        public = _public(file, tree)
        for function in functions(tree):
            if function in public or file.endswith(KERNELS) or MARCH in file:
                continue
            if any("kernel" in ast.unparse(d) for d in function.decorator_list):
                continue
            parts = function.args
            given = [a.arg for a in (*parts.posonlyargs, *parts.args, *parts.kwonlyargs)]
            count = len(given) - (given[:1] in (["self"], ["cls"]))
            if count > MOST_PARAMETERS:
                yield f"{file}:{function.lineno} {function.name}: {count} parameters"


def _public(file: str, tree: ast.Module) -> set[ast.AST]:
    """Functions that a user calls: commands, and what `gaussopt.__all__` names with the methods of its classes."""
    if file.startswith("gaussopt/cli/"):
        return set(functions(tree))
    names = {*go.__all__, "from_lagrangian"}  # the method of `System` that stands in a file of its own
    named = [node for node in tree.body if getattr(node, "name", None) in names]
    inside = [method for node in named if isinstance(node, ast.ClassDef) for method in node.body]
    return {*named, *inside}


def _called(node: ast.AST) -> str:
    """The last name of what a call calls; "" for what is none. To write whole trees as text takes seconds."""
    called = node.func if isinstance(node, ast.Call) else None
    return called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""


def late_imports() -> Iterator[str]:
    for file, tree in sources().items():
        if file.startswith(MAY_IMPORT_LATE):
            continue
        for function in functions(tree):
            for node in ast.walk(function):
                for module in imported(node):
                    if module.split(".")[0] == "gaussopt":
                        yield f"{file}:{function.lineno} {function.name} imports {module}"


def names_of_modules_in_strings() -> Iterator[str]:
    for file, tree in sources().items():
        if file in ("gaussopt/__init__.py", "gaussopt/core/registry.py"):
            continue
        for node in nodes(tree):
            if isinstance(node, ast.Call) and "import_module" in _called(node) and node.args:
                argument = node.args[0]
                if isinstance(argument, ast.JoinedStr | ast.Constant) and "gaussopt" in ast.unparse(argument):
                    yield f"{file}:{node.lineno} {ast.unparse(node)}"


def private_imports() -> Iterator[str]:
    for file, tree in sources().items():
        for node in nodes(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in {"gaussopt", *DEPENDENCIES}:
                names = [name.name for name in node.names]
                if not (node.module or "").startswith("gaussopt"):
                    names += (node.module or "").split(".")
                for name in (name for name in names if name.startswith("_") and not name.startswith("__")):
                    yield f"{file}:{node.lineno} imports {name} of {node.module}"


def repeated_class_names() -> Iterator[str]:
    places: dict[str, list[str]] = defaultdict(list)
    for file, tree in sources().items():
        for node in nodes(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(file)
    return (f"{name}: {', '.join(files)}" for name, files in sorted(places.items()) if len(files) > 1)


def reads_of_object_memory() -> Iterator[str]:
    for file in sources():
        for number, line in enumerate((ROOT / file).read_text(encoding="utf-8").splitlines(), 1):
            if OBJECT_MEMORY.search(line):
                yield f"{file}:{number} {line.strip()}"


def certificates_by_position() -> Iterator[str]:
    for file, tree in sources().items():
        for node in nodes(tree):
            if isinstance(node, ast.Call) and node.args and CERTIFICATE.fullmatch(ast.unparse(node.func)):
                yield f"{file}:{node.lineno} {ast.unparse(node)[:60]}"


def kinds_asked_elsewhere() -> Iterator[str]:
    """Tests of what kind a problem is of, outside its page.

    A solver that takes several kinds may ask which of them it was given.
    """
    for file, tree in sources().items():
        if file.startswith("gaussopt/kinds/") or (file.startswith("solvers/") and _takes_several(file, tree)):
            continue
        for node in nodes(tree):
            asked: list[ast.AST] = []
            if isinstance(node, ast.Call) and _called(node) in ("isinstance", "issubclass"):
                asked = list(node.args[1:])
            elif isinstance(node, ast.MatchClass):
                asked = [node.cls]
            elif isinstance(node, ast.Compare) and any(_called(part).endswith("type") for part in ast.walk(node)):
                asked = [node]
            names = {name.id for part in asked for name in ast.walk(part) if isinstance(name, ast.Name)}
            names |= {name.attr for part in asked for name in ast.walk(part) if isinstance(name, ast.Attribute)}
            if names & {page.kind.__name__ for page in PAGES}:
                yield f"{file}:{node.lineno} {ast.unparse(node)[:80]}"


def _takes_several(file: str, tree: ast.Module) -> bool:
    """Whether a solver says that it takes several kinds; a file beside solvers, `_name.py`, serves several of them."""
    takes = [
        node.value for node in nodes(tree) if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "accepts"
    ]
    if not takes:
        return Path(file).name.startswith("_")
    return any(isinstance(value, ast.Tuple) and len(value.elts) > 1 for value in takes)


def arrays_from_elsewhere() -> Iterator[str]:
    for file, tree in sources().items():
        for node in nodes(tree):
            if isinstance(node, ast.ImportFrom) and node.module != "gaussopt.core.arrays":
                for name in sorted({"Vector", "Matrix"} & {name.name for name in node.names}):
                    yield f"{file}:{node.lineno} takes {name} from {node.module}"


def loops_in_strings() -> Iterator[str]:
    for file, tree in sources().items():
        if "codegen/" not in file:
            continue
        docs = {id(x.value) for x in nodes(tree) if isinstance(x, ast.Expr)}
        for node in nodes(tree):
            text = node.value if isinstance(node, ast.Constant) and id(node) not in docs else ""
            if isinstance(text, str) and any(LOOP.match(line) for line in text.splitlines()):
                yield f"{file}:{node.lineno} {text[:60]}"


def rules_written_again() -> Iterator[str]:
    """When an iteration has settled and where the last step ends is said in `gaussopt/core/endings.py` alone."""
    for file, tree in sources().items():
        for node in nodes(tree) if file != "gaussopt/core/endings.py" else ():
            if isinstance(node, ast.Compare | ast.BinOp) and ENDING.fullmatch(ast.unparse(node)):
                yield f"{file}:{node.lineno} {ast.unparse(node)}"


def loops_beside_the_one() -> Iterator[str]:
    """Only `integration/loop.py` asks an advance for its next steps, and nothing derives from the loop."""
    for file, tree in sources().items():
        for node in nodes(tree) if file != "gaussopt/integration/loop.py" else ():
            derived = isinstance(node, ast.ClassDef) and "MotionLoop" in [ast.unparse(base) for base in node.bases]
            asked = _called(node) == "take" and ast.unparse(node.func).endswith("advance.take")  # type: ignore[attr-defined]
            if derived or asked:
                yield f"{file}:{node.lineno} {ast.unparse(node).splitlines()[0]}"


def advances_beside_the_list() -> Iterator[str]:
    """Every way of taking a motion forward stands in the list from which the engine is chosen, or is a base."""
    classes = {
        node.name: (file, node)
        for file, tree in sources().items()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    bases = {name: {ast.unparse(base) for base in node.bases} for name, (_, node) in classes.items()}
    ways = {"Advance"}
    while more := {name for name, of in bases.items() if of & ways} - ways:
        ways |= more
    engine = sources().get("gaussopt/simulation/engine.py", ast.parse(""))
    known = {node.id for node in ast.walk(engine) if isinstance(node, ast.Name)}
    for name in sorted(ways - known - {"Advance"}):
        file, node = classes[name]
        if not name.startswith("_") and not any(name in of for of in bases.values()):
            yield f"{file}:{node.lineno} {name}"


RULES = (
    loops_in_strings, loops_beside_the_one, advances_beside_the_list, rules_written_again, arrays_from_elsewhere,
    certificates_by_position, kinds_asked_elsewhere, long_files, long_functions, wide_functions, late_imports,
    names_of_modules_in_strings, private_imports, repeated_class_names, reads_of_object_memory,
)  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule(rule) -> None:
    assert list(rule()) == []


PLANTED = {
    loops_in_strings: "TEXT = f'    for i in range({n}):'",
    loops_beside_the_one: "class Batch(MotionLoop): ...",
    advances_beside_the_list: "class Euler(Advance): ...",
    rules_written_again: "near = size < goal or size >= 0.5 * best",
    arrays_from_elsewhere: "from gaussopt.core.step_data import StepData, Vector",
    certificates_by_position: "found = QPCertificate(Status.SOLVED, 0.0, primal_residual=0.0)",
    kinds_asked_elsewhere: "rows = program.m if isinstance(program, go.QP | LCP) else None",
    private_imports: "from scipy.optimize import _minimize",
    names_of_modules_in_strings: "importlib.import_module(f'gaussopt.{name}')",
    late_imports: "def f() -> None:\n    from gaussopt.core import status",
    wide_functions: "def f(a, b, c, d, e, f, g, h, i): ...",
}


@pytest.mark.parametrize("rule", PLANTED, ids=lambda rule: rule.__name__)
def test_rules_are_broken_by_a_wrong_line(rule, monkeypatch) -> None:
    tree = ast.parse(PLANTED[rule])
    monkeypatch.setattr(sys.modules[__name__], "sources", lambda: {"gaussopt/core/codegen/planted.py": tree})
    assert len(list(rule())) == 1


def test_imports_go_in_one_direction() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout


def test_wrong_imports_are_noticed(tmp_path: Path) -> None:
    """At the top of a module, inside a function, and for a type checker only."""
    planted = {
        "status": "from gaussopt.solving import solve\n",
        "display": "def late() -> None:\n    from gaussopt.solving import solve\n",
        "event": "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from gaussopt.solving import solve\n",
    }
    shutil.copytree(ROOT / "gaussopt", tmp_path / "gaussopt", ignore=shutil.ignore_patterns("__pycache__", "*.html"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name, line in planted.items():
        with (tmp_path / "gaussopt" / "core" / f"{name}.py").open("a", encoding="utf-8") as file:
            file.write(f"\n\n{line}")
    done = lint(tmp_path)
    assert done.returncode == 1
    for name in planted:
        assert f"gaussopt.core.{name} -> gaussopt.solving.solve" in done.stdout


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Import-linter on the gaussopt of a folder."""
    command = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert command is not None, "import-linter is not installed: pip install -r requirements-test.lock"
    return subprocess.run([command, "--no-cache"], cwd=folder, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    for rule in RULES:
        for found in rule():
            print(f"{rule.__name__.replace('_', ' ')}: {found}")
