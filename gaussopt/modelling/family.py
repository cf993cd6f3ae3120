"""Families of steps, or of contact problems in space, whose size and difficulty are set by dials."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import ClassVar

import numpy as np

from gaussopt.contact.operator import ContactOperator
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData

MOST_POINTS = 10
"""Number of points in a sweep above which the next coarser round spacing is used."""


@dataclass(frozen=True, slots=True)
class Dial:
    """A parameter of a family that sets the size or the difficulty of its steps.

    Attributes
    ----------
    default, low, high : default value, and the range of allowed values
    integer : whether only whole numbers are allowed
    logarithmic : whether the points of a sweep have equal ratios
    """

    name: str
    default: float
    low: float
    high: float
    unit: str
    meaning: str
    integer: bool = False
    logarithmic: bool = False

    def check(self, value: float) -> float:
        """Return the value as a number after checking that it is in the dial's range.

        Raises BadInput if it is not a number, not a whole number where one is required, or out of range.
        """
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise BadInput(f"The dial {self.name!r} is {value!r}; give a number.")
        number = float(value)
        if not self.low <= number <= self.high:  # also refuses NaN
            raise BadInput(f"The dial {self.name!r} is {number:g}; it goes from {self.low:g} to {self.high:g}.")
        if self.integer and number != round(number):
            raise BadInput(f"The dial {self.name!r} is {number:g}; it takes whole numbers.")
        return number


CONE_DIALS = (
    Dial("contacts", 20, 1, 200, "1", "contacts, three rows each", integer=True, logarithmic=True),
    Dial("friction", 0.5, 0.0, 1.5, "1", "coefficient of friction"),
    Dial("mass-ratio", 1.0, 1.0, 1e6, "1", "largest over smallest mass", logarithmic=True),
)
"""Dials that all families of contact problems in space have, in this order."""


class Family(ABC):
    """A family of steps of mechanical systems, or of contact problems in space, whose dials set size and difficulty."""

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    dials: ClassVar[tuple[Dial, ...]]

    @abstractmethod
    def steps(self, dials: Mapping[str, float], count: int) -> tuple[StepData | ConeComplementarity, ...]:
        """Return `count` steps along a motion, or `count` random contact problems; equal arguments give equal results.

        Dials that are not given stay at their defaults. Raises BadInput for a dial that the family does not have, or a
        value out of its range.
        """

    def dial(self, name: str) -> Dial:
        """Return the dial called `name`; if there is none, raise BadInput with the most similar name."""
        for dial in self.dials:
            if dial.name == name:
                return dial
        known = [d.name for d in self.dials]
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"its dials are {', '.join(known)}."
        raise BadInput(f"The family {self.name!r} has no dial {name!r}; {hint}")

    def at(self, dials: Mapping[str, float]) -> dict[str, float]:
        """Return the values of all dials by name: checked values from `dials`, else defaults; raises BadInput."""
        given = {name: self.dial(name).check(value) for name, value in dials.items()}
        return {dial.name: given.get(dial.name, dial.default) for dial in self.dials}

    def parse_dial(self, text: str) -> tuple[str, tuple[float, ...]]:
        """Parse text such as `contacts=1:200` (a sweep) or `friction=0.1,0.3`; return a dial's name and its values."""
        name, equals, words = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise BadInput(f"The dial {text!r} is not of the form NAME=VALUE, NAME=VALUE,VALUE or NAME=LOW:HIGH.")
        dial = self.dial(name)
        if ":" in words:
            ends = words.split(":")
            if len(ends) != 2:
                raise BadInput(f"The dial {name!r} is set to {words!r}; a sweep is LOW:HIGH.")
            return name, sweep_values(dial, *(_number(dial, end) for end in ends))
        return name, tuple(dial.check(_number(dial, word)) for word in words.split(","))


def _number(dial: Dial, word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise BadInput(f"The dial {dial.name!r} is set to {word.strip()!r}; give a number.") from None


def sweep_values(dial: Dial, low: float, high: float) -> tuple[float, ...]:
    """Return round values from low to high, both included; about six to ten for the full range of a dial.

    A logarithmic dial takes 1, 2 and 5 times each power of ten, or only the powers if these are too many; a
    linear dial takes multiples of 1, 2 or 5 times a power of ten.

    Raises BadInput if an end is out of range, or low is above high.
    """
    low, high = dial.check(low), dial.check(high)
    if low > high:
        raise BadInput(f"The sweep of the dial {dial.name!r} goes from {low:g} down to {high:g}; give LOW:HIGH.")
    inside: list[float] = []
    if dial.logarithmic and low > 0:
        for digits in ((1, 2, 5), (1,)):
            powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            inside = [v for p in powers for d in digits if low < (v := float(f"{d}e{p}")) < high]
            if len(inside) + 2 <= MOST_POINTS:
                break
    elif high > low:
        step = _round_step((high - low) / (MOST_POINTS - 1))
        step = max(step, 1.0) if dial.integer else step
        multiples = range(math.floor(low / step), math.ceil(high / step) + 1)
        inside = [v for i in multiples if low < (v := float(f"{i * step:.12g}")) < high]
    values = sorted({low, *inside, high})
    return tuple(v for v in values if not dial.integer or v == round(v))


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that is not below `least`."""
    power = math.floor(math.log10(least))
    choices = (float(f"{d}e{p}") for p in (power, power + 1) for d in (1, 2, 5))
    return next(c for c in choices if c >= least * (1 - 1e-12))


def instants(count: int) -> Vector:
    """Return the instants of `count` steps, from 0 at the beginning of a motion to 1 at its end, (count,).

    Raises BadInput if count is not a positive whole number.
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise BadInput(f"The number of steps is {count!r}; give a positive whole number.")
    return np.linspace(0.0, 1.0, count) if count > 1 else np.array([0.5])


def draws(count: int) -> range:
    """Return seeds for `count` random contact problems; raises BadInput if count is not a positive whole number."""
    return range(1, 1 + len(instants(count)))


def asymmetry(step: StepData) -> float:
    """Return ||A - A^T|| / ||A + A^T|| of the contact operator A of a step, Frobenius norms; 0 if A is symmetric.

    Raises NotAccepted if the step has no contact operator.
    """
    A = ContactOperator.of(step).delassus
    size = float(np.linalg.norm(A + A.T))
    return float(np.linalg.norm(A - A.T)) / size if size else 0.0
