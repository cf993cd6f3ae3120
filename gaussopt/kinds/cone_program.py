"""Cone programs of contacts, whose answers are judged by their natural map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.core.acceptance import Measures, ProgramCertificate
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_program import ConeProgram
from gaussopt.core.solution import RawSolution
from gaussopt.core.status import Status
from gaussopt.core.tolerances import finite_entries
from gaussopt.kinds.base import Page, Residuals, Verdict
from gaussopt.linalg.cones import feasible, steps_of


@dataclass(frozen=True, slots=True)
class ConeProgramCertificate(ProgramCertificate):
    """The natural map at a point; as the program is convex, it is zero if and only if the point is a minimiser."""

    relative_residual: float

    @property
    def measures(self) -> Measures:
        """The norm of the natural map; the error is unknown."""
        return Measures(True, self.relative_residual)

    def to_mapping(self) -> dict[str, float | None]:
        """Return the certificate for JSON."""
        return finite_entries(self, "relative_residual")


class ConeProgramPage(Page[ConeProgram]):
    """The `Page` of `ConeProgram`: how such programs are read, solved and certified."""

    kind = ConeProgram
    title = "cone program of contacts"
    solver = "clarabel"

    def certify(self, program: ConeProgram, raw: RawSolution, tolerance: float) -> ConeProgramCertificate:
        return ConeProgramCertificate(np.inf if raw.x is None else natural_map(program, raw.x))

    def doubt(self, program: ConeProgram, proof: ConeProgramCertificate, raw: RawSolution, tolerance: float) -> Verdict:
        status = Status.INACCURATE if raw.claim is Status.SOLVED else raw.claim
        return status, f"{status.sentence} (natural map {proof.relative_residual:.3g} of |q|)"

    def duals(self, proof: Any, raw: RawSolution, tolerance: float) -> None:
        return None

    def residuals(self, program: ConeProgram, x: Vector, y: Vector | None) -> Residuals:
        return Residuals(0.0, natural_map(program, x), 0.0)


def natural_map(program: ConeProgram, r: Vector) -> float:
    """Return |e| / |q| for e = (r - F(r - rho (P r + q))) / rho, where F is `feasible` and rho is `steps_of` P."""
    rho = np.repeat(steps_of(program.P), 3)
    e = (r - feasible(program, r - rho * (program.P @ r + program.q))) / rho
    return float(np.linalg.norm(e)) / (float(np.linalg.norm(program.q)) or 1.0)
