"""Misprints of a source, and the computations that show them; the texts lie in problems/data/errata.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the program computed about a printed formula.

    Attributes
    ----------
    numbers : name to value
    sentence : what the numbers show
    holds : whether the printed formula survives; False means the erratum is confirmed
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


def errata(checks: Mapping[str, Callable[[], Evidence]]) -> tuple[Erratum, ...]:
    """Errata of a problem that ships, from the computations by number."""
    return tuple(Erratum(number, **_texts()[number], check=check) for number, check in checks.items())


def notes(problem: str) -> tuple[str, ...]:
    """What a shipped problem's source leaves open or misprints without anything to compute."""
    return tuple(" ".join(note.split()) for note in _texts()[problem]["notes"])


@cache
def _texts() -> dict[str, dict[str, Any]]:
    file = resources.files("gaussopt.problems").joinpath("data", "errata.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))
