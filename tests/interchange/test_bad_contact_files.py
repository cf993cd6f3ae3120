"""What is wrong with files of contacts is told in one sentence; what only looks wrong is solved, and said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import contact_cases as known
import h5py
import numpy as np
import pytest

import gaussopt as go
from gaussopt.cli.main import run

EYE = np.eye(3)
LOCAL = {"kind": "contact", "W": EYE.tolist(), "q": [-1.0, 0.5, 0.0], "mu": [0.5]}
GLOBAL = {"kind": "contact-global", "M": EYE.tolist(), "H": EYE.tolist(), "f": [-1.0, 0.5, 0.0], "w": [0.0] * 3,
          "mu": [0.5]}  # fmt: skip
SKEWED = [[[1.0, 0.0, 0.0], [0.1, 1.0, 0.0], [0.0, 0.0, 1.0]]]
LEFT = [[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]]


def told(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, Any]]:
    code = run([*map(str, words), "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, found


def write(file: Path, data: dict[str, Any]) -> Path:
    file.write_text(json.dumps(data))
    return file


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    code, found = told(capsys, *words)
    message: str = found["message"]
    assert code == 2, message
    assert message.endswith(".")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("data", [LOCAL, GLOBAL], ids=["local", "global"])
def test_frames_must_be_orthonormal_and_right_handed(
    data: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = write(tmp_path / "good.json", data | {"frames": [EYE.tolist()]})
    assert told(capsys, "solve", good)[0] == 0
    for frames, culprit in ((SKEWED, "frames[0] is not orthonormal, by 0.1"), (LEFT, "frames[0] is left-handed")):
        assert culprit in refused(capsys, "solve", write(tmp_path / "bad.json", data | {"frames": frames}))
    assert "frames has shape" in refused(capsys, "solve", write(tmp_path / "bad.json", data | {"frames": SKEWED * 2}))


@pytest.mark.parametrize("form", ["json", "hdf5", "npz", "global"])
def test_the_order_of_rows_is_an_option(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right, file = known.problem("slip-rotates"), tmp_path / "x"
    k = right.k
    order = (3 * np.arange(k)[:, None] + [1, 2, 0]).ravel()
    wrong = go.ConeComplementarity(right.W[np.ix_(order, order)], right.q[order], right.mu)
    given = "tangents-first"
    if form == "json":
        write(file, wrong.to_mapping())
    elif form == "hdf5":
        go.write_fclib(file, wrong)
    elif form == "npz":  # whose own order is the other one
        given, file = "normal-first", tmp_path / "x.npz"
        np.savez(file, G=right.W, g=right.q, mus=right.mu)
    else:
        data = GLOBAL | {"H": EYE[:, [1, 2, 0]].tolist(), "w": [0.1, 0.2, 0.3]}
        found = go.read_problem(write(file, data), rows=given)
        assert isinstance(found, go.GlobalContacts)
        assert np.array_equal(found.H, EYE)
        assert found.w.tolist() == [0.3, 0.1, 0.2]
        return
    found = go.read_problem(file, rows=given)
    assert isinstance(found, go.ConeComplementarity)
    assert np.array_equal(found.W, right.W)
    assert np.array_equal(found.q, right.q)
    code, solved = told(capsys, "solve", file, "--rows", given)
    assert code == 0
    answer = write(tmp_path / "answer.json", {"r": solved["r"]})
    assert told(capsys, "verify", file, answer, "--rows", given)[0] == 0
    assert told(capsys, "verify", file, answer)[0] == 1
    assert "known; give normal-first" in refused(capsys, "solve", file, "--rows", "last")


def test_an_order_of_rows_that_makes_contacts_soluble_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A weight held between walls that close: read with the tangents as normals nothing keeps them apart."""
    W = np.diag([1.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    q = [0.5, 0.0, -0.1, 0.5, 0.0, -0.2]
    data = {"kind": "contact", "W": W[:, [2, 0, 1, 5, 3, 4]][[2, 0, 1, 5, 3, 4]].tolist(), "mu": [0.3, 0.3]}
    data["q"] = [q[i] for i in (2, 0, 1, 5, 3, 4)]
    code, found = told(capsys, "solve", write(tmp_path / "wrong.json", data))
    assert (code, found["status"]) == (1, "infeasible")
    assert "give --rows tangents-first." in found["message"]


def test_an_order_of_rows_is_for_contacts_in_space(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flat = tmp_path / "flat.dat"
    flat.write_text("2\n1\n0\n2\n2\n2 2 1 0 0 1\n-1 0.5\n0.5\n")
    assert told(capsys, "solve", flat)[0] == 0
    assert "lie in the plane" in refused(capsys, "solve", flat, "--rows", "tangents-first")
    lcp = write(tmp_path / "lcp.json", {"kind": "lcp", "M": [[1.0]], "q": [-1.0]})
    assert "no contacts in space" in refused(capsys, "solve", lcp, "--rows", "normal-first")


def test_a_nonsymmetric_operator_is_solved_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    W = EYE.copy()
    W[0, 1] = 0.1
    code, found = told(capsys, "solve", write(tmp_path / "x.json", LOCAL | {"W": W.tolist()}))
    assert code == 0
    assert "W differs from its transpose by 0.1" in found["message"]
    assert "transpose" not in told(capsys, "solve", write(tmp_path / "x.json", LOCAL))[1]["message"]


def test_no_contacts_are_solved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    none = {"W": [], "q": [], "mu": []}
    empty = go.ConeComplementarity.from_mapping(none)
    go.write_fclib(tmp_path / "x.hdf5", empty)
    (tmp_path / "x.dat").write_text("3\n0\n0\n0\n0\n0\n0\n")
    write(tmp_path / "x.json", LOCAL | none)
    for name in ("x.hdf5", "x.dat", "x.json"):
        code, found = told(capsys, "solve", tmp_path / name)
        assert (code, found["status"], found["r"]) == (0, "solved", [])


def test_damaged_and_foreign_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, cut = tmp_path / "whole.hdf5", tmp_path / "cut.hdf5"
    go.write_fclib(whole, known.problem("slip-rotates"))
    content = whole.read_bytes()
    for share in (0.02, 0.3, 0.9):
        cut.write_bytes(content[: int(share * len(content))])
        assert "no whole HDF5 file" in refused(capsys, "solve", cut)
    with h5py.File(whole, "a") as file:
        file["fclib_local/vectors/q"][0] = np.nan
    assert "vectors/q[0] is no finite number" in refused(capsys, "solve", whole)
    with h5py.File(whole, "a") as file:
        del file["fclib_local/vectors/q"]
    assert "it has no 'fclib_local/vectors/q'" in refused(capsys, "solve", whole)
    with h5py.File(tmp_path / "foreign.hdf5", "w") as file:
        file["temperature"] = np.ones(3)
    assert "none of FCLIB" in refused(capsys, "solve", tmp_path / "foreign.hdf5")
    np.savez(tmp_path / "x.npz", G=EYE * np.nan, g=np.ones(3), mus=np.ones(1))
    assert "is nan" in refused(capsys, "solve", tmp_path / "x.npz")


@pytest.mark.parametrize("data", [LOCAL, GLOBAL], ids=["local", "global"])
def test_friction_beyond_all_numbers_is_refused(
    data: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "mu[0] is 1e+300" in refused(capsys, "solve", write(tmp_path / "bad.json", data | {"mu": [1e300]}))
