"""Base classes of the steppers: methods of constant step, and SciPy's methods with error control."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.stepper import Control, Integration, Motion, State, Stepper

QUINTIC = 6
"""Largest order of a method whose steps a quintic interpolates as accurately as the method computes them."""


class FixedStep(Stepper):
    """Base class of methods of constant step; a subclass defines `step`."""

    @abstractmethod
    def step(self, motion: Motion, t: float, q: Vector, u: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return (q, u) at t + dt, where u is the velocity or quasi-velocity that is integrated."""

    def start(self, motion: Motion, t: float, q: Vector, u: Vector, control: Control) -> Integration:
        """Return an integration that starts at (t, q, u); its last step is shortened to end at t_end."""
        if control.dt is None:
            raise BadInput(f"The stepper {self.name!r} needs a step size dt.")
        return _Fixed(self, motion, t, q, u, control)


class _Fixed(Integration):
    def __init__(self, method: FixedStep, motion: Motion, t: float, q: Vector, u: Vector, control: Control) -> None:
        self._method, self._motion = method, motion
        self._control = replace(control, origin=t) if control.origin is None else control
        self._t, self._q, self._u, self._count = t, q, u, control.grid_index(t) - 1

    def advance(self) -> State:
        self._count += 1
        t = self._control.instant(self._count)
        self._q, self._u = self._method.step(self._motion, self._t, self._q, self._u, t - self._t)
        self._t = t
        return t, self._q, self._u

    def replace(self, q: Vector, u: Vector) -> None:
        self._q, self._u = q, u


class Unwatched:
    """A motion for additional steps of the search for singular positions: it does not record accepted steps."""

    def __init__(self, motion: Motion) -> None:
        self.system, self.velocity, self.rate = motion.system, motion.velocity, motion.rate
        self.answer, self.solve = motion.answer, motion.solve

    def passed(self, t: float, q: Vector, u: Vector) -> None:
        """Ignore an accepted step."""


def beside(method: Stepper, motion: Motion, control: Control, start: State, t: float) -> tuple[Vector, Vector]:
    """Return q and v at an instant by an extra, shorter step from `start`, which the motion does not monitor."""
    reached, q, u = start
    shorter = Control(t, None, control.rtol, control.atol, first_step=t - reached)
    integration = method.start(Unwatched(motion), reached, q, u, shorter)
    while reached < t:
        reached, q, u = integration.advance()
    return q, motion.velocity(t, q, u)


class Adaptive(Stepper):
    """A SciPy method with error control."""

    adaptive = True
    method: ClassVar[str]

    @classmethod
    def scipy_class(cls) -> Any:
        """Return SciPy's class of the method."""
        from scipy import integrate

        return getattr(integrate, cls.method)

    def start(self, motion: Motion, t: float, q: Vector, u: Vector, control: Control) -> ScipyIntegration:
        """Return an integration from (t, q, u); if there is a recording interval, steps end at its multiples."""
        return ScipyIntegration(self.scipy_class(), motion, t, q, u, control, self.order)


def gave_up(t: float, reason: str) -> str:
    """Return the message to the user if an adaptive method fails."""
    return f"The integrator stopped at t = {t:.9g}: {reason} Loosen rtol and atol or use a smaller problem."


class ScipyIntegration(Integration):
    """An integration by a method of SciPy."""

    def __init__(
        self, method: Any, motion: Motion, t: float, q: Vector, u: Vector, control: Control, order: int
    ) -> None:
        self._make, self._high, self._motion = method, order > QUINTIC, motion
        self._stepped: Any = None
        n = len(q)

        def field(t: float, y: Vector) -> Vector:
            q, u = y[:n], y[n:]
            return np.concatenate((motion.velocity(t, q, u), motion.rate(t, q, u)))

        self._field, self._n = field, n
        self._control = replace(control, origin=t) if control.origin is None else control
        self._count = control.grid_index(t) - 1
        self._begin(t, np.concatenate((q, u)), control.first_step)

    def _begin(self, t: float, y: Vector, first: float | None) -> None:
        c = self._control
        bound = c.t_end
        if c.dt is not None or c.instants:
            self._count += 1
            bound = c.instant(self._count)
        if first is not None:
            first = min(first, bound - t)
        self._solver = self._make(self._field, t, y, bound, rtol=c.rtol, atol=c.atol, first_step=first)

    def within(self) -> Callable[[float], Vector] | None:
        """Return the method's dense output; None if a quintic through both ends of a step is accurate enough."""
        if self._high and self._stepped is not None:
            dense: Callable[[float], Vector] = self._stepped.dense_output()
            return dense
        return None

    @property
    def next_step(self) -> float:
        """Length of the next trial step."""
        return float(self._solver.h_abs)

    def advance(self) -> State:
        """Take one accepted step; with a recording interval, take steps up to the next recording instant."""
        s = self._solver
        self.taken = 0
        while True:
            message = s.step()
            self._stepped = s
            if s.status == "failed":
                raise BadInput(gave_up(s.t, message))
            self.taken += 1
            self._motion.passed(float(s.t), s.y[: self._n], s.y[self._n :])
            if self._control.dt is None or self._control.every_step or s.status == "finished":
                break
        t, y = float(s.t), s.y
        if s.status == "finished" and t < self._control.t_end:
            self._begin(t, y, s.h_abs)
        return t, y[: self._n].copy(), y[self._n :].copy()

    def before_failure(self) -> tuple[float, int] | None:
        """Return the instant after the latest accepted step, and the number of steps in this call of `advance`."""
        return float(self._solver.t), self.taken

    def replace(self, q: Vector, u: Vector) -> None:
        """Continue from a corrected state."""
        s = self._solver
        if s.status == "finished":
            return
        s.y = np.concatenate((q, u))
        if hasattr(s, "f"):
            s.f = self._field(s.t, s.y)
