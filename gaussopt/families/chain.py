"""Chains of links joined by pins, open or closed, from three links to a hundred thousand.

The links lie along an arc, and waves run along them: link i has the angle

    phi_i = tilt + opening s_i + 0.3 sin(2 pi t + 0.7 i),     s_i from -1/2 to 1/2 along the chain.

The steps are instants of a motion of one second. A closed chain is pinned to the ground where its end is at t = 0;
tilt and opening vary so that the end stays there. Up to 100 links the step data are dense, so that every formulation
and solver can take part; for longer chains they are sparse.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData, parts
from gaussopt.families._planar import graded
from gaussopt.modelling.chain import Chain
from gaussopt.modelling.family import Dial, Family, instants

DENSE_LINKS = 100
"""Number of links up to which the step data are dense."""


LENGTH = 0.1
"""Length of a link, m."""

CLOSED = 1e-15
"""Largest distance from the end of a closed chain to its target, relative to the chain's length."""

MOST_ITERATIONS = 30


class Chains(Family):
    """Chains of bilateral constraints, to measure how time and memory grow with size."""

    name = "chain"
    title = "Chains of links, open and closed"
    source = "gaussopt; N-fold pendulum in absolute coordinates"
    dials = (
        Dial("links", 20, 3, 100_000, "1", "links, three coordinates each", integer=True, logarithmic=True),
        Dial("closed", 0, 0, 1, "1", "whether the last link is pinned to the ground too", integer=True),
        Dial("opening", 2.0, 1.0, 5.0, "rad", "by how much the arc of the chain turns"),
        Dial("mass-ratio", 1.0, 1.0, 1e6, "1", "heaviest over lightest link; they take turns", logarithmic=True),
    )

    def steps(self, dials: Mapping[str, float], count: int) -> tuple[StepData, ...]:
        at = self.at(dials)
        links, mass = int(at["links"]), 0.1 * graded(at["mass-ratio"], int(at["links"]), zigzag=True)
        waves = _Waves(links, at["opening"])
        x, y = _head(waves.angles(waves.shape, 0.0)).tolist()
        chain = Chain(links, (x, y) if at["closed"] else None, LENGTH, mass)
        return tuple(_step(chain, waves, t) for t in instants(count))


class _Waves:
    """Waves that move a chain's links; `shape`, (tilt, opening), adds constant angles to the waves, rad."""

    def __init__(self, links: int, opening: float) -> None:
        self.shape = np.array([0.0, opening])
        i = np.arange(links)
        self._phase = 0.7 * i
        self._along = np.column_stack((np.ones(links), (i + 0.5) / links - 0.5))

    def angles(self, shape: Vector, t: float) -> Vector:
        """Return the angles phi, (N,)."""
        return np.asarray(self._along @ shape + 0.3 * np.sin(2 * np.pi * t + self._phase))

    def rates(self, t: float) -> Vector:
        """Return the time derivatives of the angles, (N,), rad/s; the two numbers of the shape are held constant."""
        return np.asarray(0.6 * np.pi * np.cos(2 * np.pi * t + self._phase))

    def closed(self, end: tuple[float, float], t: float) -> tuple[Vector, Vector]:
        """Return the angles and rates, (N,) each, for which the chain ends at the point `end`, which is at rest.

        Raises BadInput if Newton's method does not converge.
        """
        shape = self.shape
        for _ in range(MOST_ITERATIONS):
            phi = self.angles(shape, t)
            miss = _head(phi) - end
            turned = LENGTH * np.array((-np.sin(phi), np.cos(phi)))  # d(end position) / d(angle), a column per angle
            if np.abs(miss).max() <= CLOSED * LENGTH * len(phi):
                rate = self.rates(t)
                follow = np.linalg.solve(turned @ self._along, turned @ rate)
                return phi, rate - self._along @ follow
            shape = shape - np.linalg.solve(turned @ self._along, miss)
        raise BadInput(f"The chain of {len(self._phase)} links does not close at t = {t:g}; take another 'opening'.")


def _head(phi: Vector) -> Vector:
    """Return the position of the end of a chain whose links have these angles, (2,), m."""
    return LENGTH * np.array((np.cos(phi).sum(), np.sin(phi).sum()))


def _step(chain: Chain, waves: _Waves, t: float) -> StepData:
    phi = waves.angles(waves.shape, t), waves.rates(t)
    q, v = chain.state(*(phi if chain.end is None else waves.closed(chain.end, t)))
    step = chain.system.evaluate(t, q, v)
    if chain.links > DENSE_LINKS:
        return step
    M, J = parts(step)
    return StepData.smooth(M.toarray(), step.h, step.Q, J.toarray(), step.gamma, t, q, v)


family = Chains()
