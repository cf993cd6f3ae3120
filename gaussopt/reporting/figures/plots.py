"""Figures as SVG: the same data give the same bytes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Vector
from gaussopt.plotting.colours import CURVES, WHITE
from gaussopt.plotting.figures import figure_of, legend_above, legend_beside, styled, svg_of
from gaussopt.plotting.looks import MARKERS, forms, look, points
from gaussopt.reporting.document import typeset

ZERO_IS = 1e-17
"""Value at which zeros are drawn on a logarithmic axis."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The axes of a figure of curves.

    Attributes
    ----------
    log, logx : whether ordinate and abscissa are logarithmic; zeros are then drawn at `ZERO_IS`
    ylim : limits of the ordinate, beyond which curves are cut off
    above : whether the legend is above the picture
    size : width and height, inches
    """

    log: bool = False
    logx: bool = False
    ylim: tuple[float, float] | None = None
    above: bool = False
    size: tuple[float, float] = (4.6, 2.8)


def lines(
    x: Vector | Mapping[str, Vector], curves: Mapping[str, Vector], xlabel: str, ylabel: str, *,
    markers: Mapping[str, tuple[Vector, Vector]] | None = None, **frame: Any,
) -> str:  # fmt: skip
    """Draw curves over `x`, one abscissa or one for each curve, and points, `markers`; for `frame` see `Frame`."""
    how, marked = Frame(**frame), markers or {}
    figure, axes = _new(how.size, xlabel, ylabel)
    for (label, y), style in zip(curves.items(), forms(curves), strict=True):
        own = x[label] if isinstance(x, Mapping) else x
        y = np.maximum(np.abs(y), ZERO_IS) if how.log else y
        axes.plot(own, y, label=typeset(label), linewidth=1.4, **style)
    for (label, (px, py)), style in zip(marked.items(), points(marked), strict=True):
        axes.plot(px, py, linestyle="none", label=typeset(label), markersize=3.5, fillstyle="none", **style)
    if how.log:
        axes.set_yscale("log")
    if how.logx:
        _logarithmic(axes)
    if how.ylim is not None:
        axes.set_ylim(*how.ylim)
    if len(curves) + len(marked) > 1:
        columns = 2 if how.above or len(curves) > 4 else 1
        legend_above(axes, columns, 0.5, 9) if how.above else axes.legend(fontsize=9, frameon=False, ncols=columns)
    return svg_of(figure)


def _logarithmic(axes: Any) -> None:
    """Make the abscissa logarithmic, with labels that do not overlap."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    low, high = axes.get_xlim()
    if high < 100 * low:
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


def dots(names: Sequence[str], parts: Mapping[str, Sequence[float]], xlabel: str) -> str:
    """Draw a row for each name, and in it a point for each entry of `parts`, on a log axis; zeros are not drawn."""
    figure, axes = _new((6.4, 1.1 + 0.26 * len(names)), xlabel)
    rows = np.arange(len(names))
    for i, (label, values) in enumerate(parts.items()):
        found = np.array(values, dtype=float)
        axes.plot(found[found > 0], rows[found > 0], MARKERS[i], color=CURVES[i % 8], label=label, markersize=4)
    axes.set_yticks(rows, names)
    axes.grid(axis="y", linewidth=0.4)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xscale("log")
    legend_above(axes, 4)
    return svg_of(figure)


def profiles(
    taus: Vector, curves: Mapping[str, Vector], xlabel: str, ylabel: str, looks: Mapping[str, int] | None = None
) -> str:
    """Draw step functions, whose values are fractions, over a logarithmic abscissa that begins at 1."""
    figure, axes = _new((6.8, 3.9), xlabel, ylabel)
    for i, (label, y) in enumerate(curves.items()):
        style = look(i if looks is None else looks[label])
        axes.step(
            taus, y, where="post", label=label, linewidth=1.4, markersize=4,
            markevery=(i % 7 * len(taus) // 60, max(1, len(taus) // 8)), **style,
        )  # fmt: skip
    axes.set_ylim(-0.02, 1.02)
    # The abscissa ends soon after the last step of the curves.
    ends = [taus[np.flatnonzero(y < y[-1])[-1] + 1] for y in curves.values() if len(y) and (y < y[-1]).any()]
    axes.set_xlim(1.0, max(1.1, 1.1 * max(ends, default=1.0)))
    _logarithmic(axes)
    legend_beside(axes, len(curves))
    return svg_of(figure)


def sweeps(
    curves: Mapping[str, tuple[Vector, Vector]], xlabel: str, ylabel: str, *,
    bands: Mapping[str, tuple[Vector, Vector]] | None = None, joined: Collection[str] | None = None,
    hollow: Mapping[str, NDArray[np.bool_]] | None = None, looks: Mapping[str, int] | None = None,
) -> str:  # fmt: skip
    """Draw points (x, y) of each competitor, by label, on logarithmic axes.

    Parameters
    ----------
    bands : by label, (low, high), drawn as bars through the points
    joined : labels whose points are joined by lines; by default all labels
    hollow : by label, mask (k,) of the points drawn without filling
    looks : by label, the number of a competitor's colour, line style and marker, the same in all figures
    """
    figure, axes = _new((6.8, 3.9), xlabel, ylabel)
    for i, (label, (x, y)) in enumerate(curves.items()):
        style = look(i if looks is None else looks[label])
        if joined is not None and label not in joined:
            style["linestyle"] = "none"
        axes.plot(x, y, label=label, linewidth=1.3, markersize=5, **style)
        if hollow is not None and hollow[label].any():
            axes.plot(x[hollow[label]], y[hollow[label]], linestyle="none", marker=style["marker"],
                      color=style["color"], markerfacecolor=WHITE, markersize=5)  # fmt: skip
        if bands is not None:
            axes.vlines(x, *bands[label], color=style["color"], linewidth=0.9, alpha=0.7)
    axes.set_yscale("log")
    positive = [x for xs, _ in curves.values() for x in xs if np.isfinite(x)]
    if positive and min(positive) > 0:
        _logarithmic(axes)
    legend_beside(axes, len(curves))
    return svg_of(figure)


def boxes(names: Sequence[str], groups: Mapping[str, Sequence[Sequence[float]]], xlabel: str) -> str:
    """Draw horizontal boxes from five quantiles (5, 25, 50, 75, 95 %), one for each name in each group.

    A box with NaN is left out.
    """
    figure, axes = _new((6.8, 1.0 + 0.17 * len(names) * (len(groups) + 0.6)), xlabel)
    height = 0.8 / max(len(groups), 1)
    for j, (label, rows) in enumerate(groups.items()):
        colour = CURVES[j % 8]
        at = np.arange(len(names)) - 0.4 + height * (j + 0.5)
        q = np.array(rows, dtype=float).reshape(len(names), 5).T
        axes.hlines(at, q[0], q[4], color=colour, linewidth=1.0)
        axes.barh(at, q[3] - q[1], left=q[1], height=0.75 * height, color=colour, alpha=0.45, label=label)
        axes.plot(q[2], at, linestyle="none", marker=MARKERS[j], color=colour, markersize=3.5)
    axes.set_yticks(np.arange(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    _logarithmic(axes)
    legend_above(axes, len(groups))
    return svg_of(figure)


def _new(size: tuple[float, float], xlabel: str, ylabel: str = "") -> tuple[Any, Any]:
    """Make a figure of `size`, inches, with its axes."""
    from matplotlib.layout_engine import TightLayoutEngine

    # This layout engine draws the figure once; "constrained", or "tight" with a rectangle, would draw it twice.
    figure = figure_of(size, TightLayoutEngine(rect=None))  # type: ignore[arg-type]
    axes = figure.add_subplot()
    return figure, styled(axes, xlabel, ylabel)
