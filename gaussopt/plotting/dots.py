"""Points with error bars, one row for each competitor, in one panel for each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gaussopt.plotting.colours import WHITE
from gaussopt.plotting.figures import given_axes, literal, plain_figure, styled
from gaussopt.plotting.looks import look, places

MOST = 24
"""Largest number of competitors in a panel; those with the smallest medians are shown."""

WIDTH, ROW = 6.8, 0.22
"""Width of a figure and height of a row, inches."""


class Dot(NamedTuple):
    """A row: its name, the method that decides its look, (low, middle, high), and whether all its results are right."""

    name: str
    method: str
    values: tuple[float, float, float]
    right: bool


def draw(panels: Mapping[str, Sequence[Dot]], xlabel: str, onto: Any = plain_figure) -> list[Any]:
    """Draw titled panels on a logarithmic axis, smallest medians on top; points that are not `right` are hollow.

    Raises BadInput if the number of given axes is not the number of panels.
    """
    axes = given_axes(len(panels), onto)
    if axes is None:
        rows = [min(len(dots), MOST) + 3 for dots in panels.values()]
        figure = onto((WIDTH, 0.5 + ROW * sum(rows)))
        grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": rows})
        axes = list(grid[:, 0])
    known = places(dot.method for dots in panels.values() for dot in dots)
    for one, (title, dots) in zip(axes, panels.items(), strict=True):
        _panel(one, title, sorted(dots, key=lambda dot: dot.values[1]), known)
    axes[-1].set_xlabel(xlabel)
    return axes


def _panel(axes: Any, title: str, dots: Sequence[Dot], known: Mapping[str, int]) -> None:
    shown = dots[:MOST]
    for i, dot in enumerate(shown):
        style = look(known[dot.method])
        low, middle, high = dot.values
        axes.hlines(i, low, high, color=style["color"], linewidth=1.2)
        axes.plot(middle, i, marker=style["marker"], color=style["color"], markersize=5, linestyle="none",
                  markerfacecolor=style["color"] if dot.right else WHITE)  # fmt: skip
    styled(axes, "", "")
    axes.set_xscale("log")
    axes.set_yticks(range(len(shown)), [literal(dot.name) for dot in shown], fontsize=8)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    more = f", the quickest {MOST} of {len(dots)}" if len(dots) > MOST else ""
    hollow = "" if all(dot.right for dot in shown) else "; hollow: not all answers confirmed"
    axes.set_title(literal(f"{title}{more}{hollow}"), fontsize=9, loc="left")
