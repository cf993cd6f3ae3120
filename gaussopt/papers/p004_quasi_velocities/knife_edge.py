"""The body of paper 004 in closed form: quasi-velocities, Routh's equations with either row, and Runge-Kutta.

The equations are written by hand for many bodies at once and use no formulation of the package.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.problem import problem
from gaussopt.papers.evidence.runge_kutta import Rates, march

BOUNDS = {
    "M": (0.5, 5.0), "I_C": (0.1, 2.0), "F0": (0.0, 10.0), "nu": (0.0, 3.0), "alpha": (-np.pi, np.pi),
    "L_C": (-0.5, 0.5), "phi": (-np.pi, np.pi), "turning": (-2.0, 2.0), "speed": (-3.0, 3.0),
}  # fmt: skip
"""Ranges of the bodies and starts that searches cover, in SI units and radians."""

RANGES = (
    "mass 0.5 to 5 kg, I_C 0.1 to 2 kg m², F₀ up to 10 N, ν up to 3 rad/s, L_C ±0.5 N m, any α and φ, "
    "turning rate ±2 rad/s, speed ±3 m/s"
)


@dataclass(frozen=True, slots=True)
class BladeBody:
    """Parameters and start of the body in SI units and radians, numbers or arrays (S,) for S bodies at once.

    `phi`, `turning` and `speed` are the direction of the blade, its turning rate and the speed along it at t = 0.
    """

    M: Any = 2.0
    I_C: Any = 0.5
    F0: Any = 4.0
    nu: Any = 0.0
    alpha: Any = -np.pi / 2
    L_C: Any = 0.0
    phi: Any = 0.0
    turning: Any = 1.0
    speed: Any = 2.0

    @classmethod
    def of(cls, z: Vector) -> BladeBody:
        """Make a body from nine numbers in the order of BOUNDS, or S bodies from nine rows, (9, S)."""
        return cls(*z)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters M to L_C by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)[:6]}

    @property
    def omega(self) -> Vector:
        """Initial state (x, phi, y, omega1, omega2)."""
        return np.array(np.broadcast_arrays(0.0, self.phi, 0.0, self.speed, self.turning))

    @property
    def velocity(self) -> Vector:
        """Initial state (x, phi, y, vx, phi', vy)."""
        c, s = np.cos(self.phi), np.sin(self.phi)
        return np.array(np.broadcast_arrays(0.0, self.phi, 0.0, self.speed * c, self.turning, self.speed * s))

    def quasi(self, t: Any, state: Vector) -> Vector:
        """Return rates: M omega1' = F cos(phi - alpha), I_C omega2' = L_C, x' = omega1 cos phi, y' = omega1 sin phi."""
        _, phi, _, along, turning = state
        out = np.empty_like(state)
        out[0], out[1], out[2] = along * np.cos(phi), turning, along * np.sin(phi)
        out[3], out[4] = self._force(t) * np.cos(phi - self.alpha) / self.M, self.L_C / self.I_C
        return out

    def regular(self, t: Any, state: Vector) -> Vector:
        """Return rates by Routh's equations with the row (sin(phi), 0, -cos(phi))."""
        _, phi, _, vx, turning, vy = state
        c, s = np.cos(phi), np.sin(phi)
        return self._routh(t, state, s, -c, -(vx * c + vy * s) * turning)

    def tan(self, t: Any, state: Vector) -> Vector:
        """Return rates by Routh's equations with the constraint row (tan(phi), 0, -1), which the paper prints."""
        _, phi, _, vx, turning, _ = state
        return self._routh(t, state, np.tan(phi), -np.ones_like(phi), -vx * turning / np.cos(phi) ** 2)

    def _routh(self, t: Any, state: Vector, x: Any, y: Any, gamma: Any) -> Vector:
        """Return rates with the constraint (x, 0, y) a = gamma; J M^-1 J^T lam = gamma - J a0 gives lam."""
        force = self._force(t)
        fx, fy = force * np.cos(self.alpha), force * np.sin(self.alpha)
        lam = (self.M * gamma - x * fx - y * fy) / (x * x + y * y)
        out = np.empty_like(state)
        out[:3] = state[3:]
        out[3], out[4], out[5] = (fx + x * lam) / self.M, self.L_C / self.I_C, (fy + y * lam) / self.M
        return out

    def acceleration(self, t: Any, state: Vector) -> Vector:
        """Return (x'', phi'', y'') of an admissible velocity state, by the equations in quasi-velocities."""
        _, phi, _, vx, turning, vy = state
        c, s = np.cos(phi), np.sin(phi)
        along = vx * c + vy * s
        rate = self._force(t) * np.cos(phi - self.alpha) / self.M
        ax, ay = rate * c - along * turning * s, rate * s + along * turning * c
        return np.array(np.broadcast_arrays(ax, self.L_C / self.I_C, ay))

    def _force(self, t: Any) -> Any:
        return self.F0 * np.cos(self.nu * t)


CASES = {
    "NH-A": (BladeBody(), 30.0),
    "NH-B": (BladeBody(F0=8.0, nu=2.0, alpha=0.0, turning=0.085, speed=0.0), 60.0),
    "NH-C": (BladeBody(F0=3.0, alpha=np.pi / 6, L_C=0.2, turning=0.3, speed=0.5), 10.0),
}
"""The bodies of the cases, and their end times in s."""


def numbers(
    random: np.random.Generator, *count: int, ranges: Iterable[tuple[float, float]] = tuple(BOUNDS.values())
) -> Vector:
    """Draw for each range a number, or an array of the shape `count`; the default ranges are the nine of a body."""
    low, high = np.array(list(ranges)).T
    return random.uniform(low, high) if not count else random.uniform(low[:, None], high[:, None], (len(low), *count))


def across(state: Vector) -> Vector:
    """Return the velocity across the blade, v_n = vx sin(phi) - vy cos(phi), of states (..., 6, S) or (..., 6)."""
    phi, vx, vy = state[:, 1], state[:, 3], state[:, 5]
    return np.asarray(vx * np.sin(phi) - vy * np.cos(phi))


def rk4(rates: Rates, state: Vector, dt: Any, steps: int) -> Matrix:
    """Integrate by RK4 with constant steps dt; return the states after 0 to `steps` steps, (steps + 1, ...)."""
    return np.array(list(islice(march(rates, state, dt), steps + 1)))


def on_trial(body: BladeBody, row: str = "regular") -> Any:
    """Return the package's own system of a body with the regular or the "tan" row, to check the equations here."""
    entry = problem("knife-edge-body", **({} if row == "regular" else {"variant": "tan-row"}))
    return entry.system.with_parameters(**{k: float(v) for k, v in body.parameters.items()})


PARTICLE_BOUNDS = ((-1.0, 1.0), (-1.0, 1.0), (-1.0, 1.0), (0.3, 3.0), (-3.0, 3.0), (0.0, 3.0))
"""Bounds of x, y, z in m, speed in m/s (at rest the constraint loses its rank), direction in rad, t in s."""


@cache
def particle() -> AbstractSystem:
    """Return a particle with a constraint that is nonlinear in the velocities, the general case of the paper.

    Its horizontal speed is (1 + x^2 + sin(t)^2 / 2) times its vertical speed; omega holds that speed and the direction.
    """
    import sympy as sp

    x, _, z = q = sp.symbols("x y z")
    vx, vy, vz = v = sp.symbols("vx vy vz")
    m, t = sp.symbols("m t")
    speed = sp.sqrt(vx**2 + vy**2)
    return System.from_lagrangian(
        q, v, kinetic=m * (vx**2 + vy**2 + vz**2) / 2, potential=9.81 * m * z,
        nonholonomic=[speed - (1 + x**2 + sp.sin(t) ** 2 / 2) * vz],
        quasi_velocities=[speed, sp.atan2(vy, vx)], parameters={m: 2.0}, name="nonlinear particle",
    )  # fmt: skip
