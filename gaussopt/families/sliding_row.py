"""Bodies in a row that slide on their feet over the floor, some joined to their neighbours by rods.

Every body stands on two feet (more with `redundancy`, all on one line) with its centre of mass at `height` above
them. Neighbours slide in opposite directions, but bodies that a rod joins slide together. If the last body has a single
foot, it swings about this foot as it slides. Loads rise and fall like waves along the row, so that at every instant
some feet press and others are about to lift. The steps are instants of one second.

Friction makes the contact operator non-symmetric; for one free body it is

    X diag(1/m, 1/(m k^2)) [[1, 0], [c, 1]] X^T,   X = [1, x_i],   c = mu h sigma,

with feet at x_i, radius of gyration k, height h. Its symmetric part is positive definite for |c| < 2 k = 0.6 m, and
it is a P-matrix with two feet at +-b for |c| < b + k^2 / b; beyond that is Painleve's region. Heights vary by a tenth.
With the other parameters at their defaults, every step has one solution up to a height of 1.8 m at mu = 0.3 and up to
0.4 m at mu = 1 (measured on 9 steps). At 2 m and 0.6 m, respectively, the certificate finds no or several solutions.
||A - A^T|| / ||A + A^T||, the asymmetry, is 0.22 at the defaults, 0.11 at a height of 0.1 m and 0.61 at 1.8 m.

Rods are slanted and carry the friction of one body into the normal forces of the next. If they join bodies in pairs
(`joints` up to half their number), A is positive definite at every mass ratio (measured at 200 contacts). If they form
chains, it is not: with 99 rods on 100 bodies uniqueness is not proved, and at mass ratios above about 1e3, heavy
neighbours push and pull light bodies into Painleve's region, where an entry of the diagonal of A is negative.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.step_data import StepData
from gaussopt.families._planar import Links, Points, graded, in_units, mass_matrix, shared_out, weights
from gaussopt.modelling.family import Dial, Family, instants

GYRATION = 0.3
"""Radius of gyration of every body, m."""

SPACING = 2.0
"""Distance between neighbouring bodies, m."""

SPEED = 0.3
"""Mean slip speed of the bodies, m/s."""


class SlidingRow(Family):
    """Steps with sliding contacts, for `lcp` and other formulations of sliding contacts."""

    name = "sliding-row"
    title = "Bodies that slide over the floor in a row"
    source = "gaussopt; rigid bodies with Coulomb friction"
    dials = (
        Dial("contacts", 8, 1, 200, "1", "feet on the floor", integer=True, logarithmic=True),
        Dial("mass-ratio", 10.0, 1.0, 1e6, "1", "heaviest over lightest body; they take turns", logarithmic=True),
        Dial("friction", 0.3, 0.0, 1.0, "1", "coefficient of friction"),
        Dial("height", 0.4, 0.1, 2.0, "m", "of the centres of mass; with friction, how far from symmetric"),
        Dial("redundancy", 0, 0, 8, "1", "feet of a body beyond two", integer=True),
        Dial("joints", 2, 0, 99, "1", "neighbours joined by rods, or as many as there are", integer=True),
        Dial("units", 1.0, 1e-3, 1e3, "m, kg", "unit of length and of mass the data are written in", logarithmic=True),
    )

    def steps(self, dials: Mapping[str, float], count: int) -> tuple[StepData, ...]:
        row = _Row(self.at(dials))
        return tuple(row.step(t) for t in instants(count))


class _Row:
    """The bodies and the rods between them."""

    def __init__(self, at: Mapping[str, float]) -> None:
        k, each = int(at["contacts"]), 2 + int(at["redundancy"])
        self.bodies = -(-k // each)
        self.unit, self.friction = at["units"], at["friction"]
        i = np.arange(self.bodies)
        self.mass = graded(at["mass-ratio"], self.bodies, zigzag=True)
        self.half = 0.4 + 0.05 * np.cos(2.4 * i)  # half the distance between the outer feet
        self.height = at["height"] * (1.0 + 0.1 * np.sin(1.7 * i))
        body, size, side = shared_out(k, each)
        side = np.where(size > 1, side, 0.25)
        self.feet = Points(body, np.column_stack((side * self.half[body], -self.height[body])))
        self.swings = np.bincount(body) == 1
        joined = min(int(at["joints"]), max(int((~self.swings).sum()) - 1, 0))
        # Join every second pair of neighbours first, so that a few rods make pairs of bodies and many rods make chains.
        gaps = np.concatenate((i[:-1:2], i[1:-1:2]))
        self.joined = np.sort(gaps[~self.swings[gaps + 1]][:joined])
        # Bodies joined by rods slide together as one group; the direction alternates from group to group.
        new = np.ones(self.bodies, dtype=bool)
        new[self.joined + 1] = False
        self.group = np.cumsum(new) - 1
        # Each rod joins a body's right side to the left side of its right neighbour; rods rise and fall alternately.
        rise = np.where(self.joined % 2 == 0, 0.15, -0.1)
        left, right = (
            Points(body, np.column_stack((side * self.half[body], side * rise)))
            for body, side in ((self.joined, 1.0), (self.joined + 1, -1.0))
        )
        self.links = Links.between(left, right, self.state(0.0)[0])

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return the positions and velocities at time t, (n,) each, with all feet on the ground."""
        way = np.where(self.group % 2 == 0, 1.0, -1.0) * SPEED
        phase = 1.3 * self.group
        omega = 2 * np.pi
        speed = way * (1.0 + 0.4 * np.sin(omega * t + phase))
        path = way * (t + 0.4 / omega * (np.cos(phase) - np.cos(omega * t + phase)))
        phi = np.where(self.swings, 0.1 - 0.2 * np.cos(np.pi * t), 0.0)
        spin = np.where(self.swings, 0.2 * np.pi * np.sin(np.pi * t), 0.0)
        foot = 0.25 * self.half * self.swings, -self.height
        arm = np.array([np.cos(phi) * foot[0] - np.sin(phi) * foot[1], np.sin(phi) * foot[0] + np.cos(phi) * foot[1]])
        q = np.column_stack((SPACING * np.arange(self.bodies) + path, -arm[1], phi)).ravel()
        v = np.column_stack((speed + spin * arm[1], -spin * arm[0], spin)).ravel()
        return q, v

    def loads(self, t: float) -> Vector:
        """Return gravity, and waves of pulls, lifts and moments that run along the row, (n,)."""
        i = np.arange(self.bodies)
        weight = -weights(self.mass)[:, 1]
        wave = np.sin(2 * np.pi * t + 0.9 * i)
        lift, turn = 0.2 * (1.0 + np.cos(2 * np.pi * t - 0.5 * i)), np.sin(2 * np.pi * t + 2.1 * i)
        more = np.column_stack((0.2 * wave * weight, lift * weight, 0.7 * turn * self.half * weight))
        return np.asarray(weights(self.mass) + more).ravel()

    def step(self, t: float) -> StepData:
        q, v = self.state(t)
        rows, bias = self.feet.rows(q), self.feet.bias(q, v)
        n, k = len(q), len(self.feet)
        return in_units(
            StepData(
                mass_matrix(self.mass, np.full(self.bodies, GYRATION)), np.zeros(n), self.loads(t),
                self.links.rows(q), self.links.gamma(q, v), rows[:, 1], bias[:, 1], rows[:, :1], bias[:, :1],
                rows[:, :1] @ v, np.full(k, self.friction), t, q, v,
            ),
            self.unit,
        )  # fmt: skip


family = SlidingRow()
