"""The claims of paper 000: expected verdicts, the numbers behind them, and that the evidence decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from judged_claims import Judged

import gaussopt as go
from gaussopt.core.arrays import Vector
from gaussopt.core.step_data import StepData
from gaussopt.papers import figures
from gaussopt.papers import report_parts as common
from gaussopt.papers.claim import ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence import random_mechanisms as rm
from gaussopt.papers.evidence import random_steps as rs
from gaussopt.papers.p000_least_squares import (
    c01_least_squares,
    c02_fewer_unknowns,
    c03_comes_to_rest,
    c04_tree_and_loop,
)
from gaussopt.papers.p000_least_squares import operation_counts as plain
from gaussopt.papers.p000_least_squares.minimal_crank_slider import Crank, backwards
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.document import Table, Tex


@pytest.fixture(scope="module")
def crank() -> Crank:
    return Crank.of(go.problem("crank-slider").parameter_values)


def values(judgement: Judgement) -> dict[str, tuple[float, ...]]:
    return {str(row[0]): row[1:] for row in judgement.rows}


# -- C1 ----------------------------------------------------------------------------------------------------


def test_sizes_of_the_error_of_16() -> None:
    search, rows = c01_least_squares._along()
    error = "relative error of a in the mass norm"
    found = {str(r[0]): r[1:] for r in rows}
    assert search.refutes
    assert found["θ₁″ at t = 0 / (rad/s²), τ = -0.5 N m"][:2] == pytest.approx((-156.57953216374, -666.84572655381))
    assert found["θ₁″ at t = 0 / (rad/s²), τ = 0 N m"][:2] == pytest.approx((-98.1, -1.35872896228))
    assert found["Gauss's function at t = 0 / (J/s²), τ = -0.5 N m"][:2] == pytest.approx((130.224, 1243.31), abs=5e-3)
    assert found[f"{error}, median over the motion, τ = -0.5 N m"][1] == pytest.approx(1.208, abs=5e-4)
    assert (
        found[f"{error}, largest over the motion, τ = -0.5 N m"][1]
        == search["largest"]
        == pytest.approx(3.419, abs=5e-4)
    )
    evidence = next(e.check() for e in go.problem("crank-slider").errata if e.id == "000-5")
    assert evidence.numbers["largest relative error over 2 s, mass norm"] == pytest.approx(search["largest"])
    assert found["Gauss's function over its minimum, median over the motion, τ = -0.5 N m"][1] == pytest.approx(
        3.4, abs=0.05
    )
    assert found["Gauss's function over its minimum, smallest over the motion, τ = -0.5 N m"][1] >= 1.0


def test_replacing_16_by_14_makes_c1_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c01_least_squares, "equation_16", c01_least_squares.equation_14)
    assert c01_least_squares.check(True).verdict is ClaimVerdict.TRUE


def test_a_wrong_14_leaves_c1_where_16_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c01_least_squares, "equation_14", c01_least_squares.equation_16)
    found = c01_least_squares.check(True)
    assert [r.holds for r in found.readings] == [False, False, True]
    assert found.verdict is ClaimVerdict.CONDITIONAL
    assert found.searches[0].refutes
    assert found.searches[1].refutes
    monkeypatch.setattr(c01_least_squares, "equation_16", lambda s: 1.01 * rs.minimiser(s))
    monkeypatch.setattr(c01_least_squares, "_repairs", lambda samples: Derivation("two and two", "4", True))
    monkeypatch.setattr(c01_least_squares, "weighted_16", c01_least_squares.equation_16)
    assert c01_least_squares.check(True).verdict is ClaimVerdict.FALSE


def test_a_small_flaw_of_14_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = c01_least_squares.equation_14

    def flawed(s: StepData) -> Vector:
        # Wrong by a millionth, and only on steps of four coordinates, where the optimiser looks.
        return right(s) * (1 + 1e-6 * (s.n == 4))

    monkeypatch.setattr(c01_least_squares, "equation_14", flawed)
    assert not c01_least_squares.check(True).readings[0].holds


# -- C2 ----------------------------------------------------------------------------------------------------


def test_lean_ways_solve_the_same_step() -> None:
    rng = np.random.default_rng(1)
    for n, m in ((2, 1), (7, 6), (9, 3), (30, 20)):
        step = rs.draw(rng, n, m)
        masses = rng.uniform(0.5, 2.0, n)
        for M in (step.M, masses):
            true = rs.minimiser(replace(step, M=np.diag(M) if M.ndim == 1 else M))
            for way in (*plain.WITH.values(), *plain.WITHOUT.values()):
                np.testing.assert_allclose(way(M, step.force, step.J, step.gamma), true, rtol=1e-8, atol=1e-8)


def test_operations_of_the_square_cases() -> None:
    # Without rows all that is left is to solve with M; with all rows the null space is empty.
    for diagonal in (True, False):
        none, full = plain.operations(np.array([0.0]), diagonal), plain.operations(np.array([1.0]), diagonal)
        assert none["multipliers by Cholesky"] == pytest.approx(0.0 if diagonal else 1 / 3)
        assert none[plain.LU] == pytest.approx(2 / 3) == 2 * none[plain.LDL]
        assert full["eq. (14) by QR and Cholesky"] == pytest.approx(4 / 3)
        assert full["multipliers by Cholesky"] == pytest.approx(4 / 3 if diagonal else 8 / 3)


def raced(with_: tuple[float, ...], without: tuple[float, float]) -> Callable[..., c02_fewer_unknowns.Race]:
    times = dict(zip((*plain.WITH, *plain.WITHOUT, plain.PRINTED), (*with_, *without, 1.0), strict=True))
    spread = np.array([0.9, 1.0, 1.3])
    return lambda n, m, diagonal, quick: c02_fewer_unknowns.Race(
        n, m, diagonal, {k: t * spread for k, t in times.items()}
    )


@pytest.mark.parametrize(
    ("factor", "without", "holds", "verdict"),
    [
        # Fewer operations than the system from a boundary on, whatever the times are.
        ((1.0, 1.0), (8.0, 5.0), (False, False, True, False, True, True), ClaimVerdict.CONDITIONAL),
        ((1.0, 1.0), (9.5, 12.0), (False, False, False, False, True, True), ClaimVerdict.CONDITIONAL),
        # Always as many operations as claimed or as refuted; the times agree, or only they hold.
        ((1e-3, 1.0), (2.0, 8.0), (True, True, True, True, True, True), ClaimVerdict.PART),
        ((1e3, 1.0), (9.5, 12.0), (False, False, False, False, True, True), ClaimVerdict.CONDITIONAL),
        ((1e3, 1.0), (5.0, 8.0), (False, False, True, False, True, True), ClaimVerdict.CONDITIONAL),
        # Nothing is left of efficiency if eq. (16) with weighted inverses is dear as well.
        ((1e3, 1e3), (19.5, 12.0), (False,) * 6, ClaimVerdict.PART),
    ],
)
def test_operations_and_times_decide_c2(
    monkeypatch: pytest.MonkeyPatch, factor: tuple[float, float], without: tuple[float, float],
    holds: tuple[bool, ...], verdict: ClaimVerdict,
) -> None:  # fmt: skip
    real, by_14, by_16 = plain.operations, *factor
    of = dict.fromkeys(plain.WITHOUT, by_14) | dict.fromkeys(c02_fewer_unknowns.WEIGHTED, by_16)
    monkeypatch.setattr(
        plain, "operations", lambda x, diagonal: {k: v * of.get(k, 1.0) for k, v in real(x, diagonal).items()}
    )
    monkeypatch.setattr(c02_fewer_unknowns, "_race", raced((9.0, 9.0, 3.0 if by_16 == 1.0 else 9.5), without))
    found = c02_fewer_unknowns.check(True)
    # There are fewer unknowns than in the system, and more than multipliers, whatever either takes.
    assert tuple(r.holds for r in found.readings) == (True, False, *holds)
    assert found.verdict is verdict


def test_where_14_takes_fewer_operations() -> None:
    boundary = c02_fewer_unknowns.cheaper_from(c02_fewer_unknowns.RIVALS["system"])
    found = plain.operations(np.array([boundary - 1e-3, boundary + 1e-3]), True)
    least = np.min([found[way] for way in plain.WITHOUT], axis=0)
    assert least[0] > found[plain.LDL][0]
    assert least[1] < found[plain.LDL][1]
    assert c02_fewer_unknowns.cheaper_from(tuple(plain.WITH)) == 1.0
    assert (boundary, c02_fewer_unknowns.cheaper_from((plain.LU,))) == pytest.approx((0.622, 0.305), abs=5e-4)


def test_c2_marks_its_times(judged: Judged) -> None:
    found = judged("C2")
    assert found.times_decide
    assert set(found.timed) == set(found.columns) - {"n", "m"}


# -- C3 ----------------------------------------------------------------------------------------------------


def test_minimal_coordinates_agree_with_the_references(crank: Crank) -> None:
    for name, tau in (("crank-A-20s", -0.5), ("crank-B-20s", 0.0)):
        of, rows = crank.at(tau=tau), go.problem("crank-slider").reference(name)
        for q, v, a in list(zip(rows.q, rows.v, rows.a, strict=True))[::10]:
            np.testing.assert_allclose(of.acceleration(q[2], v[2]), a, rtol=1e-9, atol=1e-9 * (1 + np.abs(a).max()))


def potential(crank: Crank, theta: np.ndarray) -> np.ndarray:
    """Of gravity, spring and torque, J; the torque's part falls for ever."""
    stretch = crank.l1 + crank.l2 - crank.slider(theta)
    weight = 0.5 * (crank.m1 + crank.m2) * crank.g * crank.l1 * np.sin(theta)
    return np.asarray(weight - crank.tau * theta + 0.5 * crank.k * stretch * stretch)


def test_energy_and_its_slope_belong_together(crank: Crank) -> None:
    angles, h = np.linspace(-7.0, 4.0, 40), 1e-5
    slopes = (potential(crank, angles + h) - potential(crank, angles - h)) / (2 * h)
    np.testing.assert_allclose(crank.slope(angles), slopes, atol=1e-9)
    K = [crank.directions(t)[0] for t in angles]
    np.testing.assert_allclose(crank.inertia(angles), [k @ crank.mass() @ k for k in K], rtol=1e-12)


def test_numbers_of_the_motion(judged: Judged) -> None:
    found = values(judged("C3"))
    assert found["static rest angle / rad, τ = 0 N m"] == pytest.approx((-1.432934, -1.073333), abs=5e-7)
    assert found["static rest angle / rad, τ = -0.5 N m"][0] == pytest.approx(-2.017244, abs=5e-7)
    assert np.isnan(found["static rest angle / rad, τ = -0.5 N m"][1])
    assert found["θ₁(0.25 s) / rad, τ = -0.5 N m"] == pytest.approx((-2.3107, -20.880), abs=5e-4)
    assert found["θ₁(0.25 s) / rad, τ = 0 N m"] == pytest.approx((-1.5955, -0.0425), abs=5e-5)
    assert found["mean speed in the periodic motion / (rad/s), printed torque"][0] == pytest.approx(-48.50, abs=0.01)
    assert judged("C3").numbers["mean"] == pytest.approx(48.50, abs=0.01)


def test_thresholds(crank: Crank) -> None:
    _, (low, high) = c03_comes_to_rest._thresholds(crank, False)
    assert low == pytest.approx(-0.2928, abs=5e-5)
    assert high == pytest.approx(0.5 * (0.37 + 0.77) * 9.81 * 0.15)
    assert c03_comes_to_rest._first(crank, "c", 1.0, 6.0, False) == pytest.approx(3.744, abs=1e-3)


def test_a_crank_that_turns_back_rests(crank: Crank) -> None:
    # Past the first barrier of the potential or caught before it, whichever way the energy is followed.
    free, caught = (backwards(crank.at(tau=tau), 0.0, 3, 200) for tau in (-0.30, -0.28))
    assert not free.stops
    assert caught.stops
    lossless = backwards(crank.at(c=0.0), 0.0, 1, 200)
    total = lossless.kinetic + potential(crank, -lossless.covered)
    np.testing.assert_allclose(total, potential(crank, np.array(0.0)), atol=1e-7)


@pytest.mark.parametrize(
    ("changed", "exact", "verdict"),
    [
        ({"tau": 0.0}, True, ClaimVerdict.TRUE),  # what was derived holds with any torque
        ({"tau": 0.0}, False, ClaimVerdict.PART),
        ({}, True, ClaimVerdict.PART),
    ],
    ids=["without torque", "without torque, eq. (16)", "exact formula"],
)
def test_what_changes_c3(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, float], exact: bool, verdict: ClaimVerdict
) -> None:
    parameters = {**c03_comes_to_rest.PARAMETERS, **changed}
    monkeypatch.setattr(c03_comes_to_rest, "PARAMETERS", parameters)
    monkeypatch.setattr(c03_comes_to_rest, "reference_steps", lambda name: _states(parameters["tau"]))
    if exact:
        monkeypatch.setattr(c03_comes_to_rest, "equation_16", rs.minimiser)
    found = c03_comes_to_rest.check(True)
    assert found.verdict is verdict
    assert [r.holds for r in found.readings] == [True, exact, True, bool(changed)]
    assert ("comes to rest" in found.sentence) == bool(changed)


def _states(torque: float) -> list[StepData]:
    entry = go.problem("crank-slider", tau=torque)
    rows = entry.reference("crank-A-2s")
    return [entry.system.evaluate(t, q, v) for t, q, v in zip(rows.t[::40], rows.q[::40], rows.v[::40], strict=True)]


# -- C4 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loops", [False, True], ids=["tree", "loops"])
def test_random_mechanisms_are_consistent(loops: bool) -> None:
    rng = np.random.default_rng(11)
    for _ in range(40):
        of = rm.draw(rng, 7, loops, 1e2)
        step = of.step()
        assert step.v is not None
        assert of.freedom >= 1
        assert bool(of.loops) == loops
        assert np.abs(step.J @ step.v).max() < 1e-9  # the joints hold at velocity level
        assert np.abs(step.J @ of.acceleration() - step.gamma).max() < 1e-6 * (1 + np.abs(step.gamma).max())
        answer = go.solve_step(step, "lagrange", "kkt", tolerance=np.inf)
        np.testing.assert_allclose(answer.a, of.acceleration(), rtol=1e-6, atol=1e-6)


def test_a_treatment_that_fails_on_loops_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = c04_tree_and_loop.treatment

    def trees_only(s: StepData) -> Vector:
        crank_slider = s.n == 7
        loop = s.m > (4 if crank_slider else 2 * (s.n // 3))
        return right(s) * (1 + 1e-5 * loop)

    monkeypatch.setattr(c04_tree_and_loop, "treatment", trees_only)
    found = c04_tree_and_loop.check(True)
    assert found.verdict is ClaimVerdict.CONDITIONAL
    assert [p.holds for p in found.readings[0].parts] == [True, False]
    monkeypatch.setattr(c04_tree_and_loop, "treatment", lambda s: right(s) * 1.01)
    assert c04_tree_and_loop.check(True).verdict is ClaimVerdict.FALSE


def test_16_stands_beside_c4(judged: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    before = judged("C4")
    monkeypatch.setattr(c04_tree_and_loop, "equation_16", c04_tree_and_loop.treatment)
    found = c04_tree_and_loop.check(True)
    assert found.verdict is before.verdict
    assert found.numbers["loops_16"] < 1e-9 < before.numbers["loops_16"]
    monkeypatch.undo()
    monkeypatch.setattr(c04_tree_and_loop, "treatment", c04_tree_and_loop.equation_16)
    assert c04_tree_and_loop.check(True).verdict is ClaimVerdict.FALSE


# -- errata ------------------------------------------------------------------------------------------------


def test_errata_section_shows_formulas_verdicts_and_numbers() -> None:
    entry = go.problem("crank-slider")
    done = {f"erratum {e.id}": JobOutcome(e.check(), "", 0.0) for e in entry.errata if e.id != "000-10"}
    findings: list[str] = []
    section = common.errata_section(entry, "000", common.PaperResults(done), findings)
    listed, numbers = (b for b in section.blocks if isinstance(b, Table))
    assert [row[0] for row in listed.rows] == [e.id for e in entry.errata]
    assert all(isinstance(cell, Tex) and cell.count("$") % 2 == 0 for row in listed.rows for cell in row[3:5])
    assert {row[5] for row in listed.rows[:-1]} == {common.CONFIRMED}
    assert listed.rows[-1][5:] == (common.NOT_COMPUTED, "It was not run.")
    assert ("000-6", "θ₁″ at t = 0, printed J, rad/s^2", pytest.approx(-90.319, abs=1e-3)) in numbers.rows
    assert findings == ["8 of 9 checkable errata are confirmed by computation."]


def test_what_the_notes_call_right_is_right() -> None:
    entry = go.problem("crank-slider")
    p, rows = entry.parameter_values, entry.reference("crank-A-2s")
    l1, l2 = p["l1"], p["l2"]
    for q, v in zip(rows.q[::25], rows.v[::25], strict=True):
        step = entry.system.evaluate(0.0, q, v)
        (s1, c1), (s2, c2) = ((np.sin(t), np.cos(t)) for t in q[[2, 5]])
        w1, w2 = v[[2, 5]] ** 2
        printed_rows = [[0, 0, -l1 * s1, -1, 0, -l2 / 2 * s2, 0], [0, 0, l1 * c1, 0, -1, l2 / 2 * c2, 0]]
        np.testing.assert_allclose(step.J[2:4], printed_rows, atol=1e-14)
        printed = [
            -l1 / 2 * c1 * w1,
            -l1 / 2 * s1 * w1,
            l1 * c1 * w1 + l2 / 2 * c2 * w2,
            l1 * s1 * w1 + l2 / 2 * s2 * w2,
        ]
        np.testing.assert_allclose(step.gamma[:4], printed, rtol=1e-12, atol=1e-10)
        pull = p["k"] * (l1 + l2 - q[6]) - p["c"] * v[6]
        np.testing.assert_allclose(step.Q, [0, -p["m1"] * p["g"], p["tau"], 0, -p["m2"] * p["g"], 0, pull], atol=1e-12)
        assert not step.h.any()


def test_captions_say_what_coincides_and_where_zeros_are() -> None:
    x = np.linspace(0.0, 1.0, 5)
    assert figures.remarks({}) == ""
    assert figures.remarks({"a": x, "b": x + 1e-6, "c": 1 - x}) == " The curves 'a' and 'b' coincide."
    assert figures.remarks({"a": x, "b": x, "c": x}) == " All curves coincide."
    assert figures.remarks({"a": x, "b": 1 + x}, log=True) == " Zeros are drawn at 1e-17."
