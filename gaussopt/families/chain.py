"""Chains of links joined by pins, open or closed, from three links to a hundred thousand.

The links lie along an arc, and waves run along them: link i swings by 0.3 sin(2 pi t + 0.7 i) rad about its place. The
steps are instants of a motion of one second. A closed chain is pinned to the ground at both ends, the arc's own; its
positions are projected onto the constraints, its velocities onto those of their rates. Up to 100 links the step data
are dense, so that every formulation and solver can join in; beyond they are sparse.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gaussopt.chain import Chain, closed_arc
from gaussopt.families._planar import graded
from gaussopt.family import Dial, Family, instants
from gaussopt.sparse import parts
from gaussopt.stabilisation import Projection
from gaussopt.stepdata import StepData

DENSE_LINKS = 100
"""Number of links up to which the step data are dense."""


class Chains(Family):
    """Bilateral constraints in a row, for how time and memory grow."""

    name = "chain"
    title = "Chains of links, open and closed"
    source = "gaussopt; N-fold pendulum in absolute coordinates"
    dials = (
        Dial("links", 20, 3, 100_000, "1", "links, three coordinates each", integer=True, logarithmic=True),
        Dial("closed", 0, 0, 1, "1", "whether the last link is pinned to the ground too", integer=True),
        Dial("opening", 2.0, 0.5, 5.0, "rad", "by how much the arc of the chain turns"),
        Dial("mass-ratio", 1.0, 1.0, 1e6, "1", "heaviest over lightest link; they take turns", logarithmic=True),
    )

    def steps(self, dials: Mapping[str, float], count: int) -> tuple[StepData, ...]:
        """See `Family.steps`."""
        at = self.at(dials)
        links, opening = int(at["links"]), at["opening"]
        mass = 0.1 * graded(at["mass-ratio"], links, zigzag=True)
        chain = closed_arc(links, opening, mass=mass)[0] if at["closed"] else Chain(links, mass=mass)
        return tuple(_step(chain, opening, t) for t in instants(count))


def _step(chain: Chain, opening: float, t: float) -> StepData:
    """The step of one instant."""
    i = np.arange(chain.links)
    wave = 2 * np.pi * t + 0.7 * i
    along = opening * ((i + 0.5) / chain.links - 0.5)
    q, v = chain.state(along + 0.3 * np.sin(wave), 0.6 * np.pi * np.cos(wave))
    if chain.end is not None:
        corrected = Projection().correct(chain.system, t, q, v)
        assert corrected is not None
        q, v = corrected
    step = chain.system.evaluate(t, q, v)
    if chain.links > DENSE_LINKS:
        return step
    M, J = parts(step)
    return StepData.smooth(M.toarray(), step.h, step.Q, J.toarray(), step.gamma, t, q, v)


family = Chains()
