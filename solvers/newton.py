"""Primal-dual Newton method: semismooth Newton on complementarity conditions, with a line search.

The optimality conditions of a quadratic program, and linear complementarity problems, are mixed complementarity
problems; `_semismooth` describes these and the iteration. Without inequalities the system is linear, and one full step
solves it; with inequalities convergence is locally quadratic.
With `function="min"`, min(a, b) replaces the Fischer-Burmeister function. Newton's method is then the primal-dual
active-set method, which ends at an exact solution but may cycle, also if M is a P-matrix. Where Newton's method stalls
or cycles on a linear complementarity problem, Lemke's method follows, and the note of the answer records this.
The `history` of the answer holds ||Phi||_inf, in scaled variables, at the start and after each iteration.
References: as in `_semismooth`; I. Ben Gharbia, J. C. Gilbert, "Nonconvergence of the plain Newton-min algorithm
for linear complementarity problems with a P-matrix", Math. Prog. 134, 2012.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import LCP, QP, LeastSquares, Program, as_qp
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Limits, Options, Solver, one_of
from gaussopt.core.status import Status
from gaussopt.lcp import polish
from gaussopt.lcp.matrix_classes import equilibrate
from gaussopt.linalg.dense import largest, mass_scale
from gaussopt.solvers._places import OneSided
from gaussopt.solvers._semismooth import Complementarity, semismooth_newton
from gaussopt.solvers.lemke import lemke


@dataclass(frozen=True)
class NewtonOptions(Options):
    """Options of the iteration.

    `function`: complementarity function, fischer-burmeister or min; `tolerance`: its largest entry at a solution, in
    scaled variables; `fallback`: whether Lemke's method follows if the iteration does not converge on an LCP.
    """

    tolerance: float = 1e-12
    max_iter: int = 200
    function: str = "fischer-burmeister"
    fallback: bool = True
    limits: ClassVar[Limits] = {"function": one_of("fischer-burmeister", "min")}


class Newton(Solver[NewtonOptions]):
    """Semismooth Newton method for quadratic programs and linear complementarity problems."""

    name = "newton"
    title = "Primal-dual semismooth Newton with line search"
    source = "Fischer 1992; De Luca, Facchinei, Kanzow 1996"
    accepts = (QP, LeastSquares, LCP)
    warm_starts = True
    options_type = NewtonOptions

    def setup(self, program: Program) -> None:
        """Set up the optimality or complementarity conditions in scaled variables."""
        self._lcp = program if isinstance(program, LCP) else None
        if self._lcp is not None:
            return
        self._qp = qp = as_qp(program)
        self._rows = rows = OneSided.of(qp)
        A, b = qp.A[rows.rows] * rows.sign[:, None], rows.sign * rows.bound
        self._D = mass_scale(qp.P)
        length = np.linalg.norm(A * self._D, axis=1)
        self._E = 1.0 / np.where(length > 0, length, 1.0)
        A, b = self._E[:, None] * A * self._D, self._E * b
        n, m = qp.n, len(b)
        H = np.zeros((n + m, n + m))
        H[:n, :n] = self._D[:, None] * qp.P * self._D
        H[:n, n:] = -A.T
        H[n:, :n] = A
        paired = np.arange(n + m) >= n + rows.equal
        natural = self.options.function == "min"
        self._problem = Complementarity(H, np.concatenate((self._D * qp.q, -b)), paired, natural)

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        if self._lcp is not None:
            return solve_lcp(self._lcp, self.options, None if start is None else start[0])
        z = np.zeros(len(self._problem.g))
        n = self._qp.n
        if start is not None:
            z[:n] = start[0] / self._D
            if start[1] is not None:
                # A row with two finite bounds has two multipliers; the sign of its force selects one of them.
                y = start[1][self._rows.rows] * self._rows.sign / self._E
                z[n:] = np.where(self._problem.paired[n:], np.maximum(y, 0.0), y)
        run = semismooth_newton(self._problem, z, self.options.tolerance, self.options.max_iter)
        x, y = self._D * run.z[:n], self._rows.forces(self._E * run.z[n:])
        if run.converged:
            return RawSolution(x, y, Status.SOLVED, run.iterations, history=run.residuals)
        note = "the Newton matrix is singular: a constraint or a direction is degenerate" if run.singular else ""
        return RawSolution(x, y, Status.ITERATION_LIMIT, run.iterations, note=note, history=run.residuals)

    def solve_batch(self, M: Matrix, q: Matrix) -> tuple[Matrix, NDArray[np.int_], list[Status], list[str]]:
        """Iterate with active sets on all problems together, then solve the remaining problems one by one."""
        z, iterations, converged = active_set_batch(M, q, self.options.max_iter)
        claims, notes = [Status.SOLVED] * len(q), [""] * len(q)
        for i in np.flatnonzero(~converged):
            raw = solve_lcp(LCP(M[i], q[i]), self.options)
            z[i] = np.nan if raw.x is None else raw.x
            claims[i], notes[i] = raw.claim, raw.note
            iterations[i] += raw.iterations
        return z, iterations, claims, notes


def active_set_batch(M: Matrix, q: Matrix, max_iter: int) -> tuple[Matrix, NDArray[np.int_], NDArray[np.bool_]]:
    """Take full Newton steps on min(z, w) for B problems, M of shape (B, n, n), until each active set is unchanged.

    Return the points, numbers of iterations, and which problems converged; others ended by a cycle or singular system.
    """
    count, n = q.shape
    R, C = equilibrate(M)
    A, b = R[:, :, None] * M * C[:, None, :], R * q
    z, iterations, converged = np.zeros((count, n)), np.zeros(count, dtype=int), np.zeros(count, dtype=bool)
    left = np.arange(count)
    identity = np.eye(n)
    push = b < 0
    for _ in range(min(max_iter, 4 * n + 10)):
        V = np.where(push[left][:, :, None], A[left], identity)
        regular = np.linalg.det(V) != 0.0
        left, V = left[regular], V[regular]
        iterations[left] += 1
        rhs = np.where(push[left], -b[left], 0.0)[..., None]
        x = np.linalg.solve(V, rhs)
        x += np.linalg.solve(V, rhs - V @ x)
        z[left] = x[..., 0]
        w = np.where(push[left], 0.0, (A[left] @ x)[..., 0] + b[left])
        noise = 1e-14 * ((np.abs(A[left]) @ np.abs(x))[..., 0] + np.abs(b[left]))
        # Exchange a pair only if its sign is wrong by more than rounding errors; degenerate pairs would cycle.
        following = np.where(push[left], z[left] > -noise, w < -noise)
        done = (following == push[left]).all(axis=1)
        converged[left[done]] = True
        push[left] = following
        left = left[~done]
        if not len(left):
            break
    return np.maximum(z, 0.0) * C, iterations, converged


def solve_lcp(lcp: LCP, options: NewtonOptions, start: Vector | None = None) -> RawSolution:
    """Solve an LCP by Newton's method in scaled variables, from a start, (n,), or 0; if that fails, by Lemke's."""
    if not (lcp.q < 0).any() and start is None:
        return RawSolution(np.zeros(lcp.n), None, Status.SOLVED, history=(0.0,))
    R, C = equilibrate(lcp.M)
    q = R * lcp.q
    unit = largest(q) or 1.0
    paired = np.ones(lcp.n, dtype=bool)
    problem = Complementarity(R[:, None] * lcp.M * C, q / unit, paired, options.function == "min")
    z = np.zeros(lcp.n) if start is None else start / C / unit
    run = semismooth_newton(problem, z, options.tolerance, options.max_iter)
    iterations, residuals = run.iterations, run.residuals
    # Near a singular solution phi is flat, so the natural map must be small, too.
    converged = run.converged and problem.natural_residual(run.z) <= np.sqrt(options.tolerance)
    z = polish(lcp, np.maximum(run.z, 0.0) * C * unit)
    if converged:
        return RawSolution(z, None, Status.SOLVED, iterations, history=residuals)
    note = f"Newton's method stalled after {iterations} iterations"
    if not options.fallback:
        return RawSolution(z, None, Status.ITERATION_LIMIT, iterations, note=note, history=residuals)
    raw = lemke(lcp)
    note = f"{note}; Lemke's method took {raw.iterations} pivots" + (f", and {raw.note}" if raw.note else "")
    return RawSolution(raw.x, None, raw.claim, iterations + raw.iterations, note=note, history=residuals)


solver = Newton
