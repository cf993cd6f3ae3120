"""Semismooth Newton method on complementarity conditions, which the solver `newton` uses for QPs and LCPs.

The mixed linear complementarity problem is to find z with

    w = H z + g,   w_i = 0 for free i,   0 <= z_i, 0 <= w_i, z_i w_i = 0 for paired i.

A quadratic program is the case z = (x, y) with H = [[P, -A^T], [A, 0]], g = (q, -l), where x and the forces of
equality rows are free and the forces of inequality rows are paired with the slacks of their rows; a linear
complementarity problem is the case without free indices, H = M and g = q.

Each condition is one equation Phi_i(z) = 0: w_i = 0 for a free index, phi(z_i, w_i) = 0 for a pair, with the
Fischer-Burmeister function phi(a, b) = a + b - sqrt(a^2 + b^2), or with min(a, b). Both are zero if and only if
a, b >= 0 and a b = 0. Phi is strongly semismooth with phi, and piecewise linear with min. Near a solution at which all
elements of the generalised Jacobian are regular, Newton's method with any element V converges quadratically, with min
even in finitely many steps. Row i of V is D_a e_i + D_b H_i with

    D_a = 1 - a / sqrt(a^2 + b^2),   D_b = 1 - b / sqrt(a^2 + b^2)      (both 1 - 1/sqrt(2) at a = b = 0),
    (D_a, D_b) = (1, 0) if a <= b, else (0, 1)                          (min).

Far from a solution an Armijo search on 1/2 ||Phi||^2 damps the steps. If V is singular, the direction of Levenberg and
Marquardt is used, and if a direction does not descend, the negative gradient -V^T Phi. At the end, one solve with the
active set of (z, w) removes the remaining error of the iteration; its result is used only if it lowers the natural
residual max |min(z_i, w_i)|.
References: A. Fischer, "A special Newton-type optimization method", Optimization 24, 1992; T. De Luca,
F. Facchinei, C. Kanzow, "A semismooth equation approach to the solution of nonlinear complementarity problems",
Math. Prog. 75, 1996; L. Qi, J. Sun, "A nonsmooth version of Newton's method", Math. Prog. 58, 1993; M. Hintermueller,
K. Ito, K. Kunisch, "The primal-dual active set strategy as a semismooth Newton method", SIAM J. Optim. 13, 2003.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.linalg.dense import largest

DECREASE = 1e-4
"""Fraction of the predicted decrease of 1/2 ||Phi||^2 that a step must achieve (Armijo)."""

SHORTEST = 1e-14
"""Smallest step length; smaller steps change the residual by rounding errors only."""


def fischer_burmeister(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return phi(a, b) = a + b - sqrt(a^2 + b^2) entry by entry, zero if and only if a, b >= 0 and a b = 0."""
    return np.asarray(a + b - np.hypot(a, b))


@dataclass(frozen=True, slots=True)
class Complementarity:
    """The conditions w = H z + g, w_i = 0 for free i, and z_i >= 0, w_i >= 0, z_i w_i = 0 for paired i.

    H is (N, N), g and the mask `paired` are (N,); with `natural`, min(z, w) replaces the Fischer-Burmeister function.
    """

    H: Matrix
    g: Vector
    paired: NDArray[np.bool_]
    natural: bool = False

    def w(self, z: Vector) -> Vector:
        """Return w = H z + g, (N,)."""
        return np.asarray(self.H @ z + self.g)

    def phi(self, z: Vector, w: Vector) -> Vector:
        """Return the residual Phi of all conditions, (N,)."""
        a, b = z[self.paired], w[self.paired]
        out = w.copy()
        out[self.paired] = np.minimum(a, b) if self.natural else fischer_burmeister(a, b)
        return out

    def jacobian(self, z: Vector, w: Vector) -> Matrix:
        """Return an element of the generalised Jacobian of Phi at z, (N, N)."""
        pairs, V = np.flatnonzero(self.paired), self.H.copy()
        a, b = z[pairs], w[pairs]
        if self.natural:
            below = pairs[a <= b]
            V[below] = 0.0
            V[below, below] = 1.0
            return V
        r = np.hypot(a, b)
        # At a = b = 0 the direction (1, 1)/sqrt(2) gives a valid element.
        safe = np.where(r > 0, r, 1.0)
        da, db = (np.where(r > 0, 1.0 - x / safe, 1.0 - np.sqrt(0.5)) for x in (a, b))
        V[pairs] *= db[:, None]
        V[pairs, pairs] += da
        return V

    def natural_residual(self, z: Vector) -> float:
        """Return the largest |min(z_i, w_i)| of pairs and |w_i| of free i; unlike phi, min is not flat near 0."""
        w = self.w(z)
        return largest(np.where(self.paired, np.minimum(z, w), w))


@dataclass(frozen=True, slots=True)
class NewtonRun:
    """The result z, (N,), of the active-set solve, and the residuals ||Phi||_inf of the iteration before that solve.

    `residuals` begins with the residual of the start; `singular` says whether a singular matrix occurred.
    """

    z: Vector
    residuals: tuple[float, ...]
    converged: bool
    singular: bool

    @property
    def iterations(self) -> int:
        """Number of Newton steps."""
        return len(self.residuals) - 1


def semismooth_newton(problem: Complementarity, z: Vector, tolerance: float, max_iter: int) -> NewtonRun:
    """Take damped Newton steps on Phi from z, then solve for its active set; `tolerance` is relative to 1 + ||g||_inf.

    The problem should be scaled such that its entries are of comparable size.
    """
    scale = 1.0 + largest(problem.g)
    w = problem.w(z)
    phi = problem.phi(z, w)
    residuals = [largest(phi)]
    singular, level = False, tolerance
    while residuals[-1] > tolerance * scale and len(residuals) <= max_iter:
        merit = 0.5 * float(phi @ phi)
        V = problem.jacobian(z, w)
        gradient = V.T @ phi
        direction, regular = _direction(V, phi, merit)
        singular = singular or not regular
        slope = float(gradient @ direction)
        if slope >= -1e-12 * merit:
            direction, slope = -gradient, -float(gradient @ gradient)
        found = _search(problem, z, direction, merit, slope)
        if found is None:  # no step reduces |Phi|, as happens at rounding level
            level = 1e-10
            break
        z, w, phi = found
        residuals.append(largest(phi))
    polished = polish(problem, z)
    # A run that reached its limit may still be at a solution after the active-set solve.
    converged = residuals[-1] <= tolerance * scale or problem.natural_residual(polished) <= level * scale
    return NewtonRun(polished, tuple(residuals), converged, singular)


def polish(problem: Complementarity, z: Vector) -> Vector:
    """Solve once with the active set that z and w indicate; return the better of the result and z."""
    inactive = problem.paired & (z <= problem.w(z))
    keep = ~inactive
    H = problem.H[np.ix_(keep, keep)]
    try:
        solved = np.linalg.solve(H, -problem.g[keep])
    except np.linalg.LinAlgError:
        solved, *_ = np.linalg.lstsq(H, -problem.g[keep], rcond=None)
    candidate = np.zeros_like(z)
    candidate[keep] = solved
    return candidate if problem.natural_residual(candidate) <= problem.natural_residual(z) else z


def _search(
    problem: Complementarity, z: Vector, direction: Vector, merit: float, slope: float
) -> tuple[Vector, Vector, Vector] | None:
    """Return z, w, Phi for the first step length of 1, 1/2, 1/4, ... that reduces |Phi| enough; None if none does."""
    step = 1.0
    while step >= SHORTEST:
        candidate = z + step * direction
        w = problem.w(candidate)
        phi = problem.phi(candidate, w)
        if 0.5 * float(phi @ phi) <= merit + DECREASE * step * slope:
            return candidate, w, phi
        step *= 0.5
    return None


def _direction(V: Matrix, phi: Vector, merit: float) -> tuple[Vector, bool]:
    """Return Newton's direction, or Levenberg and Marquardt's if V is singular, and whether V is regular."""
    try:
        d = np.asarray(np.linalg.solve(V, -phi))
        if np.linalg.norm(V @ d + phi) <= 1e-8 * np.linalg.norm(phi):
            return d, True
    except np.linalg.LinAlgError:
        pass
    nu = min(1e-4, merit)
    stacked = np.vstack((V, np.sqrt(nu) * np.eye(len(phi))))
    least = np.linalg.lstsq(stacked, np.concatenate((-phi, np.zeros(len(phi)))), rcond=None)
    return np.asarray(least[0]), False
