"""Contact modes between two events: which contacts are closed, and whether they slide or stick."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gaussopt.contact.activity import RESTING
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData

OPEN, SLIDING, STICKING = 0, 1, 2
"""Codes of contact modes in trajectories."""


@dataclass(frozen=True)
class ContactModes:
    """The contact modes between two events.

    Attributes
    ----------
    closed : numbers of the contacts that touch, in ascending order
    sticking : numbers of the closed contacts with friction but without slip
    sigma : (k, d)
        Direction of friction of the sliding contacts, fixed even if the slip vanishes within a trial step; zero for
        other contacts.
    wall : (k,), -1 where a two-sided contact bears on its opposite wall (lam_N < 0), else 1
    """

    closed: tuple[int, ...]
    sticking: frozenset[int]
    sigma: Matrix
    wall: Vector

    @classmethod
    def flight(cls, k: int, d: int) -> ContactModes:
        """Return the modes in which all contacts are open."""
        return cls((), frozenset(), np.zeros((k, d)), np.ones(k))

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> ContactModes:
        """Make the modes from plain data, such as JSON holds."""
        sigma, wall = (np.array(data[x], dtype=np.float64) for x in ("sigma", "wall"))
        return cls(tuple(data["closed"]), frozenset(data["sticking"]), sigma.reshape(len(wall), -1), wall)

    def shape(self, step: StepData) -> StepData:
        """Return the step with the closed contacts only; their v_T have the directions of slip of this phase.

        In space, v_T of a sliding contact is its actual slip, whose direction turns with the motion.
        """
        index = np.array(self.closed, dtype=np.intp)
        part = step.select(index)
        if not len(index):
            return part
        slip = -self.sigma[index]
        if part.v_T.shape[1] > 1:
            # Where the slip vanishes within a trial step, the old direction replaces that of rounding errors.
            moving = (np.einsum("kd,kd->k", slip, part.v_T) > 0) & (part.speed > RESTING)
            slip = np.where(moving[:, None], part.v_T, slip)
        wall = self.wall[index]
        if (wall < 0).any():
            part = replace(part, J_N=wall[:, None] * part.J_N, zeta_N=wall * part.zeta_N)
        return replace(part, v_T=slip)

    def key(self, v: Vector) -> str:
        """Return a text by which equal modes at equal velocities (up to rounding errors) can be recognised."""
        moving = (v / (1.0 + np.abs(v).max())).round(6)
        numbers = np.concatenate([self.sigma.round(6).ravel(), self.wall, moving]) + 0.0  # turns -0.0 into 0.0
        return repr((self.closed, sorted(self.sticking), numbers.tolist()))

    def modes(self) -> Vector:
        """Return OPEN, SLIDING or STICKING for every contact, (k,)."""
        out = np.full(len(self.wall), OPEN)
        out[list(self.closed)] = SLIDING
        out[list(self.sticking)] = STICKING
        return out
