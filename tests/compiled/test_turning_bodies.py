"""Generated steps of bodies in space: quaternions as three unknowns, orders of pivots, rows that depend on others."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.bodies import Prismatic, Revolute, Spherical
from gaussopt.codegen.job import Orders
from gaussopt.codegen.step import acceleration
from gaussopt.compiled import modules

pytestmark = pytest.mark.skipif(not modules.has_llvm(), reason="compilation is switched off")

TILTED = [[0.4, 0.05, -0.02], [0.05, 0.5, 0.03], [-0.02, 0.03, 0.6]]


@cache
def chain(rods: int, mixed: bool = False) -> go.Problem:
    """Rods of 1 m joined by balls, let go from a horizontal position; `mixed` changes all but the first one."""
    model = go.Model(dim=3, gravity=(0, 0, -9.81), name=f"rods-{rods}")
    before = model.ground.at()
    for i in range(rods):
        inertia, mass = (TILTED, 0.3) if mixed and i else ((0.4, 0.5, 0.6), 0.0)
        rod = model.body(
            f"r{i}", 1.0, inertia, at=(i + 0.5, 0, 0), velocity=(0, 0.1 * (i + 0.5), 0), spin=(0, 0, 0.1),
            quaternion_mass=mass,
        )  # fmt: skip
        model.add(Spherical(f"ball {i}", before, rod.at(-0.5, 0, 0)))
        before = rod.at(0.5, 0, 0)
    return model.problem(t_end=0.05)


def lines(problem: go.Problem) -> int:
    """Number of generated lines of an acceleration."""
    system = problem.system
    orders = Orders.of(system.model, system.constant_entries, system.evaluate(0.0, problem.q0, problem.v0))
    step, _ = acceleration(system.model, orders.step, True)
    return len(step.once) + len(step.body)


def apart(problem: Any, **settings: Any) -> float:
    """Largest relative distance between the compiled and the interpreted motion; no compiled step is handed over."""
    quick, slow = (
        go.simulate(problem, "gauss", "kkt", engine=e, error_estimate=False, step_folder=None, **settings)
        for e in ("compiled", "interpreted")
    )
    assert quick.status is slow.status is go.Status.SOLVED
    assert quick.meta["handed_over"] == 0
    pairs = [(getattr(quick, x), getattr(slow, x)) for x in ("q", "v", "a", "lam")]
    return max(float(np.abs(x - y).max() / (1.0 + np.abs(y).max())) for x, y in pairs)


@pytest.mark.parametrize("stepper", ["rk4", "velocity-gauss", "rattle"])
def test_engines_agree_on_turning_bodies(stepper: str) -> None:
    """Quaternions without mass, and with one; inertia along the axes of a body, and across them."""
    problem = chain(2, True)
    assert [turn.weightless for turn in problem.system.model.turns] == [True, False]
    assert [bool(turn.rigid) for turn in problem.system.model.turns] == [True, False]
    assert apart(problem, stepper=stepper, dt=1e-3, t_end=0.02, stabilisation="projection") <= 1e-11


def test_a_quaternion_whose_entries_vanish_keeps_its_pivots() -> None:
    """A ball that turns about x by a whole turn: every entry of its quaternion vanishes twice."""
    model = go.Model(dim=3, name="spinning-ball")
    model.body("b", 1.0, (0.4, 0.4, 0.4), spin=(2.0, 0, 0), angle=(0.5, 0.1, 0.8, 0.2))
    problem = model.problem(t_end=2 * np.pi)
    motion = go.simulate(
        problem, stepper="rk4", dt=np.pi / 500, engine="compiled", error_estimate=False, stabilisation="projection"
    )
    assert motion.meta["handed_over"] == 0
    c, s, (a, b, d, e) = np.cos(motion.t), np.sin(motion.t), problem.q0[3:]
    exact = np.stack([c * a - s * b, c * b + s * a, c * d - s * e, c * e + s * d], axis=1)
    assert (np.abs(np.diff(np.sign(exact), axis=0)).sum(axis=0) == 4).all()
    assert np.abs(motion.q[:, 3:] - exact).max() < 1e-9


def test_the_code_of_a_chain_grows_with_its_length() -> None:
    """Entries that are the same at every state join all bodies; an order that begins with them fills the matrix."""
    short, middle, long = (lines(chain(n)) for n in (2, 4, 6))
    assert long - middle <= 1.02 * (middle - short)


def test_which_row_is_left_out_changes_with_the_state() -> None:
    """Of Bricard's mechanism the row left out at the start has no part in the dependence at other places."""
    problem = go.problem("bricard")
    far = go.simulate(
        problem, stepper="rk4", dt=2e-3, t_end=2.6, engine="compiled", record_every=1300, error_estimate=False
    )
    assert far.status is go.Status.SOLVED
    assert far.meta["handed_over"] == 0
    drift = np.abs(problem.system.evaluate(2.6, far.q[-1], far.v[-1]).J @ far.v[-1]).max()
    assert drift < 1e-6
    here = {"q0": far.q[-1], "v0": far.v[-1], "t0": 2.6, "t_end": 2.62}
    quick, slow = (
        go.simulate(problem, "gauss", "kkt", engine=e, stepper="rk4", dt=2e-3, error_estimate=False, **here)
        for e in ("compiled", "interpreted")
    )
    for x, y in ((quick.q, slow.q), (quick.v, slow.v), (quick.a, slow.a)):
        assert np.abs(x - y).max() <= 1e-9 * (1.0 + np.abs(y).max())


def test_joints_of_several_kinds() -> None:
    """A slider on a turning arm; a second hinge on the same axis says everything again but one displacement."""
    model = go.Model(dim=3, gravity=(0, 0, -9.81), name="arm-and-slider")
    arm = model.body("arm", 2.0, (0.05, 0.4, 0.4), at=(0.5, 0, 0), spin=(0, 1.0, 0), velocity=(0, 0, -0.5))
    model.add(Revolute("H", model.ground.at(axis=(0, 1, 0)), arm.at(-0.5, 0, 0, axis=(0, 1, 0))))
    model.add(Revolute("K", model.ground.at(0, 0.2, 0, axis=(0, 1, 0)), arm.at(-0.5, 0.2, 0, axis=(0, 1, 0))))
    slider = model.body("slider", 1.0, (0.01, 0.02, 0.03), at=(0.3, 0, 0), spin=(0, 1.0, 0), velocity=(0, 0, -0.3))
    model.add(Prismatic("P", arm.at(0, 0, 0, axis=(1, 0, 0)), slider.at(axis=(1, 0, 0))))
    problem = model.problem(t_end=0.05)
    quick, slow = (
        go.simulate(problem, "gauss", "kkt", engine=e, stepper="rk4", dt=1e-3, error_estimate=False)
        for e in ("compiled", "interpreted")
    )
    assert quick.meta["handed_over"] == 0
    for x, y in ((quick.q, slow.q), (quick.v, slow.v), (quick.a, slow.a)):
        assert np.abs(x - y).max() <= 1e-10 * (1.0 + np.abs(y).max())
