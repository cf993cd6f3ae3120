"""Every installed solver of quadratic programs, on programs whose solutions are known before anything is solved.

A strictly convex program is made from its optimality conditions: choose x, which rows rest on which bound and the
forces there, then q = A^T y - P x. The signs are gaussopt's, so a backend whose duals are mapped wrongly fails.
"""

from __future__ import annotations

import importlib
import re
import tomllib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.certificates import certify
from gaussopt.core import registry
from gaussopt.core.solver import make_solver, missing_packages
from gaussopt.core.status import Status
from gaussopt.solving.solver_sequence import SolverSequence
from gaussopt.solving.step_solver import StepSolver

INF = np.inf

NEW = ("daqp", "piqp", "proxqp", "quadprog", "clarabel", "highs", "scs")


def _installed() -> list[str]:
    entries = {name: registry.load("solver", name) for name in go.names("solver")}
    fit = {name: cls for name, cls in entries.items() if go.QP in cls.accepts and cls.dense}
    return [name for name, cls in fit.items() if not missing_packages(cls)]


SOLVERS = _installed()
"""Every one of them must tell infeasible and unbounded programs from solved ones."""

ACCURATE = [name for name in SOLVERS if not registry.load("solver", name).stochastic]
"""A search at random promises no digits; test_evolution says what it finds."""

HERE = [name for name in NEW if name in SOLVERS]

ACCURACY = {"highs": 1e-4, "osqp": 1e-5}
"""What the modules of the solvers promise; the others: 1e-9 if exact, else 1e-6."""


def accuracy(name: str) -> float:
    return ACCURACY.get(name, 1e-9 if registry.load("solver", name).exact else 1e-6)


@dataclass(frozen=True)
class Known:
    """A program with its minimiser and its forces (None: not unique)."""

    qp: go.QP
    x: np.ndarray
    y: np.ndarray | None


def program(P: Any, q: Any, A: Any = None, l: Any = None, u: Any = None) -> go.QP:
    P = np.array(P, dtype=float)
    A = np.zeros((0, len(P))) if A is None else np.array(A, dtype=float)
    low = np.full(len(A), -INF) if l is None else np.array(l, dtype=float)
    high = np.full(len(A), INF) if u is None else np.array(u, dtype=float)
    return go.QP(P, np.array(q, dtype=float), A, low, high)


def rows_at(
    kinds: str, z: np.ndarray, size: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bounds and forces of rows with values z: = equality, l and u one-sided and tight, L and U two-sided and tight
    at the lower or upper bound, o one-sided and idle, O two-sided and idle, f free.
    """
    l, u, y = np.full(len(z), -INF), np.full(len(z), INF), np.zeros(len(z))
    gap, force = size * rng.uniform(0.2, 2.0, len(z)), size * rng.uniform(0.2, 2.0, len(z))
    for i, kind in enumerate(kinds):
        if kind == "=":
            l[i] = u[i] = z[i]
            y[i] = force[i] * rng.choice((-1, 1))
        if kind in "lL":
            l[i], y[i] = z[i], force[i]
        if kind in "uU":
            u[i], y[i] = z[i], -force[i]
        if kind in "oOU":
            l[i] = z[i] - gap[i]
        if kind in "OL":
            u[i] = z[i] + gap[i]
    return l, u, y


def known(n: int, kinds: str, seed: int, size: float = 1.0, rank: int | None = None) -> Known:
    """A program of n unknowns whose rows are of these kinds; P has full rank unless told otherwise."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n if rank is None else rank, n))
    P = B.T @ B + (0.5 * np.eye(n) if rank is None else 0.0)
    A, x = rng.standard_normal((len(kinds), n)), size * rng.standard_normal(n)
    l, u, y = rows_at(kinds, A @ x, size, rng)
    return Known(go.QP(P, A.T @ y - P @ x, A, l, u), x, y)


ROWS = {
    "none": (4, ""), "equalities": (6, "==="), "all fixed": (4, "===="), "lower": (3, "l"), "upper": (3, "u"),
    "one-sided": (6, "luo"), "two-sided": (6, "LUO"), "idle": (3, "oOf"), "free": (3, "f"), "mixed": (10, "==luLUoOf"),
    "large": (30, "=" * 8 + "luLU" * 4 + "oO" * 8),
}  # fmt: skip
PROGRAMS = {
    f"{name}, size {size:g}": known(n, kinds, seed, size)
    for seed, (name, (n, kinds)) in enumerate(ROWS.items())
    for size in (1.0, 1e3)
}


def takes(name: str, qp: go.QP) -> bool:
    """Whether the solver takes the program; only two refuse any, and they say why in one sentence."""
    reason = make_solver(name).refuses(qp)
    singular = np.linalg.eigvalsh(qp.P)[0] <= 1e-12 * np.linalg.eigvalsh(qp.P)[-1]
    expected = {"kkt": not qp.equality.all(), "quadprog": bool(singular)}
    assert (reason is not None) is expected.get(name, False)
    if reason is not None:
        with pytest.raises(go.NotAccepted, match=reason[:20]):
            go.solve(qp, name)
    return reason is None


def assert_known(case: Known, x: np.ndarray | None, y: np.ndarray | None, tolerance: float) -> None:
    """Point in the norm of P and in size, forces through the rows and, where unique, one by one."""
    assert x is not None
    assert y is not None
    qp, error = case.qp, x - case.x
    assert np.sqrt(error @ qp.P @ error) <= tolerance * (1.0 + np.sqrt(case.x @ qp.P @ case.x))
    assert np.abs(error).max() <= 10 * tolerance * (1.0 + np.abs(case.x).max())
    if case.y is not None:
        assert np.abs(y - case.y).max(initial=0.0) <= 100 * tolerance * (1.0 + np.abs(case.y).max(initial=0.0))


@pytest.mark.parametrize("case", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("name", ACCURATE)
def test_known_minimisers_and_forces(name: str, case: Known, assert_optimal: Callable[..., None]) -> None:
    if not takes(name, case.qp):
        return
    solution = go.solve(case.qp, name)
    assert solution.claim is Status.SOLVED
    assert solution.status in (Status.SOLVED, Status.INACCURATE)
    assert_known(case, solution.x, solution.y, accuracy(name))
    assert_optimal(case.qp, solution.x, solution.y, 10 * accuracy(name))


@pytest.mark.parametrize("name", [name for name in HERE if name not in ("scs", "highs")])
def test_the_certificate_confirms_them(name: str) -> None:
    """An error bound of 1e-7 asks for a duality gap of 1e-14: the defaults must be that tight."""
    statuses = [go.solve(case.qp, name).status for case in PROGRAMS.values()]
    assert statuses == [Status.SOLVED] * len(PROGRAMS)


def least_squares(seed: int) -> tuple[go.LeastSquares, np.ndarray]:
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((7, 4)), rng.standard_normal(7)
    return go.LeastSquares(A, b, 4), np.linalg.lstsq(A, b, rcond=None)[0]


FITS = {"kkt": 1e-10, "newton": 1e-10, "osqp": 1e-9, "cvxpy": 1e-9, "deap": 1e-2, "deap-cma": 1e-2}
"""Accuracy of a least-squares answer; an evolution promises nothing, and this tells it from noise."""


@pytest.mark.parametrize("name", SOLVERS)
def test_least_squares(name: str) -> None:
    fit, expected = least_squares(3)
    solution = go.solve(fit, name, tolerance=INF if name not in ACCURATE else 1e-7)
    assert solution.status is Status.SOLVED
    most = FITS.get(name, max(accuracy(name), 1e-9))
    np.testing.assert_allclose(solution.x, expected, rtol=0, atol=most * (1 + np.abs(expected).max()))


def _redundant() -> dict[str, Known]:
    equal, mixed = known(6, "===", 40), known(8, "==lLuo", 41)

    def with_rows(case: Known, combine: np.ndarray) -> Known:
        qp = case.qp
        A, l, u = combine @ qp.A, combine @ qp.l, combine @ qp.u
        return Known(go.QP(qp.P, qp.q, np.vstack((qp.A, A)), np.append(qp.l, l), np.append(qp.u, u)), case.x, None)

    def repeated(case: Known, rows: list[int], factor: float) -> Known:
        qp = case.qp
        A, l, u = (np.concatenate((part, factor * part[rows])) for part in (qp.A, qp.l, qp.u))
        return Known(go.QP(qp.P, qp.q, A, l, u), case.x, None)

    zero = program(equal.qp.P, equal.qp.q, np.vstack((equal.qp.A, np.zeros(6))), np.append(equal.qp.l, 0.0),
                   np.append(equal.qp.u, 0.0))  # fmt: skip
    return {
        "equality twice": repeated(equal, [0], 2.0),
        "sum of equalities": with_rows(equal, np.array([[1.0, 1.0, 0.0], [0.0, 1.0, -2.0]])),
        "inequality twice": repeated(mixed, [2, 3, 4], 3.0),
        "everything twice": repeated(mixed, [0, 1, 2, 3, 4, 5], 1.0),
        "a row of zeros": Known(zero, equal.x, None),
    }


REDUNDANT = _redundant()


@pytest.mark.parametrize("case", REDUNDANT.values(), ids=REDUNDANT)
@pytest.mark.parametrize("name", ACCURATE)
def test_redundant_rows(name: str, case: Known) -> None:
    if not takes(name, case.qp):
        return
    solution = go.solve(case.qp, name)
    if name == "quadprog" and solution.claim is Status.INFEASIBLE:
        # Its known weakness: dependent equality rows. The verdict must not repeat the false claim.
        assert solution.status is Status.SOLVER_ERROR
        return
    assert solution.claim is Status.SOLVED
    assert_known(case, solution.x, solution.y, accuracy(name))
    resultant = case.qp.P @ case.x + case.qp.q
    np.testing.assert_allclose(case.qp.A.T @ solution.y, resultant, rtol=0, atol=100 * accuracy(name))


FLAT = np.diag([1.0, 0.0])
CONTRADICTORY = {
    "equalities": program(np.eye(2), [1, 2], [[1, 1], [2, 2]], [1, 3], [1, 3]),
    "too many equalities": program(np.eye(2), [1, 2], [[1, 1], [1, 0], [0, 1]], [1, 1, 1], [1, 1, 1]),
    "slightly": program(np.eye(2), [1, 2], [[1, 1], [2, 2]], [1, 2.001], [1, 2.001]),
    "close": program(np.eye(2), [1, 1], [[1, 0], [1, 0]], [0, 1e-3], [0, 1e-3]),
    "inequalities": program(np.eye(2), [1, 2], [[1, 1], [1, 1]], [1, -INF], [INF, 0]),
    "equality and inequality": program(np.eye(2), [1, 2], [[1, 1], [1, 1]], [1, -INF], [1, 0]),
    "an equality outside a bound": program(np.eye(2), [1, 1], [[1, 0], [1, 0]], [2, -1], [2, 1]),
    "two-sided": program(np.eye(2), [1, 2], [[1, 1], [1, 1]], [1, 3], [2, 4]),
    "a row of zeros": program(np.eye(2), [1, 1], [[0, 0]], [1], [1]),
    "a bound on zeros": program(np.eye(2), [1, 1], [[0, 0]], [1], [INF]),
}
UNBOUNDED = {
    "no rows": program(FLAT, [1, 2]),
    "no rows, no P": program(0 * FLAT, [1, 2]),
    "nothing but a slope": program([[0]], [1]),
    "equality": program(FLAT, [1, 2], [[1, 0]], [1], [1]),
    "along an equality": program(np.ones((2, 2)), [1, -1], [[1, 1]], [0], [0]),
    "inequality": program(FLAT, [1, 2], [[0, 1]], [-INF], [1]),
    "two-sided": program(0 * FLAT, [1, 2], [[1, 0]], [-1], [1]),
}
ILL_POSED = {
    **{f"infeasible: {name}": (qp, Status.INFEASIBLE) for name, qp in CONTRADICTORY.items()},
    **{f"unbounded: {name}": (qp, Status.UNBOUNDED) for name, qp in UNBOUNDED.items()},
}


@pytest.mark.parametrize(("qp", "status"), ILL_POSED.values(), ids=ILL_POSED)
@pytest.mark.parametrize("name", SOLVERS)
def test_ill_posed_programs_are_called_so(name: str, qp: go.QP, status: Status) -> None:
    """Consistency is checked by us, never taken from a solver's word, whatever the tolerance on answers."""
    if not takes(name, qp):
        return
    for tolerance in (1e-7, INF):
        solution = go.solve(qp, name, tolerance=tolerance)
        assert solution.status is status
        assert solution.claim is not Status.CRASHED
        assert solution.message


SINGULAR = {
    "mass in one direction": Known(program(FLAT, [1, 2], [[0, 1]], [1], [1]), np.array([-1.0, 1.0]), np.array([2.0])),
    "oblique": Known(program(FLAT, [1, 2], [[1, 1]], [1], [1]), np.array([1.0, 0.0]), np.array([2.0])),
    "no mass": Known(program(0 * FLAT, [1, 2], np.eye(2), [3, 4], [3, 4]), np.array([3.0, 4.0]), np.array([1.0, 2.0])),
    "resting on a lower bound": Known(
        program(FLAT, [1, 2], [[0, 1]], [1], [INF]), np.array([-1.0, 1.0]), np.array([2.0])
    ),
    "a vertex": Known(
        program(0 * FLAT, [1, -2], np.eye(2), [-1, -1], [1, 1]), np.array([-1.0, 1.0]), np.array([1.0, -2.0])
    ),
    "rank 2 of 6, four equalities": known(6, "====", 50, rank=2),
    "rank 4 of 8, large": known(8, "=====", 51, 1e3, rank=4),
    "rank 3 of 6, rows of all kinds": known(6, "==lUO", 52, rank=3),
    "rank 3 of 6, inequalities only": known(6, "lLuUo", 53, rank=3),
}


@pytest.mark.parametrize("case", SINGULAR.values(), ids=SINGULAR)
@pytest.mark.parametrize("name", ACCURATE)
def test_singular_but_unique(name: str, case: Known) -> None:
    if not takes(name, case.qp):
        return
    solution = go.solve(case.qp, name)
    assert solution.claim is Status.SOLVED
    assert solution.status is Status.SOLVED
    assert_known(case, solution.x, solution.y, max(accuracy(name), 1e-8))


@pytest.fixture(scope="module")
def steps(crank: go.Problem) -> list[go.StepData]:
    """The crank-slider along its reference, 0.01 s apart."""
    rows = crank.reference("crank-A-2s")
    return [crank.system.evaluate(float(t), q, v) for t, q, v in zip(rows.t, rows.q, rows.v, strict=True)]


@pytest.mark.parametrize("name", ACCURATE)
def test_gauss_programs_of_the_crank_slider(name: str, crank: go.Problem, steps: list[go.StepData]) -> None:
    rows = crank.reference("crank-A-2s")
    pair = StepSolver("gauss", name)
    for i in range(5, len(steps), 10):
        answer = pair.solve(steps[i])
        assert answer.status is Status.SOLVED
        assert answer.certificate.relative_error <= accuracy(name)
        size = 1.0 + np.abs(rows.lam[i]).max()
        np.testing.assert_allclose(answer.lam, rows.lam[i], rtol=0, atol=max(10 * accuracy(name), 1e-9) * size)


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("name", ACCURATE)
def test_a_sequence_of_steps_agrees_with_linear_algebra(name: str, warm: bool, steps: list[go.StepData]) -> None:
    engine, direct = SolverSequence(name, warm_start=warm), SolverSequence("kkt")
    updates = registry.load("solver", name).updates
    # From the second on: near rest HiGHS gives up, which is its own test.
    for i, step in enumerate(steps[3:53]):
        qp = go.formulate(step, "gauss")
        raw, timing = engine.solve(qp)
        assert raw.claim is Status.SOLVED
        assert (timing.update > 0) is (updates and i > 0)
        assert (timing.setup > 0) is not (updates and i > 0)
        exact = direct.solve(qp)[0].x
        bound, floor = certify(step, raw.x), certify(step, exact)
        assert bound.relative_error <= accuracy(name)
        error = raw.x - exact
        distance = np.sqrt(error @ step.M @ error)
        assert distance <= bound.error_bound + floor.error_bound + bound.rounding_floor + floor.rounding_floor


def moving(count: int) -> list[Known]:
    """A contact-like sequence of one pattern whose tight rows change from program to program."""
    rng = np.random.default_rng(60)
    n, m, k = 8, 2, 6
    B, A0, A1 = rng.standard_normal((n, n)), rng.standard_normal((m + k, n)), rng.standard_normal((m + k, n))
    cases = []
    for i in range(count):
        t = i / count
        P, A = B.T @ B + (1.0 + t) * np.eye(n), A0 + t * A1
        x = np.cos(3 * t + np.arange(n))
        phase = np.sin(7 * t + np.arange(k))  # positive: the row pushes; negative: it is open
        l, u = np.append((A @ x)[:m], (A @ x)[m:] - np.maximum(-phase, 0.0)), np.full(m + k, INF)
        u[:m], u[m : m + 2] = l[:m], l[m : m + 2] + 3.0
        y = np.append([1.0 + t, -2.0], np.maximum(phase, 0.0))
        cases.append(Known(go.QP(P, A.T @ y - P @ x, A, l, u), x, y))
    return cases


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("name", [name for name in ACCURATE if name != "kkt"])
def test_a_sequence_whose_tight_rows_change(name: str, warm: bool) -> None:
    engine = SolverSequence(name, warm_start=warm)
    for case in moving(50):
        raw, _ = engine.solve(case.qp)
        assert raw.claim in (Status.SOLVED, Status.SOLVER_ERROR if name == "highs" else Status.SOLVED)
        assert_known(case, raw.x, raw.y, accuracy(name))


@pytest.mark.parametrize("name", ACCURATE)
def test_a_failure_leaves_nothing_behind(name: str) -> None:
    """Solved, contradictory, unbounded or of another pattern: the next answer does not depend on what came before."""
    good, bad = REDUNDANT["equality twice"], REDUNDANT["equality twice"].qp
    low = bad.l + np.append(np.zeros(len(bad.l) - 1), 1.0)
    contradictory = go.QP(bad.P, bad.q, bad.A, low, low)
    other = PROGRAMS["all fixed, size 1"]
    engine = SolverSequence(name)
    for case in (good, None, good, other, good, None, other):
        raw, _ = engine.solve(contradictory if case is None else case.qp)
        if case is not None and raw.claim is Status.SOLVED:
            assert_known(case, raw.x, raw.y, accuracy(name))
        elif case is not None:
            assert (name, raw.claim) == ("quadprog", Status.INFEASIBLE)


@pytest.mark.parametrize("name", HERE)
def test_nothing_is_printed(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    cases = [case.qp for case in (*PROGRAMS.values(), *REDUNDANT.values(), *SINGULAR.values())]
    for qp in (*cases, *CONTRADICTORY.values(), *UNBOUNDED.values()):
        if make_solver(name).refuses(qp) is None:
            go.solve(qp, name)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", SOLVERS)
def test_the_program_is_only_read(name: str) -> None:
    case = PROGRAMS["equalities, size 1"]
    arrays = [part.copy() for part in (case.qp.P, case.qp.q, case.qp.A, case.qp.l, case.qp.u)]
    for part in arrays:
        part.setflags(write=False)
    qp = go.QP(*arrays)
    engine = SolverSequence(name)
    for _ in range(2):
        assert engine.solve(qp)[0].claim is Status.SOLVED
    for part, original in zip(arrays, (case.qp.P, case.qp.q, case.qp.A, case.qp.l, case.qp.u), strict=True):
        np.testing.assert_array_equal(part, original)


@pytest.mark.parametrize("name", HERE)
def test_the_backend_reports_its_own_time_and_iterations(name: str) -> None:
    engine = SolverSequence(name)
    for case in moving(3):
        raw, timing = engine.solve(case.qp)
        if name in ("daqp", "piqp", "proxqp", "scs", "clarabel", "highs"):
            # In seconds; the clocks of backends are their own, and stop some microseconds after ours.
            assert 0 < raw.backend <= 1e-3 + timing.setup + timing.update + timing.solve
        else:
            assert np.isnan(raw.backend)
        assert raw.iterations > 0


LIMITS = {
    "daqp": {"iter_limit": 1}, "piqp": {"max_iter": 1}, "proxqp": {"max_iter": 1}, "clarabel": {"max_iter": 1},
    "scs": {"max_iters": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in HERE if name in LIMITS])
def test_the_iteration_limit_is_the_backends_option(name: str) -> None:
    case = PROGRAMS["mixed, size 1"]
    solution = go.solve(case.qp, name, **LIMITS[name])
    assert solution.claim is Status.ITERATION_LIMIT
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.iterations <= 2


SMALL_UNITS = {
    "milligrams and microns": program(np.diag([1e-12, 2e-12]), [1e-12, 1e-11], [[1, 1]], [1], [INF]),
    "a ship": program(np.diag([1e9, 2e9]), [1e9, 3e9], [[1e-2, 2e-2]], [1], [1]),
    "rows in their own unit": program(np.diag([1, 2]), [1, 3], [[1e-7, 2e-7]], [1e-7], [1e-7]),
}


@pytest.mark.parametrize("qp", SMALL_UNITS.values(), ids=SMALL_UNITS)
def test_daqp_does_not_depend_on_units(qp: go.QP) -> None:
    """Its own tolerances are absolute and would take such rows or masses for zero."""
    assert go.solve(qp, "daqp").status is Status.SOLVED


FIXED = ("no mass", "rank 2 of 6, four equalities", "rank 4 of 8, large")


@pytest.mark.parametrize("case", [SINGULAR[name] for name in FIXED], ids=FIXED)
def test_daqp_keeps_its_digits_where_equality_rows_fix_a_singular_p(case: Known) -> None:
    """Its proximal iteration would leave 1e-10."""
    solution = go.solve(case.qp, "daqp")
    assert np.abs(solution.x - case.x).max() <= 2e-13 * np.abs(case.x).max()


def test_daqp_starts_from_the_duals_given() -> None:
    case = PROGRAMS["large, size 1"]
    cold, warm = go.solve(case.qp, "daqp"), go.solve(case.qp, "daqp", start=(case.x, case.y))
    assert cold.iterations > 4
    assert warm.iterations <= 2
    wrong = go.solve(case.qp, "daqp", start=(case.x, np.ones(case.qp.m)))
    for solution in (cold, warm, wrong):
        assert_known(case, solution.x, solution.y, 1e-9)


def test_an_error_of_quadprog_is_not_a_verdict_on_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """qpsolvers turns most errors into `found = False`, which must not be read as infeasible."""
    qpsolvers = pytest.importorskip("qpsolvers")
    pytest.importorskip("quadprog")

    def broken(problem: Any, solver: str, **options: Any) -> Any:
        warnings.warn("the backend raised a ValueError: out of luck", stacklevel=2)
        solution = qpsolvers.Solution(problem)
        solution.found = False
        return solution

    monkeypatch.setattr(qpsolvers, "solve_problem", broken)
    raw = SolverSequence("quadprog").solve(PROGRAMS["one-sided, size 1"].qp)[0]
    assert raw.claim is Status.SOLVER_ERROR
    assert raw.x is None


class Broken:
    """A solver object of Clarabel or SCS whose numbers have run out."""

    status, x, z, iterations, solve_time = "NumericalError", [np.nan] * 6, [np.nan] * 6, 3, 0.0

    def __init__(self, *given: Any, **settings: Any) -> None:
        pass

    def solve(self) -> Any:
        info = {"status": "failure", "status_val": -4, "iter": 3, "setup_time": 0.0, "solve_time": 0.0}
        return self if self.module == "clarabel" else {"x": np.array(self.x), "y": np.array(self.z), "info": info}

    module = ""


@pytest.mark.parametrize(("name", "cls"), [("clarabel", "DefaultSolver"), ("scs", "SCS")])
def test_an_error_of_the_backend_is_not_a_verdict_on_the_program(
    name: str, cls: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module(name), cls, type(cls, (Broken,), {"module": name}))
    raw = SolverSequence(name).solve(PROGRAMS["one-sided, size 1"].qp)[0]
    assert raw.claim is Status.SOLVER_ERROR
    assert raw.x is None or not np.isfinite(raw.x).any()


@pytest.mark.parametrize("name", NEW)
def test_its_packages_are_declared(name: str) -> None:
    cls = registry.load("solver", name)
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    declared = [*project["dependencies"], *(project["optional-dependencies"][cls.extra] if cls.extra else ())]
    assert set(cls.requires) <= {re.split(r"[<>=!~ ]", line)[0] for line in declared}


def test_a_sequence_without_rows_is_solved_by_every_backend() -> None:
    """The dual of one row is a program without rows; some backends mishandle its second update."""
    problem = go.problem("knife-edge-body", case="NH-A")
    rows = problem.reference("NH-A")
    for solver in go.names("solver"):
        entry = registry.load("solver", solver)
        if (
            go.QP not in entry.accepts
            or not entry.dense
            or missing_packages(entry)
            or entry.stochastic
            or solver in ("highs", "scs")
        ):
            continue
        pair = go.StepSolver("dual", solver)
        for t, q, v in zip(rows.t[:6], rows.q[:6], rows.v[:6], strict=True):
            answer = pair.solve(problem.system.evaluate(float(t), q, v))
            assert answer.status is go.Status.SOLVED, (solver, t, answer.message)
