"""The interface of formulations of contact problems: from a problem to impulses by one or several programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.programs import Program

Ask = Callable[[Program], Vector | None]
"""Solve a program; None where the solver has no answer."""

SETTLED = 1e-10
"""Change of an iteration, relative to its size, at which it ends."""


class ContactFormulation(ABC):
    """A way to state a contact problem as programs.

    Class attributes
    ----------------
    name, title, source
    most_programs : number of programs after which an iteration ends unsettled
    exact : whether its solutions satisfy Coulomb's law; False for a relaxation, whose gap the certificate shows
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    exact: ClassVar[bool] = True
    most_programs: ClassVar[int] = 1

    @abstractmethod
    def impulses(self, problem: ConeComplementarity, ask: Ask) -> Vector | None:
        """Return the impulses r, (3 k,), from answers to programs; None where a program has no answer."""


def settled(new: Vector, old: Vector) -> bool:
    """Tell whether an iteration has ended."""
    size = float(np.abs(new).max(initial=0.0))
    return float(np.abs(new - old).max(initial=0.0)) <= SETTLED * size
