"""Planar linkages given as tables of rigid bodies and pins, in absolute coordinates and with sparse matrices.

Body i has the coordinates q[3 i : 3 i + 3] = (x, y, phi), its centre of mass and angle. A pin joins a first body f,
at the point r_f of its frame, to a second body s, at r_s; either may be the ground:

    x_s + R(phi_s) r_s - x_f - R(phi_f) r_f = 0,    two rows per pin,

    J a = gamma,   gamma = phi'_s^2 R(phi_s) r_s - phi'_f^2 R(phi_f) r_f.

M is diagonal and J has at most eight entries per pin, in fixed positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from gaussopt.core.arrays import Vector, finite_number
from gaussopt.core.errors import BadInput
from gaussopt.core.sparse_arrays import Sparse
from gaussopt.core.step_data import as_array
from gaussopt.core.system import Outline
from gaussopt.modelling.callables import System

GROUND = -1
"""Body index that stands for the ground; its frame is the inertial frame."""


MOST_DRAWN = 60
"""Largest number of bodies for which a linkage without a sketch is drawn."""


class LinkageSystem(System):
    """The system of a linkage; the attribute `linkage` holds the linkage."""

    def __init__(self, linkage: Linkage) -> None:
        self.linkage = linkage
        super().__init__(
            linkage.mass_matrix, linkage.weight, lambda t, q, v: (linkage.rows(q), linkage.gamma(q, v)),
            position=lambda t, q: linkage.gaps(q), velocity=lambda t, q, v: linkage.rates(q, v),
            energy=lambda t, q, v: (*linkage.energy(q, v), 0.0),
            coordinates=[f"{what}{i + 1}" for i in range(linkage.bodies) for what in ("x", "y", "phi")],
            name=linkage.name,
        )  # fmt: skip

    def outline(self, q: Vector) -> Outline | None:
        """Return rods between the pins of each body, or from its centre to its only pin, and bearings on the ground."""
        linkage = self.linkage
        if linkage.bodies > MOST_DRAWN:
            return None
        second = linkage.places(q)
        centres = [(x, y) for x, y in q.reshape(-1, 3)[:, :2].tolist()]
        of: dict[int, list[tuple[float, float]]] = {i: [] for i in range(linkage.bodies)}
        bearings: list[tuple[float, float]] = []
        pins: list[tuple[float, float]] = []
        for a, b, at in zip(linkage.first.tolist(), linkage.second.tolist(), second, strict=True):
            (bearings if GROUND in (a, b) else pins).append(at)
            for body in {a, b} - {GROUND}:
                of[body].append(at)
        rods = [pair for i, ends in of.items() for pair in pairwise(ends if len(ends) > 1 else [*ends, centres[i]])]
        return Outline([c for i, c in enumerate(centres) if len(of[i]) < 2], rods, bearings, {}, pins)

    def check_rows(self, t: float, q: Vector, v: Vector) -> None:
        """Accept every state, since the rows are computed from the pins and need no check."""


@dataclass(frozen=True, eq=False)
class Linkage:
    """Rigid bodies and the pins that join them.

    Attributes
    ----------
    mass, inertia : (N,), kg, and kg m^2 about the centre of mass
    first, second : (p,), indices of the bodies that each pin joins; GROUND for the ground
    at_first, at_second : (p, 2), position of the pin in the frames of these bodies, m
    gravity : m/s^2, along -y
    name : str

    Raises BadInput for zero bodies, tables of the wrong shape, masses that are not positive, pins of bodies that do
    not exist, or pins that join a body to itself.
    """

    mass: Vector
    inertia: Vector
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    at_first: NDArray[np.float64]
    at_second: NDArray[np.float64]
    gravity: float = 9.81
    name: str = "linkage"

    def __post_init__(self) -> None:
        mass = as_array("mass", self.mass, (None,))
        if not len(mass):
            raise BadInput("A linkage without bodies has no motion; give the mass of at least one.")
        inertia = as_array("inertia", self.inertia, (len(mass),))
        for what, values in (("mass", mass), ("inertia", inertia)):
            if not (values > 0).all():
                i = int(np.argmin(values > 0))
                raise BadInput(f"The {what} of body {i} is {values[i]:g}; it is positive.")
        first = _numbers("first", self.first, len(mass))
        second = _numbers("second", self.second, len(mass))
        if len(first) != len(second):
            raise BadInput(f"first names {len(first)} bodies and second {len(second)}; a pin joins one of each.")
        if (first == second).any():
            raise BadInput(f"Pin {int(np.argmax(first == second))} joins a body to itself.")
        object.__setattr__(self, "gravity", finite_number("gravity", self.gravity))
        tables = {"mass": mass, "inertia": inertia, "first": first, "second": second}
        for what, x in (("at_first", self.at_first), ("at_second", self.at_second)):
            none = not len(first) and isinstance(x, list | tuple) and not x
            tables[what] = as_array(what, np.zeros((0, 2)) if none else x, (len(first), 2))
        for what, value in tables.items():
            object.__setattr__(self, what, value)

    @property
    def bodies(self) -> int:
        """Number of bodies N; n = 3 N coordinates."""
        return len(self.mass)

    @property
    def pins(self) -> int:
        """Number of pins p; m = 2 p rows."""
        return len(self.first)

    @cached_property
    def system(self) -> LinkageSystem:
        """The linkage as a system with sparse step data."""
        return LinkageSystem(self)

    # -- geometry ------------------------------------------------------------------------------

    def gaps(self, q: Vector) -> Vector:
        """Return the residuals of the pins, (m,), in metres."""
        first, second = self._arms(q)
        centre = _with_ground(q.reshape(-1, 3)[:, :2])
        return np.asarray(centre[self.second] + second - centre[self.first] - first).ravel()

    def places(self, q: Vector) -> list[tuple[float, float]]:
        """Return the positions of the pins, (p, 2), m, as points of their second bodies."""
        _, second = self._arms(q)
        at = _with_ground(q.reshape(-1, 3)[:, :2])[self.second] + second
        return [(x, y) for x, y in at.tolist()]

    def rates(self, q: Vector, v: Vector) -> Vector:
        """Return the rates of `gaps`, (m,), m/s."""
        first, second = (_turned(arm) for arm in self._arms(q))
        centre, spin = _with_ground(v.reshape(-1, 3)[:, :2]), _with_ground(v[2::3, None])
        second = second * spin[self.second]
        first = first * spin[self.first]
        return np.asarray(centre[self.second] + second - centre[self.first] - first).ravel()

    def rows(self, q: Vector) -> Sparse:
        """Return the constraint matrix J, (m, n)."""
        first, second = self._arms(q)
        data = np.ones((self.pins, 2, 4))  # columns: x or y, and phi, of the pin's first body, then of its second
        data[:, :, 0] = -1.0
        data[:, :, 1] = -_turned(first)
        data[:, :, 3] = _turned(second)
        keep, indices, indptr = self._places
        return sparse.csr_array((data.ravel()[keep], indices, indptr), shape=(2 * self.pins, 3 * self.bodies))

    def gamma(self, q: Vector, v: Vector) -> Vector:
        """Return gamma, the right-hand side of J a = gamma, (m,), m/s^2."""
        first, second = self._arms(q)
        square = _with_ground(v[2::3, None] ** 2)
        return np.asarray(square[self.second] * second - square[self.first] * first).ravel()

    def energy(self, q: Vector, v: Vector) -> tuple[float, float]:
        """Return the kinetic and potential energy, J; the potential is zero at the height of the origin."""
        kinetic = 0.5 * float(self.mass_matrix.diagonal() @ (v * v))
        return kinetic, float(self.gravity * self.mass @ q[1::3])

    def _arms(self, q: Vector) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return vectors from the centres to the pin, for the first and second body of every pin, (p, 2) each."""
        phi = q[2::3]
        turn = _with_ground(np.column_stack((np.cos(phi), np.sin(phi))))
        turn[-1, 0] = 1.0
        out = []
        for body, at in ((self.first, self.at_first), (self.second, self.at_second)):
            c, s = turn[body].T
            x, y = at.T
            out.append(np.column_stack((c * x - s * y, s * x + c * y)))
        return out[0], out[1]

    # -- constants -----------------------------------------------------------------------------

    @cached_property
    def mass_matrix(self) -> Sparse:
        """The mass matrix M, (n, n), diagonal."""
        diagonal = np.column_stack((self.mass, self.mass, self.inertia)).ravel()
        n = len(diagonal)
        return sparse.csr_array((diagonal, np.arange(n, dtype=np.int32), np.arange(n + 1, dtype=np.int32)))

    @cached_property
    def weight(self) -> Vector:
        """Generalised forces Q of the weights, (n,), N and N m."""
        force = np.zeros((self.bodies, 3))
        force[:, 1] = -self.gravity * self.mass
        return force.ravel()

    @cached_property
    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.int32]]:
        """Sparsity of J: which of the eight entries per pin exist (none for the ground), columns and row pointers."""
        f, s = 3 * self.first[:, None], 3 * self.second[:, None]
        column = np.stack([np.hstack((f + k, f + 2, s + k, s + 2)) for k in (0, 1)], axis=1)
        ground = np.repeat(np.hstack((f, s)) < 0, 2, axis=1)[:, None, :]
        inside = np.broadcast_to(~ground, column.shape)
        indptr = np.concatenate(([0], np.cumsum(inside.sum(axis=2).ravel())))
        order = np.argsort(column, axis=2) + 4 * np.arange(2 * self.pins).reshape(-1, 2, 1)
        keep = order.ravel()[inside.ravel()[order.ravel()]]
        return keep, column.ravel()[keep].astype(np.int32), indptr.astype(np.int32)


def _with_ground(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the bodies' rows and a final row of zeros for the ground, which the index GROUND selects."""
    out = np.zeros((len(values) + 1, values.shape[1]))
    out[:-1] = values
    return out


def _turned(arm: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return arms rotated by a right angle: their derivatives with respect to the angle."""
    return np.column_stack((-arm[:, 1], arm[:, 0]))


def _numbers(name: str, value: ArrayLike, bodies: int) -> NDArray[np.intp]:
    """Return body indices as an integer array, after checks."""
    try:
        found: NDArray[Any] = np.asarray(value)
    except ValueError:  # the rows differ in length
        found = np.zeros((0, 0))
    if found.ndim != 1 or not (found.size == 0 or np.issubdtype(found.dtype, np.integer)):
        raise BadInput(f"{name} is no list of whole numbers; give the number of a body for every pin.")
    bad = (found < GROUND) | (found >= bodies)
    if bad.any():
        k = int(np.argmax(bad))
        raise BadInput(
            f"{name}[{k}] is {found[k]}; there are the bodies 0 to {bodies - 1}, and {GROUND} is the ground."
        )
    return found.astype(np.intp)
