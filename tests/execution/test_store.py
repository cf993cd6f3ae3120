from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.core import registry
from gaussopt.execution import store
from gaussopt.execution.store import Store, identity_of
from gaussopt.execution.workers import run_jobs
from gaussopt.processes import environment
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.storage.checksums import checksum


@pytest.fixture
def case(guarded: ModuleType) -> Job:
    return Job("a step", guarded.step, {"tau": 0.5, "solver": "kkt"}, depends=(("solver", "kkt"),))


DONE = JobOutcome({"a": [1.0, 0.1 + 0.2, 5e-324, -0.0], "inf": float("inf"), "raw.bin": b"\x00\xff"}, "", 1.5)


def test_an_outcome_comes_back_bit_for_bit(tmp_path: Path, case: Job) -> None:
    kept = Store(tmp_path / "runs").put(case, DONE)
    again = Store(tmp_path / "runs").get(case)
    assert again == kept
    assert again is not None
    value = dict(again.value)
    assert value.pop("raw.bin").read_bytes() == b"\x00\xff"
    assert repr(value) == repr({k: v for k, v in DONE.value.items() if k != "raw.bin"})
    assert replace(again, value=None) == replace(DONE, value=None)
    assert Store(tmp_path / "runs").get(replace(case, arguments={"tau": 0.6, "solver": "kkt"})) is None


PLAIN = JobOutcome({"pair": [1, 2], "3": None}, "", 0.0)
FAILED = [JobOutcome(None, "why", 0.1, kind) for kind in ("error", "crashed", "time_limit")]


@pytest.mark.parametrize(
    ("given", "read"), [(JobOutcome({"pair": (1, 2), 3: None}, "", 0.0), PLAIN), *zip(FAILED, FAILED, strict=True)]
)
def test_what_is_kept_is_what_will_be_read(given: JobOutcome, read: JobOutcome, tmp_path: Path, case: Job) -> None:
    assert Store(tmp_path).put(case, given) == Store(tmp_path).get(case) == read


def test_only_a_failure_at_the_limit_depends_on_the_limit(tmp_path: Path, case: Job) -> None:
    runs = Store(tmp_path)
    late = JobOutcome(None, "time limit: no answer within 2 s", 2.0, "time_limit")
    runs.put(replace(case, limit=2.0), late)
    assert runs.get(replace(case, limit=2.0)) == runs.get(replace(case, limit=1.0)) == late
    assert runs.get(replace(case, limit=3.0)) is None
    done = JobOutcome([1], "", 2.5)
    runs.put(replace(case, limit=3.0), done)
    assert runs.get(replace(case, limit=60.0)) == runs.get(case) == done


def test_the_first_of_two_outcomes_stays(tmp_path: Path, case: Job) -> None:
    first, second = Store(tmp_path), Store(tmp_path)
    assert first.put(case, JobOutcome(1, "", 1.0)) == second.put(case, JobOutcome(1, "", 2.0)) == JobOutcome(1, "", 1.0)


def test_every_ingredient_changes_the_key(
    case: Job, guarded: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key(changed: Job = case) -> str:
        environment.refresh()
        return checksum(identity_of(changed))

    plain = key()
    assert key(replace(case, key="another label", weight=3.0, limit=5.0)) == plain
    keys = [plain]
    keys.append(key(replace(case, function=guarded.double)))
    keys.append(key(replace(case, arguments={"tau": 0.5, "solver": "kkt", "options": {"eps": 1e-3}})))
    keys.append(key(replace(case, arguments={"tau": 0.5, "solver": "kkt", "options": {"eps": 1e-4}})))
    keys += [key(replace(case, depends=(d,))) for d in (("solver", "osqp"), ("problem", "box"), ("stepper", "rk4"))]
    for target, name, value in (
        (environment.platform, "python_version", lambda: "3.99.0"),
        (environment, "__version__", "9.9"), (environment, "core_digest", lambda: "0"), (store, "FORMAT", 2),
    ):  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setattr(target, name, value)
            if name == "core_digest":
                patch.setattr(value, "cache_clear", lambda: None, raising=False)
            keys.append(key())
    assert len(set(keys)) == len(keys)
    assert key() == plain


def test_a_solver_s_source_and_package_change_the_keys_of_its_own_cases(
    case: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = replace(case, depends=(("formulation", "gauss"), ("solver", "proxqp")))

    def keys() -> tuple[str, str]:
        environment.refresh()
        return checksum(identity_of(case)), checksum(identity_of(mine))

    plain = keys()
    version, read = environment.metadata.version, registry.sources
    with monkeypatch.context() as patch:
        patch.setattr(environment.metadata, "version", lambda p: "0.0.1" if p == "proxsuite" else version(p))
        other_package = keys()
    with monkeypatch.context() as patch:
        changed = {"proxqp.py": b"edited"}
        patch.setattr(registry, "sources", lambda k, n: read(k, n) | (changed if n == "proxqp" else {}))
        other_source = keys()
    assert other_package[0] == other_source[0] == plain[0]
    assert len({plain[1], other_package[1], other_source[1]}) == 3


def test_the_identity_is_readable(case: Job, tmp_path: Path) -> None:
    runs = Store(tmp_path)
    case = replace(case, depends=(*case.depends, ("solver", "cvxpy:CLARABEL")))
    runs.put(case, DONE)
    data = json.loads(runs.path(case).read_text())
    assert data["case"] == "a step"
    found = data["identity"]
    assert found["function"] == "guarded.step"
    assert found["arguments"] == case.arguments
    assert found["packages"]["numpy"] == np.__version__
    assert {"cvxpy", "clarabel"} <= set(found["packages"])  # of the variant too
    assert {"core", "solver kkt"} <= set(found["code"])


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _edit(path: Path) -> None:
    path.write_text(path.read_text().replace("0.30000000000000004", "0.3"))


def _other_format(path: Path) -> None:
    path.write_text(path.read_text().replace('"format": 1', '"format": 7', 1))


def _other_case(path: Path) -> None:
    record = json.loads(path.read_text())
    record["identity"]["arguments"] = {}
    path.write_text(json.dumps({**record, "checksum": checksum(record)}))


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut": (_cut, "not JSON"),
    "empty": (lambda p: p.write_bytes(b"") and None, "not JSON"),
    "noise": (lambda p: p.write_bytes(b"\xff\x00" * 40) and None, "not JSON"),
    "edited": (_edit, "checksum"),
    "list": (lambda p: p.write_text("[1]") and None, "no object"),
    "object": (lambda p: p.write_text('{"checksum": 1}') and None, "has format None"),
    "format": (_other_format, "format 7"),
    "another": (_other_case, "another case"),
    "no attachment": (lambda p: p.with_suffix(".raw.bin").unlink(), "raw.bin is missing"),
    "other attachment": (lambda p: p.with_suffix(".raw.bin").write_bytes(b"x") and None, "checksum of its raw.bin"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named_and_set_aside_and_the_case_is_run_again(
    damage: str, tmp_path: Path, case: Job
) -> None:
    notes: list[str] = []
    runs = Store(tmp_path, notes.append)
    runs.put(case, DONE)
    spoil, reason = DAMAGES[damage]
    spoil(runs.path(case))
    assert runs.get(case) is None
    assert len(notes) == 1
    assert reason in notes[0]
    assert str(runs.path(case)) in notes[0]
    assert "\n" not in notes[0]
    assert (tmp_path / "set-aside" / runs.path(case).name).exists()
    assert not runs.path(case).exists()
    kept = runs.put(case, DONE)
    assert runs.get(case) == kept
    assert len(notes) == 1


def test_opening_tidies_what_killed_runs_left_and_sets_foreign_files_aside(tmp_path: Path, case: Job) -> None:
    runs = Store(tmp_path)
    runs.put(case, DONE)
    kept = {f.name for f in (tmp_path / "cases").iterdir()}
    (tmp_path / "tmpabc.tmp").write_text("half")
    (tmp_path / "cases" / "tmpdef.tmp").write_text("half")
    (tmp_path / "cases" / f"{'0' * 64}.raw.bin").write_text("an attachment without its case")
    (tmp_path / "cases" / "notes.txt").write_text("mine")
    other = Store(tmp_path)  # while another process is there, nothing is touched
    assert (tmp_path / "cases" / "tmpdef.tmp").exists()
    del runs, other
    notes: list[str] = []
    Store(tmp_path, notes.append)
    assert {f.name for f in (tmp_path / "cases").iterdir()} == kept
    assert not list(tmp_path.glob("*.tmp"))
    assert (tmp_path / "set-aside" / "notes.txt").read_text() == "mine"
    assert len(notes) == 1
    assert "notes.txt" in notes[0]


@pytest.mark.parametrize(
    ("content", "culprits"),
    [
        ('{"kind": "gaussopt store", "format": 2, "written_by": "gaussopt 9.9"}', ("gaussopt 9.9", "format 2")),
        ('{"kind": "grocery list", "format": 1, "written_by": "me"}', ("another folder",)),
        ('{"some": "JSON"}', ("damaged or not gaussopt's",)),
        ("[]", ("damaged or not gaussopt's",)),
        ('{"kind": "gau', ("damaged or not gaussopt's",)),
    ],
)
def test_another_store_is_refused(
    content: str, culprits: tuple[str, ...], tmp_path: Path, assert_sentence: Callable[..., None]
) -> None:
    (tmp_path / "store.json").write_text(content)
    with pytest.raises(go.BadInput) as caught:
        Store(tmp_path)
    assert_sentence(caught.value, str(tmp_path), *culprits)


def test_a_folder_of_other_things_is_refused_and_one_without_its_head_is_taken(
    tmp_path: Path, assert_sentence: Callable[..., None]
) -> None:
    (tmp_path / "tmp1.tmp").write_text("killed while the store was made")
    Store(tmp_path)
    (tmp_path / "store.json").unlink()
    Store(tmp_path)
    (tmp_path / "store.json").unlink()
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(go.BadInput) as caught:
        Store(tmp_path)
    assert_sentence(caught.value, "thesis.tex")


def test_what_is_no_json_is_refused(tmp_path: Path, case: Job, assert_sentence: Callable[..., None]) -> None:
    runs = Store(tmp_path)
    for value in (np.zeros(2), {"a": np.zeros(2)}, {"../up": b""}, {"json": b""}):
        with pytest.raises(go.BadInput) as caught:
            runs.put(case, JobOutcome(value, "", 0.0))
        assert_sentence(caught.value, "a step")
    with pytest.raises(go.BadInput) as caught:
        runs.get(replace(case, arguments={"a": np.zeros(2)}))
    assert_sentence(caught.value, "a step", "arguments")


def test_cases_of_other_settings_are_counted(tmp_path: Path, case: Job) -> None:
    runs = Store(tmp_path)
    others = [replace(case, arguments={"i": i}) for i in range(3)]
    for c in (case, *others):
        runs.put(c, DONE)
    assert runs.stale([case]) == 3
    assert runs.stale([case, *others]) == 0


def test_two_writers_do_each_other_no_harm(tmp_path: Path, case: Job) -> None:
    cases = [replace(case, arguments={"i": i}) for i in range(30)]
    notes: list[str] = []
    results: list[list[Any]] = [[], []]

    def write(k: int) -> None:
        runs = Store(tmp_path, notes.append)
        for c in cases if k else reversed(cases):
            results[k].append(runs.put(c, JobOutcome({"i": k, "raw.bin": bytes([k]) * 1000}, "", float(k))))
            assert runs.get(c) is not None

    threads = [threading.Thread(target=write, args=(k,)) for k in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[0][::-1] == results[1]
    assert notes == []
    assert not (tmp_path / "set-aside").exists()


def test_a_store_may_be_opened_by_many_at_once(tmp_path: Path) -> None:
    """Whoever comes first makes it; nobody takes the making of another for leftovers or for somebody's files."""
    heard: list[str] = []

    def open_it(folder: Path) -> None:
        try:
            Store(folder, heard.append)
        except go.BadInput as error:
            heard.append(str(error))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # the threads change places as often as processes do
    try:
        for n in range(60):
            threads = [threading.Thread(target=open_it, args=(tmp_path / f"{n}",)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert heard == []


def test_a_finished_case_is_not_run_again_and_a_lost_one_is_not_kept(tmp_path: Path, guarded: ModuleType) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    cases = [Job(f"{i}", guarded.count, {"folder": str(marks), "number": i}) for i in range(3)]
    progress: list[float] = []
    first = run_jobs(cases[:2], store=Store(tmp_path / "runs"))
    second = run_jobs(cases, 2, progress.append, store=Store(tmp_path / "runs"))
    assert {k: second[k] for k in first} == first  # the seconds too
    assert [o.value for o in second.values()] == [0, 1, 2]
    assert [f.read_text() for f in sorted(marks.iterdir())] == ["x"] * 3
    assert progress == pytest.approx([1 / 3, 2 / 3, 1.0])
    killed, runs = Job("killed", guarded.kill_oneself), Store(tmp_path / "runs")
    assert run_jobs([killed], store=runs)["killed"].kind == "lost"
    assert runs.get(killed) is None


def test_a_killed_run_repeats_no_case_that_it_kept(tmp_path: Path, guarded: ModuleType) -> None:
    marks, cases = tmp_path / "marks", tmp_path / "runs" / "cases"
    marks.mkdir()
    command = [sys.executable, guarded.__file__, str(tmp_path / "runs"), str(marks)]
    times: dict[str, int] = {}  # how often each case had run when it was first seen in the store
    for _ in range(2):
        before = len(list(cases.glob("*.json")))
        run = subprocess.Popen(command)
        while len(list(cases.glob("*.json"))) < before + 4:
            assert run.poll() is None
            time.sleep(0.01)
        run.kill()
        run.wait()
        for file in cases.glob("*.json"):
            number = json.loads(file.read_text())["case"]
            times.setdefault(number, len((marks / number).read_text()))
    assert 8 <= len(times) <= 20
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{list(range(20))}\n"
    assert done.stderr == ""
    assert len(list(marks.iterdir())) == 20
    assert {number: len((marks / number).read_text()) for number in times} == times
    assert len(list((tmp_path / "runs" / "cases").iterdir())) == 20
