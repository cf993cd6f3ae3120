"""OSQP through its own interface: set up once, then vectors and matrices updated in place.

Algorithm family: operator splitting (ADMM) on a quasi-definite KKT system, polished by one active-set solve.
Reference: B. Stellato, G. Banjac, P. Goulart, A. Bemporad, S. Boyd, "OSQP: an operator splitting solver for
quadratic programs", Math. Prog. Comp. 12, 2020. Its default accuracy of 1e-3 is far too coarse for mechanics;
the defaults here are tight and polished.
"""

from __future__ import annotations

from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gaussopt.programs import QP, LeastSquares, Program, RawSolution, as_qp
from gaussopt.solver import Options, Solver, backend
from gaussopt.status import Status
from gaussopt.stepdata import Matrix, Vector

_CLAIMS = {
    1: Status.SOLVED,
    2: Status.INACCURATE,
    3: Status.INFEASIBLE,
    4: Status.INFEASIBLE,
    5: Status.UNBOUNDED,
    6: Status.UNBOUNDED,
    7: Status.ITERATION_LIMIT,
    8: Status.TIME_LIMIT,
    9: Status.SOLVER_ERROR,
}


@dataclass(frozen=True)
class OSQPOptions(Options):
    """OSQP's own names; `time_limit` in seconds, 0 for none."""

    eps_abs: float = 1e-9
    eps_rel: float = 1e-9
    max_iter: int = 20000
    polishing: bool = True
    polish_refine_iter: int = 10
    eps_prim_inf: float = 1e-8
    eps_dual_inf: float = 1e-8
    scaling: int = 10
    rho: float = 0.1
    sigma: float = 1e-6
    alpha: float = 1.6
    adaptive_rho: bool = True
    time_limit: float = 0.0


class OSQP(Solver[OSQPOptions]):
    """Operator splitting with polish."""

    name = "osqp"
    title = "OSQP (operator splitting, polished)"
    source = "Stellato et al. 2020"
    accepts = (QP, LeastSquares)
    requires = ("osqp",)
    sparse = True
    exact = False
    updates = True
    warm_starts = True
    precision = tuple({"eps_abs": e, "eps_rel": e} for e in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9))
    options_type = OSQPOptions

    def setup(self, program: Program) -> None:
        """Scale and factorise; all entries are kept so that later values fit the pattern."""
        osqp = backend("osqp")
        qp = as_qp(program)
        o = self.options
        settings: dict[str, Any] = {
            "eps_abs": o.eps_abs, "eps_rel": o.eps_rel, "max_iter": o.max_iter, "polishing": o.polishing,
            "polish_refine_iter": o.polish_refine_iter, "scaling": o.scaling, "rho": o.rho, "sigma": o.sigma,
            "eps_prim_inf": o.eps_prim_inf, "eps_dual_inf": o.eps_dual_inf, "alpha": o.alpha,
            "adaptive_rho": o.adaptive_rho,
        }  # fmt: skip
        if o.time_limit > 0:
            settings["time_limit"] = o.time_limit
        self._model = osqp.OSQP(algebra="builtin")
        self._model.setup(
            _upper_csc(qp.P) if not qp.sparse else sparse.csc_matrix(sparse.triu(qp.P)),
            qp.q,
            _dense_csc(qp.A) if not qp.sparse else sparse.csc_matrix(qp.A),
            qp.l,
            qp.u,
            verbose=False,
            warm_starting=True,
            **settings,
        )
        self._qp = qp

    def update(self, program: Program) -> None:
        """New numbers, same pattern."""
        qp = as_qp(program)
        if qp.sparse:
            Px, Ax = sparse.triu(qp.P, format="csc").data, sparse.csc_matrix(qp.A).data
        else:
            Px, Ax = _upper_values(qp.P), qp.A.ravel(order="F")
        self._model.update(
            Px=Px, Ax=Ax if qp.m else None, q=qp.q,
            l=qp.l if qp.m else None, u=qp.u if qp.m else None,
        )  # fmt: skip
        self._qp = qp

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        """Iterate from the start, or from zero."""
        if start is None:
            self._model.warm_start(x=np.zeros(self._qp.n), y=np.zeros(self._qp.m))
        else:
            x, y = start
            self._model.warm_start(x=x, y=np.zeros(self._qp.m) if y is None else -y)
        with redirect_stdout(StringIO()):  # polish reports an empty active set there, even when not verbose
            result = self._model.solve(raise_error=False)
        info = result.info
        claim = _CLAIMS.get(int(info.status_val), Status.SOLVER_ERROR)
        seconds = info.update_time + info.solve_time + info.polish_time
        if claim in (Status.INFEASIBLE, Status.UNBOUNDED):
            return RawSolution(None, None, claim, info.iter, seconds, info.status)
        return RawSolution(np.array(result.x), -np.array(result.y), claim, info.iter, seconds, info.status)


def _dense_csc(A: Matrix) -> Any:
    """A in compressed columns with every entry kept, zeros too."""
    m, n = A.shape
    return sparse.csc_matrix((A.ravel(order="F").copy(), np.tile(np.arange(m), n), np.arange(n + 1) * m), shape=(m, n))


def _upper_csc(P: Matrix) -> Any:
    """Upper triangle of P in compressed columns with every entry kept."""
    n = len(P)
    columns = np.arange(n)
    rows = np.concatenate([np.arange(j + 1) for j in columns])
    ends = np.concatenate(([0], np.cumsum(columns + 1)))
    return sparse.csc_matrix((_upper_values(P), rows, ends), shape=(n, n))


def _upper_values(P: Matrix) -> Vector:
    """Upper triangle of P column by column."""
    return np.asarray(P.take(_upper_places(len(P))))


@cache
def _upper_places(n: int) -> NDArray[np.intp]:
    """Where the upper triangle of a flat (n, n) matrix lies, column by column."""
    columns, rows = np.tril_indices(n)
    return np.asarray(columns + rows * n)


solver = OSQP
