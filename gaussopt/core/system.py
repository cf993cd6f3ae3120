"""The interface of mechanical systems, which evaluate a state (t, q, v) to step data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.display import About, counted, listed, shown
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.fast_frozen import fast_frozen
from gaussopt.core.step_data import StepData

MOST_PRINTED = 200
"""Largest number of coordinates for which an error message shows the state."""


@fast_frozen
@dataclass(frozen=True, slots=True)
class Energy:
    """Energies of a state, J, and the power of the non-conservative forces, W, NaN if unknown."""

    kinetic: float
    potential: float
    power: float = float("nan")

    @property
    def total(self) -> float:
        """Kinetic plus potential energy, J."""
        return self.kinetic + self.potential


class Outline(NamedTuple):
    """The points (x, y), m, of a planar system at one configuration, which are drawn if the system has no sketch.

    Attributes
    ----------
    points : free points, whose paths are drawn
    rods : pairs of end points
    bearings : points fixed to the ground
    contacts : contact points above the ground y = 0, by the names of their contacts
    pins : hinges between bodies
    """

    points: Sequence[tuple[float, float]]
    rods: Sequence[tuple[tuple[float, float], tuple[float, float]]]
    bearings: Sequence[tuple[float, float]]
    contacts: Mapping[str, tuple[float, float]]
    pins: Sequence[tuple[float, float]] = ()


@shown
class AbstractSystem(ABC):
    """The interface of a mechanical system; by default it has no parameters, contacts or energies.

    `depends_on_time` says whether the equations may contain the time itself; True if this is unknown. `notes` are
    sentences on probable mistakes in the model, `unused` are parameters that the equations do not contain; `stepper` is
    the name of the default integration method of its motions; `watch` is a function of the recorded coordinates of a
    motion, (N, n), that returns a warning on them, or None; `row_rounding` is the relative rounding of the numbers that
    the rows of constraints are computed from, beyond that of floating point: rows that differ by less are dependent.
    """

    name: str
    depends_on_time: bool = True
    row_rounding: float = 0.0
    stepper: str = "rk4"
    notes: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    watch: Callable[[Matrix], str | None] | None = None

    @property
    def quaternions(self) -> Sequence[tuple[int, Sequence[int]]]:
        """For each unit quaternion, the equality row that keeps its length, and its four coordinates, scalar first."""
        return ()

    def _about(self) -> About:
        contacts = f"contacts {listed(self.contact_names)}" if self.contact_names else "no contacts"
        given = self.parameters
        return About(
            self.name, (f"{self._extent()}{contacts}, {counted(len(given), 'parameter')}",), list(given.items())
        )

    def _extent(self) -> str:
        """Return the numbers of coordinates and rows in words; "" if only an evaluation shows them."""
        return ""

    @abstractmethod
    def evaluate(self, t: float, q: ArrayLike, v: ArrayLike) -> StepData:
        """Return the step data of a state q, v, (n,) each; raises BadInput where the equations are undefined."""

    def smooth_part(self, t: float, q: Vector, v: Vector) -> StepData:
        """Return step data for callers that ignore contacts; a system may override it to leave the contacts out."""
        return self.evaluate(t, q, v)

    @property
    def size(self) -> int | None:
        """Number of coordinates; None if only an evaluation shows it."""
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

    def set_inputs(self, given: Any, n: int) -> dict[str, float]:
        """Set the inputs that a control returned for a system of n coordinates, in place; return them by name.

        It is called for a copy of the system that belongs to one motion. Raises BadInput or UnknownName for values that
        are no inputs of the system.
        """
        raise BadInput(f"{self.name!r} has no inputs that a control could set.")

    def coordinates(self, n: int) -> tuple[str, ...]:
        """Return the names of the n coordinates."""
        return tuple(f"q{i + 1}" for i in range(n))

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the equality rows, in the order of J; empty if they have no names."""
        return ()

    @property
    def without_rows(self) -> tuple[str, ...]:
        """Names of the joints that have no rows, because the choice of coordinates satisfies them."""
        return ()

    @property
    def chosen(self) -> str:
        """The kind of coordinates and the reason, such as "joint: ...", if they were chosen by a rule."""
        return ""

    def outline(self, q: Vector) -> Outline | None:
        """Return the parts that are drawn if there is no sketch; None if the system has no points to draw."""
        return None

    def of_motion(self, rows: int) -> AbstractSystem:
        """Return the system, or a copy, for use in a single motion with a constant number `rows` of equality rows."""
        return self

    def in_steps(self, loop: str, formulation: str | None, solver: str | None) -> AbstractSystem:
        """Return the system that is used in motions by this kind of loop, such as "time-stepping".

        It may be a `SteppedSystem`. `formulation` and `solver` are None where the user has not chosen.
        """
        return self

    def prepare(self, evaluations: float) -> None:
        """Prepare for about this number of evaluations, for example by compiling the equations."""
        return

    def check_rows(self, t: float, q: Vector, v: Vector) -> None:
        """Raise BadInput if J or J_N contradicts the position or gap functions; by default, accept every state."""
        return

    def bending(self) -> Sequence[int] | None:
        """Return the coordinates on which the normal rows J_N depend; None if only evaluations can show them."""
        return None

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the contacts, in the order of the step data; empty if there are none."""
        return ()

    def may_miss(self, q: Matrix, v: Matrix, dt: float | None) -> str | None:
        """Return a warning if a motion through the states q, v, (N, n) each, may have missed contacts; otherwise None.

        `dt` is the length of a step, s; None for adaptive steps.
        """
        return None if self.watch is None else self.watch(q)

    @property
    def two_sided(self) -> tuple[bool, ...]:
        """Whether each contact is a guide without clearance, (k,)."""
        return (False,) * len(self.contact_names)

    def gaps(self, t: float, q: Vector) -> Vector:
        """Return the gaps g_N of all contacts, (k,), m."""
        return np.zeros(0)

    def gap_rates(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the gap rates of all contacts, (k,), m/s."""
        return np.zeros(0)

    def position_residual(self, t: float, q: Vector) -> Vector | None:
        """Return the values of the holonomic constraint functions phi(t, q), (m_h,); None if they are not known."""
        return None

    def position_jacobian(self, t: float, q: Vector) -> Matrix:
        """Return the Jacobian of the holonomic constraints, (m_h, n): the first m_h rows of J."""
        residual = self.position_residual(t, q)
        rows = 0 if residual is None else len(residual)
        return self.evaluate(t, q, np.zeros(len(q))).J[:rows]

    def velocity_residual(self, t: float, q: Vector, v: Vector) -> Vector | None:
        """Return the residuals of the constraints at velocity level, (m,); None if they are unknown."""
        return self.evaluate(t, q, v).J @ v

    def energy(self, t: float, q: Vector, v: Vector) -> Energy | None:
        """Return the energies of a state; None if they are unknown."""
        return None

    @property
    def has_quasi_velocities(self) -> bool:
        """Whether the system has quasi-velocities that can serve as its state."""
        return False

    def quasi_velocity(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the quasi-velocities omega(q, v, t), (p,); raises BadInput if the system has none."""
        raise BadInput(f"{self.name!r} names no quasi-velocities; give quasi_velocities to from_lagrangian.")

    def velocity_from(self, t: float, q: Vector, omega: Vector, guess: Vector) -> Vector:
        """Return the velocity v, (n,), that has these quasi-velocities and satisfies the velocity constraints."""
        return self.quasi_velocity(t, q, guess)

    def quasi_velocity_rate(self, t: float, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return the rates of the quasi-velocities, (p,), for an acceleration a, (n,)."""
        return self.quasi_velocity(t, q, v)


def state_in_words(t: float, q: Vector, v: Vector | None = None) -> str:
    """Return the instant and state on one line, for messages."""
    return f"t = {t:.9g}, q = {_row(q)}" + ("" if v is None else f", v = {_row(v)}")


def _row(x: Vector) -> str:
    if len(x) > MOST_PRINTED:
        return f"({len(x)} numbers)"
    return np.array2string(x, precision=6, separator=", ", max_line_width=10**9)
