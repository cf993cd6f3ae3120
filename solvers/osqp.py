"""OSQP through its own interface: it is set up once, then vectors and matrices are updated in place.

Algorithm family: operator splitting (ADMM) with a quasi-definite KKT system, polished by one active-set solve.
Reference: B. Stellato, G. Banjac, P. Goulart, A. Bemporad, S. Boyd, "OSQP: an operator splitting solver for
quadratic programs", Math. Prog. Comp. 12, 2020. OSQP's default accuracy of 1e-3 is far too coarse for mechanics;
the defaults here are tight tolerances, with polishing.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.programs import QP, LeastSquares
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, backend
from gaussopt.core.status import Status
from gaussopt.solvers._places import InColumns


class _Hush:
    """A replacement of `sys.stdout` that drops the output of threads that are running OSQP.

    All threads share `sys.stdout`, through which OSQP prints, so only the last thread to leave the context restores it.
    """

    _lock = threading.Lock()
    _here = threading.local()
    _users = 0
    _shown: Any = None

    def __enter__(self) -> None:
        with _Hush._lock:
            if not _Hush._users:
                _Hush._shown, sys.stdout = sys.stdout, self
            _Hush._users += 1
        self._here.quiet = True

    def __exit__(self, *error: object) -> None:
        self._here.quiet = False
        with _Hush._lock:
            _Hush._users -= 1
            if not _Hush._users:
                sys.stdout = _Hush._shown

    def write(self, text: str) -> int:
        """Write to the original stream, unless this thread is silenced."""
        if getattr(self._here, "quiet", False) or self._shown is None:
            return len(text)
        return int(self._shown.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shown, name)


_HUSH = _Hush()

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
    """Options have the names of OSQP's settings; `time_limit` is in seconds, 0 for no limit."""

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


class OSQP(InColumns[OSQPOptions]):
    """OSQP's operator splitting with polishing."""

    name = "osqp"
    title = "OSQP (operator splitting, polished)"
    source = "Stellato et al. 2020"
    accepts = (QP, LeastSquares)
    requires = ("osqp",)
    sparse = True
    exact = False
    triangles = ("P",)
    warm_starts = True
    precision = tuple({"eps_abs": e, "eps_rel": e} for e in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9))
    options_type = OSQPOptions

    def data(self, qp: QP) -> dict[str, Any]:
        return {"P": qp.P, "q": qp.q, "A": qp.A, "l": qp.l, "u": qp.u}

    def begin(self, qp: QP, data: dict[str, Any]) -> None:
        """Set up a model whose sparsity pattern includes entries that are zero now, but may be nonzero in an update."""
        osqp = backend("osqp")
        o = self.options
        settings = {x.name: getattr(o, x.name) for x in fields(o) if x.name != "time_limit" or o.time_limit > 0}
        self._model = osqp.OSQP(algebra="builtin")
        try:
            with _HUSH:
                self._model.setup(**data, verbose=False, warm_starting=True, **settings)
        except (TypeError, osqp.OSQPException) as error:
            if isinstance(error, osqp.OSQPException) and error != osqp.SolverError.OSQP_SETTINGS_VALIDATION_ERROR:
                raise
            raise BadInput(_refused(o)) from None
        self._size = qp.n, qp.m

    def renew(self, data: dict[str, Any]) -> None:
        new = {"q": data["q"], "Px": data["P"].data}
        if len(data["l"]):
            new |= {"l": data["l"], "u": data["u"], "Ax": data["A"].data}
        self._model.update(**new)

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        model, (n, m) = self._model, self._size
        x, y = (np.zeros(n), None) if start is None else start
        model.warm_start(x, np.zeros(m) if y is None else -y)
        with _HUSH:  # polishing prints a message on an empty active set, even if `verbose` is False
            found = model.solve(raise_error=False)
        info = found.info
        claim = _CLAIMS.get(info.status_val, Status.SOLVER_ERROR)
        seconds = info.update_time + info.solve_time + info.polish_time
        if claim in (Status.INFEASIBLE, Status.UNBOUNDED):
            return RawSolution(None, None, claim, info.iter, seconds, info.status)
        return RawSolution(found.x, -found.y, claim, info.iter, seconds, info.status)


def _refused(options: OSQPOptions) -> str:
    """Return the error message for settings that OSQP rejects."""
    given = ", ".join(f"{x.name} = {getattr(options, x.name)!r}" for x in fields(options)
                      if getattr(options, x.name) != x.default)  # fmt: skip
    return f"OSQP does not take these settings: {given}; see its documentation for their types and ranges."


solver = OSQP
