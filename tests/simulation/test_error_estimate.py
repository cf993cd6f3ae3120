"""The estimated error of a motion against references, and what is said of motions that are inexact."""

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.bodies import AppliedTorque, Drive, Prismatic, Revolute, Row
from gaussopt.core import registry
from gaussopt.modelling.reference import Reference
from gaussopt.simulation.error_estimate import BOUND, amplitudes

ROUNDING = 1e-10
"""Errors relative to the amplitude below which rounding may hide what the steps do."""

PAPERS = [
    (name, reference)
    for name in ("crank-slider", "four-bar", "knife-edge-body", "sliding-rod", "two-bar")
    for reference in go.problem(name).references
    if reference.name != "crank-A-20s"  # chaotic enough to diverge at 0.01 s
]


def _off(motion: go.Trajectory, exact: Any) -> np.ndarray:
    """Largest error of each coordinate at instants that both have."""
    last = np.searchsorted(motion.t, exact.t + 1e-9) - 1
    both = np.abs(motion.t[last] - exact.t) < 1e-9
    return np.abs(motion.q[last] - exact.q)[both].max(axis=0)


def _amplitudes(problem: go.Problem, motion: go.Trajectory) -> np.ndarray:
    mass = problem.system.evaluate(0.0, problem.q0, problem.v0).M.diagonal()
    return amplitudes(motion.q, mass)


@pytest.mark.parametrize("dt", [1e-2, 2e-3])
@pytest.mark.parametrize(("name", "reference"), PAPERS, ids=[r.name for _, r in PAPERS])
def test_the_estimate_is_within_a_factor_of_three_of_the_error(name: str, reference: Reference, dt: float) -> None:
    problem, exact = go.problem(name, **reference.settings), reference.load()
    run = partial(go.simulate, problem, t_end=exact.t[-1], step_folder=None, engine="compiled")
    motion = run(dt=dt)
    if reference.events:
        # The instants of these references are others than those of the steps, but for start and end.
        fine = run(dt=dt / 10, error_estimate=False)
        np.testing.assert_allclose(fine.q[-1], exact.q[-1], atol=1e-10)
        exact = fine
    error, size = _off(motion, exact), _amplitudes(problem, motion)
    assert motion.status is go.Status.SOLVED
    seen = error > ROUNDING * size
    assert (motion.error_estimate[seen] < 3 * error[seen]).all()
    assert (motion.error_estimate[seen] > error[seen] / 3).all()
    assert (motion.error_estimate[~seen] < 10 * ROUNDING * size[~seen]).all()
    assert bool(motion.warnings) == bool((error > BOUND * size).any())


IN_SPACE = {"box-wall", "four-leg-table", "pinched-capsule", "sliding-cube", "sphere-pile", "tippe-top"}
"""Problems that rest in space, where every motion says that uniqueness is not proved, or that are too long for here."""


ENDS = {
    "andrews-squeezer": 0.02, "bouncing-ball": 3.0, "bricard": 0.1, "heavy-top": 0.1, "knife-edge-body": 10.0,
    "spatial-slider-crank": 0.5, "spinning-sphere": 0.4, "woodpecker": 0.3,
}  # fmt: skip
"""Of motions that cost much and are off, or not, as early as this, s; with 5 s, rk4 would end in no motion at all."""


@pytest.mark.parametrize("name", [name for name in registry.names("problem") if name not in IN_SPACE])
def test_no_motion_that_is_off_is_called_solved_without_a_warning(name: str) -> None:
    problem = go.problem(name)
    engine = "interpreted" if name == "bricard" else "compiled"  # redundant rows have no fixed order of pivots
    run = partial(go.simulate, problem, accumulation="close", step_folder=None, t_end=ENDS.get(name))
    exact = run(dt=2.5e-3 if problem.dt >= 1e-3 else problem.dt, engine=engine, error_estimate=False)
    for dt, stepper in ((2e-2, "rk4"), (1e-1, "rk4"), (2e-2, "semi-implicit")):
        motion = run(dt=dt, stepper=stepper, engine=engine if stepper == "rk4" else "auto")
        if motion.status is go.Status.SOLVED:
            error, size = _off(motion, exact), _amplitudes(problem, exact)
            off = bool((error > BOUND * size).any())
            assert any("inexact" in warning for warning in motion.warnings) or not off, (dt, stepper, error)
            # Nor does a motion that is far better carry one.
            assert off or not motion.warnings or (error > BOUND / 3 * size).any(), (dt, stepper, motion.warnings)


@pytest.mark.parametrize("stepper", ["rk45", "dop853"])
def test_the_estimate_of_adaptive_motions_is_no_smaller_than_the_error(stepper: str) -> None:
    reference = go.problem("crank-slider").references[0]
    exact = reference.load()
    run = partial(go.simulate, "crank-slider", t_end=2.0, stepper=stepper, engine="compiled")
    for tolerance in (1e-4, 1e-7):
        for dt in (0.02, None):
            motion = run(dt=dt, rtol=tolerance, atol=tolerance)
            error = _off(motion, exact)
            assert (motion.error_estimate > error / 1.5).all()
            assert dt is None or (motion.error_estimate < 200 * error).all()


def test_drift_is_told_with_the_remedy_where_no_error_is_estimated() -> None:
    motion = go.simulate("crank-slider", dt=1e-2, error_estimate=False)
    assert np.isnan(motion.error_estimate).all()
    assert "leaves its constraints" in motion.warnings[0]
    assert "projection" in motion.warnings[0]
    assert not go.simulate("crank-slider", dt=1e-2, error_estimate=False, stabilisation="projection").warnings


def test_an_inexact_formula_that_the_tolerance_lets_pass_is_told() -> None:
    motion = go.simulate("crank-slider", "least-squares-as-printed", tolerance=np.inf, t_end=0.01)
    assert motion.status is go.Status.SOLVED
    assert "Accelerations are inexact" in motion.warnings[0]


def test_a_motion_whose_other_steps_fail_is_of_unknown_error() -> None:
    """Steps of 0.1 s are stable, those of 0.2 s are not, and the force is not defined at the stages of 0.05 s."""

    def force(t: float, q: Any, v: Any) -> Any:
        if abs(q[0]) > 10 or abs(t / 0.05 - round(t / 0.05)) > 1e-6:
            raise ValueError("undefined")
        return -400.0 * q

    system = go.System(mass=[[1.0]], force=force)
    motion = go.simulate(system, q0=[1.0], v0=[0.0], dt=0.1, t_end=2.0, step_folder=None)
    assert motion.status is go.Status.SOLVED
    assert np.isnan(motion.error_estimate).all()
    assert "unknown: the same motion with steps of 0.2 s and with steps of 0.05 s" in motion.warnings[-1]


def test_an_interrupted_estimate_leaves_the_motion() -> None:
    def interrupt(done: float) -> None:
        if done > 0.8:
            raise KeyboardInterrupt

    run = partial(go.simulate, "knife-edge-body", dt=0.1, t_end=1.0, progress=interrupt)
    motion = run(keep_interrupted=True)
    assert motion.t[-1] == 1.0
    assert np.isnan(motion.error_estimate).all()
    assert "interrupted" in motion.warnings[-1]
    with pytest.raises(KeyboardInterrupt):
        run()


@pytest.mark.parametrize("dt", [None, 0.2])
def test_a_motion_is_not_compared_with_its_own_steps(dt: float | None) -> None:
    """Two steps of dop853 whatever the tolerance: the exact knife edge goes g/8 sin^2 2t along x, as g_x = g/2."""
    motion = go.simulate("knife-edge-incline", stepper="dop853", t_end=1.0, dt=dt, rtol=1e-3, atol=1e-3)
    error = abs(motion.q[-1, 0] - 9.81 / 16 * np.sin(2.0) ** 2)
    assert motion.meta["steps"] < 10
    assert error > 1e-4
    assert error < motion.error_estimate[0] < 10 * error


@pytest.mark.parametrize("dt", [None, 1e-2])
@pytest.mark.parametrize("stepper", ["dop853", "rk45"])
def test_what_is_leapt_over_is_told(stepper: str, dt: float | None) -> None:
    """A pulse of a torque, and a row whose rate jumps, which projection alone would hide."""
    model = go.Model()
    body = model.body("b", 1, 0.1, at=(1, 0))
    model.add(Revolute("R", model.ground, body.at(-1, 0)))
    pulse = sp.Piecewise((0, model.t < 5), (1, model.t < 5.05), (0, True))
    model.add(AppliedTorque("T", model.ground, body, pulse))
    motion = go.simulate(model.problem(t_end=10.0), stepper=stepper, dt=dt)
    assert motion.v[-1, 2] == 0  # where 0.05 s of 1 N m make 1 / 22 rad/s
    assert any("may leap over" in x for x in motion.warnings)
    model = go.Model()
    first, second = model.body("first", 1, 0.1, at=(1, 0)), model.body("second", 1, 0.1, at=(3, 0))
    model.add(Revolute("R", model.ground, first.at(-1, 0)))
    model.add(Revolute("K", first.at(1, 0), second.at(-1, 0)))
    ramp = sp.Piecewise((0, model.t < 0.5), (model.t - 0.5, True))
    model.add(Row("D", model.ground, first, first.q[2] - ramp))
    motion = go.simulate(model.problem(t_end=1.0), stepper=stepper, dt=dt, stabilisation="projection")
    assert any("may leap over" in x for x in motion.warnings)


def test_rest_is_no_reason_to_warn() -> None:
    """A pendulum that hangs, and a rod that two hinges hold: what moves is rounding."""
    hanging, held = go.Model(gravity=(0, -9.81)), go.Model(gravity=(0, -9.81))
    body = hanging.body("b", 1, 0.1, at=(0, -0.5), angle=-np.pi / 2)
    hanging.add(Revolute("R", hanging.ground, body.at(-0.5, 0)))
    rod = held.body("b", 1, 0.1)
    for name, x in (("R", -0.5), ("S", 0.5)):
        held.add(Revolute(name, held.ground.at(x, 0), rod.at(x, 0)))
    for problem in (hanging.problem(t_end=0.1), held.problem(t_end=0.1)):
        for (stepper, dt), t_end in itertools.product([("rk4", 0.02), ("dop853", None)], (0.1, 0.4)):
            motion = go.simulate(problem, stepper=stepper, dt=dt, t_end=t_end)
            assert motion.status == "solved"
            assert motion.warnings == ()


def _oscillator() -> go.System:
    x, v = sp.symbols("x v")
    return go.System.from_lagrangian([x], [v], kinetic=v**2 / 2, potential=x**2 / 2, name="oscillator")


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
def test_what_lies_between_recorded_instants_is_estimated_too(engine: str) -> None:
    """An oscillator recorded at its turning points, where its phase does not show."""
    dt, many = np.pi / 20, 64000 if engine == "compiled" else 400
    run = partial(go.simulate, _oscillator(), q0=[1.0], v0=[0.0], stepper="rk4", dt=dt, t_end=many * dt, engine=engine)
    motion, all_steps = run(record_every=20), run()
    assert len(motion.t) < len(all_steps.t) / 15
    error = np.abs(all_steps.q[:, 0] - np.cos(all_steps.t)).max()
    assert error > 5 * np.abs(motion.q[:, 0] - np.cos(motion.t)).max()
    assert error / 3 < motion.error_estimate[0] < 3 * error
    np.testing.assert_array_equal(motion.error_estimate, all_steps.error_estimate)
    assert any("inexact" in sentence for sentence in motion.warnings) == (error > BOUND * 2)


@pytest.mark.parametrize(("engine", "stepper"), [("compiled", "rk4"), ("interpreted", "rk4"), ("compiled", "dop853")])
def test_a_motion_too_long_for_the_memory_has_the_same_estimate(
    monkeypatch: pytest.MonkeyPatch, engine: str, stepper: str
) -> None:
    run = partial(go.simulate, "two-bar", t_end=0.3, engine=engine, stepper=stepper, dt=5e-3, record_every=25)
    whole = run()
    monkeypatch.setattr("gaussopt.simulation.simulate.MOST", 50)
    monkeypatch.setattr("gaussopt.integration.looks.BLOCK", 32)
    monkeypatch.setattr("gaussopt.compiled.advances.fixed_steps.BLOCK", 32)
    anew = run()
    assert (whole.error_estimate > 0).all()
    np.testing.assert_array_equal(anew.error_estimate, whole.error_estimate)


@pytest.mark.parametrize("stepper", ["semi-implicit", "rk4", "rk45", "dop853", "radau"])
@pytest.mark.parametrize("every", [1, 1000])
def test_the_error_at_a_terminal_event_is_that_at_one_instant(stepper: str, every: int) -> None:
    """An oscillator that ends at a level: the ends of two motions are alike, their instants are not."""
    level = go.Event("level", lambda t, q, v: q[0] + 0.5, terminal=True)
    adaptive = stepper in ("rk45", "dop853", "radau")
    size = {"rtol": 1e-4, "atol": 1e-4} if adaptive else {"dt": 0.2 if stepper == "rk4" else 0.02}
    motion = go.simulate(
        _oscillator(), q0=[1.0], v0=[0.0], stepper=stepper, t_end=5.0, events=[level], record_every=every, **size
    )
    late, off = abs(motion.t[-1] - np.arccos(-0.5)), abs(motion.q[-1, 0] - np.cos(motion.t[-1]))
    assert off > 1e-7
    assert off / 3 < motion.error_estimate[0] < 300 * off
    assert late / 3 < motion.events[-1]["error"] < 300 * late


def test_an_event_that_comes_too_late_is_told() -> None:
    """A particle that creeps up to its level: the position is right to a thousandth, the instant is not."""
    near = go.Event("near", lambda t, q, v: q[0] - 1e-3, direction=-1, terminal=True)
    system = go.System(mass=[[1.0]], force=lambda t, q, v: -2 * v - q)
    motion = go.simulate(system, q0=[1.0], v0=[-1.0], stepper="semi-implicit", dt=0.3, t_end=50.0, events=[near])
    exact = np.log(1e3)
    assert motion.status == "solved"
    assert abs(motion.t[-1] - exact) > BOUND * exact
    assert any("inexact" in sentence for sentence in motion.warnings)
    assert motion.events[-1]["error"] > abs(motion.t[-1] - exact) / 3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("stepper", ["rk4", "dop853"])
def test_a_motion_that_ends_where_it_begins_has_no_error(stepper: str) -> None:
    at_once = go.Event("at once", lambda t, q, v: t - 1e-300, terminal=True)
    motion = go.simulate(_oscillator(), q0=[1.0], v0=[0.0], stepper=stepper, dt=0.01, t_end=1.0, events=[at_once])
    assert motion.status == "solved"
    assert motion.t[-1] == 0.0
    assert motion.error_estimate[0] == 0.0
    assert motion.warnings == ()


@pytest.mark.parametrize(("options", "plain"), [
    ({"stepper": "rk4", "dt": 0.5}, False), ({"stepper": "rk4", "dt": 0.5}, True), ({"stepper": "dop853"}, False),
])  # fmt: skip
def test_a_pulse_between_all_steps_is_in_the_estimate(options, plain):
    x, v, t = sp.symbols("x v t")
    width, at = 0.01, 3.137

    def force(t, q, v):
        return np.array([np.exp(-(((t - at) / width) ** 2)) / width])

    pulse = sp.exp(-(((t - at) / width) ** 2)) / width
    derived = go.System.from_lagrangian([x], [v], kinetic=v**2 / 2, forces={x: pulse}, t=t)
    system = go.System([[1.0]], force) if plain else derived
    motion = go.simulate(system, q0=[0.0], v0=[0.01], t_end=10.0, **options)
    late = 0.1 + np.sqrt(np.pi) * (10.0 - at)
    assert motion.error_estimate[0] == pytest.approx(abs(motion.q[-1, 0] - late), rel=0.01)
    assert any("leap over what lasts shorter" in warning for warning in motion.warnings)


def test_a_drive_that_moves_between_all_steps_is_in_the_estimate():
    t = sp.Symbol("t")
    model = go.Model(dim=2, gravity=(0, 0))
    body = model.body("b", 1.0, 0.1, at=(0, 0), velocity=(0.01, 0))
    slide = model.add(Prismatic("s", model.ground, body))
    model.add(Drive("d", slide, 0.01 * t + 0.3 * (1 + sp.tanh((t - 3.137) / 0.01))))
    motion = go.simulate(model.problem(t_end=10.0), stepper="rk4", dt=0.5, stabilisation="none")
    assert motion.warnings


@pytest.mark.parametrize("t_end", [1.0, 0.4])
def test_a_pulse_within_the_first_or_only_step_is_in_the_estimate(t_end):
    x, v, t = sp.symbols("x v t")
    pulse = 100 * sp.exp(-(((t - sp.Rational(137, 1000)) / sp.Rational(1, 100)) ** 2))
    system = go.System.from_lagrangian([x], [v], kinetic=v**2 / 2, forces={x: pulse}, t=t)
    motion = go.simulate(system, q0=[0.0], v0=[0.1], t_end=t_end, stepper="rk4", dt=0.5)
    truth = 0.1 * t_end + np.sqrt(np.pi) * (t_end - 0.137)
    assert motion.error_estimate[0] == pytest.approx(abs(motion.q[-1, 0] - truth), rel=0.01)
