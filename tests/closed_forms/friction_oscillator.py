"""Closed forms of the problem friction-oscillator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput


def turning_points(p: Mapping[str, float]) -> tuple[Vector, Vector]:
    """Times and places of the turning points up to the last one, where the mass stays, s and m; speed0 != 0.

    Raises
    ------
    BadInput
        Without friction, when there is no last one.
    """
    if p["mu"] * p["g"] <= 0:
        raise BadInput("The oscillator never stops without friction; give positive mu and g.")
    rate = (p["k"] / p["m"]) ** 0.5
    reach = p["mu"] * p["m"] * p["g"] / p["k"]
    side = 1.0 if p["speed0"] >= 0 else -1.0
    # Mirrored so that the first swing goes to the right, about the centre -reach.
    x, u = side * p["x0"] + reach, abs(p["speed0"]) / rate
    time, place = float(np.arctan2(u, x)) / rate, float(np.hypot(x, u)) - reach
    times, places = [time], [side * place]
    direction = -1.0
    while (place if direction < 0 else -place) > reach:
        place = -place - 2 * direction * reach
        time += np.pi / rate
        times.append(time)
        places.append(side * place)
        direction = -direction
    return np.array(times), np.array(places)


def stop(p: Mapping[str, float]) -> tuple[float, float]:
    """Time and place where the mass stays, s and m."""
    times, places = turning_points(p)
    return float(times[-1]), float(places[-1])
