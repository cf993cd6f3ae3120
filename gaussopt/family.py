"""What a family is: steps of mechanical systems built to measure, with dials for size and difficulty."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from gaussopt.stepdata import StepData


@dataclass(frozen=True, slots=True)
class Dial:
    """One dial of a family.

    Attributes
    ----------
    default, low, high : float
        The value where the dial is not turned, and the range it can be turned through.
    integer : bool
        Whether only whole numbers make sense.
    logarithmic : bool
        Whether a sweep spaces its points by ratio.
    """

    name: str
    default: float
    low: float
    high: float
    unit: str
    meaning: str
    integer: bool = False
    logarithmic: bool = False


class Family(ABC):
    """Steps of mechanical systems with dials.

    Class attributes
    ----------------
    name, title, source : str
    dials : tuple of Dial
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    dials: ClassVar[tuple[Dial, ...]]

    @abstractmethod
    def steps(self, dials: Mapping[str, float], count: int) -> tuple[StepData, ...]:
        """`count` related steps, as along a motion, with every dial given; the same for the same arguments."""
