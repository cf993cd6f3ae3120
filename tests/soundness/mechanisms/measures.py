"""What coordinates measure, and how far accelerations of coordinates are from those of the bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .fixed import Array, dot, floats
from .judge import Floats, Truth, assembled
from .parts import Joint, Mechanism, State
from .rows import Line, lines


@dataclass
class Measure:
    """Coordinates at their places: values, and rows whose combinations of velocities are their rates.

    Of a quaternion, the rows are those of the angular velocity and `E` is the matrix with omega = 2 E e'.
    """

    at: list[int]
    values: list[int]
    lines: list[Line]
    E: Array | None = None


def rates(measure: Measure, moving: Array) -> Array:
    """Of the coordinates, from the velocities of all bodies, (k, 6)."""
    found = np.array(
        [sum(int(dot(own, moving[body])) for body, own in line.at.items()) for line in measure.lines], dtype=object
    )
    return found if measure.E is None else dot(measure.E.T, found) // 2


def error(made: Mechanism, tree: list[Joint], state: State, truth: Truth, found: list[Measure], a: Floats) -> Floats:
    """Accelerations of all bodies that belong to those of the coordinates, less the true ones, in the columns.

    `tree` are the joints that hold in these coordinates whatever the accelerations are.
    """
    kept = [line for joint in tree for line in lines(joint, state, made.dim)]
    misses: list[Any] = [np.zeros(len(kept))]
    for measure in found:
        told = a[measure.at] if measure.E is None else 2 * floats(measure.E) @ a[measure.at]
        true = [
            sum(float(floats(own) @ truth.a[body]) for body, own in line.at.items()) - float(floats(line.level))
            for line in measure.lines
        ]
        misses.append(told - np.array(true))
    J = floats(assembled(made, kept + [line for measure in found for line in measure.lines]))
    scale = np.abs(np.diag(truth.half))
    B = J / scale
    size = np.linalg.norm(B, axis=1)
    gap, *_ = np.linalg.lstsq(B / size[:, None], np.concatenate(misses) / size, rcond=None)
    return gap / scale
