"""Planar chains of any number of rigid links joined by pins, in absolute coordinates and with sparse matrices.

Link i has the coordinates q[3 i : 3 i + 3] = (x, y, phi), its centre and angle; u = (cos phi, sin phi) points from
its tail to its head. The tail of the first link is pinned to the ground at the origin, every other tail to the head
of the previous link; in a closed chain, the head of the last link is pinned to the ground at `end`:

    x_i - l/2 u_i - (x_{i-1} + l/2 u_{i-1}) = 0,    two rows per joint,

    J a = gamma,   gamma_j = -l/2 (phi'_j^2 u_j + phi'_{j-1}^2 u_{j-1}).

M is diagonal and J has at most eight entries per joint, in fixed positions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gaussopt.core.arrays import Vector, finite_number
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import as_array
from gaussopt.modelling.linkage import GROUND, Linkage, LinkageSystem

GRAVITY = 9.81
"""Acceleration of gravity along -y, m/s^2."""


@dataclass(frozen=True, eq=False)
class Chain:
    """A chain of equal, slender links.

    Attributes
    ----------
    links : number of links N; n = 3 N coordinates
    end : (x, y) or None
        Point, m, at which the head of the last link is pinned to the ground; None leaves it free. J has 2 N + 2 rows,
        or 2 N if the head is free. Only chains of at least two links can have an end.
    length : length of a link, m
    mass : float or (N,), mass of a link, kg
    gravity : m/s^2

    Raises BadInput if there are no links, a length or mass is not positive, a value is not a number, or the chain
    cannot reach its end.
    """

    links: int
    end: tuple[float, float] | None = None
    length: float = 0.1
    mass: float | Vector = 0.1
    gravity: float = GRAVITY
    masses: Vector = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.links, bool) or not isinstance(self.links, int | np.integer) or self.links < 1:
            raise BadInput(f"The number of links is {self.links!r}; give a positive whole number.")
        length = finite_number("The length of a link", self.length)
        if length <= 0:
            raise BadInput(f"The length of a link is {length:g} m; it is positive.")
        object.__setattr__(self, "length", length)
        object.__setattr__(self, "gravity", finite_number("gravity", self.gravity))
        mass = as_array("mass", self.mass, () if np.isscalar(self.mass) else (self.links,))
        if not (mass > 0).all():
            raise BadInput("The mass of a link is not a positive number.")
        if self.end is not None:
            end = as_array("end", self.end, (2,))
            object.__setattr__(self, "end", (float(end[0]), float(end[1])))
            if self.links == 1:
                raise BadInput("A chain of one link that is pinned at both ends is rigid; leave end out, or add links.")
            if not np.hypot(*end) < self.links * length:
                raise BadInput(
                    f"The chain of {self.links} links of {length:g} m does not reach its end at {self.end} without "
                    "being taut; move it closer."
                )
        object.__setattr__(self, "masses", np.broadcast_to(mass, (self.links,)).copy())

    @property
    def joints(self) -> int:
        """Number of pins."""
        return self.links + (self.end is not None)

    @cached_property
    def linkage(self) -> Linkage:
        """The links and their pins as tables."""
        N, half = self.links, 0.5 * self.length
        joint, ends = np.arange(self.joints), np.zeros((2, self.joints, 2))
        ends[0, 1:, 0], ends[1, :N, 0] = half, -half
        if self.end is not None:
            ends[1, N] = self.end
        return Linkage(
            self.masses, self.masses * self.length**2 / 12.0, joint - 1, np.where(joint < N, joint, GROUND), ends[0],
            ends[1], self.gravity, f"{'open' if self.end is None else 'closed'} chain of {N} links",
        )  # fmt: skip

    @property
    def system(self) -> LinkageSystem:
        """The chain as a system with sparse step data."""
        return self.linkage.system

    # -- geometry ------------------------------------------------------------------------------

    def state(self, phi: Vector, spin: Vector | None = None) -> tuple[Vector, Vector]:
        """Return positions and velocities for the angles phi and rates spin, (N,) each; the pin at `end` may stay open.

        Raises BadInput unless there is a finite number for each link.
        """
        phi = as_array("phi", phi, (self.links,))
        spin = np.zeros(self.links) if spin is None else as_array("spin", spin, (self.links,))
        c, s = np.cos(phi), np.sin(phi)
        bar = self.length * np.column_stack((c, s))
        turn = self.length * np.column_stack((-s * spin, c * spin))
        centre, rate = (np.cumsum(x, axis=0) - 0.5 * x for x in (bar, turn))
        return np.column_stack((centre, phi)).ravel(), np.column_stack((rate, spin)).ravel()

    def hanging(self) -> tuple[Vector, Vector]:
        """Return the state in which the open chain hangs straight down, at rest."""
        return self.state(np.full(self.links, -0.5 * np.pi))

    def arc(self, opening: float) -> tuple[Vector, Vector]:
        """Return the state at rest along an arc whose tangent rotates evenly from -opening/2 to opening/2 (rad)."""
        return self.state(finite_number("opening", opening) * ((np.arange(self.links) + 0.5) / self.links - 0.5))
