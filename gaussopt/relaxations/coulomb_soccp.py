"""Coulomb's law itself in de Saxce's form, as a complementarity problem over friction cones."""

from __future__ import annotations

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.relaxations.base import Ask, ContactFormulation


class CoulombSOCCP(ContactFormulation):
    """The contact problem itself, as a single program."""

    name = "coulomb-soccp"
    title = "Cone complementarity with de Saxce's shift (exact Coulomb)"
    source = "de Saxce & Feng 1998"

    def impulses(self, problem: ConeComplementarity, ask: Ask) -> Vector | None:
        return ask(problem)
