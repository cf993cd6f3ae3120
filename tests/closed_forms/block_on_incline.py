"""Closed forms of the problem block-on-incline."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def stop(p: Mapping[str, float]) -> tuple[float, float]:
    """Time and place s where the block first stops, s and m; infinite if it never does."""
    direction = np.sign(p["speed0"])
    deceleration = p["g"] * (p["mu"] * np.cos(p["alpha"]) - direction * np.sin(p["alpha"]))
    if deceleration <= 0:
        return np.inf, direction * np.inf
    return float(abs(p["speed0"]) / deceleration), float(direction * p["speed0"] ** 2 / (2 * deceleration))


def sticks(p: Mapping[str, float]) -> bool:
    """Whether the block stays where it stops."""
    return bool(p["mu"] >= np.tan(p["alpha"]))


def friction_at_rest(p: Mapping[str, float]) -> float:
    """Friction that holds the block, up the slope, N."""
    return float(p["m"] * p["g"] * np.sin(p["alpha"]))


def acceleration_back(p: Mapping[str, float]) -> float:
    """Acceleration down the slope after the turn, m/s^2, where the block does not stick."""
    return float(p["g"] * (np.sin(p["alpha"]) - p["mu"] * np.cos(p["alpha"])))
