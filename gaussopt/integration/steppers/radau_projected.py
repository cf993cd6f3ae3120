"""Radau IIA of order 5 on the constraints: three implicit stages of certified accelerations, then a projection.

    a_i = a(t + c_i h, q_i, v_i),   v_i = v + h sum_j A_ij a_j,   q_i = q + h sum_j A_ij v_j,   i = 1, 2, 3

with Radau's collocation points, the last of which is the end of the step. Every a_i is the certified solution of a
Gauss step and satisfies the constraints, with any formulation and solver. Newton's method solves for the accelerations
of the stages. It needs derivatives of a, which follow from finite differences of the residuals M a + h - Q - J^T lam
and J a - gamma at fixed a and lam, by one saddle-point system; their errors affect the speed of convergence, not the
result. The error of a step is estimated by comparison with a formula of order 3 that has the acceleration at the start
as an additional stage; it is filtered by (I - gamma_0 h df/dy)^-1, so that stiff components do not dominate it. Every
accepted state is moved to the nearest state on the constraints.

References: U. M. Ascher, L. R. Petzold, SIAM J. Numer. Anal. 28, 1991 (projected implicit Runge-Kutta methods);
E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 1996, sections IV.8 and VII.2.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import lu_factor, lu_solve
from scipy.special import roots_jacobi

from gaussopt.core.arrays import Matrix, Vector, is_sparse
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Control, Integration, Motion, Stabilisation, State, Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.integration.stabilisation import Projection
from gaussopt.integration.steppers._constrained import without_contacts
from gaussopt.integration.steppers.base import gave_up

STAGES = 3
ITERATIONS = 8
"""Largest number of Newton iterations; if more are needed, the derivatives are too old or the step is too long."""
SAFETY, LEAST, MOST = 0.9, 0.2, 8.0
"""Safety factor of the step size control, and smallest and largest ratio of a step to the previous one."""
SLOW = 0.05
"""Rate of convergence of Newton's method above which the derivatives are computed anew."""
NEWTON = 0.03
"""Newton's method ends when the error of the stages is below this, relative to the tolerance of a step."""


def collocation() -> tuple[Vector, Matrix, float, Vector]:
    """Return points c (3,), weights A (3, 3), gamma_0, and the weights of the stages in the error estimate (3,).

    The matrix A integrates polynomials of degree 2 exactly. Its real eigenvalue gamma_0 weights a(t) in the estimate.
    """
    c = np.append((roots_jacobi(STAGES - 1, 1.0, 0.0)[0] + 1.0) / 2.0, 1.0)
    powers = np.arange(STAGES)
    inverse = np.linalg.inv(c[:, None] ** powers)
    A = (c[:, None] ** (powers + 1) / (powers + 1)) @ inverse
    eigenvalues = np.linalg.eigvals(A)
    gamma = float(eigenvalues[np.abs(eigenvalues.imag).argmin()].real)
    return c, A, gamma, -gamma * inverse[0]


C, A, GAMMA, ESTIMATE = collocation()


class RadauProjected(Stepper):
    """Radau IIA with three stages, Newton's method, error control and projection."""

    name = "radau-projected"
    title = "Radau IIA, order 5, implicit, adaptive, on the constraints (for stiff mechanisms)"
    source = "Ascher & Petzold 1991, SIAM J. Numer. Anal. 28"
    order, stages, adaptive, implicit = 5, STAGES, True, True

    def refuses(self, system: AbstractSystem, state: str, stabiliser: Stabilisation) -> str | None:
        """Refuse contacts, quasi-velocities, and Baumgarte's feedback, which acts on accelerations."""
        return without_contacts(system, state, stabiliser)

    def start(self, motion: Motion, t: float, q: Vector, u: Vector, control: Control) -> Integration:
        """Start the integration; with a recording interval, steps end at its multiples."""
        return _Radau(motion, t, q, u, control)


class _Radau(Integration):
    """An integration by `RadauProjected`.

    Attributes
    ----------
    _derivatives : derivatives of the acceleration by position and by velocity, each (n, n), or None
    _before : stage accelerations and length of the latest step, or None
    """

    def __init__(self, motion: Motion, t: float, q: Vector, v: Vector, control: Control) -> None:
        self._motion, self._projection = motion, Projection()
        self._control = replace(control, origin=t) if control.origin is None else control
        self._count = control.grid_index(t)
        self._t, self._q, self._v = t, q, v
        self._a = motion.rate(t, q, v)
        self._derivatives: tuple[Matrix, Matrix] | None = None
        self._fresh, self._rejected, self._first = False, False, True
        self._before: tuple[Matrix, float] | None = None
        self._error: tuple[float, float] | None = None
        self._h = self._first_step() if control.first_step is None else control.first_step

    def _first_step(self) -> float:
        """Return a step length in which position and velocity change by about a hundredth of their size."""
        size = self._scaled(self._q, self._v)
        change = self._scaled(self._v, self._a)
        h = 0.01 * size / change if size > 1e-5 and change > 1e-5 else 1e-6
        return min(h, self._control.t_end - self._t)

    def _scaled(self, x: Vector, y: Vector) -> float:
        """Return the root mean square of the changes x (of q) and y (of v), each divided by its tolerance."""
        c = self._control
        state, change = np.concatenate((self._q, self._v)), np.concatenate((x, y))
        return float(np.sqrt(np.mean((change / (c.atol + c.rtol * np.abs(state))) ** 2)))

    def replace(self, q: Vector, u: Vector) -> None:
        """Continue from a corrected state."""
        if not (np.array_equal(q, self._q) and np.array_equal(u, self._v)):
            self._q, self._v = q, u
            self._a = self._motion.rate(self._t, q, u)

    def before_failure(self) -> tuple[float, int] | None:
        """Return the instant after the latest accepted step, and the number of steps in this call of `advance`."""
        return self._t, self.taken

    def advance(self) -> State:
        """Take one accepted step; with a recording interval, take steps up to the next recording instant."""
        c, self.taken = self._control, 0
        bound = c.instant(self._count) if c.dt is not None or c.instants else c.t_end
        while True:
            self._step(bound)
            self.taken += 1
            self._motion.passed(self._t, self._q, self._v)
            if self._t >= bound:
                self._count += 1
                break
            if c.dt is None or c.every_step:
                break
        return self._t, self._q.copy(), self._v.copy()

    def _step(self, bound: float) -> None:
        """Take one accepted step, at most up to the instant `bound`."""
        self._rejected = False
        while True:
            least = 10.0 * math.ulp(self._t)
            left = bound - self._t
            h = left if self._h >= left else min(self._h, left / 2)
            if self._h < least:
                raise BadInput(gave_up(self._t, "Required step size is less than spacing between numbers."))
            found = self._stages(h)
            if found is None:
                if self._fresh:
                    self._h = h / 2
                else:
                    self._derivatives = None
                continue
            stages, iterations, rate = found
            norm = self._estimate(stages, h)
            factor = self._factor(norm, h, iterations)
            if norm < 1.0:
                break
            self._h, self._rejected = h * factor, True
        self._accept(stages, h, bound)
        self._first = False
        if rate > SLOW:
            self._derivatives = None
        self._fresh = False
        self._error = h, norm
        grown = h * (min(1.0, factor) if self._rejected else factor)
        # A step that was shortened to end at the bound must not shorten the next step.
        self._h = max(grown, self._h) if h < self._h else grown

    def _factor(self, norm: float, h: float, iterations: int) -> float:
        """Return the ratio of the next step size to h; it follows from this error or, if smaller, from the last two."""
        if norm == 0.0:
            return MOST
        safety = SAFETY * (2 * ITERATIONS + 1) / (2 * ITERATIONS + iterations)
        factor = safety * norm**-0.25
        if self._error is not None and norm < 1.0:
            before, error = self._error
            factor = min(factor, safety * h / before * (max(error, 1e-2) / norm) ** 0.25 * norm**-0.25)
        return min(MOST, max(LEAST, factor)) if math.isfinite(factor) else LEAST

    def _states(self, stages: Matrix, h: float) -> tuple[Matrix, Matrix]:
        """Return positions and velocities of the stages, each (3, n)."""
        v = self._v + h * (A @ stages)
        return self._q + h * (A @ v), v

    def _guess(self, h: float) -> Matrix:
        """Return an initial guess of the stage accelerations, (3, n), extrapolated from those of the previous step."""
        if self._before is None:
            return np.tile(self._a, (STAGES, 1))
        stages, before = self._before
        weights = np.linalg.solve(np.vander(C, STAGES).T, np.vander(1.0 + C * (h / before), STAGES).T).T
        return np.asarray(weights @ stages)

    def _stages(self, h: float) -> tuple[Matrix, int, float] | None:
        """Return stage accelerations, number of iterations and rate of convergence; None if there is no convergence."""
        n = len(self._q)
        if self._derivatives is None:
            self._derivatives, self._fresh = self._differences(), True
        by_q, by_v = self._derivatives
        factors = lu_factor(np.eye(STAGES * n) - np.kron(h * A, by_v) - np.kron(h**2 * (A @ A), by_q))
        stages, size, rate = self._guess(h), math.inf, 0.0
        for iteration in range(1, ITERATIONS + 1):
            found = self._rates(stages, h)
            if found is None:
                return None
            change = lu_solve(factors, (found - stages).ravel()).reshape(STAGES, n)
            stages = stages + change
            speed = h * (A @ change)
            now = max(self._scaled(x, y) for x, y in zip(h * (A @ speed), speed, strict=True))
            if not math.isfinite(now):
                return None
            rate = now / size if iteration > 1 else rate
            size = now
            if now == 0.0 or (iteration > 1 and rate < 1.0 and rate / (1.0 - rate) * now < NEWTON):
                return stages, iteration, rate
            if rate >= 1.0:
                return (stages, iteration, rate) if now < NEWTON else None
        return None

    def _rates(self, stages: Matrix, h: float) -> Matrix | None:
        """Return the accelerations at the states of the stages, (3, n); None if a state is not finite."""
        q, v = self._states(stages, h)
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            return None
        return np.array([self._motion.rate(self._t + C[i] * h, q[i], v[i]) for i in range(STAGES)])

    def _estimate(self, stages: Matrix, h: float) -> float:
        """Return the estimated error of a step in units of the tolerances."""
        assert self._derivatives is not None
        by_q, by_v = self._derivatives
        _, v = self._states(stages, h)
        factors = lu_factor(np.eye(len(by_q)) - h * GAMMA * by_v - (h * GAMMA) ** 2 * by_q)

        def filtered(x: Vector, y: Vector) -> tuple[Vector, Vector]:
            speed = lu_solve(factors, y + h * GAMMA * (by_q @ x))
            return x + h * GAMMA * speed, speed

        def error(q: Vector, speed: Vector, a: Vector) -> tuple[Vector, Vector]:
            return filtered(h * (GAMMA * speed + ESTIMATE @ v), h * (GAMMA * a + ESTIMATE @ stages))

        x, y = error(self._q, self._v, self._a)
        norm = self._scaled(x, y)
        if norm >= 1.0 and (self._first or self._rejected):
            a = self._motion.rate(self._t, self._q + x, self._v + y)
            norm = self._scaled(*error(self._q + x, self._v + y, a))
        return norm

    def _accept(self, stages: Matrix, h: float, bound: float) -> None:
        """Set the new state: the end of the step, projected to the nearest state on the constraints."""
        q, v = self._states(stages, h)
        self._t = bound if self._t + h >= bound else self._t + h
        self._q, self._v = self._projection.correct(self._motion.system, self._t, q[-1], v[-1])
        self._a, self._before = self._motion.rate(self._t, self._q, self._v), (stages, h)

    def _differences(self) -> tuple[Matrix, Matrix]:
        """Return the derivatives of the acceleration by position and by velocity, each (n, n)."""
        system, t, q, v, n = self._motion.system, self._t, self._q, self._v, len(self._q)
        step = system.evaluate(t, q, v)
        M, J = _dense(step.M), _dense(step.J)
        saddle = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
        x, *_ = np.linalg.lstsq(saddle, np.concatenate((step.force, step.gamma)))
        a, lam = x[:n], x[n:]
        residual = _residual(step, a, lam)
        columns = []
        for state, which in ((q, 0), (v, 1)):
            size = float(np.abs(state).max(initial=1.0))
            for i in range(n):
                there = [q, v]
                d = math.sqrt(math.ulp(1.0)) * max(abs(state[i]), 1e-3 * size)
                there[which] = state.copy()
                there[which][i] += d
                columns.append((_residual(system.evaluate(t, *there), a, lam) - residual) / d)
        found, *_ = np.linalg.lstsq(saddle, -np.array(columns).T)
        return found[:n, :n], found[:n, n:]


def _residual(step: StepData, a: Vector, lam: Vector) -> Vector:
    """Return M a + h - Q - J^T lam and J a - gamma, (n + m,)."""
    return np.concatenate((step.M @ a - step.force - step.J.T @ lam, step.J @ a - step.gamma))


def _dense(A: Any) -> Matrix:
    return np.asarray(A.toarray() if is_sparse(A) else A)


stepper = RadauProjected()
