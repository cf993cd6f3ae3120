"""Figures as SVG, the same bytes for the same data."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.step_data import Vector
from gaussopt.reporting.colours import CURVES, WHITE
from gaussopt.reporting.document import typeset
from gaussopt.reporting.html.inline_svg import compact

ZERO_IS = 1e-17
"""Where zeros are drawn on a logarithmic axis."""

STYLES = ("-", "--", "-.", ":")


@dataclass(frozen=True, slots=True)
class Frame:
    """The axes of a figure of curves.

    Attributes
    ----------
    log, logx : whether ordinate and abscissa are logarithmic; zeros are then drawn at `ZERO_IS`
    ylim : where curves leave the picture
    above : whether the legend stands over the picture
    size : width and height, inches
    """

    log: bool = False
    logx: bool = False
    ylim: tuple[float, float] | None = None
    above: bool = False
    size: tuple[float, float] = (6.4, 3.4)


def lines(
    x: Vector | Mapping[str, Vector], curves: Mapping[str, Vector], xlabel: str, ylabel: str, *,
    markers: Mapping[str, tuple[Vector, Vector]] | None = None, **frame: Any,
) -> str:  # fmt: skip
    """Curves over a common (or their own) abscissa, with points on top (`markers`); `frame` are fields of `Frame`."""
    how, points = Frame(**frame), markers or {}
    figure, axes = _new(how.size, xlabel, ylabel)
    for i, (label, y) in enumerate(curves.items()):
        own = x[label] if isinstance(x, Mapping) else x
        y = np.maximum(np.abs(y), ZERO_IS) if how.log else y
        axes.plot(own, y, STYLES[i % 4], color=CURVES[i % 8], label=typeset(label), linewidth=1.4)
    for i, (label, (px, py)) in enumerate(points.items(), len(curves)):
        axes.plot(px, py, "o", color=CURVES[i % 8], label=label, markersize=3, fillstyle="none")
    if how.log:
        axes.set_yscale("log")
    if how.logx:
        _logarithmic(axes)
    if how.ylim is not None:
        axes.set_ylim(*how.ylim)
    if len(curves) + len(points) > 1:
        columns = 2 if how.above or len(curves) > 4 else 1
        _legend(axes, columns, 0.5) if how.above else axes.legend(fontsize=8, frameon=False, ncols=columns)
    return svg_of(figure)


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
    figure, axes = _new((6.4, 0.9 + 0.34 * len(names)), xlabel)
    left = np.zeros(len(names))
    for i, (label, values) in enumerate(parts.items()):
        axes.barh(names, values, left=left, color=CURVES[i % 8], label=label, height=0.7)
        left = left + np.asarray(values)
    axes.invert_yaxis()
    axes.set_xscale("symlog", linthresh=50)
    _legend(axes, 3)
    return svg_of(figure)


MARKERS = "osD^vP*Xph<>d8HP"


def look(place: int) -> dict[str, Any]:
    """Colour, line and marker of the `place`-th competitor; the first 32 differ from each other in at least two."""
    style = (place + place // 8) % 4
    return {"color": CURVES[place % 8], "linestyle": STYLES[style], "marker": MARKERS[place % 16]}


def profiles(
    taus: Vector, curves: Mapping[str, Vector], xlabel: str, ylabel: str, looks: Mapping[str, int] | None = None
) -> str:
    """Step functions of shares over a logarithmic abscissa that begins at 1."""
    figure, axes = _new((6.8, 3.9), xlabel, ylabel)
    for i, (label, y) in enumerate(curves.items()):
        style = look(i if looks is None else looks[label])
        axes.step(
            taus, y, where="post", label=label, linewidth=1.4, markersize=4,
            markevery=(i % 7 * len(taus) // 60, max(1, len(taus) // 8)), **style,
        )  # fmt: skip
    axes.set_ylim(-0.02, 1.02)
    # Behind the last step of the last curve there is nothing to see.
    ends = [taus[np.flatnonzero(y < y[-1])[-1] + 1] for y in curves.values() if len(y) and (y < y[-1]).any()]
    axes.set_xlim(1.0, max(1.1, 1.1 * max(ends, default=1.0)))
    _logarithmic(axes)
    _legend_beside(axes, len(curves))
    return svg_of(figure)


def sweeps(
    curves: Mapping[str, tuple[Vector, Vector]], xlabel: str, ylabel: str, *,
    bands: Mapping[str, tuple[Vector, Vector]] | None = None, joined: Collection[str] | None = None,
    hollow: Mapping[str, NDArray[np.bool_]] | None = None, looks: Mapping[str, int] | None = None,
) -> str:  # fmt: skip
    """Points (x, y) of each competitor on logarithmic axes, by label.

    Parameters
    ----------
    bands : (low, high), drawn as bars through the points
    joined : labels whose points are joined by lines; all if not given
    hollow : (k,) bool, points drawn without filling
    looks : the place of each competitor, so that it looks the same in all figures
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
    _legend_beside(axes, len(curves))
    return svg_of(figure)


def boxes(names: Sequence[str], groups: Mapping[str, Sequence[Sequence[float]]], xlabel: str) -> str:
    """Horizontal boxes from five quantiles (5, 25, 50, 75, 95 %), for each name one of every group.

    A box of NaN is left out.
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
    _legend(axes, len(groups))
    return svg_of(figure)


def _legend(axes: Any, columns: int, middle: float = 0.4) -> None:
    """Put the legend above the picture, `middle` from 0 to 1 of its width."""
    axes.legend(fontsize=8, frameon=False, ncols=columns, loc="lower center", bbox_to_anchor=(middle, 1.0))


def _legend_beside(axes: Any, count: int) -> None:
    """Put the legend to the right of the picture, where it covers nothing."""
    if count > 1:
        axes.legend(fontsize=8 if count <= 16 else 6.5, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5),
                    handlelength=3.2)  # fmt: skip


def _new(size: tuple[float, float], xlabel: str, ylabel: str = "") -> tuple[Any, Any]:
    """Make a figure of so many inches with its axes."""
    from matplotlib.layout_engine import TightLayoutEngine

    # One pass, where "constrained" makes two; and so does "tight" itself for a rectangle, even that of the figure.
    figure = figure_of(size, TightLayoutEngine(rect=None))  # type: ignore[arg-type]
    axes = figure.add_subplot()
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.grid(visible=True, linewidth=0.4, alpha=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def figure_of(size: tuple[float, float], layout: Any, dpi: float | None = None) -> Any:
    """A figure of matplotlib, of so many inches, that is drawn as SVG."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout=layout, dpi=dpi)
    FigureCanvasSVG(figure)
    return figure


def svg_of(figure: Any) -> str:
    """A figure of matplotlib as SVG, the same bytes for the same figure."""
    import matplotlib

    for axes in figure.axes:
        _plain_powers(axes.xaxis)
        _plain_powers(axes.yaxis)
    out = io.StringIO()
    # Fixed ids and no date: the same data give the same bytes. `savefig` would draw everything twice.
    with matplotlib.rc_context({"svg.hashsalt": "gaussopt", "svg.fonttype": "path"}):
        figure.canvas.print_svg(out, metadata={"Date": None, "Creator": "gaussopt"})
    return compact("\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n")


SUPERSCRIPTS = str.maketrans("-−0123456789", "⁻⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _plain_powers(axis: Any) -> None:
    """Write powers of ten on a logarithmic axis in plain text, which is set many times faster than a formula."""
    from matplotlib.ticker import LogFormatterMathtext

    for level in ("major", "minor"):
        formatter = getattr(axis, f"get_{level}_formatter")()
        if isinstance(formatter, LogFormatterMathtext):
            kind: Any = type(formatter)
            formatter.__class__ = _plain(kind)


@cache
def _plain(formatter: Any) -> Any:
    """The class of a formatter whose formulas are written as plain text."""

    def text(self: Any, x: float, pos: int | None = None) -> str:
        words = str(formatter.__call__(self, x, pos)).replace(r"\times", " × ")
        words = re.sub(r"\^\{(.*?)\}", lambda power: power[1].translate(SUPERSCRIPTS), words)
        return re.sub(r"\$|\\mathdefault|[{}]", "", words)

    return type(f"Plain{formatter.__name__}", (formatter,), {"__call__": text})
