"""Contacts that slide, stick or start to slip, as one linear complementarity problem.

With lam_R = lam_T + mu lam_N, lam_L = mu lam_N - lam_T and the slip acceleration s = kappa_R - kappa_L of the contacts
without slip,

    0 <= (w, kappa_R, lam_L)   complementary to   (lam_N, lam_R, kappa_L) >= 0.

Contacts that slide have lam_T = mu lam_N sigma as in `lcp`; if all contacts slide, the problem is that of `lcp`.
"""

from __future__ import annotations

from gaussopt.contact.operator import ContactOperator
from gaussopt.core.arrays import Vector
from gaussopt.core.programs import LCP
from gaussopt.core.step_data import StepData
from gaussopt.formulations._sliding import candidate_of
from gaussopt.formulations.base import Candidate, Formulation


class StickSlip(Formulation):
    """Signorini's and Coulomb's laws, stick included."""

    name = "stick-slip"
    title = "Stick-slip LCP"
    source = "Glocker & Pfeiffer 1993"

    def refuses(self, step: StepData) -> str | None:
        if not step.k:
            return "the step has no closed contacts; use gauss or lagrange"
        if step.rests_in_space:
            return "a contact without slip has two tangents; its friction cone makes no LCP, use coulomb-soccp"
        return None

    def apply(self, step: StepData) -> tuple[LCP, ContactOperator]:
        """Return the LCP, of size k + 2 r, where r is the number of contacts without slip."""
        op = ContactOperator.of(step)
        return op.lcp, op

    def recover(self, data: ContactOperator, x: Vector, y: Vector | None) -> Candidate:
        return candidate_of(data, data.x(x))


formulation = StickSlip()
