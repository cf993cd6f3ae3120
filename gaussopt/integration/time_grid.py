"""The instants of a motion with constant steps, and the recorded instants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Vector
from gaussopt.core.endings import ROUNDED, SLIVER


@dataclass(frozen=True)
class TimeGrid:
    """Steps of length dt from begin to end; the last step may be shorter.

    Attributes
    ----------
    begin, end, dt : float, s
    every : steps between two recorded states; start and end are always recorded
    """

    begin: float
    end: float
    dt: float
    every: int

    @cached_property
    def steps(self) -> int:
        """Number of steps."""
        return max(1, math.ceil((self.end - ROUNDED * abs(self.end) - self.begin) / self.dt - SLIVER))

    @cached_property
    def times(self) -> Vector:
        """The recorded instants, s."""
        return self.at(np.append(np.arange(0, self.steps, self.every), self.steps))

    def at(self, steps: NDArray[np.int64]) -> Vector:
        """Return the instants, s, that are reached after these numbers of steps."""
        return np.where(steps >= self.steps, self.end, self.begin + steps * self.dt)

    @property
    def count(self) -> int:
        """Number of recorded instants."""
        return (self.steps - 1) // self.every + 2

    def recorded(self, steps: int) -> int:
        """Return the number of instants recorded in the first `steps` steps, the start included."""
        return self.count if steps >= self.steps else steps // self.every + 1
