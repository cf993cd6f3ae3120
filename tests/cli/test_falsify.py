"""`gaussopt falsify` as a person or a script uses it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import gaussopt as go
from gaussopt.cli.main import run


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, the one JSON object on standard output, and standard error."""
    code = run(["falsify", *arguments, "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out), err


def test_json_holds_the_example_its_proof_and_what_was_searched(capsys: pytest.CaptureFixture[str]) -> None:
    code, data, err = call(capsys, "normal-force-qp", "lcp")
    assert (code, data["status"], data["found"], err) == (0, "solved", True, "")
    exact = data["example"]["exact"]
    assert [[float(Fraction(x)) for x in row] for row in exact["M"]] == data["example"]["M"]
    lines, numbers = data["proof"]["lines"], data["proof"]["numbers"]
    assert len(lines) == 3
    z, w = ([Fraction(x) for x in numbers["lcp"][name]] for name in ("z", "w"))
    assert w == [sum(Fraction(a) * x for a, x in zip(row, z, strict=True)) + Fraction(b)
                 for row, b in zip(exact["M"], exact["q"], strict=True)]  # fmt: skip
    assert data["tries"] == sum(row["tried"] for row in data["searched"]) > 0
    assert {"way", "size", "tried", "compared", "one has no answer", "largest"} == set(data["searched"][0])


def test_without_a_difference_the_search_is_told_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    code, data, _ = call(capsys, "gauss", "lagrange", "--tries", "400", "--seed", "3")
    assert (code, data["found"], data["example"], data["proof"]) == (0, False, None, None)
    assert (data["tries"], data["seed"], data["ended"]) == (400, 3, "the limit of 400 tries")
    assert sum(row["compared"] for row in data["searched"]) == 400
    assert 0 < max(row["largest"] for row in data["searched"]) < 1e-9
    assert "Gauss's principle of 1829" in data["equivalence"]


def test_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["falsify", "lcp", "lcp-qp", "--tries", "500"]) == 0
    out = capsys.readouterr().out
    assert "in 500 tries, of which both answered 500" in out
    assert "The search was ended by the limit of 500 tries, and claims nothing beyond these tries." in out
    assert "random draws, 1 contacts: 300 tried, 300 compared, largest relative difference" in out


def test_the_time_limit_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    code, data, _ = call(capsys, "lcp", "lcp-qp", "--seconds", "0.2")
    assert (code, data["found"], data["ended"]) == (0, False, "the time limit of 0.2 s")
    assert data["tries"] > 0


def test_files_are_written_and_taken_by_other_commands(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, data, _ = call(capsys, "newton", "poisson", "--out", "found")
    assert code == 0
    assert all((tmp_path / file).is_file() for file in data["files"])
    kept = json.loads((tmp_path / "found" / "falsify.json").read_text(encoding="utf-8"))
    assert {name: kept[name] for name in ("found", "example", "proof", "searched")} == {
        name: data[name] for name in ("found", "example", "proof", "searched")
    }
    step = go.StepData.from_mapping(data["example"])
    assert step.k == 1
    assert (tmp_path / "found" / "proof.txt").read_text(encoding="utf-8").splitlines() == data["proof"]["lines"]


def test_an_example_is_solved_by_the_command_for_steps(capsys: pytest.CaptureFixture[str]) -> None:
    code, data, _ = call(capsys, "least-squares-as-printed", "least-squares", "--out", "found")
    assert code == 0
    file = next(file for file in data["files"] if file.endswith(".step.json"))
    assert run(["solve", file, "--formulation", "least-squares", "--json"]) == 0
    a = json.loads(capsys.readouterr().out)["a"]
    proved = [float(Fraction(x)) for x in data["proof"]["numbers"]["least-squares"]["a"]]
    assert a == pytest.approx(proved, abs=1e-12)


def test_functions_of_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n\ndef halved(M, q):\n    return np.maximum(-q, 0) / M.diagonal() / 2\n", encoding="utf-8"
    )
    code, data, _ = call(capsys, "mine.py:halved", "lcp")
    assert (code, data["found"], data["a"]) == (0, True, "halved")
    code, data, err = call(capsys, "mine.py:doubled", "lcp")
    assert (code, data["status"]) == (2, "bad_input")
    assert "defines no function 'doubled'" in err


def test_limits_must_be_positive(capsys: pytest.CaptureFixture[str]) -> None:
    code, data, err = call(capsys, "lcp", "lcp-qp", "--tries", "0")
    assert (code, data["status"]) == (2, "bad_input")
    assert err == "gaussopt: tries is 0; the search needs a positive limit.\n"
