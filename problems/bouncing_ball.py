"""A ball that falls on a floor and bounces with Newton's restitution: infinitely many impacts in a finite time.

Height y over the floor, started at rest at y0. The impacts accumulate at sqrt(2 y0 / g) (1 + e) / (1 - e).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gaussopt.core.contacts import Contact
from gaussopt.core.step_data import Vector
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.sketch import ContactPoint, Disk, Ground, Length, Shape

PARAMETERS = (
    Parameter("m", 1.0, "kg", "mass"),
    Parameter("g", 9.81, "m/s^2", "gravity"),
    Parameter("e", 0.9, "1", "coefficient of restitution"),
    Parameter("y0", 1.0, "m", "initial height"),
    Parameter("speed0", 0.0, "m/s", "initial velocity upwards"),
)


def build() -> AbstractSystem:
    """Derive the equations: one coordinate, one contact without friction."""
    import sympy as sp

    y, vy, m, g, e = sp.symbols("y vy m g e")
    return System.from_lagrangian(
        [y],
        [vy],
        kinetic=m * vy**2 / 2,
        potential=m * g * y,
        contacts=[Contact("floor", gap=y, e_N=e)],
        parameters={p.name: p.value for p in PARAMETERS},
        name="bouncing-ball",
    )


def start(p: Mapping[str, float]) -> tuple[Vector, Vector]:
    """At the initial height with the initial velocity."""
    return np.array([p["y0"]]), np.array([p["speed0"]])


def sketch(q: Vector, p: Mapping[str, float]) -> tuple[Shape, ...]:
    """The ball over its floor; its radius is only drawn, y is the height of its lowest point."""
    y, r = float(q[0]), 0.07 * max(p["y0"], 1e-3)
    return (
        Ground((0.0, 0.0)), Disk((0.0, y + r), r, np.pi / 2), ContactPoint("floor", (0.0, y)),
        Length((-2.0 * r, 0.0), (-2.0 * r, y), "y"),
    )  # fmt: skip


# -- closed forms ------------------------------------------------------------------------------------------


def _fall(p: Mapping[str, float]) -> tuple[float, float]:
    """Time of the first impact and the speed there."""
    speed = (p["speed0"] ** 2 + 2 * p["g"] * p["y0"]) ** 0.5
    return (p["speed0"] + speed) / p["g"], speed


def impact_times(p: Mapping[str, float], count: int) -> Vector:
    """Times of the first impacts, (count,), s."""
    first, speed = _fall(p)
    flights = 2 * speed / p["g"] * p["e"] ** np.arange(1, count)
    return first + np.concatenate(([0.0], np.cumsum(flights)))


def accumulation_time(p: Mapping[str, float]) -> float:
    """The time at which infinitely many impacts have happened, s; e < 1."""
    first, speed = _fall(p)
    return first + 2 * speed / p["g"] * p["e"] / (1 - p["e"])


def exact(t: float, p: Mapping[str, float]) -> tuple[float, float]:
    """Height and velocity (after an impact at t), in m and m/s; zero from the accumulation on."""
    first, speed = _fall(p)
    if t < first:
        return p["y0"] + p["speed0"] * t - p["g"] * t**2 / 2, p["speed0"] - p["g"] * t
    if p["e"] < 1 and t >= accumulation_time(p):
        return 0.0, 0.0
    begin = first
    while True:
        speed *= p["e"]
        length = 2 * speed / p["g"]
        if t < begin + length or length == 0.0:
            s = t - begin
            return speed * s - p["g"] * s**2 / 2, speed - p["g"] * s
        begin += length


problem = Problem(
    name="bouncing-ball",
    title="Bouncing ball",
    source="Siconos tutorials, BouncingBallTS and BouncingBallED",
    description="One coordinate, one contact without friction, impacts that accumulate.",
    build=build,
    start=start,
    sketch=sketch,
    parameters=PARAMETERS,
    t_end=10.0,
    dt=5e-3,
)
