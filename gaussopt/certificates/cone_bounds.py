"""Proved bounds on the distance between impulses and a solution of a contact problem with friction cones.

In scaled variables r^ = r / s, u^ = s u, s_i^2 = rho_i = 3 / tr W_ii, the cones are unchanged and W becomes W^ = S W S.

The global bound needs a modulus c > 0 of `cone.monotonicity`; e^ is the natural map in these variables:

    |r^ - r^*| <= (1 + L) / c |e^|,    L = |W^|_2 + max(mu) |W^_T|_2.

For the local bound every contact is in a fixed mode (open: r = 0; stick: u = 0; slip: u_N = 0, r_T x u_T = 0 and
|r_T|^2 = mu^2 r_N^2), so that the law is a quadratic system F(r^) = 0 with Jacobian J. Let beta = |J^-1|,
eta = |J^-1 F|, and kappa a Lipschitz constant of J. By Kantorovich's theorem, if beta kappa eta <= 1/2, a root lies
within 2 eta. This root solves the problem if no inequality of the modes can be violated within that distance.
References: L. V. Kantorovich, "Functional analysis and applied mathematics", 1948; J.-S. Pang, "Error bounds in
mathematical programming", Math. Prog. 79, 1997.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.linalg.cones import DENSE_ROWS, dense, natural_map, rows_of, scaled
from gaussopt.linalg.dense import EPS

EXACT_NORM = 300
"""Maximum number of rows for which the 2-norm is computed; larger matrices are bounded by the Frobenius norm."""


class Bound(NamedTuple):
    """Bounds on |u - u*|, m/s, and |r - r*|, N s, in Euclidean norms over all rows, and the name of their proof."""

    velocity: float
    impulse: float
    source: str


def matrix_norm(A: Matrix) -> float:
    """Return an upper bound on |A|_2."""
    if not A.size:
        return 0.0
    if max(A.shape) <= EXACT_NORM:
        return float(np.linalg.norm(A, 2)) * (1.0 + 1e-12)
    return float(np.linalg.norm(A))


def error_of_u(own: ConeComplementarity, x: Vector) -> Vector:
    """Return a bound, (3 k,), on the rounding error of u^ = W^ x + q^, including the rounding error of the scaling."""
    return np.asarray((own.n + 8) * EPS * (np.abs(own.W) @ np.abs(x) + np.abs(own.q)))


def global_bound(problem: ConeComplementarity, r: Vector, modulus: float) -> Bound | None:
    """Return the bound from the modulus of monotonicity; None if the modulus is not positive."""
    if not modulus > 0:
        return None
    if not problem.k:
        return Bound(0.0, 0.0, "monotone")
    own, s = scaled(dense(problem))
    x, W = r / s, matrix_norm(own.W)
    T = own.W.reshape(own.k, ROWS, own.n)[:, 1:].reshape(-1, own.n)
    L = W + float(own.mu.max()) * matrix_norm(T)
    rounding = (1.0 + np.repeat(own.mu, ROWS)) * error_of_u(own, x) + 8.0 * EPS * (np.abs(x) + np.abs(own.u(x)))
    e = natural_map(problem, r, s[::ROWS] ** 2) * s
    distance = (1.0 + L) / modulus * float(np.linalg.norm(np.abs(e) + rounding))
    return _unscaled(own, s, distance, "monotone")


def _unscaled(own: ConeComplementarity, s: Vector, distance: float, source: str) -> Bound:
    slack = 1.0 + 1e-9
    return Bound(slack * matrix_norm(own.W / s[:, None]) * distance, slack * float(s.max()) * distance, source)


OPEN, STICK, SLIP, FRICTIONLESS = range(4)
"""Modes of contacts; FRICTIONLESS is the mode of a closed contact without friction."""


def modes_of(own: ConeComplementarity, x: Vector) -> Vector:
    """Return the mode of each contact, (k,), determined from x - u^."""
    y = rows_of(x - own.u(x))
    length = np.hypot(y[:, 1], y[:, 2])
    stick = length <= own.mu * y[:, 0]
    closed = np.where(own.mu > 0, np.where(stick, STICK, SLIP), FRICTIONLESS)
    return np.where(y[:, 0] > 0, closed, OPEN)


class ModeSystem:
    """F of the mode equations at x, its Jacobian J, a Lipschitz constant `kappa` of J, and the rounding error of F."""

    def __init__(self, own: ConeComplementarity, x: Vector, modes: Vector) -> None:
        k, n = own.k, own.n
        W, u = own.W.reshape(k, ROWS, n), rows_of(own.u(x))
        r, error = rows_of(x), rows_of(error_of_u(own, x))
        eye = np.eye(n).reshape(k, ROWS, n)
        J, F, hidden = eye.copy(), r.copy(), np.zeros((k, ROWS))
        stick, slip, plain = modes == STICK, modes == SLIP, modes == FRICTIONLESS
        J[stick], F[stick], hidden[stick] = W[stick], u[stick], error[stick]
        normal = slip | plain
        J[normal, 0], F[normal, 0], hidden[normal, 0] = W[normal, 0], u[normal, 0], error[normal, 0]
        self.kappa = 0.0
        if slip.any():
            R, U, mu, I = r[slip], u[slip], own.mu[slip], eye[slip]
            size = np.maximum(np.hypot(R[:, 1], R[:, 2]), np.hypot(U[:, 1], U[:, 2]))
            a = 1.0 / np.where(size > 0, size, 1.0)
            e = 1.0 / np.where(R[:, 0] > 0, np.maximum(mu, 1.0) * R[:, 0], 1.0)
            F[slip, 1] = a * (R[:, 1] * U[:, 2] - R[:, 2] * U[:, 1])
            F[slip, 2] = 0.5 * e * (R[:, 1] ** 2 + R[:, 2] ** 2 - (mu * R[:, 0]) ** 2)
            V = W[slip]
            J[slip, 1] = a[:, None] * (
                R[:, 1, None] * V[:, 2] - R[:, 2, None] * V[:, 1] + U[:, 2, None] * I[:, 1] - U[:, 1, None] * I[:, 2]
            )
            J[slip, 2] = e[:, None] * (
                R[:, 1, None] * I[:, 1] + R[:, 2, None] * I[:, 2] - (mu**2 * R[:, 0])[:, None] * I[:, 0]
            )
            hidden[slip, 1] = a * (np.abs(R[:, 1]) * error[slip, 2] + np.abs(R[:, 2]) * error[slip, 1])
            hidden[slip, 1] += 8 * EPS * a * (np.abs(R[:, 1] * U[:, 2]) + np.abs(R[:, 2] * U[:, 1]))
            hidden[slip, 2] = 8 * EPS * e * (R[:, 1] ** 2 + R[:, 2] ** 2 + (mu * R[:, 0]) ** 2)
            change = np.linalg.norm(V[:, 1:], axis=(1, 2))
            self.kappa = float(np.hypot(2.0 * (a * change).max(), (e * np.maximum(1.0, mu**2)).max()))
        self.J, self.F, self.hidden = J.reshape(n, n), F.ravel(), hidden.ravel()


def local_bound(problem: ConeComplementarity, r: Vector) -> Bound | None:
    """Return the bound by Kantorovich's theorem for the modes that r indicates; None if it proves nothing."""
    if not problem.k or (problem.sparse and problem.n > DENSE_ROWS):
        return None
    own, s = scaled(dense(problem))
    x = r / s
    modes = modes_of(own, x)
    system = ModeSystem(own, x, modes)
    try:
        A: Matrix = np.asarray(np.linalg.inv(system.J))
    except np.linalg.LinAlgError:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        lost = 4.0 * own.n * EPS * float(np.linalg.norm(np.abs(A) @ np.abs(system.J)))
        off = float(np.linalg.norm(np.eye(own.n) - A @ system.J)) + lost
        if not off < 0.5:
            return None
        hidden = np.abs(A) @ (system.hidden + EPS * np.abs(system.F))
        beta = matrix_norm(A) / (1.0 - off)
        eta = (float(np.linalg.norm(A @ system.F)) + float(np.linalg.norm(hidden))) / (1.0 - off)
    eta += 4.0 * EPS * float(np.linalg.norm(x))  # add the rounding error of x = r / s
    if not beta * system.kappa * eta <= 0.5:
        return None
    distance = 2.0 * eta
    return _unscaled(own, s, distance, "newton-kantorovich") if _signs_hold(own, x, modes, distance) else None


def _signs_hold(own: ConeComplementarity, x: Vector, modes: Vector, distance: float) -> bool:
    """Return whether all inequalities of the modes hold at every point within `distance` of x."""
    r, u = rows_of(x), rows_of(own.u(x))
    change = distance * np.linalg.norm(own.W.reshape(own.k, ROWS, own.n), axis=(1, 2)) + rows_of(
        error_of_u(own, x)
    ).max(axis=1)
    lengths = np.hypot(r[:, 1], r[:, 2]), np.hypot(u[:, 1], u[:, 2])
    opens = u[:, 0] > change
    holds = own.mu * r[:, 0] - lengths[0] > (1.0 + own.mu) * distance
    closed = r[:, 0] > distance
    opposite = -(r[:, 1:] * u[:, 1:]).sum(axis=1) > distance * lengths[1] + change * (lengths[0] + distance)
    right = np.select([modes == OPEN, modes == STICK, modes == SLIP], [opens, holds, closed & opposite], closed)
    return bool(right.all())
