"""The genetic algorithm and CMA-ES: what they find, what they claim, what they leave alone."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from quadratic_programs import equality_program
from quadratic_programs import program as qp

import gaussopt as go
from gaussopt.comparison.items import states_of
from gaussopt.core import registry
from gaussopt.core.programs import Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import make_solver
from gaussopt.solvers._search import ComplementaritySearch, QuadraticSearch, search_of
from gaussopt.solving.solver_sequence import SolverSequence
from gaussopt.solving.step_solver import StepSolver

S = go.Status
inf = np.inf
BOTH = ["deap", "deap-cma"]
both = pytest.mark.parametrize("name", BOTH)
ways = pytest.mark.parametrize("coordinates", ["null-space", "full"])


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """No search may end in warnings of numpy."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def raw(program: Program, name: str, start: Any = None, **options: Any) -> RawSolution:
    solver = make_solver(name, options)
    solver.check(program)
    solver.setup(program)
    return solver.solve(start)


def steps(crank: go.Problem, count: int = 6) -> list[tuple[go.StepData, np.ndarray]]:
    rows = crank.reference("crank-A-2s")
    return [(crank.system.evaluate(rows.t[k], rows.q[k], rows.v[k]), rows.a[k]) for k in range(0, 10 * count, 10)]


def error(x: np.ndarray | None, a: np.ndarray) -> float:
    assert x is not None
    return float(np.abs(x - a).max() / (1 + np.abs(a).max()))


@both
def test_a_mechanism_in_null_space_coordinates(name: str, crank: go.Problem) -> None:
    pair = StepSolver("gauss", name)
    for step, a in steps(crank):
        answer = pair.solve(step)
        assert answer.claim is answer.status is S.SOLVED
        assert error(answer.a, a) < (1e-8 if name == "deap-cma" else 1e-6)


def test_in_full_coordinates_cma_finds_the_penalised_minimiser_and_the_genetic_algorithm_does_not(
    crank: go.Problem,
) -> None:
    errors: dict[str, list[float]] = {name: [] for name in BOTH}
    for step, a in steps(crank, 4):
        program = go.formulate(step, "gauss")
        weight = 2e4
        P, q = program.P + weight * program.A.T @ program.A, weight * program.A.T @ program.l - program.q
        for name in BOTH:
            answer = raw(program, name, coordinates="full", penalty=1e4)
            assert answer.claim in (S.INACCURATE, S.ITERATION_LIMIT)  # the rows are paid for, not met
            errors[name].append(error(answer.x, a))
            if name == "deap-cma":
                assert error(answer.x, np.linalg.solve(P, q)) < 1e-6
                assert "violated" in answer.note
    assert max(errors["deap-cma"]) < 1e-3
    assert np.median(errors["deap-cma"]) < 1e-2 * np.median(errors["deap"])


def test_a_larger_penalty_brings_cma_nearer(crank: go.Problem) -> None:
    step, a = steps(crank, 2)[1]
    program = go.formulate(step, "gauss")
    ends = [error(raw(program, "deap-cma", coordinates="full", penalty=p).x, a) for p in (1e2, 1e4)]
    assert ends[1] < 0.05 * ends[0]


@both
@ways
def test_linear_systems(name: str, coordinates: str) -> None:
    rng = np.random.default_rng(2)
    K = rng.standard_normal((3, 3)) + 3 * np.eye(3)
    x = rng.standard_normal(3)
    # Rows and unknowns in other units do not matter.
    for R, C in ((np.ones(3), np.ones(3)), (np.array([1e6, 1.0, 1e-6]), np.array([1e-3, 1.0, 1e3]))):
        answer = raw(go.LinearSystem(R[:, None] * K * C, R * (K @ x)), name, coordinates=coordinates)
        np.testing.assert_allclose(answer.x * C, x, atol=1e-8 if name == "deap-cma" else 1e-2)


@both
def test_of_several_solutions_the_shortest_is_searched(name: str) -> None:
    K = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    shortest = [1.0, 1.0, 3.0]
    for program in (
        go.LinearSystem(K, np.array([2.0, 2.0, 6.0])),
        go.LeastSquares(K, np.array([2.0, 2.0, 6.0]), 2, minimum_norm=True),
        go.LeastSquares(K, np.array([1.0, 3.0, 6.0]), 2),
    ):
        np.testing.assert_allclose(raw(program, name).x, shortest, atol=1e-4)


def test_a_minimum_norm_is_searched_among_the_solutions_alone() -> None:
    """In full coordinates the norm is the objective and the equations are paid for."""
    K, b = np.array([[1.0, 1.0]]), np.array([2.0])
    full = raw(go.LeastSquares(K, b, 1, minimum_norm=True), "deap-cma", coordinates="full", penalty=1e3)
    np.testing.assert_allclose(full.x, np.full(2, 2.0) * 1e3 / (2e3 + 0.5), atol=1e-8)


def test_least_squares_are_not_squared() -> None:
    """With the normal equations in its place nothing beyond 1e-8 * condition would be left."""
    A = np.array([[1.0, 1.0], [1e-4, 0.0], [0.0, 1e-4]])
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(raw(go.LeastSquares(A, A @ x, 2), "deap-cma").x, x, rtol=1e-6)


def complementary(seed: int, kind: str, n: int = 5) -> tuple[go.LCP, np.ndarray]:
    """Definite but not symmetric, or a P-matrix without definite symmetric part."""
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((n, n))
    M = G @ G.T + np.eye(n) + G - G.T if kind == "definite" else np.triu(2 * G, 1) + np.diag(0.5 + rng.random(n))
    push = rng.random(n) < 0.5
    z = np.where(push, 0.5 + rng.random(n), 0.0)
    return go.LCP(M, np.where(push, 0.0, 0.5 + rng.random(n)) - M @ z), z


@pytest.mark.parametrize("kind", ["definite", "P"])
def test_complementarity_problems(kind: str) -> None:
    for seed in range(4):
        program, z = complementary(seed, kind)
        cma = raw(program, "deap-cma")
        assert cma.claim is S.SOLVED
        np.testing.assert_allclose(cma.x, z, atol=1e-6)
        assert (cma.x >= 0).all()
        assert cma.history[-1] < 1e-15  # the merit function vanishes at solutions
        genetic = raw(program, "deap")
        assert (genetic.x >= 0).all()
        assert genetic.history[-1] < 0.01 * genetic.history[0]


@both
def test_without_a_solution_none_is_claimed(name: str) -> None:
    for M, q in (([[-0.5]], [-2.0]), ([[0.0]], [-1.0]), ([[1.0, -1.0], [-1.0, 1.0]], [-1.0, 0.0])):
        program = go.LCP(np.array(M), np.array(q))
        answer = raw(program, name)
        assert answer.claim in (S.INACCURATE, S.ITERATION_LIMIT)
        assert "no complementary point" in answer.note
        assert go.solve(program, name).status is S.NO_SOLUTION


def test_contacts_by_feasibility_rules() -> None:
    """Active inequality rows: a box on the floor, whose three contacts are more than its three coordinates need."""
    box = go.problem("box", case="frictionless")
    step = box.system.evaluate(0.0, box.q0, box.v0)
    answer = go.solve_step(step, "gauss", "deap-cma", tolerance=inf)
    np.testing.assert_allclose(answer.a, np.zeros(3), atol=1e-5)
    assert (step.J_N @ answer.a + step.zeta_N >= -1e-7).all()
    # And it pushes on: of two bars, forces instead of accelerations.
    bars = go.problem("two-bar")
    falling = bars.system.evaluate(0.0, bars.q0, bars.v0)
    truth = go.solve_step(falling, "lcp", "lemke")
    for formulation in ("lcp", "lcp-qp"):
        found = go.solve_step(falling, formulation, "deap-cma")
        assert found.status is S.SOLVED
        np.testing.assert_allclose(found.a, truth.a, rtol=0, atol=1e-6 * (1 + np.abs(truth.a).max()))


@both
def test_feasible_beats_infeasible(name: str) -> None:
    """The cheapest points violate the row; none of them may win, and the history begins where one is feasible."""
    program = qp(np.eye(2), [0, 0], [[1, 1], [1, -1]], [2, -inf], [inf, 0.5])
    answer = raw(program, name)
    assert (program.A @ answer.x >= program.l - 1e-8).all()
    assert (program.A @ answer.x <= program.u + 1e-8).all()
    np.testing.assert_allclose(answer.x, [1, 1], atol=1e-5 if name == "deap-cma" else 0.1)
    finite = np.isfinite(answer.history)
    assert (np.diff(finite.astype(int)) >= 0).all()


def test_violation_and_cost_of_a_population() -> None:
    program = qp(2 * np.eye(2), [0, 0], [[1, 0], [0, 1]], [1, -inf], [inf, 2])
    search = search_of(program, "null-space", 1.0)
    points = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 3.0], [1.5, 2.0]])
    Y = np.array([search.encode(x) for x in points])
    values = search.evaluate(Y)
    np.testing.assert_allclose(values[:, 0] > 0, [True, False, True, False])
    # Violations count in the units of the search, here sqrt(2) of x.
    np.testing.assert_allclose(values[[0, 2], 0], np.sqrt(2), rtol=1e-12)
    reference = search.refer(Y[1])
    assert reference == pytest.approx(program.objective(points[1]))
    np.testing.assert_allclose(search.evaluate(Y)[:, 1] + reference, [program.objective(x) for x in points], rtol=1e-12)


def test_differences_of_costs_keep_their_digits() -> None:
    """The objective itself cannot tell points 1e-12 apart."""
    program, x = equality_program(1, 4, 0)
    search = search_of(program, "null-space", 1.0)
    y = search.encode(x)
    search.refer(y)
    d = 1e-12 * np.eye(4)
    moved = (y + d) - y
    found = search.evaluate(y + d)[:, 1]
    np.testing.assert_allclose(found, 0.5 * np.einsum("ij,ij->i", moved, moved), rtol=1e-2)


def test_merit_of_a_population() -> None:
    program, z = complementary(1, "definite")
    search = search_of(program, "full", 1.0)
    assert isinstance(search, ComplementaritySearch)
    values = search.evaluate(np.vstack((search.encode(z), np.zeros(5), -np.ones(5))))
    np.testing.assert_array_equal(values[:, 0], 0.0)
    assert values[0, 1] < 1e-25
    assert (values[1:, 1] > 1e-3).all()


@both
@ways
def test_nothing_to_search(name: str, coordinates: str) -> None:
    held = qp(np.eye(2), [5, 5], np.eye(2), [1, 2], [1, 2])
    answer = raw(held, name, coordinates=coordinates)
    np.testing.assert_allclose(answer.x, [1, 2], atol=1e-12 if coordinates == "null-space" else 0.5)
    if coordinates == "null-space":
        assert (answer.claim, answer.iterations, answer.history) == (S.SOLVED, 0, ())
    empty = raw(go.LCP(np.zeros((0, 0)), np.zeros(0)), name)
    assert empty.claim is S.SOLVED
    assert empty.x.shape == (0,)


@both
def test_one_unknown(name: str) -> None:
    for size in (1e-6, 1.0, 1e6):
        answer = raw(qp([[2.0]], [-4.0 * size]), name)
        assert answer.claim is S.SOLVED
        np.testing.assert_allclose(answer.x, [2.0 * size], rtol=1e-8)


@both
@ways
def test_contradictory_rows_are_not_called_solved(name: str, coordinates: str) -> None:
    for A, l, u in (
        ([[1, 0], [1, 0]], [0, 1], [0, 1]), ([[1, 0], [1, 0]], [-inf, 1], [0, inf]), ([[0, 0]], [1], [1]),
        ([[0, 0]], [1], [inf]), ([[1, 0], [1, 0]], [2, -1], [2, 1]),
    ):  # fmt: skip
        program = qp(np.eye(2), [1, 1], A, l, u)
        answer = raw(program, name, coordinates=coordinates)
        assert answer.claim in (S.INACCURATE, S.ITERATION_LIMIT)
        assert "violated" in answer.note
        assert np.isfinite(answer.x).all()
        assert go.solve(program, name, coordinates=coordinates).status is S.INFEASIBLE


@both
@ways
def test_a_cost_without_minimum_is_not_called_solved(name: str, coordinates: str) -> None:
    for program in (qp(np.diag([1, 0]), [0, 1]), qp([[0]], [1]), qp(np.ones((2, 2)), [1, -1], [[1, 1]], [0], [0])):
        answer = raw(program, name, coordinates=coordinates)
        assert answer.claim is S.ITERATION_LIMIT
        assert np.isfinite(answer.x).all()
        assert go.solve(program, name, coordinates=coordinates).status is S.UNBOUNDED


@both
def test_flat_directions_do_no_harm(name: str) -> None:
    """A direction that costs nothing leaves the others alone: its covariance may grow without limit."""
    answer = raw(qp(np.diag([1.0, 0.0, 2.0]), [-1, 0, -2]), name, generations=300)
    np.testing.assert_allclose(answer.x[[0, 2]], [1, 1], atol=1e-4)
    assert np.isfinite(answer.x).all()


def test_a_spoilt_covariance_is_begun_again() -> None:
    """A weight of 1e12 leaves the eigenvalues of the covariance at rounding."""
    program, x = equality_program(2)
    answer = raw(program, "deap-cma", coordinates="full", penalty=1e12, generations=1000)
    assert np.isfinite(answer.x).all()
    assert error(answer.x, x) < 1.0


@both
def test_too_few_generations_are_admitted(name: str) -> None:
    program, _ = equality_program(0, 6, 2)
    answer = raw(program, name, generations=4)
    assert answer.claim is S.ITERATION_LIMIT
    assert answer.iterations == len(answer.history) == 4
    assert "still improving" in answer.note
    assert go.solve(program, name, generations=4).status is S.ITERATION_LIMIT


@both
@ways
def test_the_history_falls_to_the_cost_of_the_answer(name: str, coordinates: str) -> None:
    program, _ = equality_program(3)
    answer = raw(program, name, coordinates=coordinates)
    assert len(answer.history) == answer.iterations
    assert (np.diff(answer.history) <= 0).all()
    paid = 1e4 * float(np.square(program.A @ answer.x - program.l).sum()) if coordinates == "full" else 0.0
    assert answer.history[-1] == pytest.approx(program.objective(answer.x) + paid, rel=1e-9)
    assert "evaluations" in answer.note


@both
def test_a_start_is_never_made_worse(name: str) -> None:
    program, x = equality_program(5)
    assert make_solver(name).warm_starts
    cold = raw(program, name, generations=1)
    warm = raw(program, name, start=(x, None), generations=1)
    assert program.objective(warm.x) <= program.objective(x) + 1e-12
    assert error(warm.x, x) < 1e-6 < error(cold.x, x)
    # Also of a complementarity problem, and of full coordinates.
    lcp, z = complementary(1, "definite")
    np.testing.assert_allclose(raw(lcp, name, start=(z, None), generations=1).x, z, atol=1e-9)


def test_cma_follows_a_sequence(crank: go.Problem) -> None:
    warm, cold = (StepSolver("gauss", "deap-cma", warm_start=w) for w in (True, False))
    for step, a in steps(crank):
        for pair in (warm, cold):
            assert error(pair.solve(step).a, a) < 1e-8


@both
@ways
def test_the_seed_decides(name: str, coordinates: str) -> None:
    program, _ = equality_program(4)
    runs = [raw(program, name, seed=seed, coordinates=coordinates, generations=5) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0].x, runs[1].x)
    assert runs[0].history == runs[1].history
    assert not np.array_equal(runs[0].x, runs[2].x)


@both
def test_a_sequence_repeats_and_the_global_generators_are_left_alone(name: str) -> None:
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    expected = random.random(), np.random.random()  # noqa: NPY002
    ends = []
    for _ in range(2):
        random.seed(3)
        np.random.seed(3)  # noqa: NPY002
        engine = SolverSequence(name, {"generations": 5})
        ends.append([engine.solve(equality_program(seed)[0])[0].x for seed in range(3)])
        assert (random.random(), np.random.random()) == expected  # noqa: NPY002
        random.random()  # what others draw in between does not matter
    np.testing.assert_array_equal(ends[0], ends[1])


def test_two_solvers_do_not_disturb_each_other() -> None:
    program, _ = equality_program(4)
    alone = raw(program, "deap", generations=5).x
    other, solver = SolverSequence("deap-cma", {"generations": 5}), make_solver("deap", {"generations": 5})
    solver.setup(program)
    other.solve(program)
    np.testing.assert_array_equal(solver.solve(None).x, alone)


@both
def test_the_population_is_evaluated_in_one_call(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    evaluate = QuadraticSearch.evaluate

    def counted(self: QuadraticSearch, Y: np.ndarray) -> np.ndarray:
        sizes.append(len(Y))
        return evaluate(self, Y)

    monkeypatch.setattr(QuadraticSearch, "evaluate", counted)
    raw(equality_program(0)[0], name, generations=10, population=20)
    # One call a generation, one for the first population, single points for the reference and the distance.
    assert sum(size > 1 for size in sizes) in (10, 11)
    assert max(sizes) <= 20


@pytest.mark.parametrize("crossover", ["line", "blend", "simulated-binary"])
@pytest.mark.parametrize("mutation", ["gaussian", "difference"])
@pytest.mark.parametrize("selection", ["tournament", "truncation"])
def test_every_operator_searches(crossover: str, mutation: str, selection: str) -> None:
    program, x = equality_program(6, 5, 3)
    answer = raw(program, "deap", crossover=crossover, mutation=mutation, selection=selection, population=60)
    assert error(answer.x, x) < 1e-2


@both
def test_precision_goes_from_loose_to_tight(name: str) -> None:
    dial = registry.load("solver", name).precision
    program, x = equality_program(7)
    ends = [raw(program, name, **dial[k]) for k in (0, -1)]
    assert error(ends[1].x, x) < 0.01 * error(ends[0].x, x)
    assert ends[0].iterations < ends[1].iterations


@both
def test_they_declare_what_they_are(name: str) -> None:
    cls = registry.load("solver", name)
    assert cls.stochastic
    assert not cls.exact
    assert set(cls.accepts) == {go.QP, go.LinearSystem, go.LeastSquares, go.LCP}


@both
@ways
@pytest.mark.parametrize(
    ("problem", "formulation"), [("crank-slider", "gauss"), ("four-bar", "gauss"), ("knife-edge-body", "gauss")]
)
def test_the_error_is_within_the_certified_one(name: str, coordinates: str, problem: str, formulation: str) -> None:
    entry = go.problem(problem)
    for reference in entry.references[:1]:
        for item in states_of(entry, reference.name, 50):
            assert isinstance(item.data, go.StepData)
            assert item.a is not None
            answer = go.solve_step(item.data, formulation, name, tolerance=inf, coordinates=coordinates)
            assert answer.a is not None
            away = answer.a - item.a
            error = float(np.sqrt(max(away @ item.data.M @ away, 0.0)))
            known = 1e-11 * (1.0 + float(np.abs(item.a).max()))  # digits of the reference, in the mass norm and M < 100
            certificate = answer.certificate
            assert error <= 1.0001 * certificate.error_bound + 10 * certificate.rounding_floor + 10 * known
            # The certificate is the error and no mere bound.
            assert certificate.error_bound <= 1.0001 * error + 10 * certificate.rounding_floor + 10 * known


@both
def test_the_error_of_contact_steps_is_within_the_certified_one(name: str) -> None:
    entry = go.problem("two-bar")
    for item in states_of(entry, entry.references[0].name, 50):
        assert isinstance(item.data, go.StepData)
        assert item.a is not None
        answer = go.solve_step(item.data, "lcp", name, tolerance=inf)
        assert answer.a is not None
        away = answer.a - item.a
        error = float(np.sqrt(away @ item.data.M @ away))
        assert error <= answer.certificate.error_bound + 10 * answer.certificate.rounding_floor + 1e-9
