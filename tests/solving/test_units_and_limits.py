"""Wrong answers that only units or conditioning could pass off as solved, and what must end in a sentence."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from samples import sample

import gaussopt as go
from gaussopt.kinds.files import parse


def step(M: object, Q: object, J: object = None, gamma: object = None) -> go.StepData:
    return go.StepData.from_mapping({"M": M, "Q": Q, "J": J, "gamma": gamma})


@pytest.mark.parametrize("mass", [1e-12, 1e-16, 1e-20])
def test_a_particle_that_does_not_fall_is_not_certified(mass: float) -> None:
    falling = step([[mass]], [-9.81 * mass])
    assert not go.certify(falling, np.array([0.0])).passed()
    assert go.certify(falling, np.array([-9.81])).passed()
    assert go.solve_step(falling, "gauss", "kkt").status is go.Status.SOLVED


@pytest.mark.parametrize("mass", [1e-16, 1.0])
def test_equilibrium_is_certified(mass: float) -> None:
    """A weight on a support: the acceleration is zero and forces act."""
    resting = step([[mass, 0], [0, mass]], [0, -9.81 * mass], [[0, 1]], [0])
    for solver in ("kkt", "newton"):
        answer = go.solve_step(resting, "gauss", solver)
        assert answer.status is go.Status.SOLVED
        assert answer.lam == pytest.approx([9.81 * mass], rel=1e-9)


def test_nothing_passes_below_the_rounding_floor() -> None:
    """det M is 1e-14: the true acceleration is known to 60 digits, the candidate is off by 5e-6 of it."""
    M = [[0.04435610380916697, 0.20588501612196952], [0.20588501612196952, 0.9556438961913497]]
    bad = step(M, [-1.46, -1.653])
    certificate = go.certify(bad, np.array([-2041854768618.3442, 439899531226.515]))
    assert not certificate.passed()
    answer = go.solve_step(bad, "gauss", "kkt")
    assert answer.status is go.Status.INACCURATE
    assert "ill-conditioned" in answer.message


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e-3, 1.0, 1e3, 1e7])
def test_unit_of_a_massless_coordinate_does_not_decide_uniqueness(unit: float) -> None:
    answer = go.solve_step(step([[1, 0], [0, 0]], [1, 0], [[unit, 1]], [1]), "gauss", "kkt")
    assert answer.status is go.Status.SOLVED
    assert answer.a == pytest.approx([1.0, 1.0 - unit], rel=1e-9)


def test_spread_masses_are_solved_by_linear_algebra() -> None:
    answer = go.solve_step(step([[1, 0], [0, 1e12]], [0, 5], [[1, 0], [1, 1]], [0, 1]), "gauss", "kkt")
    assert answer.status is go.Status.SOLVED
    assert answer.a == pytest.approx([0.0, 1.0], abs=1e-12)


@pytest.mark.parametrize("seed", sample(range(20), range(60)))
def test_nearly_dependent_rows_are_right_or_not_certified(seed: int) -> None:
    """Against exact rational arithmetic: a passed answer is within the tolerance of the true one."""
    import sympy as sp

    rng = np.random.default_rng(seed)
    n = 3
    scale = 10.0 ** rng.uniform(-4, 4, n)
    root = rng.standard_normal((n, n)) * scale[:, None]
    J = rng.standard_normal((2, n))
    J[1] = J[0] + 10.0 ** rng.uniform(-13, -6) * rng.standard_normal(n)
    gamma = np.array([1.0, 1.0 + 10.0 ** rng.uniform(-12, -6)])
    case = step(root @ root.T, rng.standard_normal(n), J, gamma)
    exact = sp.Matrix(5, 5, lambda i, j: 0)
    exact[:3, :3] = sp.Matrix(case.M.tolist()).applyfunc(sp.Rational)
    exact[:3, 3:] = sp.Matrix(case.J.T.tolist()).applyfunc(sp.Rational)
    exact[3:, :3] = sp.Matrix(case.J.tolist()).applyfunc(sp.Rational)
    right = sp.Matrix([*case.force.tolist(), *case.gamma.tolist()]).applyfunc(sp.Rational)
    true = np.array([float(x) for x in exact.LUsolve(right)[:3]])
    for solver in ("kkt", "osqp", "newton"):
        answer = go.solve_step(case, "gauss", solver)
        if answer.status is go.Status.SOLVED and answer.certificate.forces_unique:
            e = answer.a - true
            # Ten times the tolerance: the floor may eat up to one of it.
            assert np.sqrt(e @ case.M @ e) <= 1e-6 * (1 + np.sqrt(true @ case.M @ true)), solver


def qp(**data: object) -> go.QP:
    program = parse({"kind": "qp", **data})
    assert isinstance(program, go.QP)
    return program


@pytest.mark.parametrize("solver", ["newton", "cvxpy", "osqp", "daqp"])
@pytest.mark.parametrize("size", [1e-9, 1.0])
def test_an_unbounded_program_is_unbounded_in_any_unit(solver: str, size: float) -> None:
    assert go.solve(qp(P=[[0]], q=[size], A=[[1]], l=[None], u=[1]), solver).status is go.Status.UNBOUNDED


@pytest.mark.parametrize("solver", ["newton", "cvxpy", "osqp"])
@pytest.mark.parametrize("size", [1e-8, 1.0])
def test_a_contradiction_is_infeasible_in_any_unit(solver: str, size: float) -> None:
    program = qp(P=[[1]], q=[0], A=[[1], [1]], l=[2 * size, None], u=[None, size])
    assert go.solve(program, solver).status is go.Status.INFEASIBLE
    assert not go.certify_qp(program, np.array([1.5 * size])).passed()


def test_a_flat_objective_does_not_hide_its_slope() -> None:
    program = qp(P=[[0]], q=[-1e-9], A=[[1]], l=[0], u=[1e6])
    assert go.solve(program, "newton").status is not go.Status.SOLVED or go.solve(program, "newton").x[0] == 1e6
    assert not go.certify_qp(program, np.array([0.0])).passed()
    assert go.certify_qp(program, np.array([1e6])).passed()


@pytest.mark.parametrize("solver", ["osqp", "deap", "newton", "daqp"])
def test_rows_without_bounds_do_no_harm(solver: str) -> None:
    solution = go.solve(qp(P=[[1.0]], q=[-1.0], A=[[1]], l=[None], u=[None]), solver, tolerance=1e-4)
    assert solution.status is go.Status.SOLVED
    assert solution.x == pytest.approx([1.0], abs=1e-3)


def test_programs_made_by_hand_are_checked() -> None:
    one = np.ones(1)
    with pytest.raises(go.BadInput, match="indefinite"):
        go.solve(go.QP(-np.eye(1), 0 * one, np.eye(1), -one, one), "newton")
    with pytest.raises(go.BadInput, match="above"):
        go.solve(go.QP(np.eye(1), 0 * one, np.eye(1), one, -one), "newton")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--t-end", "1", "--dt", "1e-20"], "steps"),
        (["--save", "."], "regular file"),
        (["--stepper", "rk45", "--rtol", "1e-30"], "rtol"),
        (["--solver", "osqp", "--solver-option", "max_iter=-1"], "max_iter"),
    ],
)
def test_settings_that_cannot_work(
    arguments: list[str], word: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gaussopt.cli.main import run

    monkeypatch.chdir(tmp_path)
    assert run(["run", "crank-slider", *arguments, "--json"]) == 2
    assert word in json.loads(capsys.readouterr().out)["message"]


def test_a_motion_that_diverges_says_so() -> None:
    motion = go.simulate("crank-slider", dt=0.3, t_end=3.0, step_folder=None)
    assert motion.status is not go.Status.SOLVED
    assert "diverged" in motion.message


def test_a_link_stays_a_link_and_keeps_its_mode(tmp_path: Path) -> None:
    real, link = tmp_path / "real.nc", tmp_path / "link.nc"
    real.write_text("", encoding="utf-8")
    real.chmod(0o600)
    link.symlink_to(real)
    go.simulate("crank-slider", dt=1e-3, t_end=2e-3, step_folder=None).save(link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert len(go.Trajectory.load(real).t) == 3


def test_an_interrupted_report_is_not_written(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gaussopt", "papers", "--quick", "--jobs", "2", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        # A test run in the background ignores SIGINT, and its children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    while not (tmp_path / "out").exists():
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(1.0)  # it is at work by now
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=600)
    assert process.returncode == 1
    assert "Interrupted" in error
    assert out == ""
    assert not (tmp_path / "out" / "index.html").exists()


def test_an_interrupt_inside_an_extension_module_keeps_the_exit_code(tmp_path: Path) -> None:
    code = (
        "import ctypes\nfrom gaussopt.cli import main as cli\n"
        "def app(*given, **settings):\n"
        "    ctypes.pythonapi.PyRun_SimpleString(b'raise KeyboardInterrupt')\n    raise KeyboardInterrupt\n"
        "cli.command_line = lambda: app\nraise SystemExit(cli.run(['list', 'problems']))"
    )
    (tmp_path / "interrupted.py").write_text(code)
    command = [sys.executable, "-m", "interrupted"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("gaussopt: Interrupted by Ctrl-C.\n")


def test_an_interrupt_before_the_first_step_is_no_crash(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gaussopt.cli.main import run
    from gaussopt.simulation.settings import RunSettings

    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunSettings, "of", interrupted)
    assert run(["run", "crank-slider", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found == {"status": "interrupted", "message": "Interrupted by Ctrl-C."}


def test_a_full_disk_is_a_sentence(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.fail("this test needs /dev/full")
    with open("/dev/full", "w", encoding="utf-8") as full:
        command = [sys.executable, "-m", "gaussopt", "list", "solvers"]
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "Cannot write" in done.stderr
    assert "Traceback" not in done.stderr


def test_files_in_the_docs_are_what_they_say() -> None:
    text = (Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8")
    blocks = [json.loads(b) for b in re.findall(r"```json\n(.*?)```", text, re.S)]
    pendulum, answer, block, friction, program, point, lcp, z, contacts, impulses = blocks
    data = parse(pendulum)
    assert isinstance(data, go.StepData)
    assert go.certify(data, np.array(answer["a"]), np.array(answer["lam"])).passed()
    sliding = parse(block)
    assert isinstance(sliding, go.StepData)
    forces = (np.array(friction[name]) for name in ("lam_N", "lam_T"))
    assert go.certify_contact(sliding, np.array(friction["a"]), None, next(forces), next(forces)[:, None]).passed()
    quadratic = parse(program)
    assert isinstance(quadratic, go.QP)
    assert go.certify_qp(quadratic, np.array(point["x"])).passed()
    complementarity = parse(lcp)
    assert isinstance(complementarity, go.LCP)
    assert go.certify_lcp(complementarity, np.array(z["z"])).passed()
    cones = parse(contacts)
    assert isinstance(cones, go.ConeComplementarity)
    assert go.certify_cone(cones, np.array(impulses["r"])).residual < 1e-12
