"""The claims of paper 001: verdicts, the numbers they rest on, and that they follow the evidence when it changes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from judged_claims import EXPECTED, Judged

import gaussopt as go
from gaussopt.papers import ledger
from gaussopt.papers.claim import ClaimVerdict, Judgement
from gaussopt.papers.evidence import active_sets as sets
from gaussopt.papers.evidence import contact_problems as problems
from gaussopt.papers.p001_friction import c05_minimum_principle as c05
from gaussopt.papers.p001_friction import c06_equivalence as c06
from gaussopt.papers.p001_friction import c07_convex_model as c07
from gaussopt.papers.p001_friction import c08_prescribed_force as c08
from gaussopt.papers.p001_friction import c09_agrees_with_physics as c09
from gaussopt.papers.p001_friction import contact_samples as samples
from gaussopt.papers.p001_friction.steps import POSES


def column(judged: Judged, number: str, name: str) -> dict[str, float]:
    j = judged(number).own if number == "C8" else judged(number)
    assert j is not None
    return {str(row[0]): row[j.columns.index(name)] for row in j.rows}


# -- evidence of its own -----------------------------------------------------------------------------------


def test_smallest_example_in_rational_numbers() -> None:
    A, b = [[2, 1], [0, 2]], [-2, 1]
    assert sets.lcp_exactly(A, b) == [[Fraction(1), Fraction(0)]]
    assert sets.printed_exactly(A, b) == [[Fraction(7, 8), Fraction(1, 4)]]
    matrix, load = np.array([A], dtype=float), np.array([b], dtype=float)
    assert np.allclose(sets.lcp(matrix, load), [1, 0])
    assert np.allclose(sets.printed(matrix, load), [7 / 8, 1 / 4])
    assert np.allclose(samples.eta(matrix, np.array([[1.0, 0.0]])), [[1.0, -0.25]])


def test_painleve_has_two_solutions_or_none_in_rational_numbers() -> None:
    assert sorted(sets.lcp_exactly([[-1]], [1])) == [[0], [1]]
    assert sets.lcp_exactly([[-1]], [-1]) == []


def test_active_sets_agree_with_the_solvers() -> None:
    A, b = problems.random_definite(40, 3, 0.5, np.random.default_rng(3))
    answers = go.solve_batch(A, b, "newton")
    assert answers.solved.all()
    assert np.allclose(sets.lcp(A, b), answers.z, atol=1e-9)
    for i in range(5):
        program = go.QP(sets.symmetric(A)[i], np.zeros(3), A[i], -b[i], np.full(3, np.inf))
        assert np.allclose(go.solve(program, "daqp").x, sets.printed(A, b)[i], atol=1e-8)


def test_singular_blocks_are_passed_over() -> None:
    A = np.array([[[1.0, 1.0], [1.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]])
    z = sets.lcp(A, np.array([[-1.0, -1.0], [-2.0, 3.0]]))
    assert z[0].sum() == pytest.approx(1.0)
    assert np.allclose(z[1], [1.0, 0.0])


def test_hinged_bars_are_what_the_formulations_see() -> None:
    c = samples.random_bars(6, 2, 2, np.random.default_rng(4))
    for i in range(6):
        slip = np.sign(-c.friction[i, :, ::3].sum(axis=1))
        step = go.StepData.from_mapping({
            "M": c.M[i], "Q": c.force[i], "J": c.J[i], "gamma": c.gamma[i], "J_N": c.J_N[i], "zeta_N": c.zeta_N[i],
            "J_T": (c.friction[i] / c.friction[i, :, ::3].sum(axis=1)[:, None])[:, None], "zeta_T": np.zeros((2, 1)),
            "v_T": slip[:, None], "mu": np.abs(c.friction[i, :, ::3].sum(axis=1)),
        })  # fmt: skip
        answer = go.solve_step(step, "lcp", "lemke")
        if answer.status is go.Status.SOLVED:
            assert np.allclose(answer.lam_N, c.solve().y[i], atol=1e-9)
            assert np.allclose(answer.lam_N, sets.lcp(c.A, c.b)[i], atol=1e-9)


# -- key numbers -------------------------------------------------------------------------------------------


def test_two_bars_by_the_printed_programs(judged: Judged) -> None:
    lcp = column(judged, "C5", "N_A / N")
    printed, joint = column(judged, "C5", "N_C by (29) / N"), column(judged, "C5", "N_C by (24) / N")
    assert lcp["60°, 20 N up at C"] == pytest.approx(19.65651, abs=1e-5)
    assert printed["60°, 20 N up at C"] == pytest.approx(-0.81249, abs=1e-5)
    assert joint["60°, 20 N up at C"] == pytest.approx(-0.8988, abs=1e-4)
    assert printed["85°"] == pytest.approx(-2.875, abs=1e-3)
    assert printed["88°"] == pytest.approx(-21.667, abs=1e-3)
    relative = column(judged, "C5", "relative difference of (29)")
    assert [relative[k] for k in ("60°, 20 N up at C", "85°", "88°", "89.5°")] == pytest.approx(
        [0.043, 0.094, 0.75, 3.10], rel=0.01
    )
    assert column(judged, "C5", "criterion: equal") == {k: v < 1e-9 for k, v in relative.items()}
    assert "10 N, and (24) gives 15 N" in judged("C5").sentence


def test_link_with_a_joint() -> None:
    from gaussopt.papers.p001_friction.c05_minimum_principle import _link

    assert _link(-120) == ([10], 15)
    assert _link(-60) == ([10], 10)


def test_angles_without_weights() -> None:
    stated = {0.2: (18.109, 23.764, 66.236, 71.891), 0.5: (14.433, 27.715, 62.285, 75.567),
              1.0: (10.123, 32.623, 57.377, 79.877)}  # fmt: skip
    for mu, ends in stated.items():
        assert [x for gap in c07.without_weights(mu) for x in gap] == pytest.approx(ends, abs=5e-4)


def test_weights_of_small_matrices() -> None:
    cases = {((2, 1), (0, 2)): False, ((2, 1), (-1, 2)): False, ((2, 3), (1, 2)): True, ((2, 0), (0, 1)): True}
    for rows, exist in cases.items():
        A = np.array(rows, dtype=float)
        assert c07.weights_exist(A) == c07.cycle_condition(A) == exist
    assert not c07.cycle_condition(c07.ROUND)
    assert not c07.weights_exist(c07.ROUND)


def test_best_objective_is_the_weighted_one_where_there_are_weights() -> None:
    A = np.array([[2.0, 1.0], [0.5, 1.0]])
    error, P = c07.best_objective(A, 40)
    assert error < 1e-3
    assert np.allclose(P, np.array([[2.0, 1.0], [1.0, 2.0]]) / 2.0, atol=1e-2)


def test_frozen_friction_on_the_two_bars(judged: Judged) -> None:
    rho, radius = column(judged, "C8", "ϱ"), column(judged, "C8", "spectral radius of the active contacts")
    rate, count = (
        column(judged, "C8", "mean rate of the last two iterations"),
        column(judged, "C8", "iterations to 1e-12"),
    )
    states = ("45°", "60°", "60°, 20 N up at C", "85°", "88°", "89.5°")
    assert [rho[k] for k in states] == pytest.approx([0.1225, 0.2044, 0.2044, 0.3403, 0.3454, 0.3463], abs=5e-5)
    assert [radius[k] for k in states] == pytest.approx([0.1225, 0.15, 0.1551, 0.1170, 0.0514, 0.0131], abs=5e-5)
    assert [rate[k] for k in states] == pytest.approx([radius[k] for k in states], rel=1e-3)
    assert [count[k] for k in states] == [14, 15, 15, 14, 10, 8]
    assert max(column(judged, "C8", "first iterate wrong by / N").values()) == pytest.approx(21, abs=0.5)


def test_frozen_friction_may_go_round() -> None:
    # One contact, A_0 = 1, C = 2: 0, 1, 0, 1, ... and the only solution is 1/3.
    one = np.ones((1, 1, 1))
    path = c08.Iteration.run(one, 2 * one, -np.ones((1, 1)), 5).path[:, 0, 0]
    assert path.tolist() == [0, 1, 0, 1, 0, 1]
    assert sets.lcp(3 * one, -np.ones((1, 1))) == pytest.approx(1 / 3)


def test_printed_start_in_all_readings() -> None:
    literal, *others = c09.starts()
    assert literal.gaps == pytest.approx([0.70711, 0.70711], abs=1e-5)
    assert literal.rates == pytest.approx([1.07071, 1.07071], abs=1e-5)
    assert len(others) == 47
    assert not any(s.consistent for s in (literal, *others))


def test_reconstructed_motion(judged: Judged) -> None:
    motion = c09.slide(60)
    assert motion.events == pytest.approx([0.09625349769, 0.48132491444, 0.531209696578], abs=1e-9)
    assert motion.passes
    found = judged("C9")
    assert "29.909807" in found.sentence
    assert "29.100437" in found.derivations[1].computed
    assert "10.7 and 11.0 N" in found.conditions
    assert found.own is not None
    assert "N = (13.678369, 11.191393) N" in found.own.derivations[0].computed


# -- verdicts follow the evidence --------------------------------------------------------------------------

MODULES = {"C5": c05, "C6": c06, "C7": c07, "C8": c08, "C9": c09}
SYMMETRIC = [[2, 1], [1, 2]]


def again(number: str) -> Judgement:
    return ledger.check(number, True)


@pytest.mark.parametrize("number", MODULES)
def test_other_samples_give_the_same_verdict(monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    monkeypatch.setattr(MODULES[number], "SEED", MODULES[number].SEED + 1000)
    assert again(number).verdict is EXPECTED[number]


def test_equivalence_if_the_printed_program_were_the_contact_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "printed", sets.lcp)
    monkeypatch.setattr(c06, "EXAMPLE", SYMMETRIC)
    j = again("C6")
    # (36) still differs.
    assert j.verdict is ClaimVerdict.CONDITIONAL
    assert [r.holds for r in j.readings] == [True, True, False]
    monkeypatch.setattr(sets, "primal", sets.lcp)
    j = again("C6")
    assert j.verdict is ClaimVerdict.TRUE
    assert not j.conditions


def test_equivalence_is_false_if_it_fails_for_one_contact_and_symmetric_matrices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("printed", "primal"):
        monkeypatch.setattr(sets, name, lambda A, b: 1.01 * sets.lcp(A, b))
    assert again("C6").verdict is ClaimVerdict.FALSE


def test_minimum_principle_if_the_printed_programs_were_the_contact_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "printed", sets.lcp)
    monkeypatch.setattr(c05, "SMALLEST", (SYMMETRIC, [-2, 1]))
    j = again("C5")
    assert not any(s.refutes for s in j.searches if s.name in ("smallest", "in-general", "two-bars"))
    # What the criterion says is then contradicted, and nothing is decided.
    criterion = next(d for d in j.derivations if "exactly if" in d.statement and "(29)" in d.statement)
    assert not criterion.holds
    assert j.verdict is ClaimVerdict.UNDECIDED
    assert criterion.statement in j.conditions
    monkeypatch.setattr(c05, "_link", lambda pull: ([Fraction(10)], Fraction(10)))
    assert again("C5").searches[-1].refutes  # the random steps with one contact remain


def test_a_counterexample_for_symmetric_matrices_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = sets.printed

    def wrong(A: np.ndarray, b: np.ndarray) -> np.ndarray:
        even = np.abs(A - A.swapaxes(1, 2)).max(axis=(1, 2)) < 1e-14
        return np.where(even[:, None], real(A, b) * 1.001, real(A, b))

    monkeypatch.setattr(sets, "printed", wrong)
    for number in ("C5", "C6", "C7"):
        j = again(number)
        (part,) = {p.holds for r in j.readings for p in r.parts if "symmetric" in p.text and "(36)" not in r.meaning}
        assert not part


def test_convex_model_if_nothing_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "printed", sets.lcp)
    assert [r.holds for r in again("C7").readings] == [True, False, True]
    monkeypatch.setattr(c07, "best_objective", lambda A, generations: (0.0, np.eye(2)))
    j = again("C7")
    assert j.verdict is ClaimVerdict.TRUE
    assert not j.conditions


def slowly(run: Callable[..., c08.Iteration]) -> Callable[..., c08.Iteration]:
    """An iteration that stays where it began."""

    def stays(
        A0: np.ndarray, C: np.ndarray, b: np.ndarray, steps: int, start: np.ndarray | None = None
    ) -> c08.Iteration:
        path = run(A0, C, b, steps, start).path
        return c08.Iteration(np.repeat(path[:1], len(path), axis=0))

    return stays


def test_the_iteration_has_no_part_in_the_verdict(judged: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    found = judged("C8").own
    assert found is not None
    monkeypatch.setattr(c08, "_two_bars", lambda: (found.rows, found.derivations[-1]))
    monkeypatch.setattr(c08.Iteration, "run", slowly(c08.Iteration.run))
    j = again("C8")
    assert j.own is not None
    assert [s.refutes for s in found.searches] == [False, False, True]
    assert j.own.searches[0].refutes
    assert j.verdict is ClaimVerdict.TRUE


def test_known_forces_without_effect_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = samples.Contacts.solve

    def deaf(self: samples.Contacts, friction: np.ndarray | None = None) -> sets.ActiveSetPoints:
        return real(self, None if friction is None else 0.0 * friction)

    monkeypatch.setattr(samples.Contacts, "solve", deaf)
    j = again("C8")
    assert [r.holds for r in j.readings] == [False, True, True]
    assert j.verdict is ClaimVerdict.PART


@pytest.fixture
def smooth(monkeypatch: pytest.MonkeyPatch) -> None:
    """All samples without friction and with symmetric matrices."""
    bars, floor, matrices, two = samples.hinged_bars, samples.on_floor, problems.random_definite, problems.two_contacts
    monkeypatch.setattr(samples, "hinged_bars", lambda *parts: bars(*parts[:6], 0.0 * parts[6], parts[7]))
    monkeypatch.setattr(samples, "on_floor", partial(floor, mu=0.0))
    states = np.radians([float(label.partition("°")[0]) for label in POSES])
    monkeypatch.setattr(samples, "two_bars", lambda: floor(states, mu=0.0))
    monkeypatch.setattr(problems, "random_definite", lambda count, n, skew, rng: matrices(count, n, 0.0, rng))
    monkeypatch.setattr(problems, "two_contacts", lambda shared, skew, load: two(shared, 0.0 * skew, load))


@pytest.mark.usefixtures("smooth")
def test_minimum_principle_and_equivalence_are_true_without_friction(
    judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(c05, "SMALLEST", (SYMMETRIC, [-2, 1]))
    monkeypatch.setattr(c05, "_link", lambda pull: ([Fraction(10)], Fraction(10)))
    monkeypatch.setattr(c05, "_adversary", lambda quick: judged("C5").searches[2])
    assert again("C5").verdict is ClaimVerdict.TRUE
    monkeypatch.setattr(c06, "EXAMPLE", SYMMETRIC)
    assert again("C6").verdict is ClaimVerdict.TRUE


@pytest.mark.usefixtures("smooth")
def test_friction_that_may_be_neglected_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c08, "_iterated", lambda quick: None)
    j = again("C8")
    assert [r.holds for r in j.readings] == [True, False, False]
    assert j.verdict is ClaimVerdict.PART


def test_consistent_data_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = c09._printed

    def grounded() -> dict[str, float]:
        p = real()
        return {**p, "y0": p["l"] / 2 * np.sin(np.pi / 4), "vy0": p["l"] / 2 * np.cos(np.pi / 4) * p["omega1_0"]}

    monkeypatch.setattr(c09, "_printed", grounded)
    j = again("C9")
    assert j.searches[0].refutes
    # F and g are still not printed.
    assert j.verdict is ClaimVerdict.IRREPRODUCIBLE
    assert "In no reading" not in j.conditions
    monkeypatch.setattr(c09, "_not_printed", list)
    assert again("C9").verdict is ClaimVerdict.FALSE
    monkeypatch.setattr(c09, "PRINTED", c09.RIGHT)
    assert again("C9").verdict is ClaimVerdict.TRUE


def test_the_energy_balance_of_readings_is_that_of_the_energy(judged: Judged) -> None:
    """Its power is the slope of the energy, by differences of falling width; it refuses no right formula."""
    entry = go.problem("two-bar", F=-40.0)
    step, a = entry.system.evaluate(0.0, entry.q0, entry.v0), np.array([1.3, -0.4, 2.1, -0.7])

    def slope(eps: float) -> float:
        q, v = entry.q0, entry.v0
        there, back = (entry.system.energy(0.0, q + s * v + s**2 / 2 * a, v + s * a).total for s in (eps, -eps))
        return float((there - back) / (2 * eps))

    at_B = np.array([0.0, 1.0, entry.parameter_values["l"] / 2 * np.cos(entry.q0[2]), 0.0])
    slopes = [slope(1e-2), slope(5e-3)]
    assert c09._power(step, a) == pytest.approx((4 * slopes[1] - slopes[0]) / 3 + 40.0 * at_B @ entry.v0, abs=1e-8)
    # Of g = 0 or 9.81 and F = -40, 0, 40: all but two that do not press, with the derived formulas each.
    assert judged("C9").numbers["formulas"]["kept"] == 4


def test_a_right_sign_alone_reproduces_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c09, "PRINTED_SIGN", 1)
    j = again("C9")
    assert not j.searches[2].refutes
    assert j.verdict is ClaimVerdict.IRREPRODUCIBLE


# -- errata ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("identifier", "name", "value"),
    [("001-9", "columns of M^-1", 4.0), ("001-11", "size of b_1, printed h + s", 4.0),
     ("001-11", "size of b_2, correct s + g", 2.0)],
)  # fmt: skip
def test_errata_of_sizes(identifier: str, name: str, value: float) -> None:
    evidence = next(e for e in go.problem("two-bar").errata if e.id == identifier).check()
    assert evidence.numbers[name] == value
    assert not evidence.holds
    if identifier == "001-9":
        assert evidence.numbers["A_1 M^-1 H f(F) against (11) with and without friction, m/s^2"] < 1e-12
