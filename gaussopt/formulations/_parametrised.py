"""Accelerations that are parametrised by fewer unknowns."""

from __future__ import annotations

from gaussopt.core.step_data import Matrix, Vector
from gaussopt.formulations.base import Formulation


class Parametrised(Formulation):
    """A program in x with a = a_p + T x; its data are the pair (a_p, T), and it has no multipliers."""

    def recover(self, data: tuple[Vector, Matrix], x: Vector, y: Vector | None) -> tuple[Vector, Vector | None]:
        """A = a_p + T x."""
        a_p, T = data
        return a_p + T @ x, None
