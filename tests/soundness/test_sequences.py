"""Exported sequences come from anybody: nothing outside the folder is opened, nothing is believed unchecked."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soundness.commands import refused

import gaussopt as go
from gaussopt.comparison.sequence_files import export_sequence, read_sequence
from gaussopt.storage.archives import FREE, arrays_of, gunzip

STRIDE = 100


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("exported")
    export_sequence(go.problem("four-bar"), "gauss", folder / "qp", stride=STRIDE)
    export_sequence(go.problem("two-bar"), "stick-slip", folder / "lcp", stride=40)
    return {kind: folder / kind for kind in ("qp", "lcp")}


@pytest.fixture
def sequence(exported: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported["qp"], tmp_path / "sequence"))


def change(folder: Path, entry: dict[str, Any], row: int | None = 0) -> None:
    """Change entries of the manifest, or of one of its rows; None removes."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest.pop("checksum", None)  # so that the entry itself is looked at
    place = manifest if row is None else manifest["programs"][row]
    place |= entry
    for key in [key for key, value in entry.items() if value is None]:
        del place[key]
    path.write_text(json.dumps(manifest), encoding="utf-8")


def replace(folder: Path, content: bytes, row: int = 0) -> None:
    """Another content for a program, with its digest."""
    name = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["programs"][row]["file"]
    (folder / name).write_bytes(content)
    change(folder, {"sha256": hashlib.sha256(content).hexdigest()}, row)


def archive(content: bytes, **changes: Any) -> bytes:
    """An archive with other arrays."""
    with np.load(io.BytesIO(content), allow_pickle=True) as found:
        arrays = {key: found[key] for key in found.files}
    out = io.BytesIO()
    np.savez(out, **(arrays | changes))
    return out.getvalue()


def refusal(folder: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command line says of a sequence."""
    return refused(capsys, "compare", "--sequence", str(folder), "--solvers", "kkt", "--out", str(out))


@pytest.mark.parametrize("name", ["/dev/zero", "../secret.npz", "a/../../secret.npz", "", "\0", 7, None, ["x"]])
def test_only_paths_inside_the_folder(
    name: Any, sequence: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "secret.npz").write_bytes((sequence / "00000.npz").read_bytes())
    change(sequence, {"file": name})
    assert "manifest.json" in (said := refusal(sequence, tmp_path / "out", capsys)) or "inside the folder" in said


@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "link out", "link in a circle", "folder that leads out"])
def test_only_regular_files_of_the_folder(
    kind: str, sequence: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = sequence / "00000.npz"
    elsewhere = tmp_path / "elsewhere.npz"
    shutil.move(file, elsewhere)
    if kind == "device":
        file.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "link out":
        file.symlink_to(elsewhere)
    elif kind == "link in a circle":
        file.symlink_to(file)
    else:
        (sequence / "more").symlink_to(tmp_path)
        change(sequence, {"file": "more/elsewhere.npz"})
    assert "sequence" in refusal(sequence, tmp_path / "out", capsys)


def test_a_manifest_that_leads_out(sequence: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.move(sequence / "manifest.json", tmp_path / "manifest.json")
    (sequence / "manifest.json").symlink_to(tmp_path / "manifest.json")
    assert "leads out" in refusal(sequence, tmp_path / "out", capsys)


def test_links_within_the_folder_are_followed(sequence: Path) -> None:
    whole = read_sequence(sequence)
    (sequence / "deeper").mkdir()
    shutil.move(sequence / "00000.npz", sequence / "deeper" / "first.npz")
    (sequence / "00000.npz").symlink_to("deeper/first.npz")
    assert len(read_sequence(sequence)) == len(whole)


@pytest.mark.parametrize(
    ("entry", "row"),
    [
        ({"programs": []}, None), ({"programs": 3}, None), ({"programs": [3]}, None), ({"problem": 3}, None),
        ({"problem": None}, None), ({"reference": None}, None), ({"formulation": []}, None), ({"format": 1.5}, None),
        ({"kind": "lp"}, 0), ({"kind": None}, 0), ({"kind": "lcp"}, 0), ({"kind": ["qp"]}, 0), ({"sha256": None}, 0),
        ({"sha256": "x" * 64}, 0), ({"n": None}, 0), ({"n": True}, 0), ({"n": 2}, 0), ({"n": 10**12}, 0),
        ({"n": "3"}, 0), ({"n": 3.0}, 0), ({"rows": None}, 0), ({"rows": []}, 0), ({"rows": [10**15]}, 0),
        ({"rows": [10**7]}, 0), ({"rows": [-1]}, 0), ({"rows": [1, 1]}, 0), ({"rows": "2"}, 0),
        ({"equality": [0, 99]}, 0), ({"equality": [-1, 0]}, 0), ({"equality": [1, 0]}, 0), ({"equality": [0, 0]}, 0),
        ({"equality": None}, 0), ({"equality": {"0": 1}}, 0), ({"equality": [0.0, 1.0]}, 0), ({"lower": [0]}, 0),
        ({"upper": "0"}, 0), ({"n": 10**400}, 0),
    ],
    ids=str,
)  # fmt: skip
def test_every_entry_of_a_manifest_is_checked(
    entry: dict[str, Any], row: int | None, sequence: Path, assert_sentence: Callable[..., None]
) -> None:
    change(sequence, entry, row)
    with pytest.raises(go.BadInput) as caught:
        read_sequence(sequence)
    assert_sentence(caught.value, "sequence")


def crooked(P: Any) -> Any:
    return P + np.triu(np.ones(P.shape), 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"P": np.eye(2)}, {"P": np.eye(4)}, {"P": np.ones(3)}, {"P": np.array("x" * 9)}, {"P": np.eye(3) * 1j},
        {"P": np.full((3, 3), np.nan)}, {"P": -np.eye(3)}, {"P": np.array(None)}, {"P": np.array([[None] * 3] * 3)},
        {"P": crooked(np.eye(3))}, {"P": np.zeros((0, 3))}, {"P": np.zeros((3, 3), dtype=[("x", "f8")])},
        {"P": np.zeros((3, 3), dtype="M8[s]")}, {"q": np.zeros(4)}, {"q": np.array([0, np.inf, 0])},
        {"A": np.array(None)}, {"A": np.ones((5, 3))}, {"b": np.array([0, np.nan])}, {"b": np.zeros(3)},
        {"G": np.ones((1, 3)), "h": np.ones(1)}, {"lb": np.zeros(3)}, {"more": np.zeros(3)},
    ],
    ids=lambda changes: ", ".join(f"{k} {np.shape(v)} {np.asarray(v).dtype}" for k, v in changes.items()),
)  # fmt: skip
def test_arrays_are_checked_like_any_other_input(
    changes: dict[str, Any], sequence: Path, assert_sentence: Callable[..., None]
) -> None:
    replace(sequence, archive((sequence / "00000.npz").read_bytes(), **changes))
    with pytest.raises(go.BadInput) as caught:
        read_sequence(sequence)
    assert_sentence(caught.value, "sequence")


def test_nothing_is_unpickled(sequence: Path, tmp_path: Path) -> None:
    class Runs:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "ran"),)

    for shape in ((), (3, 3)):
        planted = np.empty(shape, dtype=object)
        planted[...] = Runs()
        replace(sequence, archive((sequence / "00001.npz").read_bytes(), P=planted))
        with pytest.raises(go.BadInput):
            read_sequence(sequence)
    assert not (tmp_path / "ran").exists()


def npy(shape: tuple[int, ...], data: bytes = b"") -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return out.getvalue() + data


@pytest.mark.parametrize(
    "member",
    [
        npy((10**6, 10**6)), npy((-1, -1), bytes(8)), npy((2**63, 2**63)), npy((3,), bytes(25)), b"", b"\x93NUMPY",
        bytes(99),
    ],
    ids=["absurd", "negative", "overflow", "longer", "empty", "short", "zeros"],
)  # fmt: skip
def test_declared_shapes_are_what_is_there(member: bytes) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("P.npy", member)
    with pytest.raises(go.BadInput):
        arrays_of(out.getvalue(), ("P",))


def test_archives_that_swell_are_left() -> None:
    import gzip

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("P.npy", npy((10**4, 10**3), bytes(8 * 10**7)))
    with pytest.raises(go.BadInput, match="declare"):
        arrays_of(out.getvalue(), ("P",))
    with pytest.raises(go.BadInput, match="unpack to more"):
        gunzip(gzip.compress(bytes(FREE + 2**24)))


def test_a_complementarity_problem_is_one(exported: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(exported["lcp"], tmp_path / "sequence"))
    assert all(isinstance(p, go.LCP) for p in read_sequence(folder))
    good = json.loads((folder / "00000.json").read_text(encoding="utf-8"))
    step = {"kind": "step", "M": [[1.0]], "Q": [1.0]}
    for data in (step, {**good, "M": "x"}, [], {**good, "q": [*good["q"], 0.0]}, {**good, "q": None}, "\ud800"):
        replace(folder, json.dumps(data).encode())
        with pytest.raises(go.BadInput):
            read_sequence(folder)
