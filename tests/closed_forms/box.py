"""Closed forms of the problem box."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def stop(p: Mapping[str, float]) -> tuple[float, float]:
    """Time and place where the sliding box stops, s and m, for one coefficient mu1 = mu2 = mu3; else infinite."""
    deceleration = p["mu1"] * p["g"] - p["P"] / p["m"]
    if deceleration <= 0:
        return np.inf, np.inf
    return p["vx0"] / deceleration, p["vx0"] ** 2 / (2 * deceleration)


def corner_forces(p: Mapping[str, float]) -> tuple[float, float]:
    """Forces of the two corners of the variant `two` while it slides to the right on both, N."""
    mu1, mu3 = p["mu1"], p["mu3"]
    ratio = p["height"] / p["width"]
    # N1 + N3 = m g and the moment about the centre: (N3 - N1) width = (mu1 N1 + mu3 N3) height.
    weight = p["m"] * p["g"]
    right = weight * (1 + ratio * mu1) / (2 + ratio * (mu1 - mu3))
    return weight - right, right
