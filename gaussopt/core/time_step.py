"""Systems that state the contact problem of a time step themselves, as those of other engines do.

Their contacts come and go, and their velocities u, (p,), need not be the rates v of their coordinates, (n,).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.system import AbstractSystem, Energy


class Found(NamedTuple):
    """Contacts near a state: names, gaps (k,) in m or rad, and the relative velocities there, (k, 2), in m/s."""

    names: Sequence[str]
    gaps: Vector
    slip: Vector


class Reached(NamedTuple):
    """End of a step: coordinates and rates, (n,), impulses of the equality rows, (m,), and what of these is missed."""

    q: Vector
    v: Vector
    lam: Vector
    missed: float


class TimeStep(ABC):
    """A state from which a step can be taken."""

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """Those of the contacts near the state."""

    @property
    @abstractmethod
    def found(self) -> Found:
        """The contacts near the state."""

    @property
    @abstractmethod
    def drift(self) -> tuple[float, float]:
        """Largest residuals of the equalities at position and velocity level."""

    @abstractmethod
    def energy(self) -> Energy:
        """Return the energy there, as long as the system has not been asked for another state."""

    @abstractmethod
    def problem(self, dt: float) -> ConeComplementarity:
        """Return the contacts at the end of a step of length dt, s, in impulses; of none there are none."""

    @abstractmethod
    def finish(self, r: Vector, *, project: bool) -> Reached:
        """The end of the step of `problem` with impulses r, (3 k,); `project` moves it to the equality constraints."""


class SteppedSystem(AbstractSystem):
    """A system whose motions go by the time steps that it states; `evaluate` knows no contacts."""

    @abstractmethod
    def time_step(self, t: float, q: Vector, v: Vector) -> TimeStep:
        """Give the state as the beginning of a step; raises BadInput where something is no contact of Coulomb's law."""

    depends_on_time = False  # what moves by itself is refused or held

    def refuse_unstable(self, t: float, q: Vector, v: Vector, dt: float) -> None:
        """Raise BadInput where steps of length dt, s, from this state throw the system, whatever it does."""

    def about(self) -> dict[str, Any]:
        """Return what the meta data of a motion say of its steps."""
        return {}

    def may_miss(self, q: Matrix, v: Matrix, dt: float) -> str | None:
        """A warning that steps of dt, s, between these states, (N, n) each, may miss contacts; None if they do not."""
        return None
