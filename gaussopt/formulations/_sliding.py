"""Programs in the normal forces of sliding contacts."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from gaussopt.contact.operator import ContactOperator
from gaussopt.core.arrays import Vector
from gaussopt.core.programs import LCP, Program
from gaussopt.core.step_data import StepData
from gaussopt.formulations.base import Candidate, Formulation


class SlidingFormulation(Formulation):
    """A program for lam_N whose data are only delassus and bias, so that it can be made from any LCP."""

    def refuses(self, step: StepData) -> str | None:
        return not_sliding(step)

    @abstractmethod
    def program(self, lcp: LCP) -> Program:
        """Return the program for lam_N of an LCP with M = delassus, q = bias. May raise NotAccepted or IllPosed."""

    def apply(self, step: StepData) -> tuple[Program, Any]:
        op = ContactOperator.of(step)
        return self.program(op.lcp), op

    def recover(self, data: Any, x: Vector, y: Vector | None) -> Candidate:
        return candidate_of(data, x)

    def remarks(self, lcp: LCP, z: Vector | None) -> dict[str, Any]:
        """Return further entries for JSON; z are the normal forces, None if the program was not solved."""
        return {}

    def details(self, data: Any, x: Vector | None) -> dict[str, Any]:
        return self.remarks(data.lcp, x)


def candidate_of(op: ContactOperator, x: Vector) -> Candidate:
    """Return the candidate with the contact forces x."""
    return Candidate(op.acceleration(x), op.multipliers(x), *op.split(x))


def not_sliding(step: StepData) -> str | None:
    """Return why there is no program in lam_N: no contact, or a contact without slip; None if all contacts slide."""
    if not step.k:
        return "the step has no closed contacts; use gauss or lagrange"
    if step.resting.any():
        i = int(np.argmax(step.resting))
        return (
            f"contact {i + 1} has friction and zero slip, where sliding friction has no sign: it sticks or starts to "
            "slip; use stick-slip"
        )
    return None
