"""Worker processes of a campaign: blocks are handed out, each result is one file, dead workers are replaced."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import multiprocessing as mp
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import psutil

from .findings import NOT_TAKEN

PATIENCE = 60.0
"""Seconds of its own that one call may take before its process is ended."""
STEP = 1.0


class OtherCode(Exception):
    """The folder holds trials of other source code or another seed."""


WORK = "soundness.trials.work"
"""The module that does the work of a block, unless another one is named."""


def digest(root: Path, *more: str) -> str:
    """Of all source code that decides what a campaign finds; `more` are other folders that do."""
    found = hashlib.sha256()
    for folder in ("gaussopt", "solvers", "problems", "tests/soundness/judge", "tests/soundness/trials", *more):
        for path in sorted((root / folder).rglob("*.py")):
            found.update(str(path.relative_to(root)).encode())
            found.update(path.read_bytes())
    return found.hexdigest()


def claim_folder(folder: Path, settings: dict[str, Any]) -> None:
    """Make the folder, or check that what it holds belongs to the same campaign.

    Raises
    ------
    OtherCode
    """
    (folder / "blocks").mkdir(parents=True, exist_ok=True)
    path = folder / "campaign.json"
    if path.exists() and json.loads(path.read_text()) != settings:
        raise OtherCode(
            f"{folder} holds a campaign of other source code or another seed; give another folder with --out, or "
            "delete it."
        )
    write(path, settings)


def write(path: Path, content: Any) -> None:
    """Whole or not at all."""
    aside = path.with_suffix(f".{os.getpid()}.part")
    aside.write_text(json.dumps(content))
    os.replace(aside, path)


def finished(folder: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The blocks that are done."""
    for path in sorted((folder / "blocks").glob("*.json")):
        yield int(path.stem), json.loads(path.read_text())


def trials_of(counts: dict[str, int]) -> int:
    """Trials: calls that were taken, and lies."""
    return sum(n for key, n in counts.items() if key.split("|")[4] != NOT_TAKEN)


def serve(pipe: Connection, module: str, seed: int, size: int, now: str) -> None:
    """A worker: blocks in, results out."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    work = importlib.import_module(module)
    note = work.note_to(now)
    # What backends print belongs to nobody.
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            block, skip = pipe.recv()
            pipe.send(work.run_block(seed, block, skip, note, size).mapping())


class Worker:
    """One process, what it does, and how to replace it."""

    def __init__(self, folder: Path, place: int, module: str, seed: int, size: int) -> None:
        self.now = str(folder / f"worker{place}.now")
        self.module, self.seed, self.size = module, seed, size
        self.block: int | None = None
        self.skip: set[tuple[int, str]] = set()
        self.lost: list[tuple[int, str, str]] = []
        self.start()

    def start(self) -> None:
        context = mp.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        Path(self.now).write_text("")
        given = theirs, self.module, self.seed, self.size, self.now
        self.process = context.Process(target=serve, args=given, daemon=True)
        self.process.start()
        theirs.close()
        self.seen, self.waited, self.spent = "", 0.0, 0.0

    def give(self, block: int) -> None:
        """A new block."""
        self.block, self.skip, self.lost = block, set(), []
        self.seen, self.waited = "", 0.0
        self.pipe.send((block, self.skip))

    def worked(self, passed: float) -> float:
        """Seconds of its own since it was asked last, at least a tenth of those that have `passed`.

        On a busy machine a derivation of seconds takes a minute, and that is no crash; a call that sleeps is one.
        """
        with contextlib.suppress(psutil.NoSuchProcess):
            times = psutil.Process(self.process.pid).cpu_times()
            before, self.spent = self.spent, times.user + times.system
            return max(self.spent - before, 0.1 * passed)
        return passed

    def stuck(self, passed: float) -> bool:
        """Whether the same call has been going on for too long; `passed` are the seconds since it was asked last."""
        text = Path(self.now).read_text().strip()
        self.waited = self.waited + passed if text == self.seen else 0.0
        self.seen = text
        return self.waited > PATIENCE

    def replace(self, why: str) -> None:
        """End the process, remember what it was doing, and do its block again without that."""
        self.process.kill()
        self.process.join()
        text = Path(self.now).read_text().strip()
        index, _, name = text.partition(" ")
        if index.isdigit():
            self.skip.add((int(index), name))
            self.lost.append((int(index), name, why))
        self.start()
        self.pipe.send((self.block, self.skip))


def with_lost(
    result: dict[str, Any], lost: list[tuple[int, str, str]], seed: int, module: str = WORK
) -> dict[str, Any]:
    """The calls that ended or blocked a process, as crashes."""
    from .findings import CRASHED, Finding
    from .work import Tally

    tally = Tally(Counter(result["counts"]), result["faults"], result["seconds"])
    for index, name, why in lost:
        program, _ = importlib.import_module(module).program_at(seed, index)
        formulation, _, solver = name.partition("/")
        tally.add(program, formulation, solver, Finding(CRASHED, why), None, False)
    return {**result, **tally.mapping()}


def drive(
    folder: Path, count: int, jobs: int, seed: int, size: int, say: Any, module: str = WORK,
    number: Callable[[dict[str, Any]], int] = lambda result: trials_of(result["counts"]),
) -> dict[int, dict[str, Any]]:  # fmt: skip
    """Blocks until `count` trials are done; returns all that are. `number` says how many a block's result holds."""
    done = dict(finished(folder))
    trials = sum(number(result) for result in done.values())
    before, begin = trials, time.monotonic()
    following = iter(block for block in range(10**9) if block not in done)
    if trials >= count:
        return done
    workers = [Worker(folder, place, module, seed, size) for place in range(jobs)]
    try:
        for worker in workers:
            worker.give(next(following))
        last = time.monotonic()
        while trials < count:
            # While the machine or this process was stopped, workers had no time either.
            passed, last = min(time.monotonic() - last, 2 * STEP), time.monotonic()
            ready = wait([w.pipe for w in workers] + [w.process.sentinel for w in workers], timeout=STEP)
            for worker in workers:
                if worker.pipe in ready and _take(worker, done, folder):
                    assert worker.block is not None
                    trials += number(done[worker.block])
                    say(progress(trials, before, count, time.monotonic() - begin))
                    worker.give(next(following))
                elif worker.process.sentinel in ready:
                    worker.replace("the process ended")
                elif worker.stuck(worker.worked(passed)):
                    worker.replace(f"no answer within {PATIENCE:g} s of its own")
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.join()
            Path(worker.now).unlink(missing_ok=True)
    return done


def _take(worker: Worker, done: dict[int, dict[str, Any]], folder: Path) -> bool:
    """A worker's result, written; False if the process ended instead."""
    try:
        result = worker.pipe.recv()
    except (EOFError, OSError):
        worker.replace("the process ended")
        return False
    assert worker.block is not None
    if worker.lost:
        result = with_lost(result, worker.lost, worker.seed, worker.module)
    write(folder / "blocks" / f"{worker.block:06d}.json", result)
    done[worker.block] = result
    return True


def progress(trials: int, before: int, count: int, seconds: float) -> str:
    """One line: how far, how fast, how long still."""
    rate = (trials - before) / max(seconds, 1e-9)
    left = max(count - trials, 0) / max(rate, 1e-9)
    return f"{trials:,} of {count:,} trials, {rate:.0f} a second, {left / 60:.1f} min left"


def show(line: str) -> None:
    """Progress on standard error, on one line where that is a terminal."""
    if sys.stderr.isatty():
        print(f"\r{line}   ", end="", file=sys.stderr, flush=True)
    elif show.last + 20 < time.monotonic():  # type: ignore[attr-defined]
        show.last = time.monotonic()  # type: ignore[attr-defined]
        print(line, file=sys.stderr, flush=True)


show.last = -1e9  # type: ignore[attr-defined]
