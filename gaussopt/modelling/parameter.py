"""The parameters of a problem, with units and meanings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: default value, unit, meaning, and whether the source prints it."""

    name: str
    value: float
    unit: str
    meaning: str
    printed: bool = True
