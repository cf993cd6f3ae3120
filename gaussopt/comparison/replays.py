"""The same step or program in other units, for replays on which no remembered answer is right.

With masses in a unit 1/c and accelerations in a unit 1/s the numbers are others, and the answer is s times the old one;
which rows are active, what is feasible and unique, and how well it is conditioned stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import SystemRandom
from typing import Any

import numpy as np

from gaussopt.comparison.items import Data, Item
from gaussopt.core.arrays import is_sparse
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.programs import LCP, QP
from gaussopt.core.step_data import StepData

Units = tuple[float, float]
"""The factors (c, s) of masses and of accelerations."""

FINENESS = 4096
"""Factors are 1 + k / FINENESS: with so few digits, products with short numbers are exact."""

FORCES, ACCELERATIONS = ("h", "Q"), ("gamma", "zeta_N", "zeta_T", "w_omega", "gamma_terms")


def drawn_units() -> Iterator[Units]:
    """Units between 1 and 1.5, none twice, which nobody can foresee."""
    random = SystemRandom()
    count = FINENESS // 2
    while True:
        for k in random.sample(range(1, count + 1), count):
            yield 1.0 + k / FINENESS, 1.0 + random.randint(1, count) / FINENESS


def in_units(item: Item, units: Units) -> Item:
    """An item in other units."""
    return Item(_data(item.data, *units), None if item.a is None else units[1] * item.a, item.t)


def _data(data: Data, c: float, s: float) -> Data:
    if isinstance(data, StepData):
        known = {name: x for name in (*FORCES, *ACCELERATIONS, "least_N") if (x := getattr(data, name)) is not None}
        factors = dict.fromkeys(ACCELERATIONS, s)
        return replace(data, M=c * data.M, arithmetic=None, **{k: factors.get(k, c * s) * x for k, x in known.items()})
    if isinstance(data, QP):
        lower = s * data.l
        # Bounds of equalities may be one array, by which they are known.
        return replace(data, P=c * data.P, q=c * s * data.q, l=lower, u=lower if data.l is data.u else s * data.u)
    if isinstance(data, LCP):
        return replace(data, M=c * data.M, q=c * s * data.q)
    assert isinstance(data, ConeComplementarity)
    W: Any = data.W
    plain = isinstance(W, np.ndarray) or is_sparse(W)
    return replace(data, W=c * W, q=c * s * data.q) if plain else replace(data, q=s * data.q)
