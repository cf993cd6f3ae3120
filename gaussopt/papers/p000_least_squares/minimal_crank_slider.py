"""The crank-slider in its one minimal coordinate theta1: derived by hand, without constraints and multipliers.

With r = l1 / l2 the rod's angle follows from sin theta2 = -r sin theta1; all positions are functions q(theta1), and
(K^T M K) theta1'' = K^T (Q - M K' theta1'^2) with K = dq/dtheta1. Most methods take arrays of angles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.modelling.problem import problem

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Crank:
    """Parameters of the mechanism: masses, inertias, lengths, spring, damper, torque and gravity, all in SI units."""

    m1: Values | float
    m2: Values | float
    m3: Values | float
    l1: Values | float
    l2: Values | float
    k: Values | float
    c: Values | float
    tau: Values | float
    g: Values | float
    I1: Values | float
    I2: Values | float

    @classmethod
    def of(cls, parameters: Mapping[str, float]) -> Self:
        """Return the mechanism with the parameters of the registered problem."""
        return cls(**{f.name: float(parameters[f.name]) for f in fields(cls)})

    def at(self, **values: Values | float) -> Self:
        """Return the mechanism with some values replaced; arrays describe many mechanisms."""
        return replace(self, **values)

    def rod(self, theta: Values) -> tuple[Values, Values, Values, Values]:
        """Return the sine and cosine of the rod's angle, and the angle's two derivatives with respect to theta1."""
        r = self.l1 / self.l2
        s, c = np.sin(theta), np.cos(theta)
        s2 = -r * s
        c2 = np.sqrt(1.0 - s2 * s2)
        k2 = -r * c / c2
        return s2, c2, k2, (r * s + s2 * k2 * k2) / c2

    def coordinates(self, theta: float) -> Vector:
        """Return the coordinates q, (7,)."""
        s2, c2, _, _ = self.rod(np.asarray(theta))
        s, c, l1, l2 = np.sin(theta), np.cos(theta), self.l1, self.l2
        angle = np.arctan2(s2, c2)
        q = [l1 * c / 2, l1 * s / 2, theta, l1 * c + l2 * c2 / 2, l1 * s + l2 * s2 / 2, angle, l1 * c + l2 * c2]
        return np.array(q, dtype=float)

    def directions(self, theta: float) -> tuple[Vector, Vector]:
        """Return K = dq/dtheta1 and K' = dK/dtheta1 for one angle, (7,) each."""
        s, c, l1, half = np.sin(theta), np.cos(theta), self.l1, 0.5 * self.l2
        s2, c2, k2, k2p = self.rod(np.asarray(theta))
        turn, turn_up = half * s2 * k2, half * c2 * k2
        bend, bend_up = half * (c2 * k2 * k2 + s2 * k2p), half * (-s2 * k2 * k2 + c2 * k2p)
        K = [-l1 * s / 2, l1 * c / 2, 1.0, -l1 * s - turn, l1 * c + turn_up, k2, -l1 * s - 2 * turn]
        Kp = [-l1 * c / 2, -l1 * s / 2, 0.0, -l1 * c - bend, -l1 * s + bend_up, k2p, -l1 * c - 2 * bend]
        return np.array(K, dtype=float), np.array(Kp, dtype=float)

    def mass(self) -> Matrix:
        """Return the mass matrix M, (7, 7)."""
        return np.diag(np.array([self.m1, self.m1, self.I1, self.m2, self.m2, self.I2, self.m3], dtype=float))

    def force(self, theta: float, omega: float) -> Vector:
        """Return the force Q as the paper prints it, (7,)."""
        K, _ = self.directions(theta)
        pull = self.k * (self.l1 + self.l2 - self.slider(np.asarray(theta))) - self.c * K[6] * omega
        return np.array([0, -self.m1 * self.g, self.tau, 0, -self.m2 * self.g, 0, pull], dtype=float)

    def acceleration(self, theta: float, omega: float) -> Vector:
        """Return all seven accelerations, (7,)."""
        K, Kp = self.directions(theta)
        M, Q = self.mass(), self.force(theta, omega)
        turn = K @ (Q - M @ Kp * omega**2) / (K @ M @ K)
        return np.asarray(K * turn + Kp * omega**2)

    def slider(self, theta: Values) -> Values:
        """Return the slider's position x3."""
        return np.asarray(self.l1 * np.cos(theta) + self.l2 * self.rod(theta)[1])

    def gain(self, theta: Values) -> Values:
        """Return dx3/dtheta1, the ratio of the damper's velocity to the crank's rate."""
        s2, _, k2, _ = self.rod(theta)
        return np.asarray(-self.l1 * np.sin(theta) - self.l2 * s2 * k2)

    def inertia(self, theta: Values) -> Values:
        """Return K^T M K: the kinetic energy is half of it times theta1'^2."""
        s, c, l1, half = np.sin(theta), np.cos(theta), self.l1, 0.5 * self.l2
        s2, c2, k2, _ = self.rod(theta)
        x2, y2 = -l1 * s - half * s2 * k2, l1 * c + half * c2 * k2
        crank = self.m1 * l1 * l1 / 4 + self.I1
        return np.asarray(
            crank + self.m2 * (x2 * x2 + y2 * y2) + self.I2 * k2 * k2 + self.m3 * (x2 - half * s2 * k2) ** 2
        )

    def speed(self, theta: Values, kinetic: Values) -> Values:
        """Return |dtheta1/dt| at a given kinetic energy."""
        return np.asarray(np.sqrt(2 * kinetic / self.inertia(theta)))

    def slope(self, theta: Values) -> Values:
        """Return the derivative dU/dtheta1 of the potential energy."""
        stretch = self.l1 + self.l2 - self.slider(theta)
        weight = 0.5 * (self.m1 + self.m2) * self.g * self.l1
        return np.asarray(weight * np.cos(theta) - self.tau - self.k * stretch * self.gain(theta))

    def static(self, low: float, high: float) -> float:
        """Find an angle between `low` and `high`, rad, at which the crank is in equilibrium; NaN if there is none."""
        ends = self.slope(np.array([low, high]))
        if ends[0] * ends[1] > 0:
            return float("nan")
        return float(brentq(lambda theta: float(self.slope(np.asarray(theta))), low, high, xtol=1e-14))


@cache
def reference_steps(name: str) -> list[StepData]:
    """Return the steps at all states of a reference of the registered problem, with the torque of the reference."""
    entry = problem("crank-slider")
    rows = entry.reference(name)
    system = entry.at(tau=next(r.parameters["tau"] for r in entry.references if r.name == name)).system
    return [system.evaluate(float(t), q, v) for t, q, v in zip(rows.t, rows.q, rows.v, strict=True)]


def phase(step: StepData) -> tuple[float, float]:
    """Return the crank's angle and rate."""
    assert step.q is not None
    assert step.v is not None
    return float(step.q[2]), float(step.v[2])


@dataclass(frozen=True, slots=True)
class CrankRun:
    """The kinetic energy of a crank that starts at rest and turns backwards, as a function of the angle covered.

    Attributes
    ----------
    covered : (steps + 1,), rad
    kinetic : (steps + 1, ...), J, of every mechanism; 0 once it has stopped
    stops : (...), whether it stops. A crank that starts from rest and stops is trapped for ever: its energy falls, and
        the potential has higher barriers on both sides.
    """

    covered: Vector
    kinetic: Values
    stops: NDArray[np.bool_]


def backwards(
    crank: Crank, start: Values | float, turns: float, per_turn: int, kinetic: Values | float = 0.0
) -> CrankRun:
    """Integrate the kinetic energy T of cranks over the angle: dT/ds = U' - c x3'^2 |omega| with theta = start - s.

    As a function of the angle, T stays positive if and only if a crank passes the next barrier. All cranks are
    integrated at once, by the Runge-Kutta method of fourth order with `per_turn` steps per turn. They begin at the
    angles `start` with the energies `kinetic`; where these are zero, U' must be positive.
    """
    step, count = 2 * np.pi / per_turn, round(turns * per_turn)
    shape = np.broadcast_shapes(
        *(np.shape(getattr(crank, f.name)) for f in fields(crank)), np.shape(start), np.shape(kinetic)
    )
    T: Values = np.zeros(shape) + kinetic
    stops = np.zeros(shape, dtype=bool)
    found = np.empty((count + 1, *shape))
    found[0] = T

    def terms(theta: Values) -> tuple[Values, Values]:
        return crank.slope(theta), crank.c * crank.gain(theta) ** 2 * np.sqrt(2.0 / crank.inertia(theta))

    begin = terms(np.asarray(start))
    for i in range(count):
        middle, end = (terms(np.asarray(start) - (i + part) * step) for part in (0.5, 1.0))
        k1 = begin[0] - begin[1] * np.sqrt(T)
        k2 = middle[0] - middle[1] * np.sqrt(np.maximum(T + 0.5 * step * k1, 0.0))
        k3 = middle[0] - middle[1] * np.sqrt(np.maximum(T + 0.5 * step * k2, 0.0))
        k4 = end[0] - end[1] * np.sqrt(np.maximum(T + step * k3, 0.0))
        T = T + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        stops |= T <= 0
        T = np.where(stops, 0.0, T)
        found[i + 1] = T
        begin = end
    return CrankRun(np.asarray(step * np.arange(count + 1), dtype=np.float64), found, stops)


def periodic(crank: Crank, per_turn: int) -> tuple[float, float, float]:
    """Find mean, least and largest speed of the periodic motion, rad/s; NaN if there is none."""
    low, high = 0.0, 100.0
    for _ in range(4):
        energies = np.linspace(low, high, 33)
        gains = backwards(crank, 0.0, 1, per_turn, energies).kinetic[-1] > energies
        if not gains.any() or gains.all():
            return float("nan"), float("nan"), float("nan")
        last = int(np.flatnonzero(gains)[-1])
        low, high = float(energies[last]), float(energies[last + 1])
    run = backwards(crank, 0.0, 1, per_turn, 0.5 * (low + high))
    speed = crank.speed(-run.covered, run.kinetic)
    return 2 * np.pi / float(np.trapezoid(1.0 / speed, run.covered)), float(speed.min()), float(speed.max())
