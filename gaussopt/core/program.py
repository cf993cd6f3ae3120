"""The base of all kinds of programs: what solvers, sequences and guards ask of a program, whatever its kind.

The properties of a kind that certificates, files and the command line need are in its module in `gaussopt.kinds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from gaussopt.core.arrays import Matrix, Vector


@dataclass(frozen=True)
class Program:
    """A program that a formulation makes and a solver takes; each kind is a frozen dataclass of arrays.

    Class attributes
    ----------------
    shapes : axes of each array by letters; axes with the same letter have the same length
    takers : solvers to suggest where the solver takes programs of another kind, "" for none
    sparse_takers : solvers to suggest where the program is sparse
    """

    shapes: ClassVar[dict[str, str]] = {}
    takers: ClassVar[str] = ""
    sparse_takers: ClassVar[str] = "clarabel, osqp or, without inequalities, sparse-kkt"

    @property
    def n(self) -> int:
        """Number of unknowns."""
        raise NotImplementedError

    @property
    def pattern(self) -> tuple[Any, ...]:
        """Shapes and places of entries; while they are unchanged, a solver can update instead of being set up again."""
        raise NotImplementedError

    @property
    def sparse(self) -> bool:
        """Whether its matrices are sparse, or kept as blocks."""
        return False

    @property
    def duals(self) -> int | None:
        """Number of its duals; None where the kind has none, or does not say how many."""
        return None

    @property
    def minimises(self) -> bool:
        """Whether it has an objective, which can be unbounded; a program without one can only be contradictory."""
        return False

    @property
    def equations(self) -> tuple[Matrix, Vector] | None:
        """Linear equations A x = b with exactly the program's solutions; None where there are no such equations."""
        return None
