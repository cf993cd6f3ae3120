"""The two bars sliding with both ends on the floor, by equations reduced to the angle and the centroid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.modelling.problem import problem
from gaussopt.problems.two_bar import both_ends, reduced

EXACT: dict[str, Any] = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-12}

Sides = tuple[int, int]
"""Signs of the friction at A and C."""


@dataclass(frozen=True)
class SlidingMotion:
    """Sliding on the floor by the reduced equations.

    Attributes
    ----------
    states : (q, v) at instants between the events
    forces : (T, 2), N_A and N_C of the reduced equations, N
    events : instants of the reversals of C, and of the end with both bars flat on the floor, s
    passes : whether C goes through every reversal instead of sticking
    """

    states: list[tuple[Vector, Vector]]
    forces: Matrix
    events: list[float]
    passes: bool


@cache
def parameters() -> dict[str, float]:
    """Return the parameters of the registered problem by name."""
    return dict(problem("two-bar").parameter_values)


def start() -> Vector:
    """Return the reconstructed start: angle, rate, position and velocity of the centroid, (4,)."""
    p = parameters()
    return np.array([p["theta1_0"], p["omega1_0"], p["x0"], p["vx0"]])


def slope(z: Vector, sigma: Sides) -> Vector:
    """Return the time derivative of the state z with friction of the given signs, (4,)."""
    alpha, ax, _ = reduced(z[0], z[1], sigma, parameters())
    return np.array([z[1], alpha, z[3], ax])


def slip(z: Vector) -> tuple[float, float]:
    """Return the velocities of A and C along the floor, m/s."""
    turn = parameters()["l"] * np.sin(z[0]) * z[1]
    return float(z[3] + 0.5 * turn), float(z[3] - 1.5 * turn)


def energies(t_end: float, sign: int) -> tuple[float, float]:
    """Return the energies, J, at the start and at t_end while both ends slide; friction adds energy if `sign` is -1."""
    entry = problem("two-bar")
    z = start(), solve_ivp(lambda _, z: slope(z, (sign, sign)), (0.0, t_end), start(), **EXACT).y[:, -1]
    states = [both_ends(theta, x, vx, omega, parameters()["l"]) for theta, omega, x, vx in z]
    first, last = (entry.system.energy(0.0, *state) for state in states)
    assert first is not None
    assert last is not None
    return first.total, last.total


def slide(points: int) -> SlidingMotion:
    """Integrate the motion from the reconstructed start until the bars lie flat, at about `points` instants."""
    p = parameters()
    z, t = start(), 0.0
    sides = [int(-np.sign(v)) for v in slip(z)]
    states: list[tuple[Vector, Vector]] = []
    forces: list[Vector] = []
    happened: list[float] = []
    passes = True
    while t < 1.0 and z[0] > 1e-12:
        sigma = sides[0], sides[1]
        run = _until_event(t, z, sigma)
        # States are recorded between the events only, because at a reversal the slip has no sign.
        for instant in np.linspace(t, run.t[-1], points // 3 + 2)[1:-1]:
            x = run.sol(instant)
            states.append(both_ends(x[0], x[2], x[3], x[1], p["l"]))
            forces.append(reduced(x[0], x[1], sigma, p)[2])
        t, z = float(run.t[-1]), run.y[:, -1]
        happened.append(t)
        if len(run.t_events[0]):
            before = sides[1]
            sides[1] = -before
            # After a reversal, friction must let the slip grow in its new direction; otherwise C sticks.
            passes &= slip(z + 1e-6 * slope(z, (sides[0], sides[1])))[1] * before > 0
        elif len(run.t_events[1]):
            passes = False
            break
    return SlidingMotion(states, np.array(forces), happened, passes)


def _until_event(t: float, z: Vector, sigma: Sides) -> Any:
    """Integrate until the slip of C reverses, A stops, or the bars lie flat."""

    def turns(t: float, z: Vector) -> float:
        return slip(z)[1]

    def stops(t: float, z: Vector) -> float:
        return slip(z)[0]

    def flat(t: float, z: Vector) -> float:
        return float(z[0])

    for event in (turns, stops, flat):
        event.terminal = True  # type: ignore[attr-defined]
    turns.direction, flat.direction = sigma[1], -1  # type: ignore[attr-defined]
    return solve_ivp(lambda _, z: slope(z, sigma), (t, 1.0), z, dense_output=True, events=(turns, stops, flat), **EXACT)
