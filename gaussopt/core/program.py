"""The base class of all programs, with the properties that solvers and their callers need, whatever the kind.

For each kind, a module in `gaussopt.kinds` has the properties that certificates, files and the command line need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from gaussopt.core.arrays import Matrix, Vector


@dataclass(frozen=True)
class Program:
    """A program that a formulation makes and a solver solves; each kind is a frozen dataclass of arrays.

    Class attributes
    ----------------
    shapes : a letter for each axis of each array; axes with the same letter have the same length
    takers : solvers to suggest when the chosen solver does not solve this kind of program; "" for none
    sparse_takers : solvers to suggest when the program is sparse and the chosen solver needs dense matrices
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
        """Shapes and sparsity patterns; while they stay equal, a solver can be updated instead of set up again."""
        raise NotImplementedError

    @property
    def sparse(self) -> bool:
        """Whether the matrices are stored sparse or as blocks."""
        return False

    @property
    def duals(self) -> int | None:
        """Number of duals; None if the kind has no duals or does not state their number."""
        return None

    @property
    def minimises(self) -> bool:
        """Whether the program has an objective; if it has none, it may be infeasible, but it cannot be unbounded."""
        return False

    @property
    def equations(self) -> tuple[Matrix, Vector] | None:
        """Linear equations (A, b) such that A x = b if and only if x solves the program; None if there are none."""
        return None
