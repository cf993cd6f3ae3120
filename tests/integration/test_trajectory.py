from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gaussopt as go

ARRAYS = [
    "t", "q", "v", "a", "lam", "error_bound", "relative_error", "position_drift", "velocity_drift", "kinetic",
    "potential", "power", "lam_N", "lam_T", "gap", "slip", "mode", "forces_unique",
    "error_estimate",
]  # fmt: skip


@pytest.fixture
def traj(pendulum: go.System) -> go.Trajectory:
    return go.simulate(pendulum, q0=[1.0, 0.0], v0=[0.0, 0.0], dt=0.01, t_end=0.1)


@pytest.fixture
def free() -> go.Trajectory:
    """Without constraints and without energies."""
    system = go.System(mass=np.eye(1), force=[1.0])
    return go.simulate(system, q0=[0.0], v0=[0.0], dt=0.1, t_end=0.3, stepper="rk4")


def test_shapes_and_meaning(traj: go.Trajectory) -> None:
    assert traj.t.shape == (11,)
    assert traj.q.shape == traj.v.shape == traj.a.shape == (11, 2)
    assert traj.lam.shape == (11, 1)
    assert traj.coordinates == ("x", "y")
    # Tension of the pendulum: 3 m g sin of the angle below the horizontal, J^T lam = lam q.
    # rk4 at dt = 0.01 and a frequency of sqrt(g) = 3.1: relative errors below (3.1 dt)^4 = 1e-6.
    np.testing.assert_allclose(traj.lam[:, 0], 3 * 9.81 * traj.q[:, 1], atol=1e-6 * 3 * 9.81)
    np.testing.assert_allclose(traj.energy, 0.0, atol=1e-6 * 9.81)
    np.testing.assert_array_equal(traj.energy, traj.kinetic + traj.potential)


def test_meta_says_what_was_run(traj: go.Trajectory) -> None:
    expected = {
        "problem": "pendulum", "formulation": "gauss", "solver": "kkt", "stepper": "rk4", "dt": 0.01, "t_end": 0.1,
        "tolerance": 1e-7, "stabilisation": "none", "warm_start": True, "coordinates": ["x", "y"], "steps": 10,
    }  # fmt: skip
    assert {key: traj.meta[key] for key in expected} == expected
    # rk4 asks four times a step, and the state after a step is the next one's first stage.
    assert traj.meta["evaluations"] == traj.worst.evaluations == 41


@pytest.mark.parametrize("name", ["traj", "free"])
def test_netcdf_round_trip(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    original: go.Trajectory = request.getfixturevalue(name)
    path = original.save(tmp_path / "run.nc")
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]
    again = go.Trajectory.load(path)
    for array in ARRAYS:
        np.testing.assert_array_equal(getattr(again, array), getattr(original, array), err_msg=array)
    assert again.problem is None
    for field in fields(go.Trajectory):
        if field.name not in ARRAYS and field.compare:
            assert getattr(again, field.name) == getattr(original, field.name), field.name


def test_saving_again_replaces(traj: go.Trajectory, free: go.Trajectory, tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    free.save(path)
    traj.save(str(path))
    assert len(go.Trajectory.load(path).t) == 11


def test_other_programs_can_read_the_file(traj: go.Trajectory, tmp_path: Path) -> None:
    import xarray as xr

    with xr.open_dataset(traj.save(tmp_path / "run.nc"), engine="h5netcdf") as data:
        assert data.attrs["Conventions"] == "CF-1.11"
        assert data.time.attrs == {"long_name": "time", "units": "s"}
        assert "_FillValue" not in data.time.encoding
        assert all("long_name" in variable.attrs for variable in data.variables.values())
        assert data.kinetic.attrs["units"] == "J"
        assert data.row.values.tolist() == [f"lam{i + 1}" for i in range(data.sizes["row"])]
        assert data.attrs["status"] == "solved"
        np.testing.assert_array_equal(data["q"].sel(coordinate="y"), traj.q[:, 1])
        assert float(data["q"].sel(coordinate="x").interp(time=0.0)) == 1.0


def test_xarray(traj: go.Trajectory) -> None:
    data = traj.to_xarray()
    assert data.sizes == {"time": 11, "coordinate": 2, "row": 1}
    np.testing.assert_array_equal(data["a"].sel(coordinate="x"), traj.a[:, 0])
    assert set(ARRAYS) - {"t", "lam_N", "lam_T", "gap", "slip", "mode"} <= set(data.data_vars)


def test_pandas(traj: go.Trajectory) -> None:
    table = traj.to_pandas()
    assert len(table) == 11
    assert list(table.columns[:8]) == ["t", "x", "y", "v_x", "v_y", "a_x", "a_y", "lam1"]
    np.testing.assert_array_equal(table["a_y"], traj.a[:, 1])
    assert list(table.columns[table.isna().any()]) == ["power"]  # which this system does not state


def test_a_stopped_run_saves_what_it_has(tmp_path: Path) -> None:
    """Also if it stopped before its first step: the start, with no acceleration."""
    system = go.System(mass=[[0.0]], force=[1.0])
    stopped = go.simulate(system, q0=[0.0], v0=[0.0], dt=0.1, t_end=1.0, step_folder=None)
    assert stopped.status is go.Status.UNBOUNDED
    assert stopped.t.tolist() == [0.0]
    assert stopped.q.tolist() == [[0.0]]
    assert np.isnan(stopped.a).all()
    again = go.Trajectory.load(stopped.save(tmp_path / "empty.nc"))
    assert again.status is go.Status.UNBOUNDED
    assert again.q.tolist() == [[0.0]]
    assert again.worst.error_bound == np.inf or np.isnan(again.worst.error_bound)
    assert len(stopped.to_pandas()) == 1


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("backend failed")])
@pytest.mark.parametrize("place", ["os.fsync", "xarray.Dataset.to_netcdf"])
def test_a_failed_save_leaves_nothing_behind(
    place: str, error: Exception, traj: go.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any, **settings: Any) -> None:
        raise error

    older = traj.save(tmp_path / "run.nc").read_bytes()
    monkeypatch.setattr(place, fail)
    with pytest.raises((go.BadInput, RuntimeError, OSError)):
        traj.save(tmp_path / "run.nc")
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]
    assert (tmp_path / "run.nc").read_bytes() == older


def test_where_nothing_can_be_written_is_named(
    traj: go.Trajectory, tmp_path: Path, assert_sentence: Callable[..., None]
) -> None:
    (tmp_path / "folder.nc").mkdir()
    (tmp_path / "file").write_text("")
    for target in (tmp_path / "absent" / "run.nc", tmp_path / "folder.nc", tmp_path / "file" / "run.nc"):
        with pytest.raises(go.BadInput) as caught:
            traj.save(target)
        assert_sentence(caught.value, target.name)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder.nc"]


def test_what_is_no_trajectory_is_named(
    traj: go.Trajectory, tmp_path: Path, assert_sentence: Callable[..., None]
) -> None:
    import xarray as xr

    (tmp_path / "text.nc").write_text("t,x\n0,1\n")
    xr.Dataset({"x": ("time", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    whole = traj.save(tmp_path / "whole.nc").read_bytes()
    (tmp_path / "cut.nc").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.nc").write_bytes(b"")
    for name in ("text.nc", "other.nc", "cut.nc", "empty.nc", "absent.nc"):
        with pytest.raises(go.BadInput) as caught:
            go.Trajectory.load(tmp_path / name)
        assert_sentence(caught.value, name)
    with pytest.raises(go.BadInput, match="The path is 3; give the name of a trajectory file"):
        go.Trajectory.load(3)


def test_a_status_is_equal_to_its_name() -> None:
    motion = go.simulate("two-bar", t_end=1e-3)
    assert motion.status == "solved"
    assert motion.status in {"solved", "inaccurate"}
    assert motion.status != "crashed"
    assert motion.status != go.Status.CRASHED


def test_printed_events_take_a_line_each_and_a_long_list_is_shortened(tmp_path: Path) -> None:
    motion = go.simulate("bouncing-ball")
    lines = str(motion.events).splitlines()
    assert lines[0].startswith("event at t = 0.451523640986: impact floor (Lam_N = ")
    assert len(lines) == 13
    assert lines[8] == f"({len(motion.events) - 12} more events)"
    motion.save(tmp_path / "motion.nc")
    assert str(go.Trajectory.load(tmp_path / "motion.nc").events) == str(motion.events)
    assert str(go.simulate("pendulum", t_end=0.01).events) == "no events"
