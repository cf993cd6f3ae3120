"""Contacts of a step with the joints eliminated, and the laws that their forces obey."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaussopt.contact.complementarity import ComplementarityLaws
from gaussopt.contact.friction_cones import FrictionCones
from gaussopt.contact.joints import eliminate_joints
from gaussopt.contact.response import ContactResponse
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.display import About, counted, shown
from gaussopt.core.errors import NotAccepted
from gaussopt.core.programs import LCP
from gaussopt.core.step_data import StepData


@shown
@dataclass(frozen=True)
class ContactOperator(ContactResponse):
    """The Delassus operator of one step with its contact laws; see `ContactResponse` for fields and matrices."""

    @classmethod
    def of(cls, step: StepData) -> ContactOperator:
        """Eliminate the joints and return the operator of a step.

        Raises NotAccepted if the joints are ill-posed, or a number overflows or underflows.
        """
        global _latest
        # The latest operator is kept, because the certificate needs the operator that the formulation has computed.
        known = _latest
        if known is None or known.step is not step:
            with np.errstate(over="ignore", invalid="ignore"):
                known = cls(step, eliminate_joints(step), step.resting)
                if not known.in_range():
                    raise NotAccepted(
                        "The accelerations that contact forces cause are too large or too small for floating-point "
                        "numbers; use other units, or look at 'J_N', 'J_T' and 'mu'."
                    )
            _latest = known
        return known

    def _about(self) -> About:
        resting = int(self.resting.sum())
        without = f", {resting} without slip" if resting else ""
        return About(f"{counted(self.k, 'contact')}{without}", (), [("delassus", self.delassus), ("bias", self.bias)])

    @cached_property
    def complementarity(self) -> ComplementarityLaws:
        """The contact laws as an LCP; raises NotAccepted if a contact in space (two tangents) has no slip."""
        refusal = ComplementarityLaws.refuses(self.step)
        if refusal is not None:
            raise NotAccepted(refusal)
        return ComplementarityLaws(self)

    @cached_property
    def cones(self) -> FrictionCones:
        """The contact laws over friction cones, for contacts with two tangents."""
        return FrictionCones(self)

    @property
    def lcp(self) -> LCP:
        """The contact laws in z = (lam_N - least_N, lam_R, m kappa_L), of size k + 2 r."""
        return self.complementarity.lcp

    def x(self, z: Vector) -> Vector:
        """Return the unknowns x, the contact forces, from a solution z of the LCP."""
        return self.complementarity.x(z)

    @property
    def definiteness(self) -> float:
        """Smallest eigenvalue of sym(delassus), scaled so that without friction its diagonal is 1.

        For a single contact, it is the response to a normal force with friction, relative to the response without.
        """
        own = np.linalg.norm(self.step.J_N @ self.joints.root, axis=1)
        if (own <= 0).any():
            return 0.0
        return smallest_eigenvalue(0.5 * (self.delassus + self.delassus.T) / np.outer(own, own))


_latest: ContactOperator | None = None


def smallest_eigenvalue(S: Matrix) -> float:
    """Return the smallest eigenvalue of a symmetric matrix (c, c) of entries near 1; zero if it is a rounding error."""
    if len(S) == 2:
        (a, b), (_, c) = S.tolist()
        value = 0.5 * (a + c) - math.hypot(0.5 * (a - c), b)
    else:
        value = float(S[0, 0]) if len(S) == 1 else float(np.linalg.eigvalsh(S)[0])
    # For redundant contacts the eigenvalue is zero up to rounding errors, whose sign must not count as an event.
    return 0.0 if abs(value) <= 1e-9 else value
