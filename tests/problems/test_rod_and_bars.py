"""The sliding rod and the two bars of paper 001: starts, step data along the references, stated cases, misprints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.problems import sliding_rod, two_bar

REFERENCES = [(name, r.name) for name in ("sliding-rod", "two-bar") for r in go.problem(name).references]
SMOOTH = ("M", "h", "Q", "J", "gamma")
CONTACT = ("J_N", "zeta_N", "J_T", "zeta_T", "v_T", "mu")


def of_reference(problem: str, reference: str) -> tuple[go.Problem, Any]:
    (entry,) = (r for r in go.problem(problem).references if r.name == reference)
    return go.problem(problem, **entry.settings), entry.load()


@pytest.mark.parametrize(("name", "reference"), REFERENCES)
def test_a_case_starts_where_its_reference_does(name: str, reference: str) -> None:
    problem, rows = of_reference(name, reference)
    assert problem.q0 == pytest.approx(rows.q[0], abs=1e-15)
    assert problem.v0 == pytest.approx(rows.v[0], abs=1e-15)
    energy = problem.system.energy(0.0, problem.q0, problem.v0)
    assert energy is not None
    assert energy.total == pytest.approx(rows.energy[0], rel=1e-15)


@pytest.mark.parametrize(("name", "reference"), REFERENCES)
def test_step_data_and_reference_forces_give_the_reference_acceleration(name: str, reference: str) -> None:
    problem, rows = of_reference(name, reference)
    assert rows.lam_N.shape == (201, len(problem.system.contact_names))
    checked = 0
    for t, q, v, a, N in zip(rows.t, rows.q, rows.v, rows.a, rows.lam_N, strict=True):
        step = problem.system.evaluate(t, q, v)
        if (step.speed < 1e-12).any():
            continue  # the end of rod-stop: no sliding direction
        checked += 1
        assert step.M @ a == pytest.approx(step.force + step.friction_map @ N, abs=1e-10)
        # Where the floor presses, the gap is closed and stays so; elsewhere it is open.
        closed = N > 0
        assert np.abs(step.g_N[closed]).max(initial=0) < 1e-12
        assert np.abs(step.gdot_N[closed]).max(initial=0) < 1e-12
        assert np.abs((step.J_N @ a + step.zeta_N)[closed]).max(initial=0) < 1e-10
        assert (step.g_N[~closed] > -1e-12).all()
    assert checked >= 200


@pytest.mark.parametrize(("name", "reference"), REFERENCES)
def test_forces_that_keep_the_contacts_closed_are_those_of_the_reference(name: str, reference: str) -> None:
    problem, rows = of_reference(name, reference)
    sliding = [i for i, N in enumerate(rows.lam_N) if (N > 1e-9).all()]
    assert len(sliding) > 50
    for i in sliding:
        step = problem.system.evaluate(rows.t[i], rows.q[i], rows.v[i])
        if (step.speed > 1e-12).all():
            assert two_bar.both_active(step)[2] == pytest.approx(rows.lam_N[i], abs=1e-10)


@pytest.mark.parametrize(("name", "reference"), REFERENCES)
def test_expected_events_lie_on_the_reference(name: str, reference: str) -> None:
    problem, rows = of_reference(name, reference)
    (entry,) = (r for r in problem.references if r.name == reference)
    assert entry.events[-1][1] == pytest.approx(rows.t[-1], abs=1e-14)
    times = [time for _, time in entry.events]
    assert times == sorted(times)
    assert problem.t_end > times[-1]
    last = problem.system.evaluate(rows.t[-1], rows.q[-1], rows.v[-1])
    kind = entry.events[-1][0]
    if kind == "floor":
        (event,) = problem.user_events
        assert event.name == "floor"
        assert event.terminal
        assert event.function(rows.t[-1], rows.q[-1], rows.v[-1]) == pytest.approx(0.0, abs=1e-13)
        assert event.function(rows.t[-2], rows.q[-2], rows.v[-2]) > 1e-4
    elif kind == "stick:A":
        assert last.speed == pytest.approx([0.0], abs=1e-13)
    else:
        assert kind == "lift_off:A"
        assert rows.lam_N[-1] == pytest.approx([0.0], abs=1e-12)
    # A slip that changes its sign between two rows does so at a stated reversal.
    slips = np.array([problem.system.evaluate(0, q, v).v_T[:, 0] for q, v in zip(rows.q, rows.v, strict=True)])
    for contact, label in enumerate(problem.system.contact_names):
        changes = np.flatnonzero(slips[:-2, contact] * slips[1:-1, contact] < 0)
        stated = [time for kind, time in entry.events if kind in (f"reversal:{label}", f"landing:{label}")]
        for i in changes:
            assert any(rows.t[i] <= time <= rows.t[i + 1] for time in stated), (label, rows.t[i])
    if rows.phase is not None:
        # Phases count what happens on the way: landings of both ends at once are one event.
        assert rows.phase[-1] - rows.phase[0] == len(set(times)) - 1


@pytest.mark.parametrize("name", ["regular", "inconsistent", "indeterminate", "separating"])
def test_named_starts_of_the_rod_are_the_stated_steps(
    name: str, cases: dict[str, dict[str, Any]], assert_stated: Callable[..., None]
) -> None:
    problem = go.problem("sliding-rod", case=name)
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    assert_stated(step, f"rod_{name}")
    expected = cases[f"rod_{name}"]["expect"]["lcp"]
    forces = sliding_rod.normal_forces(problem.q0[2], problem.v0[2], 1, problem.parameter_values)
    stated = [s["lam_N"][0] for s in expected.get("solutions", [expected] if "lam_N" in expected else [])]
    assert forces == pytest.approx(stated, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("number", range(5))
def test_published_painleve_states(number: int, data: Callable[[str], Any]) -> None:
    name = ("unit-contact", "unit-lift-off", "unit-right", "unit-inconsistent", "unit-indeterminate")[number]
    case = data("painleve_rod.json")["cases"][number]
    problem = go.problem("sliding-rod", case=name)
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    assert step.sigma[0, 0] == case["sigma"]
    A, B, _ = two_bar.both_active(step)
    assert A[0, 0] == pytest.approx(case["A"], rel=1e-12)
    assert B[0] == pytest.approx(case["B"], rel=1e-12)
    p, state = problem.parameter_values, (case["theta"], case["thetadot"])
    assert sliding_rod.delassus(state[0], int(case["sigma"]), p) == pytest.approx(case["A"], rel=1e-13)
    assert sliding_rod.bias(*state, p) == pytest.approx(case["B"], rel=1e-13)
    assert sliding_rod.normal_forces(*state, int(case["sigma"]), p) == pytest.approx(case["lam_N"], rel=1e-12)


def test_painleve_region_is_where_the_coefficient_is_negative() -> None:
    assert sliding_rod.painleve_region(4 / 3) is None
    assert np.degrees(sliding_rod.painleve_region(1.5)) == pytest.approx([50.642, 73.048], abs=1e-3)
    assert np.degrees(sliding_rod.painleve_region(2.0)) == pytest.approx([37.377, 79.188], abs=1e-3)
    problem = go.problem("sliding-rod", mu=1.5)
    low, high = sliding_rod.painleve_region(1.5)
    for theta in np.linspace(0.05, 1.5, 40):
        q, v = sliding_rod.start({**problem.parameter_values, "theta0": theta})
        A = two_bar.both_active(problem.system.evaluate(0.0, q, v))[0][0, 0]
        assert (A < 0) == (low < theta < high)


@pytest.mark.parametrize(
    ("name", "degrees", "omega", "vx", "pull"),
    [("t0", 45, -0.1, -1.0, 0.0), ("60_spin", 60, -0.5, None, 0.0), ("85_gravity", 85, 0.0, -1.0, 0.0),
     ("88_gravity", 88, 0.0, -1.0, 0.0), ("60_pull20", 60, 0.0, -1.0, 20.0)],
)  # fmt: skip
@pytest.mark.parametrize("variant", ["", "maximal"])
def test_stated_steps_of_the_two_bars(
    variant: str, name: str, degrees: float, omega: float, vx: float | None, pull: float,
    cases: dict[str, dict[str, Any]], assert_stated: Callable[..., None],
) -> None:  # fmt: skip
    stated = f"twobar_{name}" + ("_maximal" if variant else "")
    problem = go.problem("two-bar", F_C=pull, **({"variant": variant} if variant else {}))
    l, theta = problem.parameter_values["l"], np.radians(degrees)
    if vx is None:  # of this case the slip of A is stated
        vx = cases[stated]["problem"]["v_T"][0] - l / 2 * np.sin(theta) * omega
    state = two_bar.both_ends(theta, 0.0, vx, omega, l)
    if variant:
        state = two_bar.to_maximal(*state, l)
    step = problem.system.evaluate(0.0, *state)
    assert_stated(step, stated)
    assert step.g_N == pytest.approx([0, 0], abs=1e-14)
    assert step.gdot_N == pytest.approx([0, 0], abs=1e-14)


@pytest.mark.parametrize("case", ["contact", "airborne"])
def test_maximal_coordinates_tell_the_same_motion(case: str) -> None:
    small, large = go.problem("two-bar", case=case), go.problem("two-bar", case=case, variant="maximal")
    assert large.q0.shape == (6,)
    assert large.coordinates == ("x1", "y1", "theta1", "x2", "y2", "theta2")
    l = small.parameter_values["l"]
    random = np.random.default_rng(7)
    states = [(small.q0, small.v0), *random.uniform(-1, 1, (4, 2, 4))]
    for q, v in states:
        Q, V = two_bar.to_maximal(q, v, l)
        assert large.system.position_residual(0.0, Q) == pytest.approx([0, 0], abs=1e-14)
        assert large.system.velocity_residual(0.0, Q, V) == pytest.approx([0, 0], abs=1e-14)
        a, b = small.system.evaluate(0.0, q, v), large.system.evaluate(0.0, Q, V)
        for name in ("g_N", "gdot_N", "v_T", "mu"):
            assert getattr(a, name) == pytest.approx(getattr(b, name), abs=1e-13)
        assert small.system.energy(0, q, v).total == pytest.approx(large.system.energy(0, Q, V).total, rel=1e-13)
        # The Delassus operator and the bias with the hinge eliminated are those of the four coordinates.
        S = np.linalg.inv(b.J @ np.linalg.solve(b.M, b.J.T))
        Y = np.linalg.solve(b.M, b.J.T)
        H = np.linalg.inv(b.M) - Y @ S @ Y.T
        free = np.linalg.solve(b.M, b.force)
        bound = free + Y @ S @ (b.gamma - b.J @ free)
        A, B, _ = two_bar.both_active(a)
        assert pytest.approx(b.J_N @ H @ b.friction_map, rel=1e-11, abs=1e-12) == A
        assert pytest.approx(b.J_N @ bound + b.zeta_N, rel=1e-11, abs=1e-11) == B


def test_misprints_change_what_they_name_and_nothing_else() -> None:
    regular = go.problem("two-bar", F=-7.0)
    step = regular.system.evaluate(0.0, regular.q0, regular.v0)
    changed = {
        "printed-sign": {"v_T"}, "printed-normal": {"J_N"}, "printed-bias": {"zeta_N"}, "printed-force": {"h", "Q"},
        "as-printed": {"v_T", "J_N", "zeta_N", "h", "Q"},
    }  # fmt: skip
    for variant, expected in changed.items():
        problem = go.problem("two-bar", F=-7.0, variant=variant)
        other = problem.system.evaluate(0.0, problem.q0, problem.v0)
        found = {n for n in (*SMOOTH, *CONTACT) if not np.array_equal(getattr(other, n), getattr(step, n))}
        assert found == expected, variant
        assert (other.g_N == step.g_N).all()
        assert (other.gdot_N == step.gdot_N).all()
        assert problem.user_events[0].function(0.0, problem.q0, problem.v0) > 0


EVIDENCE: dict[str, list[Any]] = {
    "001-1": [(29.500694048, 2.9e-9), (29.909807, 1e-6), (29.100437, 1e-6),
              *((x, 1e-6) for x in (11.191393, 13.678369, 13.678369, 11.191393))],
    "001-2": [*((x, 1e-12) for x in (2.65, -1.32, -1.49, 1.46, 0.88, -0.2, -0.2, 1.12)), lambda x: x > 0.5,
              lambda x: x < 1e-9],
    "001-3": [(x, 1e-5) for x in (0.01414, 0, 0.00707, 0.00707, 0.00707, 0.00707)],
    "001-4": [(4.3e-4, 1e-5), (0.13, 5e-3), (0.79, 5e-3), lambda x: x > 0, lambda x: x > 0],
    "001-5": [(x, 1e-5) for x in (0.70711, 0.70711, 1.07071, 1.07071)],
    "001-6": [(0.70711, 1e-5), (0.70711, 1e-5), (10.7, 0.05), (11.0, 0.05)],
}  # fmt: skip
"""What each erratum's computation gives: value and accuracy, or a condition."""


@pytest.mark.parametrize("number", EVIDENCE)
def test_errata_are_confirmed_by_stated_numbers(number: str) -> None:
    (erratum,) = (e for e in go.problem("two-bar").errata if e.id == number)
    found = erratum.check()
    assert not found.holds
    for value, stated in zip(found.numbers.values(), EVIDENCE[number], strict=True):
        assert stated(value) if callable(stated) else value == pytest.approx(stated[0], abs=stated[1])


def test_printed_start_is_in_the_air() -> None:
    problem = go.problem("two-bar", case="airborne")
    assert problem.q0 == pytest.approx([2**0.5, 2**0.5, np.pi / 4, np.pi / 4], abs=1e-15)
    assert problem.v0 == pytest.approx([-1, 1, -0.1, 0.1], abs=1e-15)


def test_a_variant_has_a_start_of_its_own(assert_sentence: Callable[..., None]) -> None:
    problem = go.problem("two-bar", variant="maximal", q0=np.zeros(6))
    assert problem.q0 == pytest.approx(np.zeros(6))
    assert problem.v0.shape == (6,)
    with pytest.raises(go.BadInput) as caught:
        go.problem("two-bar", variant="maximal", q0=np.zeros(4))
    assert_sentence(caught.value, "q0", "(4,)")
    with pytest.raises(go.BadInput) as caught:
        go.problem("two-bar", q0=np.zeros(4)).at(variant="maximal")
    assert_sentence(caught.value, "'maximal'", "6", "4")


def test_a_problem_without_contacts_has_no_events_and_no_contact_columns(crank: go.Problem) -> None:
    assert crank.user_events == ()
    rows = crank.reference("crank-A-2s")
    assert rows.lam_N.shape == (201, 0)
    assert rows.phase is None
