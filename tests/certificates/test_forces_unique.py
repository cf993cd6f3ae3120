"""Recorded forces that are one choice of many say so, and others do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.linalg.redundancy import open_forces

ENGINES = ["compiled", "interpreted"]


def foot(gap: Any, slip: Any, name: str, mu: Any = 0.5) -> go.Contact:
    return go.Contact(name, gap=gap, slip=(slip,), mu=mu)


def table(feet: int, push: float) -> go.Problem:
    """A plate that stands on some feet and is pushed, by less than makes it slip or by more."""
    x, y, a, vx, vy, va = sp.symbols("x y a vx vy va")
    places = np.linspace(-1.0, 1.0, feet).tolist() if feet > 1 else [0.0]
    system = go.System.from_lagrangian(
        [x, y, a], [vx, vy, va], kinetic=(vx**2 + vy**2 + va**2) / 2, potential=sp.Float(9.81) * y, forces=[push, 0, 0],
        contacts=[foot(y + p * sp.sin(a) - sp.Float(0.5), vx + va / 2, f"foot {i + 1}") for i, p in enumerate(places)],
        name=f"table of {feet}",
    )  # fmt: skip
    return go.Problem.of(system, q0=[0.0, 0.5, 0.0], t_end=0.1, dt=0.01)


@pytest.mark.parametrize("engine", ENGINES)
def test_two_feet_that_stick_share_their_friction_as_they_like(engine: str, tmp_path: Path) -> None:
    motion = go.simulate(table(2, 1.0), engine=engine)
    assert motion.status is go.Status.SOLVED
    assert motion.mode.min() == 2
    assert not motion.forces_unique.any()
    assert motion.meta["open_forces"] == {"lam_T": ["foot 1", "foot 2"]}
    assert "instants the forces (lam_T of foot 1, foot 2) are one choice of many" in motion.message
    assert np.allclose(motion.lam_T.sum(axis=(1, 2)), -1.0)
    again = go.Trajectory.load(motion.save(tmp_path / "table.nc"))
    assert again.forces_unique.dtype == bool
    assert not again.forces_unique.any()
    assert not motion.to_pandas()["forces_unique"].any()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("feet", "push"), [(1, 1.0), (1, 8.0), (2, 8.0)])
def test_forces_that_are_determined_are_not_marked(engine: str, feet: int, push: float) -> None:
    """One foot that sticks, and one or two that slide, whose friction goes with the normal force."""
    problem = table(feet, push)
    settings = {"v0": [1.0, 0.0, 0.0]} if push > 5 else {}
    motion = go.simulate(problem, engine=engine, t_end=0.05, **settings)  # type: ignore[arg-type]
    assert motion.status is go.Status.SOLVED
    assert motion.mode.min() == (1 if push > 5 else 2)
    assert motion.forces_unique.all()
    assert motion.meta["open_forces"] == {}
    assert motion.message == "Reached t = 0.05."


@pytest.mark.parametrize("engine", ENGINES)
def test_three_feet_share_their_normal_forces(engine: str) -> None:
    motion = go.simulate(table(3, 8.0), engine=engine, v0=[1.0, 0.0, 0.0], t_end=0.03)
    feet = ["foot 1", "foot 2", "foot 3"]
    assert motion.meta["open_forces"] == {"lam_N": feet, "lam_T": feet}
    assert not motion.forces_unique.any()


def test_a_constraint_given_twice() -> None:
    x, y, vx, vy = sp.symbols("x y vx vy")
    system = go.System.from_lagrangian(
        [x, y], [vx, vy], kinetic=(vx**2 + vy**2) / 2, potential=9.81 * y, nonholonomic=[vx, 2 * vx], name="twice"
    )
    motion = go.simulate(system, q0=[0.0, 0.0], v0=[0.0, 0.0], dt=0.1, t_end=0.5)
    assert motion.status is go.Status.SOLVED
    assert not motion.forces_unique.any()
    assert "(lam of rows 1, 2)" in motion.message


def test_batches_mark_them_too() -> None:
    both = go.simulate_batch(table(2, 1.0), initial={"v0": [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]}, t_end=0.05)
    assert (both.forces_unique[0] == 0.0).all()
    assert (both.forces_unique[1] == 1.0).all()
    side = go.simulate_batch("crank-slider", parameters={"m1": [0.3, np.nan]}, t_end=0.01)
    assert (side.forces_unique[0] == 1.0).all()
    assert np.isnan(side.forces_unique[1]).all()


def test_which_forces_are_open_does_not_depend_on_units() -> None:
    step = table(3, 0.0).system.evaluate(0.0, [0.0, 0.5, 0.0], [0.0, 0.0, 0.0])
    for scale in (1e-6, 1.0, 1e6):
        data = {**step.to_mapping(), "M": step.M * scale, "Q": step.Q * scale}
        assert open_forces(go.StepData.from_mapping(data)) == ((), (0, 1, 2), (0, 1, 2))
