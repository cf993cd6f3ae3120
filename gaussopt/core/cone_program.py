"""Convex programs of contacts: minimise a quadratic function over friction cones, or over discs of given radii."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.delassus import is_blocks
from gaussopt.core.display import About, counted, shown
from gaussopt.core.program import Program


@shown
@dataclass(frozen=True)
class ConeProgram(Program):
    """The second-order cone program: minimise 1/2 r^T P r + q^T r over r_N >= 0, |r_T| <= mu r_N (or <= radius).

    Attributes
    ----------
    P : (3 k, 3 k), symmetric positive semidefinite, dense or sparse; rows as in `ConeComplementarity`
    q : (3 k,)
    mu : (k,)
    radius : (k,) or None, bounds on |r_T| that replace mu r_N
    """

    shapes: ClassVar = {"P": "nn", "q": "n", "mu": "k", "radius": "k"}
    sparse_takers: ClassVar = "clarabel or scs"
    minimises = True

    P: Matrix
    q: Vector
    mu: Vector
    radius: Vector | None = None

    def _about(self) -> About:
        kind = "friction cones" if self.radius is None else "discs of given radii"
        rows = [("P", self.P), ("q", self.q), ("mu", self.mu), ("radius", self.radius)]
        return About(f"{counted(self.k, 'contact')}, {kind}", (), rows)

    @property
    def n(self) -> int:
        return len(self.q)

    @property
    def k(self) -> int:
        """Number of contacts."""
        return len(self.mu)

    @property
    def sparse(self) -> bool:
        return is_blocks(self.P)

    @property
    def pattern(self) -> tuple[Any, ...]:
        return (self.P.shape, type(self.P), self.radius is None)
