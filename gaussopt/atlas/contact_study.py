"""The LCP, the printed programs and their variants, solved in many states at once.

All arrays are stacked along the first axis. The printed programs are strictly convex with as many rows as unknowns;
they are solved exactly through the complementarity problem of their multipliers: with P = P^T positive definite,

    min 1/2 z^T P z - p^T z   subject to   A z + b >= 0      has      z = P^-1 (A^T eta + p),
    0 <= eta   complementary to   A P^-1 A^T eta + (b + A P^-1 p) >= 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.atlas.stacked_steps import MATRIX_CLASSES, Codes, ContactStack, Mask, classify_stack
from gaussopt.contact.qp_equivalence import weights
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import IllPosed, NotAccepted
from gaussopt.core.programs import LCP
from gaussopt.core.status import Status
from gaussopt.formulations._convexity import require_strictly_convex
from gaussopt.lcp.enumeration import enumerate_lcp
from gaussopt.solving.lcp_batch import solve_batch

LCP_CLASSES = (
    "one solution", "forces not unique", "several accelerations", "continuum of accelerations", "no solution",
)  # fmt: skip
QP_CLASSES = ("equal", "different", "tensile", "unbounded", "infeasible", "not convex", "not unique")
JOINT_CLASSES = (*QP_CLASSES, "not mapped")
WEIGHTED_CLASSES = ("equal", "different", "no weights", "not a P-matrix")

CLASSES = {
    "lcp": LCP_CLASSES, "matrix": MATRIX_CLASSES, "qp": QP_CLASSES, "joint": JOINT_CLASSES,
    "weighted": WEIGHTED_CLASSES,
}  # fmt: skip
"""For each variable, the meaning of its codes."""

MEANINGS = {
    "lcp": ("solutions of the contact laws", ""),
    "solutions": ("number of accelerations, -1 for a continuum", "1"),
    "matrix": ("class of the contact operator", ""),
    "symmetric": ("whether the contact operator is symmetric", "1"),
    "positive_definite": ("whether its symmetric part is positive definite", "1"),
    "p_matrix": ("whether it is a P-matrix", "1"),
    "lam_lcp": ("normal forces of the LCP where they are unique", "N"),
    "lam_qp": ("normal forces of the printed QP where it has one minimiser", "N"),
    "qp": ("the printed normal-force QP beside the LCP", ""),
    "force_difference": ("difference of the forces of printed QP and LCP relative to the latter", "1"),
    "acceleration_difference": (
        "difference of the accelerations in the mass norm, relative to the contacts' part",
        "1",
    ),
    "eta": ("eta of the criterion at the LCP's solution", "N"),
    "predicted": ("whether the criterion predicts equality, -1 not applicable", "1"),
    "agrees": ("whether the prediction is right, -1 not applicable or borderline", "1"),
    "borderline": ("whether eta is within rounding of its bound", "1"),
    "joint": ("the QP over all ideal forces beside the LCP", ""),
    "joint_difference": ("difference of its forces relative to the LCP's", "1"),
    "joint_agrees": ("whether its criterion is right, -1 not applicable or borderline", "1"),
    "weighted": ("the weighted QP beside the LCP", ""),
    "weighted_difference": ("difference of its forces relative to the LCP's", "1"),
    "contraction": ("contraction factor rho of frozen friction", "1"),
    "converges": ("whether rho is below 1", "1"),
    "delassus": ("contact operator", "1/kg"),
    "bias": ("gap accelerations without contact forces", "m/s^2"),
}
"""Meaning of the arrays of a study and of its operators, with units."""

EQUAL = 1e-8
"""Relative difference of the forces up to which two answers are equal."""

MARGIN = 100.0
"""Within this factor of `EQUAL`, rounding errors may decide whether the difference of two answers counts as zero."""

DECIDED = 1e-9
"""Relative violation of the criterion that counts as rounding error, as in `gaussopt.contact.qp_equivalence`."""

BORDER = (1e-11, 1e-6)
"""Range of violations called borderline, because rounding errors then decide whether the answers are equal."""


def solve_printed(P: Matrix, A: Matrix, b: Matrix, p: Matrix | None = None) -> Matrix:
    """Return the minimisers, (B, k), of 1/2 z^T P z - p^T z subject to A z + b >= 0 for positive definite P.

    A minimiser is NaN if no certified solution of the complementarity problem of its multipliers was found.
    """
    if not len(b):
        return np.zeros_like(b)
    At = A.swapaxes(1, 2)
    X = np.asarray(np.linalg.solve(P, At), dtype=np.float64)
    free = np.zeros_like(b) if p is None else np.asarray(np.linalg.solve(P, p[..., None])[..., 0], dtype=np.float64)
    G = A @ X
    answers = solve_batch(0.5 * (G + G.swapaxes(1, 2)), b + _times(A, free), "newton")
    z: Matrix = _times(X, answers.z) + free
    z[~answers.solved] = np.nan
    return z


def criteria(A: Matrix, b: Matrix, z: Matrix, ell: Matrix | None = None) -> tuple[Matrix, Vector, Matrix]:
    """Return eta at the solutions z, (B, k), and the relative violation of eta >= 0 and eta . w = 0, (B,).

    The printed program returns z if the violation is zero up to rounding. If force and gap acceleration of a contact
    are both so small that rounding hides which of them vanishes, several violations are possible; the last result,
    (2, B), holds the smallest and the largest of these.
    """
    At = A.swapaxes(1, 2)
    rhs = 0.5 * _times(A - At, z) - (0.0 if ell is None else 0.5 * ell)
    eta = z + np.linalg.solve(At, rhs[..., None])[..., 0]
    unit = np.sqrt(A.diagonal(axis1=1, axis2=2))
    w, force, e = (_times(A, z) + b) / unit, z * unit, eta * unit
    size = np.maximum(np.abs(force).max(axis=1), np.abs(e).max(axis=1))
    size = np.maximum(size, 1e-300)
    tied = np.maximum(np.abs(w), np.abs(force)) <= BORDER[1] * np.maximum(size, np.abs(w).max(axis=1))[:, None]
    wrong = np.where(w > force, np.abs(e), np.maximum(-e, 0.0))
    ends = np.stack([np.where(tied, end, wrong).max(axis=1) for end in (np.maximum(-e, 0.0), np.abs(e))])
    return eta, wrong.max(axis=1) / size, ends / size


def _times(A: Matrix, x: Matrix) -> Matrix:
    return np.asarray((A @ x[..., None])[..., 0])


def _relative(difference: Matrix, value: Matrix) -> Vector:
    """Return the norms of the differences divided by the norms of the values, with 0 / 0 = 0."""
    above, below = np.linalg.norm(difference, axis=1), np.linalg.norm(value, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(above == 0, 0.0, above / below)


def _spread(where: Mask, values: NDArray[Any], empty: float, kind: Any = np.float64) -> NDArray[Any]:
    """Return an array over all states: the values where the mask is set, `empty` elsewhere."""
    full: NDArray[Any] = np.full((len(where), *values.shape[1:]), empty, dtype=kind)
    full[where] = values
    return full


def weights_stack(A: Matrix) -> Matrix:
    """Return symmetrising weights of each matrix, (B, k); NaN where there are none. See `qp_equivalence.weights`."""
    found = np.full(A.shape[:2], np.nan)
    for i, matrix in enumerate(A):
        d = weights(matrix)
        if d is not None:
            found[i] = d / np.exp(np.log(d).mean())
    return found


def contractions(smooth: Matrix, delassus: Matrix) -> Vector:
    """Compute the contraction factor || A_0^(-1/2) C A_0^(-1/2) ||_2 of frozen friction, (B,); NaN for singular A_0."""
    diagonal = smooth.diagonal(axis1=1, axis2=2)
    safe = (diagonal > 0).all(axis=1)
    d = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, V = np.linalg.eigh(d[:, :, None] * smooth * d[:, None, :])
    safe &= values[:, 0] > 64 * smooth.shape[1] * np.finfo(float).eps
    root = V / np.sqrt(np.where(safe[:, None], values, 1.0))[:, None, :] @ V.swapaxes(1, 2)
    C = d[:, :, None] * (delassus - smooth) * d[:, None, :]
    return np.where(safe, np.linalg.norm(root @ C @ root, 2, axis=(1, 2)), np.nan)


def study(stack: ContactStack) -> dict[str, NDArray[Any]]:
    """Solve the LCP, the printed QP and its variants in B states; return the results by the names in MEANINGS.

    Forces, eta and bias are (B, k), the operator is (B, k, k), all others are (B,); codes are indices into CLASSES.
    `predicted`, `agrees` and `joint_agrees` are -1 if the operator is not positive definite, because the criterion
    does not apply; `agrees` and `joint_agrees` are also -1 if rounding errors decide whether it is met.
    """
    A, b = stack.delassus, stack.bias
    kind = classify_stack(A)
    definite, one = kind.positive_definite, kind.p_matrix
    z, lcp_code, solutions = _solve_lcps(stack, one)
    refused = _refusals(A, b, definite)
    if stack.joints and np.isfinite(stack.ell).all():
        joint = _printed(stack, z, definite, refused, stack.ell)
    else:
        codes = np.full(len(b), -1, dtype=np.int8)
        joint = {"qp": codes + len(JOINT_CLASSES), "force_difference": np.full(len(b), np.nan), "agrees": codes}
    rho = contractions(stack.smooth, A)
    return {
        "lcp": lcp_code, "solutions": solutions, "matrix": kind.code, "symmetric": kind.symmetric,
        "positive_definite": definite, "p_matrix": one, "lam_lcp": z, "joint": joint["qp"],
        "joint_difference": joint["force_difference"], "joint_agrees": joint["agrees"], "contraction": rho,
        "converges": rho < 1, "delassus": A, "bias": b,
        **_printed(stack, z, definite, refused, None), **_weighted(A, b, z, one),
    }  # fmt: skip


def _solve_lcps(stack: ContactStack, one: Mask) -> tuple[Matrix, Codes, NDArray[np.int_]]:
    """Find each LCP's forces, its class by number of solutions, and that number; enumerate unless A is a P-matrix."""
    A, b = stack.delassus, stack.bias
    z = np.full(b.shape, np.nan)
    code, solutions = np.zeros(len(b), dtype=np.int8), np.ones(len(b), dtype=int)
    if one.any():
        z[one] = solve_batch(A[one], b[one], "newton").z
    names = {Status.MULTIPLE_SOLUTIONS: 2, Status.ACCELERATION_NOT_UNIQUE: 3, Status.NO_SOLUTION: 4}
    for i in np.flatnonzero(~one):
        observe = stack.motion[i]
        found = enumerate_lcp(LCP(A[i], b[i]), observe, np.zeros(len(observe)), size=stack.size[i])
        code[i] = names.get(found.status, 0 if found.unique else 1)
        solutions[i] = -1 if found.status is Status.ACCELERATION_NOT_UNIQUE else found.count
        if code[i] == 0:
            z[i] = found.solutions[0]
    return z, code, solutions


def _refusals(A: Matrix, b: Matrix, definite: Mask) -> Codes:
    """Return the class of the printed QP (index in QP_CLASSES) where the operator is not positive definite, else 0."""
    code = np.zeros(len(b), dtype=np.int8)
    for i in np.flatnonzero(~definite):
        try:
            require_strictly_convex("normal-force-qp", LCP(A[i], b[i]), A[i])
        except IllPosed as verdict:
            code[i] = QP_CLASSES.index(str(verdict.status))
        except NotAccepted as refusal:
            code[i] = QP_CLASSES.index("not unique" if "semidefinite" in str(refusal) else "not convex")
    return code


def _printed(stack: ContactStack, z: Matrix, definite: Mask, refused: Codes, ell: Matrix | None) -> dict[str, Any]:
    """Compare the LCP's solutions z with the printed program; if ell is given, its unknowns are all ideal forces."""
    A, b, true = stack.delassus[definite], stack.bias[definite], z[definite]
    pull = None if ell is None else ell[definite]
    x = solve_printed(0.5 * (A + A.swapaxes(1, 2)), A, b, None if pull is None else 0.5 * pull)
    eta, violation, ends = criteria(A, b, true, pull) if len(b) else (b, np.zeros(0), np.zeros((2, 0)))
    difference = _relative(x - true, true)
    change = _relative(_times(stack.motion[definite], x - true), _times(stack.motion[definite], true))
    equal = difference <= EQUAL
    tensile = x.min(axis=1, initial=np.inf) < -DECIDED * np.abs(x).max(axis=1, initial=0.0)
    predicted = violation <= DECIDED
    border = (ends[1] > BORDER[0]) & (ends[0] < BORDER[1])
    border |= (difference > EQUAL / MARGIN) & (difference < EQUAL * MARGIN)
    code = refused.copy()
    code[definite] = np.where(equal, 0, np.where(tensile, 2, 1))
    right = np.where(border, -1, predicted == equal)
    return {
        "lam_qp": _spread(definite, x, np.nan), "qp": code, "force_difference": _spread(definite, difference, np.nan),
        "acceleration_difference": _spread(definite, change, np.nan), "eta": _spread(definite, eta, np.nan),
        "predicted": _spread(definite, predicted, -1, np.int8), "agrees": _spread(definite, right, -1, np.int8),
        "borderline": _spread(definite, border, False, np.bool_),
    }  # fmt: skip


def _weighted(A: Matrix, b: Matrix, z: Matrix, p_matrix: Mask) -> dict[str, Any]:
    """Compare the weighted program with the LCP wherever A is a P-matrix and weights exist."""
    d = weights_stack(A)
    there = np.isfinite(d).all(axis=1)
    use = there & p_matrix
    P = d[use][:, :, None] * A[use]
    x = solve_printed(0.5 * (P + P.swapaxes(1, 2)), A[use], b[use])
    difference = _relative(x - z[use], z[use])
    code = np.where(there, 3, 2)
    code[use] = np.where(difference <= EQUAL, 0, 1)
    return {"weighted": code.astype(np.int8), "weighted_difference": _spread(use, difference, np.nan)}
