"""The atlas of a problem: the answers of the LCP, the printed QP and its variants at every point of a grid of states.

A point is a set of parameter values, a sign of slip for every contact and, if requested, a direction of the load.
Its state is the problem's start with all contacts taken as closed; the signs replace those of the slip velocities, and
a load direction replaces the bias of w = delassus lam_N + bias.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.atlas.contact_study import CLASSES, MEANINGS, study
from gaussopt.atlas.grid_states import chosen_axes, closed_sliding, state, states, values_at
from gaussopt.atlas.stacked_steps import ContactStack
from gaussopt.atlas.view import Mapped, draw, slip_label
from gaussopt.core.arrays import Matrix, check_progress
from gaussopt.core.display import About, picture, shown
from gaussopt.core.errors import BadInput
from gaussopt.core.programs import LCP
from gaussopt.core.step_data import StepData
from gaussopt.modelling.parameter_grid import Axis
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.problem import problem as find
from gaussopt.modelling.registered import registered_problem
from gaussopt.plotting.figures import one_or_all, pyplot_figure, svg_of
from gaussopt.plotting.svg import data_uri
from gaussopt.storage import netcdf

if TYPE_CHECKING:
    import xarray as xr

Cell = int | Sequence[int]
"""A point of the grid: its flat index in the arrays, or its indices along their dimensions."""

MAX_POINTS = 2_000_000
"""Largest number of points of an atlas."""

MAX_SIGNS = 6
"""Largest number of contacts for which `slips="all"` combines all slip signs."""

MAX_CONTACTS = 8
"""Largest number of contacts; every contact doubles the number of contact modes."""

CHUNK = 4000
"""Approximate number of points that are solved together."""

OF_CONTACTS = {"lam_lcp": 1, "lam_qp": 1, "eta": 1, "bias": 1, "delassus": 2}
"""Arrays that have one or two axes over contacts after the axes of the grid, and the number of these axes."""


@shown
@dataclass(frozen=True, eq=False)
class Atlas(Mapped):
    """The results on a grid of states.

    Attributes
    ----------
    problem : label of the problem
    axes : tuple of Axis
    units : units of the axes
    slips : (S, k), signs of slip
    loads : (L, k) or None, directions of the bias
    contacts : names of the contacts
    data : xarray.Dataset
        Dimensions: the axes, "slip", "load" if there are loads, and "contact"; `flag_meanings` explain the codes.
    settings : parameters, `case` or `variant` of the problem
    seconds : duration of the scan
    entry : the problem that was scanned, None for an atlas read from a file
    """

    settings: Mapping[str, Any]
    seconds: float
    entry: Problem | None = field(default=None, repr=False)

    def _about(self) -> About:
        axes = [f"{a.name} ({len(a.values)} values)" for a in self.axes]
        loads = [] if self.loads is None else [f"{len(self.loads)} loads"]
        over = ", ".join([*axes, f"{len(self.slips)} combinations of slip signs", *loads])
        counts = {name: self._counts(name) for name in ("lcp", "qp")}
        words = {name: ", ".join(f"{label} {n}" for label, n in of.items()) for name, of in counts.items()}
        rows = [(name, label, n) for name in CLASSES for label, n in self._counts(name).items()]
        more = f"over {over}", f"contact laws: {words['lcp']}; printed QP: {words['qp']}"
        return About(f"{self.problem}, {self.points} points", more, rows, ("map", "class", "points"))

    def _picture(self) -> str:
        axes = draw(self, "qp")
        return picture(data_uri(svg_of(axes[0].figure)), f"The printed QP beside the contact laws: {self.problem}.")

    def _counts(self, name: str) -> dict[str, int]:
        """Count the points of each class that occurs."""
        classes = CLASSES[name]
        counts = np.bincount(self.codes(name).ravel(), minlength=len(classes))
        return {label: int(count) for label, count in zip(classes, counts, strict=True) if count}

    @property
    def points(self) -> int:
        """Number of points."""
        return int(self.data["lcp"].size)

    def codes(self, name: str) -> NDArray[np.int_]:
        """Return the codes of "lcp", "matrix", "qp", "joint" or "weighted" as an array over axes, slips and loads."""
        return np.asarray(self.data[name].values, dtype=int)

    def values(self, cell: Cell) -> dict[str, float]:
        """Return a cell's parameters: those on the axes, and those computed from them; raises the errors of `step`."""
        index = self._index(cell)
        return values_at(self._entry(), self.axes, [a.values[i] for a, i in zip(self.axes, index, strict=False)])

    def step(self, cell: Cell) -> StepData:
        """Return the step studied at a cell: all contacts are closed and slide with the cell's signs, under its load.

        `cell` is a number in the order of the arrays, or the indices of the axis values, of the signs and of the load.
        Raises BadInput for a missing cell, and UnknownName if the problem of an atlas from a file is not registered.
        """
        index = self._index(cell)
        found = state(self._entry(), self.values(cell))
        load = None if self.loads is None else self.loads[index[-1]]
        return closed_sliding(found, self.slips[index[len(self.axes)]], load)

    def lcp(self, cell: Cell) -> LCP:
        """Return the complementarity problem of the normal forces at a cell, see `step`."""
        index = self._index(cell)
        return LCP(*(np.array(self.data[name].values[index], dtype=np.float64) for name in ("delassus", "bias")))

    def counterexamples(self, count: int) -> list[int]:
        """Find at most `count` cells where the contact laws have one answer and the printed QP another or none.

        The kinds of disagreement alternate; within each, the largest differences of the forces come first. Cells for
        which rounding errors decide the class are omitted.
        """
        code, one = self.codes("qp").ravel(), self.codes("lcp").ravel() == 0
        sure = ~self.data["borderline"].values.ravel().astype(bool)
        difference = np.nan_to_num(self.data["force_difference"].values.ravel(), nan=-1.0, posinf=-1.0)
        order = np.argsort(-difference, kind="stable")
        kinds = [[int(i) for i in order if code[i] == kind and one[i] and sure[i]] for kind in range(1, code.max() + 1)]
        turns = itertools.zip_longest(*kinds)
        return [i for turn in turns for i in turn if i is not None][: max(0, count)]

    def _entry(self) -> Problem:
        return self.entry or registered_problem(self.problem.partition(" (")[0], **self.settings)

    def _index(self, cell: Cell) -> tuple[int, ...]:
        """Return the indices of the axis values, the signs and the load at a cell; raises BadInput."""
        shape = self.codes("lcp").shape
        try:
            if isinstance(cell, int | np.integer):
                return tuple(map(int, np.unravel_index(int(cell), shape)))
            return tuple(map(int, np.unravel_index(int(np.ravel_multi_index(tuple(cell), shape)), shape)))
        except (TypeError, ValueError):
            raise BadInput(
                f"The atlas has no cell {cell!r}; give a number below {self.points}, or {len(shape)} indices below "
                f"{', '.join(map(str, shape))}."
            ) from None

    def summary(self) -> dict[str, Any]:
        """Count the points that fall into each class."""
        found: dict[str, Any] = {"points": self.points}
        found |= {name: self._counts(name) for name in CLASSES}
        values = {name: np.asarray(self.data[name].values) for name in MEANINGS}
        difference = values["force_difference"][values["qp"] > 0]
        difference = difference[np.isfinite(difference)]
        masks = {
            "criterion": {
                "right": values["agrees"] == 1, "wrong": values["agrees"] == 0, "borderline": values["borderline"],
                "right for all ideal forces": values["joint_agrees"] == 1,
                "wrong for all ideal forces": values["joint_agrees"] == 0,
            },
            "frozen friction": {
                "contracts": values["converges"], "need not contract": values["contraction"] >= 1,
                "redundant": np.isnan(values["contraction"]),
            },
        }  # fmt: skip
        found |= {name: {label: int(mask.sum()) for label, mask in of.items()} for name, of in masks.items()}
        found["largest force difference"] = float(difference.max(initial=0.0))
        found["median force difference"] = float(np.median(difference)) if len(difference) else 0.0
        return found

    def plot(self, name: str = "qp", *, ax: Any = None) -> Any:
        """Draw a variable of the atlas over its two longest axes, a map for each value of the others.

        Parameters
        ----------
        name : a class ("lcp", "matrix", "qp", "joint" or "weighted") or a number per point, such as "force_difference"
        ax : axes of matplotlib to draw on, as many as there are maps; a new figure if not given

        Returns
        -------
        matplotlib.axes.Axes, or an array of them where there are several maps

        Raises UnknownName for another variable, BadInput where `ax` holds another number of axes.
        """
        return one_or_all(draw(self, name, pyplot_figure if ax is None else ax))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the atlas as NetCDF; a failed write leaves no partial file.

        Raises BadInput if the file cannot be written.
        """
        packed = {str(name): {"zlib": True, "complevel": 4} for name in self.data.data_vars}
        return netcdf.write(self.data, path, packed)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Atlas:
        """Read an atlas from a file that `save` wrote.

        Raises BadInput if the file is missing or is not an atlas.
        """
        data = netcdf.read(path, "an atlas file")
        try:
            found = cls._of(data)
            found._check()
        except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise BadInput(f"{path} is not an atlas file ({netcdf.first_line(error)}).") from None
        return found

    @classmethod
    def _of(cls, data: xr.Dataset) -> Atlas:
        """Return the atlas in a dataset; its settings are JSON in the dataset's attribute "atlas"."""
        meta: dict[str, Any] = json.loads(data.attrs["atlas"])
        return cls(
            meta["problem"], tuple(Axis(name, data[name].values) for name in meta["axes"]), tuple(meta["units"]),
            np.array(meta["slips"], dtype=int),
            None if meta["loads"] is None else np.array(meta["loads"], dtype=np.float64), tuple(meta["contacts"]),
            data, dict(meta["settings"]), float(meta["seconds"]),
        )  # fmt: skip

    def _check(self) -> None:
        """Raise KeyError or ValueError where the arrays of a file are not those of the grid that it names."""
        contacts = len(self.contacts)
        grid = _shape(self.axes, self.slips, self.loads)
        for name in MEANINGS:
            array, shape = self.data[name].values, (*grid, *(contacts,) * OF_CONTACTS.get(name, 0))
            if array.shape != shape or array.dtype.kind not in "fiub":
                raise ValueError(f"{name} is {array.dtype} of shape {array.shape}, expected numbers of {shape}")
        for name, classes in CLASSES.items():
            if (self.data[name].values < 0).any() or (self.data[name].values >= len(classes)).any():
                raise ValueError(f"{name} holds codes of no class")
        texts = all(isinstance(x, str) for x in (self.problem, *self.units, *self.contacts))
        if len(self.units) != len(self.axes) or self.slips.shape[1:] != (contacts,) or not texts:
            raise ValueError("its axes, signs and names do not fit its arrays")


def scan(
    problem: str | Problem, axes: Sequence[Axis] | None = None, *, slips: str | Sequence[Sequence[int]] = "all",
    loads: int = 0, progress: Callable[[float], None] | None = None, **settings: Any,
) -> Atlas:  # fmt: skip
    """Scan a grid of states of a problem with contacts.

    Parameters
    ----------
    problem : str or Problem
    axes : sequence of Axis, optional
        Parameters to vary; by default the axes of the problem's grid.
    slips : "all", a text of rows such as "+,-" joined by "|", or rows of +1 and -1
        Signs of the slip velocities, one for every contact.
    loads : int
        Number of directions of the bias: both signs for one contact, evenly spaced on the circle for two, and drawn
        uniformly from the sphere (with a fixed seed) for more. If 0, the bias of the problem is used.
    progress : called with the fraction done
    settings : parameters, `case` or `variant` of the problem

    Raises
    ------
    UnknownName
    BadInput
        A problem without contacts, too many points or contacts, malformed signs.
    NotAccepted
        If a state has no contact operator.

    Examples
    --------
    >>> import gaussopt as go
    >>> atlas = go.scan("sliding-rod", [go.Axis("mu", 0.1, 1.0, 4)])
    >>> atlas.summary()["lcp"]   # four values of mu, two signs of slip
    {'one solution': 8}
    """
    begin = perf_counter()
    check_progress(progress)
    entry = problem_at(problem, settings)
    chosen = chosen_axes(entry, axes)
    first = entry.system.evaluate(0.0, entry.q0, entry.v0)
    if not first.k:
        raise BadInput(f"{entry.name} has no contacts, so there is no atlas of it; try sliding-rod or two-bar.")
    if first.k > MAX_CONTACTS:
        raise BadInput(f"{entry.name} has {first.k} contacts; an atlas takes at most {MAX_CONTACTS}.")
    signs = parse_slips(slips, first.k)
    directions = load_directions(loads, first.k) if loads else None
    shape = _shape(chosen, signs, directions)
    if np.prod(shape, dtype=float) > MAX_POINTS:
        raise BadInput(f"The grid has {np.prod(shape, dtype=float):.0f} points; at most {MAX_POINTS} are scanned.")
    arrays = _study(states(entry, chosen), signs, directions, int(np.prod(shape, dtype=int)), progress)
    units = {p.name: p.unit for p in entry.parameters}
    meta = {
        "problem": entry.label, "axes": [a.name for a in chosen], "units": [units[a.name] for a in chosen],
        "slips": signs.tolist(), "loads": None if directions is None else directions.tolist(),
        "contacts": list(entry.system.contact_names or (f"contact {i + 1}" for i in range(first.k))),
        "settings": {k: v if isinstance(v, str) else np.asarray(v).tolist() for k, v in entry.settings.items()},
        "seconds": perf_counter() - begin,
    }  # fmt: skip
    return replace(Atlas._of(_dataset(arrays, shape, chosen, meta)), entry=entry)


def _shape(axes: Sequence[Axis], slips: NDArray[np.int_], loads: Matrix | None) -> tuple[int, ...]:
    """Return the shape of the grid: axes, slip signs and, if there are any, loads."""
    return (*(len(a.values) for a in axes), len(slips), *(() if loads is None else (len(loads),)))


def _study(
    states: Iterator[StepData], signs: NDArray[np.int_], directions: Matrix | None, points: int,
    progress: Callable[[float], None] | None,
) -> dict[str, NDArray[Any]]:  # fmt: skip
    """Study all points, about CHUNK at a time; return results and operators by their names in MEANINGS."""
    together = max(1, CHUNK // (len(signs) * (1 if directions is None else len(directions))))
    found: list[dict[str, NDArray[Any]]] = []
    done = 0
    while batch := list(itertools.islice(states, together)):
        stack = ContactStack.of(batch, signs)
        if directions is not None:
            stack = stack.with_bias(directions)
        found.append(study(stack))
        done += len(stack)
        if progress is not None:
            progress(done / points)
    return {name: np.concatenate([of[name] for of in found]) for name in MEANINGS}


def problem_at(problem: str | Problem, settings: Mapping[str, Any]) -> Problem:
    """Return the problem, found by name if it is a string, with these settings."""
    if isinstance(problem, str):
        return find(problem, **settings)
    return problem.at(**settings) if settings else problem


def parse_slips(slips: str | Sequence[Sequence[int]], k: int) -> NDArray[np.int_]:
    """Convert a text or rows to signs of k contacts, (S, k); raises BadInput."""
    if isinstance(slips, str):
        if slips.strip() == "all":
            if k > MAX_SIGNS:
                raise BadInput(f"{k} contacts have {2**k} combinations of slip signs; say which to scan.")
            return np.array(list(itertools.product((1, -1), repeat=k)), dtype=int)
        rows = [[{"+": 1, "-": -1}.get(s.strip(), 0) for s in row.split(",")] for row in slips.split("|")]
    else:
        rows = [list(row) for row in slips]
    if not rows or any(len(row) != k or any(s not in (1, -1) for s in row) for row in rows):
        raise BadInput(
            f"The slip signs {slips!r} do not fit {k} contacts; give rows such as {','.join('+' * k)}, or all."
        )
    return np.array(rows, dtype=int)


def load_directions(count: int, k: int) -> Matrix:
    """Return unit vectors, (L, k), as directions of the bias; raises BadInput."""
    if not 1 <= count <= MAX_POINTS:
        raise BadInput(f"loads is {count}; give the number of directions of the load, from 1 to {MAX_POINTS}.")
    if k == 1:
        return np.array([[1.0], [-1.0]])
    if k == 2:
        # The directions lie half a step away from the axes, so that no entry of the bias is zero.
        angle = 2 * np.pi * (np.arange(count) + 0.5) / count
        return np.column_stack((np.cos(angle), np.sin(angle)))
    x = np.random.default_rng(0).standard_normal((count, k))
    return np.asarray(x / np.linalg.norm(x, axis=1)[:, None])


def _dataset(
    arrays: Mapping[str, NDArray[Any]], shape: tuple[int, ...], axes: tuple[Axis, ...], meta: Mapping[str, Any]
) -> xr.Dataset:
    import xarray as xr

    dims = [*(a.name for a in axes), "slip", *(["load"] if meta["loads"] is not None else [])]
    of_contacts = ["contact", "contact_of_force"]
    variables: dict[str, Any] = {}
    for name, (title, unit) in MEANINGS.items():
        value, count = arrays[name], OF_CONTACTS.get(name, 0)
        attrs: dict[str, Any] = {"long_name": title}
        if name in CLASSES:
            attrs["flag_values"] = np.arange(len(CLASSES[name]), dtype=np.int8)
            attrs["flag_meanings"] = " ".join(c.replace(" ", "_") for c in CLASSES[name])
        else:
            attrs["units"] = unit
        kept = value.astype(np.int8) if value.dtype == np.bool_ else value
        shaped = kept.reshape(*shape, *(len(meta["contacts"]),) * count)
        variables[name] = ([*dims, *of_contacts[:count]], shaped, attrs)
    coords: dict[str, Any] = {
        a.name: (a.name, a.values, {"units": unit}) for a, unit in zip(axes, meta["units"], strict=True)
    }
    coords |= {"slip": [slip_label(row) for row in meta["slips"]], "contact": list(meta["contacts"])}
    attrs = {"title": f"Atlas of {meta['problem']}", "atlas": json.dumps(meta, allow_nan=False)}
    return xr.Dataset(variables, coords, attrs)
