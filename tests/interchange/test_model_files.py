"""Files of models for MuJoCo in the place of problems: run, shown, compared and exported."""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.core import registry
from gaussopt.interchange.problem_reader import read_problem
from tests.interchange.test_mujoco_motion import BALL

pytest.importorskip("mujoco", exc_type=ImportError)

SLIDING = BALL.format(height=0.5, words='friction="0.3 0 0"').replace(
    "<worldbody>", '<keyframe><key qpos="0 0 0.5 1 0 0 0" qvel="3 0 0 0 0 0"/></keyframe><worldbody>'
)
LEVER = """<robot name="lever"><link name="base"/><link name="arm"><inertial><mass value="2"/><origin xyz="0 0 -1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="hinge" type="continuous">
<parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""


@pytest.fixture
def ball(tmp_path: Path, monkeypatch: Any) -> str:
    monkeypatch.chdir(tmp_path)
    Path("ball.xml").write_text(SLIDING)
    return "ball.xml"


def test_a_file_is_a_problem_whose_motion_starts_at_the_keyframe(ball: str, capsys: Any) -> None:
    motion = go.simulate(ball, t_end=0.1)
    assert motion.meta["stepper"] == "moreau-jean"
    assert motion.v[-1, 0] == pytest.approx(3.0 - 0.3 * 9.81 * 0.1, abs=1e-9)
    Path("lever.urdf").write_text(LEVER)
    assert go.inverse_dynamics(go.problem("lever.urdf").system, [0.5], [0.0], [0.0])[0] == pytest.approx(
        2 * 9.81 * 0.479425538604203, abs=1e-12
    )
    assert run(["run", ball, "--t-end", "0.05", "--json"]) == 0
    assert '"solved"' in capsys.readouterr().out


def test_models_of_one_name_and_files_that_change_are_told_apart(ball: str) -> None:
    """Models are often called scene.xml, and include other files."""
    for folder, height in (("one", 0.6), ("other", 0.7)):
        Path(folder).mkdir()
        Path(folder, "part.xml").write_text(BALL.format(height=height, words=""))
        Path(folder, "scene.XML").write_text('<mujoco><include file="part.xml"/></mujoco>')
    assert [go.problem(f"{folder}/scene.XML").q0[2] for folder in ("one", "other")] == [0.6, 0.7]
    assert go.problem("one/scene.XML").name == "one-scene"
    Path("one", "part.xml").write_text(BALL.format(height=0.4, words=""))
    sunk = go.simulate("one/scene.XML", t_end=0.02)
    assert sunk.q[0, 2] == 0.4
    assert any("inside the obstacle of 'floor, ball' (0.1 m)" in text for text in sunk.warnings)
    mended = go.simulate("one/scene.XML", t_end=0.02, stabilisation="projection")
    assert any("(0.1 m): the projection moves it apart within the first steps" in text for text in mended.warnings)
    assert mended.gap[-1, 0] == pytest.approx(0.0, abs=1e-9)


def test_what_is_no_such_model_is_told(ball: str) -> None:
    Path("torn.xml").write_text("<mujoco>")
    Path("still.xml").write_text("<mujoco/>")
    Path("ball.txt").write_text(SLIDING)
    for given, words in (
        ("torn.xml", r"^MuJoCo cannot read .*torn\.xml: XML parse error"), ("still.xml", "^The model has no joint"),
        ("./ball.txt", r"is not a Python file; give one \.py file, or a model for MuJoCo, \.xml or \.urdf\."),
    ):  # fmt: skip
        with pytest.raises(go.BadInput, match=words):
            go.problem(given)
    with pytest.raises(go.BadInput, match="model is the path of an MJCF or URDF file, not int"):
        go.problem_from_mujoco(3)


def test_solvers_are_compared_along_its_motion_and_its_contacts_exported(ball: str, capsys: Any) -> None:
    results = go.compare(ball, solvers=["hybrid", "nsgs"], t_end=0.05, stride=20, time_budget=0.0)
    assert {a.solver for a in results.answers} == {"hybrid", "nsgs"}
    assert all(len(a.status) == 6 and set(a.status) == {"solved"} for a in results.answers)
    assert {m.stepper for m in results.motions} == {"moreau-jean"}
    assert run(["export", ball, "--formulation", "moreau-jean", "--stride", "50", "--out", "steps"]) == 0
    assert run(["export", ball, "--formulation", "gauss", "--out", "others"]) == 2
    assert "states its own time steps; give --formulation moreau-jean." in capsys.readouterr().err
    files = sorted(Path("steps").glob("*.hdf5"))
    assert len(files) == 2
    assert read_problem(files[0]).k == 1


def test_a_solver_without_contacts_is_refused_before_the_motion_begins(ball: str) -> None:
    with pytest.raises(go.NotAccepted, match=r"Steps of '.*ball' may have contacts.*Take hybrid or nsgs"):
        go.simulate(ball, solver="kkt", t_end=0.01)
    Path("lever.urdf").write_text(LEVER)
    assert go.simulate("lever.urdf", solver="kkt", t_end=0.01).status == "solved"  # nothing can touch


def test_a_comparison_names_a_pair_that_fits(ball: str, capsys: Any) -> None:
    assert run(["compare", ball, "--solvers", "kkt", "--t-end", "0.02", "--out", "none"]) == 2
    said = capsys.readouterr().err
    assert "take --formulations coulomb-soccp --solvers hybrid." in said
    assert run(["compare", "two-bar", "--solvers", "hybrid", "--out", "none"]) == 2
    assert "take --formulations stick-slip --solvers lemke." in capsys.readouterr().err


def test_an_export_ends_where_it_is_told(ball: str, capsys: Any) -> None:
    command = ["export", ball, "--formulation", "moreau-jean", "--t-end", "0.05", "--out", "steps"]
    assert run(command) == 0
    assert len(list(Path("steps").glob("*.hdf5"))) == 5
    assert run(["export", "two-bar", "--formulation", "lcp", "--t-end", "0.1", "--out", "other"]) == 2
    assert "has an end of its own" in capsys.readouterr().err


def test_a_saved_motion_is_drawn_by_an_option_which_the_refusal_names(ball: str, capsys: Any) -> None:
    assert run(["run", ball, "--t-end", "0.02", "--save", "m.nc"]) == 0
    assert run(["animate", "m.nc", "--out", "m.html"]) == 2
    assert "--from to run or animate" in capsys.readouterr().err


def test_problems_of_models_are_pickled(ball: str) -> None:
    problem = go.problem(ball)
    motion = go.simulate(problem, t_end=0.1)
    problem.system.energy(0.0, problem.q0 + 0.1, problem.v0)  # the state that MuJoCo holds now does not matter
    other = pickle.loads(pickle.dumps(problem))
    again = go.simulate(other, t_end=0.1)
    assert (other.name, other.dt, other.system.ahead) == (problem.name, problem.dt, problem.system.ahead)
    for name in ("q", "v", "lam_N", "lam_T"):
        np.testing.assert_array_equal(getattr(again, name), getattr(motion, name))


def test_members_of_a_batch_of_a_model_go_to_other_processes(ball: str, tmp_path: Path) -> None:
    q = np.tile(go.problem(ball).q0, (2, 1))
    given: dict[str, Any] = {"initial": {"q0": q}, "t_end": 0.05, "stepper": "moreau-jean"}
    alone = go.simulate_batch(go.problem(ball), **given)
    with ThreadPoolExecutor(1) as executor:
        sent = go.simulate_batch(go.problem(ball), **given, executor=executor, out=tmp_path / "batch")
    np.testing.assert_array_equal(sent.q.values, alone.q.values)


def test_what_a_solver_raises_is_told(ball: str, monkeypatch: Any) -> None:
    def fails(self: Any, start: Any) -> Any:
        raise ZeroDivisionError("the seventh pivot is zero")

    monkeypatch.setattr(registry.load("solver", "nsgs"), "solve", fails)
    motion = go.simulate(ball, solver="nsgs", t_end=0.01)
    assert motion.status == "crashed"
    assert "ZeroDivisionError: the seventh pivot is zero" in motion.message


def test_advice_on_meshes_that_are_not_found(ball: str) -> None:
    mesh = '<collision><geometry><mesh filename="package://lever/arm.stl"/></geometry></collision></link><joint'
    Path("lever.urdf").write_text(LEVER.replace("</link><joint", mesh))
    with pytest.raises(go.BadInput, match=r"knows no package://.*meshdir='FOLDER' strippath='true'"):
        go.problem("lever.urdf")


def test_a_contact_that_is_lost_from_one_state_to_the_next_is_told(ball: str) -> None:
    """A ball leaves the edge of a table at once, farther than contacts are looked for."""
    table = """<mujoco><option timestep="0.01"/><worldbody><geom name="table" type="box" size="1 1 .1"/>
    <body pos="0 0 .2"><freejoint/><geom name="ball" size=".1" mass="1"/></body></worldbody>
    <keyframe><key qpos=".5 0 .2 1 0 0 0" qvel="30 0 0 0 0 0"/></keyframe></mujoco>"""
    Path("table.xml").write_text(table)
    told = [x for x in go.simulate("table.xml", t_end=0.05).warnings if "is not found" in x]
    assert len(told) == 1
    assert "the contact 'ball, table' is not found, although it carried a force" in told[0]
    Path("table.xml").write_text(table.replace("30 0 0", "1 0 0"))
    assert not any("is not found" in x for x in go.simulate("table.xml", t_end=0.8).warnings)


def test_a_motion_in_which_nothing_touched_says_so(ball: str, capsys: Any) -> None:
    Path("lever.urdf").write_text(LEVER)
    assert run(["run", "lever.urdf", "--t-end", "0.01"]) == 0
    assert "no contact closed, so that no contact law had to be certified" in capsys.readouterr().out


def test_a_body_at_rest_is_not_called_inexact(ball: str, monkeypatch: Any) -> None:
    """Errors that the tolerance of the contact law may cause are no errors of the time steps."""
    box = '<body pos="0 0 .1" euler="0 0 20"><freejoint/><geom type="box" size=".2 .1 .1"/></body>'
    Path("box.xml").write_text(f'<mujoco><worldbody><geom type="plane" size="9 9 1"/>{box}</worldbody></mujoco>')
    module = sys.modules["gaussopt.simulation.simulate"]
    estimated = module.estimated

    def warned(error: float) -> bool:
        monkeypatch.setattr(module, "estimated", lambda *x, **y: replace(estimated(*x, **y), largest=np.full(7, error)))
        return any("inexact" in text for text in go.simulate("box.xml", t_end=0.1).warnings)

    assert not warned(1e-12)
    assert warned(1e-6)
