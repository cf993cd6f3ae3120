from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.core.arrays import check_mass_matrix

STEP: dict[str, Any] = {"M": [[2.0, 0.5], [0.5, 1.0]], "Q": [1.0, -9.81], "J": [[1.0, 0.0]], "gamma": [0.25]}
CONTACT: dict[str, Any] = {**STEP, "J_N": [[0.0, 1.0]], "zeta_N": [0.5]}


def test_absent_parts_are_empty_and_h_is_zero() -> None:
    step = go.StepData.from_mapping({"M": [[1.0]], "Q": [3.0]})
    assert (step.n, step.m, step.k) == (1, 0, 0)
    assert step.J.shape == (0, 1)
    assert step.J_N.shape == (0, 1)
    assert step.h.tolist() == [0.0]
    assert step.force.tolist() == [3.0]


def test_force_is_applied_minus_inertia() -> None:
    step = go.StepData.from_mapping({**STEP, "h": [0.5, 1.0]})
    assert step.force.tolist() == [0.5, -10.81]


def test_other_keys_are_ignored() -> None:
    step = go.StepData.from_mapping({**STEP, "kind": "step", "name": "x", "note": "", "r": 1})
    assert step.n == 2


def test_file_contents_come_back_unchanged() -> None:
    rng = np.random.default_rng(0)
    n, m, k = 3, 2, 2
    root = rng.standard_normal((n, n))
    contents = {
        "M": root @ root.T, "h": rng.standard_normal(n), "Q": rng.standard_normal(n),
        "J": rng.standard_normal((m, n)), "gamma": rng.standard_normal(m),
        "J_N": rng.standard_normal((k, n)), "zeta_N": rng.standard_normal(k),
        "J_T": rng.standard_normal((k, 2, n)), "zeta_T": rng.standard_normal((k, 2)),
        "v_T": rng.standard_normal((k, 2)), "mu": rng.random(k),
        "t": 0.7, "q": rng.standard_normal(n), "v": rng.standard_normal(n),
    }  # fmt: skip
    contents["M"] = 0.5 * (contents["M"] + contents["M"].T)
    again = go.StepData.from_mapping(go.StepData.from_mapping(contents).to_mapping())
    for key, value in contents.items():
        np.testing.assert_array_equal(getattr(again, key), value, err_msg=key)


def test_in_the_plane_the_tangent_axis_may_be_dropped() -> None:
    flat = go.StepData.from_mapping({**CONTACT, "J_T": [[1.0, 0.0]], "zeta_T": [0.5], "v_T": [2.0], "mu": [0.3]})
    full = go.StepData.from_mapping({**CONTACT, "J_T": [[[1.0, 0.0]]], "zeta_T": [[0.5]], "v_T": [[2.0]], "mu": [0.3]})
    assert flat.J_T.shape == (1, 1, 2)
    for key in ("J_T", "zeta_T", "v_T"):
        np.testing.assert_array_equal(getattr(flat, key), getattr(full, key))


def test_with_gamma_changes_only_gamma() -> None:
    step = go.StepData.from_mapping(STEP)
    other = step.with_gamma(np.array([7.0]))
    assert other.gamma.tolist() == [7.0]
    assert step.gamma.tolist() == [0.25]
    assert other.M is step.M


def test_finite_sees_every_array() -> None:
    step = go.StepData.from_mapping(STEP)
    assert step.finite()
    assert not step.with_gamma(np.array([np.nan])).finite()


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"M": None}, "'M'"), ({"Q": None}, "'Q'"), ({"M": []}, "M"), ({"M": [[1.0, 0.0]]}, "M has shape"),
        ({"M": [[1.0], [0.0, 1.0]]}, "M is not an array"),
        ({"M": {"a": 1}}, "M is not an array"),
        ({"M": [[1.0, 0.0], [0.0, "heavy"]]}, "M is not an array"),
        ({"M": [[10**400, 0], [0, 1]]}, "M"),  # an integer beyond every float
        ({"M": [[1.0, 0.0], [0.0, float("nan")]]}, "M[1, 1]"),
        ({"M": [[1.0, 0.3], [0.1, 1.0]]}, "not symmetric: entry [0, 1]"),
        ({"M": [[1.0, 2.0], [2.0, 1.0]]}, "indefinite"),
        ({"M": [[1.0, 0.0], [0.0, -1.0]]}, "indefinite"),
        ({"Q": [1.0]}, "Q has shape (1,)"), ({"h": [1.0, 2.0, 3.0]}, "h has shape (3,)"),
        ({"h": [1.0, float("inf")]}, "h[1]"), ({"J": [[1.0, 0.0, 0.0]]}, "J has shape"), ({"J": 5}, "J has shape"),
        ({"gamma": None}, "'gamma'"), ({"gamma": [1.0, 2.0]}, "gamma has shape"), ({"J": None}, "'J'"),
        ({"J": []}, "'J'"), ({"q": [1.0]}, "q has shape"),
    ],
)  # fmt: skip
def test_bad_step_is_named(change: dict[str, Any], culprit: str, assert_sentence: Callable[..., None]) -> None:
    with pytest.raises(go.BadInput) as caught:
        go.StepData.from_mapping({**STEP, **change})
    assert_sentence(caught.value, culprit)


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"J_N": None, "zeta_N": None, "mu": [0.3]}, "'J_N'"),
        ({"zeta_N": None}, "'zeta_N'"), ({"zeta_N": [1.0, 2.0]}, "zeta_N has shape"), ({"mu": [0.3]}, "'J_T'"),
        ({"mu": 0.3}, "mu has shape"),
        ({"mu": [-0.3], "J_T": [[1.0, 0.0]]}, "mu[0]"),
        ({"J_T": [[1.0]]}, "J_T has shape"), ({"J_T": [[1.0], [1.0, 2.0]]}, "J_T"),
        ({"J_T": [[1.0, 0.0]], "v_T": ["fast"]}, "v_T"),
        ({"J_T": [[1.0, 0.0]], "v_T": [1.0, 2.0]}, "v_T has shape"),
    ],
)  # fmt: skip
def test_bad_contact_is_named(change: dict[str, Any], culprit: str, assert_sentence: Callable[..., None]) -> None:
    with pytest.raises(go.BadInput) as caught:
        go.StepData.from_mapping({**CONTACT, **change})
    assert_sentence(caught.value, culprit)


def test_asymmetry_of_rounding_is_removed() -> None:
    M = check_mass_matrix(np.array([[2.0, 0.1 + 1e-15], [0.1, 1.0]]))
    np.testing.assert_array_equal(M, M.T)


@pytest.mark.parametrize("unit", [1e-15, 1.0, 1e15])
def test_judgement_of_a_mass_matrix_does_not_depend_on_units(unit: float) -> None:
    check_mass_matrix(unit * np.array([[1.0, 1.0], [1.0, 1.0]]))
    check_mass_matrix(np.diag([1.0, unit]))
    with pytest.raises(go.BadInput, match="indefinite"):
        check_mass_matrix(unit * np.diag([1.0, -1.0]))
    with pytest.raises(go.BadInput, match="not symmetric"):
        check_mass_matrix(unit * np.array([[1.0, 0.5], [0.4, 1.0]]))
