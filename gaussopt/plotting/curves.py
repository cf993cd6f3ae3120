"""Curves over time, with the events of a motion: panels one below the other, one for each quantity and unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.display import gathered
from gaussopt.core.errors import UnknownName
from gaussopt.plotting.colours import CURVES, GREY
from gaussopt.plotting.figures import MOST_IN_LEGEND, given_axes, literal, plain_figure, styled
from gaussopt.plotting.looks import STYLES

WIDTH, NARROW, HEIGHT = 6.8, 5.4, 1.9
"""Width and height of a panel, inches; NARROW is the width on pages, which may be read on a telephone."""

SMALLEST = 1e-17
"""Zeros are drawn at this value on a logarithmic axis."""

MOST_EVENTS = 40
"""Of each kind of event, at most this number of instants are marked by lines."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A named quantity over time, (N,).

    Attributes
    ----------
    name : as the user gives it
    values : (N,)
    what : the quantity on the axis, such as "coordinate" or "force"
    unit : unit of the values, "" if unknown
    log : whether the absolute value is drawn on a logarithmic axis
    label : text in the legend, by default the name
    """

    name: str
    values: Vector
    what: str
    unit: str = ""
    log: bool = False
    label: str = ""

    @property
    def axis(self) -> str:
        """Label of the axis."""
        return f"{self.what} / {self.unit}" if self.unit not in ("", "1") else self.what


def chosen(
    curves: Mapping[str, Curve], groups: Mapping[str, Sequence[str]], names: Sequence[str], owner: str
) -> list[Curve]:
    """Return the curves for the given names, each the name of a curve or of a group.

    Raises UnknownName, whose message gives the nearest name, or all names.
    """
    found: dict[str, Curve] = {}
    for name in names:
        if name in curves:
            found[name] = curves[name]
        elif groups.get(name):
            found |= {member: curves[member] for member in groups[name]}
        else:
            raise UnknownName(f"quantity of {owner}", name, [*(g for g in groups if groups[g]), *curves])
    return list(found.values())


def draw(
    t: Vector, curves: Sequence[Curve], events: Sequence[tuple[float, str]], onto: Any = plain_figure
) -> list[Any]:
    """Draw curves over time (s) and mark events, (time, kind); return the axes, one for each quantity and unit.

    `onto` holds the axes, or is a function that makes a figure for them. On axes that already have curves, the colours
    continue after those in use. Raises BadInput if the number of given axes is not the number of panels.
    """
    panels = gathered(curves, lambda curve: (curve.axis, curve.log))
    axes = given_axes(len(panels), onto)
    if axes is None:
        figure = onto((NARROW if onto is plain_figure else WIDTH, 0.5 + HEIGHT * len(panels)))
        axes = list(figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0])
    for one, ((label, log), members) in zip(axes, panels.items(), strict=True):
        _panel(one, t, members, log)
        alone = _count(one) == 1
        styled(one, "", literal(label.replace(members[0].what, members[0].name, 1) if alone else label))
    _mark(axes, [e for e in events if len(t) and t[0] <= e[0] <= t[-1]])
    for one in axes:
        _legend(one)
    axes[-1].set_xlabel("time / s")
    return axes


def _count(axes: Any) -> int:
    """Count the curves on axes."""
    return sum(line.get_gid() == "curve" for line in axes.lines)


def _panel(axes: Any, t: Vector, curves: Sequence[Curve], log: bool) -> None:
    for i, curve in enumerate(curves, _count(axes)):
        values = np.maximum(np.abs(curve.values), SMALLEST) if log else curve.values
        style = STYLES[(i + i // len(CURVES)) % len(STYLES)]  # this gives 32 different pairs of colour and style
        words = literal(curve.label or curve.name)
        axes.plot(t, values, style, color=CURVES[i % len(CURVES)], linewidth=1.4, label=words, gid="curve")
    if log:
        axes.set_yscale("log")


def _mark(axes: Sequence[Any], events: Sequence[tuple[float, str]]) -> None:
    """Draw a thin line at every event, dashed by its kind; the first panel has the legend of the kinds."""
    named = {line.get_label() for line in axes[0].lines}
    for i, kind in enumerate(dict.fromkeys(kind for _, kind in events)):
        times = [t for t, of in events if of == kind][:MOST_EVENTS]
        words = literal(kind.replace("_", " "))
        look = {"color": GREY, "linewidth": 0.9, "linestyle": (0, (2 + 2 * i, 2)), "zorder": 0.5, "gid": "event"}
        for one in axes:
            for t in times:
                one.axvline(t, label=words if one is axes[0] and words not in named else "_", **look)
                named.add(words)


def _legend(axes: Any) -> None:
    """Put the legend to the right of the panel, where it covers nothing, if it has several entries."""
    handles, labels = axes.get_legend_handles_labels()
    if len(handles) < 2:
        return
    curves = [i for i, h in enumerate(handles) if h.get_gid() != "event"]
    others = [i for i, h in enumerate(handles) if h.get_gid() == "event"]
    shown = curves[:MOST_IN_LEGEND] + others
    left = len(curves) - MOST_IN_LEGEND
    title = f"{len(curves)} curves, {left} more:" if left > 0 else None
    axes.legend([handles[i] for i in shown], [labels[i] for i in shown], fontsize=8, frameon=False, title=title,
                title_fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=2.4)  # fmt: skip
