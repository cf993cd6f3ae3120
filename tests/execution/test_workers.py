from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gaussopt.execution.store import Store
from gaussopt.execution.workers import run_jobs
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.processes.workers import Workers


def steps(guarded: ModuleType) -> list[Job]:
    """A step of the crank-slider by two solvers, and two failures among them."""
    found = [
        Job(s, guarded.step, {"tau": 0.7, "solver": s}, depends=(("solver", s), ("problem", "crank-slider")))
        for s in ("kkt", "osqp")
    ]
    return [*found, Job("crash", guarded.crash, weight=5.0), Job("error", guarded.complain, {"kind": "own"})]


def answers(outcomes: dict[str, JobOutcome]) -> str:
    """All but the seconds, to the last bit."""
    return repr([(key, o.value, o.failure, o.kind) for key, o in outcomes.items()])


@pytest.fixture(scope="module")
def expected(guarded: ModuleType) -> str:
    return answers(run_jobs(steps(guarded)))


def spawned() -> Executor:
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


def forked() -> Executor:
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork"))


@pytest.mark.parametrize("make", [spawned, forked, lambda: ThreadPoolExecutor(2)], ids=["spawn", "fork", "threads"])
def test_every_executor_gives_the_same_to_the_last_bit(
    make: Callable[[], Executor], guarded: ModuleType, expected: str
) -> None:
    with make() as executor:
        assert answers(run_jobs(steps(guarded), executor=executor)) == expected
        first = run_jobs(steps(guarded)[:1], executor=executor)  # it stays open
        assert expected.startswith(answers(first)[:-1])


def test_two_jobs_give_the_same_as_one(guarded: ModuleType, expected: str, tmp_path: Path) -> None:
    assert "crashed: the process died (SIGSEGV)" in expected
    assert "The mass is negative." in expected
    first, second = (run_jobs(steps(guarded), 2, store=Store(tmp_path)) for _ in range(2))
    assert repr(first) == repr(second)  # seconds as well
    first["kkt"].value["raw.bin"] = first["kkt"].value["raw.bin"].read_bytes()
    first["osqp"].value["raw.bin"] = first["osqp"].value["raw.bin"].read_bytes()
    assert answers(first) == expected


def test_outcomes_keep_the_order_and_progress_ends_at_one(guarded: ModuleType) -> None:
    progress: list[float] = []
    cases = [Job(f"{x}", guarded.double, {"x": float(x)}, weight=x) for x in (1.0, 3.0, 2.0)]
    outcomes = run_jobs(cases, 2, progress.append)
    assert [o.value for o in outcomes.values()] == [2.0, 6.0, 4.0]
    assert progress == sorted(progress)
    assert progress[-1] == pytest.approx(1.0)
    assert run_jobs([], 2) == {}


def test_long_cases_come_first(guarded: ModuleType, tmp_path: Path) -> None:
    cases = [Job(f"{i}", guarded.count, {"folder": str(tmp_path), "number": i}, weight=float(i)) for i in range(4)]
    run_jobs(cases)
    ages = {int(f.name): f.stat().st_mtime_ns for f in tmp_path.iterdir()}
    assert sorted(ages, key=lambda i: ages[i]) == [3, 2, 1, 0]


@pytest.mark.parametrize("make", [lambda: Workers(1), lambda: ThreadPoolExecutor(1)], ids=["workers", "threads"])
def test_cases_that_share_a_time_are_left_out_once_it_is_used_up(
    make: Callable[[], Executor], guarded: ModuleType, tmp_path: Path
) -> None:
    """The first of the slow ones sleeps for longer than all of them have; the others have no end of time."""
    cases = [
        Job(f"{name}{i}", guarded.sleep, {"seconds": seconds + i / 1000}, share=(name, 0.02 if name == "slow" else 1e9))
        for i in range(3)
        for name, seconds in (("slow", 0.1), ("other", 0.11))
    ]
    store = Store(tmp_path)
    with make() as executor:
        outcomes = run_jobs([*cases, Job("free", guarded.double, {"x": 1.0})], executor=executor, store=store)
    assert outcomes["slow0"].kind == ""
    assert {key for key, o in outcomes.items() if o.kind == "not_tried"} == {"slow1", "slow2"}
    assert outcomes["slow2"].failure == "not tried: the 0.02 s for slow were used up"
    assert outcomes["free"].value == 2.0
    assert store.get(cases[4]) is None  # so that another run with more time tries it
    assert store.get(cases[5]) is not None


def test_a_case_that_cannot_be_sent_is_lost_alone(guarded: ModuleType) -> None:
    cases = [Job("lambda", lambda: 1), Job("good", guarded.double, {"x": 1.0})]
    outcomes = run_jobs(cases)
    assert outcomes["lambda"].kind == "lost"
    assert "cannot be sent" in outcomes["lambda"].failure
    assert outcomes["good"].value == 2.0


class Failing(Executor):
    """Runs what it is given, but breaks on the way: every second case is refused, abandoned or ends in an error."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.number = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.number += 1
        future: Future[Any] = Future()
        if self.number % 2:
            future.set_result(fn(*args, **kwargs))
        elif self.how == "refused":
            raise RuntimeError("the pool is broken")
        elif self.how == "abandoned":
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_exception(OSError("the worker is gone"))
        return future


@pytest.mark.parametrize("how", ["refused", "abandoned", "error"])
def test_an_executor_that_breaks_costs_the_cases_under_way(how: str, guarded: ModuleType, tmp_path: Path) -> None:
    cases = [Job(f"{x}", guarded.double, {"x": float(x)}) for x in range(4)]
    runs = Store(tmp_path)
    outcomes = run_jobs(cases, executor=Failing(how), store=runs)
    assert [o.value for o in outcomes.values()] == [0.0, None, 4.0, None]
    assert all("the executor did not run the case" in outcomes[k].failure for k in ("1", "3"))
    again = run_jobs(cases, store=runs)
    assert [o.value for o in again.values()] == [0.0, 2.0, 4.0, 6.0]


def test_workers_that_are_killed_cost_no_finished_case(guarded: ModuleType) -> None:
    cases = [Job(f"{x}", guarded.double, {"x": float(x)}) for x in range(3)]
    cases.append(Job("long", guarded.sleep, {"seconds": 60.0}, weight=0.1))
    with spawned() as executor:

        def kill(fraction: float) -> None:
            if fraction > 0.9:
                for child in multiprocessing.active_children():
                    child.kill()

        outcomes = run_jobs(cases, executor=executor, progress=kill)
    assert [o.value for o in outcomes.values()] == [0.0, 2.0, 4.0, None]
    assert outcomes["long"].kind == "lost"
    assert "BrokenProcessPool" in outcomes["long"].failure


def test_an_interrupt_ends_all_processes_and_keeps_what_had_finished(
    guarded: ModuleType, tmp_path: Path, interruptible: None
) -> None:
    told = tmp_path / "pid"
    cases = [Job("where", guarded.process, weight=2.0), Job("long", guarded.linger, {"file": str(told)})]

    def interrupt() -> None:
        while not (told.exists() and finished.is_set()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    finished = threading.Event()
    threading.Thread(target=interrupt, daemon=True).start()
    runs = Store(tmp_path / "runs")
    with pytest.raises(KeyboardInterrupt):
        run_jobs(cases, 2, lambda fraction: finished.set(), store=runs)
    kept = runs.get(cases[0])
    assert kept is not None
    assert not _alive(kept.value["pid"])
    assert not _alive(int(told.read_text()))
    assert runs.get(cases[1]) is None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_ctrl_c_on_the_terminal_leaves_one_traceback_and_no_process(
    guarded: ModuleType, tmp_path: Path, interruptible: None
) -> None:
    run = subprocess.Popen(
        [sys.executable, guarded.__file__, str(tmp_path / "runs"), str(tmp_path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while not list((tmp_path / "runs" / "cases").glob("*.json")):
        assert run.poll() is None
    os.killpg(run.pid, signal.SIGINT)
    out, err = run.communicate()
    assert run.returncode != 0
    assert out == ""
    assert err.count("Traceback") == 1
    assert err.rstrip().endswith("KeyboardInterrupt")


def test_workers_stay_from_batch_to_batch_and_end_with_their_block(guarded: ModuleType) -> None:
    with Workers(1) as workers:
        first, second = (
            run_jobs([Job(name, guarded.pause_and_tell)], executor=workers)[name].value for name in ("a", "b")
        )
    assert first["pid"] == second["pid"]
    assert not Path(f"/proc/{first['pid']}").exists()


def test_workers_start_before_there_is_a_case_and_outlive_a_preparation_that_fails(guarded: ModuleType) -> None:
    with Workers(2) as workers:
        workers.prepare(guarded.pause_and_tell)
        assert run_jobs([Job("a", guarded.double, {"x": 1.0})], executor=workers)["a"].value == 2.0
        workers.prepare(guarded.crash)
        found = run_jobs([Job(str(x), guarded.double, {"x": x}) for x in (2.0, 3.0)], executor=workers)
    assert [o.value for o in found.values()] == [4.0, 6.0]
