"""Steps of families, and cells of an atlas, as the files that `sequence_files` writes of states of a problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

from gaussopt.atlas.scan import Atlas
from gaussopt.comparison.contact_export import write_solved
from gaussopt.comparison.items import Item
from gaussopt.comparison.pairing import misfit
from gaussopt.comparison.sequence_files import check_new, export_steps
from gaussopt.comparison.sources import FamilyPoint
from gaussopt.core import registry
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.errors import BadInput, NotAccepted
from gaussopt.core.files import prepare_folder
from gaussopt.modelling.family import Family

COUNT = 5
"""Steps of a family, as many as a comparison takes."""


def export_family(
    family: str, dials: Sequence[str], formulation: str, out: Path, progress: Callable[[float], None] | None = None
) -> dict[str, Any]:
    """Write steps of a family, each dial at one value ("mu=0.3") or its default; see `export_sequence`.

    Contact problems in space become FCLIB files, by the formulation moreau-jean; see `export_contacts`. Raises
    UnknownName, NotAccepted if the formulation does not fit, and BadInput.
    """
    entry: Family = registry.load("family", family)
    given = dict(entry.parse_dial(text) for text in dials)
    swept = [dial for dial, values in given.items() if len(values) > 1]
    if swept:
        raise BadInput(f"A sequence has one value of the dial {swept[0]!r}; give NAME=VALUE, and export once for each.")
    point = FamilyPoint(family, entry.at({dial: values[0] for dial, values in given.items()}), count=COUNT)
    label = f"{family} ({', '.join(f'{dial}={value:g}' for dial, value in point.dials.items())})"
    items = point.items()
    if not isinstance(items[0].data, ConeComplementarity):
        return export_steps(zip(items, repeat({})), (label, "family"), formulation, out, progress=progress)
    if formulation != "moreau-jean":
        raise NotAccepted(f"The family {family!r} holds contact problems in space; export moreau-jean, as FCLIB files.")
    check_new(out)
    prepare_folder(out)
    told = [write_solved(out, family, i, item.data, label, f"draw {i}") for i, item in enumerate(items)]  # type: ignore[arg-type]
    return {"files": [name for name, _ in told], "certified": sum(solved for _, solved in told)}


def export_atlas(
    file: Path, formulation: str, out: Path, *, stride: int = 1, progress: Callable[[float], None] | None = None
) -> dict[str, Any]:
    """Write the program of every `stride`-th cell of an atlas; see `export_sequence`.

    Cells that the formulation does not fit are left out. A row of the manifest has the number of its `cell`, for
    `Atlas.step`, and the `values` there. Raises UnknownName, NotAccepted if it fits no cell, and BadInput.
    """
    if stride < 1:
        raise BadInput(f"stride is {stride}; it must be at least 1.")
    atlas, entry, reasons = Atlas.load(file), registry.load("formulation", formulation), [""]

    def cells() -> Iterator[tuple[Item, dict[str, Any]]]:
        for cell in range(0, atlas.points, stride):
            step = atlas.step(cell)
            reasons[0] = misfit(entry, step) or ""
            if not reasons[0]:
                yield Item(step), {"cell": cell, "values": atlas.values(cell)}

    found = list(cells())
    if not found:
        raise NotAccepted(f"The formulation {formulation!r} fits no cell of {file}: {reasons[0].rstrip('.')}.")
    return export_steps(found, (atlas.problem, "atlas"), formulation, out, follows=False, progress=progress)
