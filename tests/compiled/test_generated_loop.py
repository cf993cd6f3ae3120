"""Generated loops against interpreted ones, and what happens where generated code cannot go."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.codegen import sincos
from gaussopt.codegen.certificate import FAR, certificate_source
from gaussopt.codegen.job import Orders
from gaussopt.codegen.pivot_order import elimination, elimination_order
from gaussopt.codegen.step import on_demand
from gaussopt.compiled import modules
from gaussopt.compiled.advances import generated
from gaussopt.compiled.march import recording
from gaussopt.compiled.march.recording import ROW
from gaussopt.core import cache
from gaussopt.core.errors import BadInput, NotAccepted, UnknownName
from gaussopt.core.status import Status
from gaussopt.modelling.callables import System
from gaussopt.simulation import engine

pytestmark = pytest.mark.skipif(not modules.has_llvm(), reason="compilation is switched off")

COLUMNS = ("t", "q", "v", "a", "lam", "kinetic", "potential", "power", "position_drift", "velocity_drift")


def relative(x: Any, y: Any) -> float:
    """Largest difference, relative to 1 + the largest entry."""
    return float(np.abs(x - y).max(initial=0.0) / (1.0 + np.abs(y).max(initial=0.0)))


def both(problem: Any, **settings: Any) -> tuple[go.Trajectory, go.Trajectory]:
    """The motion compiled and interpreted."""
    settings = {"error_estimate": False} | settings
    return tuple(go.simulate(problem, engine=e, **settings) for e in ("compiled", "interpreted"))  # type: ignore[return-value]


def one_step_apart(problem: Any, compiled: go.Trajectory, **settings: Any) -> float:
    """Largest relative distance of a compiled step to the interpreted one from the same state."""
    worst = 0.0
    for i in np.linspace(0, len(compiled.t) - 2, 12).astype(int):
        one = go.simulate(
            problem, "gauss", "kkt", q0=compiled.q[i], v0=compiled.v[i], t0=float(compiled.t[i]),
            t_end=float(compiled.t[i + 1]), engine="interpreted",
            error_estimate=False, **settings,
        )  # fmt: skip
        assert len(one.t) == 2
        for name in ("q", "v", "a", "lam"):
            worst = max(worst, relative(getattr(compiled, name)[i + 1], getattr(one, name)[1]))
    return worst


STEPS = [
    ("crank-slider", "none", "rk4"), ("crank-slider", "projection", "rk4"), ("four-bar", "projection", "rk4"),
    ("knife-edge-body", "none", "rk4"),
    ("crank-slider", "none", "rattle"), ("knife-edge-body", "none", "rattle"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "stabilisation", "stepper"), STEPS)
def test_a_compiled_step_is_the_interpreted_one(name: str, stabilisation: str, stepper: str) -> None:
    problem = go.problem(name)
    motion = go.simulate(
        problem, stepper=stepper, stabilisation=stabilisation, t_end=0.5, engine="compiled", error_estimate=False
    )
    assert motion.status is Status.SOLVED
    assert motion.meta["engine"] == "compiled"
    assert motion.meta["handed_over"] == 0
    assert one_step_apart(problem, motion, stepper=stepper, stabilisation=stabilisation, dt=problem.dt) < 1e-12
    assert motion.relative_error.max() < 1e-12
    assert max(motion.meta["residuals"].values()) < 1e-12


def test_the_long_motion_of_the_crank_is_the_interpreted_one_to_rounding() -> None:
    """Rounding grows along a run."""
    compiled, interpreted = both("crank-slider", t_end=4.0, stabilisation="projection", record_every=125, dt=8e-3)
    for name in ("q", "v"):
        assert relative(getattr(compiled, name)[-1], getattr(interpreted, name)[-1]) < 1e-8
    assert compiled.position_drift.max() < 1e-13


@pytest.mark.parametrize(
    ("stepper", "stabilisation"), [("rk4", "none"), ("rk4", "projection"), ("velocity-gauss", "none")]
)
@pytest.mark.parametrize("name", ["crank-slider", "four-bar", "knife-edge-body"])
def test_the_papers_motions_are_the_interpreted_ones(name: str, stepper: str, stabilisation: str) -> None:
    settings: dict[str, Any] = {
        "stepper": stepper, "stabilisation": stabilisation, "t_end": 0.03, "dt": 1e-3, "error_estimate": False,
    }  # fmt: skip
    compiled, interpreted = both(name, **settings)
    thinned = go.simulate(name, engine="compiled", record_every=7, **settings)
    assert compiled.meta["engine"] == "compiled"
    assert len(compiled.t) == 31
    for column in COLUMNS:
        known = getattr(interpreted, column)
        assert relative(getattr(compiled, column), known) < 1e-11, column
        assert relative(getattr(thinned, column), known[[0, 7, 14, 21, 28, 30]]) < 1e-11, column


@pytest.mark.parametrize("stepper", ["dop853", "rk45"])
@pytest.mark.parametrize("settings", [{"dt": 0.05}, {"dt": None}, {"dt": 0.03, "record_every": 4}, {"record_every": 3}])
@pytest.mark.parametrize("stabilisation", ["none", "projection"])
def test_error_control_takes_the_same_steps(stepper: str, settings: dict[str, Any], stabilisation: str) -> None:
    """The number of steps is the same; their ends differ where the error estimate is near rounding."""
    compiled, interpreted = both("crank-slider", stepper=stepper, t_end=0.2, stabilisation=stabilisation, **settings)
    assert compiled.status is Status.SOLVED
    assert len(compiled.t) == len(interpreted.t)
    assert compiled.meta["steps"] == interpreted.meta["steps"] >= len(compiled.t) - 1
    assert compiled.t[-1] == interpreted.t[-1] == 0.2
    assert relative(compiled.q[-1], interpreted.q[-1]) < 1e-8
    if settings.get("dt"):
        assert relative(compiled.v, interpreted.v) < 1e-6


def test_dop853_compiled_follows_the_reference() -> None:
    problem = go.problem("crank-slider")
    reference = problem.reference(problem.references[0].name)
    end = float(reference.t[-1])
    motion = go.simulate(
        problem, stepper="dop853", stabilisation="projection", t_end=end, rtol=1e-12, atol=1e-12, engine="compiled",
        error_estimate=False,
    )  # fmt: skip
    assert motion.status is Status.SOLVED
    assert relative(motion.q[-1], reference.q[-1]) < 1e-7


def test_the_last_step_is_shortened_and_recorded() -> None:
    compiled, interpreted = both("crank-slider", t_end=0.0105, dt=1e-3, record_every=4)
    assert compiled.t.tolist() == pytest.approx(interpreted.t.tolist(), abs=1e-15)
    assert compiled.t[-1] == 0.0105
    assert relative(compiled.q, interpreted.q) < 1e-12
    assert compiled.meta["steps"] == interpreted.meta["steps"] == 11


def fading_mass() -> System:
    """A mass that vanishes at t = 0.5 in a coordinate which a joint holds: regular, but not in the order of pivots."""
    t, x, y, vx, vy = sp.symbols("t x y vx vy")
    return go.System.from_lagrangian(
        [x, y], [vx, vy], kinetic=((t - sp.Rational(1, 2)) ** 2 * vx**2 + (1 + t) * vy**2) / 2, forces=[1, 0],
        holonomic=[x - y], t=t, name="fading mass",
    )  # fmt: skip


@pytest.mark.parametrize("stepper", ["rk4", "dop853"])
def test_a_vanishing_pivot_hands_the_step_over_and_says_so(stepper: str) -> None:
    system = fading_mass()
    settings: dict[str, Any] = {"q0": [0.0, 0.0], "v0": [0.0, 0.0], "t_end": 1.0, "dt": 0.125, "stepper": stepper}
    compiled, interpreted = both(system, **settings)
    assert compiled.status is Status.SOLVED
    assert compiled.meta["handed_over"] > 0
    assert "vanishing pivot and went through the solver kkt" in compiled.message
    assert relative(compiled.q[-1], interpreted.q[-1]) < 1e-8
    assert relative(compiled.a, interpreted.a) < 1e-8


def test_a_mass_that_vanishes_altogether_stops_the_motion_as_ever(tmp_path: Any) -> None:
    t, x, v = sp.symbols("t x v")
    system = go.System.from_lagrangian([x], [v], kinetic=(1 - t) * v**2 / 2, forces=[1 + v / 2], t=t, name="fading")
    for motion in both(system, q0=[0.0], v0=[0.0], t_end=2.0, dt=0.25, step_folder=tmp_path):
        assert motion.status is not Status.SOLVED
        assert 0.25 <= motion.t[-1] < 1.0
        assert motion.message.startswith("Stopped at t = ")
        assert np.isfinite(motion.q).all()


ENDS = {
    "a root": (lambda x: sp.sqrt(1 - x), [0.0], "The equations of 'a root' are undefined"),
    "a power": (lambda x: -(x**4), [1.0], "not finite"),
}
"""Potentials whose motion cannot go on, where it starts, and what is said."""


@pytest.mark.parametrize(
    ("stepper", "every"), [("rk4", 1), ("rk4", 7), ("velocity-gauss", 1000), ("dop853", 1), ("dop853", 1000)]
)
@pytest.mark.parametrize("end", ["a root", "a power"])
def test_where_and_why_a_motion_ends_is_said_as_in_an_interpreted_one(stepper: str, every: int, end: str) -> None:
    x, v = sp.symbols("x v")
    potential, q0, why = ENDS[end]
    system = go.System.from_lagrangian([x], [v], kinetic=v**2 / 2, potential=potential(x), name=end)
    compiled, interpreted = both(
        system, q0=q0, v0=[1.0], t_end=3.0, dt=1e-2, stepper=stepper, record_every=every, step_folder=None
    )
    assert compiled.status is interpreted.status is Status.BAD_INPUT
    assert np.isfinite(compiled.q).all()
    if stepper == "dop853":
        assert compiled.message[:27] == interpreted.message[:27]  # Stopped after t = 0.7530905
        assert compiled.meta["steps"] == pytest.approx(interpreted.meta["steps"], rel=0.02)  # rounding next to a pole
        return
    assert why in compiled.message
    assert compiled.message == interpreted.message
    assert compiled.t.tolist() == pytest.approx(interpreted.t.tolist(), abs=1e-14)
    assert compiled.meta["steps"] == interpreted.meta["steps"]


def test_a_state_that_cannot_be_written_down_ends_the_motion_before_it() -> None:
    """A spring too stiff for the step: the energy overflows while the state does not."""
    x, v = sp.symbols("x v")
    system = go.System.from_lagrangian([x], [v], kinetic=v**2 / 2, potential=5e11 * x**2, name="spring")
    compiled, interpreted = both(system, q0=[1.0], v0=[0.0], t_end=1.0, dt=0.01, step_folder=None)
    assert "energy of 'spring' is not finite at t = 0.11" in compiled.message
    assert compiled.message[:120] == interpreted.message[:120]
    assert compiled.t.tolist() == interpreted.t.tolist()
    assert compiled.meta["steps"] == interpreted.meta["steps"]


def test_angles_too_large_for_the_polynomials_are_handed_over() -> None:
    x, v = sp.symbols("x v")
    system = go.System.from_lagrangian([x], [v], kinetic=v**2 / 2, potential=-sp.cos(x), name="far pendulum")
    compiled, interpreted = both(system, q0=[2.0e6], v0=[0.0], t_end=0.02, dt=0.01)
    assert compiled.meta["handed_over"] == 2
    assert relative(compiled.q, interpreted.q) < 1e-15


def test_without_constraints_and_without_forces() -> None:
    x, v, m = sp.symbols("x v m")
    system = go.System.from_lagrangian([x], [v], kinetic=m * v**2 / 2, parameters={m: 2.0}, name="free")
    motion = go.simulate(system, q0=[1.0], v0=[3.0], t_end=1.0, dt=0.1, stabilisation="projection", engine="compiled")
    assert motion.q[-1, 0] == pytest.approx(4.0, rel=1e-14)
    assert motion.lam.shape == (11, 0)


@pytest.mark.parametrize(
    ("problem", "settings", "why"),
    [
        ("crank-slider", {"solver": "osqp"}, "not gauss with osqp"),
        ("crank-slider", {"formulation": "dual", "solver": "kkt"}, "not dual with kkt"),
        ("crank-slider", {"stepper": "radau"}, "'radau' has no generated form"),
        ("crank-slider", {"stabilisation": "baumgarte"}, "'baumgarte' has no generated form"),
        ("knife-edge-body", {"state": "quasi-velocity"}, "quasi-velocities"),
    ],
)
def test_what_cannot_be_compiled_is_said(problem: str, settings: dict[str, Any], why: str) -> None:
    with pytest.raises(NotAccepted, match=why):
        go.simulate(problem, engine="compiled", **settings)


def test_a_plain_system_cannot_be_compiled() -> None:
    system = go.System([[1.0]], [1.0])
    with pytest.raises(NotAccepted, match="not given by energies"):
        go.simulate(system, q0=[0.0], v0=[0.0], t_end=1.0, dt=0.1, engine="compiled")
    with pytest.raises(NotAccepted, match="so many bodies is evaluated in tables"):
        go.simulate(go.problem("n-four-bar", variant="N=40"), engine="compiled")


def test_wrong_engines_and_strides() -> None:
    with pytest.raises(UnknownName, match="compiled"):
        go.simulate("crank-slider", engine="compild")
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(BadInput, match="record_every"):
            go.simulate("crank-slider", record_every=wrong)  # type: ignore[arg-type]


def test_without_compilation_a_motion_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "has_llvm", lambda: False)
    monkeypatch.setattr(engine, "MANY", 100)
    assert go.simulate("knife-edge-body", t_end=0.1, dt=1e-3, error_estimate=False).meta["engine"] == "interpreted"
    with pytest.raises(NotAccepted, match="compilation is switched off"):
        go.simulate("knife-edge-body", t_end=0.1, engine="compiled")


def test_long_runs_that_name_nothing_are_compiled_by_default() -> None:
    short = go.simulate("knife-edge-body", t_end=0.02)
    named = go.simulate("knife-edge-body", "gauss", "kkt", t_end=0.02)
    long = go.simulate("knife-edge-body", t_end=0.5, dt=1e-4)
    assert [m.meta["engine"] for m in (short, named, long)] == ["interpreted", "interpreted", "compiled"]


def test_an_interrupted_motion_keeps_what_was_computed() -> None:
    def stop(fraction: float) -> None:
        raise KeyboardInterrupt

    motion = go.simulate("crank-slider", t_end=2.0, engine="compiled", keep_interrupted=True, progress=stop)
    assert motion.status is Status.INTERRUPTED
    assert 1 < len(motion.t) < 2001


def test_a_start_off_the_constraints_is_refused() -> None:
    q = go.problem("crank-slider").q0 + 0.1
    with pytest.raises(BadInput, match="off the constraints"):
        go.simulate("crank-slider", q0=q, engine="compiled")
    moved = go.simulate("crank-slider", q0=q, engine="compiled", stabilisation="projection", t_end=0.01)
    assert moved.position_drift.max() < 1e-13


def test_rows_whose_certificate_fails_are_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate that never passes costs time, not the answer."""
    monkeypatch.setattr(generated, "passing", lambda table, found, tolerance: np.zeros(len(table), dtype=bool))
    compiled, interpreted = both("crank-slider", t_end=0.01)
    for column in COLUMNS:
        assert relative(getattr(compiled, column), getattr(interpreted, column)) < 1e-12


def test_generated_files_are_kept_and_mended() -> None:
    def motion() -> go.Trajectory:
        return go.simulate("knife-edge-body", t_end=0.02, engine="compiled")

    first = motion()
    found = list(cache.cache_folder().glob("knife*rk4*.py"))
    assert found
    for file in found:
        assert "def slope(" in file.read_text()
        file.write_text("damaged")
        sys.modules.pop(f"gaussopt_generated_{file.stem}", None)
    assert np.array_equal(motion().q, first.q)


def test_machine_code_and_its_source_certify_alike() -> None:
    problem = go.problem("crank-slider")
    system = problem.system
    motion = go.simulate(problem, t_end=0.05, engine="compiled", stabilisation="projection")
    orders = Orders.of(system.model, system.constant_entries, system.evaluate(0.0, problem.q0, problem.v0))
    states, p = np.hstack((motion.q, motion.v)).ravel(), list(system.parameters.values())
    table, plain = np.zeros((2, len(motion.t) * (ROW + system.n + 2 * system.m)))
    rows: Any = modules.rows(system.model, system.source, orders)
    generated = next(x for name, x in sys.modules.items() if name.startswith("gaussopt_generated_crank_slider_rows"))
    given = FunctionType(rows.__wrapped__.__code__, {**vars(recording), **vars(generated)})
    for found, function in ((table, rows), (plain, given)):
        function(len(motion.t), motion.t, states, np.array(p), found)
    assert table.any()
    np.testing.assert_allclose(table, plain, rtol=1e-12, atol=1e-13)


def test_sine_and_cosine_to_the_last_place() -> None:
    names: dict[str, Any] = {"floor": math.floor, "int32": int}
    exec(sincos.sine_cosine(), names)
    random = np.random.default_rng(1)
    points = [*random.uniform(-10, 10, 2000), *random.uniform(-1e6, 1e6, 2000), 0.0, math.pi / 2, -math.pi, 1e-300]
    for x in map(float, points):
        sine, cosine = names["sine_cosine"](x)
        assert abs(sine - math.sin(x)) <= 2.3e-16
        assert abs(cosine - math.cos(x)) <= 2.3e-16


@pytest.mark.parametrize("stepper", ["rk4", "velocity-gauss", "rattle", "dop853"])
def test_engines_agree_on_coordinates_without_mass(stepper: str) -> None:
    """A height without mass and two curved constraints: both engines project in the mass metric."""
    x, y, z, vx, vy, vz = sp.symbols("x y z vx vy vz")
    system = go.System.from_lagrangian(
        [x, y, z], [vx, vy, vz], kinetic=2 * vx**2 + vy**2 / 2, potential=9.81 * y + 3 * x**2,
        holonomic=[x**2 + y**2 + z**2 / 3 - 1, z - 2 * x * y - 3 * y / 10],
    )  # fmt: skip
    start = {"q0": [0.8, -0.4, -0.7], "v0": [0.0] * 3}  # the first projection is large
    compiled, interpreted = both(
        system, formulation="gauss", solver="kkt", dt=5e-3, t_end=0.2, stepper=stepper, stabilisation="projection",
        step_folder=None, **start,
    )  # fmt: skip
    assert compiled.status is interpreted.status is Status.SOLVED
    for column in COLUMNS:
        assert relative(getattr(compiled, column), getattr(interpreted, column)) <= 1e-11, column


def saddle(M: np.ndarray, J: np.ndarray) -> np.ndarray:
    return np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])


def test_orders_of_pivots() -> None:
    """Massless coordinates come after the rows that hold them; a row on massless coordinates alone has no order."""
    M, J = np.diag([2.0, 0.0]), np.array([[1.0, -1.0]])
    varying = np.zeros((3, 3), dtype=bool)
    order = elimination_order(saddle(M, J), varying, 2)
    assert order is not None
    assert order.index(1) > order.index(2)
    assert elimination_order(saddle(M, np.array([[0.0, 1.0]])), varying, 2) is None


def test_rows_on_massless_directions_are_added_and_redundant_rows_left_out() -> None:
    """Weights are powers of two like the masses; of two rows that say the same the one that comes last is spare."""
    M, J = np.diag([2.0, 0.0, 3.0]), np.array([[0.0, 2.0, 0.0], [1.0, 0.0, -1.0], [-2.0, 0.0, 2.0]])
    found = elimination(M, J, (np.ones((3, 3), dtype=bool), np.ones((3, 3), dtype=bool)))
    assert found is not None
    assert found.added == ((0, 1.0),)
    assert sorted(found.order) == [0, 1, 2, 3, 4, 5]
    assert found.spare == 1
    assert found.order[-1] in (4, 5)
    assert elimination(np.diag([2.0, 0.0, 0.0]), J[:1], (np.ones((3, 3), bool), np.ones((1, 3), bool))) is None


@pytest.mark.parametrize("stabilisation", ["none", "projection"])
@pytest.mark.parametrize("stepper", ["rk4", "semi-implicit", "velocity-gauss", "rattle"])
def test_massless_directions_and_redundant_rows_are_compiled(stepper: str, stabilisation: str) -> None:
    """A pendulum whose row stands twice, with a third coordinate that has no mass and is held by a row alone."""
    x, y, z, vx, vy, vz = sp.symbols("x y z vx vy vz")
    row = x**2 + y**2 - 1
    system = go.System.from_lagrangian(
        [x, y, z], [vx, vy, vz], kinetic=(vx**2 + vy**2) / 2, potential=9.81 * y,
        holonomic=[row, 2 * row, z**3 + z - x], name="held twice",
    )  # fmt: skip
    z0 = float(np.real(np.roots([1.0, 0.0, 1.0, -0.6])[np.isreal(np.roots([1.0, 0.0, 1.0, -0.6]))][0]))
    start: dict[str, Any] = {"q0": [0.6, -0.8, z0], "v0": [0.8, 0.6, 0.8 / (3 * z0**2 + 1)]}
    quick, slow = both(
        system, **start, dt=1e-3, t_end=0.03, stepper=stepper, stabilisation=stabilisation, record_every=10
    )
    assert quick.status is slow.status is Status.SOLVED
    assert quick.meta["engine"] == "compiled"
    assert quick.meta["handed_over"] == 0
    for column in ("q", "v", "a", "lam"):
        assert relative(getattr(quick, column), getattr(slow, column)) <= 1e-11, column


def in_three_rows(third: Callable[[Any, Any], Any]) -> tuple[System, dict[str, Any]]:
    """Two masses on two rods, and a third row made of the two rows of the rods."""
    x, y, z, w, vx, vy, vz, vw = sp.symbols("x y z w vx vy vz vw")
    rods = x**2 + y**2 - 1, (z - x) ** 2 + (w - y) ** 2 - 1
    system = go.System.from_lagrangian(
        [x, y, z, w], [vx, vy, vz, vw], kinetic=vx**2 + vy**2 + vz**2 / 2 + vw**2 / 2 + vy * vw / 5,
        potential=9.81 * (y + w), holonomic=[rods[0], third(*rods), rods[1]], name="two rods in three rows",
    )  # fmt: skip
    return system, {"q0": [0.6, -0.8, 1.6, -0.8], "v0": [0.8, 0.6, 0.8, -0.4]}


@pytest.mark.parametrize("stepper", ["rk4", "dop853"])
def test_states_with_redundant_rows_are_certified_by_generated_code(
    stepper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Multipliers are those of least norm, as the solver's; the words on forces that are not unique are the same."""
    system, start = in_three_rows(lambda a, b: 3 * a - b / 2)
    settings = {**start, "dt": 1e-3, "t_end": 0.05, "stepper": stepper, "error_estimate": False}
    slow = go.simulate(system, engine="interpreted", **settings)

    def called(*state: Any) -> None:
        raise AssertionError("a recorded state was certified by itself")

    monkeypatch.setattr(generated.GeneratedAdvance, "_write", called)
    quick = go.simulate(system, engine="compiled", **settings)
    assert quick.status is slow.status is Status.SOLVED
    assert quick.message == slow.message
    assert quick.meta["open_forces"] == slow.meta["open_forces"] == {"lam": [0, 1, 2]}
    assert not quick.forces_unique.any()
    assert (quick.error_bound <= 1e-12).all()
    for column in COLUMNS:
        assert relative(getattr(quick, column), getattr(slow, column)) <= 1e-10, column


def test_a_certificate_without_redundant_rows_is_refused_where_they_do_not_depend_on_the_others() -> None:
    """Rows 1e-9 apart, or with gamma 1e-9 apart, are left to singular values; the error of others is the true one."""
    n, J = 3, np.array([[1.0, 2.0, 0.5], [2.0, 4.0, 1.0], [0.0, 1.0, -1.0]])
    M = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 4.0]])
    Q, gamma, a = np.array([1.0, -2.0, 3.0]), np.array([1.0, 2.0, -1.0]), np.array([0.3, -0.2, 0.7])
    space: dict[str, Any] = {}
    exec(str(certificate_source(n, [True] * 9, [True] * 9, [1])), space)

    def found(J: Any, gamma: Any) -> tuple[bool, list[float], list[float]]:
        out, lam = [0.0] * 15, [0.0, 4.0, -1.0]
        step = np.concatenate((M.ravel(), np.zeros(n), Q, J.ravel(), gamma))
        return space["certificate"](step.tolist(), a.tolist(), lam, out), out, lam

    good, out, lam = found(J, gamma)
    whole = np.linalg.lstsq(np.block([[M, -J.T], [J, np.zeros((n, n))]]), np.concatenate((Q, gamma)), rcond=None)[0]
    error = a - whole[:n]
    assert good
    assert out[0] == pytest.approx(error @ M @ error, rel=1e-12)
    assert out[2] == pytest.approx(((J @ a - gamma) ** 2).sum(), rel=1e-12)
    root = np.linalg.cholesky(np.linalg.inv(M)).T
    assert out[9:12] == pytest.approx(np.linalg.lstsq(root @ J.T, root @ (M @ a - Q), rcond=None)[0], rel=1e-11)
    assert lam == pytest.approx([1.6, 3.2, -1.0], rel=1e-12)  # exerts 8 times the first row, with least norm
    assert out[13] == FAR
    for other in ((J + 1e-9 * np.eye(3)[[0, 1, 0]], gamma), (J, gamma + np.array([0.0, 1e-9, 0.0]))):
        assert not found(*other)[0]


def test_a_top_by_quaternion_is_compiled() -> None:
    slow, quick = (
        go.simulate("heavy-top", dt=1e-3, t_end=0.02, record_every=10, engine=engine, error_estimate=False)
        for engine in ("interpreted", "compiled")
    )
    assert (quick.meta["engine"], quick.meta["handed_over"]) == ("compiled", 0)
    for column in ("q", "v", "a", "lam"):
        assert relative(getattr(quick, column), getattr(slow, column)) <= 1e-11, column


def test_a_long_motion_that_cannot_be_compiled_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MANY", 100)  # accelerations of a long motion
    monkeypatch.setattr(engine, "SLOW", 100)
    motion = go.simulate(
        go.System([[1.0]], [-9.81]), q0=[0.0], v0=[0.0], dt=1e-3, t_end=0.05, error_estimate=False
    )  # fmt: skip
    assert motion.meta["why_interpreted"] == "the system is not given by energies (System.from_lagrangian)"
    assert motion.warnings == (f"Every step was interpreted, which is slow, because {motion.meta['why_interpreted']}.",)


def test_long_code_is_compiled_where_it_is_asked_for_and_for_long_motions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "QUICK_LINES", 3)
    monkeypatch.setattr(generated, "LONG", 400)  # accelerations that are worth the compilation
    monkeypatch.setattr(engine, "MANY", 100)
    x, v, k = sp.symbols("x v k")

    def run(letter: str, t_end: float, chosen: str) -> go.Trajectory:  # stored code is used whatever its length
        system = go.System.from_lagrangian(
            [x], [v], kinetic=v**2 / 2, potential=k * sp.cos(x) ** 3, parameters={k: 2.0}, name=f"long-code-{letter}"
        )
        return go.simulate(system, q0=[0.3], v0=[0.0], dt=1e-3, t_end=t_end, engine=chosen, error_estimate=False)

    short, asked, long = run("a", 0.05, "auto"), run("b", 0.05, "compiled"), run("c", 0.1, "auto")
    assert [m.meta["engine"] for m in (short, asked, long)] == ["interpreted", "compiled", "compiled"]
    assert relative(short.q, asked.q) < 1e-13
    assert (
        "generated lines, more than 3 (joint coordinates often have fewer; the engine"
        in run("d", 0.05, "auto").meta["why_interpreted"]
    )


def test_constant_pivots_come_first() -> None:
    """Theirs are the divisions that are not repeated; behind a varying row no pivot is constant."""
    M, J = np.diag([2.0, 3.0, 4.0]), np.array([[1.0, 0.5, 0.0], [0.0, 1.0, -1.0]])
    constant = np.ones((5, 5), dtype=bool)
    constant[3, 1] = constant[1, 3] = False
    order = elimination_order(saddle(M, J), constant, 3)
    assert order is not None
    assert set(order[-2:]) == {1, 3}


def test_lines_are_written_where_they_are_needed() -> None:
    lines = ["a = 2.0e-5*x", "b = 1.0/a", "c = x - y", "d = c*c", "e = d + b", "f = a"]
    assert on_demand(lines, ["e", None, "x"]) == tuple(lines[i] for i in (2, 3, 0, 1, 4, 5))


def test_a_body_to_which_many_are_joined_comes_late() -> None:
    """Eliminated before, it would couple the rows of all that are joined to it, though its own pivots are constant."""
    legs, random = 6, np.random.default_rng(0)
    n, m = 6 * (legs + 1), 3 * legs
    J, constant = np.zeros((m, n)), np.ones((n + m, n + m), dtype=bool)
    for leg in range(legs):
        at, rows = 6 * (leg + 1), slice(3 * leg, 3 * leg + 3)
        J[rows, :3], J[rows, at : at + 3] = np.eye(3), -np.eye(3)
        J[rows, 3:6], J[rows, at + 3 : at + 6] = random.uniform(-1.0, 1.0, (2, 3, 3))
    constant[n:, :n] = np.isin(J, (0.0, 1.0, -1.0))
    constant[:n, n:] = constant[n:, :n].T
    order = elimination_order(saddle(np.eye(n), J), constant, n)
    assert order is not None
    assert set(range(6)) < set(order[-8:])


def test_a_compiled_motion_waits_for_nothing_that_it_does_not_need(run_python: Callable[..., str]) -> None:
    code = (
        "import sys, gaussopt as go; go.simulate('crank-slider', engine='compiled', t_end=0.01); "
        "print([name for name in ('numba', 'scipy.linalg', 'xarray', 'pandas') if name in sys.modules])"
    )
    assert run_python(code).strip() == "[]"


@pytest.mark.parametrize("runner", ["interpreted", "compiled"])
def test_powers_that_are_no_real_numbers_end_the_motion_with_a_sentence(runner: str) -> None:
    x, vx = sp.symbols("x vx")
    system = go.System.from_lagrangian([x], [vx], kinetic=vx**2 / 2, forces={x: -(x**1.5)})
    motion = go.simulate(system, q0=[0.1], v0=[-1.0], dt=0.01, t_end=1.0, engine=runner, step_folder=None)
    assert motion.status is Status.BAD_INPUT
    assert motion.t[-1] == pytest.approx(0.1, abs=0.02)
    assert motion.message.startswith("Stopped after t = 0.")


@pytest.mark.parametrize("dt", [0.1, None])
def test_an_adaptive_motion_that_gets_stuck_keeps_what_was_computed(dt: float | None) -> None:
    x, vx = sp.symbols("x vx")
    system = go.System.from_lagrangian([x], [vx], kinetic=vx**2 / 2, forces={x: x**3})
    compiled, interpreted = both(system, q0=[1.0], v0=[0.0], t_end=40.0, dt=dt, stepper="dop853", step_folder=None)
    assert len(compiled.t) > 10
    assert compiled.status is interpreted.status
    assert "the integrator stopped" in compiled.message.lower()
    if dt is not None:
        assert len(compiled.t) == len(interpreted.t)


def test_what_only_contacts_have_is_refused() -> None:
    with pytest.raises(NotAccepted, match="is for motions with contacts"):
        go.simulate("crank-slider", stepper="moreau-jean", t_end=0.01, dt=0.005)


@pytest.mark.parametrize("settings", [{"engine": "compiled"}, {"stepper": "rattle"}, {"stepper": "dop853"}])
def test_a_start_that_is_refused_ends_in_the_same_sentence_as_interpreted(settings: dict[str, Any]) -> None:
    x, y, vx, vy, m = sp.symbols("x y vx vy m")
    system = go.System.from_lagrangian(
        [x, y], [vx, vy], kinetic=m * (vx**2 + vy**2) / 2, potential=9.81 * y, holonomic=[x**2 + y**2 - 1],
        parameters={m: -1.0},
    )  # fmt: skip
    with pytest.raises(BadInput, match="the mass matrix M is indefinite"):
        go.simulate(system, q0=[1.0, 0.0], v0=[0.0, 0.0], t_end=0.1, dt=1e-2, **settings)
