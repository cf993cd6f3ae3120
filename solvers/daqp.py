"""DAQP through its own interface: a dual active-set method with one model for a sequence of programs.

Algorithm family: a Cholesky factor of P transforms the program to a least-distance problem, which is solved by a dual
active-set method whose L D L^T factors are updated row by row. It ends at an exact solution for the last working set,
so it is as accurate as linear algebra, and a good guess of the active rows saves iterations.
Assumptions: the program is dense and small, and P is positive definite. If P is singular in the first program of a
pattern, w/2 ||A x - b||^2 is added to the objective for the equality rows A x = b. This changes neither minimisers nor
forces, and the matrix becomes definite if the rows determine what P leaves undetermined. If it is still singular,
because only inequality rows make the minimiser unique, DAQP uses its proximal-point iteration on P + eps_prox I. This
takes several solves and is less accurate, about 1e-10 instead of 1e-15; at points where more rows are active than there
are unknowns it may cycle or report infeasible rows. Dependent equality rows are recognised and left out.
Weaknesses: its tolerances are absolute, so that a P or a row in small units (pivots below 1e-11) counts as zero.
Therefore `scaling` divides coordinates by sqrt(P_ii), rows by their length, and objective and bounds by the size of the
scaled q, l and u, if the first program of a pattern is badly scaled. DAQP factorises the Gram matrix of the rows, which
squares their condition number: on random programs whose masses span sixteen decades it cycles, and reports it, where
quadprog does not. On small programs a warm start takes longer than it saves, since it needs a separate call.
Reference: D. Arnstrom, A. Bemporad, D. Axehill, "A dual active-set solver for embedded quadratic programming
using recursive LDL^T updates", IEEE Trans. Automatic Control 67, 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import QP, LeastSquares, Program, as_qp
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver, backend
from gaussopt.core.status import Status
from gaussopt.linalg.dense import equilibrate, lapack

_CLAIMS = {
    1: (Status.SOLVED, "optimal"),
    -1: (Status.INFEASIBLE, "infeasible"),
    -2: (Status.SOLVER_ERROR, "cycling detected"),
    -3: (Status.UNBOUNDED, "unbounded"),
    -4: (Status.ITERATION_LIMIT, "iteration limit reached"),
    -5: (Status.SOLVER_ERROR, "nonconvex"),
    -6: (Status.INFEASIBLE, "the equality rows are overdetermined"),
    -7: (Status.TIME_LIMIT, "time limit reached"),
}

_EQUALITY = 5
"""The `sense` of an equality in DAQP, a sum of bits: active (1), at the lower bound (2), immutable (4)."""

_GUESS = np.array([0, 1 | 2, 1], dtype=np.intc)
"""DAQP's flag `sense` of a row, indexed by the sign 0, 1 or -1 of its force."""

_INFINITY = 1e30

_WELL_SCALED = 1e3
"""Programs are not scaled if all factors lie between 1 / _WELL_SCALED and _WELL_SCALED, and their ratio is below it."""

_ROUNDING = 1e-14
"""The linear part of the objective counts as zero up to this size, relative to the bounds."""

_SINGULAR = 1e-10
"""P counts as singular if its smallest eigenvalue, relative to the largest, is at most this."""

_REGULAR = 1e-7
"""The eigenvalues of P need not be computed if its estimated reciprocal condition number exceeds this."""


@dataclass(frozen=True)
class DAQPOptions(Options):
    """Options have the names of DAQP's settings, except `scaling`; `time_limit` is in seconds, 0 for no limit.

    `primal_tol` is measured in the mass norm (of scaled coordinates). A negative `eps_prox` regularises only if P is
    singular, a positive `eps_prox` always.
    """

    primal_tol: float = 1e-9
    dual_tol: float = 1e-12
    zero_tol: float = 1e-11
    pivot_tol: float = 1e-8
    progress_tol: float = 1e-14
    cycle_tol: int = 10
    iter_limit: int = 10000
    eps_prox: float = -1e-6
    eta_prox: float = 1e-12
    sing_tol: float = 3.7e-11
    refactor_tol: float = 1e-9
    time_limit: float = 0.0
    scaling: bool = True


class DAQP(Solver[DAQPOptions]):
    """DAQP's dual active-set method."""

    name = "daqp"
    title = "DAQP (dual active set, exact)"
    source = "Arnstrom et al. 2022"
    accepts = (QP, LeastSquares)
    requires = ("daqp",)
    updates = True
    warm_starts = True
    options_type = DAQPOptions

    def setup(self, program: Program) -> None:
        qp = as_qp(program)
        settings = {k: v for k, v in vars(self.options).items() if k != "scaling"}
        self._model = backend("daqp").Model()
        self._model.settings = settings
        self._guessable = not qp.equalities_only
        self._units = _units(qp) if self.options.scaling else None
        self._weight = 0.0
        self._weight = _weight(self._data(qp), qp.equality)
        self._sense = np.where(qp.equality, _EQUALITY, 0).astype(np.intc)
        H, f, A, upper, lower = self._data(qp)
        self._flag, self._seconds = self._model.setup(H, f, A, upper, lower, self._sense)
        self._ready = self._flag >= 0

    def update(self, program: Program) -> None:
        """Write new numbers into the memory of the model; the working set starts with the equality rows."""
        qp = as_qp(program)
        if not self._ready or not qp.m:  # a model without rows crashes on its second update
            self.setup(program)
            return
        H, f, A, upper, lower = self._data(qp)
        self._flag = self._model.update(H, f, A, upper, lower, self._sense)
        self._seconds = 0.0
        self._ready = self._flag >= 0

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        """Solve the program from the working set that the signs of the duals of `start` indicate."""
        if not self._ready:
            return self._failed(self._flag)
        if start is not None and start[1] is not None and self._guessable:
            guess = _GUESS[np.sign(start[1]).astype(np.intp)]
            if self._model.update(sense=guess | self._sense) < 0:  # negative if the guessed rows are dependent
                self._model.update(sense=self._sense)
        x, _, flag, info = self._model.solve()
        seconds = self._seconds + info["solve_time"]
        if flag <= 0:
            return self._failed(flag, info["iterations"], seconds)
        claim, note = _CLAIMS.get(flag, (Status.INACCURATE, f"exit flag {flag}"))
        y = -info["lam"]
        if self._units is not None:
            d, e, size, pull = self._units
            x, y = size * (d * x), pull * (e * y)
        return RawSolution(x, y, claim, info["iterations"], seconds, note)

    def _failed(self, flag: int, iterations: int = 0, seconds: float = float("nan")) -> RawSolution:
        claim, note = _CLAIMS.get(flag, (Status.SOLVER_ERROR, f"exit flag {flag}"))
        return RawSolution(None, None, claim, iterations, seconds, note)

    def _data(self, qp: QP) -> tuple[Matrix, Vector, Matrix, Vector, Vector]:
        """Return P, q, A and the bounds u, l in the form that DAQP requires: writable, row-major, finite."""
        P, q, A, l, u = qp.P, qp.q, qp.A, qp.l, qp.u
        if self._units is not None:
            d, e, size, pull = self._units
            P, q = (size / pull) * d[:, None] * P * d, d * q / pull
            A, l, u = e[:, None] * A * d, e * l / size, e * u / size
        if self._weight:
            rows = A[qp.equality]
            P = P + self._weight * (rows.T @ rows)
            q = q - self._weight * (rows.T @ l[qp.equality])
        if self._guessable:
            l, u = np.maximum(l, -_INFINITY), np.minimum(u, _INFINITY)
        return _own(P), _own(q), _own(A), _own(u), _own(l)


def _own(array: Any) -> Any:
    """Return a writable array; DAQP rejects read-only arrays, although it does not write into them."""
    return array if array.flags.writeable else array.copy()


def _units(qp: QP) -> tuple[Vector, Vector, float, float] | None:
    """Return units of coordinates, factors of rows, and sizes of bounds and of q; None if the program is well scaled.

    The sizes of bounds and of q may differ only if P = 0, because the forces then do not depend on the size of x.
    """
    d, e = equilibrate(qp.P, qp.A)
    # Only equalities are considered: the bounds of inequalities may be far away from the answer.
    held = e[qp.equality] * qp.l[qp.equality]
    pull, reached = float(np.abs(d * qp.q).max()), float(np.abs(held).max(initial=0.0))
    size = max(pull, reached) if qp.P.any() or not reached else reached
    near = (np.minimum(np.abs(qp.l), np.abs(qp.u)) * e)[qp.A.any(axis=1)]
    reach = float(near[near < np.inf].max(initial=0.0))
    if size <= _ROUNDING * reach:  # if the other data are negligible, the bounds give the size of the answer
        size = reach or 1.0
    if qp.P.any() or not pull:
        pull = size
    factors = np.concatenate((d, e))
    low, high = float(factors.min()), float(factors.max())
    if high < _WELL_SCALED * min(low, 1.0) and low > 1.0 / _WELL_SCALED and 1e-6 < size < 1e6 and 1e-6 < pull < 1e6:
        return None
    return d, e, size, pull


def _weight(data: tuple[Matrix, Vector, Matrix, Vector, Vector], equality: Any) -> float:
    """Return the weight w of the equality rows in the objective: positive if P is singular, otherwise 0."""
    P, rows = data[0], data[2][equality]
    size = float(np.linalg.norm(rows)) ** 2
    if size == 0.0:
        return 0.0
    factor, failed = lapack().dpotrf(P)
    if not failed and lapack().dpocon(factor, np.abs(P).sum(axis=0).max())[0] > _REGULAR:
        return 0.0
    values = np.linalg.eigvalsh(P)
    if values[0] > _SINGULAR * values[-1]:
        return 0.0
    return (float(np.linalg.norm(P)) or 1.0) / size


solver = DAQP
