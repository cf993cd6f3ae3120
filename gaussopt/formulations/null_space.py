"""The null-space method: the equations of motion along the accelerations that the constraints allow.

    a = a_p + Z z,   J a_p = gamma,   J Z = 0,   Z^T M Z z = Z^T (Q - h - M a_p)

Z comes from a rank-revealing QR factorisation of J^T (column pivoting), so that rows may be dependent, and M may be
singular as long as Z^T M Z is regular. Coordinates are scaled by their masses and rows to unit length first, so that
the basis does not depend on units.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, solve_triangular

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import LinearSystem
from gaussopt.core.step_data import StepData
from gaussopt.formulations._parametrised import Parametrised
from gaussopt.linalg.balance import Balanced
from gaussopt.linalg.dense import EPS


class NullSpace(Parametrised):
    """The null-space method, with a rank-revealing QR factorisation and a reduced linear system."""

    name = "null-space"
    title = "Null space by rank-revealing QR"
    source = "Maggi's equations at acceleration level"

    def apply(self, step: StepData) -> tuple[LinearSystem, tuple[Vector, Matrix]]:
        data = Balanced.of(step)
        a_p, Z = _parametrise(data.J, data.g)
        K = Z.T @ data.M @ Z
        b = Z.T @ (data.f - data.M @ a_p)
        return LinearSystem(0.5 * (K + K.T), b), (data.d * a_p, data.d[:, None] * Z)


def _parametrise(J: Matrix, gamma: Vector) -> tuple[Vector, Matrix]:
    """Return a particular solution of J a = gamma (of its independent rows) and a basis of ker J."""
    m, n = J.shape
    if m == 0:
        return np.zeros(n), np.eye(n)
    length = np.linalg.norm(J, axis=1)
    length[length == 0] = 1.0
    Q, R, pivots = qr((J / length[:, None]).T, pivoting=True)
    diagonal = np.abs(np.diagonal(R))
    rank = int((diagonal > 8 * max(m, n) * EPS * max(diagonal[0], EPS)).sum())
    rows = pivots[:rank]
    y = solve_triangular(R[:rank, :rank], (gamma / length)[rows], trans="T")
    return Q[:, :rank] @ y, Q[:, rank:]


formulation = NullSpace()
