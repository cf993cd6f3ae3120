"""Closed forms of the problem sliding-to-rolling."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def rolling(p: Mapping[str, float]) -> tuple[float, float, float]:
    """Time, place and velocity at which the body begins to roll, s, m and m/s."""
    slip = p["speed0"] - p["r"] * p["omega0"]
    time = abs(slip) / (p["mu"] * p["g"] * (1 + 1 / p["inertia"]))
    a = -np.sign(slip) * p["mu"] * p["g"]
    return float(time), float(p["speed0"] * time + a * time**2 / 2), float(p["speed0"] + a * time)
