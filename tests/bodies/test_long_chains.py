"""Long chains in joint coordinates, with named positions and velocities: the same equations and motions."""

from dataclasses import astuple

import numpy as np
import pytest

import gaussopt as go
from gaussopt.bodies import (
    AppliedTorque,
    Bushing,
    Distance,
    Model,
    Revolute,
    Spherical,
    SpringDamper,
    Touch,
    Universal,
    tree,
)

G = 9.81


def rods(count, coordinates="joint"):
    """A chain of rods: a hinge, a ball, a cardan joint and so on, with forces, a contact, and its end tied."""
    model = Model(dim=3, gravity=(0, 0, -G), name="rods", coordinates=coordinates)
    last, stiffness = model.ground, model.parameter("k", 30.0)
    for i in range(count):
        joint, along = ((Revolute, (0, 1, 0)), (Spherical, (0, 1, 0)), (Universal, (0, 0, 1)))[i % 3]
        rod = model.body(f"rod {i}", 1.0 + i / 10, (0.02, 0.03, 0.01), at=(i + 0.5, 0, 0))
        model.add(joint(f"J{i}", last.at(0.5 * (i > 0), 0, 0, axis=(0, 1, 0)), rod.at(-0.5, 0, 0, axis=along)))
        last = rod
    model.add(Distance("tie", model.ground.at(0.3, 1, 0), last.at(0.5, 0, 0), length=2.0))
    model.add(SpringDamper("S", model.ground.at(0, 1, 0), last, stiffness=stiffness, length=0.4, damping=0.7))
    model.add(AppliedTorque("T", model.ground, last, lambda t, R, omega: [t - x / 50 for x in omega]))
    model.add(Bushing("B", model.ground.at(1, 1, 0), last, stiffness=(3, 4, 5), damping=(1, 2, 3), torsion=(2, 1, 1)))
    model.add(Touch("floor", model.ground.at(0, 0, -3, axis=(0, 0, 1)), last.at(0.5, 0, 0), mu=0.3, radius=0.1))
    return model


def test_named_positions_and_velocities_do_not_change_the_equations(monkeypatch):
    """At unit quaternions e, h may differ by a multiple of e, which changes only the multiplier of e . e = 1."""
    found = []
    for shortest in (99, 1):
        monkeypatch.setattr(tree, "LONG", shortest)
        found.append(rods(2).system().with_parameters(k=7.0))
    plain, named = found
    assert not plain.model.lines
    assert named.model.lines
    random = np.random.default_rng(2)
    for _ in range(3):
        q, v, across = *random.uniform(-1, 1, (2, plain.n)), np.eye(plain.n)
        for _, e in plain.quaternions:
            q[e] /= np.linalg.norm(q[e])
            across[np.ix_(e, e)] -= np.outer(q[e], q[e])
        v = across @ v
        steps = [system.evaluate(0.3, q, v) for system in found]
        for part in ("M", "Q", "J", "gamma", "g_N", "J_N", "zeta_N", "J_T", "zeta_T", "v_T"):
            values = [getattr(step, part) for step in steps]
            np.testing.assert_allclose(*values, rtol=0, atol=1e-13 * (1 + np.abs(values[0]).max()))
        accelerations = []
        for step in steps:
            saddle = np.block([[step.M, step.J.T], [step.J, np.zeros((step.m, step.m))]])
            accelerations.append(np.linalg.solve(saddle, [*(step.Q - step.h), *step.gamma])[: step.n])
        np.testing.assert_allclose(*accelerations, rtol=1e-11)
        energies = [astuple(s.energy(0.3, q, v)) for s in found]
        np.testing.assert_allclose(*energies, rtol=1e-13)
        np.testing.assert_allclose(*(s.position_residual(0.3, q) for s in found), rtol=0, atol=1e-13)
        np.testing.assert_allclose(*(s.velocity_residual(0.3, q, v) for s in found), rtol=0, atol=1e-13)


@pytest.mark.parametrize("count", [4, 12])
def test_a_long_chain_moves_as_in_all_coordinates(count):
    """Rods in a row, whose source grows with the square of their number."""
    ends, sizes = [], []
    for kind in ("maximal", "joint"):
        model = Model(gravity=(0, -G), coordinates=kind)
        last = model.ground
        for i in range(count):
            rod = model.body(f"rod {i}", 1.0, 0.1, at=(i + 0.5, 0))
            model.add(Revolute(f"H{i}", last.at(0.5 * (i > 0), 0), rod.at(-0.5, 0)))
            last = rod
        problem = model.problem(t_end=0.2)
        motion = go.simulate(
            problem, stepper="dop853", rtol=1e-11, atol=1e-11, dt=0.05, error_estimate=False,
            stabilisation="projection", outputs={"end": model.point(last.at(0.5, 0))},
        )  # fmt: skip
        ends.append([motion.outputs[f"end.{x}"] for x in ("x", "y", "v_x", "v_y")])
        sizes.append(len(problem.system.source) if kind == "joint" else 0)
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-8)
    assert sizes[1] < 400 * (count + 4) ** 2
