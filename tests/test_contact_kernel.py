"""Contact steps by the kernel: equal to DAQP and to the general path, warm as cold, refused where it must be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gaussopt as go
from gaussopt.contact.operator import ContactOperator
from gaussopt.contact_kernel import (
    DEPENDENT_JOINTS,
    MASSLESS,
    contact_step,
    contact_step_by_operator,
    workspace,
)
from gaussopt.core import registry
from gaussopt.lcp.pivoting import SOLVED, UNSOLVED


def by_kernel(step: go.StepData, active: np.ndarray | None = None) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Code, a, lam, lam_N; sliding contacts carry their friction."""
    active = np.zeros(step.k, np.int64) if active is None else active
    a, lam, z, w = np.zeros(step.n), np.zeros(step.m), np.zeros(step.k), np.zeros(step.k)
    R = np.array(step.J_N)
    F = np.ascontiguousarray(step.friction_map.T) if step.mu.any() else R
    arrays = (
        np.array(step.M), np.array(step.force), np.array(step.J), np.array(step.gamma), R, F, np.array(step.zeta_N),
        active, z, a, lam, w,
    )  # fmt: skip
    code = contact_step(*arrays, workspace(step.n, step.m, step.k))
    if code == UNSOLVED:
        code = contact_step_by_operator(*arrays)
    return int(code), a, lam, z


FAMILIES = [
    ("box-stack", {"friction": 0.0, "contacts": 8}), ("box-stack", {"friction": 0.0, "contacts": 7, "redundancy": 3}),
    ("sliding-row", {"contacts": 8}), ("sliding-row", {"contacts": 9, "joints": 0, "redundancy": 2, "friction": 0.0}),
    ("sliding-row", {"contacts": 6, "mass-ratio": 1e4, "friction": 0.1}), ("sliding-row", {"contacts": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("family", "dials"), FAMILIES)
def test_equal_to_the_general_path(family: str, dials: dict[str, float]) -> None:
    active = np.zeros(int(dials["contacts"]), np.int64)
    for step in registry.load("family", family).steps(dials, 9):
        if not step.mu.any():
            step = replace(step, mu=np.zeros(step.k))
        known = go.solve_step(step, "stick-slip", "lemke")
        assert known.a is not None
        assert known.lam is not None
        for start in (active, np.zeros_like(active), np.ones_like(active)):  # warm, and cold twice
            code, a, lam, lam_N = by_kernel(step, start)
            assert code == SOLVED
            size = 1.0 + np.abs(known.a).max()
            np.testing.assert_allclose(a, known.a, rtol=0, atol=1e-10 * size)
            assert (lam_N >= 0).all()
            np.testing.assert_allclose(step.J @ a, step.gamma, rtol=0, atol=1e-11 * size)
            force = ContactOperator.of(step).forces[:, : step.k] @ lam_N + step.J.T @ lam
            np.testing.assert_allclose(
                step.M @ a - step.force, force, rtol=0, atol=1e-9 * (1 + np.abs(step.force).max())
            )


def test_a_full_mass_matrix() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        A, J_N = rng.standard_normal((5, 5)), rng.standard_normal((3, 5))
        step = go.StepData.from_mapping(
            {"M": A @ A.T + np.eye(5), "Q": rng.standard_normal(5), "J": rng.standard_normal((1, 5)),
             "gamma": rng.standard_normal(1), "J_N": J_N, "zeta_N": rng.standard_normal(3)}
        )  # fmt: skip
        code, a, _, lam_N = by_kernel(step)
        known = go.solve_step(step, "gauss", "daqp")
        assert code == SOLVED
        np.testing.assert_allclose(a, known.a, rtol=0, atol=1e-8)
        np.testing.assert_allclose(lam_N, known.lam_N, rtol=0, atol=1e-7)


def test_what_it_does_not_take() -> None:
    step = go.StepData.from_mapping({"M": np.eye(2), "Q": [0.0, -9.81], "J_N": [[0.0, 1.0]], "zeta_N": [0.0]})
    assert by_kernel(replace(step, M=np.diag([0.0, 1.0])))[0] == MASSLESS
    twice = replace(step, J=np.array([[1.0, 0.0], [1.0, 0.0]]), gamma=np.zeros(2))
    assert by_kernel(twice)[0] == DEPENDENT_JOINTS


def test_painleve_is_not_solved() -> None:
    # One contact whose friction makes the operator negative: no force holds it.
    step = go.StepData.from_mapping({
        "M": np.diag([1.0, 1.0, 0.1]), "Q": [0.0, -9.81, 0.0], "J_N": [[0.0, 1.0, -0.5]], "zeta_N": [0.0],
        "J_T": [[1.0, 0.0, 1.0]], "zeta_T": [0.0], "v_T": [-1.0], "mu": [1.0],
    })  # fmt: skip
    assert ContactOperator.of(step).delassus[0, 0] < 0
    assert by_kernel(step)[0] != SOLVED
