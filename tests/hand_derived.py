"""The mechanisms of the papers from bodies and joints, with the parameters of the problems that ship."""

import numpy as np
import sympy as sp

import gaussopt as go
from gaussopt.bodies import AppliedTorque, Model, Revolute, Row, Slot, SpringDamper, Touch


def crank_slider():
    """The papers' start, stretched out at rest."""
    model, given = Model(name="crank-slider-bodies"), go.problem("crank-slider").parameter_values
    m1, m2, m3, l1, l2, k, c, tau, g, I1, I2 = (model.parameter(*x) for x in given.items())
    model.gravity = (0, -g)
    crank = model.body("crank", m1, I1, at=(l1 / 2, 0))
    rod = model.body("rod", m2, I2, at=(l1 + l2 / 2, 0))
    slider = model.particle("slider", m3, at=(l1 + l2, 0), shape=(0.2 * l2, 0.1 * l2))
    model.add(Revolute("O", model.ground, crank.at(-l1 / 2, 0)))
    model.add(Revolute("A", crank.at(l1 / 2, 0), rod.at(-l2 / 2, 0)))
    model.add(Revolute("B", rod.at(l2 / 2, 0), slider))
    model.add(Slot("guide", model.ground, slider))
    model.add(SpringDamper("spring", model.ground.at(3 * l1 + l2, 0), slider, k, 2 * l1, c))
    model.add(AppliedTorque("motor", model.ground, crank, tau))
    return model.problem(t_end=2.0)


def four_bar(parallel: bool):
    """With the hinge B, singular where all bars are in line; or with angles that keep it a parallelogram throughout."""
    model, given = Model(name="four-bar-bodies"), go.problem("four-bar").parameter_values
    m, l, psi, g = (model.parameter(name, given[name]) for name in ("m", "l", "psi", "g"))
    model.gravity, angle, inertia = (0, -g), np.pi / 3, m * l**2 / 12
    x, y = l / 2 * np.cos(angle), l / 2 * np.sin(angle)
    one = model.body("one", m, inertia, at=(x, y), angle=angle)
    two = model.body("two", m, inertia, at=(l + x, y), angle=angle)
    coupler = model.body("coupler", m, inertia, at=(2 * x + l / 2, 2 * y))
    model.add(Revolute("O", model.ground, one.at(-l / 2, 0)))
    model.add(Revolute("P", model.ground.at(l, 0), two.at(-l / 2, 0)))
    model.add(Revolute("A", one.at(l / 2, 0), coupler.at(-l / 2, 0)))
    model.add(AppliedTorque("drive", model.ground, one, psi))
    if parallel:
        model.add(Row("cranks", one, two, one.angle - two.angle))
        model.add(Row("level", model.ground, coupler, coupler.angle))
    else:
        model.add(Revolute("B", two.at(l / 2, 0), coupler.at(l / 2, 0)))
    return model.problem(t_end=2.0)


def two_bar(case: str = "contact"):
    """Hinged bars on a rough floor; both ends start where the paper puts them."""
    model, given = Model(name="two-bar-bodies"), go.problem("two-bar", case=case)
    p = {name: model.parameter(name, value) for name, value in given.parameter_values.items()}
    m, l, a, b, w = p["m"], p["l"], p["theta1_0"], p["theta2_0"], p["omega1_0"]
    model.gravity, half, x, y = (0, -p["g"]), l / 2, p["x0"], p["gap0"] + l / 2 * sp.sin(a)
    speed = (p["vx0"], p["gap_rate0"] + half * sp.cos(a) * w)
    one = model.body("AB", m, m * l**2 / 12, at=(x, y), angle=a, velocity=speed, spin=w)
    at = (x + half * (sp.cos(a) + sp.sin(b)), y + half * (sp.sin(a) - sp.cos(b)))
    two = model.body("BC", m, m * l**2 / 12, at=at, angle=b - sp.pi / 2, spin=p["omega2_0"])
    model.add(Revolute("B", one.at(half, 0), two.at(-half, 0)))
    for name, end in (("A", one.at(-half, 0)), ("C", two.at(half, 0))):
        model.add(Touch(name, model.ground, end, p["mu"], p["e_N"]))
    held = [*one.q, two.angle]
    return model.problem(t_end=given.t_end, hold=held, events=given.events)
