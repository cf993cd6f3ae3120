"""Sequences of step programs as files that other programs read, and back.

A folder holds `manifest.json` and one file a program: quadratic programs as qpsolvers writes them (`Problem.save`,
NumPy archives with P, q, G, h, A, b, lb, ub for G x <= h, A x = b), complementarity problems as JSON. The manifest says
which row of gaussopt's l <= A x <= u each row came from, so that reading gives the same numbers back. Beside quadratic
programs lies a test set for qpbenchmark.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gaussopt._version import __version__
from gaussopt.comparison.items import SIMULATED, Item, states_of
from gaussopt.comparison.manifest import FORMAT, check_manifest
from gaussopt.core import registry
from gaussopt.core.errors import BadInput, NotAccepted, UnknownName
from gaussopt.core.files import inside, json_object, prepare_folder, read_regular, write_bytes, write_text
from gaussopt.core.problem_files import parse
from gaussopt.core.programs import LCP, QP, LinearSystem, Program, as_qp
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.modelling.problem import Problem
from gaussopt.solving.defaults import default_solver, formulate
from gaussopt.solving.solve import solve
from gaussopt.storage.archives import arrays_of
from gaussopt.storage.checksums import checksum, digest_of

ARRAYS = ("P", "q", "G", "h", "A", "b", "lb", "ub")
"""Arrays in an archive of qpsolvers."""

TEST_SET = '''"""The step programs of this folder as a test set: qpbenchmark step_sequence.py run"""

import json
from pathlib import Path

import qpsolvers
from qpbenchmark import Problem, TestSet

HERE = Path(__file__).parent


class StepSequence(TestSet):
    """Programs in the order of time."""

    title = {title!r}
    description = "Written by gaussopt {version}; manifest.json holds certified solutions."
    sparse_only = False

    def __init__(self):
        super().__init__()
        self.define_tolerances()
        self.define_solver_settings()

    def __iter__(self):
        for row in json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))["programs"]:
            yield Problem.from_qpsolvers(qpsolvers.Problem.load(HERE / row["file"]), name=Path(row["file"]).stem)
'''
"""A test set of qpbenchmark that reads the folder it lies in."""


def export_sequence(
    problem: Problem,
    formulation: str,
    folder: Path,
    *,
    reference: str | None = None,
    stride: int = 1,
    progress: Callable[[float], None] | None = None,
) -> dict[str, Any]:
    """Write the step programs along a reference trajectory, each with its certified solution.

    Parameters
    ----------
    folder : new or empty
    reference : the first one of the problem if not given; its own motion if it has none
    stride : every how many states

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    UnknownName
    NotAccepted
        If the formulation does not fit, or makes no quadratic program and no LCP.
    BadInput
        If the folder holds something already or cannot be written.
    """
    known = [r.name for r in problem.references] or [SIMULATED]
    name = known[0] if reference is None else reference
    if name not in known:
        raise UnknownName(f"reference of {problem.name}", name, known)
    if stride < 1:
        raise BadInput(f"stride is {stride}; it must be at least 1.")
    exact = bool(registry.load("formulation", formulation).exact)
    if folder.is_dir() and any(folder.iterdir()):
        raise BadInput(f"{folder} is not empty; choose another folder, so that no old programs stay among the new.")
    prepare_folder(folder)
    items = list(states_of(problem, name, stride))
    if not items:
        raise BadInput(f"The reference {name!r} of {problem.name} has no state at which programs can be asked for.")
    rows = []
    for i, item in enumerate(items):
        rows.append(_write_item(folder, i, item, formulation))
        if progress is not None:
            progress((i + 1) / len(items))
    manifest = {
        "format": FORMAT, "gaussopt": __version__, "problem": problem.label, "reference": name,
        "formulation": formulation, "exact": exact, "kind": rows[0]["kind"], "count": len(rows), "programs": rows,
    }  # fmt: skip
    if manifest["kind"] == "qp":
        title = f"{problem.label}, {name}, as {formulation}"
        write_text(folder / "step_sequence.py", TEST_SET.format(title=title, version=__version__))
    text = json.dumps({**manifest, "checksum": checksum(manifest)}, indent=1) + "\n"
    write_text(folder / "manifest.json", text)
    return manifest


def _write_item(folder: Path, i: int, item: Item, formulation: str) -> dict[str, Any]:
    assert isinstance(item.data, StepData)
    program = _exchangeable(formulate(item.data, formulation), formulation)
    row: dict[str, Any] = {"t": item.t, "n": program.n}
    if isinstance(program, LCP):
        name, content = f"{i:05d}.json", (json.dumps(program.to_mapping()) + "\n").encode()
        row |= {"kind": "lcp"}
    else:
        name, content = f"{i:05d}.npz", _archive(program)
        row |= {"kind": "qp", **_layout(program)}
    solution = solve(program, default_solver(program))
    if solution.status is Status.SOLVED and solution.x is not None:
        row["solution"] = solution.x.tolist()
        if isinstance(program, QP):
            row["objective"] = program.objective(solution.x)
    write_bytes(folder / name, content)
    return row | {"file": name, "sha256": digest_of(content)}


def _exchangeable(program: Program, formulation: str) -> QP | LCP:
    if isinstance(program, LinearSystem):
        raise NotAccepted(
            f"The formulation {formulation!r} makes a linear system, which is neither a quadratic program nor a "
            "complementarity problem; export gauss or another formulation that optimises."
        )
    return program if isinstance(program, LCP) else as_qp(program)


def _layout(qp: QP) -> dict[str, list[int]]:
    """Rows of gaussopt's program that the rows of A, and of G in its two parts, come from."""
    eq = qp.equality
    return {
        "equality": np.flatnonzero(eq).tolist(),
        "lower": np.flatnonzero(~eq & np.isfinite(qp.l)).tolist(),
        "upper": np.flatnonzero(~eq & np.isfinite(qp.u)).tolist(),
        "rows": [qp.m],
    }


def to_qpsolvers(qp: QP) -> Any:
    """The `qpsolvers.Problem` of a quadratic program: lower bounds as -A x <= -l, then upper bounds."""
    from qpsolvers import Problem as Foreign

    eq = qp.equality
    low, high = ~eq & np.isfinite(qp.l), ~eq & np.isfinite(qp.u)
    G, h = np.vstack((-qp.A[low], qp.A[high])), np.concatenate((-qp.l[low], qp.u[high]))
    A, b = qp.A[eq], qp.l[eq]
    return Foreign(
        qp.P, qp.q, G if len(G) else None, h if len(h) else None, A if len(A) else None, b if len(b) else None
    )  # fmt: skip


def _archive(qp: QP) -> bytes:
    out = io.BytesIO()
    to_qpsolvers(qp).save(out)
    return out.getvalue()


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of an exported folder, checked entry by entry.

    Raises
    ------
    BadInput
        If there is none, it was written in another format, or an entry is not what it is to be.
    """
    path = folder / "manifest.json"
    if not path.is_file():
        raise BadInput(f"{folder} holds no manifest.json; give a folder that `gaussopt export` wrote.")
    manifest = json_object(read_regular(inside(folder, path.name)), path)
    if manifest.get("format") != FORMAT or not isinstance(manifest.get("programs"), list):
        raise BadInput(f"{path} is no manifest of format {FORMAT}; export the sequence again.")
    try:
        check_manifest(manifest)
    except BadInput as error:
        raise BadInput(f"{path}: {error}; export the sequence again.") from None
    return manifest


def read_sequence(folder: Path) -> list[QP | LCP]:
    """The programs of an exported folder, the same numbers as were written.

    Raises
    ------
    BadInput
        If a file is missing, lies elsewhere, or is not what the manifest says.
    """
    manifest = read_manifest(folder)
    found: list[QP | LCP] = []
    for row in manifest["programs"]:
        content = read_regular(inside(folder, row["file"]))
        path = folder / row["file"]
        if digest_of(content) != row["sha256"]:
            raise BadInput(f"{path} is not the file that the manifest names; export the sequence again.")
        try:
            program = _lcp(content, path) if row["kind"] == "lcp" else _unarchive(content, row)
            if program.n != row["n"]:
                raise BadInput(f"the program has {program.n} unknowns, the manifest says {row['n']}.")
        except BadInput as error:
            raise BadInput(f"{path}: {str(error).rstrip('.')}; export the sequence again.") from None
        found.append(program)
    return found


def _lcp(content: bytes, path: Path) -> LCP:
    program = parse(json_object(content, path))
    if not isinstance(program, LCP):
        raise BadInput("it is no lcp, as the manifest says")
    return program


def _unarchive(content: bytes, row: dict[str, Any]) -> QP:
    """A quadratic program, checked like one from a file; raises BadInput."""
    found = arrays_of(content, ARRAYS)
    eq, low, high = (np.array(row[k], dtype=np.intp) for k in ("equality", "lower", "upper"))
    n, (m,) = row["n"], row["rows"]
    shapes = {
        "P": (n, n), "q": (n,), "G": (len(low) + len(high), n), "h": (len(low) + len(high),), "A": (len(eq), n),
        "b": (len(eq),),
    }  # fmt: skip
    given: dict[str, Any] = {}
    for name, shape in shapes.items():
        array = found[name]
        given[name] = np.zeros(shape) if array is None and shape[0] == 0 else array
        if given[name] is None or given[name].shape != shape:
            have = "is missing" if array is None else f"has shape {array.shape}"
            raise BadInput(f"{name} {have}, the manifest calls for {shape}")
    if found["lb"] is not None or found["ub"] is not None:
        raise BadInput("it bounds the unknowns themselves (lb, ub), which no exported program does")
    A, l, u = np.zeros((m, n)), np.full(m, -np.inf), np.full(m, np.inf)
    A[eq], l[eq], u[eq] = given["A"], given["b"], given["b"]
    G, h = given["G"], given["h"]
    if not (np.array_equal(G[: len(low)][np.isin(low, high)], -G[len(low) :][np.isin(high, low)])):
        raise BadInput("the two sides of a row do not fit each other")
    A[low], l[low] = -G[: len(low)], -h[: len(low)]
    A[high], u[high] = G[len(low) :], h[len(low) :]
    # Their zeros have a sign, which the program's own need not have; the numbers are the same.
    return QP.from_mapping({"kind": "qp", "P": given["P"], "q": given["q"], "A": A, "l": l, "u": u})
