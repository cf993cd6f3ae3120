"""Formulations of Coulomb's law for contacts in space as programs: exact, convex, with facets, or by iteration.

`find(name)` returns a formulation; the name may have a variant after a colon, as in "coulomb-pyramid:16".
"""

from __future__ import annotations

from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.programs import Program
from gaussopt.relaxations.base import ContactFormulation
from gaussopt.relaxations.formulations import ACLM, CoulombCCP, CoulombPyramid, CoulombSOCCP, Panagiotopoulos, Tresca

RELAXATIONS: dict[str, type[ContactFormulation]] = {
    entry.name: entry for entry in (CoulombSOCCP, CoulombCCP, CoulombPyramid, ACLM, Tresca, Panagiotopoulos)
}


def find(name: str) -> ContactFormulation:
    """Return a formulation of contact problems by its name; raises UnknownName, or BadInput for an invalid variant."""
    base, _, variant = name.partition(":")
    if base not in RELAXATIONS:
        raise UnknownName("formulation of contacts", base, RELAXATIONS)
    if not variant:
        return RELAXATIONS[base]()
    if base != CoulombPyramid.name or not variant.isdigit() or int(variant) < 3 or int(variant) > 256:
        raise BadInput(f"{name!r} is no variant of {base!r}; coulomb-pyramid takes 3 to 256 facets, coulomb-pyramid:8.")
    return CoulombPyramid(int(variant))


def is_contact_formulation(name: str) -> bool:
    """Return whether a name, with or without a variant, belongs to a formulation of contact problems."""
    return name.partition(":")[0] in RELAXATIONS


def first_program(formulation: ContactFormulation, problem: ConeComplementarity) -> Program:
    """Return the first program that a formulation makes of a problem; its kind determines the usable solvers."""
    asked: list[Program] = []
    formulation.impulses(problem, asked.append)
    return asked[0]
