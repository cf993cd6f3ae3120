"""Coordinates that a model chooses by the operations of a stage."""

import re

import numpy as np
import pytest

import gaussopt as go
from gaussopt.bodies import Model, Revolute, Row, Spherical, choice

AXES = (0, 1, 0), (0, 0, 1)


def chain(coordinates, joint, count=3):
    """Rods in a row on crossed hinges or on balls, and the name of the last one."""
    model = Model(dim=3, gravity=(0, 0, -9.81), name=f"{joint.__name__}s", coordinates=coordinates)
    last = model.ground
    for i in range(count):
        rod = model.body(f"rod {i}", 1.0 + i, (0.1, 0.2, 0.15), at=(i + 0.5, 0, 0))
        along = {"axis": AXES[i % 2]} if joint is Revolute else {}
        model.add(joint(f"J{i}", last.at(0.5 * (i > 0), 0, 0, **along), rod.at(-0.5, 0, 0, **along)))
        last = rod
    return model, last


def moved(coordinates, joint):
    model, last = chain(coordinates, joint)
    problem = model.problem(t_end=0.2)
    return go.simulate(
        problem, stepper="dop853", rtol=1e-11, atol=1e-11, dt=0.05, error_estimate=False, stabilisation="projection",
        outputs={"end": model.point(last.at(0.5, 0, 0))},
    )  # fmt: skip


@pytest.mark.parametrize(("joint", "kind", "size"), [(Revolute, "joint", 3), (Spherical, "maximal", 21)])
def test_the_kind_with_fewer_operations_is_chosen_and_said(joint, kind, size):
    assert re.search(r"coordinates maximal; .*'auto' can be asked for", repr(chain("maximal", joint)[0]))
    motion, other = moved("auto", joint), moved("joint" if kind == "maximal" else "maximal", joint)
    said = motion.meta["chosen_coordinates"]
    counts = {name: int(count) for count, name in re.findall(r"(\d+) in (\w+) coordinates", said)}
    assert said.startswith(f"{kind}: ")
    assert counts.keys() == {"joint", "maximal"}
    assert min(counts, key=counts.get) == kind
    assert motion.q.shape[1] == size
    assert other.meta["chosen_coordinates"] == ""
    for x in ("x", "y", "z", "v_x", "v_y", "v_z"):
        np.testing.assert_allclose(motion.outputs[f"end.{x}"], other.outputs[f"end.{x}"], rtol=0, atol=1e-8)


def test_operations_are_counted_once_for_a_mechanism(monkeypatch, tmp_path):
    monkeypatch.setenv("GAUSSOPT_CACHE", str(tmp_path / "cache"))
    first, _ = chain("auto", Revolute, 2)
    assert len(first.coordinates) == 2
    monkeypatch.setattr(choice, "_operations", lambda built: pytest.fail("operations are counted again"))
    again, _ = chain("auto", Revolute, 2)
    assert len(again.coordinates) == 2
    assert again.chosen == first.chosen
    assert f"coordinates {first.chosen}" in repr(first)


def test_a_model_that_joint_coordinates_do_not_take_keeps_those_of_all_bodies():
    model, last = chain("auto", Revolute, 1)
    model.add(Row("R", model.ground, last, last.q[3] - 1))
    assert len(model.coordinates) == 7
    assert re.fullmatch(r"maximal: operations of a stage are \d+ in maximal coordinates", model.chosen)


def test_long_chains_are_not_compared(monkeypatch):
    monkeypatch.setattr(choice, "MOST", 20)
    model, _ = chain("auto", Spherical)
    assert len(model.coordinates) == 21
    assert model.chosen.startswith("maximal: of more than 20 coordinates")
