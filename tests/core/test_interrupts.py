"""Ctrl-C that spares what was computed."""

from __future__ import annotations

import os
import signal
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.core.interrupts import Interrupts, RememberedInterrupt
from gaussopt.execution.workers import run_jobs
from gaussopt.processes.job import Job
from gaussopt.simulation.batch_dataset import Batch

pytestmark = pytest.mark.usefixtures("interruptible")
BEFORE = signal.default_int_handler


def press() -> None:
    """Ctrl-C."""
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(100):  # until the interpreter has looked
        pass


def press_and_lose(done: float = 0.0) -> None:
    """Ctrl-C while Python calls back because an object has ended, from where nothing can be raised."""
    thing = {0}
    watch = weakref.ref(thing, lambda _: press())
    del thing
    assert watch() is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_was_lost_is_raised_once_more() -> None:
    with RememberedInterrupt() as outer:
        outer.pass_on()
        with RememberedInterrupt() as inner:
            press_and_lose()
        for each in (inner, outer):
            with pytest.raises(KeyboardInterrupt):
                each.pass_on()
        with RememberedInterrupt() as later, pytest.raises(KeyboardInterrupt):
            press()
        with pytest.raises(KeyboardInterrupt):
            later.pass_on()
    assert signal.getsignal(signal.SIGINT) is BEFORE


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_jobs_end_though_the_interrupt_was_lost() -> None:
    cases = [Job(str(i), go.problem, {"name": "crank-slider"}) for i in range(3)]
    with ThreadPoolExecutor(1) as executor, pytest.raises(KeyboardInterrupt):
        run_jobs(cases, progress=press_and_lose, executor=executor)


def test_only_the_first_one_is_heard() -> None:
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            press()
        press()
        assert not interrupts.listening
    assert signal.getsignal(signal.SIGINT) is BEFORE
    with pytest.raises(KeyboardInterrupt):
        press()


def test_handlers_of_others_and_other_threads_are_left_alone() -> None:
    def own(number: int, frame: Any) -> None:
        seen.append(number)

    seen: list[int] = []
    signal.signal(signal.SIGINT, own)
    try:
        with Interrupts():
            press()
    finally:
        signal.signal(signal.SIGINT, BEFORE)
    assert seen == [signal.SIGINT]
    thread = threading.Thread(target=lambda: Interrupts().__enter__().__exit__(None, None, None))
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is BEFORE


@pytest.mark.parametrize("running", [True, False])
def test_a_batch_is_kept_while_its_dataset_is_made(monkeypatch: pytest.MonkeyPatch, running: bool) -> None:
    """Ctrl-C during the last seconds, of a batch that is done and of one that was interrupted already."""

    def impatient(done: float) -> None:
        if running and done > 0.1:
            press()

    make, certify = Batch.dataset, Batch._collect
    monkeypatch.setattr(Batch, "dataset", lambda *args, **more: (press(), make(*args, **more))[1])
    if running:
        monkeypatch.setattr(Batch, "_collect", lambda *args: (press(), certify(*args))[1])
    data = go.simulate_batch(
        "crank-slider", parameters={"m1": [0.37, 0.4]}, stabilisation="projection", dt=1e-3,
        t_end=20.0 if running else 0.1, record_every=50, progress=impatient,
    )  # fmt: skip
    assert set(data.status.values) == {"interrupted" if running else "solved"}
    assert np.isfinite(data.q.values[:, 0]).all()
    assert signal.getsignal(signal.SIGINT) is BEFORE
    with pytest.raises(KeyboardInterrupt):
        go.simulate_batch("crank-slider", parameters={"m1": [0.37]}, t_end=0.01, keep_interrupted=False)
