"""Nonsmooth Newton method on Fischer and Burmeister's function of the second-order cone, damped as in `nsn-ac`.

In the variables x = (mu r_N, r_T) and y = (u~_N, mu u_T) both friction cones become the self-dual second-order cone. In
its Jordan algebra Phi = x + y - (x^2 + y^2)^(1/2) is zero if and only if x and y are in the cone and orthogonal. Near a
solution the square root loses half of the digits, so that the residual stays near 1e-8.
References: M. Fukushima, Z.-Q. Luo, P. Tseng, "Smoothing functions for second-order-cone complementarity problems",
SIAM J. Optim. 12, 2001; V. Acary, M. Bremond, O. Huber, INRIA RR-9118, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.linalg.cones import rows_of
from gaussopt.solvers._cone import ConeIteration, ConeOptions
from gaussopt.solvers.nsn_ac import newton

SMOOTH = 1e-12
"""Lower bound imposed on eigenvalues of (x^2 + y^2)^(1/2), relative to the largest, to make it invertible."""


@dataclass(frozen=True)
class FischerBurmeisterOptions(ConeOptions):
    """Options of the method, which cannot reach smaller tolerances than the default: the square root loses digits."""

    tolerance: float = 1e-8


class NSNFB(ConeIteration[FischerBurmeisterOptions]):
    """Damped nonsmooth Newton steps from the given start, or from r = 0."""

    name = "nsn-fb"
    title = "Nonsmooth Newton on Fischer and Burmeister's function, damped"
    source = "Fukushima, Luo & Tseng 2001"
    exact = False
    options_type = FischerBurmeisterOptions

    def iterate(self, problem: ConeComplementarity, r: Vector) -> tuple[Vector, int]:
        return newton(problem, r, self.options.max_iter, self.options.tolerance, FischerBurmeister())


class FischerBurmeister:
    """Phi of every contact; for contacts without friction, the scalar function of (r_N, u_N), and r_T itself."""

    def value(self, own: ConeComplementarity, x: Vector) -> Vector:
        return self.parts(own, x)[0]

    def parts(self, own: ConeComplementarity, x: Vector) -> tuple[Vector, Matrix, Matrix]:
        p, u, mu = rows_of(x), rows_of(own.u(x)), own.mu
        slip = np.hypot(u[:, 1], u[:, 2])
        X, Y = np.zeros((own.k, ROWS, ROWS)), np.zeros((own.k, ROWS, ROWS))
        X[:, 0, 0], X[:, 1, 1], X[:, 2, 2] = mu, 1.0, 1.0
        Y[:, 0, 0], Y[:, 1, 1], Y[:, 2, 2] = 1.0, mu, mu
        r, y = np.einsum("kab,kb->ka", X, p), np.einsum("kab,kb->ka", Y, u)
        y[:, 0] += mu * slip
        Y[:, 0, 1:] = (mu / np.where(slip > 0, slip, 1.0))[:, None] * u[:, 1:]
        square = 2.0 * (r[:, :1] * r + y[:, :1] * y)
        square[:, 0] = (r * r).sum(axis=1) + (y * y).sum(axis=1)
        root = _root(square)
        Z = _arrow(root)
        phi = r + y - root
        dx, dy = np.linalg.solve(Z, _arrow(r)), np.linalg.solve(Z, _arrow(y))
        eye = np.eye(ROWS)
        by_r, by_u = (eye - dx) @ X, (eye - dy) @ Y
        plain = mu == 0.0
        if plain.any():
            size = np.maximum(np.hypot(p[plain, 0], u[plain, 0]), 1e-300)
            phi[plain] = p[plain]
            phi[plain, 0] = p[plain, 0] + u[plain, 0] - size
            by_r[plain], by_u[plain] = eye, 0.0
            by_r[plain, 0, 0], by_u[plain, 0, 0] = 1.0 - p[plain, 0] / size, 1.0 - u[plain, 0] / size
        return phi.ravel(), by_r, by_u


def _root(z: Matrix) -> Matrix:
    """Return the square roots, (k, 3), of points z of the cone in its Jordan algebra; eigenvalues are made positive."""
    length = np.hypot(z[:, 1], z[:, 2])
    high = np.sqrt(z[:, 0] + length)
    low = np.maximum(np.sqrt(np.maximum(z[:, 0] - length, 0.0)), SMOOTH * np.maximum(high, 1e-150))
    high = np.maximum(high, low)
    direction = z[:, 1:] / np.where(length > 0, length, 1.0)[:, None]
    return np.column_stack((0.5 * (high + low), (0.5 * (high - low))[:, None] * direction))


def _arrow(z: Matrix) -> Matrix:
    """Return the matrices, (k, 3, 3), of the Jordan product with z."""
    L = z[:, 0, None, None] * np.eye(ROWS)
    L[:, 0, 1:] = L[:, 1:, 0] = z[:, 1:]
    return np.asarray(L)


solver = NSNFB
