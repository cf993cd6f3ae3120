"""Every LCP solver on literature problems, random classes, degenerate and unsolvable problems."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import call_json
from samples import sample

import gaussopt as go
from gaussopt.core import registry
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import make_solver, missing_packages
from gaussopt.kinds import page_of
from gaussopt.lcp import certify_lcp, enumerate_lcp

S = go.Status
DATA = Path(__file__).parents[1] / "data"
LITERATURE = json.loads((DATA / "lcp.json").read_text(encoding="utf-8"))
CASES = [c for c in json.loads((DATA / "step_cases.json").read_text(encoding="utf-8")) if c["kind"] == "lcp"]


def lcp_solvers() -> list[str]:
    entries = {name: registry.load("solver", name) for name in registry.names("solver")}
    takers = [name for name, cls in entries.items() if go.LCP in cls.accepts and not missing_packages(cls)]
    # A search at random promises no digits; test_evolution says what it finds.
    return [name for name in takers if not entries[name].stochastic]


ALL = lcp_solvers()
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ALL), ("newton", {"function": "min"}), ("pgs", {"omega": 0.8}),
]  # fmt: skip
IDS = ["-".join([name, *map(str, o.values())]) for name, o in VARIANTS]
every = pytest.mark.parametrize(("name", "options"), VARIANTS, ids=IDS)


def lcp(M: Any, q: Any) -> go.LCP:
    q = np.array(q, dtype=float)
    return go.LCP(np.array(M, dtype=float).reshape(len(q), len(q)), q)


def refused(name: str, problem: go.LCP) -> bool:
    return bool(make_solver(name).refuses(problem))


def raw(name: str, problem: go.LCP, **options: Any) -> RawSolution:
    solver = make_solver(name, options)
    solver.check(problem)
    solver.setup(problem)
    return solver.solve(None)


def test_the_solvers_that_must_be_there() -> None:
    assert {"lemke", "newton", "pgs", "enumerate"} <= set(ALL)


@every
@pytest.mark.parametrize("problem", LITERATURE)
def test_literature(name: str, options: dict[str, Any], problem: str) -> None:
    stated = LITERATURE[problem]
    program = go.LCP.from_mapping(stated)
    if refused(name, program):
        assert name == "pgs"
        assert (program.M.diagonal() <= 0).any()
        return
    solution = go.solve(program, name, **options)
    assert solution.status is S.SOLVED
    w = program.w(solution.x)
    assert np.abs(np.minimum(solution.x, w)).max() <= 1e-12 * (1 + np.abs(solution.x).max())
    if len(stated["basic_solutions"]) == 1:
        np.testing.assert_allclose(solution.x, stated["basic_solutions"][0], rtol=0, atol=1e-12)
        assert solution.certificate["forces_unique"] is True
    else:
        # CPS_1: z1 + z2 = 1 with w = 0; the stated solutions are the ends of that segment.
        assert solution.certificate["forces_unique"] is False
        assert sorted(map(tuple, np.round(solution.solutions, 12))) == sorted(map(tuple, stated["basic_solutions"]))
        np.testing.assert_allclose(solution.certificate["z_range"], [[0, 1], [0, 1]], atol=1e-14)


@pytest.mark.parametrize("problem", LITERATURE)
def test_lemke_takes_as_many_pivots_as_stated(problem: str) -> None:
    # Both count the entering of z0 and its leaving, and cover with a vector of ones; ours after scaling the rows,
    # which here changes neither the number nor the status.
    stated = LITERATURE[problem]["lemke"]
    answer = raw("lemke", go.LCP.from_mapping(LITERATURE[problem]))
    assert stated["status"] == "ok"
    assert (answer.claim, answer.iterations) == (S.SOLVED, stated["pivots"])


@every
@pytest.mark.parametrize("case", CASES, ids=lambda c: c["name"])
def test_step_cases(name: str, options: dict[str, Any], case: dict[str, Any]) -> None:
    program, expected = go.LCP.from_mapping(case["problem"]), case["expect"]["lcp"]
    if refused(name, program):
        assert name == "pgs"
        return
    solution = go.solve(program, name, **options)
    assert str(solution.status) == expected["status"]
    if "lam_N" in expected:
        np.testing.assert_allclose(solution.x, expected["lam_N"], atol=1e-13)
        np.testing.assert_allclose(program.w(solution.x), expected["w"], atol=1e-13)
    if "solutions" in expected:
        np.testing.assert_allclose(sorted(map(tuple, solution.solutions)), expected["solutions"], atol=1e-13)
        assert str(len(expected["solutions"])) in solution.message
        assert solution.certificate["solutions"] == [z.tolist() for z in solution.solutions]
    if "forces_unique" in expected:
        assert solution.certificate["forces_unique"] == expected["forces_unique"]


def made(rng: np.random.Generator, kind: str, n: int) -> tuple[go.LCP, np.ndarray, np.ndarray]:
    """A problem made from its solution z, w; some pairs have z_i = w_i = 0."""
    A = rng.standard_normal((n, n))
    if kind == "symmetric definite":
        M = A @ A.T + 0.5 * np.eye(n)
    elif kind == "dominant":
        M = A + (np.abs(A).sum(axis=1).max() + 0.1) * np.eye(n)
    elif kind == "definite":
        M = A @ A.T + 0.5 * np.eye(n) + A - A.T
    elif kind == "P":
        order = rng.permutation(n)
        M = (np.triu(3.0 * A, 1) + np.diag(0.5 + rng.random(n)))[np.ix_(order, order)]
    else:
        G = rng.standard_normal((n, max(1, n - 2)))
        M = G @ G.T
    state = rng.integers(0, 5, n)
    z = np.where(state <= 1, 0.1 + rng.random(n), 0.0)
    w = np.where(state >= 3, 0.1 + rng.random(n), 0.0)
    return go.LCP(M, w - M @ z), z, w


CONVERGES = {"pgs": ("symmetric definite", "dominant")}
"""PGS is promised to converge only there; definite non-symmetric and P-matrices may make it cycle."""


@every
@pytest.mark.parametrize("kind", ["symmetric definite", "dominant", "definite", "P", "semidefinite"])
@pytest.mark.parametrize("n", sample((1, 2, 3, 5, 8), range(1, 9)))
def test_random_problems(name: str, options: dict[str, Any], kind: str, n: int) -> None:
    rng = np.random.default_rng(100 * n + len(kind))
    for _ in range(4):
        problem, z, w = made(rng, kind, n)
        solution = go.solve(problem, name, **options)
        if name == "pgs" and kind not in CONVERGES["pgs"] and solution.status is not S.SOLVED:
            # Never a wrong answer called solved.
            assert solution.claim is not S.SOLVED
            continue
        assert solution.status is S.SOLVED
        size = 1 + np.abs(z).max() + np.abs(problem.q).max()
        assert np.abs(np.minimum(solution.x, problem.w(solution.x))).max() <= 1e-10 * size
        if kind == "semidefinite":
            np.testing.assert_allclose(problem.w(solution.x), w, rtol=0, atol=1e-10 * size)
        else:
            condition = np.linalg.cond(problem.M)
            np.testing.assert_allclose(solution.x, z, rtol=0, atol=1e-13 * size * max(condition, 100))
            assert solution.certificate["forces_unique"] is True


@every
@pytest.mark.parametrize("seed", range(6))
def test_units_do_not_matter(name: str, options: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem, z, _ = made(rng, "symmetric definite", 4)
    s = 10.0 ** rng.uniform(-6, 6, 4)
    solution = go.solve(go.LCP(s[:, None] * problem.M * s, s * problem.q), name, **options)
    assert solution.status is S.SOLVED
    np.testing.assert_allclose(s * solution.x, z, rtol=0, atol=1e-10 * (1 + z.max()))
    if name in ("lemke", "newton", "enumerate"):
        row = go.solve(go.LCP(s[:, None] * problem.M, s * problem.q), name, **options)
        assert row.status is S.SOLVED
        np.testing.assert_allclose(row.x, z, rtol=0, atol=1e-10 * (1 + z.max()))


@every
@pytest.mark.parametrize("n", sample((1, 2, 4), range(1, 7)))
def test_whatever_the_matrix_nothing_wrong_is_called_solved(name: str, options: dict[str, Any], n: int) -> None:
    rng = np.random.default_rng(n)
    counts = {S.SOLVED: 0, S.NO_SOLUTION: 0, S.MULTIPLE_SOLUTIONS: 0}
    for _ in range(15):
        problem = go.LCP(rng.standard_normal((n, n)), rng.standard_normal(n))
        if refused(name, problem):
            continue
        truth = enumerate_lcp(problem)
        solution = go.solve(problem, name, **options)
        counts[truth.status] += 1
        if truth.status is not S.SOLVED:
            assert solution.status is truth.status
        elif solution.status is S.SOLVED:
            np.testing.assert_allclose(solution.x, truth.solutions[0], rtol=0, atol=1e-8)
        else:
            # A pivoting or descent method may miss the one solution when M is no P-matrix, and must say so.
            assert name != "enumerate"
            assert name == "pgs" or not certify_lcp(problem, None).matrix.p_matrix
    if name == "enumerate" and n > 1:
        assert min(counts.values()) > 0


@every
def test_q_without_negative_entries_needs_no_work(name: str, options: dict[str, Any]) -> None:
    solution = go.solve(lcp([[2, 1], [1, 2]], [0, 3]), name, **options)
    assert solution.status is S.SOLVED
    np.testing.assert_array_equal(solution.x, [0, 0])
    if name != "enumerate":
        assert solution.iterations == 0


@every
def test_no_pairs(name: str, options: dict[str, Any]) -> None:
    solution = go.solve(go.LCP(np.zeros((0, 0)), np.zeros(0)), name, **options)
    assert solution.status is S.SOLVED
    assert solution.x.shape == (0,)


@pytest.mark.parametrize("degenerate", [False, True])
def test_lemke_updates_a_large_inverse_as_if_it_were_fresh(degenerate: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    n = 90
    root, skew = rng.standard_normal((n, n)), rng.standard_normal((n, n))
    M = root @ root.T / n + 0.1 * np.eye(n) + 0.3 * (skew - skew.T)
    z = np.where(rng.random(n) < 0.6, rng.integers(1, 5, n), 0.0)
    w = np.where((z == 0) & (rng.random(n) < (0.5 if degenerate else 1.0)), 1.0, 0.0)
    scale = 10.0 ** rng.uniform(-3, 3, n)
    problem = go.LCP(scale[:, None] * M * scale, scale * (w - M @ z))
    updated = raw("lemke", problem)
    monkeypatch.setattr(sys.modules[type(make_solver("lemke")).__module__], "SMALL", n)
    fresh = raw("lemke", problem)
    assert updated.claim is fresh.claim is S.SOLVED
    assert degenerate or updated.iterations == fresh.iterations > 40
    assert updated.x is not None
    np.testing.assert_allclose(updated.x * scale, z, atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_lemke_with_ties_everywhere(seed: int) -> None:
    # Small integers and repeated rows: nearly every ratio test is tied.
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    G = rng.integers(-1, 2, (n, int(rng.integers(1, n)))).astype(float)
    G[n // 2] = G[0]
    M = G @ G.T
    z, w = rng.integers(0, 2, n).astype(float), rng.integers(0, 2, n).astype(float)
    w[z > 0] = 0.0
    problem = go.LCP(M, w - M @ z)
    answer = raw("lemke", problem, max_iter=2 ** (n + 1))
    assert answer.claim is S.SOLVED
    assert np.abs(np.minimum(answer.x, problem.w(answer.x))).max() <= 1e-12
    np.testing.assert_allclose(problem.w(answer.x), w, atol=1e-11)


CIRCULANT = lcp([[1, 2, 0], [0, 1, 2], [2, 0, 1]], [-1, -1, -1])
"""Kostreva's P-matrix: one-pivot methods visit the same bases for ever. Its solution is (1, 1, 1) / 3."""


@pytest.mark.parametrize(("name", "options"), [v for v in VARIANTS if v[0] != "pgs"])
def test_problem_that_cycles(name: str, options: dict[str, Any]) -> None:
    solution = go.solve(CIRCULANT, name, **options)
    assert solution.status is S.SOLVED
    np.testing.assert_allclose(solution.x, np.full(3, 1 / 3), rtol=1e-14)


def test_newton_on_a_problem_where_the_plain_active_set_method_cycles() -> None:
    # Ben Gharbia & Gilbert: I plus a cyclic permutation times alpha > 1, odd n; z = 0 with q = 1 perturbed.
    alpha = 3.0
    problem = lcp([[1, 0, alpha], [alpha, 1, 0], [0, alpha, 1]], [-1.0, -1.0, -1.0])
    M, q = problem.M, problem.q
    push, seen = np.array([True, False, False]), set()
    while tuple(push) not in seen:
        seen.add(tuple(push))
        x = np.zeros(3)
        x[push] = np.linalg.solve(M[np.ix_(push, push)], -q[push])
        push = x > M @ x + q
    x = np.linalg.solve(M, -q)
    assert not push.all()  # it came back to a set that is not the solution's
    start = np.array([1.0, 0.0, 0.0])
    for function in ("min", "fischer-burmeister"):
        solver = make_solver("newton", {"function": function})
        solver.setup(problem)
        answer = solver.solve((start, None))
        np.testing.assert_allclose(answer.x, x, rtol=1e-13)


def test_newton_names_its_fallback() -> None:
    fell, kept = 0, 0
    rng = np.random.default_rng(2)
    for _ in range(60):
        problem = go.LCP(rng.standard_normal((4, 4)), rng.standard_normal(4))
        answer = raw("newton", problem)
        alone = raw("newton", problem, fallback=False)
        if "Lemke" in answer.note:
            fell += 1
            assert alone.claim is S.ITERATION_LIMIT
        else:
            kept += 1
            assert answer.claim is S.SOLVED
    assert fell
    assert kept


def test_pgs_says_when_it_does_not_converge() -> None:
    for problem in (CIRCULANT, lcp([[1, 3, 0], [0, 1, 3], [3, 0, 1]], [-1, -1, -1])):
        solution = go.solve(problem, "pgs", max_iter=500)
        assert solution.status in (S.ITERATION_LIMIT, S.SOLVER_ERROR)
        assert "converge" in solution.message or "diverge" in solution.message


def test_pgs_uses_a_start_and_its_relaxation() -> None:
    rng = np.random.default_rng(0)
    problem, z, _ = made(rng, "symmetric definite", 6)
    cold = raw("pgs", problem)
    solver = make_solver("pgs")
    solver.setup(problem)
    assert solver.solve((z, None)).iterations < cold.iterations
    assert raw("pgs", problem, omega=0.1).iterations > cold.iterations


@pytest.mark.parametrize("name", ["lemke", "newton", "enumerate"])
@pytest.mark.parametrize(
    ("M", "q"), [([[-0.5]], [-2]), ([[0]], [-1]), ([[1, -1], [-1, 1]], [-1, 0]), (-np.eye(4), -np.ones(4))]
)
def test_no_solution(name: str, M: Any, q: Any) -> None:
    solution = go.solve(lcp(M, q), name)
    assert solution.status is S.NO_SOLUTION
    assert solution.claim is S.NO_SOLUTION
    assert solution.certificate["verdict"] == "no_solution"
    assert solution.solutions == ()


def test_a_ray_is_named_and_proves_nothing_by_itself() -> None:
    rng = np.random.default_rng(1)
    seen = 0
    for _ in range(300):
        problem = go.LCP(rng.standard_normal((3, 3)), rng.standard_normal(3))
        if enumerate_lcp(problem).status is S.SOLVED and raw("lemke", problem, fallback=0).claim is S.NO_SOLUTION:
            seen += 1
            assert go.solve(problem, "lemke").status is S.SOLVED
            solution = go.solve(problem, "lemke", fallback=0)
            assert solution.status is S.SOLVER_ERROR
            assert "secondary ray" in solution.message
            assert "has a solution" in solution.message
    assert seen


def test_every_painleve_solution_is_listed_whichever_was_found() -> None:
    for name in ("lemke", "newton", "enumerate"):
        solution = go.solve(lcp([[-0.5]], [2]), name)
        assert solution.status is S.MULTIPLE_SOLUTIONS
        assert [z.tolist() for z in solution.solutions] == [[0.0], [4.0]]
        assert "2 solutions" in solution.message


@pytest.mark.parametrize(
    ("name", "options"),
    [("lemke", {"max_iter": 2}), ("newton", {"max_iter": 1, "fallback": False}), ("pgs", {"max_iter": 1})],
)
def test_iteration_limits_are_reported(name: str, options: dict[str, Any]) -> None:
    problem, *_ = made(np.random.default_rng(0), "P", 8)
    solution = go.solve(problem, name, **options)
    assert solution.status is S.ITERATION_LIMIT
    assert solution.iterations == options["max_iter"]


def test_a_solver_that_lies_is_overruled() -> None:
    good = lcp([[2, 1], [1, 2]], [-5, -6])
    for z in ([0.0, 0.0], [4 / 3, 7 / 3 + 1e-5], [-1.0, 3.0]):
        assert page_of(good).judge(good, RawSolution(np.array(z), None, S.SOLVED), 1e-7).status is S.INACCURATE
    assert page_of(good).judge(good, RawSolution(None, None, S.NO_SOLUTION), 1e-7).status is S.SOLVER_ERROR
    assert page_of(good).judge(good, RawSolution(np.zeros(3), None, S.SOLVED), 1e-7).status is S.SOLVER_ERROR
    assert page_of(good).judge(good, RawSolution(np.full(2, np.nan), None, S.SOLVED), 1e-7).status is S.SOLVER_ERROR
    none = lcp([[-0.5]], [-2])
    assert page_of(none).judge(none, RawSolution(np.array([4.0]), None, S.SOLVED), 1e-7).status is S.NO_SOLUTION


@pytest.mark.parametrize(
    ("M", "q", "culprit"),
    [
        (np.ones((2, 3)), np.ones(2), "square"), (np.eye(2), np.ones(3), "q"),
        (np.diag([1.0, np.nan]), np.ones(2), "M[1, 1]"),
        (np.eye(2), np.array([1.0, np.inf]), "q[1]"), (np.ones((1, 1)), np.zeros(0), "M"),
    ],
)  # fmt: skip
def test_problems_that_are_none(M: Any, q: Any, culprit: str, assert_sentence: Callable[..., None]) -> None:
    with pytest.raises(go.BadInput) as error:
        go.solve(go.LCP(M, q), "lemke")
    assert_sentence(error.value, culprit)


def test_refusals_are_sentences(assert_sentence: Callable[..., None]) -> None:
    for name, problem, culprit in (
        ("pgs", lcp([[0]], [1]), "diagonal"), ("enumerate", lcp(np.eye(20), np.ones(20)), "20 pairs"),
        ("kkt", CIRCULANT, "LCP"), ("osqp", CIRCULANT, "LCP"),
    ):  # fmt: skip
        with pytest.raises(go.NotAccepted) as error:
            go.solve(problem, name)
        assert_sentence(error.value, culprit)


def write(path: Path, content: dict[str, Any]) -> str:
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def test_solve_prints_what_is_known(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", {"kind": "lcp", "M": [[2, 1], [0, 2]], "q": [-2, 1]})
    code, data = call_json(capsys, "solve", file)
    assert (code, data["status"], data["solver"]) == (0, "solved", "lemke")
    assert (data["z"], data["lam_N"], data["w"]) == ([1, 0], [1, 0], [0, 1])
    assert data["forces_unique"] is True
    assert data["iterations"] == 2
    assert {"message", "certificate", "timing"} <= set(data)
    flat = write(tmp_path / "b.json", {"kind": "lcp", "M": [[1, -1], [-1, 1]], "q": [-1, 1]})
    code, data = call_json(capsys, "solve", flat, "--solver", "enumerate")
    assert (code, data["status"], data["forces_unique"]) == (0, "solved", False)
    assert data["lam_N_range"][1] == [0, None]
    assert data["lam_N_range"][0] == [pytest.approx(1, rel=1e-14), None]
    two = write(tmp_path / "c.json", {"kind": "lcp", "M": [[-0.5]], "q": [2]})
    code, data = call_json(capsys, "solve", two)
    assert (code, data["status"], data["solutions"]) == (1, "multiple_solutions", [[0], [4]])
    none = write(tmp_path / "d.json", {"kind": "lcp", "M": [[-0.5]], "q": [-2]})
    code, data = call_json(capsys, "solve", none)
    assert (code, data["status"], data["z"]) == (1, "no_solution", None)
    code, data = call_json(capsys, "solve", file, "--formulation", "gauss")
    assert (code, data["status"]) == (2, "bad_input")


@pytest.mark.parametrize(
    ("M", "q", "z", "code", "status", "word"),
    [
        ([[2, 1], [0, 2]], [-2, 1], [1, 0], 0, "solved", "confirms"),
        ([[2, 1], [0, 2]], [-2, 1], [0.875, 0.25], 1, "inaccurate", "fails"),  # what the printed QP returns
        ([[-0.5]], [2], [4], 1, "multiple_solutions", "one of them"),
        ([[-0.5]], [2], [3], 1, "multiple_solutions", "none of them"),
        ([[-0.5]], [-2], [4], 1, "no_solution", "No solution"),
        ([[2, 1], [0, 2]], [-2, 1], [1], 2, "bad_input", "z"),
        ([[2, 1], [0, 2]], [-2, 1], None, 2, "bad_input", "'z'"),
    ],
)
def test_verify(
    M: Any, q: Any, z: Any, code: int, status: str, word: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = write(tmp_path / "p.json", {"kind": "lcp", "M": M, "q": q})
    answer = write(tmp_path / "a.json", {"z": z})
    exit_code, data = call_json(capsys, "verify", file, answer)
    assert (exit_code, data["status"]) == (code, status)
    assert word in data["message"]
