"""Tresca friction, |r_T| <= g with given g, as a convex program, iterated with g = mu r_N.

Fixed points of g satisfy Coulomb's law.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.cone_program import ConeProgram
from gaussopt.relaxations.base import Ask, ContactFormulation, settled


class Tresca(ContactFormulation):
    """Convex programs, each with the friction thresholds that follow from the normal impulses of the previous."""

    name = "tresca"
    title = "Programs with given friction thresholds, iterated"
    source = "Haslinger 1983"
    most_programs = 100

    def impulses(self, problem: ConeComplementarity, ask: Ask) -> Vector | None:
        P, radius, found = problem.symmetric_part, np.zeros(problem.k), None
        for _ in range(self.most_programs):
            r = ask(ConeProgram(P, problem.q, problem.mu, radius))
            if r is None:
                return found
            found, old = r, radius
            radius = problem.mu * np.maximum(r[::ROWS], 0.0)
            if settled(radius, old):
                break
        return found
