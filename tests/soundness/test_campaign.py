"""A few thousand random trials: nothing wrong is called solved, nothing crashes, exact methods solve what they can."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from soundness.judge import bilateral
from soundness.trials import calls, findings, page, pool, work
from soundness.trials.findings import CRASHED, RIGHT, WRONG, Claim, Finding

pytestmark = pytest.mark.campaigns

SCRIPT = Path(__file__).parent / "campaign.py"
PROGRAMS = 240
"""Programs tried here, some ten trials each."""


@pytest.fixture(scope="module")
def tally():
    found = work.Tally()
    for index in range(PROGRAMS):
        work.one_program(7, index, set(), lambda index, name: None, found)
    return found


@pytest.fixture(scope="module")
def counts(tally):
    return page.rows_of([tally.mapping()])


def test_nothing_wrong_is_called_solved(tally):
    told = [
        f"{f['kind']} {f['index']} {f['formulation']} {f['solver']}: {f['cause']}"
        for f in tally.faults
        if f["outcome"] == WRONG
    ]
    assert not told


def test_nothing_crashes(tally):
    assert not [f"{f['solver']}: {f['cause']}" for f in tally.faults if f["outcome"] == CRASHED]


def test_exact_methods_solve_what_is_well_conditioned(counts):
    trials, refused, causes = page.refusals(counts)
    assert trials > 350
    assert refused <= max(1, trials // 1000), causes


def test_the_trials_are_many_and_of_all_kinds(tally, counts):
    trials = pool.trials_of(tally.counts)
    assert trials > 1500
    by_kind = Counter()
    for key, n in counts.items():
        if key[4] == RIGHT:
            by_kind[key[0]] += n
    assert all(by_kind[kind] > 40 for kind in work.KINDS)
    lies = sum(n for key, n in counts.items() if key[2] == "verify")
    assert lies > 150


def test_programs_follow_from_the_seed():
    first, again = (work.program_at(3, 17)[0] for _ in range(2))
    assert first == again
    assert work.program_at(4, 17)[0].data != first.data
    json.dumps(first.data)


def test_every_family_makes_programs_that_are_read_and_judged():
    rng = np.random.default_rng(2)
    for kind, (_, table) in work.KINDS.items():
        for family, (_, make) in table.items():
            data = work.plain(make(rng)) if kind != "qp" else work.arrays(make(rng))
            program = work.Program(kind, family, data, 0)
            truth, _ = work.judged(program)
            assert truth.verdict in ("solved", *findings.VERDICTS)
            calls.subject("step" if kind.endswith("step") else kind, data)


def test_a_solver_that_lies_is_found_out(monkeypatch):
    """The campaign itself: were the certificates to pass everything, it would say so."""

    def liar(kind, thing, data, formulation, solver):
        return Claim(
            "solved", [1.0] * (thing.n if hasattr(thing, "n") else len(thing.q)), error_bound=0.0, forces_unique=True
        )

    monkeypatch.setattr(calls, "answer", liar)
    monkeypatch.setattr(work, "LYING", 0.0)
    found = work.Tally()
    for index in range(20):
        work.one_program(5, index, set(), lambda index, name: None, found)
    outcomes = Counter(key.split("|")[4] for key in found.counts.elements())
    assert outcomes[WRONG] > 0.8 * sum(outcomes.values())


def test_a_border_is_no_excuse_far_from_it():
    truth = bilateral.judge({"M": [[1.0]], "Q": [0.0], "J": [[1.0], [1.0]], "gamma": [1e-10, 3e-10]})
    assert findings.of_step(truth, Claim("solved", [2e-10], error_bound=0.0)) == Finding(
        WRONG, "solved, but infeasible", 0.5
    )


def campaign(folder, count):
    command = [sys.executable, str(SCRIPT), "--count", str(count), "--block", "2", "--out", str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True)


def test_a_killed_campaign_goes_on_where_it_was(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "campaign"
    running = campaign(folder, 10**6)
    deadline = time.monotonic() + 600
    while len(list((folder / "blocks").glob("*.json"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    before = {path.name: path.read_bytes() for path in (folder / "blocks").glob("*.json")}
    trials = sum(pool.trials_of(json.loads(text)["counts"]) for text in before.values())
    again = campaign(folder, trials + 10)
    printed, _ = again.communicate(timeout=600)
    assert page.BEGIN in printed
    after = {path.name: path.read_bytes() for path in (folder / "blocks").glob("*.json")}
    assert len(after) > len(before)
    assert all(after[name] == text for name, text in before.items())
    settings = json.loads((folder / "campaign.json").read_text())
    (folder / "campaign.json").write_text(json.dumps({**settings, "code": "other"}))
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))  # which the script extends
    from soundness.campaign import main

    assert main(["--count", "10", "--block", "2", "--out", str(folder)]) == 2
    assert "other source code" in capsys.readouterr().err


def test_time_in_which_nothing_runs_is_nobodys(tmp_path):
    class Still(pool.Worker):
        def __init__(self, path):
            self.now, self.seen, self.waited = str(path), "", 0.0

    path = tmp_path / "now"
    path.write_text("7 gauss/kkt")
    worker = Still(path)
    assert not worker.stuck(2.0)
    assert not any(worker.stuck(2.0) for _ in range(int(pool.PATIENCE / 2)))
    assert worker.stuck(2.0)
    path.write_text("7 dual/kkt")
    assert not worker.stuck(2.0)


def test_a_solver_that_ends_its_process_is_counted(tmp_path, monkeypatch):
    result = work.Tally().mapping()
    lost = pool.with_lost(result, [(3, "gauss/kkt", "the process ended")], 1)
    assert sum(lost["counts"].values()) == 1
    assert lost["faults"][0]["outcome"] == CRASHED
    assert lost["faults"][0]["program"]


def test_the_summary_stands_between_its_markers(tmp_path, tally):
    text = page.summary(page.rows_of([tally.mapping()]), {"seed": 7}, 3.0)
    file = tmp_path / "page.md"
    file.write_text(f"# Title\n\n{page.BEGIN}\nold\n{page.END}\n\nafter\n")
    page.insert(file, text)
    page.insert(file, text)
    found = file.read_text()
    assert found.startswith("# Title\n")
    assert found.endswith("\n\nafter\n")
    assert "old" not in found
    assert found.count(page.BEGIN) == 1
    assert "| qp |" in found


def test_faults_are_kept_smallest_first(tmp_path):
    program = work.program_at(1, 0)[0]
    found = work.Tally()
    for _ in range(5):
        found.add(program, "gauss", "kkt", Finding(WRONG, "solved, but infeasible"), None, False)
    faults = page.faults_of([found.mapping()])
    assert page.write_faults(tmp_path, faults) == work.KEPT
    files = list((tmp_path / "faults").rglob("*.json"))
    assert files
    assert json.loads(files[0].read_text())["cause"] == "solved, but infeasible"
