"""Convexity and boundedness of min 1/2 z^T A z subject to A z + b >= 0."""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Matrix
from gaussopt.core.errors import IllPosed, NotAccepted
from gaussopt.core.programs import LCP
from gaussopt.core.status import Status
from gaussopt.lcp import classify_matrix
from gaussopt.lcp.matrix_classes import subsets
from gaussopt.linalg.dense import EPS

ENUMERABLE = 10
"""Largest number of variables for which all faces of the recession cone are enumerated."""


def require_strictly_convex(name: str, lcp: LCP, weighted: Matrix) -> None:
    """Check that the program with objective 1/2 z^T weighted z and rows M z >= -q has exactly one minimiser.

    Raises IllPosed if the program is unbounded below or infeasible, NotAccepted if it fails for another reason.
    """
    if classify_matrix(weighted).positive_definite:
        return
    silent = ~lcp.M.any(axis=1) & (lcp.q < 0)
    if silent.any():
        i = int(np.argmax(silent))
        raise IllPosed(
            Status.INFEASIBLE,
            f"The program of {name!r} is infeasible: the gap acceleration of contact {i + 1} does not depend on any "
            f"contact force and is {lcp.q[i]:.6g} m/s^2.",
        )
    if descends(lcp.M, weighted):
        raise IllPosed(
            Status.UNBOUNDED,
            f"The program of {name!r} is unbounded below: the contact operator is not positive definite, and larger "
            "contact forces keep lowering the objective without violating a row (a Painleve state).",
        )
    if classify_matrix(weighted).positive_semidefinite:
        raise NotAccepted(
            f"The formulation {name!r} does not fit: the contact operator is only positive semidefinite (redundant "
            "contacts), so that its minimiser is not unique; use lcp, lcp-qp or stick-slip."
        )
    raise NotAccepted(
        f"The formulation {name!r} does not fit: the contact operator is not positive definite, so that the program is "
        "not convex; use lcp with lemke or enumerate."
    )


def descends(A: Matrix, P: Matrix) -> bool:
    """Return whether a direction d with A d >= 0 has d^T P d < 0; False for large or singular A.

    With y = A d >= 0, such a direction exists if and only if A^-T P A^-1 is not copositive, that is, if and only if
    some principal submatrix has a positive eigenvector with a negative eigenvalue (W. Kaplan, "A test for copositive
    matrices", Linear Algebra Appl. 313, 2000).
    """
    n = len(A)
    if n > ENUMERABLE or not n:
        return False
    scale = np.abs(A).max(axis=1)
    if (scale == 0).any() or np.linalg.cond(A / scale[:, None]) > 1e12:
        return False
    inverse = np.linalg.inv(A)
    S = inverse.T @ (0.5 * (P + P.T)) @ inverse
    for subset in subsets(n):
        part = S[np.ix_(subset, subset)]
        values, vectors = np.linalg.eigh(part)
        signed = (vectors > 0).all(axis=0) | (vectors < 0).all(axis=0)
        if (signed & (values < -64 * n * EPS * np.abs(part).max(initial=0.0))).any():
            return True
    return False
