"""Rows and forces evaluated by forms against those derived as a whole."""

import numpy as np
import pytest
from hand_derived import crank_slider
from scipy.integrate import solve_ivp

import gaussopt as go
from gaussopt.bodies import AppliedTorque, Revolute, SpringDamper
from gaussopt.bodies import model as models
from gaussopt.bodies.tables import TableSystem
from gaussopt.problems import car_axis


def braked():
    model = go.Model(gravity=(0, -9.81))
    body = model.body("b", model.parameter("c", 2.0), 0.1, at=(1, 0))
    model.add(Revolute("J", model.ground, body.at(-1, 0)))
    model.add(SpringDamper("s", model.ground.at(1, 1), body, damping=0.5))
    model.add(AppliedTorque("T", model.ground, body, 3 * model.t))
    return model.system()


def car():
    model = go.Model(parameters=car_axis.PARAMETERS)
    car_axis.fill(model)
    return model.system()


@pytest.mark.parametrize("build", [lambda: crank_slider().system, car, braked])
def test_forms_give_the_same_steps_as_equations_of_the_whole(build, monkeypatch):
    whole = build()
    monkeypatch.setattr(models, "MANY", 0)
    forms = build()
    assert isinstance(forms, TableSystem)
    changed = {name: 1.1 * value for name, value in whole.parameters.items()}
    random, n = np.random.default_rng(0), whole.size
    for a, b in ((whole, forms), (whole.with_parameters(**changed), forms.with_parameters(**changed))):
        q, v = random.normal(size=n), random.normal(size=n)
        step, sparse = a.evaluate(0.03, q, v), b.evaluate(0.03, q, v)
        for mine, exact in (
            (sparse.M.toarray(), step.M), (sparse.J.toarray(), step.J), (sparse.Q, step.Q - step.h),
            (sparse.gamma, step.gamma), (b.position_residual(0.03, q), a.position_residual(0.03, q)),
            (b.velocity_residual(0.03, q, v), a.velocity_residual(0.03, q, v)),
            (b.energy(0.03, q, v).total, a.energy(0.03, q, v).total),
            (b.energy(0.03, q, v).power, a.energy(0.03, q, v).power),
        ):  # fmt: skip
            np.testing.assert_allclose(mine, exact, rtol=1e-12, atol=1e-12)
        assert b.row_names == a.row_names
        assert b.coordinates(n) == a.coordinates(n)
    with pytest.raises(go.UnknownName, match="parameter"):
        forms.with_parameters(mass=1.0)


def test_forty_four_bars_move_as_their_equation_of_one_degree_of_freedom():
    N = 40
    found = go.simulate(
        go.problem("n-four-bar", variant="N=40"), t_end=0.25, dt=5e-3, stabilisation="projection", error_estimate=False
    )
    assert found.status == "solved"
    share = 9.81 * ((N + 1) / 2 + N) / ((N + 1) / 3 + N)
    exact = solve_ivp(lambda t, y: [y[1], -share * np.cos(y[0])], (0, 0.25), [np.pi / 2, -1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose([found.q[-1, 2], found.v[-1, 2]], exact.y[:, -1], rtol=0, atol=1e-8)
