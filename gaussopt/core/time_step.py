"""Interface of systems that formulate the contact problem of a time step themselves, as models of physics engines do.

Their number of contacts may change, and their velocities u, (p,), need not be the rates v, (n,), of q.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
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


NO_CONTACTS = ConeComplementarity(np.zeros((0, 0)), np.zeros(0), np.zeros(0))
"""The contact problem of a step in which no constraint acts."""


class Taken(NamedTuple):
    """A step that has been taken.

    names, opens : contacts of its problem, and mask, (k,), of those that can open
    before : velocities at its start, (n,)
    end : the state at its end
    h : its length, s
    problem, r : its contact problem, valid until another step is taken, and the impulses that solve it, (3 k,)
    pushes : for each contact the bytes of the float 1 if it pushes, else of 0
    missed, iterations : residual of Coulomb's law, m/s, and iterations; -1 and 0 if zero impulses satisfy the law
    """

    names: Sequence[str]
    opens: NDArray[np.bool_]
    before: Vector
    end: Reached
    h: float
    problem: ConeComplementarity
    r: Vector
    pushes: bytes
    missed: float = -1.0
    iterations: int = 0

    @classmethod
    def free(cls, before: Vector, end: Reached, h: float) -> Taken:
        """Return a step in which no constraint acts."""
        return cls((), np.zeros(0, dtype=bool), before, end, h, NO_CONTACTS, np.zeros(0), b"")


class KnownImpulses(NamedTuple):
    """Known impulses r, (3 k,), and the names of their contacts."""

    names: Sequence[str]
    r: Vector

    def of(self, names: Sequence[str]) -> Vector | None:
        """Return the impulses of contacts of these names, zero for those that are new; None if there are none."""
        if names is self.names or names == self.names:
            return self.r
        if not len(self.r):
            return None
        there, found = {name: i for i, name in enumerate(self.names)}, np.zeros((len(names), ROWS))
        pairs = [(i, there[name]) for i, name in enumerate(names) if name in there]
        if pairs:
            here, before = np.transpose(pairs)
            found[here] = self.r.reshape(-1, ROWS)[before]
        return found.ravel()


Starts: TypeAlias = Callable[[Sequence[str]], Vector | None]
Arrived: TypeAlias = "Callable[[Taken], TimeStep | None]"


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
        self, ends: Iterable[float], starts: Starts, arrived: Arrived, solver: Any, accepted: float, *, project: bool
    ) -> TimeStep | None:  # fmt: skip
        """Take steps by `Solver.quick_methods`; return the one that needs others, or None if no other is to follow.

        Parameters
        ----------
        ends : instants, s, at which the steps end, each asked for when the step before it has been taken
        starts : returns the impulses, (3 k,), from which to begin for contacts of given names, None if none are known
        arrived : takes each step, and returns the step that begins at its end, or None if no other is to follow
        solver : the solver, which learns which method succeeded
        accepted : tolerance of the certificate of impulses
        project : whether each displacement also corrects the constraint residuals
        """
        return self

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

    def free_steps(self, t: float, q: Vector, v: Vector, ends: Sequence[float]) -> tuple[int, Taken] | None:
        """Take verified steps to the given instants as long as no constraint acts; return their number and the last.

        Return None if the first step fails.
        """
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
