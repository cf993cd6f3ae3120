"""Answers to programs, as solvers return them and as they are verified."""

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

    build: formulation; setup and update: handing the program to the solver; solve: the solver's call;
    recover: back to accelerations and forces; verify: the certificate; backend: what the solver itself
    reports for its part of `solve` (NaN if it reports nothing).
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
        """Sum of the parts."""
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
    x : (n,) or None, the point, None if there is none
    y : (m,) or None, duals in gaussopt's sign, None if the solver gives none
    claim : the status that the solver claims
    iterations : int
    backend : seconds by the solver's own clock, NaN if it reports none
    note : what the solver says in words
    solutions : all solutions, (n,) each, from a solver that enumerates
    history : tuple of float
        A measure of convergence recorded by the solver, one number an iteration: the residual of Newton's method, the
        best objective of an evolutionary search. Empty where nothing is recorded.
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
        Verified status and its sentence; `claim` is what the solver said.
    iterations, timing
    certificate : mapping, what was verified of the returned point: residuals, error bound, verdict
    solutions : tuple of (n,), all solutions of an LCP where they were enumerated; of a continuum its vertices
    history : tuple of float, the solver's record of its convergence, see RawSolution
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
