"""A mass on a spring and a rough floor: half swings between shifted centres, then it sticks.

m x'' + k x = -mu N sgn x' with N = m g; each half swing loses 2 mu N / k of amplitude, and the mass stays at the
first turning point with |x| <= mu N / k.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gaussopt.core.contacts import Contact
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import Vector
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.sketch import Axes, Block, ContactPoint, Ground, Shape, Spring, Wall

PARAMETERS = (
    Parameter("m", 1.0, "kg", "mass"),
    Parameter("k", 1.0, "N/m", "stiffness"),
    Parameter("g", 10.0, "m/s^2", "gravity", printed=False),
    Parameter("mu", 0.1, "1", "friction coefficient; the source gives mu N = 1 N", printed=False),
    Parameter("x0", 12.0, "m", "initial position"),
    Parameter("speed0", 6.0, "m/s", "initial velocity"),
)


def build() -> AbstractSystem:
    """Derive the equations; the height y carries the weight to the floor."""
    import sympy as sp

    x, y = q = sp.symbols("x y")
    vx, vy = v = sp.symbols("vx vy")
    m, k, g, mu = sp.symbols("m k g mu")
    return System.from_lagrangian(
        q,
        v,
        kinetic=m * (vx**2 + vy**2) / 2,
        potential=k * x**2 / 2 + m * g * y,
        contacts=[Contact("floor", position=(x, y), mu=mu)],
        parameters={p.name: p.value for p in PARAMETERS},
        name="friction-oscillator",
    )


def start(p: Mapping[str, float]) -> tuple[Vector, Vector]:
    """On the floor."""
    return np.array([p["x0"], 0.0]), np.array([p["speed0"], 0.0])


def sketch(q: Vector, p: Mapping[str, float]) -> tuple[Shape, ...]:
    """The mass between wall and floor; the spring is relaxed at x = 0."""
    x, y = q
    reach = np.hypot(p["x0"], p["speed0"] * np.sqrt(p["m"] / p["k"])) or 1.0
    side = 0.22 * reach
    wall, middle = -1.7 * reach, y + side / 2
    return (
        Ground((0.0, 0.0)), Wall((wall, 1.6 * side), (wall, 0.0)), Block((x, middle), side, side, 0.0, "m"),
        Spring((wall, middle), (x - side / 2, middle), "k"),
        ContactPoint("floor", (x, y)), Axes((0.0, 2.2 * side), labels=("x", "")),
    )  # fmt: skip


# -- closed forms ------------------------------------------------------------------------------------------


def turning_points(p: Mapping[str, float]) -> tuple[Vector, Vector]:
    """Times and places of the turning points up to the last one, where the mass stays, s and m; speed0 != 0.

    Raises
    ------
    BadInput
        Without friction, when there is no last one.
    """
    if p["mu"] * p["g"] <= 0:
        raise BadInput("The oscillator never stops without friction; give positive mu and g.")
    rate = (p["k"] / p["m"]) ** 0.5
    reach = p["mu"] * p["m"] * p["g"] / p["k"]
    side = 1.0 if p["speed0"] >= 0 else -1.0
    # Mirrored so that the first swing goes to the right, about the centre -reach.
    x, u = side * p["x0"] + reach, abs(p["speed0"]) / rate
    time, place = float(np.arctan2(u, x)) / rate, float(np.hypot(x, u)) - reach
    times, places = [time], [side * place]
    direction = -1.0
    while (place if direction < 0 else -place) > reach:
        place = -place - 2 * direction * reach
        time += np.pi / rate
        times.append(time)
        places.append(side * place)
        direction = -direction
    return np.array(times), np.array(places)


def stop(p: Mapping[str, float]) -> tuple[float, float]:
    """Time and place where the mass stays, s and m."""
    times, places = turning_points(p)
    return float(times[-1]), float(places[-1])


problem = Problem(
    name="friction-oscillator",
    title="Oscillator with dry friction",
    source="Siconos tutorials, FrictionOscillator",
    description="Two coordinates, one contact with friction; stops after eight half swings.",
    build=build,
    start=start,
    sketch=sketch,
    parameters=PARAMETERS,
    t_end=25.0,
    dt=1e-2,
)
