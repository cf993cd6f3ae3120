"""What a formulation is: it says whether a step fits, makes a program of it, and reads the answer back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from gaussopt.errors import NotAccepted
from gaussopt.programs import Program
from gaussopt.stepdata import StepData, Vector


class Formulation(ABC):
    """One way to turn step data into a program.

    Class attributes
    ----------------
    name, title : str
    source : str
        Where the equation comes from.
    exact : bool
        Whether its solution is the Gauss minimiser. A formula reproduced although it is wrong says False.
    state : str
        What its natural state is beside q: "velocity" or "quasi-velocity".
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    exact: ClassVar[bool] = True
    state: ClassVar[str] = "velocity"

    def refuses(self, step: StepData) -> str | None:
        """Why the step does not fit, or None."""
        return f"it takes steps without contacts, and this one has {step.k}" if step.k else None

    def check(self, step: StepData) -> None:
        """Raise NotAccepted, with the reason, if the step does not fit."""
        reason = self.refuses(step)
        if reason:
            raise NotAccepted(f"The formulation {self.name!r} does not fit: {reason}.")

    @abstractmethod
    def apply(self, step: StepData) -> tuple[Program, Any]:
        """The program, and what `recover` needs beside its solution."""

    @abstractmethod
    def recover(self, data: Any, x: Vector, y: Vector | None) -> tuple[Vector, Vector | None]:
        """Acceleration (n,) and multipliers (m,), None if the program gives none."""
