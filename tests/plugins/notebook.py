"""A solver that remembers every program that any of its kind has met."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gaussopt.core.programs import QP, Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status


class Notebook(Solver[Options]):
    name = "notebook"
    title = "Equality-constrained programs by a long way, and by heart"
    source = "none"
    accepts = (QP,)
    updates = True
    book: ClassVar[dict[bytes, RawSolution]] = {}

    def setup(self, program: Program) -> None:
        self._qp = program

    update = setup

    def solve(self, start: Any) -> RawSolution:
        qp = self._qp
        assert isinstance(qp, QP)
        key = b"".join(part.tobytes() for part in (qp.P, qp.q, qp.A, qp.l))
        if key not in self.book:
            n = qp.n
            K = np.block([[qp.P, -qp.A.T], [qp.A, np.zeros((qp.m, qp.m))]])
            for _ in range(100):
                x = np.linalg.lstsq(K, np.append(-qp.q, qp.l), rcond=None)[0]
            self.book[key] = RawSolution(x[:n], x[n:], Status.SOLVED)
        return self.book[key]


solver = Notebook
