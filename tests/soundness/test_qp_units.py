"""Quadratic programs in mixed units, singular, degenerate and contradictory: certificates against exact answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soundness import qp_judge
from soundness.qp_judge import Exact

import gaussopt as go
from gaussopt.certificates.qp import classify_qp
from gaussopt.core.solution import RawSolution, Timing
from gaussopt.core.status import Status
from gaussopt.solving.verification import verified

FAULTS = Path(__file__).parent / "faults"
WRONG = 1e-6
"""Violation or loss above which a point is certainly wrong at the default tolerance of 1e-7."""

Rng = np.random.Generator


def read(name: str) -> Any:
    return json.loads((FAULTS / name).read_text())


def dyadic(rng: Rng, *shape: int) -> Any:
    """Small numbers that rounding does not touch, a third of them zero."""
    return rng.integers(-6, 7, shape) * 2.0 ** rng.integers(-3, 2, shape) * (rng.random(shape) < 0.67)


def random_program(rng: Rng) -> go.QP:
    """Small dyadic data: any rank of P, rows of all kinds, ties, contradictions small and large, mixed units."""
    n, m = int(rng.integers(1, 4)), int(rng.integers(0, 5))
    root = dyadic(rng, int(rng.integers(0, n + 1)), n)
    P = root.T @ root + (np.diag(rng.integers(1, 5, n) / 4.0) if rng.random() < 0.3 else 0.0)
    A, x0 = dyadic(rng, m, n), dyadic(rng, n)
    q = dyadic(rng, n)
    if rng.random() < 0.6:
        q = -P @ dyadic(rng, n) + A.T @ (dyadic(rng, m) * (rng.random(m) < 0.6))
    if m > 1 and rng.random() < 0.5:
        A[-1] = A[0] * rng.choice([1.0, -1.0, 2.0])
    z = A @ x0 + np.where(rng.random(m) < 0.5, 0.0, dyadic(rng, m))
    if m > 1 and rng.random() < 0.3:
        z[-1] += float(rng.choice([0.0, 2.0**-10, -(2.0**-10), 2.0**-26, -(2.0**-33), 1.0]))
    kind = rng.integers(0, 4, m)
    l = np.where(kind == 1, -np.inf, z)
    u = np.where(kind == 2, np.inf, np.where(kind == 3, z + rng.choice([0.25, 2.0, 2.0**20], m), z))
    if rng.random() < 0.3:  # forces of very different size
        factor = 2.0 ** rng.integers(-10, 11, n)
        P, q = P * np.outer(factor, factor), q * factor * rng.choice([1.0, 2.0**-6, 2.0**6], n)
    if rng.random() < 0.6:
        span = int(rng.choice([4, 12, 40]))
        d, r, c = (2.0 ** rng.integers(-span, span + 1, k) for k in (n, m, 1))
        P, q, A, l, u = c * P * np.outer(d, d), c * q * d, A * d * r[:, None], l * r, u * r
    return go.QP(P, q, A, l, u)


def exact(qp: go.QP) -> Exact:
    return qp_judge.solve(qp.P, qp.q, qp.A, qp.l, qp.u)


def refuted(qp: go.QP, truth: Exact, x: Any) -> bool:
    """Whether a point is certainly no solution."""
    if truth.verdict != "solved":
        return True
    found = qp_judge.judge(qp.P, qp.q, qp.A, qp.l, qp.u, truth, x)
    return found.violation > WRONG or found.loss > WRONG


def nearly(qp: go.QP, truth: Exact, x: Any) -> bool:
    """Whether a point is right to rounding."""
    found = qp_judge.judge(qp.P, qp.q, qp.A, qp.l, qp.u, truth, x)
    return found.violation < 1e-13 and abs(found.loss) < 1e-13


def wrong_points(rng: Rng, qp: go.QP, truth: Exact) -> Iterator[Any]:
    """Points that somebody might pass off as solutions."""
    x = np.array([float(v) for v in truth.x]) if truth.x else np.zeros(qp.n)
    unit = np.where(x != 0, np.abs(x), np.abs(x).max() or 1.0)
    for size in (1e-5, 1e-2, 1.0):
        yield x + size * unit * rng.standard_normal(qp.n)
    for j in range(qp.n):
        yield np.where(np.arange(qp.n) == j, 0.0, x)
        yield np.where(np.arange(qp.n) == j, x * (1.0 + 1e-4), x)
    yield np.zeros(qp.n)
    yield 1e8 * unit * rng.standard_normal(qp.n)
    # The solution without one of the rows.
    for i in range(qp.m):
        keep = np.arange(qp.m) != i
        less = qp_judge.solve(qp.P, qp.q, qp.A[keep], qp.l[keep], qp.u[keep])
        if less.x:
            yield np.array([float(v) for v in less.x])


def test_half_an_objective_is_not_solved() -> None:
    for name in ("qp_semidefinite", "qp_definite"):
        qp = go.QP.from_mapping(read(f"{name}.json"))
        wrong = np.array(read(f"{name}_wrong.json")["x"])
        certificate = go.certify_qp(qp, wrong)
        assert not certificate.passed()
        assert certificate.objective_gap == pytest.approx(0.5)
        right = wrong + np.array([0.0, 10.0, 0.0])[: qp.n]
        assert go.certify_qp(qp, right).passed()


def test_no_distance_is_claimed_where_none_is_proved() -> None:
    qp = go.QP.from_mapping(read("qp_semidefinite.json"))
    linear = go.QP(np.zeros((3, 3)), qp.q, np.eye(3), np.zeros(3), np.ones(3))
    none = go.certify_qp(linear, np.zeros(3)).to_mapping()
    assert none["error_bound"] is None
    assert none["relative_error"] is None
    assert "not proved" in none["distance"]
    told = go.certify_qp(qp, np.array([1e-6, 10.0, 0.0])).to_mapping()
    assert told["error_bound"] < 1e-12
    assert "without curvature" in told["distance"]
    assert 0 <= told["objective_gap"] < 1e-14


def test_the_shortest_point_with_the_same_curvature_does_not_widen_a_row() -> None:
    """In units of mass 1 the point without its flat part has x[0] = 1152, which made the row look large."""
    P = np.array([[2.0**-20, 4.0, 0.0], [4.0, 2.0**24, 0.0], [0.0, 0.0, 0.0]])
    qp = go.QP(P, np.array([-9 / 4096, -9216.0, 0.0]), np.array([[3.0, 0.0, -0.75]]), *2 * (np.array([-1.5]),))
    assert go.certify_qp(qp, np.array([-0.5, 4609 / 8388608, 0.0])).passed()
    assert not go.certify_qp(qp, np.array([-0.50005, 4609 / 8388608, 0.0])).passed()


def installed() -> list[str]:
    found = []
    for name in ("kkt", "newton", "daqp", "piqp", "proxqp", "quadprog", "clarabel", "osqp", "scs", "highs", "cvxpy"):
        try:
            go.make_solver(name)
        except go.MissingBackend:
            continue
        found.append(name)
    return found


@pytest.mark.parametrize("solver", [name for name in installed() if name not in ("kkt", "highs")])
def test_one_verdict_whatever_the_solver(solver: str) -> None:
    """Rows 1 and 3 want [1, 0.5] x = 0.75 and >= 0.78125 (in 2^-16): a contradiction of 2 %."""
    qp = go.QP.from_mapping(read("qp_small_wrong.json"))
    assert exact(qp).verdict == "infeasible"
    assert go.solve(qp, solver).status is Status.INFEASIBLE


@pytest.mark.parametrize("name", ["qp_zero_row", "qp_zero_row2", "qp_zero_row3"])
def test_a_row_of_zeros_with_a_far_bound(name: str) -> None:
    qp = go.QP.from_mapping(read(f"{name}.json"))
    truth = exact(qp)
    assert str(classify_qp(qp)) == truth.verdict
    assert not go.certify_qp(qp, np.array(read("qp_zero_row_answer.json")["x"])).passed()
    assert str(go.solve(qp, "daqp").status) == truth.verdict


@pytest.mark.parametrize("excess", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("unit", [2.0**-40, 1.0, 2.0**40])
def test_contradictions_count_above_the_rounding_of_their_own_rows(excess: float, unit: float) -> None:
    rows = unit * np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    low, high = np.array([unit * (1 + excess), -np.inf, 0.0]), np.array([np.inf, unit, 1e9])
    for P in (np.eye(2), np.zeros((2, 2))):
        above = go.QP(P, np.zeros(2), rows, low, high)
        assert exact(above).verdict == "infeasible"
        assert classify_qp(above) is Status.INFEASIBLE
        assert not go.certify_qp(above, np.array([1.0, 0.0])).passed()
        assert go.certify_qp(above, np.array([1.0 + excess / 2, 0.0])).verdict is Status.INFEASIBLE or excess > 1e-4


def test_one_third_is_no_contradiction() -> None:
    qp = go.QP(np.eye(1), np.zeros(1), np.array([[1 / 3], [1.0], [0.1]]), *2 * (np.array([1.0, 3.0, 0.3]),))
    assert exact(qp).verdict == "infeasible"
    assert classify_qp(qp) is Status.SOLVED
    assert go.solve(qp, "daqp").status is Status.SOLVED


def scaled(qp: go.QP, d: Any, r: Any) -> go.QP:
    return go.QP(qp.P * np.outer(d, d), qp.q * d, qp.A * d * r[:, None], qp.l * r, qp.u * r)


def test_units_change_nothing() -> None:
    """Verdict, relative residual and relative error are the same bit for bit."""
    rng = np.random.default_rng(5)
    for _ in range(150):
        qp = random_program(rng)
        if not qp.q.any() and not qp.l[np.isfinite(qp.l)].any() and not qp.u[np.isfinite(qp.u)].any():
            continue  # nothing in it has a size, so that 1 in the unit of the file is one
        d, r = (2.0 ** rng.integers(-40, 41, k) for k in (qp.n, qp.m))
        other, x, y = scaled(qp, d, r), rng.standard_normal(qp.n), rng.standard_normal(qp.m)
        assert classify_qp(other) is classify_qp(qp)
        for duals in (None, y):
            one = go.certify_qp(qp, x, duals)
            two = go.certify_qp(other, x / d, None if duals is None else duals / r)
            assert one.verdict is two.verdict
            assert one.passed() == two.passed()
            if (qp.P.diagonal() > 0).all():
                assert one.relative_residual == two.relative_residual
                assert one.error_bound == two.error_bound
                assert one.objective_gap == two.objective_gap


def campaign(seed: int, trials: int, solvers: list[str]) -> Counter[str]:
    """Random programs, points made by hand and by solvers, against exact answers."""
    rng, count = np.random.default_rng(seed), Counter[str]()
    for trial in range(trials):
        qp = random_program(rng)
        truth = exact(qp)
        count["programs"] += 1
        count[truth.verdict] += 1
        if str(classify_qp(qp)) != truth.verdict:
            count["wrong verdict"] += 1
            print("verdict", seed, trial, truth.verdict, classify_qp(qp), qp)
        for x in wrong_points(rng, qp, truth):
            bad = refuted(qp, truth, x)
            count["points refuted"] += bad
            if bad and go.certify_qp(qp, x).passed():
                count["wrong called solved"] += 1
                print("point", seed, trial, x, truth, qp, go.certify_qp(qp, x))
        if truth.verdict == "solved":
            x = np.array([float(v) for v in truth.x])
            count["right points"] += nearly(qp, truth, x)
            if nearly(qp, truth, x) and not go.certify_qp(qp, x).passed():
                count["right refused"] += 1
                print("refused", seed, trial, x, qp, go.certify_qp(qp, x))
        for name in solvers:
            solution = go.solve(qp, name)
            if solution.status is Status.SOLVED:
                count[f"solved {name}"] += 1
                if solution.x is None or refuted(qp, truth, solution.x):
                    count[f"wrong {name}"] += 1
                    print("solver", name, seed, trial, solution, truth, qp)
            elif truth.verdict == "solved" and solution.x is not None and nearly(qp, truth, solution.x):
                count[f"refused {name}"] += 1
                print("refused", name, seed, trial, solution.message, solution.x, solution.y, truth.x, qp)
            elif truth.verdict != "solved" and str(solution.status) != truth.verdict:
                count[f"verdict {name}"] += 1
    return count


def test_no_wrong_point_of_random_programs_is_solved() -> None:
    count = campaign(0, 150, [])
    assert count["points refuted"] > 1000
    assert count["wrong called solved"] == 0
    assert count["wrong verdict"] == 0
    assert count["right refused"] == 0


def test_no_wrong_answer_of_a_solver_is_solved() -> None:
    count = campaign(1, 60, [name for name in ("daqp", "osqp", "newton", "piqp") if name in installed()])
    assert not {key: value for key, value in count.items() if key.startswith(("wrong", "verdict", "refused"))}


def test_an_infinite_tolerance_records() -> None:
    qp = go.QP.from_mapping(read("qp_semidefinite.json"))
    raw = RawSolution(np.array(read("qp_semidefinite_wrong.json")["x"]), None, Status.SOLVED)
    assert verified(qp, raw, Timing(), np.inf).status is Status.SOLVED
    assert verified(qp, raw, Timing()).status is Status.INACCURATE
