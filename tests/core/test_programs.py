from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.core.solution import RawSolution, Timing
from gaussopt.kinds.files import parse
from gaussopt.solving.verification import verified

PROGRAM: dict[str, Any] = {
    "P": [[2.0, 0.0], [0.0, 4.0]], "q": [1.0, -1.0], "A": [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], "l": [1.0, None, -1.0],
    "u": [1.0, 2.0, None],
}  # fmt: skip


def test_null_bounds_are_infinite() -> None:
    qp = go.QP.from_mapping(PROGRAM)
    assert qp.l.tolist() == [1.0, -np.inf, -1.0]
    assert qp.u.tolist() == [1.0, 2.0, np.inf]
    assert qp.equality.tolist() == [True, False, False]


def test_huge_bounds_are_infinite() -> None:
    qp = go.QP.from_mapping({**PROGRAM, "l": [1.0, -1e30, -1.0], "u": [1.0, 2.0, 1e20]})
    assert qp.l[1] == -np.inf
    assert qp.u[2] == np.inf


def test_absent_bounds_and_rows() -> None:
    assert np.isinf(go.QP.from_mapping({k: PROGRAM[k] for k in ("P", "q", "A")}).u).all()
    free = go.QP.from_mapping({"P": [[1.0]], "q": [0.0]})
    assert (free.n, free.m) == (1, 0)


def test_file_contents_come_back_unchanged() -> None:
    qp = go.QP.from_mapping(PROGRAM)
    again = go.QP.from_mapping(qp.to_mapping())
    for key in ("P", "q", "A", "l", "u"):
        np.testing.assert_array_equal(getattr(again, key), getattr(qp, key))


def test_objective() -> None:
    assert go.QP.from_mapping(PROGRAM).objective(np.array([1.0, 2.0])) == 1.0 + 8.0 + 1.0 - 2.0


@pytest.mark.parametrize(
    "change",
    [{"u": [2.0, 2.0, None]}, {"u": [1.0, None, None]}, {"A": PROGRAM["A"][:2], "l": [1.0, None], "u": [1.0, 2.0]}],
)
def test_pattern_tells_what_needs_a_new_setup(change: dict[str, Any]) -> None:
    qp = go.QP.from_mapping(PROGRAM)
    numbers_only = go.QP.from_mapping(
        {**PROGRAM, "P": [[3.0, 1.0], [1.0, 4.0]], "l": [2.0, None, 0.0], "u": [2.0, 5.0, None]}
    )
    assert numbers_only.pattern == qp.pattern
    assert go.QP.from_mapping({**PROGRAM, **change}).pattern != qp.pattern


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"P": None}, "'P'"), ({"q": None}, "'q'"), ({"q": []}, "q is empty"), ({"q": [1.0, "x"]}, "q is not an array"),
        ({"q": [1.0, float("nan")]}, "q[1]"), ({"P": [[1.0]]}, "P has shape"),
        ({"P": [[1.0, 0.5], [0.0, 1.0]]}, "P is not symmetric"),
        ({"P": [[1.0, 0.0], [0.0, -1.0]]}, "P is indefinite"),
        ({"A": [[1.0]]}, "A has shape"), ({"A": 5}, "A"), ({"l": [1.0]}, "l has shape (1,)"),
        ({"l": "low"}, "l is not a list"),
        ({"u": [1.0, "high", None]}, "u is not a list"),
        ({"u": [1.0, float("nan"), None]}, "u holds"),
        ({"l": [2.0, None, -1.0]}, "Row 0"),
        ({"l": [1.0, 1e30, -1.0], "u": [1.0, None, None]}, "Row 1"),  # a lower bound of +infinity
        ({"u": [1.0, -1e30, None]}, "Row 1"),
    ],
)  # fmt: skip
def test_bad_program_is_named(change: dict[str, Any], culprit: str, assert_sentence: Callable[..., None]) -> None:
    with pytest.raises(go.BadInput) as caught:
        go.QP.from_mapping({**PROGRAM, **change})
    assert_sentence(caught.value, culprit)


def test_least_squares_as_a_qp_has_the_same_minimiser() -> None:
    rng = np.random.default_rng(1)
    A, b = rng.standard_normal((5, 3)), rng.standard_normal(5)
    qp = go.LeastSquares(A, b, 3).as_qp()
    expected, *_ = np.linalg.lstsq(A, b, rcond=None)
    # The normal equations square a condition number of about 3.
    np.testing.assert_allclose(np.linalg.solve(qp.P, -qp.q), expected, rtol=1e-13)


def test_timing_adds_up_and_an_unknown_part_is_null() -> None:
    timing = Timing(build=1.0, setup=2.0, update=4.0, solve=8.0, recover=16.0, verify=32.0)
    assert timing.total == 63.0
    assert timing.to_mapping()["backend"] is None
    assert timing.to_mapping()["total"] == 63.0


def test_a_problem_made_from_lists_is_written_as_one_made_from_arrays() -> None:
    listed = go.LCP([[2.0, 1.0], [0.0, 3.0]], [-3.0, 1.0])  # type: ignore[arg-type]
    assert listed.to_mapping() == go.LCP(np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([-3.0, 1.0])).to_mapping()
    assert go.LCP.from_mapping(listed.to_mapping()).n == 2


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"lower": [0.0], "upper": [1.0]}, "'lower' is not known .* did you mean 'l'"),
        ({"l": [0.0], "ub": [1.0]}, "'ub' is not known .* did you mean 'u'"),
        ({"G": [[1.0, 1.0]], "l": [0.0]}, "'G' is not known .* did you mean 'A'"),
        ({}, "neither l nor u is given"),
    ],
)
def test_bounds_of_other_codes_are_refused_by_name(entries: dict[str, Any], words: str) -> None:
    """They were ignored, and the program without them solved."""
    with pytest.raises(go.BadInput, match=words):
        parse({"kind": "qp", "P": np.eye(2).tolist(), "q": [-1.0, -2.0], "A": [[1.0, 1.0]], **entries})
    bounded = parse({"kind": "qp", "P": np.eye(2).tolist(), "q": [-1.0, -2.0], "A": [[1.0, 1.0]], "u": [1.0]})
    assert go.solve(bounded, "daqp").x == pytest.approx([0.0, 1.0])


def test_an_answer_without_numbers_is_named_so() -> None:
    one = go.QP(np.eye(1), -np.ones(1), np.ones((1, 1)), np.zeros(1), np.ones(1))
    found = verified(one, RawSolution(np.array([np.nan]), None, go.Status.SOLVED), Timing())
    assert (found.status, "holds no numbers" in found.message) == (go.Status.SOLVER_ERROR, True)
