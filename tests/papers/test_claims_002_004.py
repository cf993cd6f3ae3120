"""The claims of papers 002 and 004: verdicts, the numbers they rest on, and that these decide."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from judged_claims import EXPECTED, Judged
from scipy.integrate import solve_ivp

from gaussopt.papers.claim import ClaimVerdict, Judgement, OwnResult
from gaussopt.papers.evidence import random_steps as rs
from gaussopt.papers.evidence import runge_kutta
from gaussopt.papers.evidence.adversarial_search import minimise
from gaussopt.papers.evidence.random_steps import Size, kernel, lost_force, minimiser
from gaussopt.papers.p002_singular_mass import genetic_runs, noisy_linkage
from gaussopt.papers.p004_quasi_velocities import knife_edge, pole, spread
from gaussopt.papers.p004_quasi_velocities.knife_edge import BladeBody, numbers

FILES = {
    "C10": "c10_singular_mass", "C11": "c11_genetic_accuracy", "C12": "c12_genetic_cost",
    "C13": "c13_singular_configuration", "C14": "c14_no_violation", "C15": "c15_equivalence",
    "C16": "c16_faster_than_routh", "C17": "c17_routh_drift",
}  # fmt: skip


recorded = cache(genetic_runs.recorded)
"""Times of steps and drifts of motions that tests of the verdicts on them do not take again."""


def module(number: str) -> Any:
    folder = "p002_singular_mass" if number < "C14" else "p004_quasi_velocities"
    return import_module(f"gaussopt.papers.{folder}.{FILES[number]}")


def again(number: str) -> Judgement:
    return module(number).check(True)


# -- C10 ---------------------------------------------------------------------------------------------------


def test_first_accelerations_of_the_linkage(judged: Judged) -> None:
    rows = {str(row[0]): row[1:3] for row in judged("C10").rows}
    values = list(rows.values())
    assert values[0] == pytest.approx((-2.682, 2.682), abs=1e-9)
    assert values[1] == pytest.approx((2.682, 2.682), abs=1e-9)
    assert values[2] == pytest.approx((2.682, 1.432), abs=1e-9)
    assert values[3] == pytest.approx((1.432, 1.432), abs=1e-9)
    assert values[4] == pytest.approx((0.5, 0.0), abs=1e-12)
    assert values[5] == pytest.approx((1 / 101, 0.0), abs=1e-12)


def test_steps_with_and_without_a_lost_force() -> None:
    size = Size(5, 3, 3)
    z = np.random.default_rng(0).uniform(-1, 1, size.numbers)
    kept, lost = rs.singular_step(z, size), rs.singular_step(z, size, outside=1.0)
    for step in (kept, lost):
        assert np.linalg.matrix_rank(step.M) == 3
        assert rs.residual(step, minimiser(step)) < 1e-14
        assert np.linalg.eigvalsh(step.M)[-1] <= rs.EIGENVALUES[1]
    assert np.linalg.norm(kernel(kept.J).T @ lost_force(kept)) < 1e-12
    assert np.linalg.norm(lost_force(lost) - lost_force(kept)) == pytest.approx(1.0)


def test_the_function_with_a_pseudo_inverse_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    c10 = module("C10")
    monkeypatch.setattr(c10, "as_printed", lambda step: minimiser(step) + 0.1)
    j = again("C10")
    assert j.verdict is ClaimVerdict.FALSE
    assert all(s.refutes for s in j.searches[:3])
    monkeypatch.setattr(c10, "as_printed", lambda step: minimiser(step))
    pressed = c10._one_sided(100)
    assert pressed.values["wrong"] == 100
    monkeypatch.setattr(c10, "_one_sided", lambda count: replace(pressed, refutes=False))
    j = again("C10")
    # The printed sign is still wrong.
    assert [r.holds for r in j.readings] == [False, True]
    assert j.verdict is ClaimVerdict.CONDITIONAL
    monkeypatch.setattr(c10, "start", lambda variant="", **settings: genetic_runs.start(**settings))
    assert again("C10").verdict is ClaimVerdict.TRUE


def test_other_singular_steps_give_the_same_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module("C10"), "SEED", 1010)
    assert again("C10").verdict is EXPECTED["C10"]


def test_an_ill_conditioned_singular_mass_is_singular() -> None:
    # Its last pivot is rounding, larger than that of a well-conditioned matrix of this size.
    from gaussopt.formulations.pinv_mass_as_printed import formulation
    from gaussopt.linalg.dense import cholesky

    random = np.random.default_rng(10)
    for number in range(2000):
        size = rs.drawn(random)
        step = rs.singular_step(random.uniform(-1, 1, size.numbers), size, outside=1.0)
        assert cholesky(step.M) is None
        if number % 20 == 0:
            program, _ = formulation.apply(step)
            assert -program.q == pytest.approx(step.force - lost_force(step), abs=1e-9)


# -- C11, C12 ----------------------------------------------------------------------------------------------


def beside(judged: Judged, number: str) -> OwnResult:
    found = judged(number).own
    assert found is not None
    return found


def test_bias_of_the_penalty(judged: Judged) -> None:
    bias = [float(x) for x in re.findall(r": ([\d.e-]+) rad/s²", beside(judged, "C11").derivations[0].computed)]
    assert bias == pytest.approx([0.383, 4.07e-3, 4.07e-5], rel=1e-2)


def test_accuracy_of_the_genetic_algorithm(judged: Judged) -> None:
    rows = {str(row[0]): row for row in beside(judged, "C11").rows}
    assert rows["gauss by deap"][-1] < 1e-6
    assert rows["gauss by deap(coordinates=full)"][-1] > 0.1
    assert rows["lagrange by kkt"][-1] < 1e-14
    assert [s.refutes for s in beside(judged, "C11").searches] == [False, False, True]


def test_errors_of_accelerations_are_carried_into_heights(judged: Judged) -> None:
    null, full, _ = judged("C11").rows
    assert judged("C11").numbers["cma"] < 1e-2 < 1.0 < judged("C11").numbers["low"]
    assert null[2] < 1e-10 < full[2] < 1e-2
    assert full[4] <= full[5]
    # What counts as small decides nothing between these: 1e-7 and 1 %, for example.
    assert null[3] < 1e-6 < 1.0 < full[3]
    # A constant error of 1 rad/s^2 without a slope: the sum of the instants.
    assert module("C11")._carry(np.ones(5), 0.0) == pytest.approx(10 * module("C11").STEP ** 2)


def test_heights_decide_and_accelerations_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    c11, real = module("C11"), module("C11")._pairs
    monkeypatch.setattr(c11, "_accelerations", lambda *_: None)
    monkeypatch.setattr(c11, "_penalised", lambda quick: [])
    exact = c11._motion_by("lagrange", "kkt", 0.05)
    pairs = {bool(options): real(exact, options, 0.05, 1) for options in genetic_runs.WAYS.values()}

    def changed(null: dict[str, Any], full: dict[str, Any]) -> ClaimVerdict:
        found = {False: [replace(p, **null) for p in pairs[False]], True: [replace(p, **full) for p in pairs[True]]}
        monkeypatch.setattr(c11, "_pairs", lambda _, options, *__: found[bool(options)])
        return again("C11").verdict

    assert changed({}, {"apart": 1e-9, "errors": np.full(3, 10.0)}) is ClaimVerdict.TRUE
    assert changed({}, {}) is ClaimVerdict.IRREPRODUCIBLE
    # That our algorithm does not agree refutes none whose settings are not printed.
    assert changed({"apart": 0.1}, {"apart": 0.1}) is ClaimVerdict.IRREPRODUCIBLE


def test_cost_of_the_genetic_algorithm(judged: Judged) -> None:
    j = judged("C12")
    assert j.times_decide
    rows = {str(row[0]): row for row in j.rows}
    assert min(rows[way][2] for way in genetic_runs.WAYS) > 20
    assert all(low <= median <= high for _, _, median, low, high, _ in j.rows)
    assert "115 operations were counted" in j.derivations[0].computed
    assert all(s.refutes for s in j.searches)
    # The generalised inverse gives the same answer, and the sentences say that it is not what we compare with.
    assert j.searches[1].values["apart"] < 1e-9
    assert j.searches[1].values["count"] > 5
    assert "solved by elimination; section 4.1 uses a slower generalised inverse" in j.brief


@pytest.mark.parametrize(
    ("default", "cheapest", "inverse", "holds"),
    [(0.1, 0.1, 1.0, "yes yes yes yes"), (0.1, 9.0, 1.0, "yes no yes no"), (9.0, 0.1, 1.0, "no yes no yes"),
     (9.0, 9.0, 1.0, "no no no no"), (9.0, 9.0, 1e3, "no no yes yes")],
)  # fmt: skip
def test_times_decide(
    monkeypatch: pytest.MonkeyPatch, default: float, cheapest: float, inverse: float, holds: str
) -> None:
    c12 = module("C12")
    seconds = {**dict.fromkeys(c12.WAYS, default), c12.CHEAPEST: cheapest, c12.SYSTEM: 1.0, c12.INVERSE: inverse,
               c12.ELIMINATION: 1.0}  # fmt: skip
    monkeypatch.setattr(c12, "_times", lambda best, turns: {way: np.full(3, s) for way, s in seconds.items()})
    j = again("C12")
    assert " ".join("yes" if r.holds else "no" for r in j.readings) == holds
    verdicts = {"yes yes yes yes": ClaimVerdict.TRUE, "no no no no": ClaimVerdict.FALSE}
    assert j.verdict is verdicts.get(holds, ClaimVerdict.CONDITIONAL)


def test_closed_form_of_the_linkage() -> None:
    step, a = genetic_runs.state(np.pi / 3, 0.0, 450.0)
    assert a == pytest.approx([2.682, 2.682, -2.682], abs=1e-9)
    assert step.J @ a == pytest.approx(step.gamma, abs=1e-12)


# -- C13 ---------------------------------------------------------------------------------------------------


def test_singular_configuration(judged: Judged) -> None:
    configuration, degenerates, *_ = judged("C13").derivations
    assert "printed (7.03125, 0, -7.03125), right (5.625, 5.625, -5.625)" in configuration.computed
    assert "0.0001 rad: λ₁ = -4.5e+05 N, cond · ε² = 204.8" in degenerates.computed
    off = {(row[0], row[1]): row[4] for row in judged("C13").rows}
    assert off["printed row", 1e-3] > 0.3
    assert off["printed row", 1e-2] > off["printed row", 1e-3] - 0.1
    assert off["regular row", 1e-3] == off["regular row", 1e-2] == 0.0
    # The table of the paper's section shows the same runs.
    for (row, amplitude), share in off.items():
        found = noisy_linkage.noisy(str(row), float(amplitude), noisy_linkage.RUNS)
        assert found.left / len(found.gaps) == share


@pytest.mark.parametrize(("left", "words"), [((0, 0.0), "in all runs"), ((40, 0.0), "in any kind of run")])
def test_what_is_carried_decides_the_words_alone(
    monkeypatch: pytest.MonkeyPatch, left: tuple[int, float], words: str
) -> None:
    c13 = module("C13")
    crossing, gap = c13._crossing((0.01,))
    monkeypatch.setattr(c13, "_left", lambda *_: left)
    monkeypatch.setattr(c13, "_crossing", lambda _: (crossing, gap if left[0] == 0 else np.inf))
    j = again("C13")
    assert words in j.sentence
    # The source claims nothing of it.
    assert j.verdict is ClaimVerdict.UNCLAIMED


# -- C14, C15 ----------------------------------------------------------------------------------------------


def test_violations(judged: Judged) -> None:
    rows = judged("C14").rows
    held = [row[4] for row in rows if row[2] == "quasi-velocity"]
    assert max(held) < 1e-15
    assert min(row[4] for row in rows if row[2] == "velocity") > 1e-9


def test_a_violation_refutes(monkeypatch: pytest.MonkeyPatch) -> None:
    c14 = module("C14")
    monkeypatch.setattr(c14, "_of_body", lambda z: 1e-6)
    j = again("C14")
    assert j.searches[1].refutes
    assert j.verdict is ClaimVerdict.CONDITIONAL
    assert "whatever" not in j.sentence


def test_what_is_integrated_decides_and_how_long_the_step_is_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    c14 = module("C14")
    monkeypatch.setattr(c14, "STEP", 0.05)
    assert again("C14").verdict is ClaimVerdict.TRUE
    held, formula = c14.HELD, c14.FORMULA
    monkeypatch.setattr(c14, "HELD", formula)
    monkeypatch.setattr(c14, "FORMULA", held)
    monkeypatch.setattr(c14, "RUNS", (("NH-A", "rk4"),))
    j = again("C14")
    assert j.searches[0].refutes
    assert j.verdict is ClaimVerdict.CONDITIONAL


@pytest.mark.parametrize(("difference", "verdict"), [(0.0, ClaimVerdict.TRUE), (1.0, ClaimVerdict.FALSE)])
def test_differences_decide(monkeypatch: pytest.MonkeyPatch, difference: float, verdict: ClaimVerdict) -> None:
    monkeypatch.setattr(module("C15")._Trial, "difference", lambda *_: difference)
    assert again("C15").verdict is verdict


def test_equality_is_that_of_the_equations_and_not_of_their_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    c15 = module("C15")
    by_15 = c15._by_15
    blade, pull = c15._direction(Fraction(1) - Fraction(1, 10**15)), c15._direction(Fraction(1, 3))
    state = Fraction(2), Fraction(7), blade, pull, Fraction(-3), Fraction(5, 4)
    assert c15._by_14(*state) == by_15(*state)
    # With the sign of the force flipped in (15) it gives other accelerations everywhere.
    monkeypatch.setattr(c15, "_by_15", lambda m, force, *of: by_15(m, -force, *of))
    j = again("C15")
    assert j.searches[0].values["different"] == j.searches[0].values["count"]
    assert j.verdict is ClaimVerdict.CONDITIONAL


def test_the_row_decides_and_the_seed_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    c15 = module("C15")
    plain = c15.on_trial
    monkeypatch.setattr(c15, "DISTANCES", (1e-3,))
    monkeypatch.setattr(c15, "numbers", lambda random, *count: knife_edge.numbers(np.random.default_rng(3), *count))
    assert again("C15").verdict is ClaimVerdict.TRUE
    monkeypatch.setattr(c15, "on_trial", lambda body, row="regular": plain(body))
    # With the regular row in its place the printed one gives right accelerations, but not its own multipliers.
    assert again("C15").verdict is ClaimVerdict.UNDECIDED


def test_tan_row_loses_digits_towards_the_pole(judged: Judged) -> None:
    rows = np.array(beside(judged, "C15").rows)
    assert (rows[:, 1] < 1e-14).all()
    assert (np.diff(rows[:, 2]) > 0).all()
    assert rows[-1, 2] > 1e-3
    assert rows[:, 3] == pytest.approx(1 / rows[:, 0], rel=0.2)


# -- C16, C17 ----------------------------------------------------------------------------------------------


def test_evaluations(judged: Judged) -> None:
    rows = {str(row[0]): row for row in judged("C16").rows}
    assert rows["NH-A, RK45, 1e-06"][1:4] == (782, 1244, 6140)
    assert rows["NH-B, RK45, 1e-06"][1:3] == (2336, 2240)
    # At its own steps Routh is the more accurate one on NH-A, by a factor of about 1.7.
    assert 1.2 < rows["NH-A, RK45, 1e-06"][6] / rows["NH-A, RK45, 1e-06"][7] < 3
    regular, printed = judged("C16").readings[1], judged("C16").readings[0]
    assert not regular.somewhere  # a body that takes fewer is one, however many take more
    assert [p.holds for p in printed.parts] == [True, False]


@cache
def timed() -> Any:
    """What is told of the times of C16, which no test needs twice."""
    return module("C16")._times(True)[0]


@pytest.mark.parametrize(("factor", "verdict"), [(100.0, ClaimVerdict.TRUE), (0.01, ClaimVerdict.FALSE)])
def test_ratios_decide(monkeypatch: pytest.MonkeyPatch, factor: float, verdict: ClaimVerdict) -> None:
    c16 = module("C16")
    plain, attempt = c16.Pair.evaluations, timed()
    monkeypatch.setattr(c16.Pair, "ratio", lambda pair, row="regular": factor)
    monkeypatch.setattr(c16.Pair, "at_equal_error", property(lambda _: factor))
    monkeypatch.setattr(
        c16, "evaluations", lambda rates, state, *_: np.full(state.shape[1], 1.0 if len(state) == 5 else factor)
    )
    monkeypatch.setattr(
        c16.Pair, "evaluations", lambda pair, rates: plain(pair, rates) * (1 if rates == "quasi" else factor)
    )
    monkeypatch.setattr(c16, "_times", lambda quick: (attempt, *2 * [np.array([factor])]))
    assert again("C16").verdict is verdict


def test_orders_of_what_a_pole_leaves(judged: Judged) -> None:
    _, over, less, *_ = judged("C17").searches
    assert "the median order is 1.0" in over.found
    assert "without one 2.00" in over.found
    assert float(re.findall(r"at least ([\d.]+)", less.found)[0]) == pytest.approx(pole.LEAST, rel=0.05)
    measured = spread.orders(True)
    assert measured["NH-A"][1][-1] == pytest.approx(1.0, abs=0.1)
    for name in ("NH-A without force", "NH-A with α = 0", "NH-B"):
        assert measured[name][1][-1] == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("method", runge_kutta.METHODS)
def test_evaluations_of_many_bodies_are_those_of_scipy(method: type) -> None:
    z = numbers(np.random.default_rng(3), 4)
    body = BladeBody.of(z)
    for name, start in (("quasi", body.omega), ("regular", body.velocity)):
        counted = runge_kutta.evaluations(getattr(body, name), start, 3.0, 1e-6, method)
        for i, of in enumerate(z.T):
            rates = getattr(BladeBody.of(of), name)
            assert counted[i] == solve_ivp(rates, (0.0, 3.0), start[:, i], method, rtol=1e-6, atol=1e-9).nfev


def test_the_law_at_a_pole() -> None:
    j = np.arange(-20_000, 20_001)
    for f in (0.1, 0.25, 0.4, 0.7):
        squares = 24 * (j - f) ** 2 * (j - f - 0.5) ** 2
        assert pole.first(f) == pytest.approx((1 / squares).sum(), rel=1e-9)
        assert pole.second(f) == pytest.approx(((1 + f - j) / squares).sum(), rel=1e-6)
    assert pole.first(0.25) == pytest.approx(pole.LEAST)


def test_the_drift_with_steps_that_others_recomputed() -> None:
    body, _ = knife_edge.CASES["NH-B"]
    shown = spread.drift(body, "tan", np.array(spread.SHOWN), 60.0)
    assert shown.position == pytest.approx([0.0130, 10.24, 0.00951], rel=2e-3)
    assert pole.poles(body, 20.0)[0].place(0.01) == pytest.approx(0.9957, abs=1e-4)


def _changed(monkeypatch: pytest.MonkeyPatch, **values: object) -> Judgement:
    for name, value in values.items():
        monkeypatch.setattr(module("C17"), name, value)
    return again("C17")


def test_the_row_decides_the_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    # Other thresholds of what is resolved, and another span, change nothing.
    assert _changed(monkeypatch, RESOLVED=(1e-8, 1e-4), END=2.5).verdict is ClaimVerdict.CONDITIONAL
    monkeypatch.setattr(knife_edge.BladeBody, "tan", knife_edge.BladeBody.regular)
    spread.measured.cache_clear()
    j = _changed(monkeypatch)
    spread.measured.cache_clear()
    assert j.verdict is ClaimVerdict.UNDECIDED
    assert "keeps $\\omega_3" in j.conditions


@pytest.mark.parametrize(("lost", "verdict"), [(0.0, ClaimVerdict.FALSE), (9.0, ClaimVerdict.TRUE)])
def test_orders_decide(monkeypatch: pytest.MonkeyPatch, lost: float, verdict: ClaimVerdict) -> None:
    # No order counts as lost, nothing as degenerate and nothing as grown, or every order and everything.
    degenerate, grown = (1e99, np.inf) if lost == 0.0 else (0.5, -1.0)
    assert _changed(monkeypatch, LOST=lost, DEGENERATE=degenerate, GROWN=grown).verdict is verdict


def test_body_by_hand_follows_the_cycloid() -> None:
    body = knife_edge.BladeBody()
    for rates, start in ((body.quasi, body.omega), (body.regular, body.velocity)):
        end = knife_edge.rk4(rates, start, 0.01, 100)[-1]
        assert end[:3] == pytest.approx([1 + 0.5 * np.sin(2.0), 1.0, np.sin(1.0) ** 2], abs=1e-8)


def test_the_adversary_counts_and_repeats() -> None:
    first, second = (minimise(lambda z: float(z @ z), [(-1, 2)] * 2, 20, seed=1) for _ in range(2))
    assert first.value == second.value < 1e-2
    assert first.tried == 6 * 21
    together = minimise(lambda z: (z * z).sum(axis=0), [(-1, 2)] * 2, 20, seed=1, together=True)
    assert together.tried == 6 * 21
