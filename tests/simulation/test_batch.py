"""Batches against single motions, and what happens to a member that fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.compiled import modules
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.integration.time_grid import TimeGrid
from gaussopt.simulation import batch_alone, batch_dataset
from gaussopt.simulation.batch_alone import LoneMembers

SINGLE = ("q", "v", "a", "lam", "kinetic", "potential", "power", "position_drift", "velocity_drift")


def relative(x: Any, y: Any) -> float:
    """Largest difference, relative to 1 + the largest entry."""
    return float(np.abs(x - y).max(initial=0.0) / (1.0 + np.abs(y).max(initial=0.0)))


@pytest.fixture(scope="module")
def pendulum() -> go.Problem:
    """A damped point mass on a rod, in Cartesian coordinates; its start follows the length of the rod."""
    x, y, vx, vy, m, l, g, c = sp.symbols("x y vx vy m l g c")
    system = go.System.from_lagrangian(
        [x, y], [vx, vy], kinetic=m * (vx**2 + vy**2) / 2, potential=m * g * y, forces=[-c * vx, -c * vy],
        holonomic=[(x**2 + y**2 - l**2) / 2], parameters={m: 1.0, l: 1.0, g: 9.81, c: 0.1}, name="pendulum",
    )  # fmt: skip
    return go.Problem.of(system, q0=lambda p: [p["l"] * np.sin(1.0), -p["l"] * np.cos(1.0)], t_end=1.0, dt=0.01)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where compilation is switched off."""
    monkeypatch.setattr(modules, "has_llvm", lambda: False)


def oscillator() -> go.System:
    """A mass whose spring may be too stiff for the step, and which the time t = c takes away."""
    t, x, y, vx, vy, k, c = sp.symbols("t x y vx vy k c")
    return go.System.from_lagrangian(
        [x, y], [vx, vy], kinetic=((t - c) ** 2 * vx**2 + (1 + t) * vy**2) / 2, potential=k * y**2 / 2, forces=[1, 0],
        holonomic=[x - y], parameters={k: 1.0, c: 5.0}, t=t, name="fading oscillator",
    )  # fmt: skip


def single(problem: go.Problem, data: Any, i: int, engine: str = "compiled", **settings: Any) -> go.Trajectory:
    """Member i by itself."""
    varied = {str(k): float(x[i]) for k, x in data.coords.items() if x.dims == ("trajectory",) and k != "trajectory"}
    return go.simulate(problem.at(**varied), engine=engine, **settings)


def test_a_batch_of_cranks_is_the_single_motions() -> None:
    """37 members: three blocks, the last one filled up; the last step is shorter and the last instant recorded."""
    random = np.random.default_rng(1)
    settings: dict[str, Any] = {"t_end": 0.2005, "dt": 1e-3, "record_every": 30}
    data = go.simulate_batch(
        "crank-slider", parameters={"m1": random.uniform(0.3, 0.5, 37), "l1": random.uniform(0.1, 0.2, 37)}, **settings
    )
    assert data.attrs["engine"] == "side by side"
    assert (data.status == "solved").all()
    assert data.sizes == {"trajectory": 37, "time": 8, "coordinate": 7, "row": 6}
    assert data.time[-1] == 0.2005
    assert (data.reached == 0.2005).all()
    assert float(data.relative_error.max()) < 1e-12
    for i in (0, 15, 16, 36):
        one = single(go.problem("crank-slider"), data, i, "interpreted", **settings)
        assert one.t.tolist() == data.time.values.tolist()
        for name in SINGLE:
            assert relative(data[name][i].values, getattr(one, name)) < 1e-12, name


@pytest.mark.parametrize("stabilisation", ["none", "projection"])
def test_long_motions_agree_to_rounding(pendulum: go.Problem, stabilisation: str) -> None:
    settings: dict[str, Any] = {"t_end": 20.0, "stabilisation": stabilisation, "record_every": 100}
    data = go.simulate_batch(pendulum, parameters={"l": [0.5, 1.0, 2.0], "m": 0.3}, **settings)
    assert (data.status == "solved").all()
    for i in range(3):
        one = single(pendulum, data, i, **settings)
        assert relative(data.q[i].values, one.q) < 1e-10
        assert relative(data.lam[i].values, one.lam) < 1e-10
    if stabilisation == "projection":
        assert float(data.position_drift.max()) < 1e-14


def test_initial_states_of_their_own(pendulum: go.Problem) -> None:
    """Where q0 is given and v0 is not, v0 is the problem's."""
    angle = np.linspace(-3.0, 3.0, 20)
    data = go.simulate_batch(pendulum, initial={"q0": np.column_stack((np.sin(angle), -np.cos(angle)))}, t_end=0.3)
    assert data.sizes["trajectory"] == 20
    assert relative(data.q[:10].values * [-1, 1], data.q[:9:-1].values) < 1e-13
    one = go.simulate(pendulum, q0=data.q[3, 0].values, t_end=0.3, engine="compiled")
    assert relative(data.q[3].values, one.q) < 1e-12


def test_a_bare_system_and_one_member(pendulum: go.Problem) -> None:
    initial = {"q0": [[0.0, -1.0]], "v0": [1.0, 0.0]}
    data = go.simulate_batch(pendulum.system, initial=initial, dt=0.01, t_end=0.1)
    one = go.simulate(pendulum.system, q0=[0.0, -1.0], v0=[1.0, 0.0], dt=0.01, t_end=0.1, engine="compiled")
    assert relative(data.q[0].values, one.q) < 1e-12


def test_states_alone(pendulum: go.Problem) -> None:
    data = go.simulate_batch(pendulum, parameters={"c": [0.0, 0.2]}, certify=False)
    assert set(data.data_vars) == {"q", "v", "status", "message", "reached"}


def test_results_do_not_depend_on_threads(pendulum: go.Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gaussopt.simulation.batch.cores", lambda: 2)  # one core runs two threads as well
    lengths = np.linspace(0.5, 2.0, 100)
    one, two = (go.simulate_batch(pendulum, parameters={"l": lengths}, threads=k, t_end=0.2) for k in (1, 2))
    assert one.drop_attrs().identical(two.drop_attrs())


def test_failures_stay_with_their_member(pendulum: go.Problem) -> None:
    lengths = np.full(20, 1.0)
    q0 = np.tile([0.0, -1.0], (20, 1))
    lengths[2], q0[5, 1], lengths[11] = np.nan, np.inf, 1.5  # the last one leaves its start off the constraint
    data = go.simulate_batch(pendulum, parameters={"l": lengths, "c": 0.2}, initial={"q0": q0, "v0": [1.0, 0.0]})
    bad = {2: "Parameter 'l' of trajectory 2 is nan", 5: "q0[1] of trajectory 5 is inf", 11: "off the constraints"}
    for i in range(20):
        assert data.status[i] == ("bad_input" if i in bad else "solved")
        assert bool(np.isnan(data.q[i]).any()) == (i in bad)
        if i in bad:
            assert bad[i] in str(data.message[i].values)
            assert np.isnan(data.reached[i])
    projected = go.simulate_batch(
        pendulum, parameters={"l": lengths}, initial={"q0": np.tile([0.1, -1.0], (20, 1))}, stabilisation="projection"
    )
    assert (projected.status == np.where(np.arange(20) == 2, "bad_input", "solved")).all()
    assert float(projected.position_drift.max()) < 1e-14
    one = go.simulate(pendulum, q0=[0.1, -1.0], stabilisation="projection", engine="compiled")
    assert relative(projected.q[0].values, one.q) < 1e-12


def test_a_start_that_cannot_be_computed(plain: None) -> None:
    """A start may have no value for some parameters."""
    x, v, k = sp.symbols("x v k")
    system = go.System.from_lagrangian([x], [v], kinetic=v**2 / 2, potential=k * x**2 / 2, parameters={k: 1.0})
    problem = go.Problem.of(system, q0=lambda p: [np.sqrt(p["k"])], t_end=0.1)
    data = go.simulate_batch(problem, parameters={"k": [1.0, -1.0]})
    assert data.status.values.tolist() == ["solved", "bad_input"]
    assert "trajectory 1" in str(data.message[1].values)


def test_what_generated_code_cannot_do_goes_alone() -> None:
    """A vanishing pivot takes the rank-revealing path, a motion that diverges stops, the rest does not notice."""
    c, k = np.full(18, 5.0), np.ones(18)
    c[3], k[7] = 0.5, 1e9
    initial = {"q0": [0.1, 0.1], "v0": [0.0, 0.0]}
    data = go.simulate_batch(oscillator(), parameters={"c": c, "k": k}, initial=initial, dt=0.125, t_end=6 * 0.125)
    assert "vanishing pivot" in str(data.message[3].values)
    assert data.status[3] == "solved"
    one = go.simulate(oscillator().with_parameters(c=0.5), q0=[0.1, 0.1], v0=[0.0, 0.0], dt=0.125, t_end=0.75)
    assert relative(data.q[3].values, one.q) < 1e-9
    rest = [i for i in range(18) if i not in (3, 7)]
    assert (data.status[rest] == "solved").all()
    assert relative(data.q[rest].values, data.q[[0] * 16].values) == 0.0
    long = go.simulate_batch(oscillator(), parameters={"k": [1.0, 1e9]}, initial=initial, dt=0.125, t_end=4.0)
    assert long.status[0] == "solved"
    assert long.status[1] != "solved"
    assert "diverged" in str(long.message[1].values)
    reached = float(long.reached[1])
    assert 0.0 < reached < 4.0
    assert (np.isfinite(long.q[1]).all("coordinate") == (long.time <= reached)).all()


def test_an_interrupted_batch_keeps_what_it_has(pendulum: go.Problem) -> None:
    def stop(done: float) -> None:
        if done > 0.01:
            raise KeyboardInterrupt

    settings: dict[str, Any] = {"parameters": {"l": [0.5, 1.0, np.nan]}, "t_end": 50.0, "record_every": 5}
    data = go.simulate_batch(pendulum, progress=stop, **settings)
    reached = float(data.reached[0])
    assert 0.0 < reached < 50.0
    assert data.status.values.tolist() == ["interrupted", "interrupted", "bad_input"]
    assert f"Interrupted after t = {reached:.9g}" in str(data.message[0].values)
    known = data.time.values <= reached
    for name in ("q", "lam", "kinetic", "error_bound"):
        assert np.isfinite(data[name][:2, known]).all()
        assert np.isnan(data[name][:, ~known]).all()
    with pytest.raises(KeyboardInterrupt):
        go.simulate_batch(pendulum, progress=stop, keep_interrupted=False, **settings)


def test_without_compilation_the_same_one_by_one(pendulum: go.Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"parameters": {"l": [0.5, np.nan, 2.0]}, "t_end": 0.25, "record_every": 10}
    fast = go.simulate_batch(pendulum, **settings)
    monkeypatch.setattr(modules, "has_llvm", lambda: False)
    slow = go.simulate_batch(pendulum, **settings)
    assert (fast.attrs["engine"], slow.attrs["engine"]) == ("side by side", "one by one")
    assert set(fast.variables) == set(slow.variables)
    assert (fast.status == slow.status).all()
    for name in SINGLE:
        assert relative(slow[name][::2].values, fast[name][::2].values) < 1e-12, name


def test_an_interrupted_batch_one_by_one(pendulum: go.Problem, plain: None) -> None:
    def stop(done: float) -> None:
        raise KeyboardInterrupt

    data = go.simulate_batch(pendulum, parameters={"l": [0.5, 1.0]}, progress=stop, t_end=0.1)
    assert data.status.values.tolist() == ["solved", "interrupted"]
    assert np.isnan(data.q[1]).all()


def test_adaptive_methods_one_by_one(pendulum: go.Problem, plain: None) -> None:
    data = go.simulate_batch(pendulum, parameters={"l": [0.5, 1.0]}, stepper="dop853", dt=0.1, rtol=1e-10)
    assert (data.status == "solved").all()
    assert data.sizes["time"] == 11
    one = go.simulate(pendulum, stepper="dop853", dt=0.1, rtol=1e-10, engine="interpreted")
    assert relative(data.q[1].values, one.q) < 1e-8


def test_contacts_one_by_one() -> None:
    """A ball that strikes the floor between two instants; the height of its bounce depends on e."""
    data = go.simulate_batch("bouncing-ball", parameters={"e": [0.5, 0.9]}, dt=0.01, t_end=0.6, record_every=3)
    assert (data.status == "solved").all()
    assert data.sizes["time"] == 21
    assert data.lam_N.dims == ("trajectory", "time", "contact")
    assert data.q[0, -1, 0] != data.q[1, -1, 0]
    one = go.simulate(go.problem("bouncing-ball", e=0.9), dt=0.01, t_end=0.6)
    assert data.q[1, -1, 0] == one.q[-1, 0]


SPRING = go.System(mass=np.eye(1), force=lambda t, q, v: -q, name="spring")


@pytest.mark.parametrize(("problem", "settings", "here"), [
    ("bouncing-ball", {"parameters": {"e": [0.5, np.nan, 0.6, 0.7]}, "dt": 0.01, "t_end": 0.3}, 2),
    (SPRING, {"initial": {"q0": [[1.0], [2.0]], "v0": [0.0]}, "dt": 0.1, "t_end": 1.0}, 2),
])  # fmt: skip
def test_members_that_go_alone_share_processes(
    problem: Any, settings: dict[str, Any], here: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first and the last one are computed here; plain functions cannot be sent to a process and stay."""
    one = go.simulate_batch(problem, **settings, threads=1)
    done: list[int] = []
    single = LoneMembers._one
    monkeypatch.setattr(batch_alone, "WORTH", 0.0)
    monkeypatch.setattr(batch_alone, "cores", lambda: 2)
    monkeypatch.setattr(LoneMembers, "_one", lambda self, i: (done.append(i), single(self, i))[1])
    assert go.simulate_batch(problem, **settings).equals(one)
    assert len(done) == here


def test_redundant_rows_are_certified_together() -> None:
    """A row that stands twice: forces are not unique, and those of a single motion."""
    x, y, u, v, L = sp.symbols("x y u v L")
    row = x**2 + y**2 - L**2
    system = go.System.from_lagrangian(
        [x, y], [u, v], kinetic=(u**2 + v**2) / 2, potential=9.81 * y, holonomic=[row, 2 * row], parameters={L: 1.0},
        name="rod twice",
    )  # fmt: skip
    problem = go.Problem.of(system, q0=[0.6, -0.8], v0=[0.8, 0.6], t_end=0.05, dt=1e-2)
    data = go.simulate_batch(problem, initial={"v0": np.outer([1.0, 0.5], [0.8, 0.6])})
    assert (data.status == "solved").all()
    assert data.attrs["engine"] == "side by side"
    assert not data.forces_unique.any()
    for i, speed in enumerate((1.0, 0.5)):
        one = go.simulate(problem, v0=[0.8 * speed, 0.6 * speed], engine="compiled", error_estimate=False)
        for column in ("q", "v", "a", "lam"):
            assert relative(data[column][i].values, getattr(one, column)) <= 1e-13, column


def test_tables_of_parameters(pendulum: go.Problem) -> None:
    import pandas as pd

    table = pd.DataFrame({"l": [0.5, 1.0], "m": [1.0, 2.0]}, index=[7, 3])
    data = go.simulate_batch(pendulum, parameters=table)
    assert data.l.values.tolist() == [0.5, 1.0]
    assert (data.status == "solved").all()


def test_laws_of_impact_are_those_of_a_single_motion(assert_sentence: Callable[..., None]) -> None:
    """What the message recommends can be done."""
    settings: dict[str, Any] = {"parameters": {"e": [0.5]}, "dt": 0.05, "t_end": 1.5, "record_every": 10}
    stopped = go.simulate_batch("bouncing-ball", **settings)
    assert stopped.status[0] == "accumulation"
    assert "accumulation='close'" in str(stopped.message[0].values)
    closed = go.simulate_batch("bouncing-ball", accumulation="close", **settings)
    assert closed.status[0] == "solved"
    assert abs(float(closed.q[0, -1, 0])) < 1e-12
    for wrong in ({"accumulation": "closed"}, {"impact": "newtown"}):
        with pytest.raises(UnknownName):
            go.simulate_batch("bouncing-ball", **settings, **wrong)


KEYS = {"row": "p_row", "tangent": "p_tangent", "status": "p_status", "a/b": "a_b", "": "p_", "k 1": "k_1", "q": "p_q",
        "mass": "mass"}  # fmt: skip


def test_a_parameter_may_have_a_name_that_a_file_cannot_hold(tmp_path: Path) -> None:
    """Beside another one that has the name which the file would give it."""
    import xarray as xr

    x, v = sp.symbols("x v")
    others = {name: sp.Symbol(f"p_{name}") for name in KEYS}
    system = go.System.from_lagrangian(
        [x], [v], kinetic=(1 + sum(sp.Symbol(name) ** 2 for name in KEYS)) * v**2 / 2, forces=[sum(others.values())],
        parameters=dict.fromkeys((*map(sp.Symbol, KEYS), *others.values()), 1.0),
    )  # fmt: skip
    problem = go.Problem.of(system, q0=[0.0], t_end=0.1, dt=0.1)
    values = {sp.Symbol(name): [1.0, 3.0 + k] for k, name in enumerate(KEYS)}
    data = go.simulate_batch(problem, parameters=values | dict.fromkeys(others.values(), 2.0))
    data.to_netcdf(tmp_path / "batch.nc", engine="h5netcdf")
    found = xr.load_dataset(tmp_path / "batch.nc", engine="h5netcdf")
    labels = {found[c].attrs.get("long_name", c): found[c].values.tolist() for c in found.coords}
    for k, (name, key) in enumerate(KEYS.items()):
        assert labels[name] == [1.0, 3.0 + k]
        assert labels[str(others[name])] == [2.0, 2.0]
        assert key in found.coords


def test_plain_functions_one_by_one() -> None:
    system = go.System(mass=np.eye(1), force=lambda t, q, v: -q, name="spring")
    data = go.simulate_batch(system, initial={"q0": [[1.0], [2.0]], "v0": [0.0]}, dt=0.1, t_end=1.0)
    assert data.attrs["engine"] == "one by one"
    assert relative(data.q[1].values, 2 * data.q[0].values) < 1e-14
    assert float(data.q[0, -1, 0]) == pytest.approx(np.cos(1.0), abs=1e-5)


def test_a_massless_coordinate_is_certified_by_ranks() -> None:
    """No generated certificate: the recorded states are certified one by one."""
    x, y, vx, vy, m = sp.symbols("x y vx vy m")
    system = go.System.from_lagrangian(
        [x, y], [vx, vy], kinetic=m * vx**2 / 2, forces=[0, -1], holonomic=[x - 2 * y], parameters={m: 1.0},
        name="massless follower",
    )  # fmt: skip
    initial = {"q0": [[2.0, 1.0], [2.0, 1.5]], "v0": [0.0, 0.0]}
    data = go.simulate_batch(system, parameters={"m": [1.0, 2.0]}, initial=initial, dt=0.1, t_end=1.0)
    assert data.attrs["engine"] == "side by side"
    assert data.status.values.tolist() == ["solved", "bad_input"]
    assert data.a[0, -1].values == pytest.approx([-0.5, -0.25])
    assert float(data.error_bound[0].max()) < 1e-14

    def stop(done: float) -> None:
        raise KeyboardInterrupt

    data = go.simulate_batch(system, initial=initial, dt=0.1, t_end=100.0, progress=stop)
    assert data.status.values.tolist() == ["interrupted", "interrupted"]
    assert "not certified" in str(data.message[0].values)
    assert data.q[0, 1].values == pytest.approx([1.9975, 0.99875])


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "Nothing says how many trajectories"),
    ({"parameters": {"l": [1.0, 2.0], "m": [1.0]}}, "parameters['l'] is for 2 trajectories and parameters['m'] for 1"),
    ({"parameters": {"l": [1.0]}, "initial": {"q0": [[1.0, 0.0]] * 3}}, "initial['q0'] for 3"),
    ({"parameters": {"l": []}}, "is empty"),
    ({"parameters": {"l": [[1.0]]}}, "parameters['l'] has shape (1, 1)"),
    ({"parameters": {"l": ["long"]}}, "not an array of numbers"),
    ({"parameters": [1.0]}, "parameters is list"),
    ({"initial": {"q0": [[1.0]]}}, "rows of 1 entries, expected 2"),
    ({"parameters": {"l": [1.0]}, "record_every": 0}, "record_every is 0"),
    ({"parameters": {"l": [1.0]}, "tolerance": 0}, "tolerance is 0; it must be positive"),
    ({"parameters": {"l": [1.0]}, "tolerance": "small"}, "tolerance is small"),
    ({"parameters": {"l": [1.0]}, "t_end": "long"}, "t_end is 'long'; give a number"),
    ({"parameters": {1: [1.0]}}, "parameters has the key 1; give names"),
    ({"parameters": {"l": [1.0], sp.Symbol("l"): [2.0]}}, "parameters names 'l' twice"),
    ({"parameters": {"l": [1.0]}, "threads": 0}, "threads is 0"),
    ({"parameters": {"l": [1.0]}, "dt": -1.0}, "the step size must be positive"),
    ({"parameters": {"l": np.ones(10**4)}, "t_end": 200.0}, "GiB, more than 4; raise record_every to"),
]


@pytest.mark.parametrize(("settings", "culprit"), WRONG)
def test_what_makes_no_sense_is_one_sentence(
    pendulum: go.Problem, assert_sentence: Callable[..., None], settings: dict[str, Any], culprit: str
) -> None:
    with pytest.raises(BadInput) as error:
        go.simulate_batch(pendulum, **settings)
    assert_sentence(error.value, culprit)


@pytest.mark.parametrize("settings", [{"parameters": {"mass": [1.0]}}, {"initial": {"x": [[1.0, 0.0]]}}])
def test_unknown_names(pendulum: go.Problem, settings: dict[str, Any]) -> None:
    with pytest.raises(UnknownName) as error:
        go.simulate_batch(pendulum, **settings)
    assert "  " not in str(error.value)


def test_a_bare_system_needs_its_states(pendulum: go.Problem) -> None:
    with pytest.raises(BadInput, match="q0 and v0"):
        go.simulate_batch(pendulum.system, parameters={"m": [1.0]}, dt=0.1, t_end=1.0)
    with pytest.raises(BadInput, match="dt and t_end"):
        go.simulate_batch(pendulum.system, initial={"q0": [[1.0, 0.0]], "v0": [0.0, 0.0]})


@pytest.mark.parametrize(("end", "every"), [(1.0, 1), (1.0, 3), (1.05, 5), (0.05, 4), (0.95, 10)])
def test_instants(end: float, every: int) -> None:
    instants = TimeGrid(0.0, end, 0.1, every)
    assert instants.times[0] == 0.0
    assert instants.times[-1] == end
    assert len(instants.times) == instants.count == instants.recorded(instants.steps)
    assert (np.diff(instants.times) > 0).all()
    assert [instants.recorded(k) for k in range(instants.steps)] == [k // every + 1 for k in range(instants.steps)]


def test_the_limit_of_a_recording_counts_certificates() -> None:
    members = batch_dataset.BatchMembers.of(go.problem("crank-slider"), {"m1": np.ones(3000)}, None)
    instants = TimeGrid(0.0, 10.0, 1e-3, 1)
    batch_dataset.check_size(members, instants, certify=False)
    with pytest.raises(BadInput, match="certify=False"):
        batch_dataset.check_size(members, instants, certify=True)


def test_a_member_that_fails_at_once_behind_a_good_one(pendulum: go.Problem) -> None:
    start = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}
    data = go.simulate_batch(pendulum, parameters={"m": [1.0, 0.0]}, initial=start, t_end=0.1)
    assert data.status.values.tolist() == ["solved", "acceleration_not_unique"]
    assert np.isfinite(data.q.values[0]).all()
    assert data.q.values[1, 0].tolist() == [1.0, 0.0]
    assert np.isnan(data.q.values[1, 1:]).all()
    assert np.isnan(data.a.values[1]).all()


def test_a_system_without_parameters() -> None:
    x, vx = sp.symbols("x vx")
    system = go.System.from_lagrangian([x], [vx], kinetic=vx**2 / 2, potential=x**2 / 2)
    data = go.simulate_batch(system, initial={"q0": [[1.0], [2.0]], "v0": [[0.0], [0.0]]}, dt=0.01, t_end=0.1)
    assert (data.status == "solved").all()
    np.testing.assert_allclose(data.q.values[:, -1, 0], np.cos(0.1) * np.array([1.0, 2.0]), atol=1e-9)


def test_a_parameter_may_be_called_self() -> None:
    x, vx, k = sp.symbols("x vx self")
    system = go.System.from_lagrangian([x], [vx], kinetic=vx**2 / 2, potential=k * x**2 / 2, parameters={k: 1.0})
    start = {"q0": [1.0], "v0": [0.0]}
    data = go.simulate_batch(system, parameters={"self": [1.0, 4.0]}, initial=start, dt=0.01, t_end=0.1)
    np.testing.assert_allclose(data.q.values[:, -1, 0], np.cos([0.1, 0.2]), atol=1e-9)


def test_a_batch_goes_on_where_it_was_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gaussopt.simulation import batch_folder

    monkeypatch.setattr(batch_folder, "PART", 2)
    given: dict[str, Any] = {"parameters": {"e": [0.5, 0.6, 0.7, 0.8, 0.9]}, "dt": 0.05, "t_end": 0.6}
    whole = go.simulate_batch("bouncing-ball", **given)

    def stop(done: float) -> None:
        if done > 0.5:
            raise KeyboardInterrupt

    kept = go.simulate_batch("bouncing-ball", out=tmp_path / "b", progress=stop, threads=1, **given)
    assert kept.sizes["trajectory"] < 5
    before = (tmp_path / "b" / "part-0000000.nc").stat().st_mtime_ns
    data = go.simulate_batch("bouncing-ball", out=tmp_path / "b", **given)
    np.testing.assert_array_equal(data.q, whole.q)
    assert data.status.values.tolist() == ["solved"] * 5
    assert data.trajectory.values.tolist() == list(range(5))
    assert (tmp_path / "b" / "part-0000000.nc").stat().st_mtime_ns == before
    with pytest.raises(go.BadInput, match="other dt; name another folder"):
        go.simulate_batch("bouncing-ball", out=tmp_path / "b", **given | {"dt": 0.1})


@pytest.mark.parametrize("certify", [True, False])
def test_coefficients_of_restitution_of_a_member_are_checked(certify: bool) -> None:
    found = go.simulate_batch(
        "bouncing-ball", stepper="moreau-jean", parameters={"e": [1.2, 0.5, -0.5]}, t_end=0.2, certify=certify
    )
    assert found.status.values.tolist() == ["bad_input", "solved", "bad_input"]
