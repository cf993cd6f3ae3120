"""The judge itself: closed forms, brute force of another kind, and that it refutes what is wrong."""

from __future__ import annotations

import ast
import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from soundness.judge import bilateral, complementarity, contact, convex
from soundness.judge.exact import Exact, common, difference, integers, length, rank, root, solve
from soundness.judge.polyhedron import describe
from soundness.trials import findings
from soundness.trials.findings import RIGHT, UNDECIDED, WRONG, Claim

HERE = Path(__file__).parent


def values(x: Exact) -> list[Fraction]:
    return [x.fraction(i) for i in range(len(x.top))]


def test_the_judge_imports_nothing_of_what_it_judges():
    for path in (HERE / "judge").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not any(name.split(".")[0] in ("gaussopt", "numpy", "scipy", "solvers") for name in names), path


# -- arithmetic --------------------------------------------------------------------------------------------


def test_floats_are_taken_exactly():
    assert values(common([0.1, 2.0**-1074, -3.0])) == [Fraction(0.1), Fraction(1, 2**1074), Fraction(-3)]
    assert integers([0.5, 0.75]) == [2, 3]
    assert values(difference([0.1], common([Fraction(1, 10)])))[0] == Fraction(0.1) - Fraction(1, 10)


def test_elimination_agrees_with_sympy():
    import sympy

    rng = np.random.default_rng(3)
    for _ in range(40):
        m, n, r = rng.integers(1, 5), rng.integers(1, 5), rng.integers(1, 4)
        A = rng.integers(-3, 4, (m, r)) @ rng.integers(-3, 4, (r, n))
        b = A @ rng.integers(-3, 4, n) if rng.random() < 0.6 else rng.integers(-3, 4, m)
        rows = [[*map(int, row), int(v)] for row, v in zip(A, b, strict=True)]
        K = sympy.Matrix(A.tolist())
        assert rank([row[:-1] for row in rows], int(n)) == K.rank()
        found = solve(rows, int(n))
        consistent = K.rank() == K.row_join(sympy.Matrix(b.tolist())).rank()
        assert (found is not None) == consistent
        if found is not None:
            assert (
                list(K * sympy.Matrix([sympy.Rational(v.numerator, v.denominator) for v in values(found.point)]))
                == b.tolist()
            )
            assert len(found.kernel) == n - K.rank()
            assert all(not any(K * sympy.Matrix(k)) for k in found.kernel)


def test_roots_neither_overflow_nor_vanish():
    assert root(10**700, 1) == np.inf
    assert root(10**600, 1) == pytest.approx(1e300)
    assert root(1, 10**600) == pytest.approx(1e-300)
    assert length(common([3.0, 4.0])) == 5.0


def test_vertices_and_rays_of_a_wedge():
    # x >= 0, y >= 0, x + y >= 2: two vertices, two rays
    found = describe([], [[1, 0, 0], [0, 1, 0], [1, 1, -2]], 2)
    assert {tuple(values(v)) for v in found.vertices} == {(0, 2), (2, 0)}
    assert {tuple(int(v / max(ray)) for v in ray) for ray in found.rays} == {(1, 0), (0, 1)}
    assert describe([], [[1, 0], [-1, -1]], 1) is None


# -- steps without contacts --------------------------------------------------------------------------------


def test_a_slider_on_an_incline():
    # Mass 2 at angle (3, 4)/5, gravity 10: along the incline g sin = 6.
    truth = bilateral.judge({"M": [[2, 0], [0, 2]], "Q": [0, -20], "J": [[3, 4]], "gamma": [0]})
    assert truth.verdict == "solved"
    assert values(truth.a) == [Fraction(24, 5), Fraction(-18, 5)]
    assert truth.forces_unique


@pytest.mark.parametrize(
    ("data", "verdict", "unique"),
    [
        ({"M": [[1, 0], [0, 1]], "Q": [0, 1], "J": [[1, 0], [2, 0]], "gamma": [1, 2]}, "solved", False),
        ({"M": [[1, 0], [0, 1]], "Q": [0, 1], "J": [[1, 0], [2, 0]], "gamma": [1, 2.0000001]}, "infeasible", False),
        ({"M": [[1, 0], [0, 0]], "Q": [1, 0]}, "acceleration_not_unique", True),
        ({"M": [[1, 0], [0, 0]], "Q": [0, 1]}, "unbounded", False),
        ({"M": [[1, 0], [0, 0]], "Q": [0, 1], "J": [[0, 1]], "gamma": [3]}, "solved", True),
        ({"M": [[1.0]], "Q": [0.0], "J": [[1.0], [1.0]], "gamma": [1e-10, 3e-10]}, "infeasible", False),
    ],
)
def test_verdicts_of_steps(data, verdict, unique):
    truth = bilateral.judge(data)
    assert truth.verdict == verdict
    if verdict == "solved":
        assert truth.forces_unique == unique


def test_contradictions_are_measured_relative_to_their_terms():
    step = {"M": [[1.0]], "Q": [0.0], "J": [[1.0], [1.0]]}
    assert bilateral.judge({**step, "gamma": [1.0, 1.0 + 2**-40]}).contradiction == pytest.approx(2**-41, rel=1e-6)
    assert findings.near_border(bilateral.judge({**step, "gamma": [1.0, 1.0 + 2**-51]}))
    assert not findings.near_border(bilateral.judge({**step, "gamma": [1.0, 1.0 + 2**-41]}))


def regular_truth():
    rng = np.random.default_rng(5)
    L = rng.standard_normal((3, 3))
    data = {"M": (L @ L.T).tolist(), "Q": [1.0, 2.0, 3.0], "J": [[1.0, 2.0, 0.5]], "gamma": [0.25]}
    data["M"] = ((np.array(data["M"]) + np.array(data["M"]).T) / 2).tolist()
    return data, bilateral.judge(data)


def test_the_exact_acceleration_is_that_of_linear_algebra():
    data, truth = regular_truth()
    M, J = np.array(data["M"]), np.array(data["J"])
    K = np.block([[M, -J.T], [J, np.zeros((1, 1))]])
    x = np.linalg.solve(K, [*data["Q"], *data["gamma"]])
    assert truth.a.floats() == pytest.approx(x[:3], rel=1e-10)
    assert (
        findings.of_step(truth, Claim("solved", list(x[:3]), [x[3]], error_bound=1e-9, rounding_floor=1e-12)).outcome
        == RIGHT
    )


@pytest.mark.parametrize("size", [1e-5, 1.0, 1e10, -2.0])
def test_a_wrong_acceleration_called_solved_is_refuted(size):
    _, truth = regular_truth()
    a = truth.a.floats()
    a[0] += size
    assert findings.of_step(truth, Claim("solved", a, error_bound=0.0)).outcome == WRONG


def test_bounds_forces_and_uniqueness_are_claims_too():
    data, truth = regular_truth()
    a = truth.a.floats()
    M, J = np.array(data["M"]), np.array(data["J"])
    lam = np.linalg.lstsq(J.T, M @ a - data["Q"], rcond=None)[0]
    good = Claim("solved", a, lam.tolist(), error_bound=1e-14, rounding_floor=1e-14)
    assert findings.of_step(truth, good).outcome == RIGHT
    far = [a[0] + 1e-9, *a[1:]]
    assert (
        findings.of_step(truth, Claim("solved", far, error_bound=1e-12, rounding_floor=1e-15)).cause
        == "error bound below the error"
    )
    assert findings.of_step(truth, Claim("inaccurate", far, error_bound=1e-12, rounding_floor=1e-15)).outcome == WRONG
    assert findings.of_step(truth, Claim("solved", a, [lam[0] * 1.01], error_bound=1.0)).outcome == WRONG
    redundant = bilateral.judge({"M": [[1]], "Q": [0], "J": [[1], [1]], "gamma": [1, 1]})
    assert findings.of_step(redundant, Claim("solved", [1.0], error_bound=0.0, forces_unique=True)).outcome == WRONG
    assert findings.of_step(redundant, Claim("solved", [1.0], error_bound=0.0, forces_unique=False)).outcome == RIGHT


def test_without_any_mass_forces_are_compared_through_the_rows_that_join_coordinates():
    """The units of rows say nothing: what is left of the force on x0 is 5e-17 of that on x1, and once was 0.4 %."""
    data = {"M": [[0.0, 0.0], [0.0, 0.0]], "Q": [0.0, -0.00146484375], "gamma": [-6291456.0, -3.8743019104003906e-07],
            "J": [[0.0, -2048.0], [-5.960464477539063e-08, 2.9103830456733704e-11]]}  # fmt: skip
    truth = bilateral.judge(data)
    for factor, outcome in ((1.0, RIGHT), (1.01, WRONG)):
        lam = [-7.152557373046873e-07 * factor, -2.7718191449789303e-09]
        assert findings.of_step(truth, Claim("solved", [8.0, 3072.0], lam)).outcome == outcome


def test_rounding_of_the_data_is_counted_apart():
    data = {"M": [[1.0]], "Q": [0.0], "J": [[1.0], [1.0]], "gamma": [1.0, 1.0 + 2**-52]}
    assert findings.of_step(bilateral.judge(data), Claim("solved", [1.0], error_bound=0.0)).outcome == UNDECIDED
    data["gamma"] = [1.0, 1.0 + 2**-40]
    assert findings.of_step(bilateral.judge(data), Claim("solved", [1.0], error_bound=0.0)).outcome == WRONG


# -- contacts ----------------------------------------------------------------------------------------------


def block(**more):
    data = {
        "M": [[1, 0], [0, 1]],
        "Q": [0, -10],
        "J_N": [[0, 1]],
        "zeta_N": [0],
        "J_T": [[[1, 0]]],
        "zeta_T": [[0]],
        "v_T": [[0]],
        "mu": [0.5],
    }
    return {**data, **more}


@pytest.mark.parametrize(
    ("more", "a"),
    [
        ({"v_T": [[2]]}, (-5, 0)),  # slides to the right: friction to the left
        ({"v_T": [[-2]]}, (5, 0)),
        ({"Q": [3, -10]}, (0, 0)),  # sticks
        ({"Q": [7, -10]}, (2, 0)),  # starts to slip
        ({"Q": [-7, -10]}, (-2, 0)),
        ({"Q": [0, 10]}, (0, 10)),  # lifts off
        ({"Q": [5, -10]}, (0, 0)),  # on the border of the cone
        ({"Q": [3, 0]}, (3, 0)),  # touches without force
    ],
)
def test_a_block_on_the_floor(more, a):
    truth = contact.judge(block(**more))
    assert truth.verdict == "solved"
    assert [tuple(values(x)) for x in truth.a] == [a]


def test_friction_in_space_has_a_direction():
    data = {
        "M": np.eye(3).tolist(), "Q": [0, 0, -10], "J_N": [[0, 0, 1]], "zeta_N": [0], "mu": [0.5],
        "J_T": [[[1, 0, 0], [0, 1, 0]]], "zeta_T": [[0, 0]], "v_T": [[3, -4]],
    }  # fmt: skip
    assert values(contact.judge(data).a[0]) == [-3, 4, 0]
    with pytest.raises(ValueError, match="irrational"):
        contact.judge({**data, "v_T": [[1, 1]]})


def test_the_border_of_painleve_has_one_answer():
    truth = contact.judge(json.loads((HERE / "faults" / "painleve_border_small.json").read_text()))
    assert truth.verdict == "solved"
    assert values(truth.a[0]) == [-24, 18]
    runaway = Claim("solved", [-1.7e16, 8.7e15], lam_N=[1e16, 0.0, 0.0], error_bound=0.0)
    assert findings.of_contact_step(truth, runaway).outcome == WRONG


@pytest.mark.parametrize(("bias", "verdict"), [(1.0, "multiple_solutions"), (-1.0, "no_solution"), (0.0, "solved")])
def test_a_rod_in_painleves_region(bias, verdict):
    # One contact whose own force pulls it down: delassus -1, w = bias - N.
    data = {
        "M": [[1, 0], [0, 1]], "Q": [0, 0], "J_N": [[1, 1]], "zeta_N": [bias], "J_T": [[[3, 0]]], "zeta_T": [[0]],
        "v_T": [[1]], "mu": [1],
    }  # fmt: skip
    truth = contact.judge(data)
    assert truth.laws.rows[0][0] == -1
    assert truth.verdict == verdict


@pytest.mark.parametrize(("e", "v"), [(0.0, 0), (0.5, 1), (1.0, 2)])
def test_a_ball_bounces(e, v):
    ball = {"M": [[2]], "Q": [-20], "J_N": [[1]], "zeta_N": [0], "v": [-2.0], "e_N": [e]}
    truth = contact.judge(contact.jump(ball))
    assert values(truth.a[0]) == [v + 2]
    # A step of 1/4 s towards the floor with gravity ends at the same velocity, one away from it does not.
    assert values(contact.judge(contact.jump({**ball, "dt": 0.25})).a[0]) == [v + 2]
    assert values(contact.judge(contact.jump({**ball, "v": [4.0], "dt": 0.25, "e_N": [0.0]})).a[0]) == [-2.5]


def test_modes_are_the_bases_of_a_complementarity_problem():
    """Contact modes and complementary bases are written apart; both list the same accelerations."""
    from soundness.trials import contact_families, families

    for seed in range(40):
        make = (contact_families.without_slip, contact_families.painleve_without_slip)[seed % 2]
        truth = contact.judge(families.plain(make(np.random.default_rng(seed))))
        if truth.laws is None or not truth.contacts.resting:
            continue
        found, k = set(), truth.contacts.k
        for part in complementarity.judge(*contact.as_lcp(truth)).parts:
            for v in part.vertices:
                x = [v.fraction(i) for i in range(k + len(truth.contacts.resting))]
                for j, i in enumerate(truth.contacts.resting):
                    x[k + j] -= truth.contacts.mu[i] * x[i]
                found.add(truth.laws.acceleration(common(x)))
        assert found == set(truth.a)


def test_redundant_contacts_leave_forces_open_and_friction_may_spread_the_acceleration():
    twice = {"M": [[1]], "Q": [-10], "J_N": [[1], [1]], "zeta_N": [0, 0]}
    truth = contact.judge(twice)
    assert (truth.verdict, truth.forces_unique) == ("solved", False)
    rubbed = {
        "M": [[1, 0], [0, 1]], "Q": [0, -10], "J_N": [[0, 1], [0, 1]], "zeta_N": [0, 0], "J_T": [[[1, 0]], [[1, 0]]],
        "zeta_T": [[0], [0]], "v_T": [[1], [1]], "mu": [0, 0.5],
    }  # fmt: skip
    assert contact.judge(rubbed).verdict == "acceleration_not_unique"
    assert contact.judge({"M": [[1]], "Q": [0], "J_N": [[1], [-1]], "zeta_N": [-1, -1]}).verdict == "infeasible"


def test_wrong_contact_forces_called_solved_are_refuted():
    truth = contact.judge(block(v_T=[[2]]))
    right = Claim("solved", [-5.0, 0.0], [], [10.0], [[-5.0]], 0.0, 1e-14)
    assert findings.of_contact_step(truth, right).outcome == RIGHT
    for lam_N, lam_T in (([10.1], [[-5.05]]), ([10.0], [[-4.0]]), ([-10.0], [[5.0]]), ([1e16], [[0.0]])):
        assert (
            findings.of_contact_step(truth, Claim("solved", [-5.0, 0.0], [], lam_N, lam_T, 0.0, 1e-14)).outcome == WRONG
        )


# -- complementarity ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("M", "q", "verdict", "unique", "count"),
    [
        ([[2]], [-4], "solved", True, 1),
        ([[-1]], [1], "multiple_solutions", False, 2),
        ([[-1]], [-1], "no_solution", False, 0),
        ([[0]], [0], "solved", False, 1),
        ([[0]], [1], "solved", True, 1),
        ([[1, 1], [1, 1]], [-1, -1], "solved", False, 1),
        ([[0, 1], [1, 0]], [-1, -1], "solved", True, 1),
        ([[0, 1], [-1, 0]], [0, 0], "acceleration_not_unique", False, 0),
        ([[1, 2], [2, 1]], [-1, -1], "multiple_solutions", False, 3),
        ([[0, 0], [1, 0]], [0, -1], "acceleration_not_unique", False, 0),
    ],
)
def test_small_complementarity_problems(M, q, verdict, unique, count):
    truth = complementarity.judge(M, q)
    assert (truth.verdict, truth.unique) == (verdict, unique)
    if count:
        assert len(truth.images) == count


def test_all_solutions_agree_with_sampling_of_bases():
    rng = np.random.default_rng(11)
    for _ in range(60):
        n = int(rng.integers(1, 5))
        M, q = rng.standard_normal((n, n)), rng.standard_normal(n)
        expected = set()
        for choice in product((False, True), repeat=n):
            S = np.array(choice)
            z = np.zeros(n)
            if S.any():
                z[S] = np.linalg.solve(M[np.ix_(S, S)], -q[S])
            if (z >= 0).all() and (M @ z + q >= -1e-12 * (1 + np.abs(M) @ np.abs(z))).all():
                expected.add(tuple(np.round(z, 6)))
        found = {tuple(np.round(v.floats(), 6)) for part in complementarity.judge(M, q).parts for v in part.vertices}
        assert found == expected


def test_what_is_next_to_a_border_is_told_from_what_lies_on_it():
    assert complementarity.margin(*map(_exact, ([[0, 1], [1, 0]], [-1, 0]))) == 1.0
    assert complementarity.margin(*map(_exact, ([[1, 1], [1, 1 + 2**-50]], [-1, -1]))) < 1e-14


def _exact(values):
    return [[Fraction(v) for v in row] if isinstance(row, list) else Fraction(row) for row in values for row in [row]]


def test_wrong_z_is_refuted():
    truth = complementarity.judge([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])
    assert findings.of_lcp(truth, Claim("solved", [4 / 3, 7 / 3], forces_unique=True)).outcome == RIGHT
    for z in ([1.3334, 7 / 3], [0.0, 3.0], [-4 / 3, -7 / 3]):
        assert findings.of_lcp(truth, Claim("solved", z)).outcome == WRONG
    two = complementarity.judge([[-1.0]], [1.0])
    assert findings.of_lcp(two, Claim("solved", [0.0])).outcome == WRONG
    flat = complementarity.judge([[1.0, 1.0], [1.0, 1.0]], [-1.0, -1.0])
    assert findings.of_lcp(flat, Claim("solved", [0.25, 0.75], forces_unique=False)).outcome == RIGHT
    assert findings.of_lcp(flat, Claim("solved", [0.25, 0.75], forces_unique=True)).outcome == WRONG
    assert findings.of_lcp(flat, Claim("solved", [1.25, -0.25])).outcome == WRONG


# -- convex programs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("P", "q", "A", "l", "u", "verdict", "least"),
    [
        ([[2]], [-4], [], [], [], "solved", -4),
        ([[2]], [-4], [[1]], [None], [1], "solved", -3),
        ([[0]], [1], [[1]], [0], [None], "solved", 0),
        ([[0]], [1], [[1]], [None], [0], "unbounded", None),
        ([[0]], [0], [], [], [], "solved", 0),
        ([[1]], [0], [[1], [1]], [1, None], [None, 0.999], "infeasible", None),
        ([[1]], [0], [[0]], [1], [None], "infeasible", None),
        ([[1, 0], [0, 0]], [0, 1], [[1, 1]], [0], [None], "solved", -0.5),
        (
            [[0, 0], [0, 0]],
            [-1, -1],
            [[1, 2], [3, 1], [1, 0], [0, 1]],
            [None, None, 0, 0],
            [4, 6, None, None],
            "solved",
            -2.8,
        ),
        ([[1, 1], [1, 1]], [1, -1], [], [], [], "unbounded", None),
    ],
)
def test_small_programs(P, q, A, l, u, verdict, least):
    truth = convex.judge(P, q, A, l, u)
    assert truth.verdict == verdict
    if least is not None:
        assert float(truth.least) == pytest.approx(least)


def test_contradictions_of_programs_are_measured():
    truth = convex.judge([[1.0]], [0.0], [[1.0], [2.0]], [None, 2.0 + 2**-30], [1.0, None])
    assert truth.verdict == "infeasible"
    assert truth.contradiction == pytest.approx(2**-32, rel=1e-3)


def by_active_sets(P, q, A, l, u):
    """The least value by trying every set of active bounds with numpy; None if no feasible stationary point."""
    n, best = len(q), None
    for choice in product((0, 1, 2), repeat=len(l)):
        if any((c == 1 and np.isinf(l[i])) or (c == 2 and np.isinf(u[i])) for i, c in enumerate(choice)):
            continue
        held = [i for i, c in enumerate(choice) if c]
        b = [l[i] if choice[i] == 1 else u[i] for i in held]
        W = A[held]
        K = np.block([[P, W.T], [W, np.zeros((len(held), len(held)))]])
        x = np.linalg.lstsq(K, np.concatenate((-q, b)), rcond=None)[0]
        if np.abs(K @ x - np.concatenate((-q, b))).max() > 1e-9:
            continue
        x = x[:n]
        if (A @ x >= l - 1e-9).all() and (A @ x <= u + 1e-9).all():
            value = 0.5 * x @ P @ x + q @ x
            best = value if best is None else min(best, value)
    return best


def test_least_values_agree_with_all_active_sets():
    rng = np.random.default_rng(8)
    for _ in range(60):
        n, m = int(rng.integers(1, 4)), int(rng.integers(0, 4))
        L = rng.integers(-2, 3, (n, n)).astype(float)
        P = L @ L.T + np.eye(n)
        A = rng.integers(-2, 3, (m, n)).astype(float)
        l = rng.integers(-4, 3, m).astype(float)
        u = l + rng.integers(0, 4, m)
        l, u = np.where(rng.random(m) < 0.3, -np.inf, l), np.where(rng.random(m) < 0.3, np.inf, u)
        q = rng.integers(-4, 5, n).astype(float)
        truth, best = convex.judge(P, q, A, l, u), by_active_sets(P, q, A, l, u)
        assert (truth.verdict == "infeasible") == (best is None)
        if best is not None:
            assert float(truth.least) == pytest.approx(best, abs=1e-8)


def test_wrong_minimisers_are_refuted():
    truth = convex.judge([[1.0, 0.0], [0.0, 1.0]], [-1.0, -2.0], [[1.0, 1.0]], [None], [1.0])
    assert findings.of_qp(truth, Claim("solved", [0.0, 1.0])).outcome == RIGHT
    for x in ([0.1, 0.9], [1.0, 2.0], [0.0, 1.00001], [-1e9, 1e9]):
        assert findings.of_qp(truth, Claim("solved", x)).outcome == WRONG
    half = convex.judge([[1e12, 0, 0], [0, 0.01, 0], [0, 0, 0]], [-1e6, -0.1, 0], [], [], [])
    assert findings.of_qp(half, Claim("solved", [1e-6, 0.0, 0.0])).outcome == WRONG
    assert findings.of_qp(half, Claim("solved", [1e-6, 10.0, 7.0])).outcome == RIGHT
    assert findings.of_qp(convex.judge([[1.0]], [0.0], [[0.0]], [1.0], [None]), Claim("solved", [0.0])).outcome == WRONG
