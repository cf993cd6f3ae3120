"""Programs as search problems: coordinates y, constrained by inequality rows only, and the cost of a point.

Points y are compared by two numbers (Deb's feasibility rules), first the violation of inequality rows, then the cost. A
feasible point is better than an infeasible point; of two infeasible points the one with the smaller violation is
better, and of two feasible points the one with the smaller cost.

QP, null-space coordinates
    x = x_p + Z y satisfies equality rows exactly; the cost is the objective.
QP, full coordinates
    The cost is the objective plus `penalty` times the squared violations of equality rows. At its exact minimiser the
    violations are lam / (2 penalty).
LeastSquares
    The cost is 1/2 ||A x - b||^2, not multiplied out; with `minimum_norm` the equivalent quadratic program is searched.
LinearSystem
    The cost is 1/2 ||R (K x - b)||^2, where R scales rows to unit size. If K is singular, only the row space is
    searched, so that the solution of least norm is found.
LCP
    The cost is the merit function 1/2 ||phi(z, w)||^2 of Fischer and Burmeister in equilibrated variables. Feasibility
    rules for z >= 0 and w >= 0 are not used: near a corner hardly any points would be feasible, and the cost z . w
    would have local minima that are not solutions unless M is row sufficient. The merit function is defined for all z,
    differentiable, quadratic near a strictly complementary solution, and zero only at solutions, for every matrix.

Coordinates are scaled such that quadratic costs have unit curvature along each of them, in mechanics a scaling by mass.
Only differences from the cost at a nearby reference point are evaluated: they determine the minimiser up to rounding
errors, but the values of the objective only up to the square root of rounding errors.
References: K. Deb, "An efficient constraint handling method for genetic algorithms", Comput. Methods Appl. Mech. Eng.
186, 2000; C. Kanzow, N. Yamashita, M. Fukushima, "New NCP-functions and their properties", J. Optim. Theory Appl. 94,
1997; R. W. Cottle, J.-S. Pang, R. E. Stone, "The Linear Complementarity Problem", SIAM 2009, section 3.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import LCP, LeastSquares, LinearSystem, Program, as_qp
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.lcp.matrix_classes import equilibrate
from gaussopt.linalg.dense import largest, row_space
from gaussopt.solvers._semismooth import fischer_burmeister

FEASIBLE = 1e-9
"""Violations of an inequality row up to this, relative to the size of the answer, count as zero."""

MET = DEFAULT_TOLERANCE
"""A point is a solution if its residual is at most this, relative to the terms of equations or the data of an LCP."""


@dataclass(frozen=True, slots=True)
class Quadratic:
    """The cost 1/2 x^T P x + q^T x + weight ||R x - s||^2; with `equations`, a solution must satisfy R x = s."""

    P: Matrix
    q: Vector
    R: Matrix
    s: Vector
    weight: float
    equations: bool


class QuadraticSearch:
    """A quadratic cost subject to l <= A x <= u, in the coordinates x = c + T y, where T is scaled to unit curvature.

    `unit` is the expected distance of the answer from the origin, in the units of y.
    """

    unit = 1.0

    def __init__(self, cost: Quadratic, A: Matrix, l: Vector, u: Vector, c: Vector, T: Matrix) -> None:
        self._cost = cost
        square = 2.0 * cost.weight * (cost.R.T @ cost.R)
        curvature = np.einsum("ij,ij->j", T, (cost.P + square) @ T)
        terms = np.einsum("ij,ij->j", np.abs(T), (np.abs(cost.P) + np.abs(square)) @ np.abs(T))
        curved = curvature > 1e-13 * terms
        # Directions without curvature get the largest scale of the other directions.
        curvature[~curved] = curvature[curved].min() if curved.any() else 1.0
        self.dimension = T.shape[1]
        self._c, self._T = c, T / np.sqrt(curvature)
        self._inverse = np.linalg.pinv(self._T)
        self._P, self._R = self._T.T @ cost.P @ self._T, cost.R @ self._T
        self._A, self._l, self._u = A @ self._T, l - A @ c, u - A @ c
        size, length = np.linalg.norm(A, axis=1), np.linalg.norm(self._A, axis=1)
        # Rows that do not depend on y are judged by the sizes of their own terms.
        self._movable = length > 1e-12 * size * np.linalg.norm(self._T)
        bound = np.where(np.isfinite(l), np.abs(l), np.where(np.isfinite(u), np.abs(u), 0.0))
        terms = size * np.linalg.norm(c) + bound
        self._length = np.where(self._movable, length, np.where(terms > 0, terms, 1.0))
        self.unit = self.distance(np.zeros(self.dimension))

    def decode(self, y: Vector) -> Vector:
        """Return the point x = c + T y of the program."""
        return np.asarray(self._c + self._T @ y)

    def encode(self, x: Vector) -> Vector:
        """Return the coordinates y whose point c + T y is nearest to x."""
        return np.asarray(self._inverse @ (x - self._c))

    def refer(self, y: Vector) -> float:
        """Make y the reference point of the costs; return the cost of y."""
        cost, x = self._cost, self.decode(y)
        residual = cost.R @ x - cost.s
        self._y = y
        self._gradient = self._T.T @ (cost.P @ x + cost.q) + 2.0 * cost.weight * (self._R.T @ residual)
        return float(0.5 * x @ (cost.P @ x) + cost.q @ x + cost.weight * (residual @ residual))

    def evaluate(self, Y: Matrix) -> Matrix:
        """Return the violation, and the cost minus that of the reference point, (B, 2), for a population Y, (B, d)."""
        D = Y - self._y
        out = np.zeros((len(Y), 2))
        out[:, 1] = D @ self._gradient + 0.5 * np.einsum("ij,ij->i", D @ self._P, D)
        if len(self._R):
            along = D @ self._R.T
            out[:, 1] += self._cost.weight * np.einsum("ij,ij->i", along, along)
        if len(self._A):
            out[:, 0] = self._violations(Y).sum(axis=1)
        return out

    def distance(self, y: Vector) -> float:
        """Estimate the distance from y to the minimiser: that of steepest descent or, if larger, to violated rows."""
        self.refer(y)
        stiff = 2.0 * self._cost.weight * (self._R.T @ self._R)
        far = _descent(self._gradient, self._P + stiff)
        if self._cost.equations:
            # The penalty's curvature across the rows hides the distance along them: estimate it without the penalty.
            far = max(far, _descent(self._T.T @ (self._cost.P @ self.decode(y) + self._cost.q), self._P))
        far = max(far, float((self._violations(y[None])[0] * self._movable).max(initial=0.0)))
        return far if far > 0 else 1e-6 * (float(np.linalg.norm(y)) or 1.0)

    def objection(self, y: Vector) -> str:
        """Return which rows or equations y violates, in words; "" if it satisfies all."""
        rows = float((self._violations(y[None])[0] / self._size).max(initial=0.0))
        if rows > 0:
            return f"inequality rows are violated, by {rows:.1e} of the size of the answer"
        cost, x = self._cost, self.decode(y)
        if cost.equations and len(cost.R):
            terms = np.linalg.norm(cost.R, axis=1) * np.linalg.norm(x) + np.abs(cost.s)
            worst = float((np.abs(cost.R @ x - cost.s) / np.where(terms > 0, terms, 1.0)).max())
            if worst > MET:
                return f"equations are violated, by {worst:.1e} of their terms"
        return ""

    @property
    def _size(self) -> NDArray[np.float64]:
        """Scale of the violation of each row, (r,): the size of the answer, or 1 for rows that do not depend on y."""
        return np.where(self._movable, self.unit, 1.0)

    def _violations(self, Y: Matrix) -> Matrix:
        """Return the distances to violated rows, (B, r), in units of y; distances within FEASIBLE become zero."""
        values = Y @ self._A.T
        over = (np.maximum(self._l - values, 0.0) + np.maximum(values - self._u, 0.0)) / self._length
        return np.where(over > FEASIBLE * self._size, over, 0.0)


class ComplementaritySearch:
    """The Fischer-Burmeister merit function of an LCP, with equilibrated rows and columns and without constraints."""

    unit = 1.0

    def __init__(self, lcp: LCP) -> None:
        R, C = equilibrate(lcp.M)
        unit = largest(R * lcp.q) or 1.0
        self._scale = C * unit
        self._M, self._q = R[:, None] * lcp.M * C, R * lcp.q / unit
        self.dimension = lcp.n

    def decode(self, y: Vector) -> Vector:
        return np.asarray(np.maximum(y, 0.0) * self._scale)

    def encode(self, x: Vector) -> Vector:
        return np.asarray(x / self._scale)

    def refer(self, y: Vector) -> float:
        """Return 0; costs need no reference point, because the least cost is 0."""
        return 0.0

    def evaluate(self, Y: Matrix) -> Matrix:
        phi = fischer_burmeister(Y, Y @ self._M.T + self._q)
        return np.column_stack((np.zeros(len(Y)), 0.5 * np.einsum("ij,ij->i", phi, phi)))

    def distance(self, y: Vector) -> float:
        return self._residual(y) or 1e-6

    def objection(self, y: Vector) -> str:
        residual = self._residual(np.maximum(y, 0.0))
        return "" if residual <= MET else f"no complementary point was found: min(z, w) is {residual:.1e} of the data"

    def _residual(self, y: Vector) -> float:
        return largest(np.minimum(y, self._M @ y + self._q))


Search = QuadraticSearch | ComplementaritySearch


def search_of(program: Program, coordinates: str, penalty: float) -> Search:
    """Return the search problem of a program; `coordinates` and `penalty` are explained in `EvolutionOptions`."""
    if isinstance(program, LCP):
        return ComplementaritySearch(program)
    n = program.n
    origin, flat, nothing = np.zeros(n), np.zeros((n, n)), (np.zeros((0, n)), np.zeros(0), np.zeros(0))
    if isinstance(program, LinearSystem):
        R, C = equilibrate(program.K)
        K, b = R[:, None] * program.K, R * program.b
        rank = row_space(K * C).rank
        # For regular K keep the scaled coordinates; a basis from singular vectors would undo the scaling of columns.
        T = np.diag(C) if rank == n else np.linalg.svd(K)[2][:rank].T
        return QuadraticSearch(Quadratic(flat, origin, K, b, 0.5, True), *nothing, origin, T)
    if isinstance(program, LeastSquares) and not program.minimum_norm:
        T = np.eye(n) if program.rank == n else np.linalg.svd(program.A)[2][: program.rank].T
        return QuadraticSearch(Quadratic(flat, origin, program.A, program.b, 0.5, False), *nothing, origin, T)
    qp = as_qp(program)
    eq = qp.equality
    rows = qp.A[~eq], qp.l[~eq], qp.u[~eq]
    if coordinates == "null-space":
        space = row_space(qp.A[eq])
        # The equality rows stay in the cost with weight 0, so that `objection` finds contradictory rows.
        cost = Quadratic(qp.P, qp.q, qp.A[eq], qp.l[eq], 0.0, True)
        return QuadraticSearch(cost, *rows, space.pinv @ qp.l[eq], space.Z)
    cost = Quadratic(qp.P, qp.q, qp.A[eq], qp.l[eq], penalty, True)
    return QuadraticSearch(cost, *rows, origin, np.eye(n))


def _descent(gradient: Vector, H: Matrix) -> float:
    """Return the distance to the minimiser along steepest descent, or the slope if there is no curvature."""
    slope, bend = float(np.linalg.norm(gradient)), float(gradient @ (H @ gradient))
    return slope**3 / bend if bend > 1e-14 * slope**2 else slope
