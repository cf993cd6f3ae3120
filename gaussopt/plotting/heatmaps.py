"""Heat maps: of classes with a legend, and of numbers with a colour bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.plotting.colours import CLASSES, COLOUR_MAP, CONTOUR, RIM
from gaussopt.plotting.figures import given_axes, plain_figure


@dataclass(frozen=True, slots=True)
class Panel:
    """One of several maps with common axes and colours: its title, and its values (rows are y, columns are x)."""

    title: str
    values: Matrix


@dataclass(frozen=True, slots=True)
class Scale:
    """Scale of a colour bar: its label, least and largest number, and whether it is logarithmic."""

    label: str
    low: float
    high: float
    log: bool = False


def class_map(
    panels: Sequence[Panel], x: Vector, y: Vector, xlabel: str, ylabel: str, classes: Sequence[str], *,
    small: bool = False, onto: Any = plain_figure,
) -> list[Any]:  # fmt: skip
    """Draw maps of class codes, with a legend of the classes that occur; `small` enlarges the text of small maps.

    Panels are drawn on the axes given as `onto`, or on a new figure. Returns the axes of the panels.
    """
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Patch

    figure, axes = _panels(panels, xlabel, ylabel, small, onto)
    colours = ListedColormap(CLASSES[: len(classes)])
    norm = BoundaryNorm(np.arange(len(classes) + 1) - 0.5, len(classes))
    for panel, ax in zip(panels, axes, strict=True):
        _cells(ax, x, y, panel.values, cmap=colours, norm=norm)
    used = sorted({int(v) for panel in panels for v in np.unique(panel.values)})
    handles = [Patch(facecolor=CLASSES[i], edgecolor=RIM, label=classes[i]) for i in used]
    # The legend has as many entries per row as fit: a letter takes about 0.07 inches, patch and gap 0.45 inches.
    letter = 1.4 if small else 1.0
    room = int(figure.get_figwidth() / (letter * (0.45 + 0.07 * max(len(classes[i]) for i in used))))
    columns = min(max(1, room), 4, len(used))
    if callable(onto):
        place, owner = {"loc": "outside upper center", "ncols": columns}, figure
    else:
        place, owner = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}, axes[-1]
    owner.legend(handles=handles, fontsize=11 if small else 8, frameon=False, **place)
    return axes


def value_map(
    panels: Sequence[Panel], x: Vector, y: Vector, xlabel: str, ylabel: str, scale: Scale, *,
    contour: float | None = None, onto: Any = plain_figure,
) -> list[Any]:  # fmt: skip
    """Draw maps of numbers with the colour map COLOUR_MAP, NaN in white, and a contour line at the value `contour`.

    Panels are drawn on the axes given as `onto`, or on a new figure, as in `class_map`.
    """
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.ticker import MaxNLocator

    figure, axes = _panels(panels, xlabel, ylabel, False, onto)
    norm: Any = (LogNorm if scale.log else Normalize)(scale.low, scale.high)
    mesh = None
    for panel, ax in zip(panels, axes, strict=True):
        values: NDArray[np.float64] = np.ma.masked_invalid(panel.values)
        mesh = _cells(ax, x, y, values, cmap=COLOUR_MAP, norm=norm)
        finite = panel.values[np.isfinite(panel.values)]
        drawn = contour is not None and min(panel.values.shape) > 1 and len(finite) > 0
        if drawn and finite.min() < contour < finite.max():
            ax.contour(x, y, values, levels=[contour], colors=CONTOUR, linewidths=1.2)
    if mesh is not None:
        known = np.concatenate([panel.values[np.isfinite(panel.values)] for panel in panels])
        counts = not scale.log and bool((known == np.round(known)).all())
        ticks = MaxNLocator(integer=True) if counts else None
        figure.colorbar(mesh, ax=axes, label=scale.label, extend="both", shrink=0.9, ticks=ticks)
    return axes


def _cells(ax: Any, x: Vector, y: Vector, values: NDArray[np.float64], **looks: Any) -> Any:
    """Draw a cell around each point of the grid; an axis whose neighbouring values have equal ratios is logarithmic."""
    logarithmic = {f"{name}scale": "log" for name, at in (("x", x), ("y", y)) if _equal_ratios(at)}
    if not logarithmic:
        return ax.pcolormesh(x, y, values, shading="nearest", rasterized=True, **looks)
    ax.set(**logarithmic)
    edges = [np.exp(_edges(np.log(at))) if _equal_ratios(at) else _edges(at) for at in (x, y)]
    return ax.pcolormesh(*edges, values, shading="flat", rasterized=True, **looks)


def _equal_ratios(values: Vector) -> bool:
    if len(values) < 3 or not (values > 0).all():
        return False
    steps = np.diff(np.log(values))
    return bool(np.ptp(steps) <= 1e-6 * abs(steps[0]) and abs(steps[0]) > 1e-3)


def _edges(values: Vector) -> Vector:
    """Return the bounds of the cells: halfway between values, and half a step beyond the first and the last value."""
    steps = 0.5 * np.diff(values) if len(values) > 1 else np.full(1, 0.5)
    return np.concatenate((values[:1] - steps[:1], values[:-1] + steps[: len(values) - 1], values[-1:] + steps[-1:]))


def _panels(panels: Sequence[Panel], xlabel: str, ylabel: str, small: bool, onto: Any) -> tuple[Any, list[Any]]:
    """Return the figure and the axes of the panels with their titles and labels."""
    columns = min(len(panels), 2 if len(panels) in (1, 2, 4) else 3)
    text = 11 if small else 9
    rows = -(-len(panels) // columns)
    found = given_axes(len(panels), onto)
    if found is not None:
        figure = found[0].figure
        for axes in found:
            axes.set_xlabel(xlabel)
            axes.set_ylabel(ylabel)
    else:
        size = (3.5, 3.5) if small else (2.1 * columns + 0.4, 1.6 * rows + 0.6)
        figure = onto(size, dpi=160)
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes in grid.ravel()[len(panels) :]:
            axes.set_visible(False)
        found = list(grid.ravel()[: len(panels)])
        figure.supxlabel(xlabel, fontsize=text)
        figure.supylabel(ylabel, fontsize=text)
    for panel, axes in zip(panels, found, strict=True):
        # With a fixed y, matplotlib need not search for a position, which would measure all ticks again.
        axes.set_title(panel.title, fontsize=text, y=1.0)
        axes.tick_params(labelsize=text - 1)
    return figure, found
