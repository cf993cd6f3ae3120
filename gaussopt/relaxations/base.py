"""The interface of formulations of contact problems, which compute impulses by solving one or several programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.programs import Program

Ask = Callable[[Program], Vector | None]
"""A function that solves a program; it returns None if the solver has no answer."""

SETTLED = 1e-10
"""An iteration ends when its iterate changes by at most this, relative to its size."""


class ContactFormulation(ABC):
    """A formulation of a contact problem as one program or a sequence of programs.

    Class attributes
    ----------------
    name, title, source
    most_programs : maximum number of programs, after which an iteration ends without convergence
    exact : whether its solutions satisfy Coulomb's law; False for a relaxation, whose error the certificate shows
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    exact: ClassVar[bool] = True
    most_programs: ClassVar[int] = 1

    @abstractmethod
    def impulses(self, problem: ConeComplementarity, ask: Ask) -> Vector | None:
        """Return the impulses r, (3 k,), or None if the solver has no answer; the function `ask` solves a program."""


def settled(new: Vector, old: Vector) -> bool:
    """Return whether the change of an iterate is at most SETTLED times its size."""
    size = float(np.abs(new).max(initial=0.0))
    return float(np.abs(new - old).max(initial=0.0)) <= SETTLED * size
