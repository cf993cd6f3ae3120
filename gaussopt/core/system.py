"""The interface of mechanical systems: from a state (t, q, v) to the step data of one instant."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.display import About, counted, listed, shown
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.fast_frozen import fast_frozen
from gaussopt.core.step_data import StepData

MOST_PRINTED = 200
"""Maximum number of coordinates of a state shown in an error message."""


@fast_frozen
@dataclass(frozen=True, slots=True)
class Energy:
    """Energies of one state, in joule; `power` is that of the non-conservative forces, in watt, NaN if unknown."""

    kinetic: float
    potential: float
    power: float = float("nan")

    @property
    def total(self) -> float:
        """Kinetic plus potential energy."""
        return self.kinetic + self.potential


class Outline(NamedTuple):
    """The visible parts of a planar system without a sketch, at one configuration; places (x, y), m.

    Attributes
    ----------
    points : free points, whose paths are drawn
    rods : pairs of ends
    bearings : points held by the ground
    contacts : contact points over the floor y = 0, by the names of their contacts
    pins : hinges between bodies
    """

    points: Sequence[tuple[float, float]]
    rods: Sequence[tuple[tuple[float, float], tuple[float, float]]]
    bearings: Sequence[tuple[float, float]]
    contacts: Mapping[str, tuple[float, float]]
    pins: Sequence[tuple[float, float]] = ()


@shown
class AbstractSystem(ABC):
    """A mechanical system as a simulation sees it; without parameters, contacts and energies where not overridden.

    `depends_on_time` says whether the equations may contain the time itself; True if this is unknown. `notes`
    are sentences on probable mistakes of the model, `unused` its parameters that the equations do not contain;
    `stepper` is the name of the method of its motions where none is asked for.
    """

    name: str
    depends_on_time: bool = True
    stepper: str = "rk4"
    notes: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()

    @property
    def quaternions(self) -> Sequence[tuple[int, Sequence[int]]]:
        """Unit quaternions: the equality row that keeps the length of each, and its four coordinates, scalar first."""
        return ()

    def _about(self) -> About:
        contacts = f"contacts {listed(self.contact_names)}" if self.contact_names else "no contacts"
        given = self.parameters
        return About(
            self.name, (f"{self._extent()}{contacts}, {counted(len(given), 'parameter')}",), list(given.items())
        )

    def _extent(self) -> str:
        """Return the numbers of coordinates and rows in words, if they are known without evaluating anything."""
        return ""

    @abstractmethod
    def evaluate(self, t: float, q: ArrayLike, v: ArrayLike) -> StepData:
        """Return step data of the state q, v, (n,); raises BadInput where the equations are undefined."""

    def smooth_part(self, t: float, q: Vector, v: Vector) -> StepData:
        """Return step data of which only M, h, Q, J and gamma are read, where they are known without the contacts."""
        return self.evaluate(t, q, v)

    @property
    def size(self) -> int | None:
        """Number of coordinates, None if only an evaluation shows it."""
        return None

    @property
    def parameters(self) -> dict[str, float]:
        """Parameter values by name."""
        return {}

    def with_parameters(self, /, **values: float) -> AbstractSystem:
        """Return the same system with other parameter values; raises UnknownName for an unknown parameter."""
        for name in values:
            raise UnknownName("parameter", name, self.parameters)
        return self

    def coordinates(self, n: int) -> tuple[str, ...]:
        """Return the names of the n coordinates."""
        return tuple(f"q{i + 1}" for i in range(n))

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the equality rows, in the order of J; empty if they have no names."""
        return ()

    @property
    def without_rows(self) -> tuple[str, ...]:
        """Names of the joints without rows, which hold by the choice of the coordinates."""
        return ()

    def outline(self, q: Vector) -> Outline | None:
        """Return what is drawn of the system if no sketch is given; None if it has no points to draw."""
        return None

    def of_motion(self, rows: int) -> AbstractSystem:
        """Return the same system for one motion, in which the number of equality rows never changes."""
        return self

    def prepare(self, evaluations: float) -> None:
        """Prepare for about this number of evaluations, in a motion or a table of states."""
        return

    def check_rows(self, t: float, q: Vector, v: Vector) -> None:
        """Raise BadInput where rows of J and J_N contradict the position and gap functions; derived rows cannot."""
        return

    def bending(self) -> Sequence[int] | None:
        """Return the coordinates on which the normal rows depend; None if that has to be found by evaluations."""
        return None

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the contacts, in the order of the step data; empty if there are none."""
        return ()

    def may_miss(self, q: Matrix, v: Matrix, dt: float | None) -> str | None:
        """Return a warning if a motion through these states, (N, n) each, may miss contacts; None if not.

        `dt` is the length of a step, s, None for adaptive steps.
        """
        return None

    @property
    def two_sided(self) -> tuple[bool, ...]:
        """Whether each contact is a guide without clearance, (k,)."""
        return (False,) * len(self.contact_names)

    def gaps(self, t: float, q: Vector) -> Vector:
        """Return gaps g_N of all contacts, (k,), m."""
        return np.zeros(0)

    def gap_rates(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the gap rates of all contacts, (k,), m/s."""
        return np.zeros(0)

    def position_residual(self, t: float, q: Vector) -> Vector | None:
        """Return holonomic constraint functions phi(t, q), (m_h,); None if the system does not give them."""
        return None

    def position_jacobian(self, t: float, q: Vector) -> Matrix:
        """Return the Jacobian of the holonomic constraints, (m_h, n): the first m_h rows of J."""
        residual = self.position_residual(t, q)
        rows = 0 if residual is None else len(residual)
        return self.evaluate(t, q, np.zeros(len(q))).J[:rows]

    def velocity_residual(self, t: float, q: Vector, v: Vector) -> Vector | None:
        """Return constraint residuals at velocity level, (m,); None if they are unknown."""
        return self.evaluate(t, q, v).J @ v

    def energy(self, t: float, q: Vector, v: Vector) -> Energy | None:
        """Return energies of the state; None if the system does not give them."""
        return None

    @property
    def has_quasi_velocities(self) -> bool:
        """Whether the system has quasi-velocities that can serve as its state."""
        return False

    def quasi_velocity(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return quasi-velocities omega(q, v, t), (p,); raises BadInput if the system has none."""
        raise BadInput(f"{self.name!r} names no quasi-velocities; give quasi_velocities to from_lagrangian.")

    def velocity_from(self, t: float, q: Vector, omega: Vector, guess: Vector) -> Vector:
        """Return the velocity v with these quasi-velocities that satisfies the velocity constraints, (n,)."""
        return self.quasi_velocity(t, q, guess)

    def quasi_velocity_rate(self, t: float, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return rates of the quasi-velocities for an acceleration a, (p,)."""
        return self.quasi_velocity(t, q, v)


def state_in_words(t: float, q: Vector, v: Vector | None = None) -> str:
    """Return the instant and state on one line, for messages."""
    return f"t = {t:.9g}, q = {_row(q)}" + ("" if v is None else f", v = {_row(v)}")


def _row(x: Vector) -> str:
    if len(x) > MOST_PRINTED:
        return f"({len(x)} numbers)"
    return np.array2string(x, precision=6, separator=", ", max_line_width=10**9)
