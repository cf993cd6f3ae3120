"""The collection is the same everywhere, and every format holds the same problems, read without gaussopt."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from parquet_reader import read

from gaussopt.cli.main import run
from gaussopt.collected_problems import check_proofs
from gaussopt.collected_problems.build import build, hashes
from gaussopt.collected_problems.members import groups
from gaussopt.core.errors import BadInput, UnknownName


def rows(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "index.json").read_text())["problems"]
    return found


def test_the_files_are_those_of_the_committed_list(built: Path) -> None:
    listed = hashes()
    for row in rows(built):
        content = b"".join((built / row[key]).read_bytes() for key in ("file", "proof"))
        assert hashlib.sha256(content).hexdigest() == row["sha256"] == listed[row["name"]]


def test_the_committed_list_has_the_promised_size() -> None:
    names = [name.rpartition("-")[0] for name in hashes()]
    known = {group.name: group for group in groups()}
    assert len(names) >= 2000
    assert set(names) == set(known)
    assert sum(group.follows for group in known.values()) >= 30


@pytest.mark.parametrize("core", ["Nehalem", "Haswell"])
def test_other_processors_and_threads_build_the_same(core: str, tmp_path: Path) -> None:
    """OpenBLAS adds in another order on another processor, and with another number of threads."""
    names = ("chain-8-closed", "linkage-7-1000", "motion-crank-a-2s", "sliding-16-0.6", "friction-random-8", "gauss-8")
    code = (
        "import sys; from pathlib import Path; from gaussopt.collected_problems.build import build; "
        "print(build(Path(sys.argv[1]), sys.argv[2:])['differing'])"
    )
    more = {"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": "2" if core == "Nehalem" else "1"}
    found = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "one"), *names], env={**os.environ, **more}, check=True, text=True,
        capture_output=True,
    )  # fmt: skip
    assert found.stdout == "[]\n"


def test_two_builds_are_equal_file_by_file(tmp_path: Path) -> None:
    """Of a sequence, of programs and of contacts; all problems are held against the committed list above."""
    folders = [tmp_path / name / "collection" for name in ("one", "two")]
    for folder in folders:
        build(folder, ["chain-3-open", "qp-tied", "friction-wall-2"], archive=True)
    for name in ("collection/SHA256SUMS", "collection-1.0.zip"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_archive_holds_every_file_with_licence_and_data_card(built: Path) -> None:
    with zipfile.ZipFile(built.with_name("collection-1.0.zip")) as file:
        held = {name.removeprefix("collection/"): file.read(name) for name in file.namelist()}
    assert {"README.md", "LICENSE", "check_proofs.py", "index.json", "index.parquet", "SHA256SUMS"} <= held.keys()
    for line in held["SHA256SUMS"].decode().splitlines():
        digest, _, name = line.partition("  ")
        assert hashlib.sha256(held[name]).hexdigest() == digest


def test_proofs_hold_for_contacts_read_by_h5py_alone(built: Path) -> None:
    read = [row for row in rows(built) if row["kind"] == "contact"]
    assert read
    for row in read:
        with h5py.File(built / row["other"], "r") as file:
            W = file["fclib_local/W"]
            entries = {"row": W["i"][()].tolist(), "column": W["p"][()].tolist(), "value": W["x"][()].tolist()}
            problem = {
                "kind": "contact", "W": {"shape": [int(W["m"][0]), int(W["n"][0])], **entries},
                "q": file["fclib_local/vectors/q"][()].tolist(), "mu": file["fclib_local/vectors/mu"][()].tolist(),
                "r": file["solution/r"][()].tolist(),
            }  # fmt: skip
        check_proofs.check(problem, json.loads((built / row["proof"]).read_text()))


def test_proofs_hold_for_programs_read_by_numpy_alone(built: Path) -> None:
    """In the archives the rows are A x = b and G x <= h, lower bounds first; the multipliers follow them."""
    read = [row for row in rows(built) if row["other"].endswith(".npz")]
    assert read
    for row in read:
        proof, problem = (json.loads((built / row[key]).read_text()) for key in ("proof", "file"))
        with np.load(built / row["other"], allow_pickle=True) as file:
            parts = {name: file[name] for name in ("P", "q", "G", "h", "A", "b")}
        n = len(parts["q"])
        A, G = (x.reshape(-1, n) if x.ndim else np.zeros((0, n)) for x in (parts["A"], parts["G"]))
        b, h = (np.atleast_1d(x) if x.ndim else np.zeros(0) for x in (parts["b"], parts["h"]))
        other = {
            "kind": "qp", "P": parts["P"].tolist(), "q": parts["q"].tolist(), "A": [*A.tolist(), *G.tolist()],
            "l": [*b.tolist(), *[None] * len(h)], "u": [*b.tolist(), *h.tolist()],
        }  # fmt: skip
        low, high = (np.array([np.nan if x is None else x for x in problem[key]]) for key in "lu")
        equal = low == high

        def ordered(y: list[Any], equal: Any = equal, low: Any = low, high: Any = high) -> list[Any]:
            """Multipliers in the order of the rows of the archive; those of -A x <= -l have the other sign."""
            force = np.array(y, dtype=object)
            lower, upper = ~equal & np.isfinite(low), ~equal & np.isfinite(high)
            return [*force[equal], *(-max(x, 0) for x in force[lower]), *(min(x, 0) for x in force[upper])]

        if "x" in problem:
            other |= {"x": problem["x"], "y": [float(y) for y in ordered(problem["y"])]}
        for claim in proof["claims"]:
            if claim["rule"] == "exact":
                claim["y"] = [str(y) for y in ordered([Fraction(y) for y in claim["y"]])]
        if row["answers"] != "none at all":  # a ray has signs of its own, and is checked in the other tests
            check_proofs.check(other, proof)


def test_answers_are_the_nearest_floats_in_json_alone(built: Path) -> None:
    for row in rows(built):
        proof, problem = (json.loads((built / row[key]).read_text()) for key in ("proof", "file"))
        for claim in proof["claims"]:
            for name in check_proofs.KINDS[problem["kind"]][0] if claim["rule"] == "exact" else "":
                assert [float(Fraction(x)) for x in claim[name]] == problem[name]


def test_parquet_holds_the_index_and_the_convex_programs(built: Path) -> None:
    index = rows(built)
    assert read((built / "index.parquet").read_bytes()) == {key: [row[key] for row in index] for key in index[0]}
    table = read((built / "qpbenchmark" / "gaussopt_collection.parquet").read_bytes())
    files = {row["name"]: row["other"] for row in index if row["other"].endswith(".npz")}
    convex = [row["name"] for row in index if row["name"] in files and row["answers"] != "none at all"]
    assert table["name"] == convex
    for i, name in enumerate(table["name"]):
        with np.load(built / files[name], allow_pickle=True) as file:
            for key in ("P", "q", "G", "h", "A", "b", "lb", "ub"):
                assert table[key][i] == (file[key].ravel().tolist() if file[key].ndim else None)


def test_the_convex_programs_are_a_test_set_of_qpbenchmark(built: Path) -> None:
    qpbenchmark = pytest.importorskip("qpbenchmark")
    sys.path.insert(0, str(built / "qpbenchmark"))
    try:
        from gaussopt_collection import GaussoptCollection  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    problems = list(GaussoptCollection())
    assert problems
    assert all(isinstance(problem, qpbenchmark.Problem) for problem in problems)


def test_an_unknown_group_and_a_full_folder_are_refused(built: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'lcp-murty'"):
        build(tmp_path / "x", ["lcp-murti"])
    with pytest.raises(BadInput, match="not empty"):
        build(built)


def test_the_command_says_what_it_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, listed = tmp_path / "out", tmp_path / "hashes.txt"
    assert run(["collection", "build", "--group", "chain-3-open", "--out", str(out), "--hashes", str(listed)]) == 0
    text = capsys.readouterr().out
    assert "20 problems in 1 group (1 sequence)" in text
    assert "All of them are those of the list of hashes." in text
    assert len(listed.read_text().splitlines()) == 20
    assert run(["collection", "build", "elsewhere", "--out", str(tmp_path / "two")]) == 2
    assert "the folder that it writes is given by --out" in capsys.readouterr().err
