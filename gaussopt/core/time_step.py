"""Interface of systems that formulate the contact problem of a time step themselves, as models of physics engines do.

Their number of contacts may change, and their velocities u, (p,), need not be the rates v, (n,), of q.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.system import AbstractSystem, Energy


class Found(NamedTuple):
    """Contacts near a state: names, gaps, (k,), in m or rad, and tangential relative velocities, (k, 2), in m/s."""

    names: Sequence[str]
    gaps: Vector
    slip: Vector


class Reached(NamedTuple):
    """The end of a step: q and v, (n,), the impulses of the equality rows, (m,), and the residual of these rows."""

    q: Vector
    v: Vector
    lam: Vector
    missed: float


class Free(NamedTuple):
    """Steps in which no constraint acts: their number, the rates v before the latest of them, and its end."""

    taken: int
    before: Vector
    end: Reached


class AtOnce(NamedTuple):
    """A step taken at once: its end, its problem and impulses, and their residual, m/s.

    `method` found the impulses in this number of iterations. The last three numbers are negative if zero impulses
    satisfy the laws of all contacts.
    """

    end: Reached
    problem: ConeComplementarity
    r: Vector
    missed: float
    iterations: int
    method: int


Starts = Callable[[Sequence[str]], Vector | None]


class TimeStep(ABC):
    """A state from which a step is taken, with the contacts near it.

    Class attributes
    ----------------
    free : whether no constraint acts at the state, so that `SteppedSystem.free_steps` may take steps from it
    equalities : number of equality rows that the step eliminates
    """

    free: bool = False
    equalities: int = 0

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """Names of the contacts near the state."""

    @property
    @abstractmethod
    def opens(self) -> NDArray[np.bool_]:
        """Mask, (k,), of the contacts that can open; the others model friction under a given normal impulse."""

    @property
    @abstractmethod
    def found(self) -> Found:
        """The contacts near the state."""

    @property
    @abstractmethod
    def drift(self) -> tuple[float, float]:
        """Largest residual of the equalities at position level, and at velocity level."""

    @abstractmethod
    def energy(self) -> Energy:
        """Return the energy of the state; call it before the system is evaluated at another state."""

    def at_once(
        self, dt: float, starts: Starts, by: Any, accepted: float, *, project: bool
    ) -> AtOnce | None:  # fmt: skip
        """Take a step of length dt, s, by `Solver.quick_methods` from known impulses; None where these do not suffice.

        `starts` returns the impulses, (3 k,), from which to begin for contacts of given names, None if none are known;
        impulses are certified within `accepted`.
        """
        return None

    @abstractmethod
    def problem(self, dt: float) -> ConeComplementarity:
        """Return the contact problem, in impulses, for a step of length dt, s; it may have no contacts."""

    def again(self, r: Vector) -> ConeComplementarity | None:
        """Return the problem with its forces updated after impulses r; None if the forces no longer change."""
        return None

    def fed(self, r: Vector) -> float:
        """Return the energy, J, that the impulses r add, which may be positive with both restitution and friction."""
        return 0.0

    @abstractmethod
    def finish(self, r: Vector, *, project: bool) -> Reached:
        """Return the end of the step for impulses r, (3 k,), projected onto the equality constraints if `project`."""


class SteppedSystem(AbstractSystem):
    """A system that formulates its time steps itself; its `evaluate` leaves contacts out."""

    stepper = "moreau-jean"
    may_touch = True
    """Whether a step may have contacts, limits or dry friction."""

    @abstractmethod
    def time_step(self, t: float, q: Vector, v: Vector) -> TimeStep:
        """Return the step that starts at a state; raises BadInput if a contact does not follow Coulomb's law."""

    def free_steps(self, t: float, q: Vector, v: Vector, ends: Sequence[float]) -> Free | None:
        """Take verified steps to the given instants as long as no constraint acts; None if the first step fails."""
        return None

    depends_on_time = False  # time does not occur: prescribed motions are refused or held fixed

    def why_damped(self, t: float, q: Vector, v: Vector, dt: float) -> str:
        """Return why steps of length dt, s, from this state are unstable unless they are damped; "" if they are stable.

        Raises BadInput if they are unstable even so.
        """
        return ""

    def for_steps(self, dt: float, damped: bool) -> Self:
        """Return the system for steps of length dt, s, which evaluate more forces at their end if they are `damped`."""
        return self

    def begun(self, t: float, q: Vector, v: Vector, dt: float) -> Self:
        """Return the system that states the steps of length dt, s, of a motion from this state."""
        return self.for_steps(dt, damped=bool(self.why_damped(t, q, v, dt)))

    def about(self) -> dict[str, Any]:
        """Return the entries about time steps for the metadata of a motion."""
        return {}
