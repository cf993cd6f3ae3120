"""Files of other codes: read, told by their content, written, and refused by a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import contact_cases as known
import h5py
import numpy as np
import pytest

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.interchange.problem_reader import members

CLOSED = ("sphere-slips", "incline-oblique-slip", "slip-rotates")


def local_of(problem: object) -> go.ConeComplementarity:
    return problem.local if isinstance(problem, go.GlobalContacts) else problem


def command(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = run([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.skipif(not known.FOREIGN.is_dir(), reason="the files of other codes are not beside this checkout")
def test_files_of_other_codes_are_read_and_solved() -> None:
    references = json.loads((known.FOREIGN / "references.json").read_text())
    files = [f for f in members(known.FOREIGN) if f.name in references]
    assert len(files) == 26
    precise = 0
    for file in files:
        problem, reference = local_of(go.read_problem(file)), references[file.name]
        found = go.solve(problem, "hybrid")
        assert found.status is go.Status.SOLVED, (file.name, found.message)
        precise += found.certificate["residual"] <= 1e-12
        assert np.linalg.norm(problem.u(found.x) - reference["u"]) <= 1e-9 * np.linalg.norm(problem.q) or (
            reference.get("distinct_velocities", 2) > 1
        )
    assert precise >= 24


@pytest.mark.parametrize("form", ["contact", "contact-global"])
def test_fclib_round_trip_is_exact(form: str, tmp_path: Path) -> None:
    case = known.cases()["sphere-slips"]
    given = {**case["global"], "mu": case["mu"], "G": [[0.0]] * 5 + [[1.0]], "b": [-5.0]}
    problem = known.problem("sphere-slips") if form == "contact" else go.GlobalContacts.from_mapping(given)
    r = go.solve(local_of(problem), "hybrid").x
    file, again = tmp_path / "first.hdf5", tmp_path / "second.h5"
    go.write_fclib(file, problem, r)
    back = go.read_problem(file)
    assert type(back) is type(problem)
    for name in ("W", "q", "mu") if form == "contact" else ("M", "H", "f", "w", "mu", "G", "b"):
        assert np.array_equal(getattr(back, name), getattr(problem, name)), name
    go.write_fclib(str(again), back, go.solve(local_of(back), "hybrid").x)
    with h5py.File(file) as first, h5py.File(again) as second:
        root = "fclib_local" if form == "contact" else "fclib_global"
        assert first[f"{root}/spacedim"].shape == (1,)
        assert first[f"{root}/spacedim"].dtype == np.int32
        for name in ("r", "u"):
            assert np.array_equal(first[f"solution/{name}"][()], second[f"solution/{name}"][()])


def columns(A: np.ndarray) -> str:
    return " ".join(repr(float(x)) for x in A.T.ravel())


def blocks(A: np.ndarray) -> str:
    k = len(A) // 3
    ends = " ".join(str(3 * i + 3) for i in range(k))
    parts = [f"{i * k + j} {columns(A[3 * i : 3 * i + 3, 3 * j : 3 * j + 3])}" for i in range(k) for j in range(k)]
    begin = " ".join(str(i * k) for i in range(k + 1))
    places = " ".join(str(j) for _ in range(k) for j in range(k))
    return f"{k * k} {k} {k} {ends} {ends} {k + 1} {k * k} {begin} {places} {' '.join(parts)}"


def compressed(A: np.ndarray) -> str:
    n = len(A)
    lines = [f"0\nCXSparse Version 3.2.0, Sept 12, 2017.\n{n}-by-{n}, nzmax: {n * n} nnz: {n * n}, 1-norm: 3.1"]
    for j in range(n):
        lines.append(f"    col {j} : locations {n * j} to {n * j + n - 1}")
        lines += [f"      {i} : {float(A[i, j])!r}" for i in range(n)]
    return "\n".join(lines)


def listed(A: np.ndarray) -> str:
    n = len(A)
    entries = "\n".join(f"{i} {j} : {float(A[i, j])!r}" for i in range(n) for j in range(n))
    return f"2\nCXSparse Version 3.2.0\ntriplet: {n}-by-{n}, nzmax: {n * n} nnz: {n * n}\n{entries}"


@pytest.mark.parametrize("storage", ["dense", "blocks", "compressed", "listed"])
def test_every_storage_of_siconos_is_read(storage: str, tmp_path: Path) -> None:
    problem = known.problem("random-2-8-2")
    W, n = problem.W + np.triu(0.01 * problem.W, 1), problem.n
    body = {"dense": f"{n} {n} {columns(W)}", "blocks": blocks(W), "compressed": compressed(W), "listed": listed(W)}
    code = {"dense": 0, "blocks": 1}.get(storage, 2)
    q, mu = (" ".join(repr(float(x)) for x in v) for v in (problem.q, problem.mu))
    file = tmp_path / "named-wrongly.hdf5"
    file.write_text(f"3\n2\n{code}\n{n}\n{n}\n{body[storage]}\n{q}\n{mu}\n0\n")
    found = go.read_problem(file)
    assert isinstance(found, go.ConeComplementarity)
    assert np.array_equal(found.W, W)
    assert np.array_equal(found.q, problem.q)
    assert np.array_equal(found.mu, problem.mu)


def test_contactbench_orders_tangents_first(tmp_path: Path) -> None:
    problem = known.problem("slip-rotates")
    order = [1, 2, 0]
    np.savez(tmp_path / "x.npz", G=problem.W[np.ix_(order, order)], g=problem.q[order][:, None], mus=problem.mu)
    found = go.read_problem(tmp_path / "x.npz")
    assert isinstance(found, go.ConeComplementarity)
    assert np.array_equal(found.W, problem.W)
    assert np.array_equal(found.q, problem.q)


def test_mixed_rows_and_planar_contacts(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    A = rng.normal(size=(9, 9))
    K = A @ A.T
    with h5py.File(tmp_path / "mixed.hdf5", "w") as file:
        for name, B in (("W", K[:6, :6]), ("V", K[:6, 6:]), ("R", K[6:, 6:])):
            row, column = np.indices(B.shape).reshape(2, -1)
            for part, value in (("m", B.shape[0]), ("n", B.shape[1]), ("nz", B.size), ("nzmax", B.size)):
                file[f"fclib_local/{name}/{part}"] = np.array([value], dtype=np.int32)
            file[f"fclib_local/{name}/i"], file[f"fclib_local/{name}/p"] = row, column
            file[f"fclib_local/{name}/x"] = B.ravel()
        file["fclib_local/spacedim"] = np.array([2], dtype=np.int32)
        q, s = rng.normal(size=6), rng.normal(size=3)
        file["fclib_local/vectors/q"], file["fclib_local/vectors/s"] = q, s
        file["fclib_local/vectors/mu"] = np.full(3, 0.3)
    problem = local_of(go.read_problem(tmp_path / "mixed.hdf5"))
    found = go.solve(problem, "hybrid")
    assert found.status is go.Status.SOLVED
    r = found.x.reshape(3, 3)
    assert np.abs(r[:, 2]).max() <= 1e-15
    planar = r[:, :2].ravel()
    l = -np.linalg.solve(K[6:, 6:], K[6:, :6] @ planar + s)
    u = K[:6, :6] @ planar + K[:6, 6:] @ l + q
    assert np.abs(u - problem.u(found.x).reshape(3, 3)[:, :2].ravel()).max() <= 1e-12 * np.abs(q).max()


def test_solve_and_verify_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in CLOSED:
        go.write_fclib(tmp_path / f"{name}.dat", known.problem(name))
    one, out = tmp_path / "sphere-slips.dat", tmp_path / "answer.hdf5"
    code, text, _ = command(capsys, "solve", one, "--save", out, "--json")
    result = json.loads(text)
    assert (code, result["status"]) == (0, "solved")
    assert {"r", "u", "certificate"} <= result.keys()
    assert command(capsys, "verify", one, out, "--json")[0] == 0
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({"r": [1.001 * x for x in result["r"]]}))
    code, text, _ = command(capsys, "verify", one, wrong, "--json")
    assert (code, json.loads(text)["status"]) == (1, "inaccurate")
    wrong.unlink()
    code, text, _ = command(capsys, "solve", tmp_path, "--json")
    assert (code, json.loads(text)["counts"]) == (0, {"solved": 4})
    code, text, _ = command(capsys, "verify", one, one, "--json")
    assert code == 2
    assert "no solution" in json.loads(text)["message"]


GOOD = {"kind": "contact", "W": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "q": [-1, 1, 0], "mu": [0.5]}
BAD = {
    "negative mu": (json.dumps(GOOD | {"mu": [-0.5]}), "mu[0] is -0.5"),
    "W not square": (json.dumps(GOOD | {"W": [[1, 0], [0, 1], [0, 0]]}), "W has shape (3, 2)"),
    "rows of two contacts": (json.dumps(GOOD | {"mu": [0.5, 0.5]}), "mu has 2 entries"),
    "NaN": (json.dumps(GOOD | {"q": [float("nan"), 0, 0]}), "q[0]"),
    "beyond squares": (json.dumps(GOOD | {"q": [1e200, 0, 0]}), "other units"),
    "no mu": (json.dumps({k: v for k, v in GOOD.items() if k != "mu"}), "'mu'"),
    "cut text": ("3\n1\n0\n3\n3\n3\n3\n15\n-1", "ends within"),
    "text with a word": ("3\n1\n0\n3\n3\n3\n3\n1 0 0 0 x 0 0 0 1\n1 2 3\n0.1", "'x'"),
    "four rows": ("4\n1\n0\n4\n4\n4\n4\n", "4 rows"),
    "unknown storage": ("3\n1\n7\n3\n3\n3\n3\n", "storage 7"),
    "cut HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(40), "HDF5"),
    "no archive": (b"PK\x03\x04xxxx", "archive"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_by_a_sentence(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, culprit = BAD[name]
    file = tmp_path / "problem"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    code, text, _ = command(capsys, "solve", file, "--json")
    message = json.loads(text)["message"]
    assert code == 2
    assert culprit in message
    assert message.endswith(".")
    assert "\n" not in message


@pytest.mark.parametrize(("group", "culprit"), [("fclib_global_rolling", "rolling"), ("other", "none of FCLIB")])
def test_other_hdf5_is_refused_by_name(group: str, culprit: str, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        file.create_group(group)
    with pytest.raises(go.BadInput, match=culprit):
        go.read_problem(tmp_path / "x.hdf5")
