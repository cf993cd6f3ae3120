from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import xarray as xr

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.comparison.results import read_results
from gaussopt.execution.dask import dask_executor
from gaussopt.execution.workers import run_jobs
from gaussopt.processes.job import Job, JobOutcome

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def start(
    guarded: ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a command of Dask in a process of its own and reads its log up to a pattern."""
    folder = tmp_path_factory.mktemp("dask")
    processes: list[subprocess.Popen[str]] = []

    def run(*arguments: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]],
            env={**os.environ, **environment}, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
            start_new_session=True,
        )  # fmt: skip
        processes.append(process)
        return process

    yield run
    for process in reversed(processes):
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def scheduler_of(start: Callable[..., subprocess.Popen[str]], workers: int) -> tuple[str, list[subprocess.Popen[str]]]:
    """Address of a new scheduler with its workers, and the processes."""
    scheduler = start("dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1")
    address = read(scheduler, r"Scheduler at:\s+(tcp://\S+)")
    found = [scheduler]
    for _ in range(workers):
        found.append(start("dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"))
    for worker in found[1:]:
        read(worker, r"Registered to:\s+(\S+)")
    return address, found


def read(process: subprocess.Popen[str], pattern: str) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        match = re.search(pattern, line)
        if match:
            return match[1]
    raise AssertionError(f"no {pattern} in the log")


@pytest.fixture(scope="module")
def cluster(start: Callable[..., subprocess.Popen[str]]) -> str:
    return scheduler_of(start, 2)[0]


def cases(guarded: ModuleType) -> list[Job]:
    found = [Job(s, guarded.step, {"tau": 0.7, "solver": s}, depends=(("solver", s),)) for s in ("kkt", "osqp")]
    return [*found, Job("crash", guarded.crash), Job("late", guarded.hold, {"seconds": 60}, limit=0.2)]


def answers(outcomes: dict[str, JobOutcome]) -> str:
    return repr([(key, o.value, o.failure, o.kind) for key, o in outcomes.items()])


def test_a_cluster_gives_the_same_to_the_last_bit(cluster: str, guarded: ModuleType) -> None:
    with dask_executor(cluster) as executor:
        found = run_jobs(cases(guarded), executor=executor)
    assert [o.kind for o in found.values()] == ["", "", "crashed", "time_limit"]
    assert found["crash"].failure == "crashed: the process died (SIGSEGV)"
    assert found["late"].failure == "time limit: no answer within 0.2 s"
    assert answers({key: found[key] for key in ("kkt", "osqp")}) == answers(run_jobs(cases(guarded)[:2]))


def test_a_comparison_on_a_cluster_equals_a_local_one(
    cluster: str, tmp_path: Path, compare: Callable[..., go.Results], undrawn: None
) -> None:
    names, solvers = ["gauss", "lcp-qp"], ["kkt", "osqp", "deap-cma(generations=2)"]
    command = ["compare", "four-bar", "two-bar", "--formulations", ",".join(names), "--solvers", ",".join(solvers)]
    command += ["--stride", "100", "--t-end", "0.005", "--time-budget", "0"]
    assert run([*command, "--out", str(tmp_path), "--dask", cluster, "--json"]) == 0
    here = compare(["four-bar", "two-bar"], names, solvers, stride=100, t_end=0.005, time_budget=0.0)
    there = read_results(tmp_path)
    assert {(a.formulation, a.solver) for a in here.answers if not a.refused} == {
        *((name, solver) for name in names for solver in solvers if (name, solver) != ("lcp-qp", "kkt"))
    }
    assert len(here.motions) > 2
    assert [json.dumps(a.to_mapping()) for a in here.answers] == [json.dumps(a.to_mapping()) for a in there.answers]
    assert [json.dumps(m.to_mapping()) for m in here.motions] == [
        json.dumps(replace(m, trajectory="").to_mapping()) for m in there.motions
    ]


TORQUES = np.linspace(-0.8, -0.4, 140)


def test_a_batch_on_a_cluster_equals_a_local_one_and_goes_on(cluster: str, tmp_path: Path) -> None:
    command = ["batch", "crank-slider", "--axis", "tau=-0.8:-0.4:140", "--t-end", "0.02", "--record-every", "10"]
    command += ["--out", str(tmp_path), "--dask", cluster, "--json"]
    assert run(command) == 0
    there = xr.load_dataset(tmp_path / "batch.nc")
    here = go.simulate_batch("crank-slider", parameters={"tau": TORQUES}, t_end=0.02, record_every=10)
    assert here.drop_attrs().equals(there.drop_attrs()[list(here.variables)])
    parts = sorted(tmp_path.glob("part-*.nc"))
    assert len(parts) == 3
    parts[1].unlink()
    known = [part.stat().st_mtime_ns for part in (parts[0], *parts[2:])]
    assert run(command) == 0
    assert parts[1].exists()
    assert known == [part.stat().st_mtime_ns for part in (parts[0], *parts[2:])]
    assert xr.load_dataset(tmp_path / "batch.nc").drop_attrs().identical(there.drop_attrs())


def test_a_batch_survives_its_cluster(start: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    address, processes = scheduler_of(start, 1)
    given = {"parameters": {"tau": TORQUES}, "t_end": 0.02, "record_every": 10, "out": tmp_path}

    def kill(fraction: float) -> None:
        for process in processes:
            process.kill()

    with dask_executor(address) as executor:
        found = go.simulate_batch("crank-slider", **given, executor=executor, progress=kill)
    assert (found.status == "solved").all()
    del given["out"]
    assert found.drop_attrs().equals(go.simulate_batch("crank-slider", **given).drop_attrs())


def test_an_answer_that_can_no_longer_be_fetched_is_a_lost_job(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise OSError("the worker is gone")

    monkeypatch.setattr("distributed.Future.result", gone)
    with dask_executor(cluster) as executor:
        assert isinstance(executor.submit(os.getpid).exception(timeout=30.0), OSError)


def test_motions_that_cannot_be_sent_are_one_sentence(tmp_path: Path, assert_sentence: Callable[..., None]) -> None:
    body = go.System(np.eye(1), lambda t, q, v: np.array([-9.81]))
    start = {"q0": [[1.0], [2.0]], "v0": [0.0]}
    with ThreadPoolExecutor(1) as executor, pytest.raises(go.BadInput) as caught:
        go.simulate_batch(body, initial=start, dt=0.1, t_end=1.0, out=tmp_path, executor=executor)
    assert_sentence(caught.value, "cannot be sent to the executor")
    with ThreadPoolExecutor(1) as executor, pytest.raises(go.BadInput) as caught:
        go.simulate_batch("pendulum", executor=executor)
    assert_sentence(caught.value, "out")


def test_both_workers_work_each_in_a_child_of_its_own(cluster: str, guarded: ModuleType) -> None:
    with dask_executor(cluster) as executor:
        found = run_jobs([Job(f"{i}", guarded.pause_and_tell) for i in range(6)], executor=executor)
    assert len({o.value["ppid"] for o in found.values()}) == 2
    assert all(o.value["pid"] != o.value["ppid"] for o in found.values())


SOLVER = (Path(__file__).parents[1] / "plugins" / "half.py").read_text(encoding="utf-8")


def test_solvers_registered_here_travel(cluster: str, guarded: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "half.py"
    file.write_text(SOLVER)
    go.register(file)
    file.unlink()
    case = Job("plugin", guarded.plugin_answer, {"name": "half"}, depends=(("solver", "half"),))
    with dask_executor(cluster) as executor:
        assert run_jobs([case], executor=executor)["plugin"].value == [0.5]


def test_a_cluster_that_dies_costs_the_cases_under_way(
    start: Callable[..., subprocess.Popen[str]], guarded: ModuleType
) -> None:
    address, processes = scheduler_of(start, 1)
    todo = [Job("quick", guarded.double, {"x": 1.0}, weight=2.0), Job("long", guarded.sleep, {"seconds": 300.0})]

    def kill(fraction: float) -> None:
        for process in processes:
            process.kill()

    with dask_executor(address) as executor:
        found = run_jobs(todo, executor=executor, progress=kill)
    assert found["quick"].value == 2.0
    assert found["long"].kind == "lost"
    assert "the executor did not run the case" in found["long"].failure


def test_a_worker_without_gaussopt_is_named(
    start: Callable[..., subprocess.Popen[str]], assert_sentence: Callable[..., None], tmp_path: Path
) -> None:
    (tmp_path / "gaussopt.py").write_text("__version__ = '0.0.1'")
    scheduler = start("dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1")
    address = read(scheduler, r"Scheduler at:\s+(tcp://\S+)")
    read(start("dask_worker", address, "--no-nanny", "--no-dashboard", PYTHONPATH=str(tmp_path)), "(Registered) to")
    with pytest.raises(go.BadInput) as caught, dask_executor(address):
        pass
    assert_sentence(caught.value, "0.0.1", go.__version__)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense", "", "foo://x:1", "127.0.0.1:99999"])
def test_nobody_at_the_address_is_one_sentence(
    address: str, assert_sentence: Callable[..., None], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(go.BadInput) as caught, dask_executor(address, timeout=0.5):
        pass
    assert_sentence(caught.value, repr(address))
    assert capfd.readouterr() == ("", "")


def test_a_port_that_keeps_silent_is_no_scheduler(run_python: Callable[..., str]) -> None:
    code = (
        "from gaussopt.execution.dask import dask_executor; from gaussopt import BadInput\n"
        "try:\n    with dask_executor('{}', 0.5): pass\n"
        "except BadInput as error: print(error)"
    )
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        said = run_python(code.format(f"tcp://127.0.0.1:{silent.getsockname()[1]}"))
    assert said.count("\n") == 1
    assert "nothing within 0.5 s" in said


def test_without_the_package_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, assert_sentence: Callable[..., None]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(go.MissingBackend) as caught, dask_executor("tcp://127.0.0.1:1"):
        pass
    assert_sentence(caught.value, "pip install 'gaussopt[dask]'")
