"""The equations in angular accelerations are those of the model, at states on and off its constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.bodies import Prismatic, Spherical, SpringDamper, Universal

TILTED = [[0.4, 0.05, 0], [0.05, 0.5, 0.03], [0, 0.03, 0.6]]


def arm(inertia: Any, quaternion_mass: float) -> go.Problem:
    """Three bodies with a Cardan joint, a guide, a ball, and a spring with a damper beside the axes."""
    model = go.Model(dim=3, gravity=(0, 0, -9.81), name=f"arm-{quaternion_mass}")
    a = model.body("a", 2.0, inertia, at=(0, 0, 0.2), quaternion_mass=quaternion_mass)
    b = model.body("b", 1.0, (0.1, 0.2, 0.25), at=(0, 0, 0.5))
    c = model.body("c", 1.0, (0.1, 0.1, 0.1), at=(0.3, 0, 0.5))
    model.add(Universal("U", model.ground.at(axis=(0, 1, 0)), a.at(0, 0, -0.2, axis=(1, 0, 0))))
    model.add(Prismatic("P", a.at(axis=(0, 0, 1)), b.at(axis=(0, 0, 1))))
    model.add(SpringDamper("S", a.at(0.1, 0.2, 0), b.at(0, 0.1, 0.3), stiffness=50.0, length=0.2, damping=3.0))
    model.add(Spherical("B", b.at(0.3, 0, 0), c.at(0, 0, 0)))
    return model.problem(t_end=1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: arm((0.3, 0.3, 0.2), 0.0), lambda: arm(TILTED, 0.3), lambda: go.problem("heavy-top"),
        lambda: go.problem("rolling-disc"),
    ],
)  # fmt: skip
def test_the_equations_agree_with_those_of_the_model(make: Any) -> None:
    system = make().system
    model, turned, e = system.model, system.model.turned, system.model.equations
    n = len(model.q)
    assert model.turns
    random = np.random.default_rng(0)
    known = dict(zip([*model.q, *model.v], map(sp.Float, random.uniform(-0.5, 0.5, 2 * n)), strict=True))
    known |= dict(zip(model.p, map(sp.Float, system.parameters.values()), strict=True))
    for symbol, value in turned.definitions.items():
        known[symbol] = value.xreplace(known)

    def numbers(entries: Any) -> Any:
        found = sp.lambdify([*known], [sp.sympify(x) for x in entries], cse=True)(*map(float, known.values()))
        return np.array(found, dtype=float)

    def matrix(rows: Any) -> Any:
        return numbers(x for row in rows for x in row).reshape(len(rows), n)

    unit = sp.eye(n).tolist()
    S, inverse = (matrix([change(row) for row in unit]).T for change in (turned.outward, turned.inward))
    M, J = matrix(e.M), matrix(e.J)
    for found, expected in (
        (S @ inverse, np.eye(n)), (matrix(turned.M), S.T @ M @ S), (matrix(turned.J), J @ S),
        (numbers(turned.forces), S.T @ (numbers(e.Q) - numbers(e.h))), (numbers(turned.gamma), numbers(e.gamma)),
        (numbers(turned.rates), numbers(e.rates)), (numbers(turned.holonomic), numbers(model.holonomic)),
    ):  # fmt: skip
        assert np.abs(found - expected).max() <= 1e-12 * (1.0 + np.abs(expected).max())
    zero, vanishes = turned.masks[1][0], np.abs(J @ S) < 1e-14
    assert vanishes[zero].all()
    assert zero[vanishes].all() or model.nonholonomic  # of rolling disks some zeros are not recognised
