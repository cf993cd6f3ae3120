"""Lagrange's equations of the first kind: one linear system for acceleration and multipliers.

    [M  -J^T] [ a ]   [Q - h]
    [J    0 ] [lam] = [gamma]

Regular if and only if rank [M; J] = n and J has full row rank. Solved here with the unknown -lam, which makes
the matrix symmetric.
"""

from __future__ import annotations

import numpy as np

from gaussopt.formulation import Formulation
from gaussopt.programs import LinearSystem
from gaussopt.stepdata import StepData, Vector


class Lagrange(Formulation):
    """The KKT system of Gauss's principle."""

    name = "lagrange"
    title = "Lagrange multipliers, KKT system"
    source = "Lagrange's equations of the first kind"

    def apply(self, step: StepData) -> tuple[LinearSystem, int]:
        """The saddle-point system; the data is n."""
        n, m = step.n, step.m
        K = np.zeros((n + m, n + m))
        K[:n, :n] = step.M
        K[:n, n:] = step.J.T
        K[n:, :n] = step.J
        return LinearSystem(K, np.concatenate((step.force, step.gamma))), n

    def recover(self, data: int, x: Vector, y: Vector | None) -> tuple[Vector, Vector | None]:
        """Split (a, -lam)."""
        return x[:data], -x[data:]


formulation = Lagrange()
