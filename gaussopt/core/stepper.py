"""The interface of steppers, which advance a state (q, u) in time by evaluating its rates.

u is the velocity v, or a set of quasi-velocities omega in which velocity constraints hold identically.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from gaussopt.core.arrays import Vector
from gaussopt.core.endings import ROUNDED, SLIVER, last_step
from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem

State = tuple[float, Vector, Vector]

SHARP = 2.0**-52
"""Residual, relative to 1 + the largest unknown, at which constraint-preserving methods end their iterations,
interpreted or generated."""

MOST_ITERATIONS = 50
"""Maximum number of solves in a half step of RATTLE, in interpreted and generated loops."""


class CertifiedAnswer(Protocol):
    """The properties of a certified answer that steppers read."""

    @property
    def a(self) -> Vector | None:
        """Acceleration, (n,); None if there is no answer."""

    @property
    def forces_unique(self) -> bool:
        """Whether the multipliers are unique."""


class Motion(Protocol):
    """The differential equation of a state (q, u), and the system that it comes from.

    Most steppers evaluate velocities and rates only; steppers that preserve constraints also solve steps.
    """

    @property
    def system(self) -> AbstractSystem:
        """The mechanical system."""

    def velocity(self, t: float, q: Vector, u: Vector) -> Vector:
        """Return the rate dq/dt, (n,)."""

    def rate(self, t: float, q: Vector, u: Vector) -> Vector:
        """Return the rate du/dt; each call solves a step."""

    def answer(self, t: float, q: Vector, v: Vector) -> CertifiedAnswer:
        """Return the certified answer at a state; each call solves a step, unless the last call was for this state."""

    def passed(self, t: float, q: Vector, u: Vector) -> None:
        """Record that a state was accepted."""

    def solve(self, step: StepData) -> CertifiedAnswer:
        """Solve a step and return the certified answer."""


class Stabilisation(Protocol):
    """A method that keeps a motion on its constraints; see `gaussopt.integration.stabilisation`."""

    @property
    def name(self) -> str:
        """Name of the method on the command line."""

    def shape(self, system: AbstractSystem, step: StepData) -> StepData:
        """Return the step data to solve instead of those given, for example with feedback in gamma."""

    def correct(self, system: AbstractSystem, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector] | None:
        """Return the corrected state (q, v) from which to continue; None if the state needs no correction."""


@dataclass(frozen=True, slots=True)
class Control:
    """End, step and tolerances of an integration.

    Attributes
    ----------
    t_end : the end of the integration, s
    dt : step of a fixed-step method, s; recording interval of an adaptive method (None: record at its own steps)
    rtol, atol : tolerances of an adaptive method
    origin : the instant from which the multiples of dt, where steps end, are counted; the start if not given
    every_step : whether an adaptive method with a recording interval also returns after each of its own steps
    first_step : first trial step of an adaptive method, s
    instants : instants, s, at which an adaptive method without a recording interval must end a step
    """

    t_end: float
    dt: float | None
    rtol: float
    atol: float
    origin: float | None = None
    every_step: bool = False
    first_step: float | None = None
    instants: tuple[float, ...] = ()

    def grid_index(self, t: float) -> int:
        """Return the least k with origin + k dt > t or, with `instants`, the number (from 1) of the first after t."""
        if self.instants:
            return bisect_right(self.instants, t) + 1
        if self.dt is None or self.origin is None:
            return 1
        return math.floor((t + ROUNDED * abs(t) - self.origin) / self.dt + SLIVER) + 1

    def instant(self, number: int) -> float:
        """Return origin + number * dt, or the end of the integration if only a rounding error would remain.

        The product, unlike a running sum, does not accumulate rounding errors. If there are `instants`, return the
        entry with this number, counted from 1, or the end of the integration after the last entry.
        """
        if self.instants:
            return self.instants[number - 1] if number <= len(self.instants) else self.t_end
        assert self.dt is not None
        assert self.origin is not None
        t = self.origin + number * self.dt
        return last_step(t, self.t_end, self.dt)


@dataclass(frozen=True, slots=True)
class Tableau:
    """Butcher tableau of an explicit Runge-Kutta method: A, (s, s), strictly lower triangular, and b and c, (s,)."""

    A: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]


class Integration(ABC):
    """An integration in progress, made by `Stepper.start`."""

    taken = 1
    """Number of steps in the latest `advance`; an adaptive method may need several up to a recording instant."""

    @abstractmethod
    def advance(self) -> State:
        """Advance by one step; an adaptive method advances by one accepted step or up to the next recording instant."""

    @abstractmethod
    def replace(self, q: Vector, u: Vector) -> None:
        """Continue from a corrected state at the same instant, as after a projection."""

    def before_failure(self) -> tuple[float, int] | None:
        """Return the instant that a failed `advance` reached, and how many steps it made; None if it made no step."""
        return None

    def within(self) -> Callable[[float], Vector] | None:
        """Return a function of time that gives the state within the latest step, (q, u) in one array of 2 n entries.

        Return None if the quintic with the positions, velocities and accelerations of both ends is as accurate.
        """
        return None


class Stepper(ABC):
    """An integration method.

    Class attributes
    ----------------
    name, title, source : str
    order, stages : order of accuracy, and number of accelerations evaluated in a step
    adaptive : bool
    implicit : bool, whether a step is so costly that states within it are interpolated, not computed by a shorter step
    loop : name of the loop that drives the method, "" for the default loop (see `gaussopt.integration.advance`)
    pair : (formulation, solver), optional, used if the user names neither
    tableau : Tableau, optional, for an explicit Runge-Kutta method
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    order: ClassVar[int]
    adaptive: ClassVar[bool] = False
    loop: ClassVar[str] = ""
    pair: ClassVar[tuple[str, str] | None] = None
    tableau: ClassVar[Tableau | None] = None
    stages: ClassVar[int] = 1
    implicit: ClassVar[bool] = False

    def refuses(self, system: AbstractSystem, state: str, stabiliser: Stabilisation) -> str | None:
        """Return why the method cannot integrate with state "velocity" or "quasi-velocity"; None if it can."""
        return None

    @classmethod
    def scipy_class(cls) -> Any:
        """Return the class of SciPy that implements an adaptive method; None for any other method."""
        return None

    @abstractmethod
    def start(self, motion: Motion, t: float, q: Vector, u: Vector, control: Control) -> Integration:
        """Begin an integration at a state."""
