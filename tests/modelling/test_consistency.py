"""Rows typed by hand against the functions beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gaussopt as go

L, OMEGA = 0.5, 1.7
Q0, V0 = np.array([0.3, -0.4]), np.array([0.8, 0.6])


def pendulum(J: Any = None, gamma: Any = None, **more: Any) -> go.System:
    """A mass on a rod, typed by hand."""
    return go.System(
        np.eye(2),
        [0.0, -9.81],
        lambda t, q, v: ([q] if J is None else J(q), [-(v @ v)] if gamma is None else gamma(q, v)),
        position=lambda t, q: [(q @ q - L**2) / 2],
        name="rod",
        **more,
    )


def run(system: go.System, q0: Any = Q0, v0: Any = V0) -> go.Trajectory:
    return go.simulate(system, q0=q0, v0=v0, t_end=0.02, dt=0.01, step_folder=None)


@pytest.mark.parametrize("v0", [V0, 0.0 * V0])
def test_wrong_rows_are_refused(v0: np.ndarray[Any, Any]) -> None:
    """Also at rest, where gamma vanishes whatever its sign."""
    with pytest.raises(go.BadInput, match=r"row 1 of position is .* instead of 0; check gamma") as caught:
        run(pendulum(gamma=lambda q, v: [v @ v]), v0=v0)
    assert "\n" not in str(caught.value)
    with pytest.raises(
        go.BadInput, match=r"gradient of row 1 of position is \[ 0.3, -0.4\].*row 1 of J is \[-0.4,  0.3\]"
    ):
        run(pendulum(J=lambda q: [q[::-1]]), v0=0.0 * v0)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_right_rows_pass_at_any_size(size: float) -> None:
    system = go.System(
        np.eye(2), [0.0, -9.81], lambda t, q, v: ([q], [-(v @ v)]),
        position=lambda t, q: [np.hypot(*q) - size],  # another function with the same zero
    )  # fmt: skip
    assert run(system, [0.6 * size, -0.8 * size]).status is go.Status.SOLVED
    with pytest.raises(go.BadInput, match="check gamma"):
        run(go.System(np.eye(2), [0.0, 0.0], lambda t, q, v: ([q], [v @ v]), position=lambda t, q: [q @ q - size**2]),
            [0.6 * size, -0.8 * size], [0.0, 0.0])  # fmt: skip


def test_scaled_exchanged_redundant_and_further_rows_pass() -> None:
    """Two constraints in space, given twice and in another order, and a velocity constraint that keeps them."""

    def equality(t: float, q: Any, v: Any) -> Any:
        J = [[0.0, 0.0, 3.0], [q[0], q[1], 0.0], [2 * q[0], 2 * q[1], 0.0], [q[1], -q[0], 0.0]]
        speed = v[:2] @ v[:2]
        return J, [0.0, -speed, -2 * speed, 0.0]

    system = go.System(
        np.eye(3), [0.0, 0.0, -9.81], equality, position=lambda t, q: [q[0] ** 2 + q[1] ** 2 - 1.0, q[2]]
    )
    assert run(system, [0.6, 0.8, 0.0], np.zeros(3)).status is go.Status.SOLVED


def test_a_moving_constraint_passes_and_needs_its_terms() -> None:
    def moving(sign: float) -> go.System:
        return go.System(
            np.eye(2), [0.0, -9.81],
            lambda t, q, v: ([[-np.tan(OMEGA * t + 0.1), 1.0]],
                             [2 * v[0] * OMEGA / np.cos(OMEGA * t + 0.1) ** 2
                              + sign * 2 * q[0] * OMEGA**2 * np.tan(OMEGA * t + 0.1) / np.cos(OMEGA * t + 0.1) ** 2]),
            position=lambda t, q: [q[1] - q[0] * np.tan(OMEGA * t + 0.1)],
            velocity=lambda t, q, v: [
                v[1] - v[0] * np.tan(OMEGA * t + 0.1) - q[0] * OMEGA / np.cos(OMEGA * t + 0.1) ** 2
            ],
        )  # fmt: skip

    q0 = [1.0, np.tan(0.1)]
    v0 = [0.0, OMEGA / np.cos(0.1) ** 2]
    assert run(moving(1.0), q0, v0).status is go.Status.SOLVED
    with pytest.raises(go.BadInput, match="check gamma"):
        run(moving(-1.0), q0, v0)


def disc(J_sign: float = 1.0, zeta_sign: float = 1.0, constant: bool = False) -> go.System:
    """A point over a round hill."""

    def contacts(t: float, q: Any, v: Any) -> dict[str, Any]:
        r = np.hypot(*q)
        cross = q[0] * v[1] - q[1] * v[0]
        return {
            "g_N": [0.0 if constant else r - 1.0],
            "J_N": [[J_sign * q[0] / r, q[1] / r]],
            "zeta_N": [zeta_sign * cross**2 / r**3],
        }

    return go.System(np.eye(2), [0.0, -9.81], contacts=contacts, name="hill")


def test_gaps_are_checked_against_their_rows() -> None:
    q0, v0 = [0.6, 0.9], [0.1, 0.2]
    assert run(disc(), q0, v0).status is go.Status.SOLVED
    with pytest.raises(go.BadInput, match="gradient of the gap of contact 'contact 1'"):
        run(disc(J_sign=-1.0), q0, v0)
    with pytest.raises(go.BadInput, match="its zeta_N is"):
        run(disc(zeta_sign=-1.0), q0, 0.0 * np.array(v0))


def test_a_gap_with_a_kink_passes() -> None:
    """The lower end of a rod that lies flat: either end is a right answer."""

    def contacts(t: float, q: Any, v: Any) -> dict[str, Any]:
        side = 1.0 if q[1] >= 0 else -1.0
        return {
            "g_N": [q[0] - side * np.sin(q[1])], "J_N": [[1.0, -side * np.cos(q[1])]],
            "zeta_N": [side * np.sin(q[1]) * v[1] ** 2],
        }  # fmt: skip

    system = go.System(np.eye(2), [-9.81, 0.0], contacts=contacts)
    assert run(system, [1.0, 0.0], [0.0, 0.0]).status is go.Status.SOLVED
