"""The report of an atlas: class maps, differences, counts, and what the problem adds of its own."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.atlas.contact_study import CLASSES
from gaussopt.atlas.scan import Atlas, slip_label
from gaussopt.core.step_data import Vector
from gaussopt.modelling.problem import problem
from gaussopt.reporting.document import Block, Document, Figure, Paragraph, Section, Table
from gaussopt.reporting.figures.heatmaps import Panel, Scale, class_map, value_map

MAX_PANELS = 9
"""Most maps side by side; the file of the atlas holds all."""

TITLES = {
    "lcp": "Solutions of the contact laws (LCP)",
    "matrix": "Class of the contact operator",
    "qp": "The printed normal-force QP beside the LCP",
    "joint": "The QP over all ideal forces beside the LCP",
    "weighted": "The weighted QP beside the LCP",
}

SEEN = {
    "lcp": "Where the colour changes, solutions of the contact laws appear or vanish.",
    "matrix": "With a P-matrix (all principal minors positive; positive definite is more) the contact laws have one "
    "solution whatever the load is.",
    "qp": "Light is the mechanics; where it is tensile the program lets a contact pull.",
    "joint": "Light is the mechanics; where it is tensile the program lets a contact pull.",
    "weighted": "Where there are no weights, no diagonal D > 0 makes D A symmetric.",
}
"""Explanation of a map of classes."""

SMALLEST = 1e-6
"""Relative differences below this are drawn like it."""


@dataclass(frozen=True)
class _View:
    """Two dimensions that are drawn, and the panels that the others make."""

    x: tuple[str, Vector]
    y: tuple[str, Vector]
    panels: tuple[tuple[str, dict[str, int]], ...]
    left_out: int
    rows_are_slips: bool

    def of(self, atlas: Atlas, name: str) -> list[Panel]:
        """Panels of a variable."""
        dims = [d for d in atlas.data[name].dims if d in _dimensions(atlas)]
        found = []
        for title, index in self.panels:
            part = atlas.data[name].isel(index)
            kept = [d for d in dims if d not in index]
            order = [d for d in (self.y[0], self.x[0]) if d in kept]
            values = np.asarray(part.transpose(*order).values, dtype=float)
            found.append(Panel(title, values.reshape(len(self.y[1]), len(self.x[1]))))
        return found


GREEK = {"theta": "θ", "omega": "ω", "phi": "φ", "mu": "μ"}
"""Parameters that have a letter."""


def _symbol(name: str) -> str:
    """A parameter as it is written: "θ₁" for theta1_0; the value at the start needs no mark, a state is an instant."""
    found = re.fullmatch(r"(theta|omega|phi|mu)(\d?)(_?0)?", name)
    if found is None or (found[2] == "0" and not found[3]):
        return GREEK.get(name.removesuffix("0"), name)
    return GREEK[found[1]] + found[2].translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def _dimensions(atlas: Atlas, plain: bool = False) -> dict[str, tuple[str, Vector]]:
    """Label and values of the dimensions of the grid, angles in degrees; `plain` labels are heads of data files."""
    found: dict[str, tuple[str, Vector]] = {}
    for axis, unit in zip(atlas.axes, atlas.units, strict=True):
        values, unit = (np.degrees(axis.values), "degrees") if unit == "rad" else (axis.values, unit)
        values = np.round(values, 10)
        name, per = (axis.name, ", ") if plain else (_symbol(axis.name), " / ")
        unit = unit if plain else unit.replace("degrees", "°").replace("^2", "²")
        found[axis.name] = (name if unit in ("", "1") else f"{name}{per}{unit}", values)
    found["slip"] = ("signs of slip", np.arange(len(atlas.slips), dtype=float))
    if atlas.loads is not None:
        angle = (
            np.degrees(np.arctan2(atlas.loads[:, 1], atlas.loads[:, 0])) % 360 if atlas.loads.shape[1] == 2 else None
        )
        label = "direction of the bias / °" if angle is not None else "number of the load direction"
        found["load"] = (label, np.arange(len(atlas.loads), dtype=float) if angle is None else angle)
    return found


def _view(atlas: Atlas) -> _View:
    dims = _dimensions(atlas)
    long = sorted((d for d in dims if d != "slip"), key=lambda d: -len(dims[d][1]))
    x = long[0] if long and len(dims[long[0]][1]) > 1 else "slip"
    others = [d for d in long if d != x and len(dims[d][1]) > 1]
    y = others[0] if others else ("slip" if x != "slip" else (long[0] if long else ""))
    names = sorted((d for d in dims if d not in (x, y)), key=lambda d: d != "slip")  # slips down, values across
    panels = []
    for index in itertools.product(*(range(len(dims[d][1])) for d in names)):
        words = [
            _slips(atlas, i) if d == "slip" else f"{dims[d][0]} = {dims[d][1][i]:.6g}"
            for d, i in zip(names, index, strict=True)
        ]
        panels.append(("\n".join(words), dict(zip(names, index, strict=True))))
    nothing = ("", np.zeros(1))
    shown = panels[:MAX_PANELS]
    return _View(
        (x, dims[x][1]), (y, dims[y][1]) if y else nothing, tuple(shown), len(panels) - len(shown), y == "slip"
    )


def _labels(atlas: Atlas, view: _View) -> tuple[str, str]:
    dims = _dimensions(atlas)
    signs = ", ".join(f"{i} is {_signs(s)}" for i, s in enumerate(atlas.slips))
    named = {d: (f"{dims[d][0]}: {signs}" if d == "slip" else dims[d][0]) for d in dims}
    return named[view.x[0]], named.get(view.y[0], "")


def _signs(row: Any) -> str:
    """Signs of slip as text, with the minus of print."""
    return slip_label(row).replace("-", "−")


def _slips(atlas: Atlas, index: int) -> str:
    """Signs of slip with the names of their contacts."""
    signs = zip(atlas.contacts, _signs(atlas.slips[index]), strict=True)
    return f"slip {', '.join(f'{contact} {sign}' for contact, sign in signs)}"


def _frame(atlas: Atlas, columns: dict[str, Any]) -> Any:
    """One row for each point."""
    import pandas as pd

    dims = _dimensions(atlas, plain=True)
    names = [*(a.name for a in atlas.axes), "slip", *(["load"] if atlas.loads is not None else [])]
    mesh = np.meshgrid(*(np.arange(len(dims[d][1])) for d in names), indexing="ij")
    frame: dict[str, Any] = {}
    for d, index in zip(names, mesh, strict=True):
        flat = index.ravel()
        frame[dims[d][0]] = (
            np.array([slip_label(s) for s in atlas.slips])[flat] if d == "slip" else dims[d][1][flat].round(6)
        )
    return pd.DataFrame({**frame, **columns})


def class_figure(atlas: Atlas, name: str, prefix: str = "atlas") -> Figure:
    """The map of the classes of "lcp", "matrix", "qp", "joint" or "weighted"."""
    view, classes = _view(atlas), CLASSES[name]
    xlabel, ylabel = _labels(atlas, view)
    codes = atlas.codes(name)
    counts = "; ".join(f"{label} at {(codes == i).sum()}" for i, label in enumerate(classes) if (codes == i).any())
    caption = f"{TITLES[name]}: {counts} of {atlas.points} points. {SEEN[name]}{_left_out(view)}"
    alt = (
        f"Map of {TITLES[name][0].lower()}{TITLES[name][1:]} over {xlabel} (across) and {ylabel or 'nothing'} (up), "
        f"{len(view.panels)} panels. {counts}."
    )
    return Figure(
        f"{prefix}-{name}", caption, alt,
        class_map(view.of(atlas, name), view.x[1], view.y[1], xlabel, ylabel, classes),
        _frame(atlas, {name: np.array(classes)[codes.ravel()]}),
    )  # fmt: skip


def difference_figure(atlas: Atlas, name: str = "force_difference", prefix: str = "atlas") -> Figure:
    """The map of a relative difference, on a logarithmic scale; white where it is not defined."""
    view = _view(atlas)
    xlabel, ylabel = _labels(atlas, view)
    values = np.asarray(atlas.data[name].values)
    finite = values[np.isfinite(values)]
    top = float(finite.max()) if len(finite) else 1.0
    panels = [Panel(p.title, np.where(np.isfinite(p.values), np.maximum(p.values, SMALLEST), np.nan))
              for p in view.of(atlas, name)]  # fmt: skip
    what = atlas.data[name].attrs["long_name"]
    different = finite[finite > SMALLEST]
    typical = f", median {np.median(different):.3g}" if len(different) else ""
    sentence = f"{len(different)} of {len(finite)} points above {SMALLEST:g}{typical}, largest {top:.3g}"
    return Figure(
        f"{prefix}-{name.replace('_', '-')}", f"The {what}: {sentence}. Dark is equal, bright is "
        f"far apart, white is not defined.{_left_out(view)}",
        f"Map of the {what} over {xlabel} and {ylabel}, from {SMALLEST:g} (dark) up (bright): {sentence}.",
        value_map(panels, view.x[1], view.y[1], xlabel, ylabel,
                  Scale("relative difference", SMALLEST, max(1.0, min(top, 10.0)), log=True)),
        _frame(atlas, {name: [float(f"{v:.6g}") for v in values.ravel()]}),
    )  # fmt: skip


def contraction_figure(atlas: Atlas, prefix: str = "atlas") -> Figure:
    """The map of ϱ of frozen friction; the line is ϱ = 1."""
    view = _view(atlas)
    xlabel, ylabel = _labels(atlas, view)
    values = np.asarray(atlas.data["contraction"].values)
    below, above, none = int((values < 1).sum()), int((values >= 1).sum()), int(np.isnan(values).sum())
    sentence = f"below 1 at {below}, not below 1 at {above}, not defined (redundant contacts) at {none} points"
    return Figure(
        f"{prefix}-contraction",
        f"Contraction factor ϱ of frozen friction: {sentence}. Each iteration shrinks the error at least by the factor "
        f"ϱ; the line is ϱ = 1, above which the formulation refuses.{_left_out(view)}",
        f"Map of ϱ over {xlabel} and {ylabel}, from 0 (dark) to 2 and more (bright): {sentence}.",
        value_map(view.of(atlas, "contraction"), view.x[1], view.y[1], xlabel, ylabel, Scale("ϱ", 0.0, 2.0),
                  contour=1.0),
        _frame(atlas, {"contraction": [float(f"{v:.6g}") for v in values.ravel()]}),
    )  # fmt: skip


def _left_out(view: _View) -> str:
    return f" {view.left_out} more panels are in the NetCDF file only." if view.left_out else ""


def counts_table(atlas: Atlas, name: str = "atlas-counts") -> Table:
    """Numbers of points in each class, by signs of slip."""
    rows: list[tuple[Any, ...]] = []
    axis = len(atlas.axes)
    for variable, classes in CLASSES.items():
        codes = np.moveaxis(atlas.codes(variable), axis, 0)
        for i, label in enumerate(classes):
            if (codes == i).any():
                rows.append((TITLES[variable], label, *(int((c == i).sum()) for c in codes), int((codes == i).sum())))
    for variable, title in (("agrees", "Criterion η"), ("joint_agrees", "Criterion, all ideal forces")):
        codes = np.moveaxis(atlas.codes(variable), axis, 0)
        for i, label in ((1, "right"), (0, "wrong")):
            if (codes == i).any() or (i == 0 and (codes == 1).any()):
                rows.append((title, label, *(int((c == i).sum()) for c in codes), int((codes == i).sum())))
    border = np.moveaxis(np.asarray(atlas.data["borderline"].values, dtype=int), axis, 0)
    rows.append(("Criterion η", "borderline", *(int(c.sum()) for c in border), int(border.sum())))
    return Table(
        name, f"Points of the atlas of {atlas.problem} by class and signs of slip ({', '.join(atlas.contacts)}).",
        ("what", "class", *map(_signs, atlas.slips), "all"), tuple(rows),
    )  # fmt: skip


def agreement_table(atlas: Atlas, name: str = "atlas-criterion") -> Table:
    """Answers of the printed QP by what the criterion predicts."""
    predicted, qp = atlas.codes("predicted"), atlas.codes("qp")
    rows = []
    for code, label in enumerate(CLASSES["qp"]):
        if (qp == code).any():
            rows.append((label, *(int(((qp == code) & (predicted == p)).sum()) for p in (1, 0, -1))))
    return Table(
        name, "The printed QP's answers by what the criterion predicts; it applies to positive definite operators.",
        ("printed QP", "predicted equal", "predicted different", "does not apply"), tuple(rows),
    )  # fmt: skip


def atlas_section(atlas: Atlas, anchor: str = "atlas", title: str | None = None) -> tuple[Section, list[str]]:
    """Maps and counts of an atlas, and its findings in sentences."""
    mapped = [name for name in CLASSES if name != "joint" or (atlas.codes(name) < len(CLASSES[name]) - 1).any()]
    varied = atlas.points > len(atlas.slips)
    several = [n for n in mapped if len(np.unique(atlas.codes(n))) > 1]
    blocks: list[Block] = [Paragraph(_lead(atlas)), counts_table(atlas, f"{anchor}-counts")]
    blocks.append(agreement_table(atlas, f"{anchor}-criterion"))
    if varied:
        blocks += [class_figure(atlas, n, anchor) for n in several]
        for name in ("force_difference", *(("joint_difference",) if "joint" in mapped else ())):
            values = np.asarray(atlas.data[name].values)
            if (values[np.isfinite(values)] > SMALLEST).any():
                blocks.append(difference_figure(atlas, name, anchor))
        if np.isfinite(np.asarray(atlas.data["contraction"].values)).any():
            blocks.append(contraction_figure(atlas, anchor))
    for name in mapped:
        if name not in several:
            label = CLASSES[name][int(atlas.codes(name).flat[0])]
            blocks.append(Paragraph(f"{TITLES[name]}: {label} at every point."))
    return Section(anchor, title or f"Atlas of {atlas.problem}", tuple(blocks)), findings(atlas)


def _lead(atlas: Atlas) -> str:
    dims = _dimensions(atlas)
    axes = ", ".join(
        f"{dims[a.name][0]} from {dims[a.name][1].min():.6g} to {dims[a.name][1].max():.6g} ({len(a.values)} values)"
        for a in atlas.axes
    )
    loads = "" if atlas.loads is None else f", {len(atlas.loads)} directions of the load"
    return (
        f"{atlas.points} states: {axes or 'the start'}; {len(atlas.slips)} combinations of slip signs{loads}. All "
        "contacts are closed and slide. The sign + is slip in the positive direction of the contact's tangent."
    )


def findings(atlas: Atlas) -> list[str]:
    """Findings from the counts, in sentences."""
    s = atlas.summary()
    criterion = s["criterion"]
    total = criterion["right"] + criterion["wrong"]
    border = f"; {criterion['borderline']} more are borderline" if criterion["borderline"] else ""
    lines = [
        f"The contact laws have one solution at {s['lcp'].get('one solution', 0)} of {atlas.points} states.",
        f"The printed QP equals the LCP at {s['qp'].get('equal', 0)} and differs at "
        f"{s['qp'].get('different', 0) + s['qp'].get('tensile', 0)}, with a tensile force at "
        f"{s['qp'].get('tensile', 0)}; it has no unique minimiser at "
        f"{sum(v for k, v in s['qp'].items() if k not in ('equal', 'different', 'tensile'))}.",
        f"Criterion η predicts that at {criterion['right']} of {total} states to which it applies{border}."
        if total
        else "Criterion η applies nowhere: the contact operator is not positive definite at any state.",
        f"The weighted QP equals the LCP at {s['weighted'].get('equal', 0)} states and differs at "
        f"{s['weighted'].get('different', 0)}; frozen friction contracts at {s['frozen friction']['contracts']}.",
    ]
    joint = s["joint"]
    if "not mapped" not in joint:
        wrong = criterion["wrong for all ideal forces"]
        lines.append(
            f"The printed QP over all ideal forces equals the LCP at {joint.get('equal', 0)} and differs at "
            f"{joint.get('different', 0) + joint.get('tensile', 0)} states; its criterion is wrong at {wrong}."
        )
    return lines


def document(atlas: Atlas, name: str, tables: Sequence[Table] = (), *, quick: bool = False) -> Document:
    """The report of one problem's atlas, with the given tables and those that the problem itself adds."""
    section, lines = atlas_section(atlas)
    sections = [section]
    grid = problem(name).atlas
    own = () if grid is None or grid.tables is None else grid.tables(quick)
    blocks = (*tables, *(Table(t.name, t.caption, tuple(t.columns), tuple(map(tuple, t.rows))) for t in own))
    if blocks:
        lead = Paragraph("Boundaries found by root finding and stated values beside them.")
        sections.append(Section("boundaries", "Boundaries and tables", (lead, *blocks)))
    lead_text = (
        f"What the linear complementarity problem of the contact laws, the printed quadratic program and its relatives "
        f"do on a grid of states of {atlas.problem}. All numbers were computed by the run that wrote this."
    )
    return Document(f"Atlas of {atlas.problem}", lead_text, tuple(lines), tuple(sections))
