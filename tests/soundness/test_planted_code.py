"""Code that somebody else planted where generated code is kept does not run, whoever runs the tests."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.codegen import source
from gaussopt.core import cache, generated_modules
from gaussopt.modelling.lagrangian import LagrangianSystem

x, u = sp.symbols("x u")
ROOT = Path(go.__file__).parents[1]
NOBODY = 65534
PLANT = "import pathlib; pathlib.Path({mark!r}).write_text('ran')\n"
SPRING = """
import sympy as sp, gaussopt as go
x, u = sp.symbols("x u")
system = go.System.from_lagrangian([x], [u], kinetic=u**2 / 2, potential=2*x**2, name="spring")
print(system.evaluate(0.0, [1.0], [0.0]).Q[0], system.source_path)
"""


def spring() -> LagrangianSystem:
    system = go.System.from_lagrangian([x], [u], kinetic=u**2 / 2, potential=2 * x**2, name="spring")
    assert isinstance(system, LagrangianSystem)
    return system


def force() -> float:
    """The force of the spring, of code that is read anew."""
    system = spring()
    forget(system)
    return float(system.evaluate(0.0, [1.0], [0.0]).Q[0])


def forget(system: LagrangianSystem) -> None:
    del sys.modules[system._module.__name__]


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What earlier tests of the same process loaded is not asked for again, so that the cache folder is."""
    for name in [name for name in sys.modules if name.startswith("gaussopt_generated_")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder in which the spring's code is kept."""
    place = tmp_path / "kept"
    monkeypatch.setenv("GAUSSOPT_CACHE", str(place))
    assert force() == -4.0
    return place


@pytest.fixture
def usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that is used where nobody chose one."""
    monkeypatch.delenv("GAUSSOPT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    cache._warn.cache_clear()
    return tmp_path / "home" / "gaussopt"


def plant(source: Path, mark: Path) -> None:
    """Byte code beside a source that Python takes for this source's own, and that leaves a mark when it runs."""
    text = source.read_bytes()
    source.write_text(PLANT.format(mark=str(mark)), encoding="utf-8")
    py_compile.compile(str(source), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    source.write_bytes(text)


def test_byte_code_beside_the_source_does_not_run(folder: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    (source,) = folder.glob("spring_*.py")
    plant(source, mark)
    # The plant is a good one: Python's own way of importing runs it.
    spec = importlib.util.spec_from_file_location("planted", source)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert mark.exists()
    mark.unlink()
    assert force() == -4.0
    assert not mark.exists()


def test_no_byte_code_is_written(folder: Path, run_python: Callable[..., str]) -> None:
    assert run_python(SPRING, GAUSSOPT_CACHE=str(folder), PYTHONDONTWRITEBYTECODE="").startswith("-4.0 ")
    assert [path.suffix for path in folder.rglob("*")] == [".py"]


def test_nothing_is_read_from_a_folder_that_others_can_guess(
    folder: Path, tmp_path: Path, run_python: Callable[..., str]
) -> None:
    mark, spare = tmp_path / "mark", tmp_path / "spare"
    guessed = spare / f"gaussopt-{os.getuid()}"
    shutil.copytree(folder, guessed)
    plant(next(guessed.glob("spring_*.py")), mark)
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    said, place = run_python(SPRING, GAUSSOPT_CACHE=str(blocked), TMPDIR=str(spare)).split()
    assert float(said) == -4.0
    assert not mark.exists()
    assert Path(place).parent.parent == spare
    assert Path(place).parent != guessed
    assert not Path(place).exists()  # it ended with its process


def test_without_a_cache_the_source_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    monkeypatch.setenv("GAUSSOPT_CACHE", str(blocked))
    system = spring()
    path = system.source_path
    assert path.read_text(encoding="utf-8") == system.source
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.parent.stat().st_uid == os.geteuid()
    function = system._module.step
    assert inspect.getsource(function).startswith("def step(")
    with pytest.raises(TypeError) as caught:
        function(0.0, None, None, None, None)
    assert "q[0]" in "".join(traceback.format_exception(caught.value))
    forget(system)


def test_folder_and_files_are_closed_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "new" / "kept"
    monkeypatch.setenv("GAUSSOPT_CACHE", str(place))
    before = os.umask(0)
    try:
        assert force() == -4.0
    finally:
        os.umask(before)
    assert place.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in place.iterdir()] == [0o600]


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_chosen_folder_that_others_can_write_to_is_bad_input(
    mode: int, folder: Path, assert_sentence: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    folder.chmod(mode)
    with pytest.raises(go.BadInput) as caught:
        force()
    assert_sentence(caught.value, "GAUSSOPT_CACHE", str(folder), "0700")
    assert run(["list", "solvers", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["message"] == str(caught.value)
    folder.chmod(0o755)
    assert force() == -4.0
    assert run(["list", "solvers", "--json"]) == 0


def test_the_usual_folder_is_left_alone_where_others_can_write_to_it(usual: Path, tmp_path: Path) -> None:
    assert force() == -4.0
    (source,) = usual.iterdir()
    usual.chmod(0o777)
    source.write_text(PLANT.format(mark=str(tmp_path / "mark")), encoding="utf-8")
    kept = source.read_bytes()
    with pytest.warns(cache.UnsafeCache, match="can be written to by others") as found:
        assert force() == -4.0
    assert len(found) == 1
    assert str(usual) in str(found[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        assert force() == -4.0
    assert source.read_bytes() == kept
    assert not (tmp_path / "mark").exists()


def test_the_command_line_warns_by_one_sentence(usual: Path) -> None:
    usual.mkdir(parents=True)
    usual.chmod(0o777)
    # In a process of its own: a problem whose system was built before asks the cache for nothing.
    words = ["-m", "gaussopt", "run", "knife-edge-body", "--t-end", "0.002", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    shown = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(shown.stdout)["status"] == "solved"
    (line,) = shown.stderr.splitlines()
    assert line.startswith(f"gaussopt: The cache folder {usual} can be written to by others")


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_a_file_that_others_can_write_to_is_not_used(mode: int, folder: Path, tmp_path: Path) -> None:
    (source,) = folder.iterdir()
    good = source.read_bytes()
    source.chmod(mode)
    _forge(source, tmp_path / "mark")
    cache._warn.cache_clear()
    with pytest.warns(cache.UnsafeCache, match="can be written to by others"):
        assert force() == -4.0
    assert not (tmp_path / "mark").exists()
    assert source.read_bytes() == good
    assert source.stat().st_mode & 0o777 == 0o600


def _forge(source: Path, mark: Path) -> None:
    """A source of somebody else's with a seal that is right."""
    body = PLANT.format(mark=str(mark)).encode()
    source.write_bytes(body + cache._seal(source.name, body))


@pytest.mark.parametrize("kind", ["link", "link to nothing", "pipe", "folder"])
def test_what_is_no_file_is_not_used(kind: str, folder: Path, tmp_path: Path) -> None:
    (source,) = folder.iterdir()
    mark, aside = tmp_path / "mark", tmp_path / source.name
    _forge(source, mark)
    if kind == "link":
        source.rename(aside)
        source.symlink_to(aside)
        before = aside.read_bytes()
    else:
        source.unlink()
    if kind == "link to nothing":
        source.symlink_to(aside)
    elif kind == "pipe":
        os.mkfifo(source)
    elif kind == "folder":
        source.mkdir()
    cache._warn.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cache.UnsafeCache)
        assert force() == -4.0
    assert not mark.exists()
    if kind == "link":
        assert aside.read_bytes() == before  # it was replaced, not written through
    if kind == "link to nothing":
        assert not aside.exists()


@pytest.fixture
def root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files to others, and become another user")


@pytest.mark.usefixtures("root")
def test_a_chosen_folder_of_another_user_is_bad_input(folder: Path, assert_sentence: Callable[..., None]) -> None:
    os.chown(folder, NOBODY, NOBODY)
    with pytest.raises(go.BadInput) as caught:
        force()
    assert_sentence(caught.value, "GAUSSOPT_CACHE", "another user", str(NOBODY))


@pytest.mark.usefixtures("root")
def test_the_usual_folder_of_another_user_is_left_alone(usual: Path) -> None:
    usual.mkdir(parents=True)
    os.chown(usual, NOBODY, NOBODY)
    with pytest.warns(cache.UnsafeCache, match="belongs to another user"):
        assert force() == -4.0
    assert list(usual.iterdir()) == []


@pytest.mark.usefixtures("root")
def test_a_file_of_another_user_is_not_used(folder: Path, tmp_path: Path) -> None:
    (source,) = folder.iterdir()
    _forge(source, tmp_path / "mark")
    os.chown(source, NOBODY, NOBODY)
    cache._warn.cache_clear()
    with pytest.warns(cache.UnsafeCache, match="belongs to another user"):
        assert force() == -4.0
    assert not (tmp_path / "mark").exists()
    assert source.stat().st_uid == 0


@pytest.fixture
def common(root: None) -> Iterator[Path]:
    """A place that every user can enter and write to, as /tmp is."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o1777)
        yield place


def as_nobody(function: Callable[[], str]) -> str:
    """What a function returns that another user runs, in a fork: the sources may be readable for root only."""
    force()  # loads what could not be read then
    there, here = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            said = function()
        except BaseException:
            said = traceback.format_exc()
        os.write(here, said.encode())
        os._exit(0)
    os.close(here)
    os.waitpid(child, 0)
    with os.fdopen(there, encoding="utf-8") as answer:
        return answer.read()


def elsewhere(folder: Path, temporary: Path) -> str:
    """The force of the spring and where its source is, with other folders."""
    os.environ["GAUSSOPT_CACHE"], tempfile.tempdir = str(folder), str(temporary)
    sys.modules.pop(spring_name(), None)
    system = spring()
    return f"{system.evaluate(0.0, [1.0], [0.0]).Q[0]} {system.source_path}"


def spring_name() -> str:
    file = generated_modules._file("spring", source.key_of(spring().model.key))
    return f"gaussopt_generated_{file.removesuffix('.py')}"


def test_what_another_user_planted_does_not_run(common: Path, folder: Path, run_python: Callable[..., str]) -> None:
    """The attack itself: nobody waits in the common temporary folder for root, whose cache cannot be written."""
    mark, guessed, kept = common / "mark", common / "gaussopt-0", next(folder.iterdir())
    text = kept.read_bytes()

    def attack() -> str:
        guessed.mkdir()
        (guessed / kept.name).write_bytes(text)
        plant(guessed / kept.name, mark)
        return "planted"

    assert as_nobody(attack) == "planted"
    assert guessed.stat().st_uid == NOBODY
    blocked = common / "blocked"
    blocked.write_text("a file where the folder should be")
    assert run_python(SPRING, GAUSSOPT_CACHE=str(blocked), TMPDIR=str(common)).startswith("-4.0 ")
    assert not mark.exists()


def test_another_user_computes_without_a_cache(common: Path, folder: Path) -> None:
    """Somebody whose cache cannot be written, beside what root left in the common temporary folder."""
    closed, guessed = common / "closed", common / f"gaussopt-{NOBODY}"
    closed.mkdir(mode=0o755)
    guessed.mkdir()
    said, place = as_nobody(lambda: elsewhere(closed, common)).split()
    assert float(said) == -4.0
    assert Path(place).parent.parent == common
    assert Path(place).stat().st_uid == NOBODY
    assert list(closed.iterdir()) == list(guessed.iterdir()) == []


def test_another_user_is_not_fooled_either(common: Path, folder: Path) -> None:
    theirs = common / "theirs"
    theirs.mkdir()
    theirs.chmod(0o777)
    said = as_nobody(lambda: elsewhere(theirs, common))
    assert f"BadInput: GAUSSOPT_CACHE is {str(theirs)!r}, which can be written to by others" in said
    assert list(theirs.iterdir()) == []


def test_another_user_may_read_what_root_prepared(common: Path, folder: Path) -> None:
    """Root is trusted anyway."""
    prepared = common / "prepared"
    shutil.copytree(folder, prepared)
    prepared.chmod(0o755)
    (source,) = prepared.iterdir()
    source.chmod(0o644)
    said, path = as_nobody(lambda: elsewhere(prepared, common)).split()
    assert float(said) == -4.0
    assert Path(path) == source


# -- damage -----------------------------------------------------------------------------------------------------


def test_every_flipped_bit_of_a_source_is_noticed(folder: Path) -> None:
    (source,) = folder.iterdir()
    good = source.read_bytes()
    random = np.random.default_rng(0)
    for place in random.integers(8 * len(good), size=100):
        flipped = bytearray(good)
        flipped[place // 8] ^= 1 << place % 8
        source.write_bytes(flipped)
        assert cache.read(source.name) is None
    source.write_bytes(flipped)
    assert force() == -4.0
    assert source.read_bytes() == good


def test_a_source_under_another_name_is_noticed(folder: Path) -> None:
    (source,) = folder.iterdir()
    source.rename(folder / "another_0123456789abcdef.py")
    assert generated_modules.load("another", "0123456789abcdef") is None


def test_every_flipped_bit_of_machine_code_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    from gaussopt.jit import llvm

    monkeypatch.setenv("GAUSSOPT_CACHE", str(tmp_path))
    text = "def f(x: float) -> float:\n    return 3*x\n"
    module = generated_modules.store("flipped", source.key_of(text), text)
    assert llvm.functions(module, ["f"], False)["f"](2.0) == 6.0
    (code,) = tmp_path.glob("*.o")
    good = code.read_bytes()
    for place in np.random.default_rng(0).integers(8 * len(good), size=100):
        flipped = bytearray(good)
        flipped[place // 8] ^= 1 << place % 8
        code.write_bytes(flipped)
        assert cache.read(code.name) is None
    assert llvm.functions(module, ["f"], False)["f"](2.0) == 6.0
    assert code.read_bytes() == good
    assert code.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("root")
def test_machine_code_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    from gaussopt.jit import llvm

    monkeypatch.setenv("GAUSSOPT_CACHE", str(tmp_path))
    texts = [f"def f(x: float) -> float:\n    return {factor}*x\n" for factor in (5, 7)]
    modules = [generated_modules.store("owned", source.key_of(text), text) for text in texts]
    for module in modules:
        llvm.functions(module, ["f"], False)
    codes = [next(tmp_path.glob(f"{module.__name__.removeprefix('gaussopt_generated_')}_*.o")) for module in modules]
    # A whole forgery: the code of the second under the name of the first, with a right seal.
    body = codes[1].read_bytes()[: -cache._SEAL]
    codes[0].write_bytes(body + cache._seal(codes[0].name, body))
    assert llvm.functions(modules[0], ["f"], False)["f"](1.0) == 7.0  # the user's own files are trusted
    os.chown(codes[0], NOBODY, NOBODY)
    cache._warn.cache_clear()
    with pytest.warns(cache.UnsafeCache, match="belongs to another user"):
        assert llvm.functions(modules[0], ["f"], False)["f"](1.0) == 5.0


# -- names ------------------------------------------------------------------------------------------------------

MARK = "planted_by_a_name"
NAMES = (
    f"__import__('os').mkdir('{MARK}')",
    f'"""\n__import__("os").mkdir("{MARK}")\n"""',
    f"x = 0\n    __import__('os').mkdir('{MARK}') #",
    f"\\\n__import__('os').mkdir('{MARK}')",
    f"\u2028__import__('os').mkdir('{MARK}')",
    "q[0]", "class", "out", "\N{GREEK SMALL LETTER THETA}\u0301", "a" * 300,
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_do_not_become_code(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name appears in the source as an identifier that we made, or in a text that it cannot end."""
    monkeypatch.chdir(tmp_path)
    q, v, k = sp.Symbol(name), sp.Symbol(name + "'"), sp.Symbol(name + "_k")
    given: Any = {
        "parameters": {k: 2.0},
        "contacts": [go.Contact(name, gap=q + 9 + sp.cos(q) / 9, slip=(v,), mu=k / 8)],
        "name": name,
    }
    system = go.System.from_lagrangian([q], [v], kinetic=v**2 / 2, potential=k * q**2, **given)
    assert isinstance(system, LagrangianSystem)
    assert system.evaluate(0.0, [1.0], [0.0]).Q[0] == -4.0
    assert system.with_parameters(**{name + "_k": 1.0}).evaluate(0.0, [1.0], [0.0]).Q[0] == -2.0
    falling = go.Problem.of(system, q0=[1.0], v0=[0.0], t_end=0.01)
    for chosen in ({"engine": "compiled"}, {"stepper": "rk45"}):
        go.simulate(falling, error_estimate=False, **chosen)
    defined = {line.split("(")[0] for line in system.source.splitlines() if line[:1].strip() and line[:1] not in "#\"'"}
    assert all(line.startswith(("def ", "from math", "VARYING", "Generated by")) for line in defined), defined
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NAMES[:5])
def test_names_outside_the_model_are_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for part in (sp.Symbol(name), sp.Function(name)(x), sp.IndexedBase(name)[0], sp.Dummy(name)):
        with pytest.raises(go.BadInput):
            go.System.from_lagrangian([x], [u], kinetic=u**2 / 2, potential=x * part)
    assert list(tmp_path.iterdir()) == []


CODE = f"__import__('os').mkdir('{MARK}')"


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "crank-slider", "--set", f"l1={CODE}"],
        ["run", "crank-slider", "--set", f"{CODE}=1"],
        ["run", "crank-slider", "--set", f"q0={CODE}"],
        ["run", "crank-slider", "--solver", "osqp", "--solver-option", f"eps_abs={CODE}"],
        ["run", "crank-slider", "--solver", "cvxpy", "--solver-option", f"solver={CODE}"],
        ["run", CODE],
        ["run", "crank-slider", "--solver", CODE],
        ["run", "crank-slider", "--stepper", f"rk45(rtol={CODE})"],
        ["atlas", "two-bar", "--axis", f"mu={CODE}:1:3", "--out", "o"],
        ["atlas", "two-bar", "--axis", f"{CODE}=0:1:3", "--out", "o"],
        ["atlas", "two-bar", "--slips", CODE, "--out", "o"],
        ["compare", "--family", "chain", "--dial", f"number={CODE}", "--out", "o"],
        ["compare", "--family", CODE, "--out", "o"],
        ["compare", "crank-slider", "--solvers", f"osqp(eps_abs={CODE})", "--out", "o"],
        ["compare", "crank-slider", "--stepper", f"rk45(rtol={CODE})", "--out", "o"],
        ["compare", "crank-slider", "--precision", CODE, "--out", "o"],
        ["export", "crank-slider", "--formulation", CODE, "--out", "o"],
    ],
)
def test_options_are_never_code(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    assert not (tmp_path / MARK).exists()


# What may take text for code or load objects, and why each of them is harmless.
KNOWN = {
    "symbolic/reading.py: sympify": "expressions that a program gives",
    "codegen/step.py: sympify": "expressions of a model",
    "codegen/constrained_step.py: sympify": "expressions of a model",
    "symbolic/rotations.py: sympify": "expressions of a model",
    "symbolic/model.py: sympify": "expressions of a model",
    "symbolic/gap_angles.py: lambdify": "expressions of a model, whose symbols have names that we made",
    "symbolic/outline.py: lambdify": "expressions of a model, whose symbols have names that we made",
    "processes/child_process.py: pickle": "between a process and its child, over a pipe that only they hold",
    "processes/guarded_process.py: pickle": "between a process and its child, over a pipe that only they hold",
    "processes/guarded_process.py: subprocess": "an interpreter of its own, by a list of arguments",
    "jit/translation.py: literal_eval": "tables of numbers in generated sources, read as constants",
    "core/fast_frozen.py: exec": "names of fields of our own classes",
    "jit/entry.py: exec": "numbers of arguments and of their axes",
    "bodies/body.py: sympify": "strict: numbers and expressions that a program gives, no text",
    "bodies/body.py: lambdify": "numbers and expressions that a program gives",
    "bodies/element.py: sympify": "numbers and expressions that a program gives",
    "bodies/tree.py: sympify": "expressions of a model",
    "bodies/model.py: sympify": "numbers and expressions that a program gives",
    "bodies/picture.py: sympify": "strict: numbers and expressions that a program gives, no text",
    "bodies/slips.py: sympify": "strict: numbers and expressions that a program gives, no text",
    "symbolic/of_state.py: sympify": "strict: numbers and expressions that a program gives, no text",
    "bodies/free_bodies.py: sympify": "strict: numbers and expressions that a program gives, no text",
    "bodies/drawing.py: sympify": "expressions of a model",
    "bodies/tables.py: lambdify": "expressions and names that a program gives",
    "symbolic/of_state.py: lambdify": "expressions and names that a program gives",
    "symbolic/turns.py: sympify": "expressions of a model",
    "symbolic/turns.py: lambdify": "expressions of a model, at random numbers",
    "papers/sections/appendix.py: subprocess": "git, by a list of arguments",
    "reporting/pdf.py: subprocess": "a browser, by a list of arguments",
}
SUSPECTS = (
    "eval", "exec", "pickle", "marshal", "shelve", "sympify", "parse_expr", "yaml", "joblib", "cloudpickle", "popen",
    "system", "subprocess", "allow_pickle", "shell", "lambdify", "literal_eval", "read_pickle", "dill",
)  # fmt: skip


def test_text_becomes_code_nowhere_else() -> None:
    """Whoever adds a call that runs text or loads objects says here why it is harmless."""
    word = re.compile(rf"\b({'|'.join(SUSPECTS)})\b")
    found = set()
    for folder in ("gaussopt", "problems", "solvers"):
        for file in (ROOT / folder).rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            if word.search(text):
                where = file.relative_to(ROOT / folder).as_posix()
                found |= {f"{where}: {name}" for node in ast.walk(ast.parse(text)) for name in _suspects(node)}
    assert found == set(KNOWN)


def _suspects(node: ast.AST) -> set[str]:
    """Suspicious names that a line of Python calls, passes or imports."""
    names: set[str] = set()
    if isinstance(node, ast.Import):
        names = {alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom):
        names = {node.module or ""}
    elif isinstance(node, ast.Call):
        owner = getattr(getattr(node.func, "value", None), "id", "")
        called = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
        names = {k.arg or "" for k in node.keywords} | ({called} if called != "system" or owner == "os" else set())
    return names & set(SUSPECTS)
