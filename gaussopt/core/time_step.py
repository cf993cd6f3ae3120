"""Systems that state the contact problem of a time step themselves, as systems of other physics engines do.

Their contacts appear and vanish, and their velocities u, (p,), need not be the rates v of their coordinates, (n,).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.system import AbstractSystem, Energy


class Found(NamedTuple):
    """Contacts near a state: names, gaps (k,) in m or rad, and the relative velocities there, (k, 2), in m/s."""

    names: Sequence[str]
    gaps: Vector
    slip: Vector


class Reached(NamedTuple):
    """End of a step: coordinates and rates, (n,), impulses of the equality rows, (m,), and residual of these rows."""

    q: Vector
    v: Vector
    lam: Vector
    missed: float


class TimeStep(ABC):
    """A state from which a step can be taken."""

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """Names of the contacts near the state."""

    @property
    @abstractmethod
    def opens(self) -> NDArray[np.bool_]:
        """Which contacts open and close, (k,); the others are friction whose normal impulse is given."""

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
        """Return the energy of the state; only valid before the system is evaluated at another state."""

    @abstractmethod
    def problem(self, dt: float) -> ConeComplementarity:
        """Return the contact problem, in impulses, of a step of length dt, s; it may have no contacts."""

    @abstractmethod
    def finish(self, r: Vector, *, project: bool) -> Reached:
        """Return the end of a step with impulses r, (3 k,), of `problem`; `project` moves it to the equalities."""


class SteppedSystem(AbstractSystem):
    """A system that states the time steps of its motions; `evaluate` leaves contacts out."""

    @abstractmethod
    def time_step(self, t: float, q: Vector, v: Vector) -> TimeStep:
        """Return the state as the start of a step; raises BadInput if a contact does not follow Coulomb's law."""

    depends_on_time = False  # what moves by itself is refused or held

    def refuse_unstable(self, t: float, q: Vector, v: Vector, dt: float) -> None:
        """Raise BadInput where steps of length dt, s, from this state are unstable."""

    def about(self) -> dict[str, Any]:
        """Return the entries on steps in the metadata of a motion."""
        return {}
