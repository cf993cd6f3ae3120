"""Outputs of a motion: what they are against closed forms, that every engine has them, that files and figures do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.bodies import Prismatic, Revolute, SpringDamper, Torsion

LENGTH, PLACE = 0.8, np.array([0.9, 1.1])
"""Length of the arm of `arm`, and the upper end of its spring, m."""


def arm(coordinates: str = "maximal") -> tuple[go.Model, go.Problem]:
    """An arm on a hinge, whose hand hangs on a spring with a damper."""
    model = go.Model(dim=2, gravity=(0, -9.81), name="arm", coordinates=coordinates)
    half = model.parameter("half", LENGTH / 2, "m")
    rod = model.body("rod", mass=2.0, inertia=0.1, at=(half, 0), points={"hand": (half, 0)})
    model.add(Revolute("hinge", model.ground, rod.at(-half, 0)))
    model.add(SpringDamper("coil", model.ground.at(*PLACE), rod["hand"], stiffness=30, length=0.5, damping=1.5))
    model.add(Torsion("clock", model.ground, rod, stiffness=4.0, relaxed=0.3))
    return model, model.problem(t_end=0.6)


def wanted(model: go.Model) -> dict[str, Any]:
    return {
        "hand": model.point("hand"), "coil": model.force("coil"), "hinge": model.displacement("hinge"),
        "clock": model.force("clock"),
    }  # fmt: skip


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_points_springs_and_angles_are_functions_of_the_recorded_states(coordinates: str, engine: str) -> None:
    model, problem = arm(coordinates)
    motion = go.simulate(problem, dt=6e-3, engine=engine, stabilisation="projection", outputs=wanted(model),
                         error_estimate=False)  # fmt: skip
    assert motion.meta["engine"] == engine
    angle = motion.q[:, -1]
    rate = motion.v[:, -1]
    assert np.ptp(angle) > 0.5
    hand = LENGTH * np.array([np.cos(angle), np.sin(angle)])
    speed = LENGTH * rate * np.array([-np.sin(angle), np.cos(angle)])
    way = hand - PLACE[:, None]
    length = np.hypot(*way)
    pull = 30 * (length - 0.5) + 1.5 * (way * speed).sum(axis=0) / length
    exact = {
        "hand.x": hand[0], "hand.y": hand[1], "hand.v_x": speed[0], "hand.v_y": speed[1], "coil.length": length,
        "coil.force": pull, "hinge.angle": angle, "hinge.rate": rate, "clock.angle": angle,
        "clock.torque": 4.0 * (angle - 0.3),
    }  # fmt: skip
    assert set(motion.outputs) == set(exact)
    for name, values in exact.items():
        np.testing.assert_allclose(motion.outputs[name], values, atol=1e-11, err_msg=name)
    assert motion.meta["output_units"]["clock.torque"] == "N m"


def test_forces_of_a_joint_and_of_a_spring_are_what_moves_a_body() -> None:
    model, problem = arm()
    motion = go.simulate(problem, dt=1e-3, outputs={"pin": model.force("hinge"), **wanted(model)})
    out, way = motion.outputs, PLACE[:, None] - np.array([motion.outputs["hand.x"], motion.outputs["hand.y"]])
    total = np.array([out["pin.x"], out["pin.y"] - 2.0 * 9.81]) + out["coil.force"] * way / np.hypot(*way)
    np.testing.assert_allclose(total, 2.0 * motion.a[:, :2].T, atol=1e-9)


def test_the_angle_of_a_hinge_in_space_counts_its_turns() -> None:
    model = go.Model(dim=3, name="wheel")
    wheel = model.body("wheel", mass=1.0, inertia=(0.3, 0.2, 0.2), spin=(10.0, 0, 0), at=(0, 0, 0))
    model.add(Revolute("axle", model.ground, wheel))
    motion = go.simulate(
        model.problem(t_end=2.0), dt=1e-3, stabilisation="projection", record_every=10, error_estimate=False,
        outputs={"axle": model.displacement("axle"), "wheel": model.point(wheel.at(0, 0.5, 0))},
    )  # fmt: skip
    np.testing.assert_allclose(motion.outputs["axle.angle"], 10.0 * motion.t, atol=1e-7)
    np.testing.assert_allclose(motion.outputs["axle.rate"], 10.0, atol=1e-7)
    np.testing.assert_allclose(motion.outputs["wheel.v_z"], 5.0 * np.cos(10.0 * motion.t), atol=1e-6)


def test_a_slider_has_a_displacement_and_a_contact_its_forces() -> None:
    model = go.Model(dim=2, gravity=(0, -9.81), name="slider")
    block = model.body("block", mass=3.0, inertia=0.1, velocity=(2.0, 0))
    model.add(Prismatic("guide", model.ground, block, mu=0.2))
    motion = go.simulate(model.problem(t_end=0.5), dt=1e-3, outputs={
        "s": model.displacement("guide"), "guide": go.Output.contact("guide.across"),
        "energy of motion": sp.Symbol("v_x_block") ** 2 * 1.5, "both": lambda t, q, v: [t, q[0]],
    })  # fmt: skip
    np.testing.assert_allclose(motion.outputs["s.along"], 2.0 * motion.t - 0.1 * 9.81 * motion.t**2, atol=1e-9)
    np.testing.assert_allclose(motion.outputs["guide.friction"], 0.2 * 3.0 * 9.81, atol=1e-9)
    np.testing.assert_allclose(motion.outputs["energy of motion"], 1.5 * motion.v[:, 0] ** 2)
    np.testing.assert_array_equal(motion.outputs["both.1"], motion.t)
    np.testing.assert_array_equal(motion.outputs["both.2"], motion.q[:, 0])


def test_outputs_are_in_files_tables_figures_and_joined_motions(tmp_path: Any) -> None:
    model, problem = arm()
    parts = [go.simulate(problem, dt=1e-2, t_end=0.3, outputs=wanted(model))]
    parts.append(go.simulate(problem, start=parts[0], t_end=0.6, outputs={"hand": model.point("hand")}))
    joined, whole = go.concatenate(parts), go.simulate(problem, dt=1e-2, t_end=0.6, outputs=wanted(model))
    assert list(joined.outputs) == ["hand.x", "hand.y", "hand.v_x", "hand.v_y"]
    np.testing.assert_array_equal(joined.outputs["hand.x"], whole.outputs["hand.x"])
    loaded = go.Trajectory.load(whole.save(tmp_path / "arm.nc"))
    assert list(loaded.outputs) == list(whole.outputs)
    assert loaded.meta["output_units"] == whole.meta["output_units"]
    for name, values in whole.outputs.items():
        np.testing.assert_array_equal(loaded.outputs[name], values)
        assert loaded.to_mapping()["outputs"][name] == values[-1]
        np.testing.assert_array_equal(loaded.to_pandas()[name], values)
    axes = loaded.draw("hand", "coil.force")
    assert [one.get_ylabel() for one in axes] == ["output hand / m", "output hand / m/s", "coil.force / N"]
    assert len(loaded.draw("outputs")) == 8


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"u": sp.Symbol("w")}, "'w', which is no coordinate"), ({"theta_rod": lambda t, q, v: 0.0}, "'theta_rod'"),
        ({"lam": lambda t, q, v: 0.0}, "names no coordinate and no other column"), ({"u": 3}, "Output 'u' is 3"),
        (["u"], "outputs is ['u']"), ({"u": lambda t, q, v: [[0.0]]}, "shape (1, 1)"),
        ({"u": lambda t, q, v: 1 / 0}, "Output 'u' at t = 0 raised ZeroDivisionError"),
    ],
)  # fmt: skip
def test_what_is_no_output_is_refused_before_the_motion(given: Any, word: str, assert_sentence: Any) -> None:
    with pytest.raises(go.BadInput) as caught:
        go.simulate(arm()[1], dt=1e-2, outputs=given)
    assert_sentence(caught.value, word)


def test_names_of_no_point_element_or_free_joint_are_refused(assert_sentence: Any) -> None:
    model, _ = arm()
    for ask, name, word in (
        (model.point, "hnd", "'hand'"), (model.force, "coli", "'coil'"), (model.displacement, "coil", "no joint"),
    ):  # fmt: skip
        with pytest.raises(go.GaussoptError) as caught:
            ask(name)
        assert_sentence(caught.value, word)


def test_a_motion_is_kept_where_an_output_fails() -> None:
    def late(t: float, q: Any, v: Any) -> float:
        if t > 0.05:
            raise ValueError("too late")
        return 0.0

    _, problem = arm()
    motion = go.simulate(problem, dt=1e-2, t_end=0.1, outputs={"late": late, "wall": go.Output.contact("wall")})
    assert motion.status == go.Status.SOLVED
    assert len(motion.t) == 11
    for name in ("late", "wall.normal", "wall.friction"):
        assert np.isnan(motion.outputs[name]).all()
    assert "Output 'late' could not be computed: " in motion.message
    assert "too late" in motion.warnings[0]
    assert "'wall'" in motion.warnings[1]


def test_an_output_cannot_change_the_motion_or_its_problem() -> None:
    problem = arm()[1]
    q0 = problem.q0.copy()

    def writes(t: float, q: Any, v: Any) -> float:
        if t >= late:
            q[:] = 0.0
        return 1.0

    late = 0.0
    with pytest.raises(go.BadInput, match="Output 'bad' writes into the q or v that it is given"):
        go.simulate(problem, dt=1e-2, outputs={"bad": writes})
    np.testing.assert_array_equal(problem.q0, q0)
    late = 0.3
    motion = go.simulate(problem, dt=1e-2, outputs={"bad": writes})
    assert "Output 'bad' could not be computed" in motion.message
    assert motion.q[-1].any()
