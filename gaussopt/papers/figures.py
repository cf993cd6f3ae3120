"""Curves as figures, and remarks for their captions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from gaussopt.core.arrays import Vector
from gaussopt.reporting.document import Figure
from gaussopt.reporting.figures import plots


def line_figure(
    name: str, caption: str, alt: str, x: Vector | Mapping[str, Vector], curves: Mapping[str, Vector],
    labels: tuple[str, str], *, data: pd.DataFrame | None = None, columns: tuple[str, str] = ("t", "curve"),
    **how: Any,
) -> Figure:  # fmt: skip
    """Return a figure of curves with its data; `x` is a common abscissa, or maps each curve to an abscissa.

    `data` are the curves by default, with the abscissa in `columns[0]` and, if each curve has another abscissa, the
    labels of the curves in `columns[1]`. `labels` are the axes' labels, `how` further arguments of `plots.lines`.
    """
    if data is None and isinstance(x, Mapping):
        data = pd.concat([pd.DataFrame({columns[1]: k, columns[0]: x[k], "value": y}) for k, y in curves.items()])
    elif data is None:
        data = pd.DataFrame({columns[0]: x, **curves})
    return Figure(name, caption, alt, plots.lines(x, curves, *labels, **how), data)


def thin(length: int, points: int = 800) -> slice:
    """Return a slice that keeps about `points` points of a curve."""
    return slice(None, None, max(1, length // points))


def remarks(curves: Mapping[str, Vector], *, log: bool = False) -> str:
    """Return remarks for a caption: which curves coincide and, if any value is zero, where zeros are drawn.

    Curves with a common abscissa coincide if they differ nowhere by more than half a percent of the plotted range.
    """
    drawn = {k: np.log10(np.maximum(np.abs(y), plots.ZERO_IS)) if log else np.asarray(y) for k, y in curves.items()}
    if not drawn:
        return ""
    height = max(float(y.max()) for y in drawn.values()) - min(float(y.min()) for y in drawn.values())
    together: list[list[str]] = []
    for label, y in drawn.items():
        for group in together:
            head = drawn[group[0]]
            if len(head) == len(y) and float(np.abs(head - y).max()) <= 0.005 * height:
                group.append(label)
                break
        else:
            together.append([label])
    if len(drawn) > 2 and len(together) == 1:
        words = " All curves coincide."
    else:
        named = [[f"'{label}'" for label in g] for g in together if len(g) > 1]
        words = "".join(f" The curves {', '.join(g[:-1])} and {g[-1]} coincide." for g in named)
    zeros = log and any(bool((np.abs(y) < plots.ZERO_IS).any()) for y in curves.values())
    return words + f" Zeros are drawn at {plots.ZERO_IS:.0e}." * zeros
