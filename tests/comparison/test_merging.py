"""Comparisons of several machines in one folder: nothing is lost, nothing is pooled, contradictions are named."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from comparison_records import FOUR_BAR, answers, motion, refused, times
from parquet_reader import read

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.comparison.changes import changes, sentences
from gaussopt.comparison.merging import conflicts, parts_of
from gaussopt.comparison.results import FILE, Results, write_results
from gaussopt.core.errors import BadInput
from gaussopt.reporting.sections.comparison import document
from gaussopt.reporting.sections.grouping import groups
from gaussopt.reporting.sections.speed import Speed
from gaussopt.reporting.write import write_report
from gaussopt.storage import netcdf
from gaussopt.storage.checksums import checksum

SLOW, FAST = (
    {"processor": name, "system": "Linux x86_64", "threads": "1", "versions": "gaussopt 0.1.0", "date": day}
    for name, day in (("Slow 1", "2026-01-02"), ("Fast 2", "2026-03-04"))
)
META: dict[str, Any] = {
    "sources": ["four-bar, A"], "formulations": ["gauss"], "solvers": ["kkt", "osqp"], "steppers": ["rk4"],
    "precision": [], "tolerance": 1e-7, "dt": None, "t_end": None, "time_budget": 0.1, "case_limit": 10.0,
    "problems": {}, "files": {}, "versions": {"gaussopt": "0.1.0"}, "code": {},
}  # fmt: skip


def made_on(made: dict[str, str], factor: float, verdicts: str = "cccc", **more: Any) -> Results:
    """A comparison of kkt and osqp on a machine, with a motion; times of 10 and 20 microseconds are multiplied."""
    asked = tuple(
        replace(answers(s, v, start="setup"), made=made, **more if s == "osqp" else {})
        for s, v in (("kkt", "cccc"), ("osqp", verdicts))
    )
    clock = tuple(
        replace(times(s, [x * factor] * 4, start="setup"), made=made) for s, x in (("kkt", 10e-6), ("osqp", 20e-6))
    )
    moved = (replace(motion("gauss", 10), made=made, trajectory="a.trajectory.nc"),)
    return Results(asked, clock, moved, {"answers | four-bar | gauss | daqp": "crashed: signal 11"}, META)


def stored(folder: Path, results: Results) -> Path:
    """The folder with the results in it, and their trajectory."""
    write_results(results, folder)
    (folder / "cases").mkdir()
    (folder / "cases" / "a.trajectory.nc").write_bytes(folder.name.encode())
    return folder


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    return stored(tmp_path / "laptop", made_on(SLOW, 7.0)), stored(tmp_path / "desktop", made_on(FAST, 1.0))


def text(results: Results) -> str:
    """Everything of results, so that NaN equals NaN."""
    return json.dumps(results.to_mapping(), sort_keys=True)


def test_nothing_is_lost_and_each_machine_can_be_taken_out_again(tmp_path: Path, two: tuple[Path, Path]) -> None:
    merged = go.merge_results(two, tmp_path / "both")
    assert text(Results.load(tmp_path / "both")) == text(merged)
    assert merged.meta["conflicts"] == []
    assert len(merged.answers) == len(merged.times) == 4
    for folder in two:
        part = parts_of(merged)[folder.name]
        assert text(part) == text(Results.load(folder))
        assert part.store is not None
        assert (part.store / part.motions[0].trajectory).read_bytes() == folder.name.encode()
    for name in ("summary", "steps", "times", "motions"):
        frame = merged.to_pandas()[name]
        processors = dict(zip(frame["machine"], frame["processor"], strict=True))
        assert processors == {"laptop": "Slow 1", "desktop": "Fast 2"}
        assert set(frame["date"]) == {"2026-01-02", "2026-03-04"}
        assert set(frame["threads"]) == {"1"}
        assert set(frame["versions"]) == {"gaussopt 0.1.0"}


def test_times_of_two_machines_are_in_no_mean_together(tmp_path: Path, two: tuple[Path, Path]) -> None:
    merged = go.merge_results(two, tmp_path / "both")
    found = {g.machine: Speed.of(g) for g in groups(merged)}
    assert set(found) == {"laptop", "desktop"}
    for folder in two:
        (alone,) = map(Speed.of, groups(Results.load(folder)))
        assert found[folder.name].means == alone.means
        assert found[folder.name].what == alone.what
    told = [str(f) for f in document(merged).findings]
    assert "Comparisons of 2 machines" in told[0]
    assert any(f.startswith("four-bar, on laptop: the fastest") for f in told)
    assert "machines" in {s.anchor for s in document(merged).sections}


def test_merged_folders_are_merged_and_what_is_there_twice_is_kept_once(tmp_path: Path, two: tuple[Path, Path]) -> None:
    go.merge_results(two, tmp_path / "both")
    third = stored(tmp_path / "server", made_on({**FAST, "processor": "Third 3"}, 2.0))
    told: list[str] = []
    again = go.merge_results([tmp_path / "both", two[1], third], tmp_path / "again", told.append)
    assert list(again.meta["machines"]) == ["laptop", "desktop", "server"]
    assert len(told) == 1
    assert "once more" in told[0]
    assert (tmp_path / "again" / "cases" / "server" / "a.trajectory.nc").is_file()
    for name, part in parts_of(again).items():
        assert text(part) == text(Results.load(tmp_path / name))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"verdicts": "cclf"}, "gauss by osqp, setup, on four-bar, A: other verdicts at 2 of 4 steps, first at step 2, "
         "solved (claimed solved) on laptop and inaccurate (claimed solved) on desktop."),
        ({"verdicts": "cc"}, "4 steps of size [] on laptop and 2 steps of size [] on desktop."),
        ({"size": [9, 8, 0]}, "4 steps of size [] on laptop and 4 steps of size [9, 8, 0] on desktop."),
        ({"failure": "crashed: {signal} 11."}, "ended early on desktop only (crashed: {signal} 11)."),
        ({"error": [1e-3, 1e-12, 1e-12, 1e-12]}, "confirmed answers that are 1.0e-03 apart"),
    ],
)  # fmt: skip
def test_contradictions_are_named_in_one_sentence_each(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    small: dict[str, Any] = {"error": [1e-12] * 4}
    change = small | change if change.get("verdicts") != "cc" else change
    one = stored(tmp_path / "laptop", made_on(SLOW, 1.0, **small))
    other = stored(tmp_path / "desktop", made_on(FAST, 1.0, **change))
    (said,) = go.merge_results([one, other], tmp_path / "both").meta["conflicts"]
    assert words in said
    assert said.count(".") == said.count(". ") + 1 or "1.0e-03" in said
    merged = replace(Results.load(tmp_path / "both"), times=())  # of which all figures are drawn
    assert said in "\n".join(str(i) for s in document(merged).sections
                             if s.anchor == "machines" for b in s.blocks for i in getattr(b, "items", ()))  # fmt: skip


def test_a_refusal_on_one_machine_only_is_named() -> None:
    here = made_on(FAST, 1.0)
    here = replace(here, answers=(here.answers[0], refused("osqp", start="setup")))
    (said,) = conflicts({"a": made_on(SLOW, 1.0), "b": here})
    assert said == "gauss by osqp, setup, on four-bar, A: refused on b only (it takes linear systems only)."


def test_the_same_machine_twice_and_other_problems_of_the_same_name_are_named(tmp_path: Path) -> None:
    first, then = made_on(SLOW, 1.0), made_on(SLOW, 1.5)
    first = replace(first, meta={**META, "problems": {"four-bar": {"parameters": {"l": 1.0}}}})
    then = replace(then, meta={**META, "problems": {"four-bar": {"parameters": {"l": 2.0}}}})
    other, same = conflicts({"a": first, "b": then})
    assert other.startswith("four-bar has other parameters or another start on b than on a")
    assert "a and b are the same machine with the same versions, and 2 cases" in same
    # Another day or another name does not make it another machine; other versions do.
    assert list(conflicts({"a": made_on(SLOW, 1.0), "b": made_on({**SLOW, "versions": "gaussopt 0.2.0"}, 1.0)})) == []
    assert len(list(conflicts({"a": made_on(SLOW, 1.0), "b": made_on({**SLOW, "date": "2027-01-01"}, 1.0)}))) == 1
    (unknown,) = conflicts({"a": made_on(SLOW, 1.0), "b": made_on({}, 1.0)})
    assert unknown == "Which machine it was is not on record for b."
    merged = go.merge_results([stored(tmp_path / "x" / "a", first), stored(tmp_path / "y" / "a", then)], tmp_path / "m")
    assert list(merged.meta["machines"]) == ["a", "a-2"]
    assert len(merged.times) == 4


def forged(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the contents of a file of results, and seal it again."""
    data = json.loads(gzip.decompress((folder / FILE).read_bytes()))
    change(data)
    data["checksum"] = checksum(data)
    (folder / FILE).write_bytes(gzip.compress(json.dumps(data).encode()))


def _unlisted(data: dict[str, Any]) -> None:
    data["answers"][0]["source"]["machine"] = "ghost"


def _outside(data: dict[str, Any]) -> None:
    data["meta"]["machines"] = {"../../x": META}
    for record in (*data["answers"], *data["times"]):
        record["source"]["machine"] = "../../x"
    data["motions"] = []


HOSTILE: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (_unlisted, "machines that it does not list"),
    (_outside, "each key a text of the form"),
    (lambda data: data["motions"][0].update(trajectory="../../../secret"), "inside the folder"),
    (lambda data: data["meta"].update(machines=[]), "machines of meta of the file is [], expected a mapping"),
    (lambda data: data["meta"].update(machines={"a": {"problems": 3}}), "problems of the machine a is 3, expected"),
    (lambda data: data["meta"].update(machines={"a": {"machines": {"b": {}}}}), "a is merged itself"),
    (lambda data: data["meta"].update(formulations=[1]), "formulations of meta of the file is [1], expected"),
    (lambda data: data["meta"].update(problems=[]), "problems of meta of the file is [], expected a mapping"),
    (lambda data: data["answers"][0].update(made={"date": 3}), "made of Answers"),
    (lambda data: data["meta"].update(tolerance=1e-3), "The tolerance of laptop is 1e-07, that of desktop 0.001"),
]


@pytest.mark.parametrize(("change", "words"), HOSTILE)
def test_a_hostile_store_is_refused_and_nothing_is_written(
    tmp_path: Path, two: tuple[Path, Path], capsys: pytest.CaptureFixture[str],
    change: Callable[[dict[str, Any]], None], words: str,
) -> None:  # fmt: skip
    forged(two[1], change)
    assert run(["merge", *map(str, two), "--out", str(tmp_path / "both")]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not (tmp_path / "both").exists()


def test_damaged_files_are_refused_and_missing_trajectories_told(
    tmp_path: Path, two: tuple[Path, Path], assert_sentence: Callable[..., None]
) -> None:
    content, seal = netcdf.image(made_on(SLOW, 1.0).to_pandas()["times"][["q50"]].to_xarray())
    file = two[1] / "cases" / "a.trajectory.nc"
    broken = bytearray(content)
    broken[len(broken) // 2] ^= 1
    file.write_bytes(bytes(broken) + seal)
    with pytest.raises(BadInput) as error:
        go.merge_results(two, tmp_path / "both")
    assert_sentence(error.value, "a.trajectory.nc", "checksum")
    file.write_bytes(bytes(content) + seal)
    (two[0] / "cases" / "a.trajectory.nc").unlink()
    told: list[str] = []
    merged = go.merge_results(two, tmp_path / "both", told.append)
    assert [m.trajectory for m in merged.motions] == ["", "desktop/a.trajectory.nc"]
    (sentence,) = told
    assert sentence == "Trajectories that are not in the folder of laptop, and not merged: 1."
    flipped = bytearray((two[0] / FILE).read_bytes())
    flipped[len(flipped) // 2] ^= 255
    (two[0] / FILE).write_bytes(flipped)
    with pytest.raises(BadInput) as error:
        go.merge_results(two, tmp_path / "other")
    assert_sentence(error.value, "damaged")
    assert not (tmp_path / "other").exists()


def test_what_cannot_be_merged(tmp_path: Path, two: tuple[Path, Path], assert_sentence: Callable[..., None]) -> None:
    for folders, out, word in (
        (two[:1], tmp_path / "a", "at least two"), (two, two[0], "is not empty"),
        ([*two, tmp_path], tmp_path / "a", "holds no"), ([*two, tmp_path / "nowhere"], tmp_path / "a", "holds no"),
    ):  # fmt: skip
        with pytest.raises(BadInput) as error:
            go.merge_results(folders, out)
        assert_sentence(error.value, word)
        assert not (tmp_path / "a").exists()


def test_a_later_comparison_is_held_against_that_of_its_own_machine(tmp_path: Path, two: tuple[Path, Path]) -> None:
    merged = go.merge_results(two, tmp_path / "both")
    new = made_on(FAST, 1.0)
    found = changes(merged, new)
    assert found.unlike == 0
    assert [p.factor for p in found.pairs] == pytest.approx([1.0, 1.0])
    assert {p.source for p in found.pairs} == {FOUR_BAR.label}
    elsewhere = changes(merged, made_on({**FAST, "processor": "Third 3"}, 9.0, "cclc"))
    assert elsewhere.unlike == 2
    assert {p.factor for p in elsewhere.pairs} == {None}
    assert [p.lost for p in elsewhere.pairs] == [0, 1]  # answers are compared all the same
    assert "Not compared are times that were taken on another machine than then: 2 pairs." in sentences(elsewhere)
    with pytest.raises(BadInput, match="merged of several"):
        changes(new, merged)


def test_times_of_a_cluster_of_unlike_machines_are_told_in_the_report() -> None:
    one = made_on(SLOW, 1.0)
    assert "machines" not in {s.anchor for s in document(replace(one, times=())).sections}
    mixed = replace(one, times=(one.times[0], replace(one.times[1], made=FAST)))
    (section,) = (s for s in document(mixed).sections if s.anchor == "machines")
    assert {row[1] for row in section.blocks[0].rows} == {"Slow 1", "Fast 2"}  # type: ignore[union-attr]


def test_the_commands_merge_report_and_compare_with_what_was_merged(
    running: None, compare: Callable[..., Results], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for solver, folder in (("osqp", "one"), ("daqp", "two")):
        compare("crank-slider", "gauss", ["kkt", solver], stride=100, t_end=0.01, time_budget=0.01, out=folder)
    assert run(["merge", "one", "two", "--out", "both", "--json"]) == 0
    said = capsys.readouterr()
    data = json.loads(said.out)
    assert data["machines"] == ["one", "two"]
    (twice,) = data["conflicts"]
    assert "one and two are the same machine" in twice
    assert twice in said.err
    merged = Results.load("both")
    assert {r.made["date"] for r in merged.times} == {r.made["date"] for r in Results.load("one").times}
    for m in merged.motions:
        assert go.Trajectory.load(tmp_path / "both" / "cases" / m.trajectory).status is go.Status.SOLVED
    page = (tmp_path / "both" / "index.html").read_bytes()
    assert run(["report", "both", "--json"]) == 0
    assert (tmp_path / "both" / "index.html").read_bytes() == page
    capsys.readouterr()
    assert run(["report", "one", "--out", "three", "--against", "both", "--json"]) == 0
    against = json.loads(capsys.readouterr().out)["against"]
    assert {p["solver"] for p in against["pairs"]} == {"kkt", "osqp"}
    assert {p["lost"] for p in against["pairs"]} == {0}
    assert against["unlike"] == 0
    assert all(np.isfinite(p["factor"]) for p in against["pairs"])
    # A merged folder is no store, and is not replaced.
    assert run(["compare", "crank-slider", "--solvers", "kkt", "--out", "both"]) == 2
    assert text(Results.load("both")) == text(merged)


def test_one_parquet_of_a_store_that_can_be_committed(two: tuple[Path, Path]) -> None:
    command = ["report", str(two[0]), "--parquet"]
    assert run(command) == 1  # a case has failed on this machine, and the report says so
    found = pd.DataFrame(read((two[0] / "tables" / "steps.parquet").read_bytes()))
    pd.testing.assert_frame_equal(found, Results.load(two[0]).to_pandas()["steps"], check_dtype=False)
    assert set(found["processor"]) == {"Slow 1"}
    assert set(found["versions"]) == {"gaussopt 0.1.0"}
    assert run([*command, "--out", str(two[0].parent / "elsewhere")]) == 1
    assert (two[0].parent / "elsewhere" / "tables" / "steps.parquet").is_file()


def test_names_of_machines_that_make_one_anchor_are_told_apart(tmp_path: Path) -> None:
    folders = [stored(tmp_path / name, made_on(SLOW | {"processor": name}, 1.0)) for name in ("a.b", "a-b", "A B")]
    merged = go.merge_results(folders, tmp_path / "m")
    assert len(merged.meta["machines"]) == 3
    found = groups(merged)
    assert len({g.anchor for g in found}) == len(found) == 3
    write_report(merged, tmp_path / "report")
