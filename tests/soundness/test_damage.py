"""Damaged files, killed writers and full disks: a sample of `damage.py`, and what the command line makes of them."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.core.machine import is_machine
from gaussopt.execution.store import Store
from gaussopt.execution.workers import run_jobs
from gaussopt.processes.job import Job, run_job
from gaussopt.storage import netcdf

pytestmark = pytest.mark.campaigns

FLIPS, KILLS, FULL = 10, 1, 2

KINDS = ("run --save", "batch", "atlas", "compare, results", "compare, cases", "export", "papers, report")


@pytest.fixture(scope="module")
def damage() -> Iterator[ModuleType]:
    """The campaign as a module."""
    path = Path(__file__).with_name("damage.py")
    spec = importlib.util.spec_from_file_location("damage", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["damage"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["damage"]


@pytest.fixture(scope="module")
def kinds(damage: ModuleType) -> dict[str, Any]:
    found = {kind.name: kind for kind in damage.kinds()}
    assert tuple(found) == KINDS
    return found


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(("test", "count"), [("flip", FLIPS), ("kill", KILLS), ("full", FULL)])
def test_a_sample_of_the_campaign(
    test: str, count: int, name: str, damage: ModuleType, kinds: dict[str, Any], tmp_path: Path
) -> None:
    found = getattr(damage, test)(kinds[name], tmp_path, count, random.Random(f"{test} {name}"))
    assert set(found) <= damage.RIGHT, found


@pytest.fixture
def motion(pendulum: go.System, tmp_path: Path) -> Path:
    return go.simulate(pendulum, q0=[1.0, 0.0], v0=[0.0, 0.0], dt=0.01, t_end=0.05).save(tmp_path / "motion.nc")


def test_every_byte_of_a_motion_counts(motion: Path) -> None:
    """One bit of each 97th byte, of all of the seal, and every way to cut the end off."""
    whole = motion.read_bytes()
    places = [*range(0, len(whole), 97), *range(len(whole) - netcdf.SEAL, len(whole))]
    contents = [whole[:i] + bytes([whole[i] ^ 4]) + whole[i + 1 :] for i in places]
    contents += [whole[: len(whole) - i] for i in range(1, netcdf.SEAL)]
    contents += [whole + b"\n", whole[: -netcdf.SEAL] + bytes(netcdf.SEAL), whole[: len(whole) // 2], b""]
    for content in contents:
        motion.write_bytes(content)
        with pytest.raises(go.BadInput, match=r"motion\.nc"):
            go.Trajectory.load(motion)


def test_files_of_others_are_read_with_a_warning(motion: Path) -> None:
    whole = go.Trajectory.load(motion)
    motion.write_bytes(motion.read_bytes()[: -netcdf.SEAL])
    with pytest.warns(go.Unverified, match=r"motion\.nc carries no checksum.*\.$"):
        np.testing.assert_array_equal(go.Trajectory.load(motion).q, whole.q)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("q", np.zeros((6, 3))), ("v", np.zeros((6, 2, 1))), ("time", np.arange(6.0)[::-1].copy()), ("power", None),
        ("time", np.full(6, np.nan)), ("kinetic", np.array(["x"] * 6)), ("lam", np.zeros((6, 0, 2))),
        ("more", np.zeros(6)),
    ],
)  # fmt: skip
def test_arrays_of_a_motion_fit_each_other(
    name: str, value: Any, motion: Path, assert_sentence: Callable[..., None]
) -> None:
    data = go.load_dataset(motion).drop_vars(name, errors="ignore")
    if value is not None:
        data[name] = (["time", *(f"other{name}{i}" for i in range(value.ndim - 1))], value)
    go.save_dataset(data, motion)
    with pytest.raises(go.BadInput) as caught:
        go.Trajectory.load(motion)
    assert_sentence(caught.value, "motion.nc")


@pytest.mark.parametrize(
    "attrs",
    [
        {"status": "fine"}, {"worst": "[]"}, {"worst": '{"error_bound": "x"}'}, {"timing": '{"a": []}'}, {"meta": "3"},
        {"meta": '{"coordinates": [3]}'}, {"events": "[3]"}, {"events": '[{"t": "x"}]'}, {"warnings": "[1]"},
        {"meta": "{"}, {"meta": "[" * 5000},
    ],
    ids=lambda attrs: str(attrs)[:40],
)  # fmt: skip
def test_what_stands_beside_the_arrays_is_checked(
    attrs: dict[str, str], motion: Path, assert_sentence: Callable[..., None]
) -> None:
    data = go.load_dataset(motion)
    data.attrs |= attrs
    go.save_dataset(data, motion)
    with pytest.raises(go.BadInput) as caught:
        go.Trajectory.load(motion)
    assert_sentence(caught.value, "motion.nc")


RUN = ["run", "four-bar", "--dt", "0.01", "--t-end", "0.1", "--json"]


def test_a_full_disk_costs_the_file_only(
    damage: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(RUN) == 0
    right = json.loads(capsys.readouterr().out)
    with damage.largest_file(2000):
        assert run([*RUN, "--save", "motion.nc"]) == 1
    printed = capsys.readouterr()
    data = json.loads(printed.out)
    assert data["status"] == "crashed"
    assert data["message"].startswith("Cannot write ")
    assert {key: data[key] for key in ("t", "q", "v", "a", "lam", "steps")} == {
        key: right[key] for key in ("t", "q", "v", "a", "lam", "steps")
    }
    assert printed.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_room(damage: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A real one, where the system lets us make it."""
    with damage.tiny_disk(tmp_path, 16384) as made:
        if not made:
            pytest.skip("no file system can be mounted here; the limit on the size of files stands in")
        assert run([*RUN, "--save", str(tmp_path / "motion.nc")]) == 1
        assert "No space left on device" in json.loads(capsys.readouterr().out)["message"]
        assert list(tmp_path.iterdir()) == []
        atlas = ["atlas", "sliding-rod", "--axis", "mu=0:1:5", "--out", str(tmp_path / "atlas"), "--json"]
        assert run(atlas) == 1
        assert json.loads(capsys.readouterr().out)["status"] == "crashed"
        compare = ["compare", "four-bar", "--formulations", "gauss", "--solvers", "kkt", "--stride", "100"]
        compare += ["--no-motions", "--time-budget", "0", "--out", str(tmp_path / "compare"), "--json"]
        assert run(compare) == 1
        printed = capsys.readouterr()
        assert "No space left on device" in json.loads(printed.out)["message"]
        assert "Traceback" not in printed.err


MACHINE = [OSError(n, os.strerror(n)) for n in (errno.ENOSPC, errno.EIO, errno.EMFILE, errno.EDQUOT)]
MACHINE += [MemoryError("Unable to allocate"), ImportError("x.so: cannot open: Too many open files")]  # type: ignore[list-item]


def gives_out(number: int) -> None:
    raise MACHINE[number]


@pytest.mark.parametrize("number", range(len(MACHINE)), ids=lambda n: repr(MACHINE[n])[:30])
def test_the_machine_is_not_a_solver(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its failure is not kept: the case is run again. An error of the case itself is kept."""
    assert is_machine(MACHINE[number])
    case = Job("case", gives_out, {"number": number})
    outcome = run_job(case)
    assert outcome.kind == "lost"
    assert not is_machine(ValueError("x"))
    assert not is_machine(PermissionError(errno.EACCES, "x"))

    def stopped(*given: Any) -> None:
        raise MACHINE[number]

    solver = go.StepSolver("gauss", "kkt")
    monkeypatch.setattr(type(solver.sequence.solver), "solve", stopped)
    with pytest.raises(go.MachineFailure, match=r"kkt.*stopped.*\.$"):
        solver.solve(go.StepData.from_mapping({"M": np.eye(2), "Q": [0.0, -1.0]}))


def test_a_motion_that_the_machine_ends_is_kept(pendulum: go.System, monkeypatch: pytest.MonkeyPatch) -> None:
    import gaussopt.solving.solver_sequence

    solve, calls = gaussopt.solving.solver_sequence.SolverSequence.solve, iter(range(1000))

    def runs_out(self: Any, program: Any) -> Any:
        if next(calls) > 20:
            raise MemoryError
        return solve(self, program)

    monkeypatch.setattr(gaussopt.solving.solver_sequence.SolverSequence, "solve", runs_out)
    motion = go.simulate(pendulum, q0=[1.0, 0.0], v0=[0.0, 0.0], dt=0.01, t_end=0.2)
    assert motion.status is go.Status.CRASHED
    assert len(motion.t) > 2
    assert "not enough memory" in motion.message
    assert motion.meta["machine_failure"] is True


def test_a_killed_case_is_run_again(tmp_path: Path, guarded: ModuleType) -> None:
    store = Store(tmp_path)
    case = Job("killed", guarded.kill_oneself, limit=60.0)
    assert run_jobs([case], store=store)[case.key].kind == "lost"
    assert store.get(case) is None
    blamed = Job("blamed", guarded.crash, limit=60.0)
    assert run_jobs([blamed], store=store)[blamed.key].kind == "crashed"
    assert store.get(blamed) is not None


def test_a_step_that_cannot_be_saved_is_not_half_there(damage: ModuleType, tmp_path: Path) -> None:
    from gaussopt.simulation.simulate import simulate

    stopped = go.System(mass=[[0.0]], force=[1.0])
    with damage.largest_file(60):
        motion = simulate(stopped, q0=[0.0], v0=[0.0], dt=0.1, t_end=1.0, step_folder=tmp_path)
    assert motion.status is go.Status.UNBOUNDED
    assert motion.failed_step_file is None
    assert list(tmp_path.iterdir()) == []


def test_too_many_open_files_are_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import gaussopt.modelling.problem

    def many(*given: Any, **more: Any) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(gaussopt.modelling.problem, "problem", many)
    assert run(RUN) == 1
    printed = capsys.readouterr()
    assert "Too many open files" in json.loads(printed.out)["message"]
    assert printed.err.count("\n") == 1
