"""Closed forms of the problem bouncing-ball."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gaussopt.core.arrays import Vector


def _fall(p: Mapping[str, float]) -> tuple[float, float]:
    """Time of the first impact and the speed there."""
    speed = (p["speed0"] ** 2 + 2 * p["g"] * p["y0"]) ** 0.5
    return (p["speed0"] + speed) / p["g"], speed


def impact_times(p: Mapping[str, float], count: int) -> Vector:
    """Times of the first impacts, (count,), s."""
    first, speed = _fall(p)
    flights = 2 * speed / p["g"] * p["e"] ** np.arange(1, count)
    return first + np.concatenate(([0.0], np.cumsum(flights)))


def accumulation_time(p: Mapping[str, float]) -> float:
    """The time at which infinitely many impacts have happened, s; e < 1."""
    first, speed = _fall(p)
    return first + 2 * speed / p["g"] * p["e"] / (1 - p["e"])


def exact(t: float, p: Mapping[str, float]) -> tuple[float, float]:
    """Height and velocity (after an impact at t), in m and m/s; zero from the accumulation on."""
    first, speed = _fall(p)
    if t < first:
        return p["y0"] + p["speed0"] * t - p["g"] * t**2 / 2, p["speed0"] - p["g"] * t
    if p["e"] < 1 and t >= accumulation_time(p):
        return 0.0, 0.0
    begin = first
    while True:
        speed *= p["e"]
        length = 2 * speed / p["g"]
        if t < begin + length or length == 0.0:
            s = t - begin
            return speed * s - p["g"] * s**2 / 2, speed - p["g"] * s
        begin += length
