"""Chains that several test files share."""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.modelling.chain import Chain


def closed_arc(links: int, mass: float | Vector = 0.1) -> tuple[Chain, Vector, Vector]:
    """A chain that sags between two pins at one height, with its state at rest along an arc of two radians."""
    free = Chain(links, mass=mass)
    q, v = free.arc(2.0)
    x, y = q[-3:-1] + 0.5 * free.length * np.array((np.cos(q[-1]), np.sin(q[-1])))
    return Chain(links, (float(x), float(y)), mass=mass), q, v


def moving(links: int, closed: bool) -> tuple[Chain, Vector, Vector]:
    """A chain of unequal links: an open one in motion, a closed one at rest."""
    mass = 0.1 * (1 + np.arange(links) % 3)
    if closed:
        return closed_arc(links, mass=mass)
    chain, i = Chain(links, mass=mass), np.arange(links)
    return chain, *chain.state(-1.0 + 0.4 * np.sin(0.9 * i), np.cos(0.3 * i))
