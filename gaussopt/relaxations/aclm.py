"""Solve cone programs with a given shift s, set s = mu |u_T| and repeat; a fixed point satisfies Coulomb's law."""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.cone_program import ConeProgram
from gaussopt.relaxations.base import Ask, ContactFormulation, settled


class ACLM(ContactFormulation):
    """Convex programs, each with the shift computed from the slip of the previous; convergence is not guaranteed."""

    name = "aclm"
    title = "Cone programs with frozen shift, iterated"
    source = "Acary, Cadoux, Lemarechal & Malick 2011"
    most_programs = 60

    def impulses(self, problem: ConeComplementarity, ask: Ask) -> Vector | None:
        P, s, found = problem.symmetric_part, np.zeros(problem.k), None
        for _ in range(self.most_programs):
            p = problem.q.copy()
            p[::ROWS] += s
            r = ask(ConeProgram(P, p, problem.mu))
            if r is None:
                return found
            found, old = r, s
            slip = problem.u(r).reshape(-1, ROWS)[:, 1:]
            s = problem.mu * np.hypot(slip[:, 0], slip[:, 1])
            if settled(s, old):
                break
        return found
