"""The interface of steppers: they advance a state (q, u) whose rates they ask for.

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
from gaussopt.core.endings import SLIVER, last_step
from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem

State = tuple[float, Vector, Vector]

SHARP = 2.0**-52
"""Residual at which the iterations of methods that keep constraints end, relative to 1 + the largest unknown; the
generated loops of these methods use the same number."""

MOST_ITERATIONS = 50
"""Maximum number of solves in a half step of RATTLE, interpreted or generated."""


class CertifiedAnswer(Protocol):
    """The part of a certified answer that steppers read."""

    @property
    def a(self) -> Vector | None:
        """Acceleration, (n,); None where there is no answer."""

    @property
    def forces_unique(self) -> bool:
        """Whether the multipliers are unique."""


class Motion(Protocol):
    """The differential equation of a state (q, u), and what it comes from.

    Most methods ask for velocities and rates alone; those that keep constraints themselves solve steps of their own.
    """

    @property
    def system(self) -> AbstractSystem:
        """The system that moves."""

    def velocity(self, t: float, q: Vector, u: Vector) -> Vector:
        """Return dq/dt, (n,)."""

    def rate(self, t: float, q: Vector, u: Vector) -> Vector:
        """Return du/dt; costs a solved step."""

    def answer(self, t: float, q: Vector, v: Vector) -> CertifiedAnswer:
        """Return the certified answer at a state; costs a solved step, except at the state asked for last."""

    def passed(self, t: float, q: Vector, u: Vector) -> None:
        """Take note of an accepted state."""

    def solve(self, step: StepData) -> CertifiedAnswer:
        """Return the certified answer to step data; costs a solved step."""


class Stabilisation(Protocol):
    """A method that keeps a motion on its constraints; see `gaussopt.integration.stabilisation`."""

    @property
    def name(self) -> str:
        """Its name on the command line."""

    def shape(self, system: AbstractSystem, step: StepData) -> StepData:
        """Return the step data that is solved instead."""

    def correct(self, system: AbstractSystem, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector] | None:
        """Return the state to continue from, None if it stays as it is."""


@dataclass(frozen=True, slots=True)
class Control:
    """End, step and tolerances of an integration.

    Attributes
    ----------
    t_end : the end, s
    dt : step of a fixed-step method; recording interval of an adaptive one (None: its own steps)
    rtol, atol : tolerances of an adaptive method
    origin : the instant from which multiples of dt are counted, at which steps end; the start if not given
    every_step : whether an adaptive method with a recording interval also returns at its own steps
    first_step : first trial step of an adaptive method
    instants : of an adaptive method without a recording interval, instants that it lands on
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
        """Return the number, counted from the origin, of the first multiple of dt after t, or of the next instant."""
        if self.instants:
            return bisect_right(self.instants, t) + 1
        if self.dt is None or self.origin is None:
            return 1
        return math.floor((t - self.origin) / self.dt + SLIVER) + 1

    def instant(self, number: int) -> float:
        """Return the multiple of dt of this number from the origin, or the end where less than a sliver would be left.

        Multiples of dt, not a running sum, so that rounding does not add up. If there are `instants`, return the one of
        this number.
        """
        if self.instants:
            return self.instants[number - 1] if number <= len(self.instants) else self.t_end
        assert self.dt is not None
        assert self.origin is not None
        t = self.origin + number * self.dt
        return last_step(t, self.t_end, self.dt)


@dataclass(frozen=True, slots=True)
class Tableau:
    """Butcher's tableau of an explicit Runge-Kutta method of s stages: A (s, s), strictly lower, and b and c (s,)."""

    A: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]


class Integration(ABC):
    """An integration in progress."""

    taken = 1
    """Steps of the method in the latest `advance`; more than one where an adaptive one went to a recording instant."""

    @abstractmethod
    def advance(self) -> State:
        """Advance by one step (adaptive: by one accepted step, or up to the next recording instant)."""

    @abstractmethod
    def replace(self, q: Vector, u: Vector) -> None:
        """Continue from a corrected state at the same instant (projection)."""

    def before_failure(self) -> tuple[float, int] | None:
        """Return the instant and number of steps that a failed `advance` reached; None if it got nowhere."""
        return None

    def within(self) -> Callable[[float], Vector] | None:
        """Return the latest step as a function of time, (q, u) in one array of 2 n entries.

        None where the quintic through positions, velocities and accelerations at its ends is as accurate.
        """
        return None


class Stepper(ABC):
    """One integration method.

    Class attributes
    ----------------
    name, title, source : str
    order, stages : order of accuracy, and number of accelerations in a step
    adaptive : bool
    implicit : bool, whether a step is so costly that states within it are interpolated instead of stepped to
    loop : name of the loop that drives it, where it is not the usual one (see `gaussopt.integration.advance`)
    pair : (formulation, solver), optional, taken if the user names none
    tableau : Tableau, optional, of an explicit Runge-Kutta method
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
        """Return why it cannot integrate a motion with state "velocity" or "quasi-velocity"; None if it can."""
        return None

    @classmethod
    def scipy_class(cls) -> Any:
        """Return the class in SciPy of an adaptive method; None for any other method."""
        return None

    @abstractmethod
    def start(self, motion: Motion, t: float, q: Vector, u: Vector, control: Control) -> Integration:
        """Begin an integration at a state."""
