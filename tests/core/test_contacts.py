"""Contacts of systems: derived against closed forms and finite differences, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from closed_forms import two_bar as two_bar_forms

import gaussopt as go
from gaussopt.core.contacts import check_coefficients
from gaussopt.core.step_data import StepData
from gaussopt.modelling.contact_points import ContactPoints
from gaussopt.modelling.modified import ModifiedSystem
from gaussopt.problems import sliding_rod, two_bar

ARRAYS = ("g_N", "gdot_N", "J_N", "zeta_N", "J_T", "zeta_T", "v_T", "mu", "e_N", "e_T")


def sixth(f: Callable[[float], Any], h: float = 2e-3) -> Any:
    """f'(0) by central differences of sixth order."""
    terms = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))
    return sum(c * (np.asarray(f(i * h)) - np.asarray(f(-i * h))) for i, c in terms) / h


def moving_floor(**coefficients: Any) -> go.System:
    """A bar whose end touches a floor that rises and falls, in the plane."""
    x, y, th, vx, vy, w, t = sp.symbols("x y theta vx vy omega t")
    a, l = sp.symbols("a l")
    return go.System.from_lagrangian(
        [x, y, th], [vx, vy, w], kinetic=(vx**2 + vy**2 + w**2 / 3) / 2, potential=9.81 * y,
        contacts=[
            go.Contact(
                "end",
                position=(x - l * sp.cos(th) + a * sp.sin(3 * t), y - l * sp.sin(th) - a * sp.sin(2 * t)),
                **{"mu": 0.3, "e_N": 0.5, "e_T": 0.1, **coefficients},
            )
        ],
        parameters={"a": 0.1, "l": 0.7}, name="moving-floor",
    )  # fmt: skip


def particle() -> go.System:
    """A particle on a curved floor in space: two tangential directions."""
    x, y, z, vx, vy, vz = sp.symbols("x y z vx vy vz")
    m, mu = sp.symbols("m mu")
    return go.System.from_lagrangian(
        [x, y, z], [vx, vy, vz], kinetic=m * (vx**2 + vy**2 + vz**2) / 2, potential=9.81 * m * z,
        contacts=[
            go.Contact("floor", position=(x, y, z), mu=mu),
            go.Contact("hill", gap=z - sp.sin(x) * sp.cos(y), slip=(vx + sp.cos(x) * vz, vy), mu=2 * mu),
        ],
        parameters={"m": 2.0, "mu": 0.25}, name="particle",
    )  # fmt: skip


@pytest.mark.parametrize("sigma", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
@pytest.mark.parametrize("theta", [0.3, 0.9, 1.3])
def test_two_bars_on_the_floor(theta: float, sigma: tuple[int, int]) -> None:
    problem = go.problem("two-bar")
    p = problem.parameter_values
    q, v = two_bar.both_ends(theta, 0.3, -1.0, 0.7, p["l"])
    step = problem.system.evaluate(0.0, q, v)
    A = step.J_N @ np.linalg.solve(step.M, step.J_N.T + step.J_T[:, 0].T * np.array(sigma) * p["mu"])
    B = step.J_N @ np.linalg.solve(step.M, step.force) + step.zeta_N
    assert pytest.approx(two_bar.delassus(theta, sigma, p), abs=1e-13) == A
    assert pytest.approx([two_bar_forms.bias(theta, 0.7, p)] * 2, abs=1e-12) == B
    N = -np.linalg.solve(A, B)
    a = np.linalg.solve(step.M, step.force + (step.J_N.T + step.J_T[:, 0].T * np.array(sigma) * p["mu"]) @ N)
    alpha, ax, forces = two_bar.reduced(theta, 0.7, sigma, p)
    assert forces == pytest.approx(N, rel=1e-11)
    assert [ax, alpha, -alpha] == pytest.approx(a[[0, 2, 3]], rel=1e-11)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [moving_floor, particle])
def test_every_derivative_against_finite_differences(make: Callable[[], go.System], seed: int) -> None:
    system = make()
    random = np.random.default_rng(seed)
    t, q, v, a = 0.4, *random.uniform(-1.0, 1.0, (3, 3))
    step = system.evaluate(t, q, v)
    assert system.gaps(t, q) == pytest.approx(step.g_N, abs=1e-15)
    assert system.gap_rates(t, q, v) == pytest.approx(step.gdot_N, abs=1e-15)
    for j, unit in enumerate(np.eye(3)):
        assert step.J_N[:, j] == pytest.approx(sixth(lambda s, u=unit: system.gaps(t, q + s * u)), abs=1e-11)
        # Slips are linear in the velocity: a difference of two is exact.
        other = system.evaluate(t, q, v + unit)
        assert step.J_T[:, :, j] == pytest.approx(other.v_T - step.v_T, abs=1e-13)

    # Along a motion with acceleration a: (gap rate)' = J_N a + zeta_N, (slip)' = J_T a + zeta_T.
    def along(s: float) -> StepData:
        return system.evaluate(t + s, q + s * v + s**2 / 2 * a, v + s * a)

    assert step.gdot_N == pytest.approx(sixth(lambda s: along(s).g_N), abs=1e-11)
    assert step.J_N @ a + step.zeta_N == pytest.approx(sixth(lambda s: along(s).gdot_N), abs=1e-11)
    assert step.J_T @ a + step.zeta_T == pytest.approx(sixth(lambda s: along(s).v_T), abs=1e-11)


def test_a_particle_in_space_has_two_tangential_directions() -> None:
    system = particle()
    step = system.evaluate(0.0, np.array([0.3, 0.2, 0.0]), np.array([3.0, 4.0, 0.0]))
    assert step.J_T.shape == (2, 2, 3)
    assert step.speed[0] == pytest.approx(5.0)
    assert step.sigma[0] == pytest.approx([-0.6, -0.8])
    assert step.mu == pytest.approx([0.25, 0.5])
    assert system.contact_names == ("floor", "hill")
    assert system.with_parameters(mu=0.1).evaluate(0.0, step.q, step.v).mu == pytest.approx([0.1, 0.2])


def test_a_moving_floor_moves_the_gap_and_the_slip_of_a_body_at_rest() -> None:
    system = moving_floor()
    t, q = 0.3, np.array([0.0, 1.0, 0.5])
    step = system.evaluate(t, q, np.zeros(3))
    assert step.gdot_N == pytest.approx([-0.2 * math.cos(2 * t)], abs=1e-15)
    assert step.v_T[0] == pytest.approx([0.3 * math.cos(3 * t)], abs=1e-15)
    assert step.zeta_N == pytest.approx([0.4 * math.sin(2 * t)], abs=1e-15)
    assert step.zeta_T[0] == pytest.approx([-0.9 * math.sin(3 * t)], abs=1e-15)
    assert (step.e_N, step.e_T) == (pytest.approx([0.5]), pytest.approx([0.1]))


def test_a_contact_without_slip_has_zero_rows_beside_one_with() -> None:
    x, y, vx, vy = sp.symbols("x y vx vy")
    system = go.System.from_lagrangian(
        [x, y], [vx, vy], kinetic=(vx**2 + vy**2) / 2,
        contacts=[go.Contact("wall", gap=1 - x), go.Contact("floor", position=(x, y), mu=0.5)],
        name="corner",
    )  # fmt: skip
    step = system.evaluate(0.0, np.array([0.2, 0.1]), np.array([1.0, -2.0]))
    assert step.g_N == pytest.approx([0.8, 0.1])
    assert step.gdot_N == pytest.approx([-1.0, -2.0])
    assert pytest.approx(np.array([[[0.0, 0.0]], [[1.0, 0.0]]])) == step.J_T
    assert step.mu == pytest.approx([0.0, 0.5])


def test_the_smooth_part_keeps_its_generated_certificate() -> None:
    problem = go.problem("two-bar")
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    free = step.select([])
    assert free.arithmetic is not None
    assert free.k == 0
    a = np.linalg.solve(step.M, step.force) + np.array([1e-3, 0.0, 0.0, 0.0])
    generated, general = go.certify(free, a), go.certify(StepData.from_mapping(free.to_mapping()), a)
    assert generated.error_bound == pytest.approx(1e-3 * 2.0, rel=1e-9)
    assert generated.error_bound == pytest.approx(general.error_bound, rel=1e-9)
    # With contact forces as applied forces the generated arithmetic, which reads the old Q, must be gone.
    loaded = step.with_forces(np.array([1.0, 2.0]), np.zeros((2, 1)))
    assert loaded.arithmetic is None
    a = np.linalg.solve(step.M, step.force + step.J_N.T @ [1.0, 2.0])
    assert go.certify(loaded, a).passed()


def test_a_system_without_contacts_has_none() -> None:
    problem = go.problem("crank-slider")
    system = problem.system
    assert system.contact_names == system.two_sided == ()
    assert system.gaps(0.0, problem.q0).shape == system.gap_rates(0.0, problem.q0, problem.v0).shape == (0,)
    step = system.evaluate(0.0, problem.q0, problem.v0)
    assert step.k == 0
    assert step.g_N is None


def rod_points(t: float, q: np.ndarray) -> list[list[Any]]:
    """Both ends of the rod of 1 m."""
    x, y, th = q
    c, s = 0.5 * np.cos(th), 0.5 * np.sin(th)
    return [[x - c, y - s], [x + c, y + s]]


def real_points(t: float, q: np.ndarray) -> list[list[float]]:
    """The same by functions that take real numbers only."""
    c, s = 0.5 * math.cos(q[2]), 0.5 * math.sin(q[2])
    return [[q[0] - c, q[1] - s], [q[0] + c, q[1] + s]]


def cast_points(t: float, q: np.ndarray) -> np.ndarray:
    """The same by an array of real numbers, which drops imaginary parts with a warning."""
    out = np.zeros((2, 2))
    for i, row in enumerate(rod_points(t, q)):
        for j, value in enumerate(row):
            out[i, j] = np.real(value)
    return out


def plain_rod(contacts: Callable[..., Any], **settings: Any) -> go.System:
    return go.System(np.diag([1.0, 1.0, 1 / 12]), [0.0, -9.81, 0.0], contacts=contacts, name="rod", **settings)


@pytest.mark.parametrize(
    ("position", "exact"),
    [(rod_points, True), (real_points, False), (cast_points, False)],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_positions_alone_give_the_derived_contact(position: Callable[..., Any], exact: bool) -> None:
    points = go.contact_points(position, mu=0.3, e_N=[0.1, 0.2], names=("A", "B"))
    plain, derived = plain_rod(points), go.problem("sliding-rod").system
    assert plain.contact_names == ("A", "B")
    for seed in range(5):
        random = np.random.default_rng(seed)
        q, v = random.uniform(-1.0, 1.0, 3), random.uniform(-5.0, 5.0, 3)
        a, b = plain.evaluate(0.0, q, v), derived.evaluate(0.0, q, v)
        tolerance = 3e-11 if exact else 1e-9
        for name in ("g_N", "gdot_N", "J_N", "zeta_N", "J_T", "zeta_T", "v_T", "mu"):
            assert getattr(a, name)[:1] == pytest.approx(getattr(b, name), abs=tolerance), name
        assert a.e_N == pytest.approx([0.1, 0.2])
        assert plain.gaps(0.0, q)[:1] == pytest.approx(derived.gaps(0.0, q), abs=1e-15)
        assert plain.gap_rates(0.0, q, v)[:1] == pytest.approx(derived.gap_rates(0.0, q, v), abs=tolerance)
    assert points._complex is exact


def test_positions_in_space_and_time() -> None:
    def position(t: float, q: np.ndarray) -> Any:
        return [[q[0] + 0.1 * np.sin(3 * t), q[1], q[2] - np.sin(q[0]) * np.cos(q[1]) - 0.1 * np.cos(5 * t)]]

    points = go.contact_points(position, mu=0.2)
    t, q, v = 0.4, np.array([0.3, -0.5, 0.2]), np.array([2.0, -30.0, 1.0])
    data = points(t, q, v)

    def along(s: float) -> np.ndarray:
        return np.asarray(position(t + s, q + s * v))

    # Three differentiations by hand of sin(x) cos(y) along the straight motion.
    x, y, (u, w, _) = q[0], q[1], v
    second = -(u**2 + w**2) * math.sin(x) * math.cos(y) - 2 * u * w * math.cos(x) * math.sin(y)
    assert data.zeta_N == pytest.approx([-second + 2.5 * math.cos(5 * t)], rel=1e-11)
    assert data.zeta_T == pytest.approx(np.array([[-0.9 * math.sin(3 * t), 0.0]]), abs=1e-8)
    assert data.gdot_N == pytest.approx(sixth(lambda s: along(s)[:, -1], 1e-3), rel=1e-9)
    assert np.shape(data.J_T) == (1, 2, 3)


def test_a_branch_that_complex_numbers_would_falsify_is_noticed() -> None:
    def position(t: float, q: np.ndarray) -> Any:
        return [[q[0], abs(q[1]) + 0.1 * q[0]]]  # |y| has no complex derivative

    points = go.contact_points(position)
    data = points(0.0, np.array([0.3, 2.0]), np.array([1.0, -1.0]))
    assert points._complex is False
    assert pytest.approx(np.array([[0.1, 1.0]]), abs=1e-12) == data.J_N
    assert data.gdot_N == pytest.approx([-0.9], abs=1e-12)


def test_a_mapping_is_enough_and_rates_follow_from_the_rows() -> None:
    def contacts(t: float, q: np.ndarray, v: np.ndarray) -> dict[str, Any]:
        return {
            "g_N": [q[1]], "J_N": [[0, 1, 0]], "zeta_N": [0.0], "J_T": [[1, 0, 0.5]], "zeta_T": [0.25], "mu": 0.4
        }  # fmt: skip

    system = plain_rod(contacts)
    assert system.contact_names == ()
    step = system.evaluate(0.0, np.array([0.0, 0.3, 0.0]), np.array([1.0, -2.0, 4.0]))
    assert system.contact_names == ("contact 1",)
    assert system.two_sided == (False,)
    assert step.gdot_N == pytest.approx([-2.0])
    assert step.v_T == pytest.approx(np.array([[3.0]]))
    assert step.zeta_T.shape == (1, 1)
    assert step.mu == pytest.approx([0.4])
    assert step.e_N == pytest.approx([0.0])


def test_contacts_and_joints_together() -> None:
    """The pinned rod as a callable: rows of the joint and of the contact in one step."""
    system = go.System(
        np.diag([1.0, 1.0, 1 / 12, 1.0]), [0.0, -9.81, 0.0, 0.0],
        equality=lambda t, q, v: ([[1, 0, 0, -1]], [0.0]),
        contacts=go.contact_points(rod4, mu=1.5), name="carriage",
    )  # fmt: skip
    step = system.evaluate(0.0, np.array([0.2236, 0.4472, sliding_rod.STEEP, 0.2236]), np.zeros(4))
    assert (step.m, step.k) == (1, 1)
    assert step.J_N[0] == pytest.approx([0, 1, -0.2236067977, 0], abs=1e-9)


def rod4(t: float, q: np.ndarray) -> Any:
    return rod_points(t, q[:3])[:1]


def test_an_altered_system_answers_like_the_regular_one() -> None:
    regular = go.problem("two-bar").system
    altered = ModifiedSystem(regular, two_bar.printed_sign).with_parameters(mu=0.7)
    problem = go.problem("two-bar", mu=0.7)
    q, v = problem.q0, problem.v0
    assert altered.parameters == problem.parameter_values
    assert altered.contact_names == ("A", "C")
    assert altered.two_sided == (False, False)
    assert altered.coordinates(4) == problem.coordinates
    assert (altered.gaps(0.0, q) == problem.system.gaps(0.0, q)).all()
    assert (altered.gap_rates(0.0, q, v) == problem.system.gap_rates(0.0, q, v)).all()
    assert altered.energy(0.0, q, v) == problem.system.energy(0.0, q, v)
    assert altered.position_residual(0.0, q).shape == altered.velocity_residual(0.0, q, v).shape == (0,)
    assert altered.position_jacobian(0.0, q).shape == (0, 4)
    step = altered.evaluate(0.0, q, v)
    assert step.arithmetic is not None  # M, h and Q are the regular ones
    assert (step.sigma == -problem.system.evaluate(0.0, q, v).sigma).all()
    assert ModifiedSystem(regular, two_bar.printed_force).evaluate(0.0, q, v).arithmetic is None


def planar(*contacts: Any, parameters: dict[str, float] | None = None) -> go.System:
    x, y, vx, vy = sp.symbols("x y vx vy")
    return go.System.from_lagrangian(
        [x, y], [vx, vy], kinetic=(vx**2 + vy**2) / 2, contacts=contacts, parameters=parameters or {}, name="planar"
    )


X, Y, VX, VY, MU = sp.symbols("x y vx vy mu")


@pytest.mark.parametrize(
    ("contacts", "culprits"),
    [
        ([go.Contact("A")], ("'A'", "position or a gap")),
        ([go.Contact("A", position=(X, Y), gap=Y)], ("'A'", "position or a gap")),
        ([go.Contact("A", position=(X, Y), slip=(VX,))], ("'A'", "slip follows")),
        ([go.Contact("A", position=(Y,))], ("'A'", "1 entries")),
        ([go.Contact("A", gap=Y, slip=(VX, VY, VX))], ("'A'", "3 entries")),
        ([go.Contact("A", gap=Y, slip=(VX**2,), mu=0.1)], ("'A'", "not linear")),
        ([go.Contact("A", gap=Y + VX)], ("gap of contact 'A'", "velocity of 'x'")),
        ([go.Contact("A", gap=sp.Integer(1))], ("'A'", "normal direction", "identically zero")),
        ([go.Contact("A", gap=sp.sin(X) ** 2 + sp.cos(X) ** 2)], ("'A'", "normal direction", "identically zero")),
        ([go.Contact("A", position=(sp.Integer(0), Y))], ("'A'", "tangential direction", "identically zero")),
        ([go.Contact("A", gap=Y, slip=(X,))], ("'A'", "tangential direction", "identically zero")),
        ([go.Contact("A", gap=Y, mu=0.3)], ("'A'", "friction", "slip")),
        ([go.Contact("A", gap=Y, slip=(VX,), mu=X)], ("mu of contact 'A'", "parameters only")),
        ([go.Contact("A", gap=Y, slip=(VX,), mu=MU)], ("mu of contact 'A'", "unknown symbol 'mu'")),
        ([go.Contact("A", gap=Y), go.Contact("A", gap=X)], ("'A'", "name of its own")),
        ([go.Contact("A", position=(X, Y)), go.Contact("B", position=(X, Y, X))], ("planar and spatial",)),
        ([{"gap": Y}], ("contacts[0]", "dict")),
    ],
)
def test_what_is_no_contact_is_named(
    contacts: list[Any], culprits: tuple[str, ...], assert_sentence: Callable[..., None]
) -> None:
    with pytest.raises(go.BadInput) as caught:
        planar(*contacts)
    assert_sentence(caught.value, "'planar'", *culprits)


@pytest.mark.parametrize(
    ("name", "value", "word"), [("mu", -0.1, "-0.1"), ("e_N", 1.5, "1.5"), ("e_T", -0.5, "-0.5"), ("e_N", -1, "-1")]
)
def test_impossible_coefficients_are_named(
    name: str, value: float, word: str, assert_sentence: Callable[..., None]
) -> None:
    c = sp.Symbol("c")
    system = planar(go.Contact("A", position=(X, Y), **{name: c}), parameters={"c": 0.5})
    assert getattr(system.evaluate(0.0, np.zeros(2), np.zeros(2)), name) == pytest.approx([0.5])
    wrong = system.with_parameters(c=value)
    with pytest.raises(go.BadInput) as caught:
        wrong.evaluate(0.0, np.zeros(2), np.zeros(2))
    assert_sentence(caught.value, name, "'A'", "'planar'", word)
    # The coefficient at the limit is one.
    assert system.with_parameters(c=0.0).evaluate(0.0, np.zeros(2), np.zeros(2)).k == 1


def test_a_normal_that_vanishes_at_a_state_is_named(assert_sentence: Callable[..., None]) -> None:
    system = planar(go.Contact("A", gap=Y), go.Contact("bowl", gap=1 - sp.cos(X)))
    assert system.evaluate(0.0, np.array([0.1, 0.0]), np.zeros(2)).k == 2
    with pytest.raises(go.BadInput) as caught:
        system.evaluate(0.0, np.array([0.0, 0.5]), np.zeros(2))
    assert_sentence(caught.value, "'bowl'", "zero", "0.5")
    with pytest.raises(go.BadInput):
        system.evaluate(0.0, np.array([np.pi, 0.5]), np.zeros(2))  # sin(pi) is 1e-16, not a direction


GOOD = {"g_N": [0.1], "J_N": [[0, 1, 0]], "zeta_N": [0.0], "J_T": [[1, 0, 0]], "zeta_T": [0.0], "mu": [0.1]}


@pytest.mark.parametrize(
    ("change", "culprits"),
    [
        ({"J_N": [[0, 1]]}, ("contacts (J_N)", "(1, 2)", "(1, 3)")),
        ({"zeta_N": [0.0, 0.0]}, ("contacts (zeta_N)", "(2,)")),
        ({"J_T": [[1, 0]]}, ("contacts (J_T)",)),
        ({"zeta_T": [[0.0, 1.0]]}, ("contacts (zeta_T)", "(1, 2)")),
        ({"g_N": [np.nan]}, ("contacts (g_N)", "nan")),
        ({"v_T": "fast"}, ("contacts (v_T)",)),
        ({"mu": [-0.2]}, ("mu", "'contact 1'", "-0.2")),
        ({"e_N": 2.0}, ("e_N", "'contact 1'", "2")),
        ({"J_N": [[0, 0, 0]]}, ("'contact 1'", "normal direction")),
        ({"J_N": None}, ("no 'J_N'",)),
        ({"J_T": None}, ("'zeta_T' without 'J_T'",)),
        ({"J_T": None, "zeta_T": None}, ("positive 'mu' without 'J_T'",)),
        ({"zeta_T": None}, ("'J_T' without 'zeta_T'",)),
        ({"friction": [0.1]}, ("'friction'", "known")),
    ],
)
def test_what_a_callable_returns_is_checked(
    change: dict[str, Any], culprits: tuple[str, ...], assert_sentence: Callable[..., None]
) -> None:
    q = np.array([0.25, 0.5, 0.75])
    assert plain_rod(lambda t, q, v: GOOD).evaluate(0.0, q, q).k == 1
    system = plain_rod(lambda t, q, v: {**GOOD, **change})
    with pytest.raises(go.BadInput) as caught:
        system.evaluate(0.0, q, q)
    assert_sentence(caught.value, "'rod'", *culprits)


def test_failing_callables_are_named_with_the_state(assert_sentence: Callable[..., None]) -> None:
    q = np.array([0.25, 0.5, 0.75])
    for contacts, culprit in (
        (lambda t, q, v: 1 / 0, "ZeroDivisionError"),
        (lambda t, q, v: [1.0], "list"),
        (go.contact_points(lambda t, q: 1 / 0), "ZeroDivisionError"),
        (go.contact_points(lambda t, q: [1.0, 2.0]), "(2,)"),
        (go.contact_points(lambda t, q: [[q[0], np.nan * q[1]]]), "nan"),
    ):
        system = plain_rod(contacts)
        with pytest.raises(go.BadInput) as caught:
            system.evaluate(0.125, q, q)
        assert_sentence(caught.value, culprit, "0.125", "0.75")
    with pytest.raises(go.BadInput, match="must be a callable"):
        plain_rod([1.0])
    with pytest.raises(go.BadInput, match="must be a callable"):
        go.contact_points([[0.0, 1.0]])


def test_the_number_of_contacts_never_changes(assert_sentence: Callable[..., None]) -> None:
    def contacts(t: float, q: np.ndarray, v: np.ndarray) -> dict[str, Any]:
        k = 1 if t == 0 else 2
        return {"g_N": np.ones(k), "J_N": np.ones((k, 3)), "zeta_N": np.zeros(k)}

    system = plain_rod(contacts)
    assert system.evaluate(0.0, np.ones(3), np.ones(3)).k == 1
    with pytest.raises(go.BadInput) as caught:
        system.evaluate(1.0, np.ones(3), np.ones(3))
    assert_sentence(caught.value, "'rod'", "2 contacts", "1")
    for wrong in ({"contact_names": ("A", "B")}, {"two_sided": (True, False)}):
        with pytest.raises(go.BadInput, match="returned 1 contacts"):
            plain_rod(contacts, **wrong).evaluate(0.0, np.ones(3), np.ones(3))
    named = plain_rod(contacts, contact_names=["A"], two_sided=[True])
    named.evaluate(0.0, np.ones(3), np.ones(3))
    assert (named.contact_names, named.two_sided) == (("A",), (True,))


def test_contact_points_carry_names_and_sides() -> None:
    points = go.contact_points(rod_points, names=["A", "B"], two_sided=[True, False])
    assert isinstance(points, ContactPoints)
    system = plain_rod(points)
    assert (system.contact_names, system.two_sided) == (("A", "B"), (True, False))


def test_derived_contacts_are_cached_by_what_they_are() -> None:
    one = planar(go.Contact("A", gap=Y))
    two = planar(go.Contact("A", gap=Y + sp.sin(X)))
    again = planar(go.Contact("another name", gap=Y, two_sided=True))
    assert one.source_path != two.source_path
    assert one.source_path == again.source_path
    assert (again.contact_names, again.two_sided) == (("another name",), (True,))
    for name in ARRAYS:
        assert getattr(one.evaluate(0.0, np.ones(2), np.ones(2)), name).shape[0] == 1


@pytest.mark.parametrize(("name", "value"), [(n, x) for n in ("mu", "e_N", "e_T") for x in (math.nan, math.inf, -0.1)])
def test_coefficients_that_are_none_are_named(name: str, value: float) -> None:
    """As numbers of a contact, and as values that its parameters give it."""
    values = {"mu": 0.0, "e_N": 0.0, "e_T": 0.0, name: value}
    with pytest.raises(go.BadInput, match=f"{name} of contact 'c' of 'ball' is"):
        check_coefficients("ball", ["c"], *(np.array([values[n]]) for n in ("mu", "e_N", "e_T")))
    y, v, given = sp.symbols("y v given")
    contact = go.Contact("c", gap=y, slip=[v], **{name: value})
    with pytest.raises(go.BadInput, match=f"{name} of contact 'c' of 'ball'"):
        go.System.from_lagrangian(
            [y], [v], kinetic=v**2, contacts=[contact], parameters={given: 1.0}, name="ball"
        ).evaluate(0.0, [0.0], [0.0])


def test_values_of_an_event_at_many_states_are_those_at_each() -> None:
    t, q = np.linspace(0.0, 1.0, 5), np.linspace(-1.0, 1.0, 10).reshape(5, 2)
    event = go.Event("sum", lambda t, q, v: t + q[0] - v[1])
    assert event.values(t, q, q).tolist() == [event.value(*state) for state in zip(t, q, q, strict=True)]

    def scales(t: float, q: Any, v: Any) -> float:
        if t > 0.6:
            q *= 2.0
        return 1.0

    def raises(t: float, q: Any, v: Any) -> float:
        return 1.0 / (t - 0.5)

    kept = q.copy()
    for function, words in (
        (scales, "Event 'bad' writes into the q or v"), (raises, "raised ZeroDivisionError at t = 0.5"),
        (lambda t, q, v: math.nan if t == 0.25 else 1.0, "Event 'bad' is nan at t = 0.25"),
    ):  # fmt: skip
        with pytest.raises(go.BadInput, match=words):
            go.Event("bad", function).values(t, q, q)
        assert (q == kept).all()
