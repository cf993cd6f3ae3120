from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.cli.run import run_command
from gaussopt.core.errors import GaussoptError
from gaussopt.kinds import files as problem_files
from gaussopt.modelling.chain import Chain
from gaussopt.modelling.lagrangian import LagrangianSystem
from gaussopt.simulation.setting_table import SETTINGS

inf = float("inf")
THETA1_2S = -47.12812672469871
REST = -1.4329697629739628


# -- the reference motions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formulation", "solver", "settings", "accuracy"),
    [
        ("least-squares", "kkt", {"stepper": "dop853", "rtol": 1e-10, "atol": 1e-10}, 5e-8),
        ("gauss", "osqp", {"stepper": "dop853", "rtol": 1e-10, "atol": 1e-10}, 5e-9),
        ("gauss", "newton", {"dt": 1e-3}, 5e-6),
        ("gauss", "cvxpy", {"dt": 4e-3}, 1.5e-3),  # a fourth of the steps: 4^4 times the error of RK4
    ],
)
def test_the_crank_spins_as_the_reference_does(
    formulation: str, solver: str, settings: dict[str, Any], accuracy: float, crank: go.Problem
) -> None:
    traj = go.simulate(crank, formulation, solver, t_end=1.0, error_estimate=False, **settings)
    assert traj.status is go.Status.SOLVED
    assert traj.t[-1] == 1.0
    rows = crank.reference("crank-A-2s")
    assert abs(traj.q[-1, 2] - rows.q[np.argmin(np.abs(rows.t - 1.0)), 2]) <= accuracy
    assert traj.worst.relative_error <= 1e-7
    assert (traj.relative_error <= traj.worst.relative_error).all()


def test_without_torque_it_comes_to_rest(crank: go.Problem) -> None:
    traj = go.simulate(
        crank.at(tau=0.0), "lagrange", "kkt", stepper="dop853", rtol=1e-10, atol=1e-10, t_end=20.0, error_estimate=False
    )  # fmt: skip
    assert abs(traj.q[-1, 2] - REST) <= 1e-8
    # Velocities carry a factor of the frequency about the rest position, 10/s, more.
    np.testing.assert_allclose(traj.v[-1], crank.reference("crank-B-20s").v[-1], rtol=0, atol=1e-7)


def test_recorded_states_follow_the_reference_rows(crank: go.Problem) -> None:
    rows = crank.reference("crank-A-2s")
    traj = go.simulate(
        crank, "lagrange", "kkt", stepper="dop853", rtol=1e-12, atol=1e-12, dt=0.01, t_end=2.0, error_estimate=False
    )
    np.testing.assert_allclose(traj.t, rows.t, rtol=0, atol=1e-15)
    assert abs(traj.q[-1, 2] - THETA1_2S) <= 1e-9
    assert traj.worst.relative_error <= 1e-7
    np.testing.assert_allclose(traj.q, rows.q, rtol=0, atol=1e-9)
    # Velocities and accelerations carry one and two factors of the crank speed (50/s) more.
    np.testing.assert_allclose(traj.v, rows.v, rtol=0, atol=50 * 1e-9)
    np.testing.assert_allclose(traj.a, rows.a, rtol=0, atol=50**2 * 1e-9)
    np.testing.assert_allclose(traj.energy, rows.energy, rtol=0, atol=1e-9)


def test_energy_changes_by_the_work_of_the_damper(crank: go.Problem) -> None:
    traj = go.simulate(
        crank, "lagrange", "kkt", stepper="dop853", rtol=1e-10, atol=1e-10, dt=1e-3, t_end=0.4, error_estimate=False
    )
    h, P = 1e-3, traj.power
    work = h / 3 * (P[0] + P[-1] + 4 * P[1:-1:2].sum() + 2 * P[2:-1:2].sum())
    # Simpson's rule: (omega h)^4 / 180 of the work, with omega = 100 for twice the crank speed.
    assert traj.energy[-1] - traj.energy[0] == pytest.approx(work, abs=(100 * h) ** 4 / 180 * np.abs(P).max())


def test_a_rheonomic_system_ends_where_the_test_set_says() -> None:
    """Car axis of the IVP Test Set at t = 3."""
    xl, yl, xr, yr = q = sp.symbols("xl yl xr yr")
    v, t = sp.symbols("vxl vyl vxr vyr"), sp.Symbol("t")
    K = sp.Rational(1, 2000)
    yb = sp.sin(10 * t) / 10
    xb = sp.sqrt(1 - yb**2)
    left, right = sp.sqrt(xl**2 + yl**2), sp.sqrt((xr - xb) ** 2 + (yr - yb) ** 2)
    half = sp.Rational(1, 2)
    system = go.System.from_lagrangian(
        q, v, kinetic=K / 2 * sum(u**2 for u in v),
        potential=K * (yl + yr) + (left - half) ** 2 / 2 + (right - half) ** 2 / 2,
        holonomic=[xb * xl + yb * yl, (xl - xr) ** 2 + (yl - yr) ** 2 - 1], name="car-axis",
    )  # fmt: skip
    traj = go.simulate(
        system, "lagrange", "kkt", stepper="dop853", rtol=1e-12, atol=1e-12, stabilisation="projection", t_end=3.0,
        error_estimate=False,
        q0=[0.0, 0.5, 1.0, 0.5], v0=[-0.5, 0.0, -0.5, 0.0],
    )  # fmt: skip
    position = [0.0493455784275402809, 0.496989460230171154, 1.04174252488542152, 0.373911027265361257]
    velocity = [-0.0770583684040972358, 0.00744686658723778553, 0.0175568157537232222, 0.770341043779251976]
    np.testing.assert_allclose(traj.q[-1], position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(traj.v[-1], velocity, rtol=0, atol=1e-8)  # one factor of the frequency, 10/s
    assert traj.position_drift.max() <= 1e-13


def test_a_nonholonomic_system_follows_its_closed_form() -> None:
    """y' = z x', no forces, z = t: x = asinh t, y = sqrt(1 + t^2) - 1."""
    q, v = sp.symbols("x y z"), sp.symbols("vx vy vz")
    system = go.System.from_lagrangian(
        q, v, kinetic=sum(u**2 for u in v) / 2, nonholonomic=[v[1] - q[2] * v[0]], name="particle"
    )
    traj = go.simulate(
        system, stepper="dop853", rtol=1e-11, atol=1e-11, t_end=5.0, q0=[0, 0, 0], v0=[1, 0, 1], error_estimate=False
    )
    np.testing.assert_allclose(traj.q[-1], [math.asinh(5), math.sqrt(26) - 1, 5], rtol=0, atol=1e-9)
    assert traj.position_drift.max() == 0.0  # there is nothing at position level
    assert traj.velocity_drift.max() <= 1e-9


# -- accepting and refusing steps -----------------------------------------------------------------------


def test_a_wrong_formula_is_not_stepped_on(crank: go.Problem, tmp_path: Path) -> None:
    traj = go.simulate(crank, "least-squares-as-printed", "kkt", t_end=0.25, step_folder=tmp_path)
    assert traj.status is go.Status.INACCURATE
    assert (traj.q == crank.q0).all()  # the start, and nothing else
    assert np.isnan([*traj.a[0], *traj.lam[0], traj.error_bound[0]]).all()
    for words in ("Stopped at t = 0", "certificate fails", "least-squares-as-printed is not the mechanics"):
        assert words in traj.message
    assert traj.worst.error_bound > 40
    assert traj.worst.constraint_residual <= 1e-12  # which is why constraints alone prove nothing
    # The offending step is saved and can be solved again.
    assert traj.failed_step_file is not None
    assert traj.failed_step_file in traj.message
    (saved,) = tmp_path.iterdir()
    step = problem_files.load(saved)
    assert isinstance(step, go.StepData)
    assert traj.failed_step is not None
    for name in ("M", "h", "Q", "J", "gamma", "q", "v"):
        np.testing.assert_array_equal(getattr(step, name), getattr(traj.failed_step, name))
    wrong = go.solve_step(step, "least-squares-as-printed")
    assert wrong.status is go.Status.INACCURATE
    assert go.solve_step(step, "lagrange").a[2] == pytest.approx(-156.57953216374, rel=1e-12)


def test_a_step_is_saved_only_where_a_folder_is_named_and_a_missing_folder_hides_nothing(
    crank: go.Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for where in ({}, {"step_folder": None}, {"step_folder": tmp_path / "absent"}):
        traj = go.simulate(crank, "least-squares-as-printed", "kkt", **where)
        assert traj.status is go.Status.INACCURATE
        assert traj.failed_step is not None
        assert traj.failed_step_file is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("tau", "theta", "printed_digit"), [(-0.5, -20.880, 1e-3), (0.0, -0.0425, 1e-4)])
def test_an_infinite_tolerance_shows_where_the_wrong_formula_leads(
    tau: float, theta: float, printed_digit: float, crank: go.Problem
) -> None:
    """Table 1.4 of papers.md: theta1 at 0.25 s, exactly and by eq. (16)."""
    settings: dict[str, Any] = {"stepper": "dop853", "rtol": 1e-9, "atol": 1e-9, "t_end": 0.25, "error_estimate": False}
    wrong = go.simulate(crank.at(tau=tau), "least-squares-as-printed", "kkt", tolerance=inf, **settings)
    assert wrong.status is go.Status.SOLVED
    assert wrong.q[-1, 2] == pytest.approx(theta, abs=printed_digit / 2)
    assert np.isfinite(wrong.error_bound).all()
    assert wrong.error_bound[0] > 1
    assert wrong.meta["tolerance"] == "inf"
    right = go.simulate(crank.at(tau=tau), "lagrange", "kkt", **settings)
    assert right.q[-1, 2] == pytest.approx({-0.5: -2.3107, 0.0: -1.5955}[tau], abs=5e-5)


def test_a_genetic_algorithm_carries_a_run_and_its_bounds_are_recorded(crank: go.Problem) -> None:
    settings: dict[str, Any] = {"stepper": "semi-implicit", "dt": 2e-3, "t_end": 0.05, "error_estimate": False}
    genetic = go.simulate(crank, "gauss", "deap", tolerance=inf, **settings)
    exact = go.simulate(crank, "gauss", "kkt", **settings)
    assert genetic.status is go.Status.SOLVED
    assert len(genetic.t) == 26
    assert (genetic.error_bound > 0).all()
    assert exact.worst.error_bound < genetic.worst.error_bound < inf
    # Certified errors of the steps add up to at most their sum times dt and t_end (the motion is not chaotic
    # in 0.05 s: the sensitivity of the state stays below 10).
    light = np.sqrt(np.diag(crank.system.evaluate(0.0, crank.q0, crank.v0).M).min())
    assert abs(genetic.q[-1, 2] - exact.q[-1, 2]) <= 10 * genetic.worst.error_bound / light * 0.05**2


def test_refusals_of_a_formulation_or_solver_come_first(assert_sentence: Callable[..., None]) -> None:
    massless = go.System(mass=np.diag([1.0, 0.0]), force=np.zeros(2), equality=lambda t, q, v: ([[0.0, 1.0]], [0.0]))
    start: dict[str, Any] = {"q0": [0.0, 0.0], "v0": [0.0, 0.0], "dt": 0.1, "t_end": 1.0}
    with pytest.raises(go.NotAccepted) as caught:
        go.simulate(massless, "least-squares", **start)
    assert_sentence(caught.value, "'least-squares'", "singular")
    with pytest.raises(go.NotAccepted) as caught:
        go.simulate(massless, "lagrange", "osqp", **start)
    assert_sentence(caught.value, "'osqp'", "LinearSystem")
    assert go.simulate(massless, "gauss", "osqp", **start).status is go.Status.SOLVED


# -- runs that stop early -------------------------------------------------------------------------------


def _spring(**parts: Any) -> go.System:
    return go.System(**{"mass": np.eye(1), "force": lambda t, q, v: -q, "name": "spring", **parts})


SPRING: dict[str, Any] = {"q0": [1.0], "v0": [0.0], "t_end": 1.0}


def _nan_after(moment: float) -> Callable[..., np.ndarray]:
    return lambda t, q, v: -q if t < moment else np.array([np.nan])


@pytest.mark.parametrize("stepper", ["semi-implicit", "rk4", "rk45", "dop853", "radau"])
def test_nan_midway_keeps_what_was_computed(stepper: str, assert_sentence: Callable[..., None]) -> None:
    traj = go.simulate(_spring(force=_nan_after(0.55)), stepper=stepper, dt=0.1, **SPRING)
    assert traj.status is go.Status.BAD_INPUT
    assert 0 < traj.t[-1] < 0.55
    assert len(traj.t) == len(traj.q) == len(traj.a) == len(traj.energy) >= 2
    assert np.isfinite(traj.q).all()
    for word in ("Stopped", "force", "'spring'", "nan", "t = 0.", "q = "):
        assert word in traj.message
    assert "\n" not in traj.message


@pytest.mark.parametrize(
    "parts",
    [
        {"mass": lambda t, q, v: [[1.0 if t < 0.55 else np.nan]]},
        {"mass": lambda t, q, v: [[1.0 if t < 0.55 else -1.0]]},
        {"inertia": lambda t, q, v: [0.0 if t < 0.55 else np.inf]},
        {"energy": lambda t, q, v: (0.0, 0.0 if t < 0.55 else np.nan)},
        {"force": lambda t, q, v: -q if t < 0.55 else 1 / 0},
    ],
)
def test_anything_wrong_midway_keeps_what_was_computed(parts: dict[str, Any]) -> None:
    traj = go.simulate(_spring(**parts), dt=0.1, **SPRING)
    assert traj.status is go.Status.BAD_INPUT
    assert 0.4 < traj.t[-1] < 0.55
    assert next(iter(parts)) in traj.message


def test_nan_at_the_start_is_an_error(assert_sentence: Callable[..., None]) -> None:
    with pytest.raises(go.BadInput) as caught:
        go.simulate(_spring(force=_nan_after(0.0)), dt=0.1, **SPRING)
    assert_sentence(caught.value, "force", "'spring'", "t = 0", "q = [1.]", "v = [0.]")


def test_a_step_that_turns_singular_midway_says_why(tmp_path: Path) -> None:
    vanishing = _spring(mass=lambda t, q, v: [[1.0 if t < 0.55 else 0.0]])
    traj = go.simulate(vanishing, dt=0.1, step_folder=tmp_path, **SPRING)
    assert traj.status is go.Status.UNBOUNDED
    assert 0.4 < traj.t[-1] < 0.55
    assert go.Status.UNBOUNDED.sentence in traj.message
    assert len(list(tmp_path.iterdir())) == 1


def test_a_motion_that_runs_away_is_reported() -> None:
    traj = go.simulate(_spring(force=lambda t, q, v: 1e3 * q**3), dt=0.1, **{**SPRING, "t_end": 10.0})
    assert traj.status is go.Status.BAD_INPUT
    assert np.isfinite(traj.q).all()
    assert "finite" in traj.message


def test_a_contact_comes_to_rest_in_space_and_sticks() -> None:
    """a = -mu g against the slip until 0.2 s, and rest from there on."""
    x, y, z, u, v, w = sp.symbols("x y z u v w")
    system = go.System.from_lagrangian(
        [x, y, z], [u, v, w], kinetic=(u**2 + v**2 + w**2) / 2, potential=10 * z,
        contacts=go.Contact("p", position=(x, y, z), mu=0.5),
    )  # fmt: skip
    start: dict[str, Any] = {"q0": [0, 0, 0], "v0": [0.6, 0.8, 0]}
    traj = go.simulate(system, **start, t_end=0.4, dt=0.01, step_folder=None, error_estimate=False)
    assert traj.status is go.Status.SOLVED
    assert [event["t"] for event in traj.events] == [pytest.approx(0.2)]
    np.testing.assert_allclose(traj.q[-1], [0.06, 0.08, 0.0], atol=1e-9)
    np.testing.assert_allclose(traj.v[-1], 0.0, atol=1e-12)


def test_what_is_no_problem_is_refused(tmp_path: Path) -> None:
    for nothing in (None, 3, {}):
        with pytest.raises(go.BadInput):
            go.simulate(nothing)  # type: ignore[arg-type]
        with pytest.raises(go.BadInput, match="neither a name nor a file"):
            go.problem(nothing)  # type: ignore[arg-type]
        with pytest.raises(go.BadInput, match="A step is StepData"):
            go.solve_step(nothing)  # type: ignore[arg-type]
        with pytest.raises(go.BadInput, match="compare takes problems by name or file"):
            go.compare(nothing or 0)  # type: ignore[arg-type]
    with pytest.raises(go.BadInput, match="not System; of a system make a problem"):
        go.compare(go.System([[1.0]], [1.0]))  # type: ignore[arg-type]
    file = tmp_path / "falling_mass.py"
    file.write_text("import gaussopt as go\nproblem = go.Problem.of(go.System([[1.0]], [1.0]), q0=[0], t_end=1.0)\n")
    assert go.problem(file).name == "falling-mass"
    assert go.simulate(file, dt=0.5).q[-1] == pytest.approx([0.5])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"t_end": -1.0}, "t_end is -1; it must be positive and finite"),
        ({"t_end": float("nan")}, "t_end is nan; it must be"),
        ({"t_end": "1 s"}, "t_end is '1 s'; give a number of seconds"),
        ({"dt": [0.1]}, "dt is [0.1]; give a number of seconds"),
        ({"titel": "x"}, "Unknown setting 'titel' of a problem; did you mean 'title'?"),
    ],
)
def test_a_problem_of_ones_own_is_checked_in_its_file(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    given = {"t_end": 1.0, "q0": [0.0], **change}
    file = tmp_path / "own_mass.py"
    text = ", ".join(f"{k}={x!r}" for k, x in given.items()).replace("nan", "float('nan')")
    file.write_text(f"import gaussopt as go\nproblem = go.Problem.of(go.System([[1.0]], [1.0]), {text})\n")
    with pytest.raises(go.BadInput) as error:
        go.problem(str(file))
    assert str(error.value).startswith(f"own_mass.py, line 2: {words}")


def test_an_interrupted_run_keeps_what_was_computed() -> None:
    def interrupt(fraction: float) -> None:
        if fraction > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go.simulate(_spring(), dt=0.1, progress=interrupt, **SPRING)
    traj = go.simulate(_spring(), dt=0.1, progress=interrupt, keep_interrupted=True, error_estimate=False, **SPRING)
    assert traj.status is go.Status.INTERRUPTED
    assert "Interrupted" in traj.message
    assert traj.t[-1] == pytest.approx(0.6)


def test_progress_rises_to_one() -> None:
    fractions: list[float] = []
    go.simulate(_spring(), dt=0.1, progress=fractions.append, **SPRING)
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


# -- bad input ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "culprits"),
    [
        ({"dt": 0.0}, ("dt is 0", "positive")),
        ({"dt": -1e-3}, ("dt is -0.001", "positive")),
        ({"dt": float("nan")}, ("dt is nan",)),
        ({"dt": inf}, ("dt is inf",)),
        ({"dt": -1e-3, "stepper": "rk45"}, ("dt is -0.001",)),
        ({"rtol": 1e-9}, ("'rk4'", "constant steps", "no rtol", "dop853")),
        ({"t_end": 0.0}, ("t_end is 0",)),
        ({"t_end": -1.0}, ("t_end is -1",)),
        ({"t_end": inf}, ("t_end is inf", "finite")),
        ({"t_end": float("nan")}, ("t_end is nan",)),
        ({"t0": 3.0}, ("t_end is 2", "t = 3")),
        ({"rtol": 0.0, "stepper": "rk45"}, ("rtol is 0",)),
        ({"atol": float("nan"), "stepper": "rk45"}, ("atol is nan",)),
        ({"tolerance": 0.0}, ("tolerance",)),
        ({"tolerance": float("nan")}, ("tolerance",)),
        ({"formulation": "gaus"}, ("'gaus'", "did you mean 'gauss'")),
        ({"solver": "ospq"}, ("'ospq'", "did you mean 'osqp'")),
        ({"stepper": "rk_4"}, ("'rk_4'", "did you mean 'rk4'")),
        ({"stabilisation": "project"}, ("'project'", "did you mean 'projection'")),
        ({"solver": "osqp", "solver_options": {"MAX_ITR": 3}}, ("'MAX_ITR'", "did you mean 'max_iter'")),
        ({"q0": [0.0]}, ("q0 has shape (1,)", "(7,): one entry for each of x1, y1, theta1")),
        ({"v0": [float("nan")] * 7}, ("v0[0] is nan",)),
    ],
)
def test_bad_settings_are_named(
    settings: dict[str, Any], culprits: tuple[str, ...], crank: go.Problem, assert_sentence: Callable[..., None]
) -> None:
    with pytest.raises(go.GaussoptError) as caught:
        go.simulate(crank, **settings)
    assert_sentence(caught.value, *culprits)


@pytest.mark.parametrize(
    ("settings", "culprit"),
    [
        ({"engine": 3}, "Unknown engine 3; known: auto"),
        ({"stepper": 3}, "Unknown stepper 3"),
        ({"stabilisation": 3}, "stabilisation is 3"),
        ({"events": None}, "events is None"),
        ({"solver_options": "fast"}, "solver_options is 'fast'"),
        ({"progress": 3}, "progress is 3; give a function"),
        ({"dt": "small"}, "dt is 'small'; give a number"),
        ({"dt": 1e-12, "t0": 1e6, "t_end": 1e6 + 1e-9}, "dt is 1e-12; instants that close cannot be told apart"),
        ({"tolerance": "small"}, "tolerance is small"),
    ],
)
def test_settings_of_another_kind_are_one_sentence(
    settings: dict[str, Any], culprit: str, assert_sentence: Callable[..., None]
) -> None:
    with pytest.raises(GaussoptError) as error:
        go.simulate("crank-slider", **{"t_end": 0.01, **settings})
    assert_sentence(error.value, culprit)


def test_what_holds_a_system_is_not_one(assert_sentence: Callable[..., None]) -> None:
    for run in (go.simulate, go.simulate_batch):
        with pytest.raises(go.BadInput) as error:
            run(Chain(2), t_end=0.01)  # type: ignore[operator]
        assert_sentence(error.value, "A Chain is neither a problem nor a system", "give its .system")


def test_more_steps_between_records_than_there_are() -> None:
    for engine in ("compiled", "interpreted"):
        assert go.simulate("crank-slider", t_end=0.01, record_every=10**30, engine=engine).t.tolist() == [0.0, 0.01]


def test_a_recording_beyond_memory_is_refused_with_the_way_out(assert_sentence: Callable[..., None]) -> None:
    with pytest.raises(go.BadInput) as error:
        go.simulate("crank-slider", dt=1e-7, t_end=60.0)
    assert_sentence(error.value, "GiB, more than 4; raise record_every to")


def test_unknown_problems_and_parameters_get_the_nearest(assert_sentence: Callable[..., None]) -> None:
    for attempt, culprits in (
        (lambda: go.simulate("crank_slider"), ("'crank_slider'", "did you mean 'crank-slider'")),
        (lambda: go.problem("crank-slyder"), ("'crank-slyder'", "did you mean 'crank-slider'")),
        (lambda: go.problem("crank-slider", tua=0.0), ("'tua'", "did you mean 'tau'")),
        (lambda: go.problem("crank-slider", zzz=0.0), ("'zzz'", "known:", "tau")),
    ):
        with pytest.raises(go.UnknownName) as caught:
            attempt()
        assert_sentence(caught.value, *culprits)
    with pytest.raises(TypeError, match=r"simulate\(\) has no argument 'stepr'; did you mean 'stepper'\?"):
        go.simulate("crank-slider", stepr="rk4")  # type: ignore[call-arg]


@pytest.mark.parametrize("value", ["fast", None, float("nan"), inf, [1.0]])
def test_bad_parameter_values_are_named(value: Any, assert_sentence: Callable[..., None]) -> None:
    with pytest.raises(go.BadInput) as caught:
        go.problem("crank-slider", tau=value)
    assert_sentence(caught.value, "'tau'", repr(value))


@pytest.mark.parametrize("missing", ["q0", "v0", "t_end", "dt"])
def test_a_bare_system_needs_a_start_and_an_end(missing: str, assert_sentence: Callable[..., None]) -> None:
    settings = {**SPRING, "dt": 0.1}
    del settings[missing]
    with pytest.raises(go.BadInput) as caught:
        go.simulate(_spring(), **settings)
    assert_sentence(caught.value, missing)


def test_a_start_off_the_constraints_says_by_how_much(crank: go.Problem, assert_sentence: Callable[..., None]) -> None:
    q0 = crank.q0.copy()
    q0[6] += 0.01
    with pytest.raises(go.BadInput) as caught:
        go.simulate(crank, q0=q0)
    assert_sentence(caught.value, "position residual -0.01", "constraint 5 of 6", "projection")
    v0 = np.zeros(7)
    v0[2] = 1.0
    with pytest.raises(go.BadInput) as caught:
        go.simulate(crank, v0=v0)
    # The crank turns, its centre does not: y1' - (l1/2) theta1' = -0.075, and the tip runs off with l1 = 0.15.
    assert_sentence(caught.value, "velocity residual 0.15", "constraint 4 of 6", "projection")
    traj = go.simulate(crank, q0=q0, v0=v0, stabilisation="projection", t_end=0.01)
    assert traj.status is go.Status.SOLVED
    assert traj.position_drift[0] <= 1e-13
    assert traj.velocity_drift[0] <= 1e-13


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
@pytest.mark.parametrize("name", ["crank-slider", "two-bar"])
def test_the_start_is_evaluated_once(name: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = go.problem(name)
    evaluate = LagrangianSystem.evaluate
    at_start = []

    def counted(self: LagrangianSystem, t: float, q: Any, v: Any) -> go.StepData:
        if t == 0.0 and np.array_equal(q, problem.q0) and np.array_equal(v, problem.v0):
            at_start.append(t)
        return evaluate(self, t, q, v)

    monkeypatch.setattr(LagrangianSystem, "evaluate", counted)
    motion = go.simulate(problem, t_end=0.002, dt=1e-3, engine=engine, step_folder=None)
    assert motion.status is go.Status.SOLVED
    assert len(at_start) == 1


def test_a_start_far_off_the_constraints_is_told() -> None:
    q = go.problem("crank-slider").q0
    near = go.simulate("crank-slider", q0=q + 1e-3, stabilisation="projection", t_end=0.01)
    assert not any("far off the constraints" in sentence for sentence in near.warnings)
    turned = q.copy()
    turned[5] += 4 * math.pi  # the angle of the coupler alone, which a pin does not see, is no error
    assert not go.simulate("crank-slider", q0=turned, stabilisation="projection", t_end=0.01).message.count("far off")
    off = q.copy()
    off[0] += 3.0
    told = go.simulate("crank-slider", q0=off, stabilisation="projection", t_end=0.01)
    assert "The start was far off the constraints: the projection moved " in told.message


def test_a_start_off_by_rounding_is_taken(crank: go.Problem) -> None:
    q0 = crank.q0 + 1e-10
    assert go.simulate(crank, q0=q0, t_end=0.01).status is go.Status.SOLVED


def test_a_negative_mass_is_named_before_stepping(assert_sentence: Callable[..., None]) -> None:
    x, u = sp.symbols("x u")
    system = go.System.from_lagrangian([x], [u], kinetic=-(u**2) / 2, name="ghost")
    with pytest.raises(go.BadInput) as caught:
        go.simulate(system, q0=[0.0], v0=[0.0], dt=0.1, t_end=1.0)
    assert_sentence(caught.value, "mass matrix", "indefinite")


def test_a_problem_may_be_given_by_name_with_another_start() -> None:
    problem = go.problem("crank-slider", tau=0.0, c=2.0)
    traj = go.simulate(problem, t_end=0.01)
    assert traj.meta["parameters"]["c"] == 2.0
    assert traj.meta["problem"] == "crank-slider"
    np.testing.assert_array_equal(go.simulate("crank-slider", t_end=0.01).q[0], problem.q0)


@pytest.mark.parametrize(("name", "engine"), [
    ("sliding-rod", "compiled"), ("sliding-rod", "interpreted"), ("four-bar", "compiled"), ("four-bar", "interpreted"),
])  # fmt: skip
def test_the_parts_of_the_time_add_up(name: str, engine: str) -> None:
    timing = dict(go.simulate(name, engine=engine, t_end=0.05, step_folder=None).timing)
    total, _ = timing.pop("total"), timing.pop("backend", None)
    assert min(timing.values()) >= -1e-9 * total
    assert 0.95 * total <= sum(timing.values()) <= 1.000001 * total


def test_settings_are_those_of_the_table() -> None:
    """The signatures are written out for editors; the table says what is filled in, checked, kept for a restart."""
    names = [x.name for x in SETTINGS]
    assert list(inspect.signature(go.simulate).parameters)[1:] == names
    of_command = set(inspect.signature(run_command).parameters)
    assert of_command - set(names) == {
        "context", "problem", "solver_option", "set_", "from_", "save", "step_file", "json_",
    }  # fmt: skip
    of_batch = set(inspect.signature(go.simulate_batch).parameters)
    assert of_batch - set(names) == {
        "problem", "parameters", "initial", "certify", "threads", "device", "out", "executor",
    }  # fmt: skip
