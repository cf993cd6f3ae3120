"""What a stepper is: it advances a state (q, u) whose rates it asks for.

u is the velocity v, or a set of quasi-velocities omega in which velocity constraints hold identically.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData, Vector

if TYPE_CHECKING:
    from gaussopt.core.system import AbstractSystem
    from gaussopt.integration.stabilisation import Stabilisation
    from gaussopt.solving.solve import Answer

State = tuple[float, Vector, Vector]

QUINTIC = 6
"""Order of a method up to which a quintic follows its steps as exactly as they are."""

SHARP = 2.0**-52
"""Residual at which the iterations of methods that keep constraints end, relative to 1 + the largest entry of what they
look for; the generated loops of these methods use the same number."""

MOST_ITERATIONS = 50
"""Solves of a half step of RATTLE, interpreted or generated."""


class Motion(Protocol):
    """The differential equation of a state (q, u), and what it comes from.

    Most methods ask for velocities and rates alone; those that keep constraints themselves solve
    step data of their own.
    """

    @property
    def system(self) -> AbstractSystem:
        """What moves."""

    def velocity(self, t: float, q: Vector, u: Vector) -> Vector:
        """dq/dt, (n,)."""

    def rate(self, t: float, q: Vector, u: Vector) -> Vector:
        """du/dt; costs a solved step."""

    def answer(self, t: float, q: Vector, v: Vector) -> Answer:
        """The certified answer at a state; costs a solved step, but for the state asked for last."""

    def solve(self, step: StepData) -> Answer:
        """The certified answer to step data; costs a solved step."""


@dataclass(frozen=True, slots=True)
class Control:
    """Where to go and how finely.

    Attributes
    ----------
    t_end : float
    dt : float or None
        Step of a fixed-step method; recording interval of an adaptive one (None: its own steps).
    rtol, atol : float
        Tolerances of an adaptive method.
    origin : float, optional
        The instant whose multiples of dt are landed on; the start if not given.
    every_step : bool
        Whether an adaptive method with a recording interval also returns at its own steps.
    first_step : float, optional
        First trial step of an adaptive method.
    """

    t_end: float
    dt: float | None
    rtol: float
    atol: float
    origin: float | None = None
    every_step: bool = False
    first_step: float | None = None

    def grid_index(self, t: float) -> int:
        """The number of the first multiple of dt after t, counted from the origin."""
        if self.dt is None or self.origin is None:
            return 1
        return math.floor((t - self.origin) / self.dt + 1e-9) + 1


@dataclass(frozen=True, slots=True)
class Tableau:
    """Butcher's tableau of an explicit Runge-Kutta method of s stages.

    Attributes
    ----------
    A : (s, s), strictly lower triangular
    b, c : (s,)
    """

    A: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]


class Integration(ABC):
    """An integration under way.

    Attributes
    ----------
    taken : int
        Steps of the method in the latest `advance`; more than one where an adaptive one went to a recording instant.
    """

    taken = 1

    @abstractmethod
    def advance(self) -> State:
        """One step (adaptive: one accepted step, or up to the next recording instant)."""

    @abstractmethod
    def replace(self, q: Vector, u: Vector) -> None:
        """Continue from a corrected state at the same instant (projection)."""

    def before_failure(self) -> tuple[float, int] | None:
        """Instant and steps that an `advance` got to which failed; None where it got nowhere."""
        return None

    def within(self) -> Callable[[float], Vector] | None:
        """The latest step as a function of time, (q, u) in one array of 2 n entries.

        None where the quintic through positions, velocities and accelerations at its ends is as good.
        """
        return None


class Stepper(ABC):
    """One integration method.

    Class attributes
    ----------------
    name, title, source : str
    order, stages : int
        Stages are the accelerations of a step.
    adaptive : bool
    loop : str
        Name of the loop that drives it, where it is not the usual one (see `gaussopt.integration.loops`).
    pair : (formulation, solver), optional
        What it is meant to be used with, taken if none are named.
    generated : str
        Name of the module in `gaussopt.compiled` that writes its loop as generated code, if there is one.
    tableau : Tableau, optional
        Of an explicit Runge-Kutta method.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    order: ClassVar[int]
    adaptive: ClassVar[bool] = False
    loop: ClassVar[str] = ""
    pair: ClassVar[tuple[str, str] | None] = None
    generated: ClassVar[str] = ""
    tableau: ClassVar[Tableau | None] = None
    stages: ClassVar[int] = 1

    def refuses(self, system: AbstractSystem, state: str, stabiliser: Stabilisation) -> str | None:
        """Why it cannot integrate such a motion, None if it can.

        Parameters
        ----------
        system : AbstractSystem
        state : "velocity" or "quasi-velocity"
        stabiliser : Stabilisation
        """
        return None

    @abstractmethod
    def start(self, motion: Motion, t: float, q: Vector, u: Vector, control: Control) -> Integration:
        """Begin at a state."""


class FixedStep(Stepper):
    """A method of constant step: subclasses give one step."""

    @abstractmethod
    def step(self, motion: Motion, t: float, q: Vector, u: Vector, dt: float) -> tuple[Vector, Vector]:
        """(q, u) at t + dt."""

    def start(self, motion: Motion, t: float, q: Vector, u: Vector, control: Control) -> Integration:
        """Begin; the last step is shortened to end at t_end."""
        if control.dt is None:
            raise BadInput(f"The stepper {self.name!r} needs a step size dt.")
        return _Fixed(self, motion, t, q, u, control)


class _Fixed(Integration):
    def __init__(
        self,
        method: FixedStep,
        motion: Motion,
        t: float,
        q: Vector,
        u: Vector,
        control: Control,
    ) -> None:
        assert control.dt is not None
        self._method, self._motion = method, motion
        self._t0, self._dt, self._t_end = t if control.origin is None else control.origin, control.dt, control.t_end
        self._t, self._q, self._u, self._count = t, q, u, control.grid_index(t) - 1

    def advance(self) -> State:
        self._count += 1
        # Multiples of dt, not a running sum, so that rounding does not add up; a sliver joins the last step.
        t = self._t0 + self._count * self._dt
        if t > self._t_end - 1e-9 * self._dt:
            t = self._t_end
        self._q, self._u = self._method.step(self._motion, self._t, self._q, self._u, t - self._t)
        self._t = t
        return t, self._q, self._u

    def replace(self, q: Vector, u: Vector) -> None:
        self._q, self._u = q, u


class Adaptive(Stepper):
    """A SciPy method with error control."""

    adaptive = True
    method: ClassVar[str]

    @classmethod
    def scipy_class(cls) -> Any:
        """The method's class in SciPy."""
        from scipy import integrate

        return getattr(integrate, cls.method)

    def start(self, motion: Motion, t: float, q: Vector, u: Vector, control: Control) -> ScipyIntegration:
        """Begin; with a recording interval the method lands on its multiples."""
        return ScipyIntegration(self.scipy_class(), motion, t, q, u, control, self.order)


def gave_up(t: float, reason: str) -> str:
    """What a person is told where an adaptive method stops."""
    return f"The integrator stopped at t = {t:.9g}: {reason} Loosen rtol and atol or use a smaller problem."


class ScipyIntegration(Integration):
    """A method of SciPy under way."""

    def __init__(
        self, method: Any, motion: Motion, t: float, q: Vector, u: Vector, control: Control, order: int
    ) -> None:
        self._make, self._high = method, order > QUINTIC
        self._stepped: Any = None
        n = len(q)

        def field(t: float, y: Vector) -> Vector:
            q, u = y[:n], y[n:]
            return np.concatenate((motion.velocity(t, q, u), motion.rate(t, q, u)))

        self._field, self._n, self._control = field, n, control
        self._t0 = t if control.origin is None else control.origin
        self._count = control.grid_index(t) - 1
        self._begin(t, np.concatenate((q, u)), control.first_step)

    def _begin(self, t: float, y: Vector, first: float | None) -> None:
        c = self._control
        bound = c.t_end
        if c.dt is not None:
            self._count += 1
            bound = self._t0 + self._count * c.dt
            if bound > c.t_end - 1e-9 * c.dt:
                bound = c.t_end
        if first is not None:
            first = min(first, bound - t)
        self._solver = self._make(self._field, t, y, bound, rtol=c.rtol, atol=c.atol, first_step=first)

    def within(self) -> Callable[[float], Vector] | None:
        """The dense output of a method whose steps are too long for a quintic."""
        if self._high and self._stepped is not None:
            dense: Callable[[float], Vector] = self._stepped.dense_output()
            return dense
        return None

    @property
    def next_step(self) -> float:
        """Length of the next trial step."""
        return float(self._solver.h_abs)

    def advance(self) -> State:
        """One accepted step, or up to the next recording instant."""
        s = self._solver
        self.taken = 0
        while True:
            message = s.step()
            self._stepped = s
            if s.status == "failed":
                raise BadInput(gave_up(s.t, message))
            self.taken += 1
            if self._control.dt is None or self._control.every_step or s.status == "finished":
                break
        t, y = float(s.t), s.y
        if s.status == "finished" and t < self._control.t_end:
            self._begin(t, y, s.h_abs)
        return t, y[: self._n].copy(), y[self._n :].copy()

    def before_failure(self) -> tuple[float, int] | None:
        """The latest accepted step."""
        return float(self._solver.t), self.taken

    def replace(self, q: Vector, u: Vector) -> None:
        """Continue from a corrected state."""
        s = self._solver
        if s.status == "finished":
            return
        s.y = np.concatenate((q, u))
        if hasattr(s, "f"):
            s.f = self._field(s.t, s.y)
