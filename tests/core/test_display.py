"""Every object shows itself in at most three short lines and in a table, quickly and without raising."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.core import display
from gaussopt.modelling.chain import Chain

LONGEST = 400


def objects(name: str) -> Iterator[Any]:
    problem = go.problem(name)
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    yield from (problem, problem.system, step)
    if step.k:
        operator, lcp = go.ContactOperator.of(step), go.formulate(step, "lcp")
        solution = go.solve(lcp, "lemke")
        yield from (operator, lcp, solution, go.enumerate_lcp(lcp), go.certify_lcp(lcp, solution.x))
        yield from (go.classify_step(step), go.solve_batch(lcp.M, lcp.q[None]))
    else:
        yield from (go.formulate(step, "lagrange"), go.formulate(step, "least-squares"))
    formulation = "lcp-qp" if step.k else "gauss"
    answer = go.solve_step(step, formulation, "daqp")
    yield from (go.formulate(step, formulation), answer, answer.certificate)


@pytest.mark.parametrize("name", ["crank-slider", "two-bar", "box"])
def test_every_object_is_short_and_has_a_table(name: str) -> None:
    for found in objects(name):
        text, html = repr(found), found._repr_html_()
        assert text.startswith(f"<{type(found).__name__}: "), text
        assert text.endswith(">")
        assert text.count("\n") <= 2
        assert len(text) <= LONGEST, text
        assert "<table" in html
        assert f"{type(found).__name__}: " in html


def test_texts_say_what_the_object_is() -> None:
    problem = go.problem("two-bar", mu=0.3)
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    assert "two-bar (mu=0.3)" in repr(problem)
    assert "coordinates x, y, theta1, theta2; no equality rows, contacts A, C" in repr(problem.system)
    assert repr(step) == "<StepData: 4 coordinates, no equality rows, 2 contacts, t = 0 s>"
    assert repr(go.Axis("mu", 0.1, 1, 40)) == "<Axis: mu, 0.1 to 1, 40 values>"
    fall = go.simulate("bouncing-ball", dt=0.1, t_end=0.2, error_estimate=False)
    assert fall.worst.error_bound == 0.0  # of a free body: rounding hides what error there is
    for shown in (fall, fall.worst, go.solve_step(step, "stick-slip", "lemke")):
        assert "rounding floor" in repr(shown), shown
        assert "0 of the true" not in repr(shown)
    refused = go.solve_step(go.problem("crank-slider").system.evaluate(0.0, *start()), "least-squares-as-printed")
    assert "certified" not in repr(refused)
    assert "The certificate fails" in repr(refused)


def start() -> tuple[Any, Any]:
    problem = go.problem("crank-slider")
    return problem.q0, problem.v0


def test_nothing_raises_and_nothing_is_long() -> None:
    chain = Chain(500).system
    sparse = chain.evaluate(0.0, np.zeros(1500), np.zeros(1500))
    empty = object.__new__(go.StepData)
    for found in (chain, sparse, empty, go.System(mass=[[1.0]], force=lambda t, q, v: 1 / 0)):
        assert len(repr(found)) <= LONGEST
        assert found._repr_html_()
    assert "1500 × 1500, sparse" in sparse._repr_html_()
    assert repr(empty) == "<StepData>"


def test_equality_and_copies_are_those_of_dataclasses() -> None:
    M, q = np.eye(2), np.ones(2)
    lcp = go.LCP(M, q)
    assert copy.copy(lcp).M is M
    assert go.solve(lcp, "lemke").status == go.solve(lcp, "lemke").status
    assert go.Energy(1.0, 2.0) == go.Energy(1.0, 2.0)


def test_markup_of_a_person_stays_text() -> None:
    html = display.table("<b>", [("a", "<script>")], more=("x & y",))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "x &amp; y" in html
