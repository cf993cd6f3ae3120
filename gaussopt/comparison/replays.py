"""Write a step or program in other units, so that a solver that repeats a stored answer is wrong.

If the unit of mass is divided by c and the unit of acceleration by s, the numbers of the program change and its answer
is multiplied by s; active rows, feasibility, uniqueness and conditioning do not change.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import SystemRandom

from gaussopt.comparison.items import Item
from gaussopt.kinds import page_of

Units = tuple[float, float]
"""The factors (c, s) by which the numbers of masses and of accelerations are multiplied."""

FINENESS = 4096
"""Factors are 1 + k / FINENESS: with so few binary digits, products with short numbers are exact."""


def drawn_units() -> Iterator[Units]:
    """Yield random factors between 1 and 1.5, which no solver can foresee; the first FINENESS/2 values of c differ."""
    random = SystemRandom()
    count = FINENESS // 2
    while True:
        for k in random.sample(range(1, count + 1), count):
            yield 1.0 + k / FINENESS, 1.0 + random.randint(1, count) / FINENESS


def in_units(item: Item, units: Units) -> Item:
    """Write an item in other units."""
    return Item(page_of(item.data).in_units(item.data, *units), None if item.a is None else units[1] * item.a, item.t)
