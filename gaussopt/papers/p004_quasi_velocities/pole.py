"""A closed form, the "law", of the printed ("tan") row's residual after RK4 has stepped over a pole, cos(phi) = 0.

The row vx tan(phi) - vy = 0 makes vx' = vx / t + r(t) near a pole at t = 0. On vx = c t the stages of RK4 are exact; a
quadratic or cubic term of vx causes an error in every step, and the sum over all steps is a function of the position of
the pole within its step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any

import numpy as np
from scipy.integrate import quad

from gaussopt.core.arrays import Vector
from gaussopt.papers.evidence.runge_kutta import march
from gaussopt.papers.p004_quasi_velocities.knife_edge import BOUNDS, BladeBody


def first(place: Any) -> Any:
    """Return the sum of 1 / (24 (j - f)^2 (j - f - 1/2)^2) over all integers j; f is `place`, see `Pole.place`."""
    s = np.sin(2 * np.pi * place)
    return 2 / 3 * np.pi * (np.pi / s**2 - 2 / s)


def second(place: Any) -> Any:
    """Return the sum of (1 + f - j) / (24 (j - f)^2 (j - f - 1/2)^2) over all integers j."""
    c, s = np.cos(np.pi * place), np.sin(np.pi * place)
    return np.pi**2 / 12 * (1 / c**2 + 2 / s**2) - np.pi / (2 * s * c)


LEAST = 2 / 3 * math.pi * (math.pi - 2)
"""Least value of `first` over all positions of the pole, reached at a quarter of a step."""

INSTANT, AFTER = 0.5, 50
"""Instant, s, at which `passage` passes its pole, and number of steps that are computed after the pole."""

PASSAGES = {**{k: v for k, v in BOUNDS.items() if k != "phi"}, "place": (0.0, 1.0)}
"""Ranges, in SI units, of the bodies that `passage` takes, and of the position of the pole within its step."""


@dataclass(frozen=True, slots=True)
class Pole:
    """An instant, s, at which cos(phi) vanishes in the true motion, with the turning rate, rad/s, and sin(phi) there.

    `speed` is the speed along the blade in m/s, `rate` its derivative F cos(phi - alpha) / M, and `change` the second
    derivative.
    """

    instant: float
    turning: Any
    sine: float
    speed: Any
    rate: Any
    change: Any

    def place(self, dt: Any) -> Any:
        """Return the position of the pole within its step, 0 to 1."""
        return np.mod(self.instant / dt, 1.0)

    def left(self, dt: Any) -> Any:
        """Return the residual omega3, m/s, that RK4 adds at this pole; the term in dt^2 assumes no torque."""
        f = self.place(dt)
        bend = self.turning**2 * self.speed / 3 - self.change
        return -self.sine * (dt * self.rate * first(f) + dt**2 * bend * second(f))


def poles(body: BladeBody, end: float) -> list[Pole]:
    """Find the poles that a body passes until `end`, in order of time."""
    beta, turning = body.L_C / body.I_C, body.turning
    low, high = map(int, half_turns(body, end))
    found = []
    for k in range(low + 1, high + 1):
        distance = math.pi / 2 + k * math.pi - body.phi
        roots = np.roots([beta / 2, turning, -distance]) if beta else np.array([distance / turning])
        found += [_pole(body, float(t.real)) for t in roots if abs(t.imag) < 1e-12 and 0 < t.real < end]
    return sorted(found, key=lambda p: p.instant)


def half_turns(body: BladeBody, end: float) -> tuple[Any, Any]:
    """Return the indices of the intervals between poles that contain the smallest and the largest angle until `end`.

    A body passes a pole if and only if the two indices differ.
    """
    beta = body.L_C / body.I_C
    turns = np.clip(-body.turning / np.where(beta, beta, np.inf), 0.0, end)
    reach = [body.phi + body.turning * t + beta * t * t / 2 for t in (0.0, end, turns)]
    low, high = (np.floor(of(reach, axis=0) / np.pi - 0.5) for of in (np.min, np.max))
    return low, high


def _pole(body: BladeBody, t: float) -> Pole:
    beta = body.L_C / body.I_C

    def force(t: float) -> tuple[Any, Any]:
        return _along(body, t, body.phi + body.turning * t + beta * t * t / 2, body.turning + beta * t)

    speed = body.speed + quad(lambda t: force(t)[0], 0.0, t, limit=500, epsabs=1e-12, epsrel=1e-12)[0]
    sine = round(math.sin(body.phi + body.turning * t + beta * t * t / 2))
    return Pole(t, body.turning + beta * t, sine, speed, *map(float, force(t)))


def _along(body: BladeBody, t: float, phi: Any, turning: Any) -> tuple[Any, Any]:
    """Return the force per mass along a blade at this angle, and its time derivative at this turning rate."""
    held, change = body.F0 * np.cos(body.nu * t), -body.F0 * body.nu * np.sin(body.nu * t)
    c, s = np.cos(phi - body.alpha) / body.M, np.sin(phi - body.alpha) / body.M
    return held * c, change * c - held * s * turning


@dataclass(frozen=True, slots=True)
class Passage:
    """Bodies that each pass one pole, integrated by RK4 with the row in tan(phi).

    Attributes
    ----------
    step : (S,), s
    left : (S,), the residual omega3 after the pole, m/s
    one, two : (S,), the terms of first and second order of the closed form, m/s; `two` assumes that there is no torque
    rate : (S,), force along the blade at the pole per mass, m/s^2
    clear : (S,), whether the blade turns in one sense at 0.3 rad/s or more throughout, and no stage is near the pole
    """

    step: Vector
    left: Vector
    one: Vector
    two: Vector
    rate: Vector
    clear: Vector

    def part(self, kept: Vector) -> Passage:
        """Return the passages of the bodies that `kept` selects."""
        return Passage(*(getattr(self, f.name)[kept] for f in fields(self)))


def passage(z: Vector, count: int) -> Passage:
    """Integrate bodies until after the pole at INSTANT, after `count` whole steps; rows of z are as in PASSAGES."""
    of = dict(zip(PASSAGES, z, strict=True))
    place, turning, beta = of.pop("place"), of["turning"], of["L_C"] / of["I_C"]
    body = BladeBody(**of, phi=math.pi / 2 - turning * INSTANT - beta * INSTANT**2 / 2)
    step = INSTANT / (count + place)
    state = next(islice(march(body.tan, body.velocity, step), count + AFTER, None))
    at_pole = next(islice(march(body.quasi, body.omega, INSTANT / count), count, None))
    phi, speed, then = at_pole[1], at_pole[3], turning + beta * INSTANT
    pole = Pole(INSTANT, then, 1.0, speed, *_along(body, INSTANT, phi, then))
    turns = np.array([turning, then, turning + beta * 2 * INSTANT])
    clear = (np.abs(turns).min(axis=0) > 0.3) & (np.ptp(np.sign(turns), axis=0) == 0)
    clear &= np.abs(np.mod(place + 0.25, 0.5) - 0.25) > 0.04
    return Passage(
        step, state[3] * np.tan(state[1]) - state[5], replace(pole, speed=0.0, change=0.0).left(step),
        replace(pole, rate=0.0).left(step), pole.rate, clear,
    )  # fmt: skip
