"""Programs in the normal forces of sliding contacts."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from gaussopt.contact.operator import ContactOperator
from gaussopt.core.programs import LCP, Program
from gaussopt.core.step_data import StepData, Vector
from gaussopt.formulations.base import Candidate, Formulation


class SlidingFormulation(Formulation):
    """A program in the normal forces of sliding contacts, made of w = delassus lam_N + bias.

    Class attributes
    ----------------
    takes_lcp : bool
        Whether delassus and bias are all it needs, so that it takes an LCP too.
    """

    takes_lcp: ClassVar[bool] = True

    def refuses(self, step: StepData) -> str | None:
        """Steps without contacts, and contacts without slip, whose friction has no sign."""
        return not_sliding(step)

    @abstractmethod
    def program(self, lcp: LCP) -> Program:
        """The program whose solution is lam_N.

        M is delassus, q is bias.

        Raises
        ------
        NotAccepted, IllPosed
        """

    def normal_forces(self, x: Vector) -> Vector:
        """lam_N of the program's solution."""
        return x

    def apply(self, step: StepData) -> tuple[Program, Any]:
        """The program of the contact operator."""
        op = ContactOperator.of(step)
        return self.program(op.lcp), op

    def recover(self, data: Any, x: Vector, y: Vector | None) -> Candidate:
        """Accelerations and joint forces that belong to the normal forces."""
        return candidate_of(data, self.normal_forces(x))

    def remarks(self, lcp: LCP, z: Vector | None) -> dict[str, Any]:
        """Details beside the normal forces z of the LCP, for JSON."""
        return {}

    def details(self, data: Any, x: Vector | None) -> dict[str, Any]:
        """Details beside the answer to a step, for JSON."""
        return self.remarks(data.lcp, None if x is None else self.normal_forces(x))


def candidate_of(op: ContactOperator, x: Vector) -> Candidate:
    """The candidate that has these contact forces."""
    return Candidate(op.acceleration(x), op.multipliers(x), *op.split(x))


def not_sliding(step: StepData) -> str | None:
    """Why a step is none of sliding contacts alone, or None."""
    if not step.k:
        return "the step has no closed contacts; use gauss or lagrange"
    if step.resting.any():
        i = int(np.argmax(step.resting))
        return (
            f"contact {i + 1} has friction and zero slip, where sliding friction has no sign: it sticks or starts to "
            "slip; use stick-slip"
        )
    return None
