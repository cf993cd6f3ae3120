"""Misprints of a source, and the computations that show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the program computed about a printed formula.

    Attributes
    ----------
    numbers : name to value
    sentence : str
        What the numbers show.
    holds : bool
        Whether the printed formula survives; False means the erratum is confirmed.
    """

    numbers: Mapping[str, float]
    sentence: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Erratum:
    """A misprint or false formula of the source, with the computation that shows it."""

    id: str
    printed: str
    correct: str
    check: Callable[[], Evidence]
