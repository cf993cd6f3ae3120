"""Nonsmooth Newton method on Fischer and Burmeister's function of the second-order cone, damped as `nsn-ac`.

In x = (mu r_N, r_T) and y = (u~_N, mu u_T) the friction cones are the self-dual cone, and in its Jordan algebra
Phi = x + y - (x^2 + y^2)^(1/2) vanishes exactly where x and y lie in it and are orthogonal. Near a solution the square
root loses half of the digits: the residual stays near 1e-8.
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
"""Lower bound set for eigenvalues of (x^2 + y^2)^(1/2), relative to the largest, to make it invertible."""


@dataclass(frozen=True)
class FischerBurmeisterOptions(ConeOptions):
    """As the others; the tolerance is what the square root leaves of the digits."""

    tolerance: float = 1e-8


class NSNFB(ConeIteration[FischerBurmeisterOptions]):
    """Damped nonsmooth Newton steps from r = 0, or from the start."""

    name = "nsn-fb"
    title = "Nonsmooth Newton on Fischer and Burmeister's function, damped"
    source = "Fukushima, Luo & Tseng 2001"
    exact = False
    options_type = FischerBurmeisterOptions

    def iterate(self, problem: ConeComplementarity, r: Vector) -> tuple[Vector, int]:
        return newton(problem, r, self.options.max_iter, self.options.tolerance, FischerBurmeister())


class FischerBurmeister:
    """Phi by contacts; for a contact without friction its scalar form in the normals, and r_T."""

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
    """Return the square root of points of the cone in its Jordan algebra, (k, 3), with both eigenvalues positive."""
    length = np.hypot(z[:, 1], z[:, 2])
    high = np.sqrt(z[:, 0] + length)
    low = np.maximum(np.sqrt(np.maximum(z[:, 0] - length, 0.0)), SMOOTH * np.maximum(high, 1e-150))
    high = np.maximum(high, low)
    direction = z[:, 1:] / np.where(length > 0, length, 1.0)[:, None]
    return np.column_stack((0.5 * (high + low), (0.5 * (high - low))[:, None] * direction))


def _arrow(z: Matrix) -> Matrix:
    """Return the matrices of the Jordan product with z, (k, 3, 3)."""
    L = z[:, 0, None, None] * np.eye(ROWS)
    L[:, 0, 1:] = L[:, 1:, 0] = z[:, 1:]
    return np.asarray(L)


solver = NSNFB
