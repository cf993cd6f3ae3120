"""Metrics of a comparison on small records whose numbers are computed by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from comparison_records import FOUR_BAR, INF, KNIFE_EDGE, NAN, answers, motion, refused, stack, times
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gaussopt.comparison import metrics, tables
from gaussopt.comparison.performance_profiles import (
    Costs,
    charged,
    costs,
    fastest_at,
    geometric_means,
    pareto_front,
    profile_of,
    shifted_geometric_mean,
    work_precision,
)
from gaussopt.comparison.performance_profiles import PrecisionPoint as Point
from gaussopt.comparison.rank_reversals import Reversal, places, reversals_of
from gaussopt.comparison.records import Answers, Times
from gaussopt.comparison.records import MotionRecord as Motion
from gaussopt.comparison.records import StepSource as Source
from gaussopt.comparison.step_table import as_used, base_of, join, quantiles
from gaussopt.comparison.warm_starts import warm_gain

US = 1e-6


def table(*columns: Sequence[float]) -> Costs:
    names = tuple("abcdefgh"[: len(columns)])
    values = np.array(columns, dtype=float).T
    return Costs(names, values, (0,) * len(columns), (0,) * len(columns), 0, np.zeros(values.shape, dtype=bool))


def test_records_survive_json() -> None:
    a = answers("kkt", "cl", source=stack(4.0), certified=[1e-9, INF])
    back = Answers.from_mapping(json.loads(json.dumps(a.to_mapping())))
    assert back.source.key == a.source.key
    assert back.certified == a.certified
    assert np.isnan(back.error).all()
    t = times("kkt", [1e-6, 2e-6], source=stack(4.0))
    again = Times.from_mapping(json.loads(json.dumps(t.to_mapping())))
    assert again.per_step == t.per_step
    assert again.work == t.work
    # What was read back joins as what was written.
    (case,) = join([back], [t])
    assert case.times is t
    m = motion("routh", 100)
    assert Motion(**json.loads(json.dumps(m.to_mapping()))).evaluations == 100


def test_joining() -> None:
    long, short, no = answers("kkt", "cccc"), answers("osqp", "cl", failure="crashed: signal 11"), refused("lemke")
    cases = join([long, short, no], [times("osqp", [1e-6])])
    assert [c.steps for c in cases] == [4, 4, 4]
    assert list(cases[1]["confirmed"]) == [True, False, False, False]
    assert list(cases[1]["certified"]) == [1e-12, 0.1, INF, INF]
    assert base_of("osqp(eps_abs=1e-3)") == "osqp"


def test_each_solver_as_it_is_used() -> None:
    rows = {"kkt": ["setup"], "daqp": ["cold", "setup"], "osqp": ["setup", "cold", "warm"], "newton": ["setup", "warm"]}
    cases = join([answers(s, "c", start=start) for s, starts in rows.items() for start in starts], [])
    used = {c.answers.solver: c.answers.start for c in as_used(cases)}
    assert used == {"kkt": "setup", "daqp": "cold", "osqp": "warm", "newton": "warm"}


def test_re_solves_that_were_not_timed_cost_the_median_of_those_that_were() -> None:
    a = answers("slow", "ccccl", begins=[0])
    (case,) = join([a], [times("slow", [9.0, 1.0, 3.0])])
    assert list(case.costs()) == [9.0, 1.0, 3.0, 2.0, INF]
    parts = {"build": [0.5] * 5, "recover": [0.25] * 5}
    (case,) = join([a], [times("slow", [9.0, 1.0, 3.0], parts=parts)])
    assert list(case.costs(whole=True)) == [9.75, 1.75, 3.75, 2.75, INF]
    assert costs([a], [case.times], formulation="gauss").estimated == (1,)


def test_an_unrelated_problem_that_was_not_timed_is_missing() -> None:
    """Its time is not that of the others: nobody can say what it would have been."""
    a, t = [answers("slow", "ccc"), answers("fast", "ccc")], [times("slow", [3.0, NAN, 2.0]), times("fast", [1.0] * 3)]
    found = costs(a, t, formulation="gauss")
    assert found.values.T.tolist() == [[3.0, INF, 2.0], [1.0] * 3]
    assert found.estimated == (0, 0)
    assert found.failures.tolist() == [1, 0]
    # Not even its leading steps tell the time of the others.
    assert list(join([a[0]], [times("slow", [3.0])])[0].costs()) == [3.0, INF, INF]


def test_quantiles_are_entries() -> None:
    assert list(quantiles(np.array([3.0, 1.0, NAN, INF, 2.0, 4.0]))) == [2.0, 2.0, 3.0, 4.0, INF]
    assert np.isnan(quantiles(np.array([NAN]))).all()


def test_summary_by_hand() -> None:
    a = answers("osqp", "cclmf", iterations=[1, 2, 3, 4, 10])
    t = times("osqp", [2e-6, 4e-6], parts={"backend": [1e-6] * 5})
    (row,) = metrics.summary([a], [t])
    assert (row.steps, row.confirmed, row.claimed, row.false_claims, row.missed) == (5, 3, 3, 1, 1)
    assert row.success == pytest.approx(0.6)
    assert row.correct == pytest.approx(0.6)  # agrees on c, c, f
    assert (row.iterations, row.most_iterations) == (4.0, 10)
    assert row.worst_certified == 0.1
    assert row.work[2] == pytest.approx(3e-6)
    assert row.overhead == pytest.approx(2e-6)
    assert row.timed == 2


def test_failures_keep_their_residuals_and_their_place() -> None:
    short = answers("osqp", "cl", failure="time limit: 10 s", residual=0.5)
    _, row = metrics.summary([answers("kkt", "cccc"), short])
    assert (row.steps, row.confirmed) == (4, 1)
    assert row.success == 0.25
    assert row.worst_certified == INF
    assert (row.primal, row.dual, row.gap) == (0.5, 0.5, 0.5)
    assert row.failure == "time limit: 10 s"
    assert math.isnan(row.work[2])


def test_refused_and_nothing() -> None:
    (row,) = metrics.summary([refused("lemke")])
    assert row.steps == 0
    assert math.isnan(row.success)
    assert math.isnan(row.worst_certified)
    assert row.refused
    assert metrics.summary([]) == []
    assert metrics.words([refused("lemke")]) == []


def test_a_liar_is_the_worst() -> None:
    records = [
        answers("honest", "ccff"), answers("loose", "ccll"), answers("liar", "llll", residual=0.3),
        answers("liar", "ll", source=KNIFE_EDGE), answers("shy", "mmmm"),
    ]  # fmt: skip
    first, second = metrics.liars(records)
    assert (first.solver, first.correct, first.false_claims, first.never_right) == ("liar", 0.0, 6, True)
    assert first.where == ("gauss on four-bar", "gauss on knife-edge-body")
    assert first.worst == 0.1
    assert (second.solver, second.correct, second.never_right) == ("loose", 0.5, False)
    shy = next(w for w in metrics.words(records) if w.solver == "shy")
    assert (shy.correct, shy.missed, shy.never_right) == (0.0, 4, False)


def test_a_wrong_formula_is_not_the_solvers_lie() -> None:
    wrong = answers("kkt", "llll", formulation="least-squares-as-printed", exact=False)
    assert metrics.liars([wrong]) == []
    (found,) = metrics.wrong_programs([wrong])
    assert (found.formulation, found.steps, found.wrong) == ("least-squares-as-printed", 4, 4)
    # A solver that does not even solve the wrong program has lied.
    lie = answers("kkt", "llll", formulation="least-squares-as-printed", exact=False, residual=0.1)
    assert metrics.liars([lie])[0].false_claims == 4
    assert metrics.wrong_programs([lie]) == []
    # Nor is the formula to blame where the error is that of a loose tolerance.
    loose = answers(
        "osqp", "ll", formulation="least-squares-as-printed", exact=False, residual=1e-7, certified=[2e-6] * 2
    )
    assert metrics.wrong_programs([loose]) == []
    assert metrics.liars([loose])[0].false_claims == 2


def test_one_of_several_solutions_is_no_lie() -> None:
    a = answers("lemke", "ll", formulation="lcp")
    a.status[:] = ["multiple_solutions", "inaccurate"]
    (record,) = metrics.words([a])
    assert (record.steps, record.false_claims) == (1, 1)


def test_a_claim_can_be_false_in_both_directions() -> None:
    # confirmed, falsely called infeasible, called infeasible beside a right answer (a redundant program may be
    # ambiguous where the step is not), recognised, falsely called solved, given up
    (row,) = metrics.summary([answers("osqp", "cidrsf")])
    assert (row.confirmed, row.recognised, row.false_claims, row.missed) == (2, 1, 2, 1)
    assert row.success == pytest.approx(3 / 6)
    assert row.correct == pytest.approx(3 / 6)  # c, r, f
    (record,) = metrics.liars([answers("osqp", "cidrsf")])
    assert (record.false_claims, record.denied, record.refuted, record.said) == (2, 1, 1, ("infeasible",))
    assert record.worst == INF  # of the step called solved that has no solution
    assert not record.never_right
    # A solver that only denies has no claim of success to be wrong about.
    (record,) = metrics.liars([answers("osqp", "iii")])
    assert (record.claims, record.denied, record.never_right) == (0, 3, False)
    assert math.isnan(record.worst)


def test_recognised_steps_are_successes() -> None:
    a, b = answers("daqp", "rrr"), answers("osqp", "fsf")
    row, other = metrics.summary([a, b])
    assert (row.success, row.correct, row.false_claims) == (1.0, 1.0, 0)
    assert math.isnan(row.worst_certified)
    assert other.false_claims == 1
    assert metrics.liars([a]) == []
    t = [times("daqp", [1.0, 2.0, 3.0]), times("osqp", [1.0] * 3)]
    found = costs([a, b], t, formulation="gauss")
    assert found.values.T.tolist() == [[1.0, 2.0, 3.0], [INF] * 3]
    assert list(found.failures) == [0, 3]
    assert [p.solver for p in work_precision([answers("kkt", "cr"), a], [times("kkt", [1.0] * 2), t[0]])] == ["kkt"]


def test_another_name_for_an_ill_posed_step_is_no_false_claim() -> None:
    a = answers("daqp", "rr")
    a.claim[:] = ["unbounded", "infeasible"]
    (row,) = metrics.summary([a])
    assert (row.recognised, row.false_claims, row.success) == (1, 0, 0.5)


def test_a_wrong_program_may_be_infeasible() -> None:
    assert metrics.liars([answers("kkt", "ii", formulation="printed", exact=False)]) == []
    assert metrics.wrong_programs([answers("kkt", "ii", formulation="printed", exact=False)]) == []


def test_nobody_is_blamed_where_there_are_several_solutions() -> None:
    (row,) = metrics.summary([answers("lemke", "ccvv")])
    assert (row.steps, row.open, row.confirmed, row.false_claims) == (4, 2, 2, 0)
    assert (row.success, row.correct) == (1.0, 1.0)
    (row,) = metrics.summary([answers("lemke", "vv")])
    assert (row.open, row.false_claims) == (2, 0)
    assert math.isnan(row.success)
    assert math.isnan(row.correct)
    # But one that has not even solved its program has made a false claim.
    (row,) = metrics.summary([answers("lemke", "vv", residual=0.1)])
    assert (row.open, row.false_claims, row.success) == (0, 2, 0.0)
    recognised = answers("lemke", "vv")
    recognised.claim[:] = ["multiple_solutions"] * 2
    (row,) = metrics.summary([recognised])
    assert (row.open, row.recognised, row.success) == (0, 2, 1.0)


def test_answers_that_differ_on_the_clock_are_failures() -> None:
    a = [answers("steady", "cccc"), answers("fickle", "cclr")]
    t = [times("steady", [2.0] * 4), times("fickle", [1.0] * 4, unconfirmed=[0, 3, 5, 5])]
    case = join(a, t)[1]
    assert list(case["differs"]) == [False, True, False, False]  # the third was wrong on record
    assert list(case.costs()) == [1.0, INF, INF, 1.0]
    assert list(costs(a, t, formulation="gauss").failures) == [0, 2]
    assert profile_of(costs(a, t)).solved.tolist() == [1.0, 0.5]
    # Old records say nothing of it.
    assert not join(a, [times("fickle", [1.0] * 4)])[1]["differs"].any()
    assert metrics.summary(a, t)[1].confirmed == 2


def test_profile_by_hand() -> None:
    # Problem 0 is a tie, on problem 2 b fails, problem 3 nobody solves.
    profile = profile_of(table([1.0, 2.0, 1.0, INF], [1.0, 1.0, INF, INF]))
    assert list(profile.taus) == [1.0, 2.0]
    assert profile.rho.tolist() == [[0.5, 0.5], [0.75, 0.5]]
    assert list(profile.solved) == [0.75, 0.5]
    assert profile.problems == 4


def test_profile_of_records_charges_refusals_and_crashes() -> None:
    a = [
        answers("kkt", "cc"), answers("osqp", "cl"), answers("kkt", "ccc", source=KNIFE_EDGE, begins=[0]),
        refused("osqp", source=KNIFE_EDGE), refused("lemke"), refused("lemke", source=KNIFE_EDGE),
    ]  # fmt: skip
    t = [times("kkt", [2.0, 2.0]), times("osqp", [1.0, 1.0]), times("kkt", [9.0, 1.0], source=KNIFE_EDGE)]
    profile = profile_of(costs(a, t, formulation="gauss"))
    assert profile.names == ("kkt", "osqp")  # one that refuses everything does not compete
    assert list(profile.taus) == [1.0, 2.0]
    assert profile.rho.tolist() == [[0.75, 0.25], [1.0, 0.25]]
    assert costs(a, t, formulation="gauss").estimated == (1, 0)


def test_pairs_are_charged_for_formulating() -> None:
    parts = {"build": [5.0] * 5}
    a = [answers("kkt", "c", formulation="lagrange"), answers("kkt", "c", formulation="null-space")]
    t = [times("kkt", [2.0], formulation="lagrange"), times("kkt", [1.0], formulation="null-space", parts=parts)]
    found = costs(a, t)
    assert dict(zip(found.names, found.values[0], strict=True)) == {"lagrange by kkt": 2.0, "null-space by kkt": 6.0}


def test_profile_of_nothing() -> None:
    assert profile_of(costs([], [])).problems == 0
    profile = profile_of(table([INF], [INF]))
    assert profile.rho.tolist() == [[0.0, 0.0]]
    # A clock too coarse shows zero: those who show it tie.
    assert profile_of(table([0.0], [0.0], [1.0])).rho[0].tolist() == [1.0, 1.0, 0.0]


times_or_failures = arrays(
    float, st.tuples(st.integers(1, 12), st.integers(1, 5)),
    elements=st.one_of(st.floats(1e-6, 1e3), st.just(INF)),
)  # fmt: skip


@given(times_or_failures)
def test_profiles_rise_from_wins_to_successes(values: np.ndarray) -> None:
    profile = profile_of(table(*values.T))
    assert (np.diff(profile.taus) > 0).all()
    assert (np.diff(profile.rho, axis=0) >= 0).all()
    assert (profile.rho >= 0).all()
    assert (profile.rho <= 1).all()
    assert profile.rho[-1] == pytest.approx(profile.solved)
    solved = np.isfinite(values).any(axis=1).mean()
    # Somebody wins every problem that anybody solves.
    assert solved - 1e-12 <= profile.rho[0].sum()


@given(times_or_failures, st.randoms(use_true_random=False), st.sampled_from([0.25, 0.5, 2.0, 1024.0]))
def test_profiles_know_neither_order_nor_unit(values: np.ndarray, random: object, factor: float) -> None:
    taus = np.array([1.0, 1.5, 10.0, 1e9])
    profile = profile_of(table(*values.T), taus)
    rows, columns = list(range(len(values))), list(range(values.shape[1]))
    random.shuffle(rows)  # type: ignore[attr-defined]
    random.shuffle(columns)  # type: ignore[attr-defined]
    shuffled = profile_of(table(*(factor * values[rows][:, columns]).T), taus)
    assert (shuffled.rho == profile.rho[:, columns]).all()


def test_shifted_geometric_mean_by_hand() -> None:
    # sqrt((6 + 10) (26 + 10)) - 10 = 24 - 10
    assert shifted_geometric_mean(np.array([6.0, 26.0]), 10.0) == pytest.approx(14.0)
    assert shifted_geometric_mean(np.array([5 * US])) == pytest.approx(5 * US)
    assert math.isnan(shifted_geometric_mean(np.zeros(0)))


def test_failures_are_charged_ten_times_the_slowest() -> None:
    values = np.array([[1.0, INF, 3.0], [INF, INF, INF], [7.0, 2.0, INF]])
    assert charged(values).tolist() == [[1.0, 30.0, 3.0], [70.0, 70.0, 70.0], [7.0, 2.0, 70.0]]
    assert np.isinf(charged(np.full((1, 2), INF))).all()


@pytest.mark.parametrize("steps", [3, 41])
def test_the_ranking_is_of_re_solves_and_does_not_depend_on_the_stride(steps: int) -> None:
    """A stride of 100 leaves 3 states of a motion, one of 5 leaves 41; a set-up is dear, and paid once."""
    a = [answers(s, "c" * steps, begins=[0]) for s in ("prepared", "direct")]
    t = [times("prepared", [900 * US] + [10 * US] * (steps - 1)), times("direct", [90 * US] + [20 * US] * (steps - 1))]
    table = costs(a, t, formulation="gauss")
    assert table.values.shape == (steps - 1, 2)
    first, last = geometric_means(table)
    assert (first.name, last.name) == ("prepared", "direct")
    assert (first.seconds, last.factor) == (pytest.approx(10 * US), pytest.approx(2.0))
    assert profile_of(table).rho[0].tolist() == [1.0, 0.0]
    assert [p.work for p in work_precision(a, t)] == pytest.approx([20 * US, 10 * US])


def test_set_up_and_re_solves_have_profiles_of_their_own() -> None:
    rows = {"setup": [8.0] * 4, "cold": [8.0, 4.0, 4.0, 4.0], "warm": [8.0, 1.0, 1.0, 1.0]}
    a = [answers("osqp", "cccc", start=s, begins=[0]) for s in rows]
    a.append(answers("kkt", "cccc", start="setup", begins=[0]))
    t = [times("osqp", row, start=s) for s, row in rows.items()] + [times("kkt", [2.0] * 4, start="setup")]
    found = {most: costs(a, t, formulation="gauss", most=most).values.T.tolist() for most in rows}
    assert found == {
        "setup": [[8.0] * 4, [2.0] * 4], "cold": [[4.0] * 3, [2.0] * 3], "warm": [[1.0] * 3, [2.0] * 3],
    }  # fmt: skip


def test_steps_with_several_solutions_are_no_test_problems() -> None:
    """Whoever finds one of several solutions has neither failed nor succeeded; nor is one ahead who names them."""
    knows, finds, liar = answers("knows", "ccvv"), answers("finds", "ccvv"), answers("liar", "ccvl")
    knows.claim[2:] = ["multiple_solutions"] * 2
    t = [times(s, [w] * 4) for s, w in (("knows", 4.0), ("finds", 2.0), ("liar", 1.0))]
    found = costs([knows, finds, liar], t, formulation="gauss")
    assert found.values.tolist() == [[4.0, 2.0, 1.0]] * 2
    assert found.apart == 2
    assert found.failures.tolist() == [0, 0, 0]
    assert [m.name for m in geometric_means(found)] == ["liar", "finds", "knows"]
    assert profile_of(found).solved.tolist() == [1.0] * 3
    assert {p.base: (p.error, p.steps) for p in work_precision([finds], t)} == {"finds": (1e-12, 2)}
    (place,) = places([answers("finds", "ccvv", source=stack(1.0))], [times("finds", [2.0] * 4, source=stack(1.0))],
                      "contacts")  # fmt: skip
    assert (place.success, place.work, place.certified) == (1.0, 2.0, 1e-12)


def test_an_answer_that_is_not_proved_is_counted_apart_for_its_solver_only() -> None:
    a = [answers("shy", "cc"), answers("bold", "cc")]
    a[0].status[1] = "not_proved"
    found = costs(a, [times("shy", [3.0, 1.0]), times("bold", [1.0, 2.0])], formulation="gauss")
    assert np.isnan(found.values[1, 0])
    assert [(m.name, m.steps, m.failures) for m in geometric_means(found)] == [("bold", 2, 0), ("shy", 1, 0)]
    profile = profile_of(found)
    assert profile.solved.tolist() == [1.0, 1.0]
    assert profile.rho.tolist() == [[0.0, 1.0], [1.0, 1.0]]


def test_means_rank_a_fast_failure_last() -> None:
    a = [answers("exact", "cccc"), answers("hasty", "clll")]
    t = [times("exact", [100 * US] * 4), times("hasty", [1 * US] * 4)]
    first, last = geometric_means(costs(a, t, formulation="gauss"))
    assert (first.name, first.failures, first.factor) == ("exact", 0, 1.0)
    assert (last.name, last.failures) == ("hasty", 3)
    # (11 * 1010^3)^(1/4) - 10
    assert last.seconds == pytest.approx(((11 * 1010**3) ** 0.25 - 10) * US)
    assert geometric_means(costs([], [])) == []


def test_a_refusal_is_no_failure_and_charged_to_nobody_whoever_takes_part() -> None:
    a = [answers("picky", "cc"), refused("picky", source=KNIFE_EDGE), answers("fit", "cc")]
    a += [answers("fit", "cc", source=KNIFE_EDGE)]
    t = [times("picky", [1.0, 2.0]), times("fit", [3.0] * 2), times("fit", [50.0] * 2, source=KNIFE_EDGE)]
    found = costs(a, t, formulation="gauss")
    assert found.failures.tolist() == [0, 0]
    assert profile_of(found).solved.tolist() == [0.5, 1.0]
    first, last = geometric_means(found)
    (alone,) = geometric_means(costs(a[:2], t, formulation="gauss"))
    assert (first.name, last.name, last.failures, last.refused, last.steps) == ("fit", "picky", 0, 2, 2)
    assert last.seconds == alone.seconds == pytest.approx(math.sqrt(2.0), rel=1e-4)
    assert (last.factor, last.common) == (pytest.approx(math.sqrt(2.0) / 3.0, rel=1e-4), 2)


def test_a_ratio_of_means_is_over_the_steps_that_both_answer() -> None:
    """Else an answer that is not proved at a slow step makes a mean better."""
    a = [answers("shy", "cc"), answers("bold", "cc")]
    a[0].status[1] = "not_proved"
    found = costs(a, [times("shy", [3.0, 100.0]), times("bold", [2.0, 90.0])], formulation="gauss")
    first, last = geometric_means(found)
    assert (first.name, first.factor, last.name, last.unproved, last.steps) == ("bold", 1.0, "shy", 1, 1)
    assert last.seconds < first.seconds
    assert (last.factor, last.common) == (pytest.approx(1.5, rel=1e-4), 1)


@given(arrays(float, st.integers(1, 20), elements=st.floats(1e-9, 1e3)))
def test_means_lie_between(values: np.ndarray) -> None:
    mean = shifted_geometric_mean(values)
    assert values.min() * (1 - 1e-9) <= mean <= values.max() * (1 + 1e-9)


def sweep() -> tuple[list[Answers], list[Times]]:
    loose, tight = "osqp(eps_abs=0.001)", "osqp(eps_abs=1e-09)"
    a = [
        answers(loose, "ll", certified=[1e-3, 2e-3]), answers(tight, "cc", certified=[1e-9, 3e-9]),
        answers("kkt", "cc", certified=[1e-15, 1e-16]), answers("slow", "cc", certified=[1e-9, 1e-9]),
        answers("broken", "cf", certified=[1e-9, INF]),
    ]  # fmt: skip
    t = [
        times(loose, [10 * US] * 2), times(tight, [50 * US] * 2), times("kkt", [20 * US] * 2),
        times("slow", [90 * US] * 2), times("broken", [1 * US] * 2),
    ]  # fmt: skip
    return a, t


def test_points_are_matched_by_achieved_accuracy() -> None:
    points = work_precision(*sweep())
    assert [p.base for p in points] == ["broken", "kkt", "osqp", "osqp", "slow"]
    assert [p.error for p in points if p.base == "osqp"] == [2e-3, 3e-9]
    assert {p.solver for p in points if p.front} == {"kkt", "osqp(eps_abs=0.001)"}
    best = fastest_at(points, (1e-2, 1e-6, 1e-20))
    assert [p.solver for p in best[1e-2]] == ["osqp(eps_abs=0.001)", "kkt", "slow"]
    assert [p.solver for p in best[1e-6]] == ["kkt", "osqp(eps_abs=1e-09)", "slow"]
    assert best[1e-20] == []


@given(st.lists(st.tuples(st.floats(1e-16, 1.0), st.floats(1e-6, 1.0)), max_size=20))
def test_front_is_not_beaten(pairs: list[tuple[float, float]]) -> None:
    points = [Point("s", str(i), "", e, e, w, 1) for i, (e, w) in enumerate(pairs)]
    front = pareto_front(points)
    for p in points:
        assert any(f.error <= p.error and f.work <= p.work for f in front)
    for f in front:
        assert not any(p.error < f.error and p.work < f.work for p in points)


def test_warm_gain_by_hand() -> None:
    a = [
        answers("osqp", "ccccc", start="cold", iterations=[50, 20, 20, 20, 20]),
        answers("osqp", "ccccl", start="warm", iterations=[50, 10, 10, 5, 5]),
        answers("kkt", "ccccc", start="cold", iterations=[0] * 5), answers("kkt", "ccccc", iterations=[0] * 5),
        answers("worse", "ccccc", start="cold"), answers("worse", "ccccc"),
        answers("osqp", "ccccc", start="setup"),
    ]  # fmt: skip
    t = [
        times("osqp", [9.0, 4.0, 4.0, 4.0, 4.0], start="cold"), times("osqp", [9.0, 2.0, 2.0, 1.0, 1.0]),
        times("osqp", [8.0] * 5, start="setup"),
        times("kkt", [1.0] * 5, start="cold"), times("kkt", [1.0, 1.02, 1.05, 1.01, 0.99]),
        times("worse", [1.0] * 5, start="cold"), times("worse", [1.0, 1.3, 1.3, 1.4, 1.5]),
    ]  # fmt: skip
    osqp, kkt, worse = warm_gain(a, t)
    assert osqp.iterations == pytest.approx(30 / 80)  # the first step does not count
    assert osqp.work == pytest.approx((0.25, 0.375, 0.5))
    assert osqp.update == pytest.approx((0.5, 0.5, 0.5))
    assert (osqp.verdict, osqp.lost, osqp.won) == ("gain", 1, 0)
    assert math.isnan(kkt.iterations)
    assert kkt.verdict == "no difference"
    assert worse.verdict == "loss"
    assert warm_gain([answers("kkt", "cc")], []) == []
    # Without an update the cold start is the set-up.
    a = [answers("newton", "ccc", start="setup", iterations=[4, 4, 4]), answers("newton", "ccc", iterations=[4, 2, 2])]
    (newton,) = warm_gain(a, [times("newton", [2.0] * 3, start="setup"), times("newton", [1.0] * 3)])
    assert (newton.iterations, newton.verdict) == (0.5, "gain")
    assert math.isnan(newton.update[1])


@pytest.mark.parametrize(("factor", "verdict"), [(0.6, "gain"), (0.9, "no difference"), (1.5, "loss")])
def test_a_difference_within_the_spread_of_timings_is_none(factor: float, verdict: str) -> None:
    """Three quarters of the steps agree, and the quartiles lie 0.3 times the factor apart."""
    ratios = [factor * x for x in (0.85, 0.85, 0.85, 1.0, 1.0, 1.15, 1.15, 1.15)]
    a = [answers("osqp", "c" * 9, start="cold"), answers("osqp", "c" * 9, iterations=[2] * 9)]
    (found,) = warm_gain(a, [times("osqp", [1.0] * 9, start="cold"), times("osqp", [1.0, *ratios])])
    assert found.work[2] - found.work[0] == pytest.approx(0.3 * factor)
    assert found.verdict == verdict
    shifted = [times("osqp", [1.0] * 9, start="cold"), times("osqp", [1.0, *(0.8 * x / factor for x in ratios)])]
    assert warm_gain(a, shifted)[0].verdict == "no difference"  # 0.68 to 0.92: on one side of one, and no farther away


@pytest.mark.parametrize(
    ("spent", "backend", "verdict"),
    [
        (3, NAN, "no difference"),  # as many iterations: what is saved is not the start's doing
        (3, 0.95, "no difference"), (3, 0.5, "gain"), (2, NAN, "gain"),
    ],
)  # fmt: skip
def test_a_gain_needs_less_work_of_the_algorithm(spent: int, backend: float, verdict: str) -> None:
    a = [answers("osqp", "cccc", start="cold"), answers("osqp", "cccc", iterations=[spent] * 4)]
    t = [
        times("osqp", [2.0] * 4, start="cold", parts={"backend": [1.0] * 5}),
        times("osqp", [1.0] * 4, parts={"backend": [backend] * 5}),
    ]
    (gain,) = warm_gain(a, t)
    assert gain.verdict == verdict
    # To cost more, time alone is enough.
    (loss,) = warm_gain([answers("osqp", "cccc", start="cold"), answers("osqp", "cccc")], [
        times("osqp", [1.0] * 4, start="cold"), times("osqp", [2.0] * 4),
    ])  # fmt: skip
    assert loss.verdict == "loss"


def dialled(
    works: dict[str, Sequence[float]], right: dict[str, Sequence[str]] | None = None, band: float = 0.0
) -> tuple[list[Answers], list[Times]]:
    a, t = [], []
    for solver, row in works.items():
        for i, work in enumerate(row):
            letters = "cccc" if right is None or solver not in right else right[solver][i]
            a.append(answers(solver, letters, source=stack(float(10**i))))
            t.append(times(solver, [work] * 4, source=stack(float(10**i)), band=band))
    return a, t


def reversals(a: Sequence[Answers], t: Sequence[Times], dial: str) -> list[Reversal]:
    return reversals_of(places(a, t, dial))


def test_a_reversal() -> None:
    (found,) = reversals(*dialled({"lemke": [1.0, 2.0, 9.0], "pgs": [3.0, 2.0, 3.0]}), "contacts")
    assert (found.first, found.then) == ("gauss by lemke", "gauss by pgs")
    assert (found.before, found.after) == (1.0, 100.0)  # at 10 they tie
    assert (found.ratio_before, found.ratio_after) == (3.0, 3.0)
    assert found.leads


@pytest.mark.parametrize(
    ("works", "band"),
    [
        ({"a": [1.0, 1.05], "b": [1.05, 1.0]}, 0.0),  # within ten per cent
        ({"a": [1.0, 1.3], "b": [1.3, 1.0]}, 0.5),  # quartiles overlap
        ({"a": [1.0, 1.05], "b": [2.0, 1.0]}, 0.0),  # beyond the noise on one side only
        ({"a": [1.0, 2.0], "b": [2.0, 3.0]}, 0.0),  # no reversal at all
    ],
)
def test_noise_is_no_reversal(works: dict[str, Sequence[float]], band: float) -> None:
    assert reversals(*dialled(works, band=band), "contacts") == []


def test_a_failure_reverses_a_ranking() -> None:
    data = dialled({"pgs": [1.0, 1.0], "daqp": [5.0, 5.0]}, {"pgs": ["cccc", "clll"]})
    (found,) = reversals(*data, "contacts")
    assert (found.first, found.then, found.ratio_after) == ("gauss by pgs", "gauss by daqp", INF)
    # Where both fail there is no order.
    both = dialled({"pgs": [1.0, 1.0], "daqp": [5.0, 0.5]}, {"pgs": ["cccc", "llll"], "daqp": ["cccc", "llll"]})
    assert reversals(*both, "contacts") == []


def test_other_dials_and_families_are_other_sweeps() -> None:
    a, t = dialled({"a": [1.0], "b": [2.0]})
    other = stack(10.0, "row")
    a += [answers("a", "cccc", source=other), answers("b", "cccc", source=other)]
    t += [times("a", [2.0] * 4, source=other), times("b", [1.0] * 4, source=other)]
    assert reversals(a, t, "contacts") == []
    assert reversals(a, t, "mu") == []


def test_tables_open_in_pandas(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    a = [answers("kkt", "ccc"), answers("osqp(eps_abs=0.1, rho=1)", "clf", source=stack(4.0)), refused("lemke")]
    t = [times("kkt", [1e-6, 2e-6])]
    written = tables.write(folder, a, t, [motion("routh", 10)])
    assert [p.name for p in written] == ["summary.csv", "steps.csv", "times.csv", "motions.csv"]
    steps = pd.read_csv(folder / "steps.csv")
    assert len(steps) == 6
    assert list(steps["work"])[:2] == [1e-6, 2e-6]
    assert steps["work"].isna().sum() == 4
    assert list(steps["confirmed"]) == [True] * 4 + [False] * 2
    assert list(steps["step"]) == [0, 1, 2, 0, 1, 2]
    assert steps["dials"].iloc[-1] == "contacts=4 mu=0.3"
    assert len(pd.read_csv(folder / "summary.csv")) == 3
    assert set(pd.read_csv(folder / "times.csv")["part_of_time"]) >= {"build", "work", "backend"}
    for name, opened in (("polars", "read_csv"), ("duckdb", "read_csv")):
        try:
            module = __import__(name)
        except ImportError:
            continue
        assert len(getattr(module, opened)(str(folder / "steps.csv"))) == 6
    assert tables.write(folder / "empty", []) == []


def test_many_rows() -> None:
    a = [
        answers("kkt", "c" * 100, source=Source("problem", f"p{i % 10}", str(i)), formulation=f"f{i % 5}")
        for i in range(300)
    ]
    t = [times("kkt", [1e-6] * 100, source=x.source, formulation=x.formulation) for x in a]
    assert len(tables.steps(a, t)) == 30_000
    assert len(metrics.summary(a, t)) == 300
    assert profile_of(costs(a, t)).problems == 30_000
    assert FOUR_BAR.label == "four-bar, A"
