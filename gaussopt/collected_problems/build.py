"""Build the collection: every problem with its answer and its proof, in the formats of the field, and an index."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from gaussopt._version import __version__
from gaussopt.collected_problems import members
from gaussopt.collected_problems.check_proofs import KINDS
from gaussopt.collected_problems.members import VERSION, WITHDRAWN, CollectedGroup
from gaussopt.collected_problems.proofs import prove
from gaussopt.comparison.sequence_files import to_qpsolvers
from gaussopt.core.arrays import is_sparse
from gaussopt.core.delassus import formed
from gaussopt.core.display import counted
from gaussopt.core.errors import UnknownName
from gaussopt.core.files import check_new, prepare_folder, write_bytes
from gaussopt.interchange.fclib import write_fclib
from gaussopt.interchange.quadratic import ARRAYS
from gaussopt.kinds.files import parse
from gaussopt.storage.checksums import digest_of
from gaussopt.storage.parquet import parquet

DATE = (1980, 1, 1, 0, 0, 0)
"""Date of all entries of the archive."""

LARGEST = 600
"""Largest size of a dense matrix whose condition number is computed."""

WORST = 1e12
"""Largest condition number in the index; the digits of larger numbers are noise."""


def build(
    out: Path, groups: Sequence[str] = (), archive: bool = False, progress: Callable[[float], None] | None = None
) -> dict[str, Any]:
    """Write the collection, or only the groups with these names, into a new folder.

    Returns the numbers of problems, groups and sequences, the `hashes` of all problems by name, and `differing`: the
    names of problems whose hash differs from the list in the package. With `archive` a ZIP file of the folder is
    written next to it. Raises BadInput if the folder is not empty or cannot be written, and UnknownName for a group
    that does not exist.
    """
    known = {group.name: group for group in members.groups()}
    if unknown := [name for name in groups if name not in known]:
        raise UnknownName("group of the collection", unknown[0], known)
    check_new(out)
    prepare_folder(out)
    chosen = [group for name, group in known.items() if not groups or name in groups]
    rows: list[dict[str, Any]] = []
    programs: list[dict[str, Any]] = []
    for i, group in enumerate(chosen):
        own = _write_group(out, group, programs)
        rows += own
        write_bytes(out / "pages" / f"{group.name}.md", _page(group, own).encode(), durable=False)
        if progress is not None:
            progress((i + 1) / len(chosen))
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    files: dict[str, str | bytes] = {
        "index.json": json.dumps({"version": VERSION, "problems": rows}, indent=0) + "\n",
        "index.parquet": parquet(columns),
        "check_proofs.py": Path(__file__).with_name("check_proofs.py").read_text(encoding="utf-8"),
        "README.md": _text("data_card.md").format(
            version=VERSION, gaussopt=__version__, count=len(rows), groups=len(chosen),
            sequences=sum(group.follows for group in chosen), largest=max(row["n"] for row in rows),
            withdrawn="".join(f"- {name}: {', '.join(why)}\n" for name, why in WITHDRAWN.items()) or "None.\n",
        ),
        "LICENSE": _text("LICENSE-data.txt"),
        "difficulty.json": _text("difficulty.json"),
    }  # fmt: skip
    if programs:
        table = {key: [program[key] for program in programs] for key in ("name", *ARRAYS)}
        files["qpbenchmark/gaussopt_collection.parquet"] = parquet(table)
        files["qpbenchmark/gaussopt_collection.py"] = _text("test_set.template").format(version=VERSION)
    for name, content in files.items():
        write_bytes(out / name, content.encode() if isinstance(content, str) else content, durable=False)
    everything = sorted(path for path in out.rglob("*") if path.is_file())
    sums = "".join(f"{digest_of(path.read_bytes())}  {path.relative_to(out).as_posix()}\n" for path in everything)
    write_bytes(out / "SHA256SUMS", sums.encode())
    if archive:
        write_bytes(out.with_name(f"{out.name}-{VERSION}.zip"), _archive(out, [*everything, out / "SHA256SUMS"]))
    listed = hashes()
    differing = [row["name"] for row in rows if listed.get(row["name"]) != row["sha256"]]
    return {"problems": len(rows), "sequences": sum(g.follows for g in chosen), "groups": len(chosen),
            "differing": differing, "hashes": {row["name"]: row["sha256"] for row in rows}}  # fmt: skip


def hashes() -> dict[str, str]:
    """Return the package's list of hashes; each is that of a problem's file with its proof, by problem name."""
    lines = _text("hashes.txt").split("\n")
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines) if name}


def _text(name: str) -> str:
    return resources.files("gaussopt.collected_problems").joinpath(name).read_text(encoding="utf-8")


def _write_group(out: Path, group: CollectedGroup, programs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write the files of a group and return its rows of the index; append its dense convex programs to `programs`."""
    found = []
    for i, (data, hints) in enumerate(group.draw()):
        name = f"{group.name}-{i:03d}"
        problem = {"kind": data["kind"], "name": name, **{k: v for k, v in data.items() if k != "kind"}}
        proof = prove(problem, hints)
        rules = [claim["rule"] for claim in proof["claims"]]
        texts = [json.dumps(x, separators=(",", ":")) + "\n" for x in (problem, proof)]
        files = [f"{folder}/{group.name}/{name}.json" for folder in ("problems", "proofs")]
        for file, text in zip(files, texts, strict=True):
            write_bytes(out / file, text.encode(), durable=False)
        program: Any = parse(problem)
        other = ""
        if problem["kind"] == "contact":
            other = f"fclib/{group.name}/{name}.hdf5"
            (out / other).parent.mkdir(parents=True, exist_ok=True)
            write_fclib(out / other, program, np.array(problem["r"]), name, group.origin)
        elif problem["kind"] == "qp" and not is_sparse(program.P):
            other, foreign, content = f"qpsolvers/{group.name}/{name}.npz", to_qpsolvers(program), io.BytesIO()
            foreign.save(content)
            write_bytes(out / other, content.getvalue(), durable=False)
            if proof["class"] == "convex" and proof["answers"] != "none at all" and name not in WITHDRAWN:
                arrays = {key: getattr(foreign, key) for key in ARRAYS}
                programs.append({"name": name, **{k: None if v is None else v.ravel() for k, v in arrays.items()}})
        date, reason = WITHDRAWN.get(name, ("", ""))
        found.append({
            "name": name, "group": group.name, "position": i, "sequence": group.follows, "kind": problem["kind"],
            "n": program.n, "rows": len(getattr(program, "l", ())), "class": proof["class"],
            "answers": proof["answers"], "condition": _condition(problem["kind"], program),
            "exact": "near" not in rules, "residual": proof["claims"][0].get("residual", "0"),
            "origin": group.origin, "added": group.added, "withdrawn": date, "reason": reason, "file": files[0],
            "proof": files[1], "other": other, "page": f"pages/{group.name}.md",
            "sha256": digest_of("".join(texts).encode()),
        })  # fmt: skip
    return found


def _condition(kind: str, program: Any) -> float | None:
    """Return the condition number of P, M or W to two digits; None above WORST or for a matrix larger than LARGEST."""
    given = formed(getattr(program, KINDS[kind][1]))
    if is_sparse(given) and kind == "qp":
        values = np.abs(given.diagonal())  # in the collection every sparse Hessian is diagonal
        found = float(values.max() / values.min())
    elif given.shape[0] > LARGEST:
        return None
    else:
        dense: Any = given.toarray() if hasattr(given, "toarray") else given
        found = float(np.linalg.cond(dense))
    return float(f"{found:.1e}") if found < WORST else None


def _page(group: CollectedGroup, rows: Sequence[dict[str, Any]]) -> str:
    """Return the page of a group in Markdown: its origin, and a section for each problem."""
    what = "A sequence, in which each problem follows the one before." if group.follows else "Unrelated problems."
    parts = [f"# {group.name}\n\n{group.origin} {what} Added {group.added}.\n"]
    for row in rows:
        condition = f"condition number {row['condition']:g}" if row["condition"] else "no condition number"
        proof = "exact" if row["exact"] else f"residual at most {row['residual']}"
        parts.append(
            f"## {row['name']}\n\n{row['kind']}, {counted(row['n'], 'unknown')}, {counted(row['rows'], 'row')}; class: "
            f"{row['class']}; "
            f"answers: {row['answers']} ({proof}); {condition}. [Problem](../{row['file']}), [proof](../{row['proof']})"
            + (f", [{row['other'].rpartition('.')[2]}](../{row['other']})" if row["other"] else "") + ".\n"
            + (f"\nWithdrawn {row['withdrawn']}: {row['reason']}\n" if row["withdrawn"] else "")
        )  # fmt: skip
    return "\n".join(parts)


def _archive(folder: Path, files: Sequence[Path]) -> bytes:
    """Return a ZIP file with fixed dates and order; its bytes depend only on the files and the version of zlib."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for path in files:
            entry = zipfile.ZipInfo(f"{folder.name}/{path.relative_to(folder).as_posix()}", DATE)
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
            file.writestr(entry, path.read_bytes())
    return content.getvalue()
