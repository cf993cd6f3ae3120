"""User-defined events, located during a motion, and functions integrated along it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput, one_line
from gaussopt.core.foreign import WRITES, Changed, call_with_copies
from gaussopt.core.machine import pass_on


@dataclass(frozen=True)
class Event:
    """An instant to be located during a motion, at which `function` changes sign.

    Attributes
    ----------
    name : str
    function : (t, q, v) -> float
    direction : which sign changes count: -1 falling through zero, +1 rising, 0 both
    terminal : whether the motion ends at the event

    Examples
    --------
    >>> import gaussopt as go
    >>> landed = go.Event("low", lambda t, q, v: q[0] - 0.5, direction=-1, terminal=True)
    >>> motion = go.simulate("bouncing-ball", events=[landed], t_end=1.0)
    >>> print(motion.status, motion.events[-1]["kind"])
    solved low
    """

    name: str
    function: Callable[[float, Vector, Vector], float]
    direction: int = 0
    terminal: bool = False
    kind: ClassVar[str] = "Event"
    wanted: ClassVar[str] = "a function of (t, q, v)"

    def __post_init__(self) -> None:
        """Refuse a name, function or direction that cannot be used; raises BadInput."""
        if not (isinstance(self.name, str) and self.name.strip()):
            raise BadInput(f"The name of an {self.kind.lower()} is {self.name!r}; give a text.")
        if not callable(self.function):
            raise BadInput(f"The function of {self.kind.lower()} {self.name!r} is not callable; give {self.wanted}.")
        if self.direction not in (-1, 0, 1):
            raise BadInput(f"The direction of event {self.name!r} is {self.direction!r}; give -1, 0 or 1.")

    def value(self, t: float, q: Vector, v: Vector) -> float:
        """Return the value of the function; raises BadInput if the function raises or returns no finite number."""
        try:
            number = float(call_with_copies(self.function, t, q, v))
        except Changed:
            raise BadInput(f"{self.kind} {self.name!r} {WRITES}, at t = {t:.9g}.") from None
        except BaseException as error:
            pass_on(f"The {self.kind.lower()} {self.name!r} was not looked at", error)
            raise BadInput(
                f"{self.kind} {self.name!r} raised {type(error).__name__} at t = {t:.9g}: {one_line(error)}."
            ) from error
        if not math.isfinite(number):
            raise BadInput(f"{self.kind} {self.name!r} is {number} at t = {t:.9g}; it must be finite.")
        return number

    def values(self, t: Vector, q: Matrix, v: Matrix) -> Vector:
        """Return the values, (N,), at N states t, (N,), q and v, (N, n), in less time than N calls of `value`.

        Raises BadInput as `value` does, naming the first instant at which the function fails.
        """
        mine_q, mine_v = q.copy(), v.copy()
        try:
            found = np.array([float(self.function(*state)) for state in zip(t.tolist(), mine_q, mine_v, strict=True)])
            sound = np.isfinite(found).all() and np.array_equal(mine_q, q) and np.array_equal(mine_v, v)
        except KeyboardInterrupt:
            raise
        except BaseException:  # `value`, called below, finds the instant and raises the error
            sound = False
        return found if sound else np.array([self.value(*state) for state in zip(t.tolist(), q, v, strict=True)])


class Integrand(Event):
    """A function of (t, q, v) that is integrated along a motion."""

    kind: ClassVar[str] = "Integral"
    wanted: ClassVar[str] = "a function of (t, q, v), or an expression of SymPy"
