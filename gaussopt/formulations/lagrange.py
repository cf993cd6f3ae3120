"""Lagrange's equations of the first kind: one linear system for acceleration and multipliers.

    [M  -J^T] [ a ]   [Q - h]
    [J    0 ] [lam] = [gamma]

The matrix is regular if and only if rank [M; J] = n and J has full row rank. The system is solved here with the
unknown -lam, which makes the matrix symmetric.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from gaussopt.core.arrays import Vector
from gaussopt.core.programs import LinearSystem
from gaussopt.core.step_data import StepData, parts
from gaussopt.formulations.base import Formulation


class Lagrange(Formulation):
    """The KKT system of Gauss's principle."""

    name = "lagrange"
    title = "Lagrange multipliers, KKT system"
    source = "Lagrange's equations of the first kind"
    sparse = True

    def apply(self, step: StepData) -> tuple[LinearSystem, int]:
        n, m = step.n, step.m
        if step.sparse:
            M, J = parts(step)
            K: Any = scipy.sparse.csr_array(scipy.sparse.block_array([[M, J.T], [J, None]], format="csr"))
        else:
            K = np.zeros((n + m, n + m))
            K[:n, :n] = step.M
            K[:n, n:] = step.J.T
            K[n:, :n] = step.J
        return LinearSystem(K, np.concatenate((step.force, step.gamma))), n

    def recover(self, data: int, x: Vector, y: Vector | None) -> tuple[Vector, Vector | None]:
        return x[:data], -x[data:]


formulation = Lagrange()
