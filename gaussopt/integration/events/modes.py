"""Contact modes between two events (open, sliding or sticking), and the tolerances that decide them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gaussopt.contact.activity import RESTING
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData


@dataclass(frozen=True, slots=True)
class EventTolerances:
    """Tolerances of motions with contacts, each with its sensible range and the quantity that it is relative to.

    Attributes
    ----------
    changes : count, 10 to 100
        Largest number of changes of contact modes at one instant. If it is too small, many true changes at one instant
        are refused; if it is too large, it takes longer to find out that modes do not settle.
    returns : count, 2 to 5
        Largest number of returns to the same modes at one instant; rounding may cause one return, which must pass.
    noise : 1e-15 to 1e-12, relative to 1 + the largest entry of the state
        Gap or slip that counts as rounding error. Too small: rounding switches modes; too large: flights are missed.
    instant : 1e-15 to 1e-12, relative to 1 + the time of the motion
        Accuracy of the length of a step to an event. If it is too large, impacts begin with a penetration.
    unshared : 1e-13 to 1e-9, relative to the largest normal force
        Force that counts as zero. If it is too small, redundant contacts that carry no force seem to open.
    leaving : 0.01 to 0.5, relative to the excess of friction over its limit at which slip is detected
        If friction exceeds its limit by more than this half-way to that event, slip begins at the start of the step.
    vanishing : 1e-11 to 1e-7, relative to the terms of the sum
        Slip acceleration or force that counts as zero where modes are decided. If it is too small, rounding decides
        between stick and slip; if it is too large, a slow start of slip counts as stick.
    energy : 1e-12 to 1e-6, relative to 1 + the kinetic energy
        Energy added by contacts in an impact, or in a step of time stepping, above which an event reports it.
    correction : 1e-5 to 1e-2, relative to 1 + the largest entry of the state
        Largest correction by projection. Too small: coarse steps are refused; too large: wrong states are accepted.
    mobile : 1e-8 to 1e-4, relative to the slip that the same force would cause without joints
        Threshold for the slip that a tangential force causes; under it, a slip residual is not corrected. If it is too
        small, the correction at a dead centre changes all other velocities.
    approaches : count, 10 to 50
        Number of bisections of a step that fails; the failure is located to 2^-approaches of the step.
    near : 1e-9 to 1e-4, rtol and atol
        Smallest tolerances of an adaptive method close to a failure, where forces grow without bound.
    losing : 0.01 to 0.5, eigenvalue of the scaled sym(delassus)
        Eigenvalue below which a failure of the integrator is attributed to the loss of definiteness.
    lost : 1e-9 to 1e-3, eigenvalue of the scaled sym(delassus)
        Eigenvalue below which forces that are undetermined up to rounding are attributed to the loss of definiteness.
    fed : 1e-9 to 1e-3, relative to 1 + |friction force| times |velocity|
        Power of friction above which an event reports it.
    """

    changes: int = 30
    returns: int = 2
    noise: float = 1e-14
    instant: float = 1e-14
    unshared: float = 1e-11
    leaving: float = 0.05
    vanishing: float = 1e-9
    energy: float = 1e-10
    correction: float = 1e-3
    mobile: float = 1e-6
    approaches: int = 24
    near: float = 1e-6
    losing: float = 0.1
    lost: float = 1e-6
    fed: float = 1e-6


TOLERANCES = EventTolerances()


OPEN, SLIDING, STICKING = 0, 1, 2
"""Codes of contact modes in trajectories."""


@dataclass(frozen=True)
class ContactModes:
    """The contact modes between two events.

    Attributes
    ----------
    closed : indices of the touching contacts, in ascending order
    sticking : indices of the closed contacts with friction but without slip
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
        """Make the modes from plain data, as read from JSON."""
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
            # Where the slip vanishes within a trial step, its direction is rounding noise: keep the old direction.
            moving = (np.einsum("kd,kd->k", slip, part.v_T) > 0) & (part.speed > RESTING)
            slip = np.where(moving[:, None], part.v_T, slip)
        wall = self.wall[index]
        if (wall < 0).any():
            part = replace(part, J_N=wall[:, None] * part.J_N, zeta_N=wall * part.zeta_N)
        return replace(part, v_T=slip)

    def key(self, v: Vector) -> str:
        """Return a text by which equal modes at equal velocities (up to rounding errors) can be recognised."""
        numbers = np.concatenate([self.sigma.ravel(), self.wall, v / (1.0 + np.abs(v).max())]).tolist()
        # Adding zero turns -0.0 into 0.0.
        return repr((self.closed, sorted(self.sticking), [round(x, 6) + 0.0 for x in numbers]))

    def modes(self) -> Vector:
        """Return OPEN, SLIDING or STICKING for every contact, (k,)."""
        out = np.full(len(self.wall), OPEN)
        out[list(self.closed)] = SLIDING
        out[list(self.sticking)] = STICKING
        return out


def earliest_rest(step: StepData, sigma: Matrix, a: Vector) -> float:
    """Return the time, s, in which a slip in space that turns may come to rest under the acceleration a; inf if none.

    `sigma`, (k, 2), are the directions of slips as in `ContactModes`.
    """
    sliding = sigma.any(axis=1)
    slip, change = step.v_T[sliding], step.J_T[sliding] @ a + step.zeta_T[sliding]
    speed, along = np.linalg.norm(slip, axis=1), np.einsum("kd,kd->k", slip, change)
    slows = (along < 0.0) & (speed > 0.0)
    speed, along, slip, change = speed[slows], along[slows], slip[slows], change[slows]
    left = -(speed**2) / along
    across = np.linalg.norm(change - (along / speed**2)[:, None] * slip, axis=1)
    return float(left[across * left > RESTING].min(initial=math.inf))
