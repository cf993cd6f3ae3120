"""Proof that no contact forces obey the laws, by the signs of responses in sets of contact modes.

The gap accelerations are w = A r + b, with w >= 0 and r_N w = 0, where r >= 0 are forces along the edges of the cones.
If a vector y >= 0 satisfies y . A <= 0 and y . b < 0, then y . w < 0 for all forces, and there is no solution (Farkas).
If there is no such y, a contact that would both push and open is assumed to be open, so that its edges are left out,
and then to be closed, so that its y has any sign; and so on. Slip is not looked at: contacts that rest may have any
force in their cone, for which a pyramid around it is taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gaussopt.contact.laws import Uniqueness, UniquenessProof
from gaussopt.contact.response import CANCELLED, ContactResponse
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.status import Status

EDGES = 16
"""Number of edges of the pyramid around a cone with two tangents."""

SETS = 400
"""Largest number of sets of modes that are examined, in about 1 ms each if there are few contacts."""

OPPOSED = 1e-6
"""y . b counts as negative below this fraction of the largest entry of b, for a y whose largest entry is one."""

SHARE = 1e-3
"""Share of its largest term that b is taken to have at least, so that rounding of terms that cancel proves nothing."""

SIGN = 1e-9
"""y . A may be positive by this fraction of -y . b: only forces a billion times their natural size are overlooked."""

EXACT = 1e-10
"""Tolerance of the linear programs."""


def unless_contradictory(op: ContactResponse, verdict: Uniqueness) -> Uniqueness:
    """Return that there is no solution if the verdict is undecided and this can be proved; otherwise the verdict."""
    if verdict.decided or not contradictory(op):
        return verdict
    status = Status.NO_SOLUTION if op.step.mu.any() else Status.INFEASIBLE
    return Uniqueness(status, UniquenessProof.CONTRADICTION, False)


def contradictory(op: ContactResponse) -> bool:
    """Return whether it is proved that no forces obey the contact laws."""
    if op.step.least.any() or not op.bias.any():
        return False
    A, size, owner = _edges(op)
    terms = np.abs(op.step.J_N) @ op.free_size + np.abs(op.step.zeta_N)
    b = op.bias / op.weights[: op.k]
    b = b / max(float(np.abs(b).max()), SHARE * float((terms / op.weights[: op.k]).max()))
    waiting = [(np.ones(op.k, dtype=bool), np.zeros(op.k, dtype=bool))]
    for _ in range(SETS):
        pushing, closed = waiting.pop()
        used = pushing[owner]
        r = _forces(A[:, used], size[:, used], b, closed)
        if r is not None:
            both = np.minimum(np.bincount(owner[used], r, op.k), b + A[:, used] @ r)
            both[closed | ~pushing] = 0.0
            i = int(np.argmax(both))
            if both[i] <= SIGN:
                return False
            this = np.arange(op.k) == i
            waiting += [(pushing, closed | this), (pushing & ~this, closed)]
        if not waiting:
            return True
    return False


def _edges(op: ContactResponse) -> tuple[Matrix, Matrix, NDArray[np.intp]]:
    """Return A, the sizes of the terms of its entries, and the contact of each column.

    Rows are scaled by the weights of their contacts, columns to a largest entry of one.
    """
    k, tangents = op.k, op.step.J_T.shape[1]
    turns = 2.0 * np.pi * np.arange(EDGES) / EDGES
    around = np.column_stack((np.cos(turns), np.sin(turns))) / np.cos(np.pi / EDGES)
    around = around if tangents > 1 else np.array([[1.0], [-1.0]])
    slide, rest = np.flatnonzero(~op.resting), np.flatnonzero(op.resting)
    owner = np.concatenate((slide, np.repeat(rest, len(around))))
    found = []
    for matrix, ways in ((op.response, around), (op.response_size, np.abs(around))):
        own = matrix[:k, k:].reshape(k, len(rest), tangents) * op.step.mu[rest, None]
        edges = matrix[:k, rest, None] + own @ ways.T
        found.append(np.hstack((matrix[:k, slide], edges.reshape(k, -1))) / op.weights[:k, None])
    largest = np.abs(found[0]).max(axis=0)
    largest[largest == 0.0] = 1.0
    return found[0] / largest, found[1] / largest, owner


def _forces(A: Matrix, size: Matrix, b: Vector, closed: NDArray[np.bool_]) -> Vector | None:
    """Return None if y proves that there are no forces; otherwise forces, or zeros if rounding hides the signs."""
    from scipy.optimize import linprog

    bounds = [(-1.0 if free else 0.0, 1.0) for free in closed.tolist()]
    found = linprog(
        b, A_ub=A.T, b_ub=np.zeros(len(A.T)), bounds=bounds,
        options={"primal_feasibility_tolerance": EXACT, "dual_feasibility_tolerance": EXACT},
    )  # fmt: skip
    if found.x is None:
        return np.zeros(len(A.T))
    y, against = found.x, -float(b @ found.x)
    if against <= OPPOSED:
        return np.asarray(-found.ineqlin.marginals)
    proved = (y @ A <= SIGN * against + CANCELLED * (np.abs(y) @ size)).all()
    return None if proved else np.zeros(len(A.T))
