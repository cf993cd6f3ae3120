"""Coulomb's law of contacts in space in de Saxce's form, as a complementarity problem over friction cones.

    u = (w, s),    K* contains u + mu |s| n   _|_   (lam_N, lam_T) in K = {|lam_T| <= mu lam_N}

where w are the gap accelerations and s the slip accelerations of contacts without slip, which stick, or start to slip
against their friction. Contacts that slide have lam_T = mu lam_N sigma as in `lcp`.
"""

from __future__ import annotations

from gaussopt.contact.friction_cones import FrictionCones
from gaussopt.contact.operator import ContactOperator
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.step_data import StepData
from gaussopt.formulations._sliding import candidate_of
from gaussopt.formulations.base import Candidate, Formulation


class ContactCones(Formulation):
    """Signorini's and Coulomb's laws in space, stick included."""

    name = "coulomb-soccp"
    title = "Cone complementarity with de Saxce's shift (exact Coulomb in space)"
    source = "de Saxce & Feng 1998"

    def refuses(self, step: StepData) -> str | None:
        return FrictionCones.refuses(step)

    def apply(self, step: StepData) -> tuple[ConeComplementarity, ContactOperator]:
        op = ContactOperator.of(step)
        return op.cones.problem, op

    def recover(self, data: ContactOperator, x: Vector, y: Vector | None) -> Candidate:
        return candidate_of(data, data.cones.x(x))


formulation = ContactCones()
