"""What a few bytes declare is refused before memory is taken for it."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gaussopt as go
from gaussopt.core import files
from gaussopt.core.files import MOST_TEXT, read_bytes
from gaussopt.kinds.files import load

FAULTS = Path(__file__).parent / "faults"

TRIPLETS = {"shape": [1_000_000_000, 2], "row": [0], "column": [0], "value": [1.0]}
SMALL = {"shape": [2, 2], "row": [0, 1], "column": [0, 1], "value": [1.0, 1.0]}

QP = {"kind": "qp", "P": SMALL, "q": [0, 1], "l": [1], "u": [1]}


def within(megabytes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line with so much memory beyond what an import takes."""
    limit = (1500 + megabytes) * 2**20
    return subprocess.run(
        [sys.executable, "-m", "gaussopt", *arguments], capture_output=True, text=True, check=False, timeout=600,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip


def test_a_sparse_matrix_is_as_large_as_the_vectors_beside_it() -> None:
    done = within(500, "solve", str(FAULTS / "sparse_bomb.json"), "--json")
    assert done.returncode == 2
    assert "J has shape (1000000000, 2), expected (1, 2)" in json.loads(done.stdout)["message"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"kind": "step", "M": {**SMALL, "shape": [10**9, 10**9]}, "Q": [0, 1]}, r"M has shape .*, expected \(2, 2\)"),
        ({"kind": "step", "M": SMALL, "Q": [0, 1], "J": TRIPLETS, "gamma": 1.0}, "gamma has shape"),
        ({"kind": "qp", "P": {**SMALL, "shape": [2, 10**12]}, "q": [0, 1]}, "P has shape"),
        ({**QP, "A": TRIPLETS}, r"A has shape .* expected \(1, 2\)"),
        ({**QP, "A": {**TRIPLETS, "shape": [-1, 2]}}, "A has shape"),
        ({**QP, "A": {**TRIPLETS, "shape": [10**40]}}, "A has shape"),
    ],
)  # fmt: skip
def test_declared_shapes_are_compared_first(data: dict[str, Any], words: str, tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text(json.dumps(data))
    with pytest.raises(go.BadInput, match=words):
        load(tmp_path / "file.json")


def test_files_that_never_end_are_left(assert_sentence: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(go.BadInput) as caught:
        load("/dev/zero")
    assert_sentence(caught.value, "/dev/zero", f"{MOST_TEXT / 2**20:g} MiB")
    monkeypatch.setattr(files, "MOST_TEXT", 1000)
    with pytest.raises(go.BadInput):
        read_bytes("/dev/urandom")


def test_comparisons_read_no_device_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "endless.json").symlink_to("/dev/zero")
    done = within(1000, "compare", str(tmp_path / "endless.json"), "--out", str(tmp_path / "out"), "--json")
    assert done.returncode == 2
    assert "MiB" in json.loads(done.stdout)["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["atlas", "sliding-rod", "--axis", "mu=0:1:1000000000"],
        ["atlas", "sliding-rod", "--axis", "mu=0:1:1" + "0" * 5000],
        ["atlas", "sliding-rod", "--loads", "1000000000"],
        ["atlas", "sliding-rod", "--axis", "mu=0:1:100000", "--axis", "theta0=0:1:100000"],
        ["run", "four-bar", "--dt", "1e-300"],
        ["run", "four-bar", "--dt", "5e-324", "--t-end", "1e300"],
        ["run", "four-bar", "--dt", "1e-9", "--t-end", "0.9"],
        ["run", "four-bar", "--record-every", "1" + "0" * 5000],
        ["run", "four-bar", "--record-every", "0"],
        ["compare", "--family", "chain", "--dial", "links=1:1e300", "--out", "OUT"],
        ["compare", "four-bar", "--jobs", "1000000000", "--out", "OUT"],
        ["papers", "--jobs", "1000000000", "--out", "OUT"],
    ],
    ids=lambda arguments: " ".join(arguments)[:40],
)
def test_options_that_ask_for_too_much(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gaussopt.cli.main import run

    monkeypatch.chdir(tmp_path)
    code = run([a.replace("OUT", "out") for a in arguments] + ["--json"])
    printed = capsys.readouterr()
    assert code == 2, printed
    assert json.loads(printed.out)["status"] == "bad_input"
    assert "Traceback" not in printed.err
