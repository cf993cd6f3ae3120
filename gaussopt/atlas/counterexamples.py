"""Write counterexamples of an atlas as step and lcp files, which `gaussopt solve` and `gaussopt verify` read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from gaussopt.atlas.contact_study import CLASSES
from gaussopt.atlas.scan import Atlas
from gaussopt.atlas.view import slip_label
from gaussopt.core.files import write_text


def write_counterexamples(atlas: Atlas, count: int, folder: Path) -> list[Path]:
    """Write the first `count` counterexamples of an atlas, each as a step file and an LCP file; return the step files.

    Raises BadInput if the folder cannot be written.
    """
    written = []
    for number, cell in enumerate(atlas.counterexamples(count), 1):
        kind = CLASSES["qp"][atlas.codes("qp").flat[cell]]
        about = {"name": f"{atlas.problem}, cell {cell}", "note": _note(atlas, cell, kind)}
        stem = f"{number:03d}-{kind.replace(' ', '-')}"
        for data in (atlas.step(cell), atlas.lcp(cell)):
            mapping: dict[str, Any] = {**data.to_mapping(), **about}
            path = folder / f"{stem}.{mapping['kind']}.json"
            write_text(path, json.dumps(mapping, allow_nan=False) + "\n")
            if mapping["kind"] == "step":
                written.append(path)
    return written


def _note(atlas: Atlas, cell: int, kind: str) -> str:
    """Describe the parameters of a cell, the forces by the contact laws, and the answer of the printed QP."""
    index = np.unravel_index(cell, atlas.codes("qp").shape)
    place = [f"{name} = {value:.6g}" for name, value in atlas.values(cell).items()]
    place.append(f"signs of slip {slip_label(atlas.slips[index[len(atlas.axes)]])}")
    if atlas.loads is not None:
        place.append(f"gap accelerations without contact forces {_numbers(atlas.loads[index[-1]])} m/s^2")
    printed = np.asarray(atlas.data["lam_qp"].values[index], dtype=float)
    says = f"the printed QP is {kind}"
    if np.isfinite(printed).all():
        says = f"the printed QP returns {_numbers(printed)} N"
    true = _numbers(np.asarray(atlas.data["lam_lcp"].values[index], dtype=float))
    return f"{'; '.join(place)}. The contact laws have the normal forces {true} N; {says}."


def _numbers(values: Any) -> str:
    return ", ".join(f"{x:.6g}" for x in values)
