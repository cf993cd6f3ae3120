"""Draw an atlas: choose the horizontal and the vertical axis and the panels, and draw the maps."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.atlas.contact_study import CLASSES, MEANINGS
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import UnknownName
from gaussopt.modelling.parameter_grid import Axis
from gaussopt.plotting.figures import plain_figure
from gaussopt.plotting.heatmaps import Panel, Scale, class_map, value_map

if TYPE_CHECKING:
    import xarray as xr

MAX_PANELS = 9
"""Largest number of maps in a figure; the file of the atlas holds all."""

SMALLEST = 1e-6
"""Smallest relative difference that is drawn; smaller differences are drawn with this value."""


@dataclass(frozen=True, eq=False)
class Mapped:
    """The parts of an atlas that are drawn; for the attributes see `gaussopt.atlas.scan.Atlas`."""

    problem: str
    axes: tuple[Axis, ...]
    units: tuple[str, ...]
    slips: NDArray[np.int_]
    loads: Matrix | None
    contacts: tuple[str, ...]
    data: xr.Dataset


@dataclass(frozen=True)
class AtlasView:
    """Layout of the maps: the two drawn dimensions, and a panel for each combination of indices of the others."""

    drawn: tuple[str, ...]
    axes: tuple[Vector, Vector, str, str]
    panels: tuple[tuple[str, dict[str, int]], ...]
    left_out: str

    def of(self, atlas: Mapped, name: str) -> list[Panel]:
        """Return the panels of a variable."""
        x, y, *_ = self.axes
        return [
            Panel(title, np.asarray(atlas.data[name].isel(index).transpose(*self.drawn), float).reshape(len(y), len(x)))
            for title, index in self.panels
        ]


GREEK = {"theta": "θ", "omega": "ω", "phi": "φ", "mu": "μ"}
"""Parameters that are printed as Greek letters."""


def _symbol(name: str) -> str:
    """Write a parameter as in print: "θ₁" for theta1_0; the 0 of a start value is dropped."""
    found = re.fullmatch(r"(theta|omega|phi|mu)(\d?)(_?0)?", name)
    if found is None or (found[2] == "0" and not found[3]):
        return GREEK.get(name.removesuffix("0"), name)
    return GREEK[found[1]] + found[2].translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def dimensions(atlas: Mapped, plain: bool = False) -> dict[str, tuple[str, Vector]]:
    """Return label and values (angles in degrees) of each dimension; `plain` gives labels for heads of data files."""
    found: dict[str, tuple[str, Vector]] = {}
    for axis, unit in zip(atlas.axes, atlas.units, strict=True):
        values, unit = (np.degrees(axis.values), "degrees") if unit == "rad" else (axis.values, unit)
        values = np.round(values, 10)
        name, per = (axis.name, ", ") if plain else (_symbol(axis.name), " / ")
        unit = unit if plain else unit.replace("degrees", "°").replace("^2", "²")
        found[axis.name] = (name if unit in ("", "1") else f"{name}{per}{unit}", values)
    found["slip"] = ("signs of slip", np.arange(len(atlas.slips), dtype=float))
    if atlas.loads is not None and atlas.loads.shape[1] == 2:
        angle = np.degrees(np.arctan2(atlas.loads[:, 1], atlas.loads[:, 0])) % 360
        found["load"] = ("direction of the bias / °", angle)
    elif atlas.loads is not None:
        found["load"] = ("number of the load direction", np.arange(len(atlas.loads), dtype=float))
    return found


def view_of(atlas: Mapped) -> AtlasView:
    """Choose the two longest dimensions as axes of the maps; each combination of values of the others has a panel."""
    dims = dimensions(atlas)
    long = sorted((d for d in dims if d != "slip"), key=lambda d: -len(dims[d][1]))
    x = long[0] if long and len(dims[long[0]][1]) > 1 else "slip"
    others = [d for d in long if d != x and len(dims[d][1]) > 1]
    y = others[0] if others else ("slip" if x != "slip" else (long[0] if long else ""))
    names = sorted((d for d in dims if d not in (x, y)), key=lambda d: d != "slip")  # slip varies last
    panels = []
    for index in itertools.product(*(range(len(dims[d][1])) for d in names)):
        words = [
            _slips(atlas, i) if d == "slip" else f"{dims[d][0]} = {dims[d][1][i]:.6g}"
            for d, i in zip(names, index, strict=True)
        ]
        panels.append(("\n".join(words), dict(zip(names, index, strict=True))))
    signs = ", ".join(f"{i} is {signs_in_print(s)}" for i, s in enumerate(atlas.slips))
    dims["slip"] = (f"{dims['slip'][0]}: {signs}", dims["slip"][1])
    ylabel, rows = dims.get(y, ("", np.zeros(1)))
    left = len(panels) - MAX_PANELS
    more = f" {left} more panels are in the NetCDF file only." if left > 0 else ""
    drawn = tuple(d for d in (y, x) if d)
    return AtlasView(drawn, (dims[x][1], rows, dims[x][0], ylabel), tuple(panels[:MAX_PANELS]), more)


def signs_in_print(row: Any) -> str:
    """Write signs of slip as text, with the typographic minus."""
    return slip_label(row).replace("-", "−")


def _slips(atlas: Mapped, index: int) -> str:
    """Return the signs of slip with the names of their contacts."""
    signs = zip(atlas.contacts, signs_in_print(atlas.slips[index]), strict=True)
    return f"slip {', '.join(f'{contact} {sign}' for contact, sign in signs)}"


def draw(atlas: Mapped, name: str, onto: Any = plain_figure) -> list[Any]:
    """Draw a variable of an atlas that has one value per point, and return the axes of the maps.

    Raises UnknownName for another variable, BadInput where `onto` holds another number of axes.
    """
    known = [x for x in MEANINGS if "contact" not in atlas.data[x].dims]
    if name not in known:
        raise UnknownName("variable of an atlas", name, known)
    axes = maps(atlas, view_of(atlas), name, onto)
    for legend in axes[0].figure.legends if callable(onto) else ():
        legend.set_title(MEANINGS[name][0], {"size": 9})
    return axes


def maps(atlas: Mapped, view: AtlasView, name: str, onto: Any = plain_figure) -> list[Any]:
    """Draw the panels of a variable, and return the axes of the maps; raises BadInput as `draw` does."""
    panels = view.of(atlas, name)
    if name in CLASSES:
        return class_map(panels, *view.axes, CLASSES[name], onto=onto)
    values = np.asarray(atlas.data[name].values, dtype=float)
    finite = values[np.isfinite(values)]
    scale = Scale(name.replace("_", " "), float(finite.min(initial=0.0)), float(finite.max(initial=1.0)))
    if name == "contraction":
        scale = Scale("ϱ", 0.0, 2.0)
    if name.endswith("difference"):  # zero cannot be drawn on a logarithmic scale
        panels = [replace(p, values=np.maximum(p.values, SMALLEST)) for p in panels]
        scale = Scale("relative difference", SMALLEST, min(scale.high, 10.0), log=True)
    return value_map(panels, *view.axes, scale, contour=1.0 if name == "contraction" else None, onto=onto)


def slip_label(row: Sequence[int] | NDArray[np.int_]) -> str:
    """Write signs as text, such as "+-"."""
    return "".join("+" if s > 0 else "-" for s in row)
