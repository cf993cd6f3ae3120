"""Solutions of one or two contacts with friction cones, by visiting every mode.

The modes of a single contact are open, stick, and the roots of the quartic for slip; no solution is missed. For two
contacts every pair of modes is tried; if both slide, the slip direction of one is scanned. Newton steps refine results.
Reference: O. Bonnefon, G. Daviet, "Quartic formulation of Coulomb 3D frictional contact", INRIA RT-0400, 2011.
"""

from __future__ import annotations

import numpy as np

from gaussopt.cone import two_contacts
from gaussopt.cone.one_contact import solve_contact
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options
from gaussopt.core.status import Status
from gaussopt.linalg.cones import residual, velocity_size
from gaussopt.solvers._kept import Kept
from gaussopt.solvers.nsn_ac import newton

LIMIT = 2
"""Largest number of contacts that the solver accepts."""

SOLVES, APART = 1e-12, 1e-6
"""Largest natural map of a solution, and smallest distance of different velocities, both relative to |q|."""


class EnumerateCone(Kept[Options]):
    """Enumeration of the modes of one or two contacts."""

    name = "enumerate-cone"
    title = "Enumeration of the modes of one or two contacts (all solutions)"
    source = "Bonnefon & Daviet 2011"
    accepts = (ConeComplementarity,)

    def refuses(self, program: ConeComplementarity) -> str | None:
        reason = super().refuses(program)
        if reason is None and program.k > LIMIT:
            return f"it has {program.k} contacts; at most {LIMIT} are enumerated"
        return reason

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        problem = self.program
        if not problem.k:
            return RawSolution(np.zeros(0), None, Status.SOLVED)
        if problem.k == 1:
            one = solve_contact(problem)
            candidates, found = list(one.solutions), []
        else:
            candidates, found = list(two_contacts.candidates(problem)), list[Vector]()
        size = velocity_size(problem)
        for r in candidates:
            if residual(problem, r) > SOLVES:
                r, _ = newton(problem, r, 20, 1e-13)
            if residual(problem, r) > SOLVES:
                continue
            if all(np.linalg.norm(problem.W @ (r - other)) > APART * size for other in found):
                found.append(r)
        if not found:
            claim = Status.NO_SOLUTION if problem.k == 1 and one.complete else Status.ITERATION_LIMIT
            return RawSolution(None, None, claim, len(candidates), note="no mode is possible")
        claim = Status.SOLVED if len(found) == 1 else Status.MULTIPLE_SOLUTIONS
        return RawSolution(found[0], None, claim, len(candidates), solutions=tuple(found) if len(found) > 1 else ())


solver = EnumerateCone
