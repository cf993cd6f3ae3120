"""Answers to programs: unverified, as a solver returns them, and verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.display import About, counted, short, shown
from gaussopt.core.fast_frozen import fast_frozen
from gaussopt.core.status import Status


class Timing(NamedTuple):
    """Wall-clock seconds of the parts of one solve.

    build: making the program; setup, update: passing it to the solver; solve: the call of the solver; recover:
    computing accelerations and forces from the answer; verify: the certificate; backend: the time that the solver
    itself reports for its part of `solve` (NaN if it reports none).
    """

    build: float = 0.0
    setup: float = 0.0
    update: float = 0.0
    solve: float = 0.0
    recover: float = 0.0
    verify: float = 0.0
    backend: float = float("nan")

    @property
    def total(self) -> float:
        """Sum of all parts except `backend`, s."""
        return self.build + self.setup + self.update + self.solve + self.recover + self.verify

    def to_mapping(self) -> dict[str, float | None]:
        """Return the seconds by part, for JSON."""
        backend = None if np.isnan(self.backend) else self.backend
        return {**self._asdict(), "backend": backend, "total": self.total}


@fast_frozen
@dataclass(frozen=True, slots=True)
class RawSolution:
    """The answer of a solver, not yet verified.

    Attributes
    ----------
    x : (n,), the point, or None if there is none
    y : (m,), duals in the sign convention of `gaussopt.core.programs`, or None if the solver returns none
    claim : the status that the solver claims
    iterations : int
    backend : seconds by the solver's own clock, NaN if it reports none
    note : a message of the solver
    solutions : all solutions, (n,) each, if the solver enumerates them
    history : tuple of float
        A measure of convergence, one number for each iteration, such as the residual of Newton's method or the best
        objective of an evolutionary search. Empty if the solver records none.
    """

    x: Vector | None
    y: Vector | None
    claim: Status
    iterations: int = 0
    backend: float = float("nan")
    note: str = ""
    solutions: tuple[Vector, ...] = ()
    history: tuple[float, ...] = ()


@shown
@dataclass(frozen=True, slots=True)
class Solution:
    """A verified answer to a program.

    Attributes
    ----------
    x, y : arrays or None, point and duals (forces)
    status, message
        Verified status and a sentence about it; `claim` is the status that the solver claimed.
    iterations, timing
    certificate : mapping, the verified properties of the returned point: residuals, error bound, verdict
    solutions : tuple of (n,), all solutions of an LCP if they were enumerated; for a continuum, its vertices
    history : tuple of float, the solver's record of its convergence, see `RawSolution`
    """

    x: Vector | None
    y: Vector | None
    status: Status
    claim: Status
    message: str
    iterations: int = 0
    timing: Timing = field(default_factory=Timing)
    certificate: Mapping[str, Any] = field(default_factory=dict)
    solutions: tuple[Vector, ...] = ()
    history: tuple[float, ...] = ()

    def _about(self) -> About:
        of = f"x = {short(self.x)}" if self.x is not None else "no point"
        bound = self.certificate.get("error_bound")
        proved = f"; error at most {bound:.2g}" if isinstance(bound, float) else ""
        rows = [("status", self.status), ("claim of the solver", self.claim), ("message", self.message), ("x", self.x),
                ("y", self.y), ("iterations", self.iterations), ("seconds", self.timing.total),
                *self.certificate.items()]  # fmt: skip
        return About(f"{self.status}, {of}", (f"{counted(self.iterations, 'iteration')}{proved}",), rows)
