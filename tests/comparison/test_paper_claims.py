"""What is said on the papers' claims follows from the records, whichever way they point."""

from __future__ import annotations

import pytest
from comparison_records import FOUR_BAR, INF, KNIFE_EDGE, answers, motion, times

from gaussopt.comparison.paper_claims import MeasuredClaim as Claim
from gaussopt.comparison.paper_claims import claims
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
        assert not c.rows
        assert c.sentence.startswith("It needs ")


@pytest.mark.parametrize(
    ("small", "large", "said"),
    [
        ({"lagrange": 20e-6, "null-space": 40e-6}, {"lagrange": 90e-6, "null-space": 95e-6}, "1.1 to 2 times"),
        ({"lagrange": 20e-6, "null-space": 40e-6}, {"lagrange": 90e-6, "null-space": 50e-6}, "0.56 to 2 times"),
        ({"lagrange": 20e-6, "null-space": 10e-6}, {"lagrange": 90e-6, "null-space": 50e-6}, "0.5 to 0.56 times"),
        # Faster than one formulation with multipliers, slower than another.
        (
            {"lagrange": 20e-6, "dual": 5e-6, "null-space": 10e-6},
            {"lagrange": 9e-6, "null-space": 9e-6},
            "1 to 2 times",
        ),
    ],
)
def test_fewer_unknowns(small: dict[str, float], large: dict[str, float], said: str) -> None:
    a, t = direct(small, linkage(2))
    more = direct(large, linkage(100))
    found = claim("C2", a + more[0], t + more[1])
    assert f"null-space takes {said}" in found.sentence
    assert len(found.rows) == len(small) + len(large)
    faster = "null-space at linkage, bodies = 100" in found.sentence
    assert faster == (said.startswith("0"))
    assert ("None is faster" in found.sentence) != faster


def test_formulating_counts() -> None:
    a, t = direct({"lagrange": 20e-6}, FOUR_BAR)
    more = direct({"null-space": 10e-6}, FOUR_BAR, build=50e-6)
    found = claim("C2", a + more[0], t + more[1])
    assert "null-space takes 3 times" in found.sentence


def test_wrong_answers_are_no_comparison() -> None:
    a, t = direct({"lagrange": 20e-6}, FOUR_BAR)
    a.append(answers("kkt", "cl", formulation="null-space"))
    t.append(times("kkt", [1e-6, 1e-6], formulation="null-space"))
    found = claim("C2", a, t)
    assert "It needs confirmed direct solutions" in found.sentence
    assert found.rows


def genetic(penalty: list[float], reduced: list[float], seconds: float = 1e-2) -> tuple[list[Answers], list[Times]]:
    a, t = direct({"lagrange": 20e-6}, FOUR_BAR)
    for solver, errors in (("deap", reduced), ("deap-cma(coordinates=full)", penalty)):
        a.append(answers(solver, "ll", certified=errors))
        t.append(times(solver, [seconds, seconds]))
    return a, t


@pytest.mark.parametrize(
    ("penalty", "reduced", "said"),
    [
        ([0.3, 2.0], [1e-8, 1e-9], ("1.0e-08", "2.0e+00")),
        ([0.3, INF], [0.1, 1e-9], ("1.0e-01", "unknown (steps without an answer)")),
    ],
)
def test_genetic_accuracy(penalty: list[float], reduced: list[float], said: tuple[str, str]) -> None:
    found = claim("C11", *genetic(penalty, reduced))
    assert len(found.rows) == 3
    assert f"gauss by deap {said[0]}" in found.sentence
    assert f"gauss by deap-cma(coordinates=full) {said[1]}" in found.sentence


@pytest.mark.parametrize(("seconds", "ratio"), [(1e-2, "500"), (1e-5, "0.5")])
def test_genetic_cost(seconds: float, ratio: str) -> None:
    found = claim("C12", *genetic([0.1, 0.1], [1e-8, 1e-8], seconds))
    assert f"gauss by deap takes {ratio} times" in found.sentence


def test_genetic_algorithm_alone_decides_nothing() -> None:
    a = [answers("deap", "cc")]
    t = [times("deap", [1.0, 1.0])]
    assert not claim("C11", a, t).rows
    assert not claim("C12", a, t).rows
    # Nor does another problem.
    elsewhere = Source("problem", "crank-slider", "A")
    a = [answers("deap", "cc", source=elsewhere), answers("kkt", "cc", source=elsewhere)]
    assert not claim("C11", a, []).rows


@pytest.mark.parametrize(
    ("evaluations", "seconds", "said"),
    [((782, 1244), (10e-6, 11e-6), ("1.6", "1.1")), ((1000, 500), (10e-6, 10e-6), ("0.5", "1"))],
)
def test_quasi_velocities(
    evaluations: tuple[int, int], seconds: tuple[float, float], said: tuple[str, str]
) -> None:  # fmt: skip
    a, t = direct(dict(zip(("quasi-velocity", "routh"), seconds, strict=True)), KNIFE_EDGE)
    m = tuple(motion(f, n) for f, n in zip(("quasi-velocity", "routh"), evaluations, strict=True))
    found = claim("C16", a, t, m)
    assert len(found.rows) == 2
    assert f"{said[0]} times as many evaluations" in found.sentence
    assert f"{said[1]} times the time of a step" in found.sentence


def test_motions_without_times_are_told() -> None:
    tight = tuple(motion(f, n) for f, n in (("quasi-velocity", 100), ("routh", 150)))
    loose = tuple(
        Motion(**{**motion(f, n).to_mapping(), "solver": "daqp"}) for f, n in (("quasi-velocity", 100), ("routh", 80))
    )
    found = claim("C16", [], [], tight + loose)
    assert "0.8 to 1.5 times as many evaluations" in found.sentence
    assert "Times were not recorded" in found.sentence


def test_fixed_steps_say_nothing_about_evaluations() -> None:
    m = tuple(motion(f, 400, dt=0.01) for f in ("quasi-velocity", "routh"))
    assert not claim("C16", [], [], m).rows
