"""The classical Runge-Kutta method for many motions at once, for equations written by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from gaussopt.core.arrays import Vector

Rates = Callable[[Any, Vector], Vector]
"""Function of (t, state) that returns the rates of the state; the first axis of the state counts its entries."""


def march(rates: Rates, state: Vector, dt: Any) -> Iterator[Vector]:
    """Yield the states after every step, endlessly; the step is one number or one for each motion.

    The rates are called four times per step, in the order of the stages: rates that draw random errors rely on it.
    """
    half = 0.5 * dt
    for k in count():
        yield state
        t = k * dt
        k1 = rates(t, state)
        k2 = rates(t + half, state + half * k1)
        k3 = rates(t + half, state + half * k2)
        k4 = rates(t + dt, state + dt * k3)
        state = state + dt / 6 * (k1 + 2 * (k2 + k3) + k4)
