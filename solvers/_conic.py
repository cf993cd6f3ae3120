"""Conversion of quadratic programs and cone programs of contacts to the standard form of conic solvers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import clarabel
import numpy as np
from scipy import sparse

from gaussopt.core.arrays import Vector, is_sparse
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.cone_program import ConeProgram
from gaussopt.core.delassus import DelassusProduct, block_inverse, scaled_operator
from gaussopt.core.programs import QP, LeastSquares, Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import O
from gaussopt.core.status import Status
from gaussopt.linalg.cones import rows_of, scaled, steps_of
from gaussopt.solvers._places import InColumns, OneSided

CLAIMS = {
    "Solved": Status.SOLVED,
    "AlmostSolved": Status.INACCURATE,
    "PrimalInfeasible": Status.INFEASIBLE,
    "AlmostPrimalInfeasible": Status.INFEASIBLE,
    "DualInfeasible": Status.UNBOUNDED,
    "AlmostDualInfeasible": Status.UNBOUNDED,
    "MaxIterations": Status.ITERATION_LIMIT,
    "MaxTime": Status.TIME_LIMIT,
    "InsufficientProgress": Status.INACCURATE,
}


def fixed_point(problem: ConeComplementarity, programs: int, tolerance: float = 1e-12) -> Vector | None:
    """Solve cone programs with a shift s, which is 0 in the first and then mu |u_T| of the previous solution.

    Return the last impulses, or None if the first program has no answer. Reference: V. Acary et al., ZAMM 91, 2011.
    """
    own, scale = scaled(problem)
    found, s, factors = None, np.zeros(own.k), isinstance(own.W, DelassusProduct)
    P = own.W if factors else own.symmetric_part
    settings = {"tol_gap_abs": tolerance, "tol_gap_rel": tolerance, "tol_feas": tolerance}
    for _ in range(programs):
        p = own.q.copy()
        p[::ROWS] += s
        program = ConeProgram(P, p, own.mu)
        x = program_in_velocities(program, settings) if factors else cone_program(program, settings).x
        if x is None:
            return found
        found = scale * x
        u = rows_of(own.u(x))
        s = own.mu * np.hypot(u[:, 1], u[:, 2])
    return found


def program_in_velocities(program: ConeProgram, settings: Mapping[str, Any]) -> Vector | None:
    """Solve a program whose P is a `DelassusProduct` by Clarabel, in the velocities v; return the impulses, or None.

    The program in v is min 1/2 v^T M v subject to H^T v + q in K*, with sparse matrices; its multipliers are r.
    """
    W: Any = program.P
    d = np.sqrt(W.A.diagonal())
    size = float(np.abs(program.q).max()) or 1.0
    P = sparse.triu(d[:, None] * block_inverse(W.A.tocsr()) * d[None, :], format="csc")
    factor = np.column_stack((np.ones(program.k), program.mu, program.mu)).ravel()  # turns K* into the standard cone
    A = sparse.csc_matrix(-(factor[:, None] * (W.H.T * d[None, :]).tocsr()))
    cones = [clarabel.SecondOrderConeT(ROWS)] * program.k
    found = clarabel.DefaultSolver(
        P, np.zeros(len(d)), A, factor * program.q / size, cones, settings_of(settings)
    ).solve()
    r = size * factor * np.array(found.z)
    return r if CLAIMS.get(str(found.status)) in (Status.SOLVED, Status.INACCURATE) and np.isfinite(r).all() else None


def settings_of(given: Mapping[str, Any]) -> Any:
    """Return Clarabel's settings: no output, one thread, and the settings given by name."""
    chosen = clarabel.DefaultSettings()
    chosen.verbose, chosen.max_threads = False, 1
    for name, value in given.items():
        setattr(chosen, name, value)
    return chosen


class ConicForm(NamedTuple):
    """The standard form: minimise 1/2 x^T P x + c^T x, where b - A x lies in a product of cones.

    The cones are `pushing` half-lines, then k second-order cones. P holds the upper triangle only; r = scale * x.
    """

    P: Any
    c: Vector
    A: Any
    b: Vector
    pushing: int
    scale: Vector


def conic_form(program: ConeProgram) -> ConicForm:
    """Return the standard form of a cone program of contacts, scaled to be dimensionless."""
    n, k = program.n, program.k
    s = np.repeat(np.sqrt(steps_of(program.P)), ROWS)
    size = float(np.abs(s * program.q).max(initial=0.0)) or 1.0  # divided by s and size, the program is dimensionless
    P = sparse.triu(scaled_operator(program.P, s), format="csc")
    normal = np.zeros(n)
    normal[::ROWS] = 1.0
    b = np.zeros(n)
    if program.radius is None:
        rows: list[Any] = [-sparse.diags(np.where(normal, np.repeat(program.mu, ROWS), 1.0))]
    else:  # for discs, the first entry of each cone is the radius
        rows = [-sparse.diags(1.0 - normal)]
        b[::ROWS] = program.radius / (size * s[::ROWS])
    pushing = 0
    if program.radius is not None or not program.mu.all():
        # Discs, and cones with mu = 0, do not imply r_N >= 0, so these rows are added.
        rows.insert(0, -sparse.eye(n, format="csr")[::ROWS])
        pushing, b = k, np.append(np.zeros(k), b)
    return ConicForm(P, s * program.q / size, sparse.vstack(rows, format="csc"), b, pushing, size * s)


def cone_program(program: ConeProgram, settings: Mapping[str, Any]) -> RawSolution:
    """Solve a cone program by Clarabel, with settings given by name; return impulses in the units of the program."""
    if not program.k:
        return RawSolution(np.zeros(0), None, Status.SOLVED)
    form = conic_form(program)
    cones: list[Any] = [clarabel.SecondOrderConeT(ROWS)] * program.k
    if form.pushing:
        cones.insert(0, clarabel.NonnegativeConeT(form.pushing))
    found = clarabel.DefaultSolver(form.P, form.c, form.A, form.b, cones, settings_of(settings)).solve()
    status = str(found.status)
    claim = CLAIMS.get(status, Status.SOLVER_ERROR)
    return impulses(form, found.x, claim, int(found.iterations), float(found.solve_time), status)


def impulses(form: ConicForm, x: Any, claim: Status, iterations: int, seconds: float, words: str) -> RawSolution:
    """Return the answer of a conic solver, with the impulses scale * x if it has found a point."""
    r = form.scale * np.array(x)
    if claim in (Status.INFEASIBLE, Status.UNBOUNDED) or not np.isfinite(r).all():
        return RawSolution(None, None, claim, iterations, seconds, words)
    return RawSolution(r, None, claim, iterations, seconds, words)


class Conic(InColumns[O]):
    """A backend for min 1/2 x^T P x + q^T x with b - A x in a cone: zero for equalities, non-negative for other rows.

    A row of a quadratic program with two bounds becomes two rows of A, whose multipliers are combined into one force.
    """

    accepts: ClassVar[tuple[type, ...]] = (QP, LeastSquares, ConeProgram)
    sparse: ClassVar[bool] = True
    triangles: ClassVar[tuple[str, ...]] = ("P",)

    @abstractmethod
    def cones(self, program: ConeProgram) -> RawSolution:
        """Solve a cone program of contacts and return the answer."""

    @abstractmethod
    def answer(self) -> RawSolution:
        """Solve the quadratic program and return the backend's answer, in which y are the multipliers of A's rows."""

    def check(self, program: Program) -> None:
        if not isinstance(program, ConeProgram):  # every ConeProgram is accepted, dense or sparse
            super().check(program)

    def setup(self, program: Program) -> None:
        self._cones = program if isinstance(program, ConeProgram) else None
        if self._cones is None:
            super().setup(program)

    def update(self, program: Program) -> None:
        if isinstance(program, ConeProgram) or not self.updates:
            self.setup(program)
        else:
            super().update(program)

    def data(self, qp: QP) -> dict[str, Any]:
        """Return P, q, A and b, with the equality rows first, and set `equalities`, the number of equality rows."""
        self._rows = found = OneSided.of(qp)
        self.equalities, sign = found.equal, -found.sign
        sign[: found.equal] = 1.0
        A: Any = qp.A[found.rows]
        b = sign * found.bound
        if is_sparse(A):
            A.data *= np.repeat(sign, np.diff(A.indptr))
        else:
            A *= sign[:, None]
        if not len(b):  # no backend accepts a program without rows, so 0 x <= 1 is added
            A, b = np.zeros((1, qp.n)), np.ones(1)
        return {"P": qp.P, "q": qp.q, "A": A, "b": b}

    def renew(self, data: dict[str, Any]) -> None:
        """Raise NotImplementedError; backends with `updates` override this method."""
        raise NotImplementedError

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        if self._cones is not None:
            return self.cones(self._cones)
        found = self.answer()
        if found.claim in (Status.INFEASIBLE, Status.UNBOUNDED) or found.y is None:
            return replace(found, x=None, y=None)
        z = found.y[: len(self._rows.rows)].copy()
        z[: self.equalities] *= -1.0
        return replace(found, y=self._rows.forces(z))
