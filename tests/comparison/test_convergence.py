"""Records of convergence, and the figures made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.comparison.convergence import convergence
from gaussopt.core.programs import Program
from gaussopt.reporting.document import Figure
from gaussopt.reporting.figures import convergence as figures

pytestmark = pytest.mark.usefixtures("drawn")


@pytest.fixture(scope="module")
def gauss(crank: go.Problem) -> go.QP:
    rows = crank.reference("crank-A-2s")
    program = go.formulate(crank.system.evaluate(rows.t[10], rows.q[10], rows.v[10]), "gauss")
    assert isinstance(program, go.QP)
    return program


@pytest.mark.parametrize("label", ["QP (lcp-qp), tipping box", "LCP, tipping box", "LCP, two bars"])
def test_newton_squares_its_residual(label: str) -> None:
    residuals = convergence(figures.contact_programs()[label], "newton")
    assert residuals[-1] < 1e-12 < 1.0 < residuals[0]
    exponent = figures.order(residuals)
    assert exponent is not None
    assert exponent > 1.7


def test_equality_programs_take_newton_one_step(gauss: go.QP) -> None:
    residuals = convergence(gauss, "newton")
    assert len(residuals) == 2
    assert residuals[1] < 1e-12 * residuals[0]


@pytest.mark.parametrize(
    "options", [{"coordinates": "null-space"}, *({"coordinates": "full", "penalty": x} for x in (1e1, 1e3, 1e4))]
)
def test_the_cost_falls_to_the_least(options: dict[str, Any], gauss: go.QP) -> None:
    """Less penalty, cheaper violations: the least cost is that of the search, not that of the program."""
    curve = np.array(convergence(gauss, "deap-cma", **options))
    assert (np.diff(curve) <= 0).all()
    assert (curve >= 0).all()
    assert curve[0] > 1e-5
    # Rounding of costs of the order of 1e2, in full coordinates of penalties of the order of 1e6 too.
    assert curve[-1] < 1e-7


def test_every_kind_of_program_has_a_least_cost() -> None:
    rng = np.random.default_rng(0)
    K, b = rng.standard_normal((3, 3)) + 3 * np.eye(3), rng.standard_normal(3)
    programs: list[Program] = [
        go.LinearSystem(K, b),
        go.LeastSquares(K[:, :2], b, 2),
        go.LeastSquares(K[:2], b[:2], 2, minimum_norm=True),
        go.LCP(K @ K.T, b),
        go.QP(np.eye(3), b, K[:1], np.array([1.0]), np.array([np.inf])),
    ]
    for program in programs:
        for name in ("deap", "deap-cma"):
            curve = np.array(convergence(program, name))
            finite = curve[np.isfinite(curve)]
            assert (finite >= 0).all()
            assert finite[-1] < (1e-9 if name == "deap-cma" else 1e-2)


def test_options_reach_the_solver(gauss: go.QP) -> None:
    assert len(convergence(gauss, "deap", generations=7)) == 7
    assert convergence(gauss, "deap", seed=1) != convergence(gauss, "deap", seed=2)


def test_what_has_no_convergence_is_refused(gauss: go.QP, assert_sentence: Callable[..., None]) -> None:
    with pytest.raises(go.BadInput) as caught:
        convergence(gauss, "kkt")
    assert_sentence(caught.value, "'kkt'")
    flat = go.QP(np.diag([1.0, 0.0]), np.array([0.0, 1.0]), np.zeros((0, 2)), np.zeros(0), np.zeros(0))
    with pytest.raises(go.BadInput, match="no minimiser"):
        convergence(flat, "deap", generations=3)


def test_orders_of_sequences() -> None:
    assert figures.order([1e-1, 1e-2, 1e-4, 1e-8, 1e-16]) == pytest.approx(2.0)
    assert figures.order([10.0, 1.0, 0.5]) is None
    assert figures.order([1e-20]) is None


def check(figure: Figure, curves: int, xlabel: str) -> None:
    assert figure.svg.startswith("<?xml")
    assert list(figure.data.columns) == ["curve", xlabel, "value"]
    assert figure.data["curve"].nunique() == curves
    for label in figure.data["curve"].unique():
        assert label in figure.alt
    assert "to see" not in figure.caption
    assert figure.caption.endswith(".")


def test_figure_of_newton() -> None:
    figure = figures.newton()
    check(figure, 4, "iteration")
    assert figure.data["iteration"].min() == 0
    assert "quadratic" in figure.caption
    assert figure.svg == figures.newton().svg


def test_figure_of_the_evolutions() -> None:
    figure = figures.evolution()
    check(figure, 4, "generation")
    last = figure.data.groupby("curve")["value"].last()
    assert last["CMA-ES, full with penalty"] < 1e-6 * last["genetic algorithm, full with penalty"]
    assert last["CMA-ES, null-space"] < 1e-9
    assert figure.data["generation"].min() == 1
