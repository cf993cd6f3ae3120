"""The same step or program in other units, for replays to which a remembered answer is wrong.

With masses in a unit 1/c and accelerations in a unit 1/s the numbers change, and the answer is s times the old one;
active rows, feasibility, uniqueness and conditioning do not change.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import SystemRandom

from gaussopt.comparison.items import Item
from gaussopt.kinds import page_of

Units = tuple[float, float]
"""The factors (c, s) of masses and of accelerations."""

FINENESS = 4096
"""Factors are 1 + k / FINENESS: with so few digits, products with short numbers are exact."""


def drawn_units() -> Iterator[Units]:
    """Draw units between 1 and 1.5, without repetition, which no solver can foresee."""
    random = SystemRandom()
    count = FINENESS // 2
    while True:
        for k in random.sample(range(1, count + 1), count):
            yield 1.0 + k / FINENESS, 1.0 + random.randint(1, count) / FINENESS


def in_units(item: Item, units: Units) -> Item:
    """Write an item in other units."""
    return Item(page_of(item.data).in_units(item.data, *units), None if item.a is None else units[1] * item.a, item.t)
