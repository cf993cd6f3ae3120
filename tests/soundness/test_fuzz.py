"""A sample of the campaign of `fuzz.py`: odd files and options end in sentences."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.storage import netcdf

pytestmark = pytest.mark.campaigns

NUMBERS = range(400)


@pytest.fixture(scope="module")
def fuzz() -> Any:
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        import fuzz

        return fuzz
    finally:
        del sys.path[0]


@pytest.fixture(scope="module")
def ready(fuzz: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What gaussopt wrote and the inputs spoil."""
    folder = tmp_path_factory.mktemp("fuzz") / "ready"
    fuzz.prepare(folder, compared=False)
    return folder


def test_odd_input_ends_in_sentences(fuzz: Any, ready: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "SECONDS", 600.0)  # what hangs is found on a busy machine too
    fuzz._warm()
    tally = fuzz.Tally()
    for batch in fuzz.campaign(1, NUMBERS, ready):
        for row in batch.rows:
            tally.add(row)
    assert tally.count == len(NUMBERS)
    assert tally.failures == []
    assert tally.slowest < fuzz.SECONDS
    assert tally.bytes < fuzz.BYTES


def test_an_input_follows_from_its_number(fuzz: Any, ready: Path) -> None:
    assert [fuzz.case_of(1, n, ready) for n in range(50)] == [fuzz.case_of(1, n, ready) for n in range(50)]


@pytest.mark.parametrize(
    ("code", "out", "err", "wrong"),
    [
        (0, "{}\n", "", ""),
        (2, '{"status": "bad_input"}\n', "gaussopt: So it is.\n", ""),
        (3, "{}\n", "gaussopt: So it is.\n", "exit code 3"),
        (1, "{}\n", "gaussopt: Unexpected KeyError: 'x'; this is a defect (x).\n", "Unexpected KeyError"),
        (1, "{}\n", 'Traceback (most recent call last):\n  File "x"\nKeyError\n', "Traceback"),
        (2, "{}\n", "", "without a sentence"),
        (0, "{}\n{}\n", "", "something else"),
        (0, '{"a": NaN}\n', "", "something else"),
        (0, "[]\n", "", "no object"),
    ],
)
def test_the_judge_sees_what_is_wrong(fuzz: Any, code: int, out: str, err: str, wrong: str) -> None:
    found = fuzz.judged(fuzz.Case("solve", ("solve", "--json")), code, out, err)
    assert wrong in found
    assert bool(found) == bool(wrong)


def test_what_dies_hangs_or_swallows_memory_is_noticed(fuzz: Any, ready: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs that kill their process cost themselves only."""

    def dies(path: Path) -> None:
        import os

        os.kill(os.getpid(), 9)

    def hangs(path: Path) -> None:
        while True:
            pass

    def swallows(path: Path) -> None:
        bytearray(3 << 30)

    monkeypatch.setattr(fuzz, "SECONDS", 3.0)
    monkeypatch.setattr(fuzz, "READERS", {"0": dies, "1": hangs, "2": swallows, "3": lambda path: None})
    monkeypatch.setattr(fuzz, "case_of", lambda seed, n, folder: fuzz.Case("x", (str(n % 4), "x"), {}, "reader"))
    tally = fuzz.Tally()
    for batch in fuzz.campaign(1, range(8), ready):
        for row in batch.rows:
            tally.add(row)
    assert tally.count == 8
    found = dict(tally.failures)
    assert [found.get(n, "") for n in range(3)] == [
        "the process died by SIGKILL",
        "took more than 3 s",
        "MemoryError: ",
    ]
    assert sorted(found) == [0, 1, 2, 4, 5, 6]


def test_the_campaign_goes_on_where_it_was_stopped(fuzz: Any, ready: Path, tmp_path: Path) -> None:
    first = fuzz._all(2, range(10), ready, tmp_path, 1)
    again = fuzz._all(2, range(20), ready, tmp_path, 1)
    assert first.count == 10
    assert again.count == 20
    assert len((tmp_path / "seed-2.jsonl").read_text(encoding="utf-8").splitlines()) == 20


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "lcp", "M": [[2.0, 0.0], [0.0, 3.0]], "q": [-1.0, -1.0]},
        {"kind": "qp", "P": [[1.0]], "q": [-1.0]},
        {"kind": "step", "M": [[1.0]], "Q": [1.0]},
    ],
    ids=["lcp", "qp", "step"],
)
def test_options_of_a_solver_may_be_called_as_our_own(
    given: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "given.json"
    file.write_text(json.dumps(given), encoding="utf-8")
    for word in ("tolerance=1e-10", "solver=x", "program=x", "formulation=x", "solver_options=x"):
        code = run(["solve", str(file), "--solver", "newton", "--solver-option", word, "--json"])
        shown = json.loads(capsys.readouterr().out)
        accepted = word.startswith("tolerance")
        assert code == (0 if accepted else 2), (word, shown)
        if not accepted:
            assert f"no option {word.partition('=')[0]!r}" in shown["message"]


def test_a_path_that_the_system_refuses_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "x" * 300, "--json"]) == 2
    shown = capsys.readouterr()
    assert "File name too long" in json.loads(shown.out)["message"]
    assert "write the result" not in shown.err


FAULTS = Path(__file__).parent / "faults"


def test_a_file_on_which_hdf5_never_returns_is_refused(monkeypatch: pytest.MonkeyPatch, assert_sentence: Any) -> None:
    monkeypatch.setattr(netcdf, "PATIENCE", 1.0)
    with pytest.raises(go.BadInput) as caught:
        go.Trajectory.load(FAULTS / "hdf5_never_returns.nc")
    assert_sentence(caught.value, "hdf5_never_returns.nc", "damaged", "takes more than")


def test_a_motion_with_names_too_many_is_none(tmp_path: Path, assert_sentence: Any) -> None:
    file = go.simulate("bouncing-ball", t_end=0.01, dt=0.005).save(tmp_path / "motion.nc")
    data = netcdf.load_dataset(file)
    data.attrs["meta"] = json.dumps(json.loads(data.attrs["meta"]) | {"coordinates": ["x", "y"]})
    netcdf.save_dataset(data, file)
    with pytest.raises(go.BadInput) as caught:
        go.Trajectory.load(file)
    assert_sentence(caught.value, "motion.nc", "names more or fewer")
