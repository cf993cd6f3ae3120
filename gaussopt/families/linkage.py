"""Bars joined by pins: chains that hang from the ground, and mechanisms with closed loops.

The first bar is pinned to the ground, every other bar to the end of the bar before it: two rows per pin, so two rows
per body. `constraints` is the number of rows. With fewer than two rows per body the last bars are free; a single row
left over is a massless rod between the middles of two bars. More rows close loops: the end of the chain is pinned to
the ground, then a rod joins every bar to the second bar after it, until one degree of freedom is left. `redundancy`
adds rows that repeat those of the pins along rotated axes. The steps are instants of a motion of one second: the bars
swing, and positions and velocities are projected onto the constraints and onto their time derivatives.

The sizes n/m that papers.md measured for claim C2, 6/4, 21/14, 90/60 and 300/200, are 2, 7, 30 and 100 bodies with
`constraints` left at 0. The rows are independent at every setting (measured up to 299 rows of 300 coordinates); chains
with the most rods are ill-conditioned, and iterative solvers of the dual fail on them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData
from gaussopt.families._planar import Links, Pins, Points, graded, in_units, mass_matrix, on_ground, weights
from gaussopt.modelling.family import Dial, Family, instants

LENGTH = 0.5
"""Length of a bar, m."""

CLOSED = 1e-13
"""Largest violation of the constraints, m, at which Newton's method stops."""


class RandomLinkage(Family):
    """Steps with bilateral constraints only, for formulations such as gauss, lagrange and null-space."""

    name = "linkage"
    title = "Bars joined by pins, open and closed"
    source = "gaussopt; chains and braced mechanisms of rigid bars"
    dials = (
        Dial("bodies", 7, 2, 100, "1", "bars, three coordinates each", integer=True, logarithmic=True),
        Dial("constraints", 0, 0, 299, "1", "independent rows, below 3 a body; 0 is two a body", integer=True),
        Dial("redundancy", 0, 0, 50, "1", "dependent, consistent rows beside them", integer=True),
        Dial("mass-ratio", 10.0, 1.0, 1e6, "1", "heaviest over lightest bar; they take turns", logarithmic=True),
        Dial("units", 1.0, 1e-3, 1e3, "m, kg", "unit of length and of mass the data are written in", logarithmic=True),
    )

    def steps(self, dials: Mapping[str, float], count: int) -> tuple[StepData, ...]:
        mechanism = _Mechanism(self.at(dials))
        return tuple(mechanism.step(t) for t in instants(count))


class _Mechanism:
    """The bars and their joints."""

    def __init__(self, at: Mapping[str, float]) -> None:
        b, m = int(at["bodies"]), int(at["constraints"]) or 2 * int(at["bodies"])
        if m >= 3 * b:
            raise BadInput(
                f"The dial 'constraints' is {m}, but {b} bodies have {3 * b} coordinates and nothing would move; take "
                f"at most {3 * b - 1} or raise 'bodies'."
            )
        self.bodies, self.unit = b, at["units"]
        self.mass = graded(at["mass-ratio"], b, zigzag=True)
        q = self.chain(0.0)[0]
        joints = min(m // 2, b)
        i = np.arange(joints)
        heads, tails = self._ends(1.0), self._ends(-1.0)
        middle = Points(np.arange(b), np.zeros((b, 2)))
        anchor = on_ground(np.zeros((1, 2)))
        first, second = _joined(anchor, heads.take(i[:-1])) if joints else heads.take(i), tails.take(i)
        from_, to = middle.take(i[:0]), middle.take(i[:0])
        left = m - 2 * joints
        if joints < b and left:  # one row: a rod between the middles of the first free bar and the bar before it
            from_, to = middle.take(np.array([joints - 1])) if joints else anchor, middle.take(np.array([joints]))
        elif left > 1:
            end = on_ground(heads.take(np.array([b - 1])).positions(q))
            first, second = _joined(first, end), _joined(second, heads.take(np.array([b - 1])))
            braced = np.arange(left - 2)
            from_, to = middle.take(braced), middle.take(braced + 2)
        elif left:
            from_, to = on_ground(np.array([[0.5 * b * LENGTH, -2.0 * LENGTH]])), middle.take(np.array([b - 1]))
        self.pins, self.links = Pins(first, second), Links.between(from_, to, q)
        self.repeated = int(at["redundancy"])

    def _ends(self, side: float) -> Points:
        place = np.column_stack((np.full(self.bodies, 0.5 * side * LENGTH), np.zeros(self.bodies)))
        return Points(np.arange(self.bodies), place)

    def chain(self, t: float) -> tuple[Vector, Vector]:
        """Return the positions and velocities, (n,) each, of the open chain, which satisfy its pins only."""
        i = np.arange(self.bodies)
        swing = 2 * np.pi * t + 0.7 * i
        phi = np.where(i % 2 == 0, -0.9, 0.5) + 0.3 * np.sin(1.3 * i) + 0.1 * np.sin(swing)
        spin = 0.2 * np.pi * np.cos(swing)
        bar = LENGTH * np.column_stack((np.cos(phi), np.sin(phi)))
        turn = spin[:, None] * np.column_stack((-bar[:, 1], bar[:, 0]))
        centre, rate = (np.cumsum(x, axis=0) - 0.5 * x for x in (bar, turn))
        return np.column_stack((centre, phi)).ravel(), np.column_stack((rate, spin)).ravel()

    def values(self, q: Vector) -> Vector:
        """Return the constraint functions of the joints, (m,), without those of the repeated rows."""
        return np.concatenate((self.pins.values(q), self.links.values(q)))

    def rows(self, q: Vector) -> Matrix:
        """Return the Jacobian of the constraint functions, (m, n)."""
        return np.vstack((self.pins.rows(q), self.links.rows(q)))

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities that satisfy the constraints, close to those of the chain, (n,) each."""
        q, v = self.chain(t)
        for _ in range(50):
            miss = self.values(q)
            if np.abs(miss).max(initial=0.0) <= CLOSED:
                break
            q = q - np.linalg.lstsq(self.rows(q), miss, rcond=None)[0]
        J = self.rows(q)
        return q, v - np.linalg.lstsq(J, J @ v, rcond=None)[0]

    def turned(self, m: int) -> Matrix:
        """Return T, (repeated, m), for repeated rows T J: rows of pins along rotated axes, rows of rods unchanged."""
        T = np.zeros((self.repeated, m))
        pins = len(self.pins.first)
        for i in range(self.repeated):
            if pins:
                angle = 0.6 + 0.4 * i
                T[i, 2 * (i % pins) : 2 * (i % pins) + 2] = np.cos(angle), np.sin(angle)
            else:
                T[i, i % m] = 1.0
        return T

    def step(self, t: float) -> StepData:
        q, v = self.state(t)
        J = self.rows(q)
        gamma = np.concatenate((self.pins.gamma(q, v), self.links.gamma(q, v)))
        T = self.turned(len(gamma))
        loads = weights(self.mass)
        i = np.arange(self.bodies)
        loads[:, 2] = 0.2 * LENGTH * loads[:, 1] * np.sin(2 * np.pi * t + 1.1 * i)
        mass = mass_matrix(self.mass, np.full(self.bodies, LENGTH / np.sqrt(12.0)))
        step = StepData.smooth(
            mass, np.zeros(len(q)), loads.ravel(), np.vstack((J, T @ J)), np.concatenate((gamma, T @ gamma)), t, q, v
        )
        return in_units(step, self.unit)


def _joined(a: Points, b: Points) -> Points:
    return Points(np.concatenate((a.body, b.body)), np.vstack((a.place, b.place)))


family = RandomLinkage()
