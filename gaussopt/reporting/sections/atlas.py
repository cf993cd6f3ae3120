"""The report of an atlas: class maps, differences, counts, and tables added by the problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gaussopt.atlas.contact_study import CLASSES
from gaussopt.atlas.scan import Atlas
from gaussopt.atlas.view import SMALLEST, dimensions, maps, signs_in_print, slip_label, view_of
from gaussopt.modelling.problem import problem
from gaussopt.plotting.figures import svg_of
from gaussopt.reporting.document import Block, Document, Figure, Paragraph, Section, Table
from gaussopt.reporting.texts import Texts

texts = Texts(__file__, str)


def _frame(atlas: Atlas, columns: dict[str, Any]) -> Any:
    """Return a table with one row for each point: the coordinates of the point, and the given columns."""
    dims: dict[str, Any] = {label: values.round(6) for label, values in dimensions(atlas, plain=True).values()}
    dims["signs of slip"] = [slip_label(s) for s in atlas.slips]
    return pd.MultiIndex.from_product(list(dims.values()), names=list(dims)).to_frame(index=False).assign(**columns)


def _classes() -> dict[str, tuple[str, str]]:
    """Return for each kind of classes the title of its map and a description."""
    return {name: (title, shown) for name, title, shown in texts.table("classes").rows}


def map_figure(atlas: Atlas, name: str, prefix: str = "atlas") -> Figure:
    """Draw the map of a variable of the atlas, and describe its numbers in words.

    `name` is a key of CLASSES, the name of a relative difference, or "contraction". Differences are on a
    logarithmic scale, white where undefined; on the map of the contraction factor ϱ a line is drawn at ϱ = 1.
    """
    view = view_of(atlas)
    *_, xlabel, ylabel = view.axes
    values = np.asarray(atlas.data[name].values)
    data: Any = [float(f"{v:.6g}") for v in values.ravel()]
    if name in CLASSES:
        title, shown = _classes()[name]
        labels = enumerate(CLASSES[name])
        counts = "; ".join(f"{label} at {(values == i).sum()}" for i, label in labels if (values == i).any())
        data = np.array(CLASSES[name])[atlas.codes(name).ravel()]
        caption = f"{title}: {counts} of {atlas.points} points. {shown}"
        alt = f"Map of {title[0].lower()}{title[1:]} over {xlabel} (across) and {ylabel or 'nothing'} (up), " \
            f"{len(view.panels)} panels. {counts}."  # fmt: skip
    elif name == "contraction":
        below, above, none = (int(where.sum()) for where in (values < 1, values >= 1, np.isnan(values)))
        sentence = f"below 1 at {below}, not below 1 at {above}, not defined (redundant contacts) at {none} points"
        caption = texts("contraction", sentence=sentence)
        alt = f"Map of ϱ over {xlabel} and {ylabel}, from 0 (dark) to 2 and more (bright): {sentence}."
    else:
        finite = values[np.isfinite(values)]
        different = finite[finite > SMALLEST]
        typical = f", median {np.median(different):.3g}" if len(different) else ""
        top = finite.max() if len(finite) else 1.0
        sentence = f"{len(different)} of {len(finite)} points above {SMALLEST:g}{typical}, largest {top:.3g}"
        what = atlas.data[name].attrs["long_name"]
        caption = f"The {what}: {sentence}. Dark is equal, bright is far apart, white is not defined."
        alt = f"Map of the {what} over {xlabel} and {ylabel}, from {SMALLEST:g} (dark) up (bright): {sentence}."
    svg = svg_of(maps(atlas, view, name)[0].figure)
    figure = f"{prefix}-{name.replace('_', '-')}"
    return Figure(figure, f"{caption}{view.left_out}", alt, svg, _frame(atlas, {name: data}))


def counts_table(atlas: Atlas, name: str = "atlas-counts") -> Table:
    """Count the points in each class, for each combination of signs of the slip velocities."""
    rows: list[tuple[Any, ...]] = []

    def count(title: str, label: str, points: Any) -> None:
        by_slip = np.moveaxis(points, len(atlas.axes), 0)
        rows.append((title, label, *(int(p.sum()) for p in by_slip), int(points.sum())))

    for variable, classes in CLASSES.items():
        codes = atlas.codes(variable)
        for i, label in enumerate(classes):
            if (codes == i).any():
                count(_classes()[variable][0], label, codes == i)
    for variable, title in (("agrees", "Criterion η"), ("joint_agrees", "Criterion, all ideal forces")):
        codes = atlas.codes(variable)
        for i, label in ((1, "right"), (0, "wrong")):
            if (codes == i).any() or (i == 0 and (codes == 1).any()):
                count(title, label, codes == i)
    count("Criterion η", "borderline", np.asarray(atlas.data["borderline"].values, dtype=int))
    caption = f"Points of the atlas of {atlas.problem} by class and signs of slip ({', '.join(atlas.contacts)})."
    return Table(name, caption, ("what", "class", *map(signs_in_print, atlas.slips), "all"), tuple(rows))


def agreement_table(atlas: Atlas, name: str = "atlas-criterion") -> Table:
    """Count the predictions of criterion η for each class of answers of the QP that the paper prints."""
    predicted, qp = atlas.codes("predicted"), atlas.codes("qp")
    rows = []
    for code, label in enumerate(CLASSES["qp"]):
        if (qp == code).any():
            rows.append((label, *(int(((qp == code) & (predicted == p)).sum()) for p in (1, 0, -1))))
    return texts.table("criterion", rows, anchor=name)


def atlas_section(atlas: Atlas, anchor: str = "atlas", title: str | None = None) -> tuple[Section, list[str]]:
    """Draw the maps and count the classes of an atlas; return the section, and its findings in sentences."""
    mapped = [name for name in CLASSES if name != "joint" or (atlas.codes(name) < len(CLASSES[name]) - 1).any()]
    varied = atlas.points > len(atlas.slips)
    several = [n for n in mapped if len(np.unique(atlas.codes(n))) > 1]
    blocks: list[Block] = [Paragraph(_lead(atlas)), counts_table(atlas, f"{anchor}-counts")]
    blocks.append(agreement_table(atlas, f"{anchor}-criterion"))
    if varied:
        numbers = {name: np.asarray(atlas.data[name].values) for name in ("force_difference", "joint_difference")}
        drawn = [name for name, x in numbers.items() if (x[np.isfinite(x)] > SMALLEST).any()]
        drawn += ["contraction"] * bool(np.isfinite(atlas.data["contraction"].values).any())
        blocks += [map_figure(atlas, name, anchor) for name in (*several, *drawn)]
    for name in mapped:
        if name not in several:
            label = CLASSES[name][int(atlas.codes(name).flat[0])]
            blocks.append(Paragraph(f"{_classes()[name][0]}: {label} at every point."))
    return Section(anchor, title or f"Atlas of {atlas.problem}", tuple(blocks)), findings(atlas)


def _lead(atlas: Atlas) -> str:
    dims = dimensions(atlas)
    axes = ", ".join(
        f"{dims[a.name][0]} from {dims[a.name][1].min():.6g} to {dims[a.name][1].max():.6g} ({len(a.values)} values)"
        for a in atlas.axes
    )
    loads = "" if atlas.loads is None else f", {len(atlas.loads)} directions of the load"
    slips = len(atlas.slips)
    return texts("points", points=atlas.points, axes=axes or "the start", slips=slips, loads=loads)


def _weighted(counts: Mapping[str, int]) -> str:
    """Return a sentence, without full stop, on where the weighted QP equals the LCP or where weights exist."""
    equal, different = counts.get("equal", 0), counts.get("different", 0)
    if equal + different:
        return f"The weighted QP equals the LCP at {equal} states and differs at {different}"
    there = "at no state" if counts.keys() <= {"no weights"} else "at no state whose operator is a P-matrix"
    return f"Weights exist {there}, so that there is no weighted QP to compare with the LCP"


def findings(atlas: Atlas) -> list[str]:
    """Describe the counts in sentences."""
    s = atlas.summary()
    criterion = s["criterion"]
    total = criterion["right"] + criterion["wrong"]
    border = f"; {criterion['borderline']} more are borderline" if criterion["borderline"] else ""
    equal, different, tensile = (s["qp"].get(name, 0) for name in ("equal", "different", "tensile"))
    several = sum(s["qp"].values()) - equal - different - tensile
    lines = [
        f"The contact laws have one solution at {s['lcp'].get('one solution', 0)} of {atlas.points} states.",
        texts("printed", equal=equal, differs=different + tensile, tensile=tensile, none=several),
        f"Criterion η predicts that at {criterion['right']} of {total} states to which it applies{border}."
        if total
        else "Criterion η applies nowhere: the contact operator is not positive definite at any state.",
        f"{_weighted(s['weighted'])}; frozen friction contracts at {s['frozen friction']['contracts']}.",
    ]
    joint = s["joint"]
    if "not mapped" not in joint:
        differs = joint.get("different", 0) + joint.get("tensile", 0)
        wrong = criterion["wrong for all ideal forces"]
        lines.append(texts("joint", equal=joint.get("equal", 0), differs=differs, wrong=wrong))
    return lines


def document(atlas: Atlas, name: str, tables: Sequence[Table] = ()) -> Document:
    """Return the report of one problem's atlas, with the given tables and those that the problem adds."""
    section, lines = atlas_section(atlas)
    sections = [section]
    grid = problem(name).atlas
    own = () if grid is None or grid.tables is None else grid.tables(False)
    blocks = (*tables, *(Table(t.name, t.caption, tuple(t.columns), tuple(map(tuple, t.rows))) for t in own))
    if blocks:
        lead = Paragraph("Boundaries found by root finding and stated values beside them.")
        sections.append(Section("boundaries", "Boundaries and tables", (lead, *blocks)))
    opening = texts("lead", problem=atlas.problem)
    return Document(f"Atlas of {atlas.problem}", opening, tuple(lines), tuple(sections))
