"""Quadratic programs in mixed units, singular, degenerate and contradictory: certificates against exact answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soundness.judge import convex
from soundness.judge.bilateral import EPS
from soundness.judge.exact import Exact, difference, fractions, length, product
from soundness.trials import findings
from soundness.trials.findings import Claim
from soundness.trials.qp_families import QPS

import gaussopt as go
from gaussopt.certificates.qp import classify_qp
from gaussopt.core.solution import RawSolution, Timing
from gaussopt.core.status import Status
from gaussopt.solving.verification import verified

pytestmark = pytest.mark.campaigns

FAULTS = Path(__file__).parent / "faults"
FAR = 2.0**200
"""A unit beside which what is absolute in the limits of the judge is nothing."""

WRONG, ROUNDING = 1e-6, 1e-13
"""Relative miss or loss above which a point is certainly wrong at the default tolerance of 1e-7, and rounding."""

Rng = np.random.Generator


def read(name: str) -> Any:
    return json.loads((FAULTS / name).read_text())


def exact(qp: go.QP) -> convex.Truth:
    return convex.judge(qp.P, qp.q, qp.A, qp.l, qp.u)


def off(truth: convex.Truth, x: Any) -> float:
    """The largest miss of a row and the loss of the objective, relative to the terms at the minimiser that have any."""
    assert truth.x is not None
    assert truth.least is not None
    point = fractions(np.asarray(x))
    own = [abs(truth.x.fraction(i)) for i in range(len(point))]
    rows = [[abs(a) for a in row] for row in truth.A]
    shares = [Fraction(0)]
    for s, size, l, u in zip(product(truth.A, point), product(rows, own), truth.l, truth.u, strict=True):
        miss = max(l - s if l is not None else 0, s - u if u is not None else 0)
        terms = size + max((abs(b) for b in (l, u) if b is not None), default=Fraction(0))
        shares += [miss / terms] if terms else []
    curved = [[abs(a) for a in row] for row in truth.P]
    terms = convex.objective(curved, [abs(b) for b in truth.q], own)
    loss = abs(convex.objective(truth.P, truth.q, point) - truth.least)
    return float(max(*shares, loss / terms if terms else Fraction(0)))


def refuted(truth: convex.Truth, x: Any) -> bool:
    """Whether a point is certainly no solution, measured by the program's own sizes alone."""
    if truth.x is None or truth.least is None or off(truth, x) > WRONG:
        return True
    far = Fraction(FAR)
    l, u = ([None if b is None else far * b for b in bounds] for bounds in (truth.l, truth.u))
    least = Exact(tuple(int(far) * t for t in truth.x.top), truth.x.den)
    grown = replace(truth, q=[far * v for v in truth.q], l=l, u=u, x=least, least=far**2 * truth.least)
    return findings.of_qp(grown, Claim("solved", (FAR * np.asarray(x)).tolist())).outcome == findings.WRONG


def programs(rng: Rng, number: int, *names: str) -> Iterator[tuple[go.QP, convex.Truth]]:
    """Random programs of some families, or of all, whose contradictions are no rounding of the data."""
    known = names or tuple(QPS)
    for i in range(number):
        data = QPS[known[i % len(known)]][1](rng)
        qp = go.QP(*(np.asarray(data[key], dtype=float) for key in ("P", "q", "A", "l", "u")))
        truth = exact(qp)
        if not 0.0 < truth.contradiction <= 32 * max(qp.n, qp.m) * EPS:
            yield qp, truth


def wrong_points(rng: Rng, qp: go.QP, truth: convex.Truth) -> Iterator[Any]:
    """Points that somebody might pass off as solutions."""
    x = np.array(truth.x.floats()) if truth.x is not None else np.zeros(qp.n)
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
        less = convex.judge(qp.P, qp.q, qp.A[keep], qp.l[keep], qp.u[keep])
        if less.x is not None:
            yield np.array(less.x.floats())


def test_half_an_objective_is_not_solved() -> None:
    for name in ("qp_semidefinite", "qp_definite"):
        qp = go.QP.from_mapping(read(f"{name}.json"))
        wrong = np.array(read(f"{name}_wrong.json")["x"])
        certificate = go.certify_qp(qp, wrong)
        assert not certificate.passed()
        assert certificate.objective_gap == pytest.approx(0.5)
        assert certificate.error_bound >= 1.0 - 1e-12  # in the norm of P
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
    for qp, _ in programs(rng, 114):
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


def test_random_programs_are_judged_as_exact_arithmetic_does() -> None:
    """Verdicts are right, wrong points never pass, right ones do, and solvers say the same."""
    rng, wrong, right, solvers = np.random.default_rng(0), 0, 0, [s for s in ("daqp", "osqp") if s in installed()]
    for i, (qp, truth) in enumerate(programs(rng, 8 * len(QPS))):
        assert str(classify_qp(qp)) == truth.verdict, i
        for x in wrong_points(rng, qp, truth):
            if refuted(truth, x):
                wrong += 1
                assert not go.certify_qp(qp, x).passed(), (i, x)
        if truth.x is not None and off(truth, x := np.array(truth.x.floats())) < ROUNDING:
            right += 1
            assert go.certify_qp(qp, x).passed(), i
        for name in solvers if i % 4 == 0 else ():
            found = go.solve(qp, name)
            if found.status is Status.SOLVED:
                assert not refuted(truth, found.x), (i, name)
            elif truth.x is None:
                assert str(found.status) == truth.verdict, (i, name)
            elif name == "daqp":
                assert found.x is None or off(truth, found.x) > ROUNDING, (i, name)
    assert wrong > 1000
    assert right > 50


def test_an_infinite_tolerance_records() -> None:
    qp = go.QP.from_mapping(read("qp_semidefinite.json"))
    raw = RawSolution(np.array(read("qp_semidefinite_wrong.json")["x"]), None, Status.SOLVED)
    assert verified(qp, raw, Timing(), np.inf).status is Status.SOLVED
    assert verified(qp, raw, Timing()).status is Status.INACCURATE


# -- losses that large forces hid, right points that were refused, distances where P is singular


CASES: dict[str, Any] = read("qp_gaps.json")


def program(name: str) -> go.QP:
    return go.QP.from_mapping(CASES[name]["program"])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["wrong"]])
def test_a_large_force_hides_no_loss(name: str) -> None:
    """A coordinate that its rows hold near zero counts by its own size, not by how far its forces would take it."""
    qp = program(name)
    truth = exact(qp)
    for x in CASES[name]["wrong"]:
        assert refuted(truth, x)
        assert not go.certify_qp(qp, np.array(x)).passed()


@pytest.mark.parametrize("name", CASES)
def test_right_points_pass_in_any_units(name: str) -> None:
    """Among them: duals that cancel each other, energies that are rounding, forces far larger than the curvature."""
    qp, x = program(name), np.array(CASES[name]["right"])
    assert not refuted(exact(qp), x)
    rng = np.random.default_rng(2)
    for _ in range(3):
        assert go.certify_qp(qp, x).passed()
        d, r = (2.0 ** rng.integers(-30, 31, k) for k in (qp.n, qp.m))
        qp, x = scaled(qp, d, r), x / d


def test_what_is_the_same_at_all_feasible_points_is_no_size() -> None:
    """The first coordinate of the program is tiny; a coordinate that a row fixes adds 1 to the objective."""
    small = program("tiny_by_cancellation")
    P, A = np.zeros((3, 3)), np.zeros((3, 3))
    P[:2, :2], A[:2, :2], A[2, 2] = small.P, small.A, 1.0
    qp = go.QP(P, np.append(small.q, 1.0), A, np.append(small.l, 1.0), np.append(small.u, 1.0))
    for x in CASES["tiny_by_cancellation"]["wrong"]:
        assert not go.certify_qp(qp, np.append(x, 1.0)).passed()
    assert go.certify_qp(qp, np.append(CASES["tiny_by_cancellation"]["right"], 1.0)).passed()


def test_the_bound_of_singular_programs_holds() -> None:
    """Of random programs whose P is singular and not zero, at points off by anything between nothing and 1."""
    rng, told = np.random.default_rng(31), 0
    families = "singular", "bounded singular", "ties", "far rows", "units of bounded singular", "units of singular"
    for qp, truth in programs(rng, 60, *families):
        if truth.x is None or truth.definite or not qp.P.any():
            continue
        for x in wrong_points(rng, qp, truth):
            found = go.certify_qp(qp, x)
            if np.isfinite(found.error_bound):
                told += 1
                rounding = 1e-12 * found.scale + 1e-14 * float(np.sqrt(np.abs(x) @ np.abs(qp.P) @ np.abs(x)))
                error = length(difference(x.tolist(), truth.x), truth.P)
                assert error <= found.error_bound * (1 + 1e-9) + rounding
                assert "without curvature" in found.to_mapping().get("distance", "without curvature")
    assert told > 150


def test_rounding_of_flat_directions_is_no_descent() -> None:
    """Forces beside a flat direction, and forces of 100 in it that cancel to 2, do not make a program unbounded."""
    beside = go.QP(
        np.array([[0.0625, -1.5, 1.25], [-1.5, 36.0, -30.0], [1.25, -30.0, 50.0]]), np.array([0.0, 0.0, 0.75]),
        np.zeros((0, 3)), np.zeros(0), np.zeros(0),
    )  # fmt: skip
    root = np.array([[0.625, 5.0, 5.0]])
    cancelling = go.QP(
        root.T @ root, np.array([12.5, 97.75, 101.5]), np.array([[0.0, -6.0, 4.0], [0.0, -12.0, 8.0]]),
        np.array([32.0, 64.0]), np.array([32.25, np.inf]),
    )  # fmt: skip
    for qp in (beside, cancelling):
        assert exact(qp).verdict == "solved"
        assert str(classify_qp(qp)) == "solved"
    assert go.certify_qp(beside, np.array([0.0, -0.025, -0.03])).passed()
    pushed = go.QP(beside.P, np.array([1e-6, 0.0, 0.75]), beside.A, beside.l, beside.u)
    assert str(classify_qp(pushed)) == exact(pushed).verdict == "unbounded"
