from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gaussopt as go

Q0, V0 = np.array([0.6, -0.8]), np.array([0.8, 0.6])


def test_callables_give_the_step_data_of_a_state(pendulum: go.System) -> None:
    step = pendulum.evaluate(0.5, Q0, V0)
    assert step.t == 0.5
    np.testing.assert_array_equal(step.M, np.eye(2))
    np.testing.assert_array_equal(step.force, [0.0, -9.81])
    np.testing.assert_array_equal(step.J, [[0.6, -0.8]])
    np.testing.assert_allclose(step.gamma, [-1.0], rtol=1e-15)
    np.testing.assert_array_equal(step.q, Q0)
    np.testing.assert_array_equal(step.v, V0)


def test_acceleration_of_the_pendulum(pendulum: go.System) -> None:
    # Along the rod the centripetal acceleration v^2, across it gravity: a = -v^2 q + (g . tau) tau.
    a = go.solve_step(pendulum.evaluate(0.0, Q0, V0)).a
    tangent = np.array([0.8, 0.6])
    np.testing.assert_allclose(a, -Q0 + (-9.81 * 0.6) * tangent, rtol=1e-14)


def test_constant_arrays_are_parts_too() -> None:
    step = go.System(mass=[[2.0]], force=[3.0], inertia=[1.0]).evaluate(0.0, [0.0], [0.0])
    assert step.force.tolist() == [2.0]
    assert step.m == 0


def test_lists_are_taken_for_states(pendulum: go.System) -> None:
    np.testing.assert_array_equal(pendulum.evaluate(0, [0.6, -0.8], [0.8, 0.6]).J, [[0.6, -0.8]])


def test_constraint_residuals_and_energy(pendulum: go.System) -> None:
    off = np.array([0.6, -0.9])
    np.testing.assert_allclose(pendulum.position_residual(0.0, off), [0.085], rtol=1e-13)
    np.testing.assert_array_equal(pendulum.position_jacobian(0.0, off), [[0.6, -0.9]])
    # Without a velocity function the residual is J v.
    np.testing.assert_allclose(pendulum.velocity_residual(0.0, off, V0), [0.48 - 0.54], rtol=1e-13)
    energy = pendulum.energy(0.0, Q0, V0)
    assert energy is not None
    assert energy.total == pytest.approx(0.5 - 9.81 * 0.8, rel=1e-15)


def test_errors_of_several_lines_are_told_on_one() -> None:
    def fail(t: float, q: Any, v: Any) -> Any:
        raise ValueError("boom\nline 2")

    with pytest.raises(go.BadInput, match="force of 'system' raised ValueError: boom line 2, at t = 0"):
        go.System([[1.0]], fail).evaluate(0.0, [0.0], [0.0])


def test_what_is_not_given_is_not_known() -> None:
    free = go.System(mass=np.eye(2), force=np.zeros(2))
    assert free.position_residual(0.0, Q0) is None
    assert free.energy(0.0, Q0, V0) is None
    assert free.velocity_residual(0.0, Q0, V0).shape == (0,)
    assert free.position_jacobian(0.0, Q0).shape == (0, 2)


def test_names_of_coordinates(pendulum: go.System) -> None:
    assert pendulum.coordinates(2) == ("x", "y")
    assert go.System(mass=np.eye(3), force=np.zeros(3)).coordinates(3) == ("q1", "q2", "q3")


def test_plain_callables_have_no_parameters(pendulum: go.System, assert_sentence: Callable[..., None]) -> None:
    assert pendulum.parameters == {}
    assert pendulum.with_parameters() is pendulum
    with pytest.raises(go.UnknownName) as caught:
        pendulum.with_parameters(length=2.0)
    assert_sentence(caught.value, "'length'")


def _nan_force(t: float, q: np.ndarray, v: np.ndarray) -> list[float]:
    return [0.0, float("nan")]


def _crashing_force(t: float, q: np.ndarray, v: np.ndarray) -> list[float]:
    raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize(
    ("parts", "culprits"),
    [
        ({"force": _nan_force}, ("force", "[1]", "nan")),
        ({"force": _crashing_force}, ("force", "ZeroDivisionError")),
        ({"force": lambda t, q, v: [1.0]}, ("force", "(1,)", "(2,)")),
        ({"force": lambda t, q, v: "strong"}, ("force", "not an array")),
        ({"force": lambda t, q, v: None}, ("force",)),
        ({"inertia": lambda t, q, v: [np.inf, 0.0]}, ("inertia", "[0]", "inf")),
        ({"mass": lambda t, q, v: np.full((2, 2), np.nan)}, ("mass", "[0, 0]", "nan")),
        ({"mass": lambda t, q, v: np.eye(3)}, ("mass", "(3, 3)", "2 entries of q")),
        ({"mass": np.ones((3, 3))}, ("mass", "(3, 3)")),
        ({"mass": [[1.0, 0.2], [0.1, 1.0]]}, ("mass", "not symmetric", "[0, 1]")),
        ({"mass": [[1.0, 2.0], [2.0, 1.0]]}, ("mass", "indefinite")),
        ({"equality": lambda t, q, v: ([[np.nan, 1.0]], [0.0])}, ("equality (J)", "[0, 0]")),
        ({"equality": lambda t, q, v: ([[1.0, 1.0]], [np.nan])}, ("equality (gamma)", "[0]")),
        ({"equality": lambda t, q, v: ([[1.0, 1.0]], [0.0, 0.0])}, ("equality (gamma)", "(2,)")),
        ({"equality": lambda t, q, v: ([[1.0]], [0.0])}, ("equality (J)", "(1, 1)")),
    ],
)
def test_a_bad_callable_is_named_with_time_and_state(
    parts: dict[str, Any], culprits: tuple[str, ...], assert_sentence: Callable[..., None]
) -> None:
    system = go.System(**{"mass": np.eye(2), "force": np.zeros(2), "name": "rod", **parts})
    with pytest.raises(go.BadInput) as caught:
        system.evaluate(1.25, Q0, V0)
    assert_sentence(caught.value, "'rod'", "t = 1.25", "0.6", "-0.8", *culprits)


@pytest.mark.parametrize(("t", "q", "words"), [(np.nan, Q0, "t is nan"), (0.0, [np.nan, 0.0], "not finite")])
def test_a_state_is_finite(t: float, q: Any, words: str) -> None:
    derived = go.problem("bouncing-ball").system
    for system, place in ((go.System(mass=np.eye(2), force=np.zeros(2)), q), (derived, q[:1])):
        with pytest.raises(go.BadInput, match=words):
            system.evaluate(t, place, place)


def test_equality_must_return_a_pair() -> None:
    system = go.System(mass=np.eye(2), force=np.zeros(2), equality=lambda t, q, v: np.zeros((1, 2)))
    with pytest.raises(go.BadInput, match=r"pair \(J, gamma\)"):
        system.evaluate(0.0, Q0, V0)


@pytest.mark.parametrize("label", ["equality", "position", "velocity", "energy"])
def test_a_part_that_must_be_callable(label: str) -> None:
    with pytest.raises(go.BadInput, match=f"{label}.*callable"):
        go.System(mass=np.eye(2), force=np.zeros(2), **{label: np.zeros(2)})


@pytest.mark.parametrize(
    ("parts", "culprit"),
    [
        ({"position": lambda t, q: [np.nan]}, "position"),
        ({"velocity": lambda t, q, v: [np.nan]}, "velocity"),
        ({"energy": lambda t, q, v: (1.0, np.nan)}, "energy"),
        ({"energy": lambda t, q, v: 1.0}, "energy"),
    ],
)
def test_bad_residuals_and_energies_are_named(
    parts: dict[str, Any], culprit: str, assert_sentence: Callable[..., None]
) -> None:
    system = go.System(mass=np.eye(2), force=np.zeros(2), **parts)
    ask = {
        "position": lambda: system.position_residual(0.5, Q0),
        "velocity": lambda: system.velocity_residual(0.5, Q0, V0),
        "energy": lambda: system.energy(0.5, Q0, V0),
    }[culprit]
    with pytest.raises(go.BadInput) as caught:
        ask()
    assert_sentence(caught.value, culprit, "t = 0.5")


def test_the_state_of_many_coordinates_stays_one_line(assert_sentence: Callable[..., None]) -> None:
    n = 12
    system = go.System(mass=np.eye(n), force=lambda t, q, v: np.full(n, np.nan))
    with pytest.raises(go.BadInput) as caught:
        system.evaluate(0.0, np.linspace(0.123456, 9.87654, n), np.zeros(n))
    assert_sentence(caught.value, "force", "9.87654")
