"""The convex relaxation of Coulomb's law without de Saxce's shift: u in K* complementary to r in K.

A sliding contact opens with u_N = mu |u_T| (dilation); sticking and open contacts satisfy Coulomb's law. Only the
symmetric part of W is used.
"""

from __future__ import annotations

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.cone_program import ConeProgram
from gaussopt.relaxations.base import Ask, ContactFormulation


class CoulombCCP(ContactFormulation):
    """A single convex cone program."""

    name = "coulomb-ccp"
    title = "Convex cone program without shift (lifts what slides)"
    source = "Anitescu & Tasora 2010"
    exact = False

    def impulses(self, problem: ConeComplementarity, ask: Ask) -> Vector | None:
        return ask(ConeProgram(problem.symmetric_part, problem.q, problem.mu))
