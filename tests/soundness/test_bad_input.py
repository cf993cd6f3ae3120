"""Files and options that are wrong: one sentence, the right exit code, and never a stack trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soundness.commands import call

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.kinds import files as problem_files

PENDULUM = {"kind": "step", "M": [[1.0, 0.0], [0.0, 1.0]], "Q": [0.0, -9.81], "J": [[1.0, 0.0]], "gamma": [0.0]}
BLOCK = {
    "kind": "step", "M": [[1.0, 0.0], [0.0, 1.0]], "Q": [0.0, -9.81], "J_N": [[0.0, 1.0]], "zeta_N": [0.0],
    "J_T": [[1.0, 0.0]], "zeta_T": [0.0], "v_T": [1.0], "mu": [0.5],
}  # fmt: skip
SPARSE = {
    "kind": "step", "M": {"shape": [2, 2], "row": [0, 1], "column": [0, 1], "value": [1.0, 1.0]}, "Q": [0.0, -9.81],
    "J": {"shape": [1, 2], "row": [0], "column": [0], "value": [1.0]}, "gamma": [0.0],
}  # fmt: skip
QP = {"kind": "qp", "P": [[1.0]], "q": [1.0], "A": [[1.0]], "l": [0.0], "u": [2.0]}
LCP = {"kind": "lcp", "M": [[1.0]], "q": [-1.0]}
CONTACTS = {"kind": "contact", "W": np.eye(3).tolist(), "q": [-1.0, 2.0, 0.0], "mu": [0.5]}

Contents = dict[str, Any] | str


def text_of(contents: Contents) -> str:
    return contents if isinstance(contents, str) else json.dumps(contents)


def twice(contents: dict[str, Any], key: str, value: Any) -> str:
    """The text of a file in which an entry is there twice."""
    return json.dumps(contents)[:-1] + f", {json.dumps(key)}: {json.dumps(value)}}}"


REFUSED: list[tuple[Contents, str]] = [
    # numbers as texts
    ({**PENDULUM, "M": [["1", 0], [0, 1]]}, "M[0][0] is the text '1'"),
    ({**PENDULUM, "Q": ["0", "-9.81"]}, "Q[0] is the text '0'"),
    ({**PENDULUM, "gamma": "0"}, "gamma is the text '0'"),
    ({**PENDULUM, "t": "0.5"}, "t is the text '0.5'"),
    ({**BLOCK, "mu": ["0.5"]}, "mu[0] is the text '0.5'"),
    ({**BLOCK, "J_T": [["1", 0]]}, "J_T[0][0] is the text '1'"),
    ({**BLOCK, "dt": "1e-3"}, "dt is the text"),
    ({**SPARSE, "M": {**SPARSE["M"], "value": ["1", 1]}}, "M['value'][0] is the text '1'"),  # type: ignore[dict-item]
    ({**SPARSE, "J": {**SPARSE["J"], "shape": ["1", 2]}}, "J['shape'][0] is the text '1'"),  # type: ignore[dict-item]
    ({**QP, "l": ["0"]}, "l[0] is the text '0'"),
    ({**QP, "u": "inf"}, "u is the text 'inf'"),
    ({**LCP, "q": ["one"]}, "q[0] is the text 'one'"),
    # truth values as numbers
    ({**PENDULUM, "J": [[True, False]]}, "J[0][0] is true"),
    ({**PENDULUM, "t": True}, "t is true"),
    ({**BLOCK, "mu": [False]}, "mu[0] is false"),
    ({**BLOCK, "dt": True}, "dt is true"),
    ({**QP, "A": [[True]]}, "A[0][0] is true"),
    ({**LCP, "M": [[True]]}, "M[0][0] is true"),
    # names nearly right
    ({**{k: v for k, v in BLOCK.items() if k != "mu"}, "Mu": [0.5]}, "did you mean 'mu'"),
    ({**BLOCK, "MU": 0.5}, "did you mean 'mu'"),
    ({**{k: v for k, v in PENDULUM.items() if k != "gamma"}, "gama": [0.0]}, "did you mean 'gamma'"),
    ({**{k: v for k, v in PENDULUM.items() if k not in ("J", "gamma")}, "Gamma": [0.0]}, "did you mean 'gamma'"),
    ({**{k: v for k, v in PENDULUM.items() if k not in ("J", "gamma")}, "j": [[1, 0]]}, "did you mean 'J'"),
    ({**PENDULUM, "H": [1.0, 0.0]}, "did you mean 'h'"),
    ({**PENDULUM, "JN": [[0.0, 1.0]], "zetaN": [0.0]}, "did you mean 'J_N'"),
    ({**PENDULUM, "j_n": [[0.0, 1.0]]}, "did you mean 'J_N'"),
    ({**BLOCK, "v-T": [1.0]}, "did you mean 'v_T'"),
    ({**BLOCK, "zeta_n": [1.0]}, "did you mean 'zeta_N'"),
    ({**BLOCK, "gdot": [1.0]}, "did you mean 'gdot_N'"),
    ({k: v for k, v in QP.items() if k != "u"} | {"U": [0.0]}, "did you mean 'u'"),
    ({k: v for k, v in QP.items() if k != "l"} | {"L": [0.0]}, "did you mean 'l'"),
    # names twice
    (twice(PENDULUM, "Q", [0.0, 9.81]), "the entry 'Q' is there more than once"),
    (twice(BLOCK, "mu", [0.0]), "the entry 'mu' is there more than once"),
    (twice(QP, "kind", "lcp"), "the entry 'kind' is there more than once"),
    (twice(PENDULUM, "note", {"a": 1})[:-2] + ', "a": 2}}', "the entry 'a' is there more than once"),
    # what once was a stack trace
    ({**SPARSE, "J_N": 5}, "'J_N'; contacts and quasi-velocities need dense"),
    ({**SPARSE, "J_T": 1}, "'J_T'"),
    ({**SPARSE, "D_omega": True}, "D_omega"),
    ({"kind": "step", "M": SPARSE["M"], "Q": [0, 1], "gamma": 5}, "'gamma' is given without 'J'"),
    ({**SPARSE, "M": {"row": 5}}, "M is no sparse matrix"),
    ({**SPARSE, "t": float("nan")}, "t"),
    ({**PENDULUM, "kind": ["step"]}, "not known here"),
    ({**PENDULUM, "kind": {}}, "not known here"),
    ({**PENDULUM, "M": {}}, "M"),
    ({**PENDULUM, "Q": None}, "'Q'"),
    ({**PENDULUM, "q": 5}, "q has shape"),
    ({**PENDULUM, "v": {"a": 1}}, "v is not an array"),
    ({**BLOCK, "J_T": 5}, "J_T"),
    ({**BLOCK, "v_T": {}}, "v_T"),
    ({**QP, "l": 5}, "l is not a list"),
    ({**QP, "A": 5}, "A has shape"),
]


@pytest.mark.parametrize(("contents", "sentence"), REFUSED, ids=[s for _, s in REFUSED])
def test_a_wrong_file_is_refused_by_a_sentence(
    contents: Contents, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrong.json"
    file.write_text(text_of(contents), encoding="utf-8")
    code, found, err = call(capsys, "solve", str(file))
    assert code == 2
    assert found["status"] == "bad_input"
    assert sentence in found["message"]
    assert "wrong.json" in found["message"]
    assert err.count("\n") == 1


OUT_OF_RANGE: list[tuple[dict[str, Any], str]] = [
    # half of the sum of a negative mass this large with itself is infinite; LAPACK never returned from it
    ({**PENDULUM, "M": [[-1e308, 0.0], [0.0, 3.0]], "Q": [1.0, -9.81], "J": [[1.0, 1.0]], "gamma": [0.5]},
     "indefinite"),
    *(({**data, "Q": [1.0, -9.81], "J_N": [[0.0, size]]}, "too large or too small")
      for data in ({**BLOCK, "v_T": [0.1], "mu": [0.3]}, {k: BLOCK[k] for k in ("kind", "M", "zeta_N")})
      for size in (-1e308, 1e155, 1e-160, -5e-324)),
    *(({**LCP, "M": M, "q": [-1.0] * len(M)}, "M[0, 0] is")
      for M in ([[5e-324]], [[5e-324, 1.0], [1.0, 2.0]], [[1e-160, 1.0], [1.0, 1e154]])),
]  # fmt: skip


@pytest.mark.parametrize(("contents", "sentence"), OUT_OF_RANGE)
def test_numbers_near_the_ends_of_the_range_are_refused(
    contents: Contents, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forces of contacts out of range, and entries that nothing can be divided by, among them."""
    file = tmp_path / "given.json"
    file.write_text(text_of(contents), encoding="utf-8")
    code, found, err = call(capsys, "solve", str(file))
    assert code == 2
    assert sentence in found["message"]
    assert "RuntimeWarning" not in err


READ = [
    {**PENDULUM, "name": "p", "note": "n", "r": [1, 2], "lam": [0.0], "title": "x", "source": {"a": "b"}},
    {**PENDULUM, "t": "at the start", "omega": [1.0, 2.0], "m": [1.0, 1.0], "theta": [0.1], "phi": 0.3, "L": 2.0},
    {**PENDULUM, "T": 5.0, "V": [1.0], "delta": 1, "beta": [2], "alpha": [1], "friction": 0.0, "expect": {"a": [1]}},
    {**BLOCK, "g": 9.81, "E": 2.1e11, "masses": [1.0, 2.0], "k": 3},
    {**SPARSE, "J_N": None, "J_T": []},
    {**QP, "l": [None], "u": None, "optimum": [1.0], "a": 3, "p": [1]},
    {**LCP, "m": [1.0], "w": [0.0], "z": [1.0], "lam_N": [1.0], "kinds": 1},
]


@pytest.mark.parametrize("contents", READ)
def test_other_entries_are_ignored_as_ever(contents: dict[str, Any]) -> None:
    problem_files.parse(contents)


def test_what_is_written_is_read_again() -> None:
    """Names and numbers of files that gaussopt writes are those that it reads."""
    step = problem_files.parse(BLOCK)
    assert isinstance(step, go.StepData)
    again = problem_files.parse(json.loads(json.dumps(step.to_mapping())))
    assert isinstance(again, go.StepData)
    np.testing.assert_array_equal(step.mu, again.mu)


def test_the_least_normal_force_of_a_step_is_read() -> None:
    step = problem_files.parse({**BLOCK, "least_N": [2.0]})
    assert isinstance(step, go.StepData)
    np.testing.assert_array_equal(step.least, [2.0])
    assert problem_files.parse(step.to_mapping()).least_N == [2.0]  # type: ignore[union-attr]


ANSWERS: list[tuple[dict[str, Any], Contents, str]] = [
    (BLOCK, {"a": [-4.905, 0.0], "lam_N": [9.81], "lam_T": 1}, "lam_T has shape ()"),
    (BLOCK, {"a": [-4.905, 0.0], "lam_N": [9.81], "lam_T": {}}, "lam_T is not an array"),
    (BLOCK, {"a": [-4.905, 0.0], "lam_N": [9.81], "lam_T": "x"}, "lam_T is the text"),
    (BLOCK, {"a": [-4.905, 0.0], "lam_N": 9.81, "lam_T": [-4.905]}, "lam_N has shape ()"),
    (BLOCK, {"a": 1}, "a has shape ()"),
    (BLOCK, {"a": ["-4.905", 0.0]}, "a[0] is the text '-4.905'"),
    (BLOCK, {"a": [True, 0.0]}, "a[0] is true"),
    (BLOCK, {"a": [-4.905, 0.0], "lamN": [9.81]}, "did you mean 'lam_N'"),
    (BLOCK, {"a": [-4.905, 0.0], "Lam_T": [9.81]}, "did you mean 'lam_T'"),
    (PENDULUM, {"a": [0.0, -9.81], "Lam": [0.0]}, "did you mean 'lam'"),
    (PENDULUM, {"A": [0.0, -9.81]}, "did you mean 'a'"),
    (PENDULUM, twice({"a": [0.0, -9.81]}, "a", [0.0, 0.0]), "the entry 'a' is there more than once"),
    (QP, {"x": ["0"]}, "x[0] is the text '0'"),
    (QP, {"x": [0.0], "Y": [1.0]}, "did you mean 'y'"),
    (QP, {"x": [0.0], "y": 5}, "y has shape ()"),
    (LCP, {"z": True}, "z is true"),
    (LCP, {"z": {}}, "z is not an array"),
]


@pytest.mark.parametrize(
    ("problem", "answer", "sentence"), ANSWERS, ids=[f"{s}-{i}" for i, (*_, s) in enumerate(ANSWERS)]
)
def test_a_wrong_answer_file_is_refused_by_a_sentence(
    problem: dict[str, Any], answer: Contents, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, given = tmp_path / "problem.json", tmp_path / "answer.json"
    file.write_text(text_of(problem), encoding="utf-8")
    given.write_text(text_of(answer), encoding="utf-8")
    code, found, _ = call(capsys, "verify", str(file), str(given))
    assert code == 2
    assert sentence in found["message"]
    assert "answer.json" in found["message"]


@pytest.mark.parametrize("problem", [PENDULUM, BLOCK, QP, LCP, CONTACTS])
def test_what_solve_prints_is_an_answer(
    problem: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, given = tmp_path / "problem.json", tmp_path / "answer.json"
    file.write_text(json.dumps(problem), encoding="utf-8")
    code, found, _ = call(capsys, "solve", str(file))
    assert code == 0
    for command in (["solve", str(file)], ["verify", str(file), str(given)]):
        given.write_text(json.dumps(found), encoding="utf-8")
        assert run(command) == 0
        assert ": Solved" in capsys.readouterr().out
    code, verdict, _ = call(capsys, "verify", str(file), str(given))
    assert (code, verdict["status"]) == (0, "solved")


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "four-bar", "--set", "name=1"),
        ("run", "four-bar", "--set", "self=1"),
        ("animate", "four-bar", "--out", "x.gif", "--set", "name=1"),
        ("atlas", "two-bar", "--set", "name=1"),
    ],
)
def test_a_parameter_called_name_is_an_unknown_parameter(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, found, _ = call(capsys, *arguments)
    assert code == 2
    assert "Unknown parameter" in found["message"]


def test_a_problem_is_named_by_place_or_by_keyword() -> None:
    assert go.problem(name="four-bar").name == "four-bar"
    with pytest.raises(go.UnknownName, match="Unknown parameter 'name' of four-bar"):
        go.problem("four-bar", name=1)
    with pytest.raises(go.UnknownName):
        go.problem()


@pytest.mark.parametrize("value", [["1", "2"], "12", [1.0, "2"], [1.0, 1j], np.array([1j, 2]), np.array(["1", "2"]),
                                   np.array([1.0, "2"], dtype=object)])  # fmt: skip
def test_texts_and_complex_numbers_are_no_arrays(value: Any) -> None:
    with pytest.raises(go.BadInput, match="Q "):
        go.StepData.from_mapping({"M": np.eye(2), "Q": value})
    system = go.System(np.eye(2), lambda t, q, v: value)
    with pytest.raises(go.BadInput, match="force of"):
        system.evaluate(0.0, np.zeros(2), np.zeros(2))


MODULE = """
import gaussopt as go
import numpy as np
class Own(BaseException):
    pass
class Pressed(KeyboardInterrupt):
    pass
"""
RAISED = {
    "SystemExit(3)": "SystemExit", "Own('no')": "Own", "Pressed()": "Pressed", "GeneratorExit()": "GeneratorExit",
    "ValueError('a\\nb')": "ValueError", "SystemExit()": "SystemExit",
}  # fmt: skip
PLACES = {
    "file": "raise {error}",
    "force": "def force(t, q, v):\n    raise {error}\n"
    "problem = go.Problem.of(go.System(np.eye(1), force), q0=[0.0], t_end=1.0)",
    "start": "def start(p):\n    raise {error}\n"
    "problem = go.Problem.of(go.System(np.eye(1), [0.0]), q0=start, t_end=1.0)",
    "later": "def force(t, q, v):\n    if t > 0.5:\n        raise {error}\n    return [1.0]\n"
    "problem = go.Problem.of(go.System(np.eye(1), force), q0=[0.0], t_end=1.0)",
    "build": "def build():\n    raise {error}\n"
    "problem = go.Problem.of(go.System(np.eye(1), [0.0]), q0=[0.0], t_end=1.0)\n"
    "import dataclasses\nproblem = dataclasses.replace(problem, name='mine', build=build)",
    "events": "def events(p):\n    raise {error}\n"
    "problem = go.Problem.of(go.System(np.eye(1), [0.0]), q0=[0.0], t_end=1.0, events=events)",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("error", RAISED)
def test_whatever_a_problem_file_raises_is_a_sentence(
    place: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MODULE + PLACES[place].format(error=error), encoding="utf-8")
    code, found, err = call(capsys, "run", "mine.py")
    assert code == 2
    assert found["status"] == "bad_input"
    assert RAISED[error] in found["message"]
    assert err.count("\n") == 1
    if place == "later":
        assert 0.4 < found["t"] <= 0.5


SOLVER = """
from gaussopt.core.programs import QP
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status
import numpy as np
class Mine(Solver[Options]):
    name = "mine"
    title = "Mine"
    source = "a test"
    accepts = (QP,)
    def setup(self, program):
        self.n = program.n
    def solve(self, start):
        return RawSolution(np.zeros(self.n), None, Status.SOLVED)
"""
LACKS = {
    "no accepts": ("solver = Mine", "    accepts = (QP,)\n", "accepts"),
    "no title": ("solver = Mine", '    title = "Mine"\n', "title"),
    "an object": ("solver = Mine(None, Options())", "", "Solver"),
    "no solver": ("class Other:\n    name, title, source = 'mine', 'x', 'y'\nsolver = Other", "", "Solver"),
    "abstract": ("solver = Mine", "    def setup(self, program):\n        self.n = program.n\n", "setup"),
    "accepts one": ("Mine.accepts = QP\nsolver = Mine", "", "accepts"),
    "accepts names": ("Mine.accepts = ('QP',)\nsolver = Mine", "", "accepts"),
    "options": ("Mine.options_type = dict\nsolver = Mine", "", "options_type"),
    "requires": ("Mine.requires = 'numpy'\nsolver = Mine", "", "requires"),
    "exit": ("raise SystemExit(3)", "", "SystemExit"),
}


@pytest.mark.parametrize("lack", LACKS)
@pytest.mark.parametrize("command", [("list", "solvers"), ("run", "four-bar", "--solver", "mine")])
def test_a_solver_file_that_lacks_something_is_a_sentence(
    command: tuple[str, ...], lack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    end, without, named = LACKS[lack]
    (tmp_path / "mine.py").write_text(SOLVER.replace(without, "") + end, encoding="utf-8")
    monkeypatch.setenv("GAUSSOPT_PLUGINS", str(tmp_path / "mine.py"))
    code, found, err = call(capsys, *command)
    listing = command[0] == "list"  # which the others are in still
    assert code == (0 if listing else 2)
    sentence = err if listing else found["message"]
    assert named in sentence
    assert "mine.py" in sentence


def test_an_exception_that_nobody_expects_ends_the_command_line_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also one that derives from BaseException alone; and a machine without memory is no defect."""

    class Own(BaseException):
        pass

    for error, code, words in ((Own("no"), 1, "Own"), (SystemExit(7), 1, "SystemExit"), (MemoryError(), 1, "memory")):

        def fail(*_: Any, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr("gaussopt.core.registry.names", fail)
        assert run(["list", "solvers", "--json"]) == code
        shown = capsys.readouterr()
        assert words in json.loads(shown.out)["message"]
        assert "Traceback" not in shown.err


ONE = go.System(np.eye(1), [1.0])
NONE: Any = None
CALLS = {
    "solve": (lambda: go.solve(NONE, "kkt"), "A program is one of QP"),
    "solver": (lambda: go.make_solver(NONE), "A solver is a name"),
    "solver without a program": (lambda: go.make_solver("osqp").solve(None), "'osqp' has no program yet"),
    "mass": (lambda: go.StepData.from_mapping({"M": [[1.0, 2.0], [2.0, 1.0]], "Q": [0.0, 0.0]}),
             "is indefinite: velocities of the coordinates [0, 1] (counted from 0) in the ratio -1 to 1 would have"),
    "negative mass": (lambda: go.System([[1.0, 0.0], [0.0, -3.0]], [0.0, 0.0]).evaluate(0.0, [0.0] * 2, [0.0] * 2),
                      "is indefinite: its diagonal entry [1, 1] is -3; give masses"),
    "progress": (lambda: go.scan("two-bar", progress=True), "progress is True; give a function of the fraction"),  # type: ignore[arg-type]
    "formulate": (lambda: go.formulate(NONE, "gauss"), "A step is StepData"),
    "solve_step": (lambda: go.solve_step(NONE), "A step is StepData"),
    "time": (lambda: ONE.evaluate("a", [0.0], [0.0]), "t is 'a'; give a finite number"),  # type: ignore[arg-type]
    "time of energies": (lambda: go.problem("two-bar").system.evaluate(NONE, [0.0], [0.0]), "t is None"),
    "coordinates": (lambda: ONE.evaluate(0.0, "a", [0.0]), "q is not an array"),
    "one number": (lambda: ONE.evaluate(0.0, 1.0, 0.0), "q has shape (), expected a vector"),
    "velocity": (lambda: ONE.evaluate(0.0, [1.0], [0.0, 1.0]), "v has shape (2,), expected (1,)"),
    "start of a run": (lambda: go.simulate(ONE, q0=[1, 2], v0=[0], t_end=1.0, dt=0.1), "q0 has shape (2,), expected"),
    "start of a problem": (lambda: go.Problem.of(ONE, q0=[1, 2], t_end=1.0), "q0 has shape (2,), expected (1,)"),
    "start, mass by a function": (lambda: go.Problem.of(go.System(lambda t, q, v: np.eye(1), [1.0]), [1, 2], t_end=1.0),
                                  "at its start q0"),
    "matrix": (lambda: go.solve_batch(np.eye(2), np.ones(2)), "q has shape (2,), expected a matrix"),
    "state": (lambda: go.simulate("bouncing-ball", state="x", t_end=0.01), "Unknown state 'x'"),
    "state of contacts": (lambda: go.simulate("bouncing-ball", state="quasi-velocity", t_end=0.01), "is the velocity"),
    "kind": (lambda: problem_files.parse({}), '"kind": "step" or "kind": "qp" or "kind": "lcp"'),
}  # fmt: skip


@pytest.mark.parametrize("wrong", CALLS)
def test_a_wrong_argument_is_a_sentence(wrong: str) -> None:
    call_it, sentence = CALLS[wrong]
    with pytest.raises(go.GaussoptError) as refused:
        call_it()
    assert sentence in str(refused.value)
    assert "any" not in str(refused.value)


def test_one_verdict_on_an_answer_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, given = tmp_path / "problem.json", tmp_path / "answer.json"
    file.write_text(json.dumps(PENDULUM), encoding="utf-8")
    given.write_text(json.dumps({"a": [0.0, 0.0], "lam": [0.0]}), encoding="utf-8")
    assert run(["verify", str(file), str(given)]) == 1
    shown = capsys.readouterr().out
    assert "the answer: inaccurate" in shown
    assert "verdict" not in shown
    assert "solved" not in shown


def test_an_option_that_is_no_number_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code, found, _ = call(capsys, "run", "crank-slider", "--dt", "abc")
    assert code == 2
    assert "'--dt'" in found["message"]
    assert "not 'abc'." in found["message"]
