"""The claims of papers 002 and 004: verdicts, the numbers they rest on, and that these decide."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from gaussopt.comparison.step_table import TimedAnswers
from gaussopt.papers import ledger
from gaussopt.papers.claim import ClaimVerdict, Judgement
from gaussopt.papers.evidence.adversarial_search import minimise
from gaussopt.papers.evidence.random_steps import kernel, minimiser
from gaussopt.papers.p002_singular_mass import genetic_runs, noisy_linkage, singular_steps
from gaussopt.papers.p002_singular_mass.singular_steps import Size, lost_force, residual, step_of
from gaussopt.papers.p004_quasi_velocities import knife_edge
from gaussopt.reporting.document import Table

FILES = {
    "C10": "c10_singular_mass", "C11": "c11_genetic_accuracy", "C12": "c12_genetic_cost",
    "C13": "c13_singular_configuration", "C14": "c14_no_violation", "C15": "c15_equivalence",
    "C16": "c16_faster_than_routh", "C17": "c17_routh_drift",
}  # fmt: skip

EXPECTED = {
    "C10": ClaimVerdict.CONDITIONAL, "C11": ClaimVerdict.CONDITIONAL, "C12": ClaimVerdict.FALSE,
    "C13": ClaimVerdict.IRREPRODUCIBLE, "C14": ClaimVerdict.TRUE, "C15": ClaimVerdict.CONDITIONAL,
    "C16": ClaimVerdict.CONDITIONAL, "C17": ClaimVerdict.CONDITIONAL,
}  # fmt: skip

UNTIMED = ("C10", "C11", "C13", "C14", "C15", "C17")


def module(number: str) -> Any:
    folder = "p002_singular_mass" if number < "C14" else "p004_quasi_velocities"
    return import_module(f"gaussopt.papers.{folder}.{FILES[number]}")


@cache
def judged(number: str) -> Judgement:
    return ledger.check(number, True)


def again(number: str) -> Judgement:
    return module(number).check(True)


# -- all ---------------------------------------------------------------------------------------------------


def test_all_are_in_the_ledger() -> None:
    numbers = {c.id: c.paper for c in ledger.ledger() if c.paper in ("002", "004")}
    assert numbers == {n: "002" if int(n[1:]) < 14 else "004" for n in EXPECTED}


@pytest.mark.parametrize("number", EXPECTED)
def test_verdicts(number: str) -> None:
    j = judged(number)
    assert j.verdict is EXPECTED[number]
    assert bool(j.conditions) is (j.verdict is ClaimVerdict.CONDITIONAL)
    assert j.derivations
    assert j.searches
    assert all(d.holds for d in j.derivations)
    assert all(re.search(r"\d", text) for s in j.searches for text in (s.covered, s.found))
    assert all(len(row) == len(j.columns) for row in j.rows)
    assert set(j.timed) <= set(j.columns)


@pytest.mark.parametrize("number", EXPECTED)
def test_formulas_are_complete(number: str) -> None:
    j = judged(number)
    texts = [j.sentence, j.conditions]
    texts += [t for d in j.derivations for t in (d.statement, d.computed)]
    texts += [t for s in j.searches for t in (s.sought, s.covered, s.found)]
    for text in texts:
        assert text.count("$") % 2 == 0
        assert not re.search(r"[\x00-\x1f]", text), text


@pytest.mark.parametrize("number", UNTIMED)
def test_untimed_claims_are_deterministic(number: str) -> None:
    assert not judged(number).times_decide
    assert again(number) == judged(number)


def test_sections_of_the_report() -> None:
    found: dict[str, Judgement | str] = {c.id: judged(c.id) if c.id in EXPECTED else "" for c in ledger.ledger()}
    for paper, numbers in (("002", ("C10", "C11", "C12", "C13")), ("004", ("C14", "C15", "C16", "C17"))):
        parts = ledger.section(paper, found).sections
        assert [p.title for p in parts] == [f"{n}: {EXPECTED[n]}" for n in numbers]
        assert all(any(isinstance(b, Table) for b in p.blocks) for p in parts)


# -- C10 ---------------------------------------------------------------------------------------------------


def test_first_accelerations_of_the_linkage() -> None:
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
    kept, lost = step_of(z, size), step_of(z, size, outside=1.0)
    for step in (kept, lost):
        assert np.linalg.matrix_rank(step.M) == 3
        assert residual(step, minimiser(step)) < 1e-14
        assert np.linalg.eigvalsh(step.M)[-1] <= singular_steps.EIGENVALUES[1]
    assert np.linalg.norm(kernel(kept.J).T @ lost_force(kept)) < 1e-12
    assert np.linalg.norm(lost_force(lost) - lost_force(kept)) == pytest.approx(1.0)


def test_a_misprint_refutes_the_theorem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module("C10"), "as_printed", lambda step, engine: minimiser(step) + 0.1)
    j = again("C10")
    assert j.verdict is ClaimVerdict.FALSE
    assert j.searches[0].refutes
    assert j.searches[1].refutes


def test_an_ill_conditioned_singular_mass_is_singular() -> None:
    # Its last pivot is rounding, larger than that of a well-conditioned matrix of this size.
    from gaussopt.formulations.pinv_mass_as_printed import formulation
    from gaussopt.linalg.dense import cholesky

    random, seen = np.random.default_rng(10), 0
    for _ in range(2000):
        size = singular_steps.drawn(random)
        step = step_of(random.uniform(-1, 1, size.numbers), size, outside=1.0)
        if cholesky(step.M) is None:
            continue
        seen += 1
        program, _ = formulation.apply(step)
        assert -program.q == pytest.approx(step.force - lost_force(step), abs=1e-9)
    assert seen


# -- C11, C12 ----------------------------------------------------------------------------------------------


def test_bias_of_the_penalty() -> None:
    bias = [float(x) for x in re.findall(r": ([\d.e-]+) rad/s²", judged("C11").derivations[0].computed)]
    assert bias == pytest.approx([0.383, 4.07e-3, 4.07e-5], rel=1e-2)


def test_accuracy_of_the_genetic_algorithm() -> None:
    rows = {str(row[0]): row for row in judged("C11").rows}
    assert rows["gauss by deap"][-1] < 1e-6
    assert rows["gauss by deap(coordinates=full)"][-1] > 0.1
    assert rows["lagrange by kkt"][-1] < 1e-14


def test_a_miss_refutes_the_null_space(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = module("C11").search

    def missing(step: Any, **options: Any) -> Any:
        a, evaluations = plain(step, **{**options, "generations": 1})
        return a + 1.0, evaluations

    monkeypatch.setattr(module("C11"), "search", missing)
    j = again("C11")
    assert j.searches[0].refutes
    assert not any(s.refutes for s in j.searches[1:])
    assert j.verdict is not ClaimVerdict.CONDITIONAL


def test_ways_in_full_coordinates_decide_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    c11 = module("C11")
    tried = c11._penalised(True)
    own, other = judged("C11").searches[1:]
    assert not own.refutes
    assert other.refutes
    assert (
        "it does not in full coordinates with the best of the penalties tried by our operators"
        in judged("C11").conditions
    )
    for scale, verdict in ((0.0, ClaimVerdict.TRUE), (1e6, ClaimVerdict.CONDITIONAL)):
        found = [replace(t, largest=scale * t.largest) for t in tried]
        monkeypatch.setattr(c11, "_penalised", lambda _, found=found: found)
        j = again("C11")
        assert j.verdict is verdict
        assert f"{5 if scale == 0 else 0} of 5 ways" in j.sentence
        if scale:
            assert "by CMA-ES" in j.conditions.split("it does not")[1]


def test_cost_of_the_genetic_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    j = judged("C12")
    assert j.times_decide
    assert all(row[4] > 20 for row in j.rows)
    assert "133 operations" in j.derivations[0].computed
    measured = replace(
        import_module("gaussopt.comparison.paper_claims").genetic_cost([]), verdict=str(ClaimVerdict.TRUE)
    )
    monkeypatch.setattr("gaussopt.comparison.paper_claims.genetic_cost", lambda cases: measured)
    assert again("C12").verdict is ClaimVerdict.CONDITIONAL


def test_closed_form_of_the_linkage() -> None:
    step, a = genetic_runs.state(np.pi / 3, 0.0, 450.0)
    assert a == pytest.approx([2.682, 2.682, -2.682], abs=1e-9)
    assert step.J @ a == pytest.approx(step.gamma, abs=1e-12)


# -- C13 ---------------------------------------------------------------------------------------------------


def test_singular_configuration() -> None:
    configuration, degenerates, *_ = judged("C13").derivations
    assert "printed (7.03125, 0, -7.03125), right (5.625, 5.625, -5.625)" in configuration.computed
    assert "0.0001 rad: λ₁ = -4.5e+05 N, cond · ε² = 204.8" in degenerates.computed
    off = {(row[0], row[1]): row[4] for row in judged("C13").rows}
    assert off["printed row", 1e-3] > 0.3
    assert off["printed row", 1e-2] > off["printed row", 1e-3] - 0.1
    assert off["regular row", 1e-3] == off["regular row", 1e-2] == 0.0
    # The table of the paper's section shows the same runs.
    for (row, amplitude), share in off.items():
        found = noisy_linkage.noisy(str(row), float(amplitude), noisy_linkage.runs(True))
        assert found.left / len(found.gaps) == share


@pytest.mark.parametrize(("left", "verdict"), [((0, 0.0), ClaimVerdict.TRUE), ((40, 0.0), ClaimVerdict.FALSE)])
def test_what_is_carried_decides(
    monkeypatch: pytest.MonkeyPatch, left: tuple[int, float], verdict: ClaimVerdict
) -> None:
    c13 = module("C13")
    wrong, (crossing, gap) = c13._at_the_configuration(), c13._crossing((0.01,))
    monkeypatch.setattr(c13, "_left", lambda *_: left)
    monkeypatch.setattr(c13, "_at_the_configuration", lambda: replace(wrong, holds=left[0] > 0))
    monkeypatch.setattr(c13, "_crossing", lambda _: (crossing, gap if left[0] == 0 else np.inf))
    assert again("C13").verdict is verdict


# -- C14, C15 ----------------------------------------------------------------------------------------------


def test_violations() -> None:
    rows = judged("C14").rows
    held = [row[4] for row in rows if row[2] == "quasi-velocity"]
    assert max(held) < 1e-15
    assert min(row[4] for row in rows if row[2] == "velocity") > 1e-9


def test_a_violation_refutes(monkeypatch: pytest.MonkeyPatch) -> None:
    c14 = module("C14")
    monkeypatch.setattr(c14, "_of_particle", lambda z: 1e-6)
    j = again("C14")
    assert j.searches[1].refutes
    assert j.verdict is ClaimVerdict.FALSE
    assert "whatever" not in j.sentence


@pytest.mark.parametrize(("difference", "verdict"), [(0.0, ClaimVerdict.TRUE), (1.0, ClaimVerdict.FALSE)])
def test_differences_decide(monkeypatch: pytest.MonkeyPatch, difference: float, verdict: ClaimVerdict) -> None:
    monkeypatch.setattr(module("C15")._Trial, "difference", lambda *_: difference)
    j = again("C15")
    assert j.verdict is verdict
    assert ("The accelerations are the same" in j.sentence) is (verdict is ClaimVerdict.TRUE)
    assert ("hey differ" in j.sentence) is (verdict is ClaimVerdict.FALSE)


def test_tan_row_loses_digits_towards_the_pole() -> None:
    rows = np.array(judged("C15").rows)
    assert (rows[:, 1] < 1e-14).all()
    assert (np.diff(rows[:, 2]) > 0).all()
    assert rows[-1, 2] > 1e-3
    assert rows[:, 3] == pytest.approx(1 / rows[:, 0], rel=0.2)


# -- C16, C17 ----------------------------------------------------------------------------------------------


def test_the_load_of_the_machine_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"quasi-velocity": 1.0, "routh": 1e3}
    monkeypatch.setattr(TimedAnswers, "median", lambda case, *_: seconds[case.answers.formulation])
    slow, told = again("C16"), judged("C16")
    assert "routh 1000000000 µs" in slow.derivations[2].computed
    assert [d.holds for d in slow.derivations] == [d.holds for d in told.derivations]
    assert (slow.verdict, slow.conditions, slow.rows) == (told.verdict, told.conditions, told.rows)


def test_evaluations() -> None:
    rows = {str(row[0]): row for row in judged("C16").rows}
    assert rows["NH-A, RK45, 1e-06"][1:3] == (782, 1244)
    assert rows["NH-B, RK45, 1e-06"][1:3] == (2336, 2240)
    # At its own steps Routh is the more accurate one on NH-A, by a factor of about 1.7.
    assert 1.2 < rows["NH-A, RK45, 1e-06"][4] / rows["NH-A, RK45, 1e-06"][5] < 3


@pytest.mark.parametrize(("ratio", "verdict"), [(2.0, ClaimVerdict.TRUE), (0.5, ClaimVerdict.FALSE)])
def test_ratios_decide(monkeypatch: pytest.MonkeyPatch, ratio: float, verdict: ClaimVerdict) -> None:
    pair = module("C16")._Pair
    monkeypatch.setattr(pair, "ratio", property(lambda _: ratio))
    monkeypatch.setattr(pair, "at_equal_error", property(lambda _: ratio))
    assert again("C16").verdict is verdict


def test_orders_over_a_pole() -> None:
    j = judged("C17")
    last = dict(zip(j.columns, j.rows[-1], strict=True))
    assert last["order, Routh, tan row"] == pytest.approx(1.0, abs=0.1)
    assert last["order, Routh, regular row"] == pytest.approx(4.0, abs=0.1)
    assert last["order, quasi-velocities"] == pytest.approx(4.0, abs=0.1)


def _of_order(order: float) -> Callable[[tuple[int, ...]], list[float]]:
    return lambda counts: [1e-3 / c**order for c in counts]


@pytest.mark.parametrize(("tan", "regular", "verdict"), [(4.0, 4.0, ClaimVerdict.FALSE), (1.0, 1.0, ClaimVerdict.TRUE)])
def test_orders_decide(monkeypatch: pytest.MonkeyPatch, tan: float, regular: float, verdict: ClaimVerdict) -> None:
    c17 = module("C17")
    orders = {c17.QUASI: 4.0, c17.REGULAR: regular, c17.TAN: tan}
    (motion,) = (d for d in judged("C17").derivations if "cycloid" in d.statement)
    monkeypatch.setattr(c17, "_errors", lambda counts: {m: _of_order(o)(counts) for m, o in orders.items()})
    monkeypatch.setattr(c17, "_motion", lambda *_: motion)
    assert again("C17").verdict is verdict


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
