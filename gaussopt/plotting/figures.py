"""Functions common to all figures: axes, legends, and writing to files.

Matplotlib is imported only when a figure is made. The same data give an SVG or PDF with the same bytes.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gaussopt.core.errors import BadInput, one_line
from gaussopt.core.files import check_target, ending_of, write_bytes
from gaussopt.plotting.svg import compact

ENDINGS = (".svg", ".pdf", ".pgf", ".png")
"""Suffixes of the files in which figures are written."""

MOST_IN_LEGEND = 12
"""Largest number of curves that a legend names; the others are only counted."""

REPRODUCIBLE = {"svg.hashsalt": "gaussopt", "svg.fonttype": "path", "pdf.fonttype": 42}
"""Settings of matplotlib for reproducible files; journals require TrueType fonts (42) in PDF."""


def styled(axes: Any, xlabel: str, ylabel: str) -> Any:
    """Give axes their labels and a pale grid, remove the frame at the top and right, and return the axes."""
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.grid(visible=True, linewidth=0.4, alpha=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return axes


def legend_above(axes: Any, columns: int, middle: float = 0.4, letters: float = 8) -> None:
    """Put the legend above the picture, centred at the fraction `middle` of its width, in at most `columns` columns."""
    for number in range(columns, 0, -1):
        made = axes.legend(
            fontsize=letters, frameon=False, ncols=number, loc="lower center", bbox_to_anchor=(middle, 1.0)
        )
        axes.figure.draw_without_rendering()  # only a drawn legend knows its width
        if made.get_window_extent().width <= axes.figure.bbox.width:
            return


def legend_beside(axes: Any, count: int) -> None:
    """Put the legend to the right of the picture, where it covers nothing; the figure grows with a long legend."""
    if count > 1:
        axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=3.2)
        axes.figure.set_figheight(max(axes.figure.get_figheight(), 0.4 + 0.19 * count))


def given_axes(count: int, onto: Any) -> list[Any] | None:
    """Return the axes that the user gives, or None if `onto` is a function that makes a figure.

    Raises BadInput unless there are `count` axes.
    """
    if callable(onto):
        return None
    given = list(getattr(onto, "flat", onto if isinstance(onto, list | tuple) else [onto]))
    if len(given) != count:
        raise BadInput(f"The figure needs {count} axes and ax holds {len(given)}.")
    return given


def one_or_all(axes: Sequence[Any]) -> Any:
    """Return a single axes object itself, or several as an array, as `matplotlib.pyplot.subplots` does."""
    return axes[0] if len(axes) == 1 else np.array(axes, dtype=object)


def pyplot_figure(size: tuple[float, float], dpi: float | None = None) -> Any:
    """Return a figure of the given size, inches, that pyplot manages, so that notebooks show it."""
    from matplotlib import pyplot

    return pyplot.figure(figsize=size, dpi=dpi, layout="constrained")


def literal(name: str) -> str:
    """Return a name with escaped dollar signs, between which matplotlib would otherwise expect a formula."""
    return name.replace("$", r"\$")


def plain_figure(size: tuple[float, float], dpi: float | None = None) -> Any:
    """Return a figure of the given size, inches, for a file or a page."""
    return figure_of(size, "constrained", dpi=dpi)


def save_figure(figure: Any, path: str | os.PathLike[str]) -> Path:
    """Write a Matplotlib figure as .svg, .pdf, .pgf (for LaTeX) or .png; a failed write leaves no partial file.

    Raises BadInput for another suffix, if the file cannot be written, or if LaTeX is missing for .pgf.
    """
    import matplotlib

    target = Path(path)
    ending = check_ending(target)
    check_target(target)
    dates = {".svg": {"Date": None, "Creator": "gaussopt"}, ".pdf": {"CreationDate": None}}
    out = io.BytesIO()
    try:
        with matplotlib.rc_context(REPRODUCIBLE):
            figure.savefig(out, format=ending[1:], metadata=dates.get(ending), dpi=200)
    except (RuntimeError, FileNotFoundError) as error:
        if ending != ".pgf":
            raise
        reason = (one_line(error) or type(error).__name__).partition(";")[0].rstrip(".")
        raise BadInput(
            f"{target} was not written: PGF needs LaTeX to measure its texts ({reason}); install it, or write .pdf."
        ) from None
    write_bytes(target, out.getvalue())
    return target


def check_ending(path: Path) -> str:
    """Return the suffix of a file name; raises BadInput if no figure can be written with this suffix."""
    return ending_of(path, ENDINGS, "a figure")


def figure_of(size: tuple[float, float], layout: Any, dpi: float | None = None) -> Any:
    """Return a figure of the given size, inches, that is not registered with pyplot and is drawn as SVG."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout=layout, dpi=dpi)
    FigureCanvasSVG(figure)
    return figure


def svg_of(figure: Any) -> str:
    """Return a Matplotlib figure as SVG, with the same bytes for the same figure."""
    import matplotlib

    for axes in figure.axes:
        _plain_powers(axes.xaxis)
        _plain_powers(axes.yaxis)
    out = io.StringIO()
    # Fixed ids and no date make the bytes reproducible. `savefig` would draw everything twice.
    with matplotlib.rc_context(REPRODUCIBLE):
        figure.canvas.print_svg(out, metadata={"Date": None, "Creator": "gaussopt"})
    return compact("\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n")


SUPERSCRIPTS = str.maketrans("-−0123456789", "⁻⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _plain_powers(axis: Any) -> None:
    """Write powers of ten on a logarithmic axis as plain text, which is typeset many times faster than a formula."""
    from matplotlib.ticker import LogFormatterMathtext

    for level in ("major", "minor"):
        formatter = getattr(axis, f"get_{level}_formatter")()
        if isinstance(formatter, LogFormatterMathtext):
            kind: Any = type(formatter)
            formatter.__class__ = _plain(kind)


@cache
def _plain(formatter: Any) -> Any:
    """Return a subclass of a formatter's class that writes powers of ten as plain text."""

    def text(self: Any, x: float, pos: int | None = None) -> str:
        words = str(formatter.__call__(self, x, pos)).replace(r"\times", " × ")
        words = re.sub(r"\^\{(.*?)\}", lambda power: power[1].translate(SUPERSCRIPTS), words)
        return re.sub(r"\$|\\mathdefault|[{}]", "", words)

    return type(f"Plain{formatter.__name__}", (formatter,), {"__call__": text})
