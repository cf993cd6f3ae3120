"""Misprints of a source, and the computations that show them; their texts are in problems/data/errata.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any


class ErratumKind(StrEnum):
    """Severity of an erratum."""

    SLIP = "slip"
    """A mistake that a reader can correct from the context."""
    OMISSION = "omission"
    """Something that is needed is missing from the source."""
    FORMULA = "wrong formula"
    """Used as printed, the formula or value gives a wrong result."""
    CONCLUSION = "wrong conclusion"
    """A conclusion is stated that does not follow."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Numbers that the program computed about a printed formula.

    Attributes
    ----------
    numbers : the computed values, by name
    sentence : what the numbers show
    holds : whether the printed formula is correct after all; False means that the erratum is confirmed
    """

    numbers: Mapping[str, float]
    sentence: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Erratum:
    """A misprint, gap or false statement of the source, with the computation that shows it.

    Attributes
    ----------
    id : number of the paper and number of the erratum
    where : section, equation and paragraph of the source
    printed, correct : what the source prints, and what it should print, in our own words
    check : function that computes the evidence
    kind : severity; None if it was not graded
    doubt : reason to suspect our transcription rather than the source; "" if there is none
    """

    id: str
    printed: str
    correct: str
    check: Callable[[], Evidence]
    where: str = ""
    kind: ErratumKind | None = None
    doubt: str = ""


def errata(checks: Mapping[str, Callable[[], Evidence]]) -> tuple[Erratum, ...]:
    """Return the errata of a shipped problem; `checks` maps erratum numbers to the functions that compute evidence."""
    return tuple(_erratum(number, check, **_texts()[number]) for number, check in checks.items())


def _erratum(number: str, check: Callable[[], Evidence], kind: str = "", **texts: str) -> Erratum:
    return Erratum(number, check=check, kind=ErratumKind(kind) if kind else None, **texts)


def notes(problem: str) -> tuple[str, ...]:
    """Return notes on the source of a shipped problem: gaps, and misprints that need no computation."""
    return tuple(" ".join(note.split()) for note in _texts()[problem]["notes"])


@cache
def _texts() -> dict[str, dict[str, Any]]:
    file = resources.files("gaussopt.problems").joinpath("data", "errata.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))
