"""Files of models for MuJoCo in the place of problems: run, shown, compared and exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gaussopt as go
from gaussopt.cli.main import run
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
    assert not any("inside" in text for text in mended.warnings)


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
