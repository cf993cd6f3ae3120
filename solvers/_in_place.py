"""Backends with an interface of their own for dense programs: set up once, then updated in place.

They take the rows l <= A x <= u split into equalities A x = b and two-sided rows l <= G x <= u; rows without a bound
are left out.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from gaussopt.core.programs import QP, LeastSquares, Program, as_qp
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import O, Solver
from gaussopt.core.status import Status
from gaussopt.core.step_data import Vector


class InPlace(Solver[O]):
    """A dense backend that keeps its memory from program to program.

    Class attributes
    ----------------
    names : tuple of str
        What it calls P, q, A, b, G, l and u.
    """

    accepts = (QP, LeastSquares)
    exact = False
    updates = True
    precision = tuple({"eps_abs": e, "eps_rel": e} for e in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10))
    names: ClassVar[tuple[str, str, str, str, str, str, str]]

    @abstractmethod
    def _make(self, n: int, equalities: int, rows: int) -> Any:
        """The backend's solver for n unknowns and so many equalities and two-sided rows."""

    def setup(self, program: Program) -> None:
        """Allocate, scale and factorise."""
        qp = as_qp(program)
        data = self._data(qp)
        self._solver = self._make(qp.n, int(self._eq.sum()), int(self._bounded.sum()))
        settings = self._solver.settings
        settings.verbose = False
        settings.compute_timings = True
        for key, value in vars(self.options).items():
            setattr(settings, key, value)
        getattr(self._solver, self._initialise)(**data)

    _initialise: ClassVar[str] = "setup"

    def _data(self, qp: QP) -> dict[str, Any]:
        """The program in the backend's words; of equalities alone without copies."""
        self._eq = eq = qp.equality
        self._bounded = rows = ~eq & (np.isfinite(qp.l) | np.isfinite(qp.u))
        parts: tuple[Any, ...] = (qp.P, qp.q, None, None)
        if eq.any():
            parts = (qp.P, qp.q, qp.A, qp.l) if qp.equalities_only else (qp.P, qp.q, qp.A[eq], qp.l[eq])
        if not qp.equalities_only:
            parts = (*parts, qp.A[rows], qp.l[rows], qp.u[rows])
        return {name: part for name, part in zip(self.names, parts, strict=False) if part is not None}

    def _answer(
        self, x: Vector, y: Vector, z: Vector, claim: Status, info: Any, seconds: float, note: str
    ) -> RawSolution:
        """The answer that has the backend's multipliers y of A and the forces z of G."""
        if claim in (Status.INFEASIBLE, Status.UNBOUNDED):
            return RawSolution(None, None, claim, info.iter, seconds, note)
        forces = np.zeros(len(self._eq))
        forces[self._eq], forces[self._bounded] = -y, z
        return RawSolution(np.array(x), forces, claim, info.iter, seconds, note)
