"""The answer of a formulation to an example in exact arithmetic, with a proof that a reader can check by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any


@dataclass(frozen=True, slots=True)
class Proved:
    """An answer in exact fractions, and the proof of it.

    Attributes
    ----------
    point : the answer; None if it is proved that there is none
    line : the proof, in words and in formulas of plain characters
    numbers : the vectors and minors that the line names
    unique : whether the line excludes other answers
    """

    point: list[Fraction] | None
    line: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    unique: bool = True


def parting_line(a: str, b: str, of: tuple[Proved, Proved], symbol: str) -> str:
    """Return a sentence that states in which entry two answers differ."""
    first, second = (entry.point for entry in of)
    if first is None or second is None:
        has, lacks = (b, a) if first is None else (a, b)
        return f"So {has} has an answer here and {lacks} has none."
    i = next(i for i, (x, y) in enumerate(zip(first, second, strict=True)) if x != y)
    return f"The answers differ: {symbol}_{i + 1} = {first[i]} by {a} and {second[i]} by {b}."
