"""A person's own problem in a file: named by its path, complete without ceremony, wrong with a file and a line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.core import registry

PENDULUM = """
import sympy as sp
import gaussopt as go

x, y, vx, vy, m, g, l = sp.symbols("x y vx vy m g l")
system = go.System.from_lagrangian(
    [x, y], [vx, vy], kinetic=m * (vx**2 + vy**2) / 2, potential=m * g * y, holonomic=[x**2 + y**2 - l**2],
    parameters={m: 1.0, g: 9.81, l: 1.0})
problem = go.Problem.of(system, q0=lambda p: [p["l"], 0.0], t_end=0.5)
"""


@pytest.fixture
def pendulum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "my_pendulum.py"
    file.write_text(PENDULUM)
    return file


def test_a_file_is_a_problem(pendulum: Path) -> None:
    entry = go.problem("my_pendulum.py")
    assert (entry.name, entry.title, entry.system.name) == ("my-pendulum",) * 3
    assert entry.parameter_values == {"m": 1.0, "g": 9.81, "l": 1.0}
    assert (entry.t_end, entry.dt) == (0.5, 0.0005)
    np.testing.assert_array_equal(entry.q0, [1.0, 0.0])
    np.testing.assert_array_equal(entry.v0, [0.0, 0.0])
    assert "my-pendulum" in go.names("problem")
    assert go.problem(str(pendulum)) is go.problem("./my_pendulum.py") is entry  # not read again
    longer = go.problem("my_pendulum.py", l=2.0)
    np.testing.assert_array_equal(longer.q0, [2.0, 0.0])
    motion = go.simulate(longer, stepper="dop853")
    assert motion.status is go.Status.SOLVED
    assert motion.energy[-1] == pytest.approx(0.0, abs=1e-6)


def test_an_edited_file_is_read_again(pendulum: Path) -> None:
    from gaussopt.comparison.items import SIMULATED, states_of

    def heights() -> list[float]:
        return [float(item.data.q[1]) for item in states_of(go.problem("my_pendulum.py"), SIMULATED, 50)]  # type: ignore[union-attr,index]

    before = heights()
    pendulum.write_text(PENDULUM.replace("g: 9.81", "g: 1.62"))
    assert go.problem("my_pendulum.py").parameter_values["g"] == 1.62
    assert heights()[-1] > before[-1]


def test_a_problem_needs_no_file_in_a_simulation() -> None:
    fall = go.System([[2.0]], [-19.62], energy=lambda t, q, v: (v[0] ** 2, 19.62 * q[0]), name="stone")
    motion = go.simulate(go.Problem.of(fall, [1.0], t_end=0.4, dt=0.1))
    assert motion.q[-1, 0] == pytest.approx(1 - 9.81 * 0.08)
    assert motion.meta["problem"] == "stone"
    assert np.isnan(motion.power).all()  # nobody said what it is
    braked = go.System([[2.0]], lambda t, q, v: -3 * v, energy=lambda t, q, v: (v[0] ** 2, 0.0, -3 * v[0] ** 2))
    motion = go.simulate(go.Problem.of(braked, [1.0], [2.0], t_end=0.4, dt=0.1))
    assert motion.power == pytest.approx(-3 * motion.v[:, 0] ** 2)


@pytest.mark.usefixtures("undrawn")
def test_every_command_takes_a_file(pendulum: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "my_pendulum.py", "--set", "l=0.5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["problem"], found["parameters"]["l"]) == ("my-pendulum", 0.5)
    assert run(["export", "my_pendulum.py", "--formulation", "gauss", "--stride", "50", "--out", "sequence"]) == 0
    words = ["compare", "my_pendulum.py", "--formulations", "gauss,lagrange", "--solvers", "kkt,newton", "--jobs", "1"]
    assert run([*words, "--out", "mine", "--stride", "50", "--time-budget", "0.01", "--t-end", "0.01"]) == 0
    out, err = capsys.readouterr()
    assert "every answer" in out, out
    assert "3 pairs of a formulation and a solver will be compared on " in err
    report = Path("mine/index.md").read_text()
    assert "| problems: my-pendulum: q0 | 1.0, 0.0 |" in report  # what a reader needs to do it again
    assert "| problems: my-pendulum: parameters: g | 9.81 |" in report
    assert "| name | value | \n" in report  # no columns for units and meanings that nobody gave
    for foreign in ("Convergence", "tipping", "Source: .", "Problem(sketch", "not registered"):
        assert foreign not in report


def test_an_atlas_of_a_file(pendulum: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PENDULUM.replace("holonomic=[x**2 + y**2 - l**2]", 'contacts=[go.Contact("A", position=(x, y), mu=l)]')
    (pendulum.parent / "block.py").write_text(text.replace('p["l"], 0.0', "0.0, 0.0"))
    assert run(["atlas", "block.py", "--axis", "l=0:1:3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["problem"] == "block"
    assert Path(found["report"]) == Path("reports/atlas-block/index.html")


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (lambda s: "x = 1\n", ("mine.py", "no 'problem'", "gaussopt.Problem.of(system, q0=..., t_end=...)")),
        (lambda s: s + "problem = 3\n", ("problem in mine.py is of type int", "Problem.of")),
        (lambda s: s.replace("go.Problem.of(system,", "go.Problem.of(3,"), ("mine.py, line 9", "int")),
        (lambda s: s.replace("g: 9.81, ", ""), ("mine.py, line 6", "unknown symbol 'g'")),
        (lambda s: s.replace("0.0], t_end", "0.0, 1.0], t_end"), ("mine.py, line 9", "shape (3,)")),
        (lambda s: s.replace('p["l"]', 'p["L"]'), ("mine.py, line 9", "KeyError: 'L'")),
        (lambda s: s.replace(", t_end=0.5", ""), ("mine.py, line 9", "t_end")),
        (lambda s: s.replace("t_end=0.5)", "t_end=0.5"), ("mine.py, line 9", "SyntaxError")),
        (lambda s: s + "raise SystemExit('done')\n", ("mine.py, line 10", "SystemExit: done.")),
        (lambda s: s.replace("potential=", "potental="), ("mine.py, line 6", "did you mean 'potential'?")),
        (lambda s: s.replace("m * g * y", "m * g * __import__('numpy').cos(y)"), ("mine.py, line 7", "sympy.cos")),
        (lambda s: s.replace("t_end=0.5", "t_end=0.5, units={'z': 'm'}"), ("line 9", "coordinate 'z' in units")),
        (lambda s: s.replace("t_end=0.5", "t_end=0.5, units=['m']"), ("line 9", "give a mapping such as")),
        (lambda s: s.replace("m * g * y", "m * g * z"), ("mine.py, line 7", "NameError", "'z'")),
    ],
)  # fmt: skip
def test_a_mistake_is_a_sentence_with_file_and_line(
    change: Callable[[str], str], parts: tuple[str, ...], pendulum: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pendulum.with_name("mine.py").write_text(change(PENDULUM))
    assert run(["run", "mine.py"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert all(part in err for part in parts), err


def test_files_that_cannot_be_told_apart_or_are_not_there(pendulum: Path) -> None:
    folder = pendulum.parent
    (folder / "two_bar.py").write_text(PENDULUM)
    with pytest.raises(go.BadInput, match=r"two_bar.py would be the problem 'two-bar', which ships with gaussopt"):
        go.problem("two_bar.py")
    (folder / "copy").mkdir()
    (folder / "copy" / "my_pendulum.py").write_text(PENDULUM)
    go.problem("my_pendulum.py")
    with pytest.raises(go.BadInput, match="would both be the problem 'my-pendulum'; rename one"):
        go.problem("copy/my_pendulum.py")
    with pytest.raises(go.BadInput, match=r"There is no file absent.py\."):
        go.problem("absent.py")
    with pytest.raises(go.BadInput, match="not a Python file"):
        go.problem("copy/")
    with pytest.raises(go.BadInput, match=r"did you mean the file my_pendulum.py\?"):
        go.problem("my_pendulum")


def test_a_comparison_refuses_a_start_off_the_constraints_before_it_computes(pendulum: Path) -> None:
    pendulum.write_text(PENDULUM.replace('p["l"], 0.0', '2 * p["l"], 0.0'))
    with pytest.raises(go.BadInput, match="'my-pendulum' is off the constraints"):
        go.compare("my_pendulum.py", out="mine")
    assert not Path("mine").exists()


@pytest.mark.parametrize("name", [n for n in go.names("problem") if n in registry._listed("problem")])
def test_what_ships_states_everything(name: str) -> None:
    entry = go.problem(name)
    assert all((entry.name, entry.title, entry.source, entry.description))
    for p in entry.parameters:
        assert p.unit, p.name
        assert p.meaning, p.name
