"""Closed forms of the problem two-bar, with both ends on the floor."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def bias(theta: float, omega: float, p: Mapping[str, float]) -> float:
    """B_A = B_C, the gap acceleration without contact forces, m/s^2 (F_C = 0)."""
    s = np.sin(theta)
    return float(-p["g"] + (2 * p["l"] * omega**2 * s + p["F"] / p["m"] * (3 * s**2 - 1)) / (1 + 3 * s**2))
