"""Pieces of work shared between threads."""

from __future__ import annotations

import os
import time

import pytest

from gaussopt.jit.threads import cores, share


@pytest.mark.parametrize("pieces", [range(1), range(3, 10), range(1000)])
@pytest.mark.parametrize("threads", [1, 2, 5, None])
def test_every_piece_is_done_once(pieces: range, threads: int | None) -> None:
    done: list[int] = []
    share(lambda first, last: done.extend(range(first, last)), pieces, threads)
    assert sorted(done) == list(pieces)


def test_what_goes_wrong_in_a_thread_is_raised() -> None:
    def work(first: int, last: int) -> None:
        raise ValueError(f"{first} to {last}")

    with pytest.raises(ValueError, match="0 to"):
        share(work, range(8), 2)


def test_there_is_a_core() -> None:
    assert cores() >= 1


def test_an_interrupted_share_leaves_nothing_running() -> None:
    running: list[int] = []

    def work(first: int, last: int) -> None:
        running.append(first)
        time.sleep(0.02)
        running.remove(first)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        share(work, range(100), 2)
    assert running == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    share(lambda first, last: None, range(8), 2)
    child = os.fork()
    if child == 0:
        done: list[int] = []
        share(lambda first, last: done.extend(range(first, last)), range(8), 2)
        os._exit(0 if sorted(done) == list(range(8)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
