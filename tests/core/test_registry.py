from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gaussopt as go
from gaussopt.core import registry

SOLVER = '''
"""Gaussian elimination, as a reader of the documentation would add it."""
import numpy as np
from gaussopt.core.programs import LinearSystem
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status

class Elimination(Solver[Options]):
    name = "my-elimination"
    title = "numpy's solve"
    source = "a test"
    accepts = (LinearSystem,)

    def setup(self, program):
        self.program = program

    def solve(self, start):
        return RawSolution(np.linalg.solve(self.program.K, self.program.b), None, Status.SOLVED)

solver = Elimination
'''

FORMULATION = '''
"""The Schur complement: forces first, then the acceleration."""
import numpy as np
from gaussopt.formulations.base import Formulation
from gaussopt.core.programs import LinearSystem

class Schur(Formulation):
    name = "my-schur"
    title = "Schur complement"
    source = "a test"

    def apply(self, step):
        W = np.linalg.solve(step.M, step.J.T)
        free = np.linalg.solve(step.M, step.force)
        return LinearSystem(step.J @ W, step.gamma - step.J @ free), (W, free)

    def recover(self, data, x, y):
        W, free = data
        return free + W @ x, x

formulation = Schur()
'''

PROBLEM = '''
"""A mass on a spring."""
import numpy as np
import sympy as sp
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.callables import System

def build():
    x, u, m, k = sp.symbols("x u m k")
    return System.from_lagrangian([x], [u], kinetic=m * u**2 / 2, potential=k * x**2 / 2,
                                  parameters={"m": 1.0, "k": 1.0}, name="my-spring")

problem = Problem(
    name="my-spring", title="Spring", source="a test", description="One mass.", build=build,
    start=lambda p: (np.array([1.0]), np.zeros(1)),
    parameters=(Parameter("m", 1.0, "kg", "mass"), Parameter("k", 1.0, "N/m", "stiffness")),
    t_end=1.0, dt=0.01,
)
'''

FILES = {"my_elimination.py": SOLVER, "my_schur.py": FORMULATION, "my_spring.py": PROBLEM}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "plugins"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def test_the_package_lists_its_own_entries() -> None:
    assert {"crank-slider", "four-bar", "knife-edge-body"} <= set(go.names("problem"))
    assert {"gauss", "lagrange", "least-squares", "least-squares-as-printed"} <= set(go.names("formulation"))
    assert {"cvxpy", "deap", "kkt", "newton", "osqp"} <= set(go.names("solver"))
    assert {"dop853", "radau", "rattle", "rk4", "rk45", "semi-implicit", "velocity-gauss"} <= set(go.names("stepper"))


@pytest.mark.parametrize("kind", registry.KINDS)
def test_every_entry_describes_itself(kind: str) -> None:
    for name in go.names(kind):
        entry = registry.load(kind, name)
        assert entry.name == name
        assert entry.title
        assert entry.source


@pytest.mark.parametrize(
    ("kind", "wrong", "right"),
    [
        ("problem", "crank_slider", "crank-slider"), ("problem", "cranck-slidr", "crank-slider"),
        ("formulation", "gaus", "gauss"), ("formulation", "Lagrange", "lagrange"), ("solver", "osqpp", "osqp"),
        ("solver", "newtom", "newton"), ("stepper", "rk5", "rk45"),
    ],
)  # fmt: skip
def test_an_unknown_name_gets_the_nearest(
    kind: str, wrong: str, right: str, assert_sentence: Callable[..., None]
) -> None:
    with pytest.raises(go.UnknownName) as caught:
        registry.load(kind, wrong)
    assert_sentence(caught.value, kind, repr(wrong), f"did you mean {right!r}")


def test_a_file_in_place_of_a_name_is_told_how_it_becomes_one() -> None:
    with pytest.raises(go.UnknownName, match=r"set GAUSSOPT_PLUGINS=my_solver\.py .* and name it 'my-solver'"):
        go.make_solver("my_solver.py")


def test_a_name_like_no_other_gets_the_list(assert_sentence: Callable[..., None]) -> None:
    with pytest.raises(go.UnknownName) as caught:
        registry.load("solver", "zzzzzz")
    assert_sentence(caught.value, "'zzzzzz'", "kkt", "newton", "osqp")


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(go.GaussoptError, match="solvers"):
        go.names("solvers")


def test_one_file_adds_a_solver_a_formulation_or_a_problem(folder: Path, crank: go.Problem) -> None:
    assert go.register(folder / "my_elimination.py") == ("solver", "my-elimination")
    assert go.register(str(folder / "my_schur.py")) == ("formulation", "my-schur")
    assert go.register(folder / "my_spring.py") == ("problem", "my-spring")
    for kind, name in (("solver", "my-elimination"), ("formulation", "my-schur"), ("problem", "my-spring")):
        assert name in go.names(kind)
    step = crank.system.evaluate(0.0, crank.q0, crank.v0)
    answer = go.solve_step(step, "my-schur", "my-elimination")
    assert answer.status is go.Status.SOLVED
    np.testing.assert_allclose(answer.a, go.solve_step(step).a, rtol=1e-10, atol=1e-10)
    traj = go.simulate(go.problem("my-spring", k=4.0), "lagrange", "my-elimination")
    # rk4 at dt = 0.01 with frequency 2: the error is below (2 dt)^4 / 120 times the phase of 2.
    assert traj.q[-1, 0] == pytest.approx(np.cos(2.0), abs=1e-8)


def test_plugins_of_the_environment_are_found(folder: Path, run_python: Callable[..., str]) -> None:
    alone = folder.parent / "elsewhere.py"
    alone.write_text(SOLVER.replace("my-elimination", "elsewhere"))
    code = (
        "import gaussopt as go\n"
        "print(*go.names('solver'), *go.names('formulation'), *go.names('problem'))\n"
        "print(go.simulate('my-spring', 'lagrange', 'my-elimination', stepper='dop853').q[-1, 0])\n"
        "print(go.solve_step(go.problem('crank-slider').system.evaluate(0, *(lambda p: (p.q0, p.v0))("
        "go.problem('crank-slider'))), 'my-schur', 'elsewhere').a[2])\n"
    )
    listed, end, crank = run_python(code, GAUSSOPT_PLUGINS=os.pathsep.join((str(folder), str(alone)))).splitlines()
    assert {"my-elimination", "elsewhere", "my-schur", "my-spring", "kkt", "gauss", "crank-slider"} <= set(
        listed.split()
    )
    assert float(end) == pytest.approx(np.cos(1.0), abs=1e-8)
    assert float(crank) == pytest.approx(-156.57953216374, rel=1e-10)


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("solver = (", "SyntaxError"),
        ("import nonexistent_pkg\nsolver = 1", "nonexistent_pkg"),
        ("x = 1", "defines none of"),
        ("class S: name = 'other'\nsolver = S", "'other'"),
        ("solver = 3", "mine"),
    ],
)
def test_a_file_that_cannot_be_registered_is_named(
    text: str, culprit: str, tmp_path: Path, assert_sentence: Callable[..., None]
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    before = {kind: go.names(kind) for kind in registry.KINDS}
    with pytest.raises(go.BadInput) as caught:
        go.register(path)
    assert_sentence(caught.value, "mine", culprit)
    assert {kind: go.names(kind) for kind in registry.KINDS} == before


def test_a_file_may_import_its_neighbours(folder: Path, clean_registry: None) -> None:
    """And is another solver when they change; two folders may have neighbours of the same name."""
    text = SOLVER.replace("import numpy", "from helper import VALUE\nimport numpy", 1) + "\nsolver.value = VALUE\n"
    other = folder.parent / "other"
    other.mkdir()
    for place, name, value in ((folder, "my_elimination", 1), (other, "elsewhere", 2)):
        (place / f"{name}.py").write_text(text.replace("my-elimination", name.replace("_", "-")))
        (place / "helper.py").write_text(f"VALUE = {value}\n")
        go.register(place / f"{name}.py")
    assert [registry.load("solver", n).value for n in ("my-elimination", "elsewhere")] == [1, 2]
    assert registry.sources("solver", "elsewhere")["helper"] == b"VALUE = 2\n"
    # Another process needs no file of them.
    files = registry.registered_files()
    (folder / "helper.py").write_text("VALUE = 3\n")
    registry.adopt([*files, files[0]])
    assert registry.load("solver", "my-elimination").value == 1
    # A file that is named again is read again if a neighbour has changed.
    assert registry.named_by_file("solver", folder / "my_elimination.py") == "my-elimination"
    assert registry.load("solver", "my-elimination").value == 3


def test_one_broken_plugin_is_named_and_the_others_are_listed(folder: Path, run_python: Callable[..., str]) -> None:
    (folder / "broken.py").write_text("solver = 1 / 0\n")
    (folder / "_helper.py").write_text("1 / 0\n")  # no plug-in, by its name
    code = (
        "import warnings, gaussopt as go\n"
        "from gaussopt.core import registry\n"
        "with warnings.catch_warnings(record=True) as said:\n"
        "    print('my-elimination' in go.names('solver'), *(str(s.message) for s in said))\n"
        "try:\n"
        "    registry.load('solver', 'broken')\n"
        "except go.BadInput as error:\n"
        "    print(error)\n"
    )
    listed, why = run_python(code, GAUSSOPT_PLUGINS=str(folder)).splitlines()
    sentence = "broken.py, line 1: ZeroDivisionError: division by zero"
    assert listed == f"True {sentence}; the plug-in is left out."
    assert why == f"{sentence}."


def test_what_is_not_a_python_file_is_named(tmp_path: Path, assert_sentence: Callable[..., None]) -> None:
    (tmp_path / "notes.txt").write_text("solver = 1")
    for path in (tmp_path / "absent.py", tmp_path / "notes.txt", tmp_path):
        with pytest.raises(go.BadInput) as caught:
            go.register(path)
        assert_sentence(caught.value, path.name)


@pytest.mark.parametrize(
    ("extra", "remedy"), [("", "pip install nonexistent_pkg"), ("fast", "pip install 'gaussopt[fast]'")]
)
def test_a_missing_backend_says_what_to_install(
    extra: str, remedy: str, folder: Path, crank: go.Problem, assert_sentence: Callable[..., None]
) -> None:
    text = SOLVER.replace('source = "a test"', f'source = "a test"; requires = ("nonexistent_pkg",); extra = "{extra}"')
    (folder / "my_elimination.py").write_text(text)
    go.register(folder / "my_elimination.py")
    assert "my-elimination" in go.names("solver")
    with pytest.raises(go.MissingBackend) as caught:
        go.simulate(crank, "lagrange", "my-elimination", t_end=0.01)
    assert "'my-elimination'" in str(caught.value)
    assert "'nonexistent_pkg'" in str(caught.value)
    assert remedy in str(caught.value)
    assert "\n" not in str(caught.value)


def test_listing_loads_no_backend(run_python: Callable[..., str]) -> None:
    code = (
        "import sys, gaussopt as go\n"
        "for kind in ('problem', 'formulation', 'solver', 'stepper'): go.names(kind)\n"
        "print([p for p in ('cvxpy', 'osqp', 'deap', 'sympy', 'matplotlib', 'pandas', 'xarray') if p in sys.modules])"
    )
    assert run_python(code).strip() == "[]"


def test_the_top_level_names_exist() -> None:
    for name in go.__all__:
        assert getattr(go, name) is not None
    assert set(go.__all__) <= set(dir(go))
    with pytest.raises(AttributeError, match="nonsense"):
        go.nonsense  # noqa: B018


def test_a_registered_file_travels_with_its_source(tmp_path: Path) -> None:
    file = tmp_path / "my_elimination.py"
    assert registry.register(file, SOLVER.encode()) == ("solver", "my-elimination")  # nothing is there
    assert registry.registered_files()[-1] == registry.Registered(str(file), SOLVER.encode())
    assert list(registry.sources("solver", "my-elimination").values()) == [SOLVER.encode()]
    loaded = registry.load("solver", "my-elimination")
    registry.adopt(registry.registered_files())
    assert registry.load("solver", "my-elimination") is loaded  # known already
    edited = SOLVER.replace("a test", "another test").encode()
    registry.adopt([registry.Registered(str(file), edited)])
    assert registry.load("solver", "my-elimination").source == "another test"


def test_an_entry_s_sources_are_its_file_the_helpers_and_the_tables() -> None:
    assert {"osqp.py", "_places.py"} <= set(registry.sources("solver", "osqp"))
    assert "kkt.py" not in registry.sources("solver", "osqp")
    assert {"crank_slider.py", "crank_A_2s.csv"} <= set(registry.sources("problem", "crank-slider"))
    with pytest.raises(go.UnknownName):
        registry.sources("solver", "oskp")
