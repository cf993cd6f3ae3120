"""The atlas of a problem: at every point of a grid of states, what the LCP, the printed QP and their relatives do.

A point is a set of parameter values, a sign of slip for every contact and, where asked for, a direction of the load.
Its state is the problem's start with all contacts taken as closed; the signs replace those of the slip velocities, and
a direction replaces the bias of w = delassus lam_N + bias.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.atlas.contact_study import JOINT_CLASSES, LCP_CLASSES, QP_CLASSES, WEIGHTED_CLASSES, ContactStudy, study
from gaussopt.atlas.stacked_steps import MATRIX_CLASSES, ContactStack
from gaussopt.core.errors import BadInput, NotAccepted, UnknownName
from gaussopt.core.step_data import Matrix, StepData
from gaussopt.modelling.parameter_grid import AtlasGrid, Axis, default_grid
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.problem import problem as find
from gaussopt.storage import netcdf

if TYPE_CHECKING:
    import xarray as xr

MAX_POINTS = 2_000_000
"""Most points of one atlas."""

MAX_SIGNS = 6
"""Most contacts whose slip signs are all combined without being asked."""

MAX_CONTACTS = 8
"""Most contacts: the number of contact modes doubles with every one."""

CHUNK = 4000
"""Points that are solved together."""

CLASSES = {
    "lcp": LCP_CLASSES, "matrix": MATRIX_CLASSES, "qp": QP_CLASSES, "joint": JOINT_CLASSES,
    "weighted": WEIGHTED_CLASSES,
}  # fmt: skip
"""Meaning of the codes, by variable."""

MEANINGS = {
    "lcp": ("solutions of the contact laws", ""),
    "solutions": ("number of accelerations, -1 for a continuum", "1"),
    "matrix": ("class of the contact operator", ""),
    "symmetric": ("whether the contact operator is symmetric", "1"),
    "positive_definite": ("whether its symmetric part is positive definite", "1"),
    "p_matrix": ("whether it is a P-matrix", "1"),
    "lam_lcp": ("normal forces of the LCP where they are unique", "N"),
    "lam_qp": ("normal forces of the printed QP where it has one minimiser", "N"),
    "qp": ("the printed normal-force QP beside the LCP", ""),
    "force_difference": ("difference of the forces of printed QP and LCP relative to the latter", "1"),
    "acceleration_difference": (
        "difference of the accelerations in the mass norm, relative to the contacts' part",
        "1",
    ),
    "eta": ("eta of the criterion at the LCP's solution", "N"),
    "predicted": ("whether the criterion predicts equality, -1 not applicable", "1"),
    "agrees": ("whether the prediction is right, -1 not applicable or borderline", "1"),
    "borderline": ("whether eta is within rounding of its bound", "1"),
    "joint": ("the QP over all ideal forces beside the LCP", ""),
    "joint_difference": ("difference of its forces relative to the LCP's", "1"),
    "joint_agrees": ("whether its criterion is right, -1 not applicable or borderline", "1"),
    "weighted": ("the weighted QP beside the LCP", ""),
    "weighted_difference": ("difference of its forces relative to the LCP's", "1"),
    "contraction": ("contraction factor rho of frozen friction", "1"),
    "converges": ("whether rho is below 1", "1"),
    "delassus": ("contact operator", "1/kg"),
    "bias": ("gap accelerations without contact forces", "m/s^2"),
}

OF_CONTACTS = {"lam_lcp": 1, "lam_qp": 1, "eta": 1, "bias": 1, "delassus": 2}
"""Variables with one or two axes of contacts behind those of the grid."""


@dataclass(frozen=True, eq=False)
class Atlas:
    """What was found on a grid of states.

    Attributes
    ----------
    problem : str
        Its label.
    axes : tuple of Axis
    units : of the axes
    slips : (S, k)
        Signs of slip.
    loads : (L, k) or None
        Directions of the bias.
    contacts : names of the contacts
    data : xarray.Dataset
        Dimensions: the axes, "slip", with loads "load", and "contact"; codes carry their meaning as `flag_meanings`.
    settings : what the problem was set to
    seconds : float
    """

    problem: str
    axes: tuple[Axis, ...]
    units: tuple[str, ...]
    slips: NDArray[np.int_]
    loads: Matrix | None
    contacts: tuple[str, ...]
    data: xr.Dataset
    settings: Mapping[str, Any]
    seconds: float

    @property
    def points(self) -> int:
        """Number of points."""
        return int(self.data["lcp"].size)

    def codes(self, name: str) -> NDArray[np.int_]:
        """The codes of "lcp", "matrix", "qp", "joint" or "weighted", over axes, slip and load."""
        return np.asarray(self.data[name].values, dtype=int)

    def summary(self) -> dict[str, Any]:
        """How many points fall into each class."""
        found: dict[str, Any] = {"points": self.points}
        for name, classes in CLASSES.items():
            codes = self.codes(name)
            found[name] = {label: int((codes == i).sum()) for i, label in enumerate(classes) if (codes == i).any()}
        agrees, joint = self.codes("agrees"), self.codes("joint_agrees")
        differences = np.asarray(self.data["force_difference"].values)
        differences = differences[np.isfinite(differences) & (self.codes("qp") > 0)]
        found["criterion"] = {
            "right": int((agrees == 1).sum()), "wrong": int((agrees == 0).sum()),
            "borderline": int(self.data["borderline"].values.sum()),
            "right for all ideal forces": int((joint == 1).sum()),
            "wrong for all ideal forces": int((joint == 0).sum()),
        }  # fmt: skip
        found["frozen friction"] = {
            "contracts": int(self.data["converges"].values.sum()),
            "need not contract": int((np.asarray(self.data["contraction"].values) >= 1).sum()),
            "redundant": int(np.isnan(np.asarray(self.data["contraction"].values)).sum()),
        }
        found["largest force difference"] = float(differences.max()) if len(differences) else 0.0
        found["median force difference"] = float(np.median(differences)) if len(differences) else 0.0
        return found

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything as NetCDF, whole or not at all.

        Raises
        ------
        BadInput
            If the file cannot be written.
        """
        packed = {str(name): {"zlib": True, "complevel": 4} for name in self.data.data_vars}
        return netcdf.write(self.data, path, packed)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Atlas:
        """Read what `save` wrote.

        Raises
        ------
        BadInput
            If the file is missing or is no atlas.
        """
        data = netcdf.read(path, "an atlas file")
        try:
            meta: dict[str, Any] = json.loads(data.attrs["atlas"])
            axes = tuple(Axis(name, data[name].values) for name in meta["axes"])
            slips = np.array(meta["slips"], dtype=int)
            loads = None if meta["loads"] is None else np.array(meta["loads"], dtype=np.float64)
            _check_shapes(data, axes, slips, loads, meta)
            return cls(
                meta["problem"], axes, tuple(meta["units"]), slips, loads, tuple(meta["contacts"]), data,
                meta["settings"], float(meta["seconds"]),
            )  # fmt: skip
        except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise BadInput(f"{path} is not an atlas file ({netcdf.first_line(error)}).") from None


def _check_shapes(
    data: xr.Dataset, axes: tuple[Axis, ...], slips: NDArray[Any], loads: Matrix | None, meta: Mapping[str, Any]
) -> None:
    """Raise KeyError or ValueError where the arrays of a file are not those of the grid that it names."""
    contacts = len(meta["contacts"])
    grid = (*(len(a.values) for a in axes), len(slips), *(() if loads is None else (len(loads),)))
    for name in MEANINGS:
        array, shape = data[name].values, (*grid, *(contacts,) * OF_CONTACTS.get(name, 0))
        if array.shape != shape or array.dtype.kind not in "fiub":
            raise ValueError(f"{name} is of shape {array.shape} and type {array.dtype}, expected numbers of {shape}")
    for name, classes in CLASSES.items():
        if (data[name].values < 0).any() or (data[name].values >= len(classes)).any():
            raise ValueError(f"{name} holds codes of no class")
    if len(meta["units"]) != len(axes) or slips.shape[1:] != (contacts,):
        raise ValueError("its axes and signs do not fit its arrays")


def scan(
    problem: str | Problem, axes: Sequence[Axis] | None = None, *, slips: str | Sequence[Sequence[int]] = "all",
    loads: int = 0, progress: Callable[[float], None] | None = None, **settings: Any,
) -> Atlas:  # fmt: skip
    """Scan a grid of states of a problem with contacts.

    Parameters
    ----------
    problem : str or Problem
    axes : sequence of Axis, optional
        Of parameters; the problem's own grid if absent.
    slips : "all", a text such as "+,-" (joined by "|"), or rows of +1 and -1
        Signs of the slip velocities, one for every contact.
    loads : int
        Number of directions of the bias, evenly spaced on the circle for two contacts, both signs for one, and drawn
        evenly from the sphere (with a fixed seed) for more; 0: the problem's own bias.
    progress : called with the fraction done
    settings
        Parameters, `case` or `variant` of the problem.

    Raises
    ------
    UnknownName
    BadInput
        A problem without contacts, too many points or contacts, malformed signs.
    NotAccepted
        Where a state has no contact operator.
    """
    begin = perf_counter()
    entry = find(problem, **settings) if isinstance(problem, str) else problem.at(**settings) if settings else problem
    grid = entry.atlas or default_grid(entry.parameters)
    chosen = _axes(entry, grid, axes)
    first = entry.system.evaluate(0.0, entry.q0, entry.v0)
    if not first.k:
        raise BadInput(f"{entry.name} has no contacts, so there is no atlas of it; try sliding-rod or two-bar.")
    if first.k > MAX_CONTACTS:
        raise BadInput(f"{entry.name} has {first.k} contacts; an atlas takes at most {MAX_CONTACTS}.")
    signs = parse_slips(slips, first.k)
    directions = load_directions(loads, first.k) if loads else None
    shape = (*(len(a.values) for a in chosen), len(signs), *(() if directions is None else (len(directions),)))
    if np.prod(shape, dtype=float) > MAX_POINTS:
        raise BadInput(f"The grid has {np.prod(shape, dtype=float):.0f} points; at most {MAX_POINTS} are scanned.")
    operators, parts = _study(_states(entry, grid, chosen), signs, directions, shape, progress)
    names = entry.system.contact_names or tuple(f"contact {i + 1}" for i in range(first.k))
    units = {p.name: p.unit for p in entry.parameters}
    meta = {
        "problem": entry.label, "axes": [a.name for a in chosen], "units": [units[a.name] for a in chosen],
        "slips": signs.tolist(), "loads": None if directions is None else directions.tolist(), "contacts": list(names),
        "settings": {k: v if isinstance(v, str) else np.asarray(v).tolist() for k, v in entry.settings.items()},
        "seconds": perf_counter() - begin,
    }  # fmt: skip
    data = _dataset(parts, operators, shape, chosen, meta)
    return Atlas(
        entry.label, chosen, tuple(meta["units"]), signs, directions, names, data, meta["settings"], meta["seconds"]
    )


def _study(
    states: Iterator[StepData], signs: NDArray[np.int_], directions: Matrix | None, shape: tuple[int, ...],
    progress: Callable[[float], None] | None,
) -> tuple[list[ContactStack], list[ContactStudy]]:  # fmt: skip
    """Operators and findings of all states, some thousand points together."""
    loads = 1 if directions is None else len(directions)
    points, together = int(np.prod(shape, dtype=int)), max(1, CHUNK // (len(signs) * loads))
    operators: list[ContactStack] = []
    parts: list[ContactStudy] = []
    done = 0
    while batch := list(itertools.islice(states, together)):
        stack = ContactStack.of(batch, signs)
        if directions is not None:
            stack = stack.with_bias(directions)
        parts.append(study(stack))
        operators.append(stack)
        done += len(stack)
        if progress is not None:
            progress(done / points)
    return operators, parts


def _axes(entry: Problem, grid: AtlasGrid, axes: Sequence[Axis] | None) -> tuple[Axis, ...]:
    known = {p.name for p in entry.parameters}
    fixed = set(entry.values)
    chosen = tuple(axes) if axes is not None else tuple(a for a in grid.axes if a.name not in fixed)
    for i, axis in enumerate(chosen):
        if axis.name in ("q0", "v0"):
            raise BadInput(f"An axis cannot be {axis.name!r}, which names the whole start; choose another parameter.")
        if axis.name not in known:
            raise UnknownName(f"parameter of {entry.name}", axis.name, known)
        if axis.name in {a.name for a in chosen[:i]}:
            raise BadInput(f"The axis {axis.name!r} is given twice.")
    return chosen


def _states(entry: Problem, grid: AtlasGrid, axes: tuple[Axis, ...]) -> Iterator[StepData]:
    """Step data of all points of the grid, the last axis fastest."""
    held = {a.name for a in axes} | set(entry.values)
    follow = {name: rule for name, rule in grid.follow.items() if name not in held}
    points = math.prod(len(a.values) for a in axes)
    for point in itertools.product(*(a.values for a in axes)):
        values = dict(zip((a.name for a in axes), map(float, point), strict=True))
        full = {**entry.parameter_values, **values}
        values |= {name: float(rule(full)) for name, rule in follow.items()}
        at = entry.at(**values) if values else entry
        at.system.prepare(points)
        try:
            yield at.system.evaluate(0.0, at.q0, at.v0)
        except (BadInput, NotAccepted) as error:
            place = ", ".join(f"{k} = {v:.6g}" for k, v in values.items())
            raise type(error)(f"{str(error)[:-1]}; at {place} of the atlas.") from None


def parse_slips(slips: str | Sequence[Sequence[int]], k: int) -> NDArray[np.int_]:
    """Rows of k signs.

    Raises
    ------
    BadInput
    """
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
    """Unit vectors in the space of the bias, (L, k).

    Raises
    ------
    BadInput
    """
    if not 1 <= count <= MAX_POINTS:
        raise BadInput(f"loads is {count}; give the number of directions of the load, from 1 to {MAX_POINTS}.")
    if k == 1:
        return np.array([[1.0], [-1.0]])
    if k == 2:
        # Half a step off the axes, where one entry of the bias would vanish.
        angle = 2 * np.pi * (np.arange(count) + 0.5) / count
        return np.column_stack((np.cos(angle), np.sin(angle)))
    x = np.random.default_rng(0).standard_normal((count, k))
    return np.asarray(x / np.linalg.norm(x, axis=1)[:, None])


def slip_label(row: Sequence[int] | NDArray[np.int_]) -> str:
    """Signs as text, such as "+-"."""
    return "".join("+" if s > 0 else "-" for s in row)


def _dataset(
    parts: Sequence[ContactStudy],
    operators: Sequence[ContactStack],
    shape: tuple[int, ...],
    axes: tuple[Axis, ...],
    meta: Mapping[str, Any],
) -> xr.Dataset:
    import xarray as xr

    dims = [*(a.name for a in axes), "slip", *(["load"] if meta["loads"] is not None else [])]
    contacts = len(meta["contacts"])
    extra = {1: [], 2: ["contact"], 3: ["contact", "contact_of_force"]}
    variables: dict[str, Any] = {}

    def add(name: str, value: NDArray[Any]) -> None:
        title, unit = MEANINGS[name]
        attrs: dict[str, Any] = {"long_name": title}
        if name in CLASSES:
            attrs["flag_values"] = np.arange(len(CLASSES[name]), dtype=np.int8)
            attrs["flag_meanings"] = " ".join(c.replace(" ", "_") for c in CLASSES[name])
        else:
            attrs["units"] = unit
        if value.dtype == np.bool_:
            value = value.astype(np.int8)
        value = value.reshape(*shape, *(contacts,) * (value.ndim - 1))
        variables[name] = ([*dims, *extra[value.ndim - len(shape) + 1]], value, attrs)

    for f in fields(ContactStudy):
        add(f.name, np.concatenate([np.asarray(getattr(p, f.name)) for p in parts]))
    for name in ("delassus", "bias"):
        add(name, np.concatenate([getattr(s, name) for s in operators]))
    coords: dict[str, Any] = {
        a.name: (a.name, a.values, {"units": unit}) for a, unit in zip(axes, meta["units"], strict=True)
    }
    coords |= {"slip": [slip_label(row) for row in meta["slips"]], "contact": list(meta["contacts"])}
    attrs = {"title": f"Atlas of {meta['problem']}", "atlas": json.dumps(meta, allow_nan=False)}
    return xr.Dataset(variables, coords, attrs)
