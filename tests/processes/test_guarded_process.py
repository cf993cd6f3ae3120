from __future__ import annotations

import importlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import psutil
import pytest

import gaussopt as go
from gaussopt.processes import guarded_process as guards
from gaussopt.processes.child_process import Order
from gaussopt.processes.guarded_process import Guard, run_order
from gaussopt.processes.job import Job


@pytest.fixture(scope="module")
def guard(guarded: ModuleType) -> Iterator[Guard]:
    with closing(Guard()) as guard:
        yield guard


def gone(pid: int) -> bool:
    """Whether a process has ended, waited for a little; one of ours that nobody has seen off counts as alive."""
    end = time.monotonic() + 120.0
    while time.monotonic() < end:
        try:
            process = psutil.Process(pid)
            # An orphan is the init process's to see off, and not every container has one that does.
            if process.status() == psutil.STATUS_ZOMBIE and process.ppid() != os.getpid():
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False


def test_a_case_runs_in_a_child_of_its_own(guard: Guard, guarded: ModuleType) -> None:
    first, second = (guard.run(Job("where", guarded.process)).value for _ in range(2))
    assert first == second  # the child is kept
    assert first["ppid"] == os.getpid() != first["pid"]
    assert first["session"] == first["pid"]  # Ctrl-C on the terminal is not for it
    assert first["threads"] == "1"


def test_what_ends_a_case_is_said_in_a_sentence_and_the_next_case_runs(guard: Guard, guarded: ModuleType) -> None:
    late = "time limit: no answer within 0.2 s"
    cases = [
        (Job("segfault", guarded.crash), "crashed", "crashed: the process died (SIGSEGV)"),
        (Job("exit", guarded.leave, {"code": 3}), "crashed", "crashed: the process ended with exit code 3"),
        (Job("exit 0", guarded.leave, {"code": 0}), "crashed", "crashed: the process ended with exit code 0"),
        (Job("kill", guarded.kill_oneself), "lost", "lost: the process was killed (SIGKILL)"),
        (Job("Python", guarded.sleep, {"seconds": 60.0}, limit=0.2), "time_limit", late),
        (Job("C", guarded.hold, {"seconds": 60}, limit=0.2), "time_limit", late),
        (Job("own error", guarded.complain, {"kind": "own"}), "error", "The mass is negative."),
        (Job("other error", guarded.complain, {"kind": "other"}), "error", "ValueError: two lines"),
        (Job("lambda", guarded.unpicklable), "error", "cannot be sent to another process"),
        (Job("no function", guarded.double, {"y": 1.0}), "error", "TypeError"),
    ]
    for case, kind, sentence in cases:
        outcome = guard.run(case)
        assert (outcome.kind, outcome.value) == (kind, None), case.key
        assert sentence in outcome.failure
        assert "\n" not in outcome.failure
        after = guard.run(Job("after", guarded.double, {"x": 2.0}))
        assert (after.value, after.failure, after.kind) == (4.0, "", "")


def test_what_a_case_prints_is_nobodys(guard: Guard, guarded: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    assert guard.run(Job("shout", guarded.shout)).value == "said"
    assert capfd.readouterr() == ("", "")


def test_a_person_who_debugs_sees_what_a_case_prints_and_where_it_crashed(
    guarded: ModuleType, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUSSOPT_DEBUG", "1")
    with closing(Guard()) as guard:
        assert guard.run(Job("shout", guarded.shout)).value == "said"
        assert guard.run(Job("segfault", guarded.crash)).kind == "crashed"
    out, err = capfd.readouterr()
    assert out == ""
    assert "from C" in err
    assert "in crash" in err


def test_the_clock_starts_when_the_case_does(guarded: ModuleType) -> None:
    # A fresh interpreter with its imports takes longer than this.
    with closing(Guard()) as guard:
        assert guard.run(Job("quick", guarded.double, {"x": 1.0}, limit=0.2)).value == 2.0


def test_closing_ends_a_case_under_way_and_leaves_no_process(guarded: ModuleType) -> None:
    guard = Guard()
    pid = guard.run(Job("where", guarded.process)).value["pid"]
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(guard.run(Job("long", guarded.hold, {"seconds": 60}))))
    thread.start()
    time.sleep(0.2)
    guard.close()
    thread.join(300.0)
    assert not thread.is_alive()
    assert gone(pid)
    assert [o.kind for o in outcomes] == ["lost"]
    with pytest.raises(RuntimeError, match="closed"):
        guard.run(Job("more", guarded.double, {"x": 1.0}))


def test_a_forgotten_guard_leaves_no_process(guarded: ModuleType) -> None:
    guard = Guard()
    pid = guard.run(Job("where", guarded.process)).value["pid"]
    del guard
    assert gone(pid)


def test_a_thread_takes_its_guard_with_it(guarded: ModuleType) -> None:
    pids: list[int] = []
    order = Order.of(Job("where", guarded.process))
    thread = threading.Thread(target=lambda: pids.append(guards.outcome_of(run_order(order)).value["pid"]))
    thread.start()
    thread.join()
    assert gone(pids[0])


@pytest.mark.parametrize("function", ["sleep", "hold"])
def test_a_killed_owner_leaves_no_process(function: str, guarded: ModuleType) -> None:
    code = (
        "import guarded, threading, time\nfrom gaussopt.processes.guarded_process import Guard\n"
        "from gaussopt.processes.job import Job\n"
        "guard = Guard(); print(guard.run(Job('where', guarded.process)).value['pid'], flush=True)\n"
        f"guard.run(Job('long', guarded.{function}, {{'seconds': 60}}))"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    time.sleep(0.3)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    assert gone(pid)


def test_an_owner_that_ends_leaves_no_process(run_python: Callable[..., str], guarded: ModuleType) -> None:
    code = (
        "import guarded\nfrom gaussopt.processes.guarded_process import Guard\n"
        "from gaussopt.processes.job import Job\n"
        "guard = Guard(); print(guard.run(Job('where', guarded.process)).value['pid'])"
    )
    assert gone(int(run_python(code, PYTHONPATH=os.environ["PYTHONPATH"])))


def test_another_source_or_version_is_refused(guard: Guard, guarded: ModuleType) -> None:
    order = Order.of(Job("double", guarded.double, {"x": 1.0}))
    here = order.environment
    for changed, named in (
        ({**here, "gaussopt": "0.0.1"}, "gaussopt"),
        ({**here, "packages": {**here["packages"], "numpy": "1.0"}}, "numpy"),
        ({**here, "code": {**here["code"], "core": "0"}}, "source code (core)"),
    ):
        outcome = guards.outcome_of(guard.reply(replace(order, environment=changed)))
        assert outcome.kind == "lost"
        assert named in outcome.failure


def test_a_case_that_cannot_be_loaded_says_so(guard: Guard, guarded: ModuleType) -> None:
    order = Order.of(Job("double", guarded.double, {"x": 1.0}))
    outcome = guards.outcome_of(guard.reply(replace(order, job=pickle.dumps(1)[:-1] + b"\x00")))
    assert outcome.kind == "lost"
    assert "cannot be loaded" in outcome.failure


SOLVER = (Path(__file__).parents[1] / "plugins" / "half.py").read_text(encoding="utf-8")


def test_what_is_registered_here_is_there_in_the_child(guard: Guard, guarded: ModuleType, tmp_path: Path) -> None:
    case = Job("plugin", guarded.plugin_answer, {"name": "half"}, depends=(("solver", "half"),))
    file = tmp_path / "half.py"
    file.write_text(SOLVER)
    go.register(file)
    file.unlink()  # as on another machine
    assert guard.run(case).value == [0.5]
    file.write_text(SOLVER.replace("half", "lying").replace("0.5", "7.0"))
    file = file.rename(tmp_path / "lying.py")
    go.register(file)
    lying = replace(case, arguments={"name": "lying"}, depends=(("solver", "lying"),))
    assert guard.run(lying).value == [7.0]
    file.write_text(file.read_text().replace("7.0", "8.0"))
    assert guard.run(lying).value == [7.0]  # as registered
    go.register(file)
    assert guard.run(lying).value == [8.0]


def test_a_module_that_was_found_later_is_found_by_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child that runs already was told another search path."""
    (tmp_path / "found_later.py").write_text("def seven():\n    return 7\n")
    with closing(Guard()) as guard:
        assert guard.run(Job("here", os.getpid)).failure == ""
        monkeypatch.syspath_prepend(tmp_path)
        later = importlib.import_module("found_later")
        assert guard.run(Job("later", later.seven)).value == 7
