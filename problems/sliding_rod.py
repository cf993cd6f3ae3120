"""The rod of Yao, Liu & Yang 2020, one end of which slides on a rough floor: one contact with Coulomb friction.

A uniform rod of mass m and half-length l; x, y is its centroid, theta its angle from the horizontal, and its lower end
is (x - l cos theta, y - l sin theta). With one contact the matrix A is a number, which may be negative: for mu > 4/3
the rod has Painleve's states with no solution or two solutions.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.contacts import Contact
from gaussopt.core.event import Event
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.erratum import Evidence, errata, notes
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.parameter_grid import AtlasGrid, Axis
from gaussopt.modelling.problem import Case, Problem
from gaussopt.modelling.reference import Reference
from gaussopt.modelling.sketch import Angle, Bar, ContactPoint, Ground, Length, Parameters, Point, Shape, along

PARAMETERS = (
    Parameter("m", 1.0, "kg", "mass", printed=False),
    Parameter("l", 0.5, "m", "half of the length", printed=False),
    Parameter("g", 9.81, "m/s^2", "gravity", printed=False),
    Parameter("mu", 0.3, "1", "friction coefficient", printed=False),
    Parameter("e_N", 0.0, "1", "coefficient of restitution", printed=False),
    Parameter("theta0", np.pi / 3, "rad", "initial angle", printed=False),
    Parameter("omega0", 0.0, "rad/s", "initial angular velocity", printed=False),
    Parameter("vA0", -2.0, "m/s", "initial slip velocity of the end A", printed=False),
)


def build() -> AbstractSystem:
    """Derive the equations; the contact is given by the position of the lower end alone."""
    import sympy as sp

    x, y, th = q = sp.symbols("x y theta")
    vx, vy, w = v = sp.symbols("vx vy omega")
    m, l, g, mu, e_N = sp.symbols("m l g mu e_N")
    return System.from_lagrangian(
        q,
        v,
        kinetic=m * (vx**2 + vy**2) / 2 + m * l**2 * w**2 / 6,
        potential=m * g * y,
        contacts=[Contact("A", position=(x - l * sp.cos(th), y - l * sp.sin(th)), mu=mu, e_N=e_N)],
        parameters={p.name: p.value for p in PARAMETERS},
        name="sliding-rod",
    )


def start(p: Parameters) -> tuple[Vector, Vector]:
    """Return the state with the lower end at the origin, on the floor."""
    c, s = np.cos(p["theta0"]), np.sin(p["theta0"])
    l, w = p["l"], p["omega0"]
    return np.array([l * c, l * s, p["theta0"]]), np.array([p["vA0"] - l * s * w, l * c * w, w])


def events(p: Parameters) -> tuple[Event, ...]:
    """Return the event at which the rod lies flat: its other end reaches the floor."""
    return (Event("floor", lambda t, q, v: float(np.sin(q[2])), direction=-1, terminal=True),)


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the rod on the floor, with the path of its upper end."""
    l, centre = p["l"], (q[0], q[1])
    A, end = along(centre, -l, q[2]), along(centre, l, q[2])
    return (
        Ground((A[0], 0.0)), Bar(A, end), Point(A, "A", "nw"), Point(centre), Point(end, trace=True),
        ContactPoint("A", A), Angle(A, 0.0, q[2], "θ"), Length(A, centre, "l", 0.45 * l),
        Length(centre, end, "l", 0.45 * l),
    )  # fmt: skip


# -- closed forms ------------------------------------------------------------------------------------------


def delassus(theta: float, sigma: int, p: Parameters) -> float:
    """Return A, the gap acceleration per contact force, 1/kg: (1 + 3 c (c - sigma mu s)) / m."""
    c, s = np.cos(theta), np.sin(theta)
    return float((1 + 3 * c * (c - sigma * p["mu"] * s)) / p["m"])


def bias(theta: float, omega: float, p: Parameters) -> float:
    """Return B, the gap acceleration without contact force, m/s^2: l omega^2 sin theta - g."""
    return float(p["l"] * omega**2 * np.sin(theta) - p["g"])


def normal_forces(theta: float, omega: float, sigma: int, p: Parameters) -> tuple[float, ...]:
    """Return all normal forces that Coulomb's law allows, in newton: none, one or two."""
    A, B = delassus(theta, sigma, p), bias(theta, omega, p)
    found = [0.0] if B >= 0 else []
    if A != 0 and -B / A > 0:
        found.append(-B / A)
    return tuple(found)


def painleve_region(mu: float) -> tuple[float, float] | None:
    """Return the angles between which A < 0 for sliding to the left, rad; None for mu <= 4/3."""
    root = 9 * mu**2 - 16
    if root <= 0:
        return None
    return float(np.arctan((3 * mu - root**0.5) / 2)), float(np.arctan((3 * mu + root**0.5) / 2))


STEEP = float(np.arctan(2.0))
"""The angle, rad, at which A vanishes if mu = 4/3; for smaller mu A is positive at all angles."""


def _unit(theta: float, omega: float, mu: float, slip: float, meaning: str) -> Case:
    values = {"l": 1.0, "mu": mu, "theta0": theta, "omega0": omega, "vA0": slip}
    return Case(values, 0.05, f"rod of half-length 1 m: {meaning}")


CASES = {
    "floor": Case({"mu": 0.3, "theta0": np.pi / 3, "omega0": 0.0, "vA0": -2.0}, 0.5, "slides until it lies flat"),
    "stop": Case({"mu": 0.5, "theta0": 4 * np.pi / 9, "omega0": 0.0, "vA0": -1.0}, 0.2, "slides, stops and sticks"),
    "lift": Case({"mu": 0.3, "theta0": np.pi / 6, "omega0": 5.5, "vA0": -3.0}, 0.1, "slides and lifts off"),
    "regular": Case({"mu": 0.3, "theta0": np.pi / 3, "omega0": 0.0, "vA0": -1.0}, 0.1, "A > 0, B < 0: contact"),
    "separating": Case({"mu": 0.3, "theta0": np.pi / 3, "omega0": 5.0, "vA0": -1.0}, 0.1, "A > 0, B > 0: lifts off"),
    "inconsistent": Case(
        {"mu": 1.5, "theta0": STEEP, "omega0": 0.0, "vA0": -1.0}, 0.05, "Painleve, A < 0, B < 0: no solution"
    ),
    "indeterminate": Case(
        {"mu": 1.5, "theta0": STEEP, "omega0": 6.0, "vA0": -1.0}, 0.05, "Painleve, A < 0, B > 0: two solutions"
    ),
    "unit-contact": _unit(1.1, 2.0, 1.0, -1.0, "one contact force"),
    "unit-lift-off": _unit(1.1, 4.0, 1.0, -1.0, "lifts off"),
    "unit-right": _unit(1.1, 2.0, 1.6, 1.0, "slides to the right, where A > 0 for every mu"),
    "unit-inconsistent": _unit(1.1071487177940904, 2.0, 1.5, -1.0, "no solution"),
    "unit-indeterminate": _unit(1.1071487177940904, 4.0, 1.5, -1.0, "two solutions"),
}

EVENTS = {
    "floor": ("floor", 0.437522587623045863),
    "stop": ("stick:A", 0.0593115888740283681),
    "lift": ("lift_off:A", 0.0369670124228329554),
}


# -- errata ------------------------------------------------------------------------------------------------


def _centroid() -> Evidence:
    rows = problem.reference("rod-floor")
    l = problem.parameter_values["l"]
    end = rows.q[:, 1] - l * np.sin(rows.q[:, 2])
    rate = rows.v[:, 1] - l * np.cos(rows.q[:, 2]) * rows.v[:, 2]
    return Evidence(
        {"largest y while A slides on the floor, m": float(rows.q[:, 1].max()),
         "largest |y′| while A slides on the floor, m/s": float(np.abs(rows.v[:, 1]).max()),
         "largest |y_A|, m": float(np.abs(end).max()), "largest |y_A′|, m/s": float(np.abs(rate).max())},
        "Along the sliding motion the height of the end A vanishes, not that of the centroid.",
        bool(rows.q[:, 1].max() < 1e-9),
    )  # fmt: skip


problem = Problem(
    name="sliding-rod",
    title="Rod sliding on a rough floor",
    source="Yao, Liu & Yang 2020 (paper 001), Coulomb friction and a quadratic program of normal forces",
    description="Three coordinates, one contact with friction; slides, stops, lifts off, or has no solution.",
    build=build,
    start=start,
    sketch=sketch,
    parameters=PARAMETERS,
    units={"x": "m", "y": "m", "theta": "rad"},
    t_end=0.5,
    dt=1e-3,
    references=tuple(
        Reference(
            f"rod-{case}", f"rod_{case}.csv", CASES[case].values, 1e-13, CASES[case].description,
            ("x", "y", "th"), energy="E_mech", normal_forces=("Fn",), events=(event,),
        )
        for case, event in EVENTS.items()
    ),
    errata=errata({"001-10": _centroid}),
    notes=notes("sliding-rod"),
    cases=CASES,
    events=events,
    atlas=AtlasGrid((
        Axis("theta0", np.radians(np.linspace(1.0, 89.0, 45))), Axis("omega0", np.array([0.0, 3.0, 6.0])),
        Axis("mu", np.linspace(0.1, 2.5, 25)),
    )),
)  # fmt: skip
