"""What becomes of a solver's word: fakes that lie, fail and stop, and the status that is made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.bodies import Touch
from gaussopt.core.programs import QP, LinearSystem, Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.kinds.step import judge
from gaussopt.solving.solver_sequence import SolverSequence

inf = float("inf")
Status = go.Status

STEP = go.StepData.from_mapping({"M": [[2.0, 0.0], [0.0, 1.0]], "Q": [2.0, -9.81], "J": [[0.0, 1.0]], "gamma": [3.0]})
A_TRUE, LAM_TRUE = np.array([1.0, 3.0]), np.array([12.81])


class Fake(Solver[Options]):
    """Says what it is told to say."""

    name = "fake"
    title = "Fake"
    source = "a test"
    accepts = (QP, LinearSystem)

    def __init__(self, answer: Callable[[], RawSolution]) -> None:
        super().__init__(None, Options())
        self.answer = answer

    def setup(self, program: Program) -> None:
        """Nothing."""

    def solve(self, start: Any) -> RawSolution:
        return self.answer()


def say(x: Any, claim: Status = Status.SOLVED, y: Any = None, note: str = "") -> Fake:
    point = None if x is None else np.array(x, dtype=float)
    return Fake(lambda: RawSolution(point, None if y is None else np.array(y, dtype=float), claim, note=note))


def crash() -> RawSolution:
    raise RuntimeError("segmentation\nof the second line")


def ask(solver: Fake, tolerance: float = 1e-7) -> go.Answer:
    return go.StepSolver("gauss", solver, tolerance=tolerance).solve(STEP)


def test_a_right_answer_is_solved_whatever_the_solver_says() -> None:
    for claim in (Status.SOLVED, Status.INACCURATE, Status.ITERATION_LIMIT, Status.TIME_LIMIT):
        answer = ask(say(A_TRUE, claim, LAM_TRUE))
        assert answer.status is Status.SOLVED
        assert answer.claim is claim
        np.testing.assert_array_equal(answer.a, A_TRUE)
        np.testing.assert_array_equal(answer.lam, LAM_TRUE)
        assert answer.forces_unique
        assert answer.lam_N.shape == (0,)
        assert len(answer.lam_T) == 0


def test_a_wrong_answer_is_inaccurate_whatever_the_solver_says(assert_sentence: Callable[..., None]) -> None:
    for claim in (Status.SOLVED, Status.INACCURATE):
        answer = ask(say([1.0, 3.0 + 1e-3], claim))
        assert answer.status is Status.INACCURATE
        assert answer.certificate.error_bound == pytest.approx(1e-3, rel=1e-9)
        assert "certificate fails" in answer.message
    assert ask(say([1.0, 3.0 + 1e-3]), tolerance=1e-2).status is Status.SOLVED


def test_a_stopped_solver_is_named_and_its_answer_kept() -> None:
    answer = ask(say([1.0, 3.5], Status.ITERATION_LIMIT))
    assert answer.status is Status.ITERATION_LIMIT
    assert answer.a is not None
    assert "iteration limit" in answer.message
    assert "certificate fails" in answer.message


def test_wrong_forces_are_inaccurate() -> None:
    answer = ask(say(A_TRUE, y=LAM_TRUE + 1.0))
    assert answer.status is Status.INACCURATE
    assert "forces" in answer.message
    assert ask(say(A_TRUE)).lam == pytest.approx(LAM_TRUE)  # none reported: those that explain the motion


@pytest.mark.parametrize("tolerance", [1e-7, inf])
@pytest.mark.parametrize(
    ("solver", "status", "words"),
    [
        (say(None, Status.SOLVED), Status.SOLVER_ERROR, "no finite acceleration"),
        (say([np.nan, 0.0]), Status.SOLVER_ERROR, "no finite acceleration"),
        (say([np.inf, 0.0]), Status.SOLVER_ERROR, "no finite acceleration"),
        (say(None, Status.INFEASIBLE), Status.SOLVER_ERROR, "infeasible"),
        (say(None, Status.UNBOUNDED), Status.SOLVER_ERROR, "unbounded"),
        (say(None, Status.SOLVER_ERROR, note="licence expired"), Status.SOLVER_ERROR, "licence expired"),
        (say(None, Status.TIME_LIMIT), Status.TIME_LIMIT, "time limit"),
        (Fake(crash), Status.CRASHED, "RuntimeError: segmentation"),
    ],
)
def test_no_answer_is_never_solved(solver: Fake, status: Status, words: str, tolerance: float) -> None:
    answer = ask(solver, tolerance)
    assert answer.status is status
    assert words in answer.message
    assert "\n" not in answer.message
    assert answer.a is None
    assert answer.lam is None
    assert answer.certificate.error_bound == inf


def test_an_answer_of_the_wrong_shape_is_a_crash_and_not_a_stack_trace() -> None:
    answer = ask(say([1.0, 2.0, 3.0]))
    assert answer.status in (Status.CRASHED, Status.SOLVER_ERROR)
    assert answer.a is None


def test_an_infinite_tolerance_records_and_says_so() -> None:
    answer = ask(say([1.0, 4.0]), tolerance=inf)
    assert answer.status is Status.SOLVED
    assert answer.certificate.error_bound == pytest.approx(1.0, rel=1e-12)
    assert "Recorded" in answer.message
    assert "confirms" not in answer.message
    right = ask(say(A_TRUE), tolerance=inf)
    assert right.status is Status.SOLVED


@pytest.mark.parametrize("claim", [Status.SOLVED, Status.INFEASIBLE])
def test_the_mechanics_overrule_the_solver(claim: Status) -> None:
    contradictory = go.StepData.from_mapping({"M": [[1.0]], "Q": [0.0], "J": [[1.0], [1.0]], "gamma": [0.0, 1.0]})
    answer = go.StepSolver("gauss", say([0.5], claim), tolerance=inf).solve(contradictory)
    assert answer.status is Status.INFEASIBLE
    assert answer.message.startswith(Status.INFEASIBLE.sentence)
    assert "Row 2 of J is 1 x row 1" in answer.message


@pytest.mark.parametrize("tolerance", [0.0, -1e-3, float("nan")])
def test_a_tolerance_must_be_positive(tolerance: float, assert_sentence: Callable[..., None]) -> None:
    with pytest.raises(go.BadInput) as caught:
        go.solve_step(STEP, tolerance=tolerance)
    assert_sentence(caught.value, "tolerance")
    with pytest.raises(go.BadInput):
        go.solve(go.formulate(STEP, "gauss"), tolerance=tolerance)


def test_refusals_come_before_solving(assert_sentence: Callable[..., None]) -> None:
    def never() -> RawSolution:
        pytest.fail("asked to solve")

    with pytest.raises(go.NotAccepted) as caught:
        go.StepSolver("least-squares", Fake(never)).solve(STEP)
    assert_sentence(caught.value, "'fake'", "QP, LinearSystem", "LeastSquares")


def test_a_pair_that_fits_is_chosen_and_named() -> None:
    problem = go.problem("sliding-rod")
    contact = problem.system.evaluate(0.0, problem.q0, problem.v0)
    for step, method in ((contact, "stick-slip by lemke"), (contact.select(np.array([], int)), "gauss by kkt")):
        answer = go.solve_step(step)
        assert (answer.status, answer.details["method"]) == (go.Status.SOLVED, method)
        np.testing.assert_array_equal(answer.a, go.solve_step(step, *method.split(" by ")).a)


def test_a_box_at_rest_in_space_gets_friction_cones() -> None:
    """It does not slide on a floor that is askew by less than the friction holds."""
    model = go.Model(dim=3, gravity=(1.0, 0, -9.81))
    box = model.body("box", 2.0, (0.02, 0.02, 0.03), at=(0, 0, 0.1))
    for i, (x, y) in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1))):
        model.add(Touch(f"c{i}", model.ground.at(0, 0, 0, axis=(0, 0, 1)), box.at(0.2 * x, 0.2 * y, -0.1), mu=0.4))
    problem = model.problem(t_end=1.0)
    answer = go.solve_step(problem.system.evaluate(0.0, problem.q0, problem.v0))
    assert answer.status is go.Status.SOLVED
    assert answer.details["method"] == "coulomb-soccp by hybrid"
    assert answer.a == pytest.approx(np.zeros(7), abs=1e-11)
    assert answer.lam_N.sum() == pytest.approx(2.0 * 9.81, rel=1e-12)
    assert np.abs(answer.lam_T.sum(axis=0)).max() == pytest.approx(2.0, rel=1e-9)


def test_an_unknown_solver_gets_the_nearest(assert_sentence: Callable[..., None]) -> None:
    for attempt in (
        lambda: go.solve_step(STEP, solver="newtn"),
        lambda: go.solve(go.formulate(STEP, "gauss"), "newtn"),
    ):
        with pytest.raises(go.UnknownName) as caught:
            attempt()
        assert_sentence(caught.value, "'newtn'", "did you mean 'newton'")


def test_a_crash_during_a_warm_start_is_an_answer_too(monkeypatch: pytest.MonkeyPatch) -> None:
    qp = go.formulate(STEP, "gauss")
    fake = say(A_TRUE, y=LAM_TRUE)
    calls = []

    def solve(start: Any) -> RawSolution:
        calls.append(start)
        return crash() if start is not None else RawSolution(A_TRUE, LAM_TRUE, Status.SOLVED)

    fake.solve = solve  # type: ignore[method-assign]
    monkeypatch.setattr("gaussopt.solving.solver_sequence.make_solver", lambda name, options: fake)
    solution = go.solve(qp, "fake", start=(A_TRUE, LAM_TRUE))
    assert solution.claim is Status.CRASHED
    assert any(start is not None for start in calls)


def test_after_a_crash_the_next_program_is_set_up_afresh() -> None:
    class Counting(Fake):
        updates = True
        setups = 0

        def setup(self, program: Program) -> None:
            self.setups += 1

        def update(self, program: Program) -> None:
            """Nothing."""

    crashing = [False, False, True, False, False]
    answers = iter(crashing)
    solver = Counting(lambda: crash() if next(answers) else RawSolution(A_TRUE, LAM_TRUE, Status.SOLVED))
    engine = SolverSequence(solver)
    program = go.formulate(STEP, "gauss")
    claims = [engine.solve(program)[0].claim for _ in crashing]
    assert claims == [Status.CRASHED if c else Status.SOLVED for c in crashing]
    assert solver.setups == 2


def test_each_part_of_a_step_is_timed() -> None:
    solver = go.StepSolver("gauss", "osqp")
    first, second = solver.solve(STEP).timing, solver.solve(STEP).timing
    assert first.setup > 0 == first.update
    assert second.update > 0 == second.setup
    for timing in (first, second):
        assert min(timing.build, timing.solve, timing.recover, timing.verify) > 0
        assert timing.backend > 0
        assert timing.total >= timing.solve


def test_every_status_has_a_name_and_a_sentence() -> None:
    for status in Status:
        assert Status(status.value) is status
        assert str(status) == status.value
        assert status.sentence.endswith(".")


@pytest.mark.parametrize("claim", [go.Status.INFEASIBLE, go.Status.UNBOUNDED, go.Status.NO_SOLUTION])
def test_a_point_beside_a_false_verdict_does_not_make_it_true(claim: go.Status) -> None:
    step = go.StepData.from_mapping({"M": [[2.0]], "Q": [4.0]})
    raw = RawSolution(np.array([5.0]), None, claim)
    status, message = judge(step, raw, go.certify(step, raw.x), 1e-7, "")
    assert status is go.Status.SOLVER_ERROR
    assert message
