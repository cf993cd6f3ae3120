"""Every solver on every kind of program that it accepts, judged by the optimality conditions."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from quadratic_programs import equality_program, program

import gaussopt as go
from gaussopt.comparison.sources import convex_set
from gaussopt.core import registry
from gaussopt.core.solver import make_solver
from gaussopt.solving.solver_sequence import SolverSequence

inf = np.inf

# Direct and Newton: rounding at the conditioning of these programs. OSQP: its default eps_abs = eps_rel = 1e-9.
# CVXPY: "accuracies of 1e-9 to 1e-12" in its options.
ACCURACY = {"kkt": 1e-10, "newton": 1e-10, "osqp": 1e-9, "cvxpy": 1e-9}
ALL = sorted(ACCURACY)
WITH_INEQUALITIES = ["cvxpy", "newton", "osqp"]
EVOLUTION = ["deap", "deap-cma"]
GENETIC = {"population": 60, "generations": 60}


@st.composite
def strictly_convex(draw: st.DrawFn) -> tuple[go.QP, np.ndarray, np.ndarray]:
    """A program made from its own optimality conditions: strictly complementary, active rows independent."""
    n = draw(st.integers(1, 5))
    kinds = np.array(draw(st.lists(st.sampled_from(["=", "lower", "upper", "slack"]), max_size=6)))
    m, active = len(kinds), kinds != "slack"
    assume(active.sum() <= n)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    root, A, x = rng.standard_normal((n, n)), rng.standard_normal((m, n)), rng.standard_normal(n)
    assume(not active.any() or np.linalg.cond(A[active]) < 1e2)
    P = root @ root.T + np.eye(n)
    z, gap, force = A @ x, 0.1 + rng.random((2, m)), 0.1 + rng.random(m)
    two_sided = rng.random((2, m)) < 0.5
    l = np.where((kinds == "=") | (kinds == "lower"), z, np.where(two_sided[0], z - gap[0], -inf))
    u = np.where((kinds == "=") | (kinds == "upper"), z, np.where(two_sided[1], z + gap[1], inf))
    y = np.select([kinds == "=", kinds == "lower", kinds == "upper"], [rng.standard_normal(m), force, -force], 0.0)
    return go.QP(P, A.T @ y - P @ x, A, l, u), x, y


@pytest.mark.parametrize("solver", ALL)
@pytest.mark.parametrize("seed", range(5))
def test_equality_programs(solver: str, seed: int, assert_optimal: Callable[..., None]) -> None:
    qp, x = equality_program(seed)
    solution = go.solve(qp, solver)
    assert solution.status is go.Status.SOLVED
    assert_optimal(qp, solution.x, solution.y, ACCURACY[solver])
    np.testing.assert_allclose(solution.x, x, rtol=0, atol=ACCURACY[solver] * (1 + np.abs(x).max()))


@pytest.mark.parametrize("solver", WITH_INEQUALITIES)
@given(made=strictly_convex())
def test_inequality_programs(
    solver: str, assert_optimal: Callable[..., None], made: tuple[go.QP, np.ndarray, np.ndarray]
) -> None:
    qp, x, y = made
    solution = go.solve(qp, solver)
    assert solution.status is go.Status.SOLVED
    assert_optimal(qp, solution.x, solution.y, ACCURACY[solver])
    if solver == "newton":
        # To 1e-10 on well-posed programs, forces too.
        np.testing.assert_allclose(solution.x, x, rtol=0, atol=1e-10 * (1 + np.abs(x).max()))
        np.testing.assert_allclose(solution.y, y, rtol=0, atol=1e-10 * (1 + np.abs(y).max(initial=0.0)))


NAMED: dict[str, tuple[go.QP, list[float]]] = {
    "unconstrained": (program([[2, 1], [1, 2]], [-3, -3]), [1, 1]),
    "one unknown": (program([[2]], [-4]), [2]),
    "equality, no freedom": (program(np.eye(2), [5, 5], np.eye(2), [1, 2], [1, 2]), [1, 2]),
    "redundant rows": (program(np.eye(2), [1, 1], [[1, 0], [2, 0]], [1, 2], [1, 2]), [1, -1]),
    "a row of zeros": (program(np.eye(2), [1, 1], [[0, 0], [1, 0]], [0, 1], [0, 1]), [1, -1]),
    "semidefinite, held by a row": (program(np.diag([1, 0]), [-2, 3], [[0, 1]], [4], [4]), [2, 4]),
    "two-sided, lower": (program(np.eye(2), [5, 0], [[1, 0]], [-1], [2]), [-1, 0]),
    "two-sided, upper": (program(np.eye(2), [-5, 0], [[1, 0]], [-1], [2]), [2, 0]),
    "two-sided, between": (program(np.eye(2), [-1, 0], [[1, 0]], [-1], [2]), [1, 0]),
    "two-sided slanted": (program(np.eye(2), [-4, -2], [[1, 1]], [-1], [2]), [2, 0]),
    "semidefinite, held by a bound": (program(np.diag([1, 0]), [0, 1], [[0, 1]], [-3], [inf]), [0, -3]),
    "linear": (
        program(np.zeros((2, 2)), [1, 1], [[2, 1], [1, 2], [1, 0], [0, 1]], [2, 2, 0, 0], [inf] * 4),
        [2 / 3, 2 / 3],
    ),
    # Degenerate: more rows at the minimiser than unknowns, and rows that touch it without force.
    "repeated bounds": (program(np.eye(2), [1, 1], [[1, 0], [1, 0], [2, 0]], [1, 1, 2], [inf] * 3), [1, -1]),
    "three rows through a corner": (
        program(np.eye(2), [-1, -1], [[1, 0], [0, 1], [1, 1]], [-inf] * 3, [0, 0, 0]),
        [0, 0],
    ),
    "touching without force": (program(np.eye(2), [-5, 1], np.eye(2), [-1, -1], [1, 1]), [1, -1]),
    "touching at the free minimum": (program(np.eye(2), [1, 1], [[1, 1]], [-2], [inf]), [-1, -1]),
}


@pytest.mark.parametrize("solver", ALL)
@pytest.mark.parametrize("name", NAMED)
def test_named_programs(solver: str, name: str, assert_optimal: Callable[..., None]) -> None:
    qp, x = NAMED[name]
    if make_solver(solver).refuses(qp):
        assert solver == "kkt"
        assert not qp.equality.all()
        return
    solution = go.solve(qp, solver)
    if name.startswith("touching") and solver == "cvxpy":
        # An interior-point method with gap 1e-12 ends sqrt(1e-12) from a minimiser with a force-free contact:
        # honest answers are "solved" and, beyond the tolerance of 1e-7 with such residuals, "not proved".
        assert solution.status in (go.Status.SOLVED, go.Status.NOT_PROVED)
        assert_optimal(qp, solution.x, solution.y, ACCURACY[solver])
        np.testing.assert_allclose(solution.x, x, rtol=0, atol=1e-5)
        return
    assert solution.status is go.Status.SOLVED
    assert_optimal(qp, solution.x, solution.y, ACCURACY[solver])
    if qp.m == 0 or name != "linear":
        np.testing.assert_allclose(solution.x, x, rtol=0, atol=1e2 * ACCURACY[solver])


@pytest.mark.parametrize("solver", WITH_INEQUALITIES)
def test_maros_meszaros(solver: str, assert_optimal: Callable[..., None]) -> None:
    stated = convex_set()
    assert len(stated) == 11
    for name, contents in stated.items():
        qp = go.QP.from_mapping(contents)
        solution = go.solve(qp, solver)
        if name in {"cvxpy": ["HS35MOD", "HS268"], "osqp": ["HS268"]}.get(solver, []):
            # An interior point ends 1e-6 beside the force-free row of HS35MOD; in HS268 residuals of 1e-9 are
            # relative to terms of 1e5 while P has an eigenvalue of 0.05. "Not proved" is an honest answer there, and
            # "inaccurate" where a residual is above 1e-9.
            c = solution.certificate
            small = max(c["primal_residual"], c["dual_residual"], c["duality_gap"]) <= 1e-9
            honest = go.Status.NOT_PROVED if small else go.Status.INACCURATE
            assert solution.status in (go.Status.SOLVED, honest), name
        else:
            assert solution.status is go.Status.SOLVED, name
        assert_optimal(qp, solution.x, solution.y, ACCURACY[solver])
        words = contents["literature"].split()[0]
        optimum = float(Fraction(words))
        # The literature gives twelve digits at least; the solver's accuracy is relative to the objective's terms.
        terms = 1 + abs(contents["r"]) + np.abs(qp.q) @ np.abs(solution.x)
        assert qp.objective(solution.x) + contents["r"] == pytest.approx(
            optimum, rel=1e-11, abs=ACCURACY[solver] * terms
        ), name


def test_of_several_least_squares_the_shortest() -> None:
    A, b = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([2.0, 4.0])
    np.testing.assert_allclose(go.solve(go.LeastSquares(A, b, 1)).x, [1.5, 1.5], rtol=1e-14)


def test_linear_systems_regular_singular_and_contradictory() -> None:
    regular = go.solve(go.LinearSystem(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([3.0, 4.0])))
    assert regular.status is go.Status.SOLVED
    np.testing.assert_allclose(regular.x, [1.0, 1.0], rtol=1e-15)
    singular = np.array([[1.0, 1.0], [1.0, 1.0]])
    shortest = go.solve(go.LinearSystem(singular, np.array([2.0, 2.0])))
    assert shortest.status is go.Status.SOLVED
    np.testing.assert_allclose(shortest.x, [1.0, 1.0], rtol=1e-14)
    assert go.solve(go.LinearSystem(singular, np.array([1.0, 2.0]))).status is go.Status.INFEASIBLE


@pytest.mark.parametrize("solver", [*ALL, *EVOLUTION])
@pytest.mark.parametrize("formulation", ["gauss", "lagrange", "least-squares"])
def test_contradictory_steps_are_never_solved(formulation: str, solver: str) -> None:
    step = go.StepData.from_mapping(
        {"M": np.eye(2), "Q": [0.0, -9.81], "J": [[1.0, 0.0], [1.0, 0.0]], "gamma": [0.0, 1.0]}
    )
    if make_solver(solver).refuses(go.formulate(step, formulation)):
        return
    for tolerance in (1e-7, inf):
        assert go.solve_step(step, formulation, solver, tolerance=tolerance).status is go.Status.INFEASIBLE


def _sequence(inequalities: bool) -> list[go.QP]:
    """Related programs whose numbers change and whose zeros come and go."""
    programs = []
    for k in range(8):
        s = k / 7
        P = np.array([[2.0 + s, s * (k % 2), 0.0], [s * (k % 2), 3.0, 0.5], [0.0, 0.5, 1.0 + s]])
        A = np.array([[1.0, s, 0.0], [0.0, 1.0 - s, 1.0], [1.0, -1.0, 1.0 + s]])
        q = np.array([1.0 - 2 * s, -1.0, 3 * s])
        l = np.array([0.5 + s, -1.0, -0.2 - s]) if inequalities else np.array([0.5 + s, -1.0, -0.2])
        u = np.array([0.5 + s, 0.3 + s, inf]) if inequalities else l
        programs.append(go.QP(P, q, A, l, u))
    return programs


@pytest.mark.parametrize("inequalities", [True, False])
@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("solver", WITH_INEQUALITIES)
def test_a_sequence_is_solved_like_its_programs_alone(
    solver: str, warm: bool, inequalities: bool, assert_optimal: Callable[..., None]
) -> None:
    engine = SolverSequence(solver, warm_start=warm)
    for k, qp in enumerate(_sequence(inequalities)):
        raw, timing = engine.solve(qp)
        assert_optimal(qp, raw.x, raw.y, ACCURACY[solver])
        if engine.solver.updates:
            assert (timing.setup > 0) is (k == 0)
            assert (timing.update > 0) is (k > 0)


@pytest.mark.parametrize("solver", WITH_INEQUALITIES)
def test_a_change_of_pattern_is_a_new_setup(solver: str, assert_optimal: Callable[..., None]) -> None:
    engine = SolverSequence(solver)
    free = program(np.eye(2), [1, 1])
    bounded = program(np.eye(2), [1, 1], [[1, 0]], [0], [inf])
    held = program(np.eye(2), [1, 1], [[1, 0]], [0], [0])
    for qp in (free, bounded, held, bounded, equality_program(0)[0], free):
        raw, timing = engine.solve(qp)
        assert timing.update == 0
        assert_optimal(qp, raw.x, raw.y, ACCURACY[solver])


@pytest.mark.parametrize("solver", WITH_INEQUALITIES)
@pytest.mark.parametrize("name", ["two-sided, upper", "two-sided, lower", "redundant rows", "unconstrained"])
@pytest.mark.parametrize("start", ["solution", "point only", "far", "wrong forces"])
def test_a_start_changes_the_way_and_not_the_answer(
    solver: str, name: str, start: str, assert_optimal: Callable[..., None]
) -> None:
    qp, x = NAMED[name]
    cold = go.solve(qp, solver)
    given = {
        "solution": (cold.x, cold.y),
        "point only": (cold.x, None),
        "far": (1e3 * np.ones(qp.n), -1e3 * np.ones(qp.m)),
        "wrong forces": (cold.x, -cold.y),
    }[start]
    warm = go.solve(qp, solver, start=given)
    assert warm.status is go.Status.SOLVED
    assert_optimal(qp, warm.x, warm.y, ACCURACY[solver])
    np.testing.assert_allclose(warm.x, x, rtol=0, atol=1e2 * ACCURACY[solver])


def test_newton_needs_no_step_from_the_solution() -> None:
    qp, _ = NAMED["two-sided slanted"]
    cold = go.solve(qp, "newton")
    assert cold.iterations > 0
    assert go.solve(qp, "newton", start=(cold.x, cold.y)).iterations == 0


@pytest.mark.parametrize("solver", [*ALL, *EVOLUTION])
def test_a_start_of_the_wrong_shape_is_bad_input(solver: str, assert_sentence: Callable[..., None]) -> None:
    qp, _ = equality_program(0)
    for bad in ((np.zeros(2), None), (np.zeros(5), np.zeros(7)), (np.full(5, np.nan), None)):
        with pytest.raises(go.BadInput) as caught:
            go.solve(qp, solver, start=bad)
        assert_sentence(caught.value, "start")


def test_newton_stops_honestly_at_its_limit(data: Callable[[str], Any]) -> None:
    """One iteration may even suffice, with the active-set solve after it; but then it says so rightly."""
    ends = set()
    for contents in convex_set().values():
        stopped = go.solve(go.QP.from_mapping(contents), "newton", max_iter=1)
        assert stopped.status is go.Status.SOLVED or stopped.claim is stopped.status
        ends.add(stopped.status)
    assert ends == {go.Status.SOLVED, go.Status.ITERATION_LIMIT}


def test_osqp_stops_honestly_at_its_limit() -> None:
    qp, _ = equality_program(0)
    stopped = go.solve(qp, "osqp", max_iter=1, polishing=False)
    assert stopped.status is go.Status.ITERATION_LIMIT
    assert stopped.iterations == 1
    assert "iteration limit" in stopped.message


def test_a_loose_osqp_is_called_inaccurate() -> None:
    qp, x = equality_program(1)
    loose = go.solve(qp, "osqp", eps_abs=1e-2, eps_rel=1e-2, polishing=False)
    assert loose.claim is go.Status.SOLVED
    assert loose.status is go.Status.INACCURATE
    error = loose.x - x
    assert np.sqrt(error @ qp.P @ error) <= loose.certificate["error_bound"]
    assert "certificate fails" in loose.message


def test_a_failed_certificate_names_what_fails() -> None:
    """The residuals of an interior point may be tiny while its distance to the minimiser is not."""
    qp, _ = NAMED["touching without force"]
    solution = go.solve(qp, "cvxpy")
    bound = solution.certificate["error_bound"]
    assert solution.certificate["relative_residual"] < 1e-7 < bound
    assert solution.status is go.Status.NOT_PROVED
    assert f"{bound:.3g}" in solution.message


@pytest.mark.parametrize("variant", ["CLARABEL", "OSQP", "SCS"])
def test_cvxpy_reaches_other_backends(variant: str, assert_optimal: Callable[..., None]) -> None:
    for qp in (equality_program(2)[0], NAMED["two-sided slanted"][0]):
        solution = go.solve(qp, f"cvxpy:{variant}")
        # SCS and OSQP are asked for 1e-9 of their own scaled residuals; a factor of ten lies between norms.
        assert_optimal(qp, solution.x, solution.y, 1e-8)
        assert solution.status is go.Status.SOLVED


def test_an_unknown_variant_gets_the_list(assert_sentence: Callable[..., None]) -> None:
    for name in ("cvxpy:CLARABLE", "kkt:fast"):
        with pytest.raises(go.GaussoptError) as caught:
            go.solve(equality_program(0)[0], name)
        assert_sentence(caught.value, *name.split(":"))
    with pytest.raises(go.GaussoptError, match="CLARABEL"):
        go.solve(equality_program(0)[0], "cvxpy:CLARABLE")


def test_the_cvxpy_program_can_be_printed_and_inspected() -> None:
    import cvxpy

    engine = SolverSequence("cvxpy")
    engine.solve(NAMED["two-sided slanted"][0])
    text = engine.solver.text
    assert text.startswith("minimize")
    assert "subject to" in text
    problem: Any = engine.solver._problem
    assert isinstance(problem, cvxpy.Problem)
    assert problem.is_dcp(dpp=True)  # compiled once, re-solved with new numbers


@pytest.mark.parametrize("solver", ALL)
def test_other_programs_are_refused_by_name(solver: str, assert_sentence: Callable[..., None]) -> None:
    refused = NAMED["two-sided slanted"][0] if solver == "kkt" else go.LinearSystem(np.eye(2), np.ones(2))
    with pytest.raises(go.NotAccepted) as caught:
        go.solve(refused, solver)
    assert_sentence(caught.value, repr(solver), *(["equality"] if solver == "kkt" else ["LinearSystem", "QP"]))


@pytest.mark.parametrize("name", [*ALL, *EVOLUTION])
def test_every_solver_declares_itself(name: str) -> None:
    cls = registry.load("solver", name)
    assert cls.accepts
    assert cls.__doc__
    assert isinstance(cls.exact, bool)
    assert cls.exact is (name in ("kkt", "newton"))


@pytest.mark.parametrize(
    ("solver", "option", "culprits"),
    [
        ("osqp", {"eps_ab": 1e-3}, ("'osqp'", "'eps_ab'", "did you mean 'eps_abs'")),
        ("newton", {"tolerence": 1e-3}, ("'newton'", "'tolerence'", "'tolerance'")),
        ("kkt", {"speed": 11}, ("'kkt'", "'speed'", "none")),
        ("osqp", {"max_iter": "many"}, ("'max_iter'", "'many'", "int")),
        ("osqp", {"max_iter": 1.5}, ("'max_iter'", "1.5", "int")),
        ("osqp", {"eps_abs": float("nan")}, ("'eps_abs'", "float")),
        ("osqp", {"polishing": "perhaps"}, ("'polishing'", "bool")),
        ("deap", {"coordinates": "polar"}, ("'coordinates'", "'polar'", "null-space")),
        ("deap", {"population": 0}, ("'population'", "too small")),
        ("deap", {"tournament": 0}, ("'tournament'", "too small")),
        ("deap", {"crossover": "none"}, ("'crossover'", "'deap'")), ("deap", {"mutation": "none"}, ("'mutation'",)),
        ("deap", {"selection": "none"}, ("'selection'",)), ("deap", {"crossover_rate": 2.0}, ("'crossover_rate'",)),
        ("deap", {"shrink": 0.0}, ("'shrink'",)),
        *(
            (name, option, (repr(name), repr(*option)))
            for name in EVOLUTION
            for option in (
                {"coordinates": "polar"}, {"generations": 0}, {"penalty": 0.0}, {"spread": -1.0}, {"population": 1},
                {"seed": -1},
            )
        ),
        ("newton", {"function": "max"}, ("function",)), ("pgs", {"omega": 2}, ("omega",)),
        ("pgs", {"omega": 0}, ("omega",)), ("pgs", {"tolerance": 0}, ("tolerance",)),
        ("lemke", {"max_iter": 0}, ("max_iter",)), ("lemke", {"maxiter": 5}, ("max_iter",)),
        ("enumerate", {"limit": "many"}, ("limit",)),
    ],
)  # fmt: skip
def test_bad_options_are_named(
    solver: str, option: dict[str, Any], culprits: tuple[str, ...], assert_sentence: Callable[..., None]
) -> None:
    with pytest.raises(go.BadInput) as caught:
        make_solver(solver, option)
    assert_sentence(caught.value, *culprits)


def test_options_come_as_text_too() -> None:
    solver = make_solver("osqp", {"max-iter": "7", "eps_abs": "1e-3", "polishing": "no", "scaling": 3.0})
    assert solver.options.max_iter == 7
    assert solver.options.eps_abs == 1e-3
    assert solver.options.polishing is False
    assert solver.options.scaling == 3


@pytest.mark.parametrize("coordinates", ["null-space", "full"])
@pytest.mark.parametrize("name", ["unconstrained", "two-sided slanted", "redundant rows", "touching without force"])
def test_a_genetic_answer_lies_within_its_bound(name: str, coordinates: str) -> None:
    qp, x = NAMED[name]
    solution = go.solve(qp, "deap", tolerance=inf, coordinates=coordinates, **GENETIC)
    assert solution.status is go.Status.SOLVED
    error = solution.x - np.array(x)
    distance = np.sqrt(error @ qp.P @ error)
    bound = solution.certificate["error_bound"]
    assert distance <= bound * (1 + 1e-6) + 1e-12
    # It promises nothing; but its first population is as wide as the answer, and it should narrow that down.
    assert distance <= 0.1 * (1 + np.abs(x).max())


def test_null_space_coordinates_satisfy_equalities_and_full_ones_pay() -> None:
    qp, _ = equality_program(3)
    inside = go.solve(qp, "deap", tolerance=inf, **GENETIC)
    outside = go.solve(qp, "deap", tolerance=inf, coordinates="full", **GENETIC)
    assert inside.certificate["primal_residual"] <= 1e-14 * (1 + np.abs(inside.x).max()) * qp.n
    assert inside.certificate["primal_residual"] < outside.certificate["primal_residual"]


@pytest.mark.parametrize("mass", [1e-7, 1.0, 1e4, 1e7])
def test_masses_of_any_size_with_redundant_rows(mass: float) -> None:
    J = [[2.0, 0.0, 0.0], [-2.0, 0.0, 1.0], [6.0, 0.0, 0.0]]
    numbers = {"M": mass * np.eye(3), "Q": mass * np.array([0.0, -9.81, -0.981]), "J": J, "gamma": np.zeros(3)}
    answer = go.solve_step(go.StepData.from_mapping(numbers), "gauss", "kkt")
    assert answer.status is go.Status.SOLVED
    np.testing.assert_allclose(answer.a, [0.0, -9.81, 0.0], atol=1e-12)


@pytest.mark.parametrize("option", [{"eps_abs": -1.0}, {"alpha": 3.0}, {"max_iter": 10**12}])
def test_settings_that_osqp_refuses_are_named(
    option: dict[str, Any], assert_sentence: Callable[..., None], capfd: pytest.CaptureFixture[str]
) -> None:
    step = go.StepData.from_mapping({"M": [[1.0]], "Q": [1.0]})
    with pytest.raises(go.BadInput) as caught:
        go.solve_step(step, "gauss", "osqp", **option)
    assert_sentence(caught.value, *option, "OSQP")
    assert capfd.readouterr().out == ""


def test_osqp_in_threads_leaves_standard_output_alone() -> None:
    shown, done = sys.stdout, []

    def work() -> None:
        motion = go.simulate("crank-slider", "gauss", "osqp", dt=1e-3, t_end=0.05, step_folder=None)
        done.append(motion.status)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [go.Status.SOLVED] * 4
    assert sys.stdout is shown
