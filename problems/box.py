"""A rigid box on a rough floor with two or three contacts: its motion is unique, its contact forces are not.

A uniform box of mass m, width and height; x, y is its centre, theta its angle. Contacts are at the two lower corners
and, in the regular model, at the middle of the lower side. Three collinear contacts are statically indeterminate.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.contacts import Contact
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.modified import Variant
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.parameter_grid import AtlasGrid, Axis
from gaussopt.modelling.problem import Case, Problem
from gaussopt.modelling.sketch import Block, ContactPoint, Force, Ground, Parameters, Point, Shape, along

PARAMETERS = (
    Parameter("m", 2.0, "kg", "mass"),
    Parameter("width", 1.0, "m", "width"),
    Parameter("height", 0.5, "m", "height"),
    Parameter("g", 9.81, "m/s^2", "gravity"),
    Parameter("mu1", 0.3, "1", "friction coefficient of the left corner"),
    Parameter("mu2", 0.3, "1", "friction coefficient of the middle"),
    Parameter("mu3", 0.3, "1", "friction coefficient of the right corner"),
    Parameter("P", 0.0, "N", "push to the right at the centre"),
    Parameter("e_N", 0.0, "1", "coefficient of restitution"),
    Parameter("gap0", 0.0, "m", "initial height over the floor"),
    Parameter("vx0", 1.0, "m/s", "initial velocity to the right"),
)


def build(points: tuple[str, ...] = ("left", "middle", "right")) -> AbstractSystem:
    """Derive the equations with contacts at the named points of the lower side."""
    import sympy as sp

    x, y, th = q = sp.symbols("x y theta")
    vx, vy, w = v = sp.symbols("vx vy omega")
    m, width, height, g, P, e_N = sp.symbols("m width height g P e_N")
    mu = dict(zip(("left", "middle", "right"), sp.symbols("mu1 mu2 mu3"), strict=True))
    place = {"left": -width / 2, "middle": sp.Integer(0), "right": width / 2}

    def contact(name: str) -> Contact:
        s = place[name]
        point = (
            x + s * sp.cos(th) + height / 2 * sp.sin(th),
            y + s * sp.sin(th) - height / 2 * sp.cos(th),
        )
        return Contact(name, position=point, mu=mu[name], e_N=e_N)

    return System.from_lagrangian(
        q,
        v,
        kinetic=m * (vx**2 + vy**2) / 2 + m * (width**2 + height**2) * w**2 / 24,
        potential=m * g * y,
        forces={x: P},
        contacts=[contact(name) for name in points],
        parameters={p.name: p.value for p in PARAMETERS},
        name="box",
    )


def start(p: Parameters) -> tuple[Vector, Vector]:
    """Return the upright state above the floor, moving along it."""
    return np.array([0.0, p["gap0"] + p["height"] / 2, 0.0]), np.array([p["vx0"], 0.0, 0.0])


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the box on its floor with all its contacts; contacts that a variant lacks have no forces."""
    x, y, angle = q
    foot = along((x, y), p["height"] / 2, angle - np.pi / 2)
    places = {name: along(foot, s * p["width"], angle) for name, s in (("left", -0.5), ("middle", 0.0), ("right", 0.5))}
    return (
        Ground((0.0, 0.0)), Block((x, y), p["width"], p["height"], angle), Point((x, y), "m", "sw"),
        *(ContactPoint(name, place) for name, place in places.items()), Force((x, y), 0.0, "P"),
    )  # fmt: skip


def _case(mu: float | tuple[float, float, float], P: float, vx0: float, meaning: str) -> Case:
    mu1, mu2, mu3 = mu if isinstance(mu, tuple) else (mu, mu, mu)
    return Case({"mu1": mu1, "mu2": mu2, "mu3": mu3, "P": P, "vx0": vx0}, 1.0, meaning)


CASES = {
    "slide": _case(0.3, 0.0, 1.0, "slides and stops: the acceleration is unique"),
    "slide-mu-differs": _case((0.2, 0.5, 0.2), 0.0, 1.0, "a continuum of accelerations"),
    "frictionless": _case(0.0, 0.0, 1.0, "slides for ever: the forces are not unique"),
    "stick": _case(0.4, 5.0, 0.0, "the push is too weak: sticks"),
    "stick-mu-differs": _case((0.2, 0.5, 0.2), 3.0, 0.0, "sticks, whatever the distribution of the forces"),
    "push-between": _case((0.2, 0.5, 0.2), 6.0, 0.0, "sticks or slips, depending on the distribution"),
    "slip-onset": _case(0.4, 12.0, 0.0, "the push is strong enough: starts to slip"),
    "tips": _case(2.5, 0.0, 1.0, "mu > width / height: the left corner lifts off"),
    "corners-differ": _case((0.2, 0.4, 0.6), 0.0, 1.0, "for the variant two: different coefficients, unique"),
    "dropped": Case({"gap0": 0.1, "vx0": 1.0}, 1.0, "falls flat on the floor and slides"),
}

VARIANTS = {"two": Variant(partial(build, ("left", "right")), "contacts at the two corners only")}

problem = Problem(
    name="box",
    title="Box on a rough floor with redundant contacts",
    source="example of this project, statically indeterminate contacts",
    description="Three coordinates, three contacts (two corners in the variant `two`).",
    build=build,
    start=start,
    sketch=sketch,
    parameters=PARAMETERS,
    units={"x": "m", "y": "m", "theta": "rad"},
    t_end=1.0,
    dt=1e-3,
    cases=CASES,
    variants=VARIANTS,
    atlas=AtlasGrid((Axis("mu1", np.linspace(0.1, 2.5, 13)), Axis("mu3", np.linspace(0.1, 2.5, 13)))),
)
