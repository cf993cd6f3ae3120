"""Write sequences of step programs as files for other codes, and read them back.

A folder holds `manifest.json` and one file per program: quadratic programs as qpsolvers writes them (`Problem.save`,
NumPy archives with P, q, G, h, A, b, lb, ub for G x <= h, A x = b), complementarity problems as JSON. The manifest
lists the row of gaussopt's l <= A x <= u from which each row came, so that reading returns the same numbers. With
quadratic programs the folder also holds a test set for qpbenchmark.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

import numpy as np
from numpy.typing import NDArray

from gaussopt._version import __version__
from gaussopt.atlas.scan import Atlas
from gaussopt.comparison.contact_export import write_solved
from gaussopt.comparison.items import SIMULATED, Item, states_of
from gaussopt.comparison.pairing import misfit
from gaussopt.core import registry
from gaussopt.core.errors import BadInput, NotAccepted, UnknownName
from gaussopt.core.files import check_new, inside, json_object, prepare_folder, read_regular, write_bytes, write_text
from gaussopt.core.programs import LCP, QP, as_qp
from gaussopt.core.status import Status
from gaussopt.interchange.quadratic import ARRAYS
from gaussopt.kinds import page_of
from gaussopt.kinds.files import parse
from gaussopt.modelling.family import Family
from gaussopt.modelling.problem import Problem
from gaussopt.solving.defaults import default_solver, formulate
from gaussopt.solving.solve import solve
from gaussopt.storage.archives import arrays_of
from gaussopt.storage.checksums import checksum, digest_of, sealed
from gaussopt.storage.schema import Schema, check

FORMAT = 1
"""Version of the manifest."""

MOST_PROGRAMS = 1_000_000
"""Maximum number of programs in a sequence."""

MOST_ENTRIES = 50_000_000
"""Maximum number of entries in a matrix of one program (400 MB)."""

STEPS = 5
"""Number of steps of a family, as in a comparison."""

_PLACES = list[Annotated[int, range(MOST_ENTRIES + 1)]]

MANIFEST: Schema = {"follows": NotRequired[bool], **dict.fromkeys(("problem", "reference", "formulation"), str)}
PROGRAM: Schema = {
    "kind": Literal["qp", "lcp"], "file": str, "sha256": Annotated[str, re.compile(r"[0-9a-f]{64}")],
    "n": Annotated[int, range(1, MOST_ENTRIES + 1)],
}  # fmt: skip
ROWS: Schema = dict.fromkeys(("rows", "equality", "lower", "upper"), _PLACES)
"""Entries of a manifest, of a program in it, and of a quadratic program: its number of rows, and their indices."""


def export_sequence(
    problem: Problem, formulation: str, out: Path, *, reference: str | None = None, stride: int = 1,
    t_end: float | None = None, progress: Callable[[float], None] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Write the step programs along a reference trajectory, each with its certified solution.

    The steps are those at every `stride`-th state of the problem's reference, by default its first, or of its own
    motion up to `t_end` if it has none. Returns the manifest. Raises UnknownName, NotAccepted if the formulation does
    not fit or makes neither a quadratic program nor an LCP, and BadInput if the folder is not empty or cannot be
    written.
    """
    known = [r.name for r in problem.references] or [SIMULATED]
    if problem.references and t_end is not None:
        raise BadInput(f"The reference of {problem.label} has an end of its own; leave the end of the motion out.")
    name = known[0] if reference is None else reference
    if name not in known:
        raise UnknownName(f"reference of {problem.name}", name, known)
    if stride < 1:
        raise BadInput(f"stride is {stride}; it must be at least 1.")
    check_new(out)
    states: list[tuple[Item, dict[str, Any]]] = [(item, {}) for item in states_of(problem, name, stride, t_end)]
    return _export(states, (problem.label, name), formulation, out, progress=progress)


def export_family(
    family: str, dials: Sequence[str], formulation: str, out: Path, progress: Callable[[float], None] | None = None
) -> dict[str, Any]:
    """Write steps of a family, with each dial at the given value ("mu=0.3") or its default; see `export_sequence`.

    Contact problems in space, whose formulation must be moreau-jean, are written as FCLIB files (`export_contacts`).
    """
    entry: Family = registry.load("family", family)
    given = dict(entry.parse_dial(text) for text in dials)
    swept = [dial for dial, values in given.items() if len(values) > 1]
    if swept:
        raise BadInput(f"A sequence has one value of the dial {swept[0]!r}; give NAME=VALUE, and export once for each.")
    values = entry.at({dial: values[0] for dial, values in given.items()})
    label = f"{family} ({', '.join(f'{dial}={value:g}' for dial, value in values.items())})"
    check_new(out)
    steps: Sequence[Any] = entry.steps(values, STEPS)
    if not any(page_of(step).formulations == "contact" for step in steps):
        return _export([(Item(x), {}) for x in steps], (label, "family"), formulation, out, progress=progress)
    if formulation != "moreau-jean":
        raise NotAccepted(f"The family {family!r} holds contact problems in space; export moreau-jean, as FCLIB files.")
    prepare_folder(out)
    told = [write_solved(out, family, i, x, label, f"draw {i}") for i, x in enumerate(steps)]
    return {"files": [name for name, _ in told], "certified": sum(solved for _, solved in told)}


def export_atlas(
    file: Path, formulation: str, out: Path, *, stride: int = 1, progress: Callable[[float], None] | None = None
) -> dict[str, Any]:
    """Write the program of every `stride`-th cell of an atlas that the formulation fits; see `export_sequence`.

    Each row of the manifest has the index of its `cell`, for `Atlas.step`, and the parameter `values` of the cell.
    """
    if stride < 1:
        raise BadInput(f"stride is {stride}; it must be at least 1.")
    atlas, entry = Atlas.load(file), registry.load("formulation", formulation)
    check_new(out)
    cells = [(cell, atlas.step(cell)) for cell in range(0, atlas.points, stride)]
    reasons = [misfit(entry, step) for _, step in cells]
    found = [
        (Item(step), {"cell": cell, "values": atlas.values(cell)})
        for (cell, step), reason in zip(cells, reasons, strict=True) if reason is None
    ]  # fmt: skip
    if not found:
        raise NotAccepted(f"The formulation {formulation!r} fits no cell of {file}: {str(reasons[0]).rstrip('.')}.")
    return _export(found, (atlas.problem, "atlas"), formulation, out, follows=False, progress=progress)


def _export(
    items: Sequence[tuple[Item, dict[str, Any]]], named: tuple[str, str], formulation: str, out: Path, *,
    follows: bool = True, progress: Callable[[float], None] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Write the programs of steps; each step comes with further entries for its manifest row. Return the manifest.

    `named` holds the manifest's problem and reference; `follows` says whether each step follows the previous one.
    """
    exact = bool(registry.load("formulation", formulation).exact)
    prepare_folder(out)
    if not items:
        raise BadInput(f"{named[1]} of {named[0]} has no state at which programs can be asked for.")
    rows = []
    for i, (item, more) in enumerate(items):
        rows.append({**_write_item(out, i, item, formulation), **more})
        if progress is not None:
            progress((i + 1) / len(items))
    manifest = {
        "format": FORMAT, "gaussopt": __version__, "problem": named[0], "reference": named[1],
        "formulation": formulation, "exact": exact, "kind": rows[0]["kind"], "count": len(rows), "follows": follows,
        "programs": rows,
    }  # fmt: skip
    if manifest["kind"] == "qp":
        title = f"{', '.join(named)}, as {formulation}"
        template = resources.files("gaussopt.comparison").joinpath("step_sequence.template").read_text(encoding="utf-8")
        write_text(out / "step_sequence.py", template.format(title=title, version=__version__))
    write_text(out / "manifest.json", sealed(manifest))
    return manifest


def _write_item(folder: Path, i: int, item: Item, formulation: str) -> dict[str, Any]:
    step: Any = item.data
    program: Any = formulate(step, formulation)
    if (words := page_of(program).not_exported) is not None:
        raise NotAccepted(f"The formulation {formulation!r} makes {words}")
    if not page_of(program).name:
        program = as_qp(program)
    if program.sparse:
        raise NotAccepted(
            "The programs have sparse matrices, and files of sequences hold dense ones; take a smaller one."
        )
    kind, number = page_of(program).name, f"{i:05d}"
    row: dict[str, Any] = {"t": None if np.isnan(item.t) else item.t, "n": program.n, "kind": kind}
    if kind == "qp":
        archive = io.BytesIO()
        to_qpsolvers(program).save(archive)
        name, content = f"{number}.npz", archive.getvalue()
        row |= {**{key: rows.tolist() for key, rows in _layout(program).items()}, "rows": [program.m]}
    else:
        name, content = f"{number}.json", (json.dumps(program.to_mapping()) + "\n").encode()
    solution = solve(program, default_solver(program))
    if solution.status is Status.SOLVED and solution.x is not None:
        row["solution"] = solution.x.tolist()
        if program.minimises:
            row["objective"] = program.objective(solution.x)
    write_bytes(folder / name, content)
    return row | {"file": name, "sha256": digest_of(content)}


def _layout(qp: QP) -> dict[str, NDArray[np.intp]]:
    """Return the indices of the rows of l <= A x <= u that the file holds as equalities, lower and upper bounds."""
    eq = qp.equality
    masks = {"equality": eq, "lower": ~eq & np.isfinite(qp.l), "upper": ~eq & np.isfinite(qp.u)}
    return {key: np.flatnonzero(mask) for key, mask in masks.items()}


def to_qpsolvers(qp: QP) -> Any:
    """Return a quadratic program as `qpsolvers.Problem`: lower bounds as -A x <= -l, then upper bounds."""
    from qpsolvers import Problem as Foreign

    eq, low, high = _layout(qp).values()
    G, h = np.vstack((-qp.A[low], qp.A[high])), np.concatenate((-qp.l[low], qp.u[high]))
    return Foreign(qp.P, qp.q, *(x if len(x) else None for x in (G, h, qp.A[eq], qp.l[eq])))


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of an exported folder, checked entry by entry.

    Raises BadInput if there is none, if it was written in another format, or if an entry is wrong.
    """
    path = folder / "manifest.json"
    if not path.is_file():
        raise BadInput(f"{folder} holds no manifest.json; give a folder that `gaussopt export` wrote.")
    manifest = json_object(read_regular(inside(folder, path.name)), path)
    if manifest.get("format") != FORMAT or not isinstance(manifest.get("programs"), list):
        raise BadInput(f"{path} is no manifest of format {FORMAT}; export the sequence again.")
    try:
        _check_manifest(manifest)
    except BadInput as error:
        raise BadInput(f"{path}: {error}; export the sequence again.") from None
    return manifest


def read_sequence(folder: Path) -> list[QP | LCP]:
    """Return the programs of an exported folder, with the same numbers that were written.

    Raises BadInput if a file is missing, lies outside the folder, or differs from the manifest.
    """
    manifest = read_manifest(folder)
    found: list[QP | LCP] = []
    for row in manifest["programs"]:
        place, path = inside(folder, row["file"]), folder / row["file"]
        if not os.path.exists(place):  # `Path.exists` raises OSError for a name that is too long
            raise BadInput(f"{path}, which the manifest names, is missing; export the sequence again.")
        content = read_regular(place)
        if digest_of(content) != row["sha256"]:
            raise BadInput(f"{path} is not the file that the manifest names; export the sequence again.")
        try:
            program: Any = parse(json_object(content, path)) if row["kind"] == "lcp" else _unarchive(content, row)
            if page_of(program).name != row["kind"]:
                raise BadInput("it is no lcp, as the manifest says")
            if program.n != row["n"]:
                raise BadInput(f"the program has {program.n} unknowns, the manifest says {row['n']}.")
        except BadInput as error:
            raise BadInput(f"{path}: {str(error).rstrip('.')}; export the sequence again.") from None
        found.append(program)
    return found


def _unarchive(content: bytes, row: dict[str, Any]) -> QP:
    """Return the quadratic program of an archive, with the same checks as for a single file; raises BadInput."""
    found: dict[str, Any] = dict(arrays_of(content, ARRAYS))
    eq, low, high = (np.array(row[k], dtype=np.intp) for k in ("equality", "lower", "upper"))
    n, (m,) = row["n"], row["rows"]
    shapes = {
        "P": (n, n), "q": (n,), "G": (len(low) + len(high), n), "h": (len(low) + len(high),), "A": (len(eq), n),
        "b": (len(eq),),
    }  # fmt: skip
    for name, shape in shapes.items():
        array = found[name]
        if array is None and shape[0] == 0:
            found[name] = np.zeros(shape)
        elif array is None or array.shape != shape:
            have = "is missing" if array is None else f"has shape {array.shape}"
            raise BadInput(f"{name} {have}, the manifest calls for {shape}")
    if found["lb"] is not None or found["ub"] is not None:
        raise BadInput("it bounds the unknowns themselves (lb, ub), which no exported program does")
    A, l, u = np.zeros((m, n)), np.full(m, -np.inf), np.full(m, np.inf)
    A[eq], l[eq], u[eq] = found["A"], found["b"], found["b"]
    (below, above), (lower, upper) = (np.split(found[name], [len(low)]) for name in ("G", "h"))
    if not np.array_equal(below[np.isin(low, high)], -above[np.isin(high, low)]):
        raise BadInput("the two sides of a row do not fit each other")
    A[low], l[low] = -below, -lower
    A[high], u[high] = above, upper
    # A zero may have one sign in the file and the other in the program; this is no difference.
    return QP.from_mapping({"kind": "qp", "P": found["P"], "q": found["q"], "A": A, "l": l, "u": u})


# -- check of a manifest before any file that it names is opened ---------------------------------------


def _check_manifest(manifest: Mapping[str, Any]) -> None:
    """Check every entry of a manifest, and its checksum if it has one.

    Raises BadInput with a text that names the entry, without a full stop.
    """
    if "checksum" in manifest and manifest["checksum"] != checksum(manifest):
        raise BadInput("its checksum is wrong")
    check("the manifest", manifest, MANIFEST)
    rows = manifest["programs"]
    if not 1 <= len(rows) <= MOST_PROGRAMS:
        raise BadInput(f"it names {len(rows)} programs, expected 1 to {MOST_PROGRAMS}")
    for i, row in enumerate(rows):
        check(f"program {i}", row, PROGRAM)
        if row["kind"] != rows[0]["kind"]:
            raise BadInput(f"program {i} is a {row['kind']}, the first one a {rows[0]['kind']}")
        if row["kind"] == "qp":
            check(f"program {i}", row, ROWS)
            if fault := _fault_of_rows(row["n"], *(row[key] for key in ROWS)):
                raise BadInput(f"program {i}: {fault}")


def _fault_of_rows(n: int, rows: list[int], equality: list[int], lower: list[int], upper: list[int]) -> str:
    """Return what is wrong with the number and the indices of the rows of a program of n unknowns, or ""."""
    if len(rows) != 1:
        return f"'rows' is {rows!r:.60}, expected a list with the number of rows"
    m = rows[0]
    if n * max(n, m) > MOST_ENTRIES:
        return f"a program of {n} unknowns and {m} rows is too large to be replayed"
    if not all(a < b for of in (equality, lower, upper) for a, b in pairwise((-1, *of, m))):
        return f"its lists of rows do not rise from 0 to {m - 1}"
    bounded = {*lower, *upper}
    if not bounded.isdisjoint(equality):
        return "a row is an equality and an inequality"
    many = 8 * n * (m - len(bounded.union(equality))) > 2**20
    return f"it has {m} rows, of which most have no bounds" if many else ""
