"""The command line as a person or a script uses it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import call_json

import gaussopt
from gaussopt.cli.main import run


def call(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, away from the source tree."""
    return subprocess.run(
        [sys.executable, "-m", "gaussopt", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)  # a run that is refused writes its step file into the current folder


def test_version(tmp_path: Path) -> None:
    version = call("--version", cwd=tmp_path)
    assert version.returncode == 0
    assert version.stdout.strip() == gaussopt.__version__
    root = Path(__file__).parents[2]
    assert f"version: {gaussopt.__version__}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## {gaussopt.__version__}" in (root / "CHANGELOG.md").read_text(encoding="utf-8")


def test_help_loads_no_backend(tmp_path: Path) -> None:
    script = (
        "import sys; from gaussopt.cli.main import run; run(['--help']); run(['run', '-h'])\n"
        "heavy = {'numpy', 'scipy', 'cvxpy', 'osqp', 'sympy', 'matplotlib', 'pandas', 'xarray'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "papers" in done.stdout
    assert "bool" not in done.stdout
    assert all(
        words in done.stdout
        for words in ("--install-completion`", "─ Method ─", "─ Results ─", "run [OPTIONS] [PROBLEM]")
    )


@pytest.mark.parametrize("kind", ["problems", "formulations", "solvers", "steppers", "families"])
def test_list(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "list", kind)
    assert code == 0
    names = [row["name"] for row in data[kind]]
    assert names == sorted(names)
    assert run(["list", kind]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in names)


def test_list_alone_names_what_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "list")
    assert code == run(["list"]) == 0
    assert "crank-slider" in data["problems"]
    assert f"problems ({len(data['problems'])}): {', '.join(data['problems'])}\n" in capsys.readouterr().out


def test_list_shows_the_dials_of_a_family(capsys: pytest.CaptureFixture[str]) -> None:
    _, data = call_json(capsys, "list", "families")
    row = next(row for row in data["families"] if row["name"] == "sliding-row")
    dial = next(dial for dial in row["dials"] if dial["name"] == "height")
    assert {"default", "low", "high", "unit", "meaning", "integer", "logarithmic"} <= dial.keys()
    run(["list", "families"])
    text = capsys.readouterr().out
    assert f"{dial['low']:g} to {dial['high']:g} m ({dial['default']:g})" in text
    assert dial["meaning"] in text


def test_run_has_the_contracted_fields(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "run", "crank-slider", "--t-end", "0.01", "--solver", "osqp")
    assert code == 0
    assert data["status"] == "solved"
    fields = {"problem", "formulation", "solver", "stepper", "status", "message", "t", "q", "v", "a", "lam", "lam_N"}
    fields |= {"lam_T", "steps", "events", "certificate", "energy", "timing"}
    assert fields <= data.keys()
    assert data["t"] == 0.01
    assert data["steps"] == 10
    assert len(data["q"]) == len(data["v"]) == len(data["a"]) == 7
    assert len(data["lam"]) == 6
    assert {"build", "setup", "solve", "verify", "total"} <= data["timing"].keys()
    assert data["certificate"]["relative_error"] <= 1e-7


def test_run_reaches_the_reference(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--formulation", "lagrange", "--solver", "kkt", "--stepper", "dop853", "--rtol", "1e-12")
    code, data = call_json(capsys, "run", "crank-slider", *arguments, "--atol", "1e-12", "--t-end", "2")
    assert code == 0
    assert data["q"][2] == pytest.approx(-47.12812672469871, abs=1e-9)


def test_run_leaves_no_file_of_the_refused_step_if_none_is_wanted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ("run", "crank-slider", "--formulation", "least-squares-as-printed", "--t-end", "0.01")
    code, data = call_json(capsys, *arguments, "--no-step-file")
    assert (code, data["failed_step_file"]) == (1, None)
    assert not list(tmp_path.iterdir())
    code, data = call_json(capsys, *arguments)
    assert [str(file.resolve()) for file in tmp_path.iterdir()] == [str(Path(data["failed_step_file"]).resolve())]


def test_run_refuses_the_printed_formula(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, data = call_json(capsys, "run", "crank-slider", "--formulation", "least-squares-as-printed")
    assert code == 1
    assert data["status"] == "inaccurate"
    assert data["steps"] == 0
    step_file = Path(data["failed_step_file"])
    assert json.loads(step_file.read_text(encoding="utf-8"))["kind"] == "step"
    code, data = call_json(capsys, "solve", str(step_file), "--formulation", "least-squares-as-printed")
    assert code == 1
    assert data["a"][2] == pytest.approx(-666.84572655381, abs=1e-8)
    code, data = call_json(
        capsys, "run", "crank-slider", "--formulation", "least-squares-as-printed", "--tolerance", "inf", "--t-end",
        "0.01",
    )  # fmt: skip
    assert code == 0
    assert data["certificate"]["relative_error"] > 0.5


def test_standard_output_is_json_alone_even_with_talkative_backends(tmp_path: Path) -> None:
    pair = ("--formulation", "least-squares", "--solver", "osqp")
    done = call("run", "crank-slider", *pair, "--t-end", "0.01", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "solved"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "crank-slidr"], ["crank-slidr", "'crank-slider'"]),
        (["run", "crank-slider", "--formulation", "gaus"], ["gaus", "'gauss'"]),
        (["run", "crank-slider", "--solver", "osqpp"], ["osqpp", "'osqp'"]),
        (["run", "crank-slider", "--solver", "cvxpy:NOPE"], ["NOPE", "CLARABEL"]),
        (["run", "crank-slider", "--stepper", "rk5"], ["rk5", "did you mean"]),
        (["run", "crank-slider", "--set", "tauu=1"], ["tauu", "'tau'"]),
        (["run", "crank-slider", "--set", "tau=abc"], ["tau", "abc"]),
        (["run", "crank-slider", "--set", "tau"], ["tau", "NAME=VALUE"]),
        (["run", "crank-slider", "--set", "tau=nan"], ["tau", "finite"]),
        (["run", "crank-slider", "--solver", "osqp", "--solver-option", "eps=1"], ["eps", "did you mean", "eps_"]),
        (["run", "crank-slider", "--solver", "osqp", "--solver-option", "max_iter=many"], ["max_iter", "many"]),
        (["run", "crank-slider", "--dt", "0"], ["dt", "positive"]),
        (["run", "crank-slider", "--dt", "-1"], ["dt", "positive"]),
        (["run", "crank-slider", "--t-end", "-1"], ["t_end"]),
        (["run", "crank-slider", "--t-end", "nan"], ["t_end"]),
        (["run", "crank-slider", "--stepper", "dop853", "--rtol", "0"], ["rtol"]),
        (["run", "crank-slider", "--tolerance", "0"], ["tolerance"]),
        (["run", "crank-slider", "--stabilisation", "projektion"], ["'projection'"]),
        (["run", "crank-slider", "--set", "q0=0.1,0,0,0.43,0,0,0.71"], ["off the constraints", "0.025", "projection"]),
        (["run", "crank-slider", "--set", "q0=1,2"], ["q0", "(7,)"]),
        (["run", "crank-slider", "--set", "q0=a,b"], ["q0", "numbers"]),
        (["run", "crank-slider", "--save", "nowhere/motion.nc"], ["nowhere"]),
        (["run", "crank-slider", "--save", "motion.txt"], ["motion.txt", ".nc"]),
        (["run", "crank-slider", "--formulation", "lagrange", "--solver", "osqp"], ["osqp", "LinearSystem"]),
        (["run", "crank-slider", "--no-such-flag"], ["--no-such-flag"]),
        (["run", "crank-slider", "--dt", "fast"], ["--dt", "number"]),
        (["run"], ["PROBLEM"]), (["show", "two-bars"], ["'two-bar'"]),
        (["show", "gauss", "--set", "m=1"], ["--set", "formulation"]),
        (["show", "missing.py"], ["missing.py"]),
        (["list", "problem"], ["problem", "'problems'"]),
        (["solve", "missing.json"], ["missing.json"]),
        (["verify", "missing.json", "also.json"], ["missing.json"]),
        (["papers", "--jobs", "-1"], ["jobs"]), (["no-such-command"], ["no-such-command"]),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_code_2(
    arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code = run([*arguments, "--json"])
    captured = capsys.readouterr()
    assert code == 2
    data = json.loads(captured.out)
    assert data["status"] == "bad_input"
    for word in words:
        assert word in data["message"]
    assert "Traceback" not in captured.err
    assert data["message"].count("\n") == 0
    assert list(tmp_path.iterdir()) == []  # nothing half-written


def write(path: Path, data: Any) -> str:
    path.write_text(json.dumps(data), encoding="utf-8")
    return str(path)


PENDULUM = {"kind": "step", "M": [[1, 0], [0, 1]], "Q": [0, -9.81], "J": [[0.6, 0.8]], "gamma": [-1.0]}
PENDULUM_A = [4.1088, -4.3316]


@pytest.mark.parametrize("formulation", ["gauss", "lagrange", "least-squares"])
def test_solve_then_verify_a_step(formulation: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    step = write(tmp_path / "step.json", PENDULUM)
    code, data = call_json(capsys, "solve", step, "--formulation", formulation)
    assert code == 0
    assert data["a"] == pytest.approx(PENDULUM_A, abs=1e-13)
    assert run(["solve", step, "--formulation", formulation]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{formulation} by kkt: Solved, and the certificate confirms it. Certified: the accelera")
    assert [line.split() for line in said[1:3]] == [["a", "4.1088", "-4.3316"], ["lam", "6.848"]]
    answer = write(tmp_path / "answer.json", {"a": data["a"], "lam": data["lam"]})
    code, data = call_json(capsys, "verify", step, answer)
    assert (code, data["status"]) == (0, "solved")
    for entry, value in (("a", [1.0]), ("lam", "much")):
        bad = write(tmp_path / "bad.json", {"a": data.get("a", PENDULUM_A), entry: value})
        code, said = call_json(capsys, "verify", step, bad)
        assert (code, said["message"].partition(": ")[0]) == (2, bad)
    wrong = write(tmp_path / "wrong.json", {"a": [data_i + 1e-3 for data_i in PENDULUM_A]})
    code, data = call_json(capsys, "verify", step, wrong)
    assert (code, data["status"]) == (1, "inaccurate")
    # M is the identity, so the certified distance is the Euclidean one.
    assert data["certificate"]["error_bound"] == pytest.approx(1e-3 * 2**0.5, rel=1e-9)


def test_solve_then_verify_a_qp(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    # min 1/2 |x|^2 - x1 - 2 x2 with x1 + x2 <= 1: the projection of (1, 2), which is (0, 1)
    qp = write(
        tmp_path / "qp.json", {"kind": "qp", "P": [[1, 0], [0, 1]], "q": [-1, -2], "A": [[1, 1]], "l": [None], "u": [1]}
    )
    for solver in ("newton", "osqp", "cvxpy"):
        code, data = call_json(capsys, "solve", qp, "--solver", solver)
        assert (code, data["status"]) == (0, "solved")
        assert data["x"] == pytest.approx([0.0, 1.0], abs=1e-8)
        assert data["y"] == pytest.approx([-1.0], abs=1e-8)
    good = write(tmp_path / "good.json", {"x": [0.0, 1.0]})
    code, data = call_json(capsys, "verify", qp, good)
    assert (code, data["status"]) == (0, "solved")
    bad = write(tmp_path / "bad.json", {"x": [0.5, 0.5]})
    code, data = call_json(capsys, "verify", qp, bad)
    assert (code, data["status"]) == (1, "inaccurate")
    assert data["certificate"]["error_bound"] >= 0.5**0.5 - 1e-12


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"J": [[1, 0], [1, 0]], "gamma": [0, 1]}, "infeasible"),
        ({"M": [[1, 0], [0, 0]], "Q": [1, 0], "J": [], "gamma": []}, "acceleration_not_unique"),
        ({"M": [[1, 0], [0, 0]], "Q": [1, 1], "J": [], "gamma": []}, "unbounded"),
    ],
)
def test_ill_posed_steps_have_their_names(
    change: dict[str, Any], status: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    step = write(tmp_path / "step.json", {**PENDULUM, **change})
    for formulation, solver in (
        ("gauss", "kkt"), ("gauss", "osqp"), ("gauss", "newton"), ("gauss", "cvxpy"), ("lagrange", "kkt"),
    ):  # fmt: skip
        code, data = call_json(capsys, "solve", step, "--formulation", formulation, "--solver", solver)
        # Equations without an objective contradict each other where a program is unbounded.
        expected = "infeasible" if (formulation, status) == ("lagrange", "unbounded") else status
        assert (code, data["status"]) == (1, expected), (formulation, solver)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("not json", ["not JSON", "line 1"]), ("[1, 2]", ["list"]), ("{}", ["kind"]),
        ('{"kind": "nlp", "M": [[1]], "q": [1]}', ["nlp"]),
        ('{"kind": "lcp", "M": [[1, 2]], "q": [1]}', ["square"]),
        ('{"kind": "lcp", "M": [[1]], "q": [NaN]}', ["q[0]", "finite"]),
        ('{"kind": "step", "M": [[1, 0], [0, 1]]}', ["'Q'"]),
        ('{"kind": "step", "M": [[1, 2], [0, 1]], "Q": [0, 0]}', ["not symmetric", "[0, 1]"]),
        ('{"kind": "step", "M": [[1, 0], [0, -1]], "Q": [0, 0]}', ["indefinite"]),
        ('{"kind": "step", "M": [[1, 0], [0, 1]], "Q": [0, NaN]}', ["Q[1]", "finite"]),
        ('{"kind": "step", "M": [[1, 0], [0, 1]], "Q": [0, 0, 0]}', ["Q", "(2,)"]),
        ('{"kind": "step", "M": [[1, 0], [0, 1]], "Q": [0, 0], "J": [[1, 0]]}', ["gamma"]),
        ('{"kind": "qp", "P": [[-1]], "q": [0]}', ["indefinite"]),
        ('{"kind": "qp", "P": [[1]], "q": [0], "A": [[1]], "l": [1], "u": [0]}', ["above"]),
        ('{"kind": "qp", "P": [["a"]], "q": [0]}', ["P", "numbers"]),
    ],
)  # fmt: skip
def test_files_that_are_no_programs(
    content: str, words: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "file.json"
    path.write_text(content, encoding="utf-8")
    code, data = call_json(capsys, "solve", str(path))
    assert (code, data["status"]) == (2, "bad_input")
    for word in ["file.json", *words]:
        assert word in data["message"]


def test_contacts_are_refused_in_a_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    step = write(tmp_path / "step.json", {**PENDULUM, "J_N": [[0, 1]], "zeta_N": [0]})
    code, data = call_json(capsys, "solve", step, "--formulation", "lagrange")
    assert (code, data["status"]) == (2, "bad_input")
    assert "contacts" in data["message"]
    code, data = call_json(capsys, "solve", step)
    assert (code, data["formulation"], data["status"]) == (0, "stick-slip", "solved")


def test_saved_motion_opens_in_xarray(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import xarray as xr

    code, _ = call_json(capsys, "run", "crank-slider", "--t-end", "0.01", "--save", "motion.nc")
    assert code == 0
    with xr.open_dataset(tmp_path / "motion.nc", engine="h5netcdf") as data:
        assert data.sizes == {"time": 11, "coordinate": 7, "row": 6}
        assert data.attrs["status"] == "solved"


PLUGIN = """
from gaussopt.core.programs import QP
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status

class Wrong(Solver[Options]):
    name, title, source, accepts = "liar", "Calls anything solved", "test", (QP,)
    def setup(self, program): self._n = program.n
    def solve(self, start):
        import numpy as np
        return RawSolution(np.zeros(self._n), None, Status.SOLVED)

solver = Wrong
"""


def test_a_solver_that_lies_is_found_out(
    clean_registry: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "liar.py").write_text(PLUGIN, encoding="utf-8")
    monkeypatch.setenv("GAUSSOPT_PLUGINS", str(tmp_path / "liar.py"))
    code, data = call_json(capsys, "list", "solvers")
    assert (code, [row["title"] for row in data["solvers"] if row["name"] == "liar"]) == (0, ["Calls anything solved"])
    code, data = call_json(capsys, "run", "crank-slider", "--solver", "liar")
    assert (code, data["status"]) == (1, "inaccurate")


def test_an_unexpected_defect_is_a_sentence_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("gaussopt.simulation.simulate.simulate", lambda *a, **k: 1 / 0)
    code, data = call_json(capsys, "run", "crank-slider")
    assert (code, data["status"]) == (1, "crashed")
    assert "ZeroDivisionError" in data["message"]


def test_a_system_without_constraints_has_no_drift(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "free_mass.py"
    file.write_text("import gaussopt as go\nproblem = go.Problem.of(go.System([[1.0]], [1.0]), q0=[0], t_end=0.1)\n")
    assert run(["run", str(file), "--dt", "0.05"]) == 0
    printed = capsys.readouterr().out
    assert "certified" in printed
    assert "drift" not in printed


@pytest.mark.parametrize(
    ("words", "offered"),
    [("comp", "compare"), ("run crank-s", "crank-slider"), ("run four-bar --solver daq", "daqp"),
     ("compare four-bar --solvers kkt,daq", "kkt,daqp"), ("compare mi", "mine.py"), ("show radau-", "radau-projected"),
     ("show mi", "mine.py"), ("list fam", "families"), ("compare --family box-s", "box-stack")],
)  # fmt: skip
def test_tab_completes_commands_names_and_files(
    words: str, offered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("")
    (tmp_path / "mine.txt").write_text("")
    monkeypatch.setenv("_GAUSSOPT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"gaussopt {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
    assert run([]) == 0
    assert capsys.readouterr().out.split() == [offered]
