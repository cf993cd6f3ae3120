"""Two shafts and a Hooke joint between them, the first one driven: three of its rows follow from others."""

from __future__ import annotations

from functools import cache

import numpy as np

import gaussopt as go
from gaussopt.bodies import Drive, Revolute, Universal

SPEED = 5.0
"""Of the first shaft, rad/s."""


@cache
def hooke(coordinates: str, bend: float = 0.7) -> go.Problem:
    """Its problem; the shafts make an angle of `bend` rad."""
    end, axis = (np.cos(bend) / 2, np.sin(bend) / 2, 0), (np.cos(bend), np.sin(bend), 0)
    model = go.Model(dim=3, coordinates=coordinates)
    a = model.body("a", 1, (0.1, 0.1, 0.1), at=(-0.5, 0, 0))
    b = model.body("b", 1, (0.1, 0.1, 0.1), at=end, angle=(np.cos(bend / 2), 0, 0, np.sin(bend / 2)))
    shaft = model.add(Revolute("R1", model.ground.at(-0.5, 0, 0, axis=(1, 0, 0)), a.at(0, 0, 0, axis=(1, 0, 0))))
    model.add(Universal("U", a.at(0.5, 0, 0, axis=(0, 0, 1)), b.at(-0.5, 0, 0, axis=(0, 1, 0))))
    model.add(Revolute("R2", model.ground.at(*end, axis=axis), b.at(0, 0, 0, axis=(1, 0, 0))))
    model.add(Drive("turning", shaft, SPEED * model.t))
    return model.problem(t_end=1.5)
