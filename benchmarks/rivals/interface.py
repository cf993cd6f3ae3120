"""What a rival is: who computes, what it does more than we do, and a function that prepares a run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Protocol

import numpy as np
from mechanisms import Mechanism
from numpy.typing import NDArray

Run = Callable[[], NDArray[np.float64]]
"""From the start to the end; returns the watched angle, rad, after equal numbers of steps. May be called again."""


class Prepare(Protocol):
    """Builds the model outside of what is timed."""

    def __call__(self, mechanism: Mechanism, dt: float, steps: int, marks: int) -> Run:
        """A run of `steps` steps of `dt` seconds that returns `marks` angles."""


class PrepareAdaptive(Protocol):
    """Builds the model outside of what is timed."""

    def __call__(self, mechanism: Mechanism, tolerance: float) -> Run:
        """A run to the last mark that returns the angles at the marks."""


@dataclass(frozen=True)
class Engine:
    """Who computes, and what it needs.

    Attributes
    ----------
    name : engine, integrator, settings
    does_more : what the engine does that ours does not; "" for ours and hand-written code
    loop : where the loop over the steps runs
    module, packages : what must be importable, and the pip names that bring it
    compiler : a program that must be there, "" for none
    mechanisms : names of the mechanisms it has a model of; all if empty
    """

    name: str
    does_more: str
    loop: str
    module: str = ""
    packages: tuple[str, ...] = ()
    compiler: str = ""
    mechanisms: tuple[str, ...] = ()

    @property
    def missing(self) -> str:
        """Why it cannot run here, "" if it can."""
        if self.module and find_spec(self.module) is None:
            return f"not installed: pip install {' '.join(self.packages)}"
        if self.compiler and shutil.which(self.compiler) is None:
            return f"no {self.compiler} here"
        return ""

    def models(self, mechanism: Mechanism) -> bool:
        """Whether it has a model of the mechanism."""
        return not self.mechanisms or mechanism.name in self.mechanisms


@dataclass(frozen=True)
class Rival(Engine):
    """An engine with constant steps; `sizes` are those it is tried with, s."""

    prepare: Prepare = field(kw_only=True)
    sizes: tuple[float, ...] = (1e-3, 5e-4, 2.5e-4)


@dataclass(frozen=True)
class AdaptiveRival(Engine):
    """An engine that chooses its steps; `tolerances` are those it is tried with."""

    prepare: PrepareAdaptive = field(kw_only=True)
    tolerances: tuple[float, ...] = (1e-8, 1e-10, 1e-12)


def per_mark(steps: int, marks: int) -> int:
    """Steps from mark to mark.

    Raises
    ------
    ValueError
        If they are not whole.
    """
    if marks < 1 or steps % marks:
        raise ValueError(f"{steps} steps cannot be cut into {marks} equal parts.")
    return steps // marks
