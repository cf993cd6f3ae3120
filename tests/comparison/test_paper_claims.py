"""Verdicts on the papers' claims follow from the records, whichever way they point."""

from __future__ import annotations

import pytest
from comparison_records import FOUR_BAR, INF, KNIFE_EDGE, answers, motion, times

from gaussopt.comparison.paper_claims import (
    CONDITIONAL,
    FALSE,
    IRREPRODUCIBLE,
    NOT_MEASURED,
    TRUE,
    claims,
)
from gaussopt.comparison.paper_claims import (
    MeasuredClaim as Claim,
)
from gaussopt.comparison.records import Answers, Times
from gaussopt.comparison.records import MotionRecord as Motion
from gaussopt.comparison.records import StepSource as Source


def claim(number: str, a: list[Answers], t: list[Times], m: tuple[Motion, ...] = ()) -> Claim:
    return next(c for c in claims(a, t, m) if c.id == number)


def linkage(bodies: float) -> Source:
    return Source("family", "linkage", "", {"bodies": bodies}, "bodies")


def direct(seconds: dict[str, float], source: Source, build: float = 0.0) -> tuple[list[Answers], list[Times]]:
    parts = {"build": [build] * 5}
    return (
        [answers("kkt", "cc", source=source, formulation=f) for f in seconds],
        [times("kkt", [s, s], source=source, formulation=f, parts=parts) for f, s in seconds.items()],
    )


def test_nothing_measured() -> None:
    found = claims([], [])
    assert [c.id for c in found] == ["C2", "C11", "C12", "C16"]
    for c in found:
        assert c.verdict == NOT_MEASURED
        assert c.sentence.startswith("It needs ")


# -- C2 ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("small", "large", "verdict"),
    [
        ({"lagrange": 20e-6, "null-space": 40e-6}, {"lagrange": 90e-6, "null-space": 95e-6}, FALSE),
        ({"lagrange": 20e-6, "null-space": 40e-6}, {"lagrange": 90e-6, "null-space": 50e-6}, CONDITIONAL),
        ({"lagrange": 20e-6, "null-space": 10e-6}, {"lagrange": 90e-6, "null-space": 50e-6}, TRUE),
        # Faster than one formulation with multipliers, slower than another.
        ({"lagrange": 20e-6, "dual": 5e-6, "null-space": 10e-6}, {"lagrange": 9e-6, "null-space": 9e-6}, FALSE),
    ],
)
def test_fewer_unknowns(small: dict[str, float], large: dict[str, float], verdict: str) -> None:
    a, t = direct(small, linkage(2))
    more = direct(large, linkage(100))
    found = claim("C2", a + more[0], t + more[1])
    assert found.verdict == verdict
    assert len(found.rows) == len(small) + len(large)
    if verdict == CONDITIONAL:
        assert "null-space 0.56 to 2" in found.sentence
        assert "null-space at linkage, bodies = 100" in found.sentence


def test_formulating_counts() -> None:
    a, t = direct({"lagrange": 20e-6}, FOUR_BAR)
    more = direct({"null-space": 10e-6}, FOUR_BAR, build=50e-6)
    found = claim("C2", a + more[0], t + more[1])
    assert found.verdict == FALSE
    assert "null-space 3" in found.sentence


def test_wrong_answers_are_no_comparison() -> None:
    a, t = direct({"lagrange": 20e-6}, FOUR_BAR)
    a.append(answers("kkt", "cl", formulation="null-space"))
    t.append(times("kkt", [1e-6, 1e-6], formulation="null-space"))
    assert claim("C2", a, t).verdict == IRREPRODUCIBLE


# -- C11, C12 ------------------------------------------------------------------------------------------


def genetic(penalty: list[float], reduced: list[float], seconds: float = 1e-2) -> tuple[list[Answers], list[Times]]:
    a, t = direct({"lagrange": 20e-6}, FOUR_BAR)
    for solver, errors in (("deap", reduced), ("deap-cma(coordinates=full)", penalty)):
        a.append(answers(solver, "ll", certified=errors))
        t.append(times(solver, [seconds, seconds]))
    return a, t


@pytest.mark.parametrize(
    ("penalty", "reduced", "verdict"),
    [
        ([0.3, 2.0], [1e-8, 1e-9], CONDITIONAL),
        ([1e-4, 1e-5], [1e-8, 1e-9], TRUE),
        ([0.3, INF], [0.1, 1e-9], FALSE),
    ],
)
def test_genetic_accuracy(penalty: list[float], reduced: list[float], verdict: str) -> None:
    found = claim("C11", *genetic(penalty, reduced))
    assert found.verdict == verdict
    assert len(found.rows) == 3
    if verdict == CONDITIONAL:
        assert "gauss by deap by 1.0e-08" in found.sentence
        assert "gauss by deap-cma(coordinates=full) by 2.0e+00" in found.sentence
        assert "holds for gauss by deap only" in found.sentence


@pytest.mark.parametrize(("seconds", "verdict", "ratio"), [(1e-2, FALSE, "500"), (1e-5, TRUE, "0.5")])
def test_genetic_cost(seconds: float, verdict: str, ratio: str) -> None:
    found = claim("C12", *genetic([0.1, 0.1], [1e-8, 1e-8], seconds))
    assert found.verdict == verdict
    assert f"gauss by deap {ratio};" in found.sentence


def test_genetic_algorithm_alone_decides_nothing() -> None:
    a = [answers("deap", "cc")]
    t = [times("deap", [1.0, 1.0])]
    assert claim("C11", a, t).verdict == NOT_MEASURED
    assert claim("C12", a, t).verdict == NOT_MEASURED
    # Nor does another problem.
    elsewhere = Source("problem", "crank-slider", "A")
    a = [answers("deap", "cc", source=elsewhere), answers("kkt", "cc", source=elsewhere)]
    assert claim("C11", a, []).verdict == NOT_MEASURED


# -- C16 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evaluations", "seconds", "verdict"),
    [
        ((782, 1244), (10e-6, 11e-6), TRUE),
        ((1000, 1000), (10e-6, 10.1e-6), FALSE),
        ((1000, 500), (10e-6, 10e-6), FALSE),
    ],
)
def test_quasi_velocities(evaluations: tuple[int, int], seconds: tuple[float, float], verdict: str) -> None:
    a, t = direct(dict(zip(("quasi-velocity", "routh"), seconds, strict=True)), KNIFE_EDGE)
    m = tuple(motion(f, n) for f, n in zip(("quasi-velocity", "routh"), evaluations, strict=True))
    found = claim("C16", a, t, m)
    assert found.verdict == verdict
    assert len(found.rows) == 2
    assert ("modest" in found.sentence) == (verdict == TRUE)


def test_quasi_velocities_under_conditions() -> None:
    tight = tuple(motion(f, n) for f, n in (("quasi-velocity", 100), ("routh", 150)))
    loose = tuple(
        Motion(**{**motion(f, n).to_mapping(), "solver": "daqp"}) for f, n in (("quasi-velocity", 100), ("routh", 80))
    )
    found = claim("C16", [], [], tight + loose)
    assert found.verdict == CONDITIONAL
    assert "0.8 to 1.5 times the evaluations" in found.sentence
    assert "times were not recorded" in found.sentence


def test_fixed_steps_say_nothing_about_evaluations() -> None:
    m = tuple(motion(f, 400, dt=0.01) for f in ("quasi-velocity", "routh"))
    assert claim("C16", [], [], m).verdict == NOT_MEASURED
