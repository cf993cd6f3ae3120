"""A solver of contacts that does not come back from some problems, and refuses others."""

from __future__ import annotations

import time
from typing import Any

from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.programs import Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver, make_solver


class SlowOrChoosy(Solver[Options]):
    name = "slow-or-choosy"
    title = "Depends on the friction"
    source = "none"
    accepts = (ConeComplementarity,)

    def refuses(self, program: Program) -> str | None:
        reason = super().refuses(program)
        assert isinstance(program, ConeComplementarity)
        return reason or ("it is too slippery" if program.mu[0] == 0.7 else None)

    def setup(self, program: Program) -> None:
        assert isinstance(program, ConeComplementarity)
        self._hard = program.mu[0] == 0.6
        self._inner = make_solver("hybrid")
        self._inner.setup(program)

    def solve(self, start: Any) -> RawSolution:
        if self._hard:
            time.sleep(600.0)
        return self._inner.solve(start)


solver = SlowOrChoosy
