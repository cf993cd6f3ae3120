"""Figures as SVG, the same bytes for the same data."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gaussopt.stepdata import Vector

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#7f7f7f")
"""Okabe and Ito's palette, told apart by colour-blind readers."""

STYLES = ("-", "--", "-.", ":")


def lines(
    x: Vector | Mapping[str, Vector],
    curves: Mapping[str, Vector],
    xlabel: str,
    ylabel: str,
    *,
    log: bool = False,
    logx: bool = False,
    ylim: tuple[float, float] | None = None,
    above: bool = False,
    size: tuple[float, float] = (6.4, 3.4),
    markers: Mapping[str, tuple[Vector, Vector]] | None = None,
    zero_is: float = 1e-17,
) -> str:
    """Curves over a common (or their own) abscissa; `markers` are points drawn on top.

    On a logarithmic axis values of zero are drawn at `zero_is`; curves leave the picture at `ylim`; `above` puts the
    legend over the picture.
    """
    figure, axes = _new(size)
    for i, (label, y) in enumerate(curves.items()):
        own = x[label] if isinstance(x, Mapping) else x
        y = np.maximum(np.abs(y), zero_is) if log else y
        axes.plot(own, y, STYLES[i % 4], color=COLOURS[i % 8], label=label, linewidth=1.4)
    for i, (label, (px, py)) in enumerate((markers or {}).items()):
        axes.plot(px, py, "o", color=COLOURS[(len(curves) + i) % 8], label=label, markersize=3, fillstyle="none")
    if log:
        axes.set_yscale("log")
    if logx:
        _logarithmic(axes)
    if ylim is not None:
        axes.set_ylim(*ylim)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    if len(curves) + len(markers or {}) > 1:
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)} if above else {}
        axes.legend(fontsize=8, frameon=False, ncols=2 if above or len(curves) > 4 else 1, **place)
    return _svg(figure)


def _logarithmic(axes: Any) -> None:
    """A logarithmic abscissa with labels that do not run into each other."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    low, high = axes.get_xlim()
    if high < 100 * low:
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


def stacked_bars(names: Sequence[str], parts: Mapping[str, Sequence[float]], xlabel: str) -> str:
    """Horizontal stacked bars, one for each name."""
    figure, axes = _new((6.4, 0.9 + 0.34 * len(names)))
    left = np.zeros(len(names))
    for i, (label, values) in enumerate(parts.items()):
        axes.barh(names, values, left=left, color=COLOURS[i % 8], label=label, height=0.7)
        left = left + np.asarray(values)
    axes.invert_yaxis()
    axes.set_xlabel(xlabel)
    axes.set_xscale("symlog", linthresh=50)
    axes.legend(fontsize=8, frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.4, 1.0))
    return _svg(figure)


def _new(size: tuple[float, float]) -> tuple[Any, Any]:
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    axes.grid(visible=True, linewidth=0.4, alpha=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _svg(figure: Any) -> str:
    import matplotlib

    out = io.StringIO()
    # Fixed ids and no date: the same data give the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "gaussopt", "svg.fonttype": "path"}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": "gaussopt"})
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
