"""All solutions of one contact with a friction cone: open, stick, and the positive roots of the quartic of slip.

When u_N = 0 eliminates r_N, the alpha > 0 of a slip u_T = -alpha r_T is a root of the polynomial of degree four

    mu^2 (w . N - q_N D)^2 - W_NN^2 |N|^2,    N = adj(A + alpha) b,    D = det(A + alpha),    w = W_NT

(see `sweep_kernel`). A is positive semidefinite if W is, so that A + alpha is regular for every slip.
Reference: O. Bonnefon, G. Daviet, "Quartic formulation of Coulomb 3D frictional contact", INRIA RT-0400, 2011.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.jit.kernel import kernel
from gaussopt.linalg.cones import residual

HOLDS = 1e-12
"""Largest natural map, relative to |q|, of a candidate that counts as a solution."""

DOUBTFUL = 1e-6
"""Largest natural map of a candidate that may be a solution, and relative imaginary part of a root that may be real."""

DISTINCT = 1e-9
"""Difference of velocities, relative to |q|, beyond which two solutions are distinct."""

SINGULAR = 1e-12
"""Eigenvalue of W relative to the largest that counts as zero."""

DEFINITE = 1e-9
"""A leading minor of order p is surely positive above this multiple of the p-th power of the trace."""


@dataclass(frozen=True)
class OneContact:
    """Solutions found for one contact.

    Attributes
    ----------
    solutions : impulses with different velocities, (3,) each
    complete : whether no other velocity can exist; False if a rejected candidate nearly satisfies the law
    impulses_unique : whether each of these velocities has one impulse; None if that is undecided
    """

    solutions: tuple[Vector, ...]
    complete: bool
    impulses_unique: bool | None


def solve_contact(problem: ConeComplementarity) -> OneContact:
    """Return all solutions of one contact; marked as incomplete if W_NN is not positive or sym W is indefinite."""
    W, q, mu = problem.W, problem.q, float(problem.mu[0])
    values = np.linalg.eigvalsh(0.5 * (W + W.T))
    size = float(np.abs(values).max())
    if not (W[0, 0] > SINGULAR * size and values[0] >= -SINGULAR * size):
        return OneContact((), False, None)
    candidates = [np.zeros(3)] if q[0] >= 0 else []
    stick, doubtful, impulses = _stick(W, q, values[0] > SINGULAR * size)
    candidates += stick
    if mu > 0:
        slips, unclear = _slips(W, q, mu)
        candidates, doubtful = candidates + slips, doubtful or unclear
    else:
        candidates.append(np.array([-q[0] / W[0, 0], 0.0, 0.0]))
    found: list[Vector] = []
    for r in candidates:
        error = residual(problem, r)
        doubtful = doubtful or HOLDS < error <= DOUBTFUL
        if error <= HOLDS and all(_differ(problem, r, other) for other in found):
            found.append(r)
    return OneContact(tuple(found), not doubtful, impulses)


@kernel
def one_velocity(w: Vector, mu: float) -> bool:
    """Return whether a quick test proves that one contact with W, (9,) by rows, has at most one velocity.

    It does if there is no friction, if no impulse changes the slip, or if tau = mu |W_T| shows strong monotonicity
    (see `gaussopt.cone.monotonicity`).
    """
    a, b, c, d, e, f, g, h, i = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8]
    T, sure = d * d + e * e + f * f + g * g + h * h + i * i, True
    if mu == 0.0:
        return sure
    if not T > 0.0:
        sure = T == 0.0 and b == 0.0 and c == 0.0 and a >= 0.0
    share = 0.5 * mu / math.sqrt(T if T > 0.0 else 1.0)
    k, l, m = a - share * (T + d * d + g * g), 0.5 * (b + d) - share * (d * e + g * h), 0.5 * (c + g)
    m -= share * (d * f + g * i)
    x, y, z = e - share * (e * e + h * h), 0.5 * (f + h) - share * (e * f + h * i), i - share * (f * f + i * i)
    size, least = abs(k) + abs(x) + abs(z), k * x - l * l
    determinant = z * least - k * y * y + 2.0 * l * m * y - x * m * m
    if T > 0.0:
        sure = k > DEFINITE * size and least > DEFINITE * size * size and determinant > DEFINITE * size * size * size
    return sure


def surely_unique(problem: ConeComplementarity) -> bool:
    """Return what `one_velocity` returns for a problem of one contact."""
    return bool(one_velocity(np.ascontiguousarray(problem.W).ravel(), float(problem.mu[0])))


def candidates_of(W: Matrix, q: Vector, mu: float) -> list[Vector]:
    """Return impulses of all modes of one contact, for any W; some may violate an inequality."""
    found = [np.zeros(3)]
    if np.linalg.cond(W) < 1e12:
        found.append(np.asarray(-np.linalg.solve(W, q)))
    if W[0, 0] != 0 and mu > 0:
        found += _slips(W, q, mu)[0]
    if W[0, 0] != 0 and mu == 0:
        found.append(np.array([-q[0] / W[0, 0], 0.0, 0.0]))
    return found


def _differ(problem: ConeComplementarity, r: Vector, other: Vector) -> bool:
    return bool(np.linalg.norm(problem.W @ (r - other)) > DISTINCT * (np.linalg.norm(problem.q) or 1.0))


def _stick(W: Matrix, q: Vector, regular: bool) -> tuple[list[Vector], bool, bool | None]:
    """Return impulses with u = 0, whether others may exist, and whether each velocity has a unique impulse."""
    if regular:
        return [np.asarray(-np.linalg.solve(W, q))], False, True
    r: Vector = np.asarray(-np.linalg.lstsq(W, q, rcond=1e-10)[0])
    held = float(np.linalg.norm(W @ r + q)) <= 1e-9 * float(np.linalg.norm(q))
    # Impulses that hold the contact may differ by vectors of the kernel of W; it is not known if one is in the cone.
    return ([r], True, None) if held else ([], False, True)


def _slips(W: Matrix, q: Vector, mu: float) -> tuple[list[Vector], bool]:
    """Return the impulses of slips, and whether a root is so near a double root that it is uncertain."""
    wn, w = W[0, 0], W[0, 1:]
    A = W[1:, 1:] - np.outer(W[1:, 0], w) / wn
    b = q[1:] - W[1:, 0] * q[0] / wn
    if not b.any():
        return [], False
    adjugate = np.array([[A[1, 1], -A[0, 1]], [-A[1, 0], A[0, 0]]])
    # Coefficients of polynomials are in falling powers of alpha / unit.
    unit = float(np.trace(W)) / 3.0
    N = np.array([unit * b, adjugate @ b])
    D = np.array([unit**2, unit * np.trace(A), np.linalg.det(A)])
    f = np.polysub(np.polymul([1.0], N @ w), q[0] * D)
    squares = np.polyadd(np.polymul(N[:, 0], N[:, 0]), np.polymul(N[:, 1], N[:, 1]))
    quartic = np.polysub(mu**2 * np.polymul(f, f), wn**2 * squares)
    quartic[np.abs(quartic) <= 1e-15 * np.abs(quartic).max(initial=0.0)] = 0.0
    found, unclear = [], False
    for root in np.roots(quartic):
        if abs(root.imag) > DOUBTFUL * abs(root) or root.real < 0:
            continue
        alpha = _polished(quartic, float(root.real))
        d = float(np.polyval(D, alpha))
        if d == 0:
            continue
        r_T = -(N[0] * alpha + N[1]) / d
        r = np.array([-(q[0] + w @ r_T) / wn, *r_T])
        slope = float(np.polyval(np.polyder(quartic), alpha))
        simple = abs(slope) * alpha > DOUBTFUL * float(np.polyval(np.abs(quartic), alpha))
        if r[0] >= 0:
            unclear = unclear or not simple
            found.append(r)
    return found, unclear


def _polished(quartic: Vector, x: float) -> float:
    """Return a real root after a few Newton steps."""
    derivative = np.polyder(quartic)
    for _ in range(4):
        slope = float(np.polyval(derivative, x))
        step = float(np.polyval(quartic, x)) / slope if slope else 0.0
        if not 0 < x - step < 2 * x:
            break
        x -= step
    return x
