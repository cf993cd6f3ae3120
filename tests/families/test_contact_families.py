"""Families of contact problems in space: draws, rank, dials, and a comparison of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gaussopt as go
from gaussopt.comparison.sources import family_sweep
from gaussopt.core import registry
from gaussopt.modelling.family import Family

NAMES = ("box-wall", "random-contacts", "sphere-pile")


def family(name: str) -> Family:
    found: Family = registry.load("family", name)
    return found


def drawn(name: str, dials: dict[str, float], count: int = 1) -> list[go.ConeComplementarity]:
    found = family(name).steps(dials, count)
    assert all(isinstance(problem, go.ConeComplementarity) for problem in found)
    return [problem for problem in found if isinstance(problem, go.ConeComplementarity)]


@pytest.mark.parametrize("name", NAMES)
def test_draws_are_reproducible_and_differ_and_dials_do_what_they_say(name: str) -> None:
    for dial in family(name).dials:
        for value in (dial.low, dial.high):
            assert len(drawn(name, {dial.name: value})) == 1
    first, second = drawn(name, {"contacts": 7, "mass-ratio": 10.0}, 2)
    again = drawn(name, {"contacts": 7, "mass-ratio": 10.0}, 2)[0]
    assert np.array_equal(first.W, again.W)
    assert np.array_equal(first.q, again.q)
    assert not np.array_equal(first.W, second.W)
    assert first.k == (8 if name == "box-wall" else 7)
    assert (drawn(name, {"friction": 0.3})[0].mu == 0.3).all()
    found = go.solve(first, "hybrid")
    assert found.status is go.Status.SOLVED, found.message


@pytest.mark.parametrize("name", ["box-wall", "sphere-pile"])
def test_bodies_at_rest_move_by_gravity_alone_and_faster_with_speed(name: str) -> None:
    rest, moving = (drawn(name, {"contacts": 8, "speed": speed})[0] for speed in (0.0, 1.0))
    assert np.abs(rest.q).max() <= 2e-3 * 9.81 * 1.000001
    assert np.abs(moving.q).max() > 0.1


def test_the_rank_is_what_the_dial_says() -> None:
    for share, rank in ((0.0, 30), (0.5, 15), (0.9, 3)):
        W = drawn("random-contacts", {"contacts": 10, "deficiency": share})[0].W
        assert np.linalg.matrix_rank(W) == rank
    assert np.linalg.matrix_rank(drawn("box-wall", {"contacts": 8})[0].W) < 24


def test_a_comparison_of_a_family_judges_relaxations_by_the_law_of_coulomb(compare: Callable[..., go.Results]) -> None:
    points = family_sweep("sphere-pile", ["contacts=8", "speed=1"], count=2)
    assert all(isinstance(point.typical(), go.ConeComplementarity) for point in points)
    results = compare(points, ["coulomb-soccp", "coulomb-ccp"], ["hybrid", "clarabel"], time_budget=0.0)
    right = {(a.formulation, a.solver): all(a.confirmed) for a in results.answers}
    assert right == {("coulomb-soccp", "hybrid"): True, ("coulomb-ccp", "clarabel"): False}
