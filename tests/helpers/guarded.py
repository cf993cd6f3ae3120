"""Cases for the tests of guards, stores and executors: a fresh process can import this module by name."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import gaussopt as go


def double(x: float) -> float:
    return 2.0 * x


def process() -> dict[str, Any]:
    """Where the case runs."""
    return {"pid": os.getpid(), "ppid": os.getppid(), "session": os.getsid(0), "threads": os.environ["OMP_NUM_THREADS"]}


def pause_and_tell() -> dict[str, Any]:
    time.sleep(0.3)
    return process()


def crash() -> None:
    ctypes.string_at(0)


def leave(code: int) -> None:
    os._exit(code)


def kill_oneself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def hold(seconds: int) -> None:
    """Sleeps in C and never lets another Python thread run."""
    ctypes.PyDLL(None).sleep(seconds)


def linger(file: str) -> None:
    """Tells where it runs, and stays."""
    Path(file).with_suffix(".part").write_text(str(os.getpid()))
    Path(file).with_suffix(".part").rename(file)
    hold(60)


def shout() -> str:
    os.write(1, b"\x00\xff from C\n")
    os.write(2, b"from C\n")
    print("from Python")
    return "said"


def unpicklable() -> Any:
    return lambda: None


def complain(kind: str) -> None:
    raise go.BadInput("The mass is negative.") if kind == "own" else ValueError("two\nlines")


def step(tau: float, solver: str) -> dict[str, Any]:
    """A step of the crank-slider by a solver, and some bytes."""
    problem = go.problem("crank-slider", tau=tau)
    answer = go.solve_step(problem.system.evaluate(0.0, problem.q0, problem.v0), "gauss", solver)
    return {"a": answer.a.tolist(), "status": answer.status.value, "nan": float("nan"), "raw.bin": answer.a.tobytes()}


def plugin_answer(name: str) -> list[float]:
    return go.solve(go.LCP([[2.0]], [-1.0]), name).x.tolist()


def count(folder: str, number: int) -> int:
    """Leaves a mark for each time it is run."""
    with (Path(folder) / str(number)).open("a") as file:
        file.write("x")
    time.sleep(0.05)
    return number


def main() -> None:
    """A run that tests kill: folder of the store, folder of the marks."""
    from gaussopt.execution.store import Store
    from gaussopt.execution.workers import run_jobs
    from gaussopt.processes.job import Job

    cases = [Job(f"{i}", count, {"folder": sys.argv[2], "number": i}) for i in range(20)]
    outcomes = run_jobs(cases, 2, store=Store(sys.argv[1]))
    print([o.value for o in outcomes.values()])


if __name__ == "__main__":
    # Functions of a script are no module's: the children import them under the module's own name.
    import guarded

    guarded.main()
