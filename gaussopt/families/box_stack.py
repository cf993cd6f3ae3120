"""Boxes on boxes on the floor, at rest, under a growing sideways push.

A stack of slabs, 1 m wide and 0.1 m thick. Every slab touches the one below with two contacts (more with `redundancy`,
all on one line); the remaining contacts carry the topmost slab. Mass grows upwards: heavy slabs on light slabs are hard
for iterations that sweep over the contacts. All velocities are zero at every instant; the push, a force on every slab
in proportion to its weight and its height in the stack, grows from zero. First all contacts stick, then slabs slip from
the top, and slender stacks tip. The steps are instants of this growth.

Since nothing slips yet, friction has no direction, and the formulation that fits is `stick-slip`; without friction the
Gauss QP, its dual and the symmetric `lcp` fit too. With up to 4 contacts, enumeration finds one acceleration at every
friction coefficient; with more contacts there are too many modes, and the certificate confirms a solution without
stating whether it is unique. Friction can be distributed arbitrarily over the contacts of a body, so that forces are
rarely unique. Heavy slabs on light slabs lose digits in the contact operator: with two boxes of mass ratio 1e6 the
certificate confirms an accuracy of 1e-6 only. A tall stack of equal boxes is highly degenerate.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.step_data import StepData
from gaussopt.families._planar import GROUND, Points, graded, in_units, mass_matrix, shared_out, weights
from gaussopt.modelling.family import Dial, Family, instants

WIDTH = 1.0
THICKNESS = 0.1
"""Thickness of a slab, m."""


class BoxStack(Family):
    """Steps with contacts at rest, for the formulation `stick-slip` and for programs without friction."""

    name = "box-stack"
    title = "A stack of boxes that is pushed"
    source = "gaussopt; rigid bodies with Coulomb friction"
    dials = (
        Dial("contacts", 4, 1, 200, "1", "contacts of the whole stack", integer=True, logarithmic=True),
        Dial("mass-ratio", 1.0, 1.0, 1e6, "1", "topmost over lowest box", logarithmic=True),
        Dial("friction", 0.4, 0.0, 1.0, "1", "coefficient of friction"),
        Dial("redundancy", 0, 0, 8, "1", "contacts between two boxes beyond two", integer=True),
        Dial("units", 1.0, 1e-3, 1e3, "m, kg", "unit of length and of mass the data are written in", logarithmic=True),
    )

    def steps(self, dials: Mapping[str, float], count: int) -> tuple[StepData, ...]:
        stack = _Stack(self.at(dials))
        return tuple(stack.step(t) for t in instants(count))


class _Stack:
    """A stack of boxes: box 0 stands on the floor, box i on box i - 1."""

    def __init__(self, at: Mapping[str, float]) -> None:
        k, each = int(at["contacts"]), 2 + int(at["redundancy"])
        self.boxes = -(-k // each)
        self.unit, self.friction = at["units"], at["friction"]
        self.mass = graded(at["mass-ratio"], self.boxes)
        rest = np.zeros(self.boxes)
        self.q = np.column_stack((rest, (np.arange(self.boxes) + 0.5) * THICKNESS, rest)).ravel()
        upper, share, side = shared_out(k, each)
        # A single contact is in the middle of the box that it carries.
        x = np.where(share > 1, 0.5 * side * 0.9 * WIDTH, 0.0)
        under = np.where(upper > 0, upper - 1, GROUND)
        top = np.where(upper > 0, 0.5 * THICKNESS, 0.0)
        self.above = Points(upper, np.column_stack((x, np.full(k, -0.5 * THICKNESS))))
        self.below = Points(under, np.column_stack((x, top)))

    def loads(self, t: float) -> Vector:
        """Return gravity plus the push, which is proportional to t, (n,)."""
        loads = weights(self.mass)
        place = (np.arange(self.boxes) + 1.0) / self.boxes
        loads[:, 0] = t * (0.1 + 1.5 * self.friction) * place * -loads[:, 1]
        return np.asarray(loads.ravel())

    def step(self, t: float) -> StepData:
        """Return the step at time t; all velocities are zero, so that gap accelerations have no velocity terms."""
        k, n = len(self.above), len(self.q)
        rows = self.above.rows(self.q) - self.below.rows(self.q)
        gyration = np.full(self.boxes, np.hypot(WIDTH, THICKNESS) / np.sqrt(12.0))
        return in_units(
            StepData(
                mass_matrix(self.mass, gyration), np.zeros(n), self.loads(t), np.zeros((0, n)), np.zeros(0),
                rows[:, 1], np.zeros(k), rows[:, :1], np.zeros((k, 1)), np.zeros((k, 1)), np.full(k, self.friction),
                t, self.q, np.zeros(n),
            ),
            self.unit,
        )  # fmt: skip


family = BoxStack()
