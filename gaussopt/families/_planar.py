"""Rigid bodies in the plane: their points, pins and links between the points, and the units of the step data.

Body i has the coordinates q[3 i : 3 i + 3] = (x, y, phi), its centre of mass and its angle. The point s of the body's
frame has the position p = c + R(phi) s; with e_z x (a, b) = (-b, a),

    p' = c' + phi' e_z x R s,     p'' = c'' + phi'' e_z x R s - phi'^2 R s,

so that the rows of its acceleration are [1, e_z x R s] and the bias is the centripetal term. Body -1 is the ground.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData

GRAVITY = 9.81
"""Gravity, m/s^2."""

GROUND = -1
"""Index that stands for the ground."""


@dataclass(frozen=True)
class Points:
    """Points of bodies: body indices, (p,), -1 for the ground, and positions in the bodies' frames, (p, 2), m."""

    body: NDArray[np.intp]
    place: Matrix

    def __len__(self) -> int:
        return len(self.body)

    def take(self, index: NDArray[np.intp] | slice) -> Points:
        """Select points by their indices."""
        return Points(self.body[index], self.place[index])

    def _arms(self, q: Vector) -> Matrix:
        """Return the vectors from the bodies' origins to the points, in the frame of the ground, (p, 2), m."""
        moving = self.body != GROUND
        phi = np.where(moving, q[3 * self.body + 2], 0.0)
        c, s = np.cos(phi), np.sin(phi)
        x, y = self.place.T
        return np.column_stack((c * x - s * y, s * x + c * y))

    def positions(self, q: Vector) -> Matrix:
        """Return the positions in the frame of the ground, (p, 2), m."""
        moving = self.body != GROUND
        return self._arms(q) + np.where(moving[:, None], q.reshape(-1, 3)[self.body, :2], 0.0)

    def rows(self, q: Vector) -> NDArray[np.float64]:
        """Return the Jacobian of the positions, (p, 2, n)."""
        out = np.zeros((len(self), 2, len(q)))
        moving = np.flatnonzero(self.body != GROUND)
        first = 3 * self.body[moving]
        arm = self._arms(q)[moving]
        out[moving, 0, first] = out[moving, 1, first + 1] = 1.0
        out[moving, 0, first + 2], out[moving, 1, first + 2] = -arm[:, 1], arm[:, 0]
        return out

    def bias(self, q: Vector, v: Vector) -> Matrix:
        """Return the accelerations of the points for zero accelerations of the coordinates, (p, 2), m/s^2."""
        spin = np.where(self.body != GROUND, v[3 * self.body + 2], 0.0)
        return -(spin**2)[:, None] * self._arms(q)


@dataclass(frozen=True)
class Pins:
    """Revolute joints, each of which makes two points coincide and has two constraint rows."""

    first: Points
    second: Points

    def values(self, q: Vector) -> Vector:
        """Return the constraint functions of the joints, (2 p,), m."""
        return np.asarray(self.second.positions(q) - self.first.positions(q)).ravel()

    def rows(self, q: Vector) -> Matrix:
        """Return the Jacobian of the constraint functions, (2 p, n)."""
        return np.asarray(self.second.rows(q) - self.first.rows(q)).reshape(-1, len(q))

    def gamma(self, q: Vector, v: Vector) -> Vector:
        """Return the right-hand side gamma, (2 p,), m/s^2, of the constraints on the accelerations."""
        return np.asarray(self.first.bias(q, v) - self.second.bias(q, v)).ravel()


@dataclass(frozen=True)
class Links(Pins):
    """Massless rods of constant `length`, (p,), between pairs of points; each has one constraint row."""

    length: Vector

    @classmethod
    def between(cls, first: Points, second: Points, q: Vector) -> Links:
        """Make rods whose lengths are the distances between the points at q."""
        return cls(first, second, np.linalg.norm(second.positions(q) - first.positions(q), axis=1))

    def _along(self, q: Vector) -> tuple[Vector, Matrix]:
        """Return the lengths and directions of the rods, (p,) and (p, 2)."""
        d = super().values(q).reshape(-1, 2)
        r = np.linalg.norm(d, axis=1)
        return r, d / r[:, None]

    def values(self, q: Vector) -> Vector:
        """Return the constraint functions of the rods (length minus nominal length), (p,), m."""
        return self._along(q)[0] - self.length

    def rows(self, q: Vector) -> Matrix:
        """Return the Jacobian of the constraint functions, (p, n)."""
        return np.asarray(np.einsum("pi,pin->pn", self._along(q)[1], super().rows(q).reshape(-1, 2, len(q))))

    def gamma(self, q: Vector, v: Vector) -> Vector:
        """Return the right-hand side gamma, (p,), m/s^2, of the constraints: centripetal terms of ends and rods."""
        r, u = self._along(q)
        rate = super().rows(q).reshape(-1, 2, len(q)) @ v
        across = rate - np.einsum("pi,pi->p", u, rate)[:, None] * u
        bias = super().gamma(q, v).reshape(-1, 2)
        return np.asarray(np.einsum("pi,pi->p", u, bias) - np.einsum("pi,pi->p", across, across) / r)


def on_ground(place: Matrix) -> Points:
    """Return points that are fixed to the ground."""
    return Points(np.full(len(place), GROUND, dtype=np.intp), np.asarray(place, dtype=np.float64))


def mass_matrix(mass: Vector, gyration: Vector) -> Matrix:
    """Return diag(m, m, m k^2) of every body, k its radius of gyration, (3 b, 3 b)."""
    return np.diag(np.column_stack((mass, mass, mass * gyration**2)).ravel())


def weights(mass: Vector) -> Matrix:
    """Return gravity on every body as (F_x, F_y, moment), (b, 3)."""
    return np.column_stack((np.zeros_like(mass), -GRAVITY * mass, np.zeros_like(mass)))


def graded(ratio: float, count: int, zigzag: bool = False) -> Vector:
    """Return a geometric sequence of masses from the lightest to the heaviest, geometric mean 1 kg, (count,).

    `ratio` is the heaviest mass over the lightest. In a zigzag light and heavy masses alternate: the lightest, the
    heaviest, the second lightest and so on.
    """
    if count == 1:
        return np.ones(1)
    place = np.arange(count)
    if zigzag:
        place = np.where(place % 2 == 0, place // 2, count - 1 - place // 2)
    return np.asarray(ratio ** (place / (count - 1) - 0.5))


def shared_out(count: int, each: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Vector]:
    """Divide contacts into groups of `each` contacts; a remainder forms the last group.

    Return for each contact its group, the size of the group, and its position in the group, -1 to 1 (-1 if alone).
    """
    group = np.arange(count) // each
    size = np.bincount(group)[group]
    return group, size, 2.0 * (np.arange(count) - each * group) / np.maximum(size - 1, 1) - 1.0


def in_units(step: StepData, unit: float) -> StepData:
    """Write a step with `unit` metres as the unit of length and `unit` kilograms as the unit of mass.

    Seconds and radians are kept. Accelerations and gaps (but not angles) are divided by u = `unit`, masses by u,
    forces by u^2, moments and moments of inertia by u^3.
    """
    if unit == 1.0:
        return step
    u = unit
    size = np.tile([u, u, 1.0], step.n // 3)  # a = size * a', where a' is the acceleration in the new units
    energy = u**3
    return replace(
        step, M=step.M * np.outer(size, size) / energy, h=step.h * size / energy, Q=step.Q * size / energy,
        J=step.J * size / u, gamma=step.gamma / u, J_N=step.J_N * size / u, zeta_N=step.zeta_N / u,
        J_T=step.J_T * size / u, zeta_T=step.zeta_T / u, v_T=step.v_T / u,
        q=None if step.q is None else step.q / size, v=None if step.v is None else step.v / size,
    )  # fmt: skip
