"""The contact laws of a step in space as a complementarity problem over friction cones.

A contact without slip obeys Coulomb's law in the accelerations of gap and slip: it sticks with |lam_T| <= mu lam_N, or
starts to slip against its friction in a direction that the law determines. The friction lam_T = mu lam_N sigma of a
sliding contact is part of the column of its normal force, so that in this problem the contact has mu = 0 and u_T = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gaussopt.contact.response import ContactResponse
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.step_data import StepData


@dataclass(frozen=True)
class FrictionCones:
    """The contact laws of one step over friction cones, in r = (lam_N - least_N, lam_T) of every contact."""

    op: ContactResponse

    @staticmethod
    def refuses(step: StepData) -> str | None:
        """Return why the contact laws of a step cannot be written over friction cones; None if they can."""
        if not step.k:
            return "the step has no closed contacts; use gauss or lagrange"
        if step.J_T.shape[1] != ROWS - 1:
            return f"its contacts have {step.J_T.shape[1]} tangent, and a friction cone has two; use stick-slip"
        if (step.least[step.resting] > 0).any():
            return (
                "a contact with friction has a least normal force, as in the restitution phase of Poisson's impact "
                "law, which no friction cone bounds; use the impact law newton, or e_N = 0"
            )
        return None

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """Rows of the problem that hold the unknowns x of `ContactResponse`, (k + 2 r,)."""
        normals = ROWS * np.arange(self.op.k)
        tangents = normals[self.op.resting][:, None] + np.arange(1, ROWS)
        return np.concatenate((normals, tangents.ravel()))

    @cached_property
    def x_0(self) -> Vector:
        """Unknowns x at r = 0, (k + 2 r,)."""
        return np.concatenate((self.op.step.least, np.zeros(len(self.places) - self.op.k)))

    @cached_property
    def problem(self) -> ConeComplementarity:
        """The problem with u = (w, s), m/s^2, and r in N."""
        op = self.op
        W, q = np.diag(np.repeat(op.weights[: op.k] ** 2, ROWS)), np.zeros(ROWS * op.k)
        W[np.ix_(self.places, self.places)] = op.response
        q[self.places] = op.start + op.response @ self.x_0
        return ConeComplementarity(W, q, np.where(op.resting, op.step.mu, 0.0))

    def x(self, r: Vector) -> Vector:
        """Return the unknowns x that belong to a solution r."""
        return np.asarray(r[self.places] + self.x_0)

    def r(self, x: Vector) -> Vector:
        """Return the solution r that belongs to unknowns x."""
        found = np.zeros(ROWS * self.op.k)
        found[self.places] = x - self.x_0
        return found
