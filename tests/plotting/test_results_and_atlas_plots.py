"""Figures of comparisons and atlases, one look for each method, and tables as text."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable

import numpy as np
import pytest

import gaussopt as go
from gaussopt.plotting.figures import plain_figure
from gaussopt.plotting.heatmaps import Panel, Scale, value_map
from gaussopt.plotting.looks import look, places


@pytest.fixture(scope="module")
def results(compare: Callable[..., go.Results]) -> go.Results:
    return compare(
        "four-bar", ["gauss", "dual"], ["kkt", "daqp"], stride=100, t_end=0.01, time_budget=0.01, motions=False
    )


def test_a_method_looks_the_same_in_all_figures() -> None:
    few, many = places(["daqp", "mine"]), places(["osqp", "kkt", "mine", "daqp", "yours"])
    assert {name: many[name] for name in few} == few
    assert len(set(places([f"solver {i}" for i in range(10)]).values())) == 10
    assert look(places(["kkt"])["kkt"])["color"] == look(0)["color"]


def test_no_two_methods_look_alike() -> None:
    """Also as points, which show no line: kkt and deap-cma were the same."""
    seen = [look(place) for place in range(32)]
    for a, b in itertools.combinations(seen, 2):
        assert sum(a[part] != b[part] for part in a) >= 2
        assert (a["color"], a["marker"]) != (b["color"], b["marker"])


def test_results_draw_their_times(results: go.Results) -> None:
    sources = list(dict.fromkeys(a.source.label for a in results.answers))
    axes = plain_figure((6.0, 3.0)).subplots(1, 1)
    assert results.plot(sources[0], ax=axes) is axes
    assert axes.get_xlabel() == "time per step / µs"
    assert "gauss by daqp" in [label.get_text() for label in axes.get_yticklabels()]
    with pytest.raises(go.UnknownName, match="of these results; known"):
        results.plot("nothing", ax=axes)
    with pytest.raises(go.UnknownName, match="known: "):
        results.plot(start="xxx", ax=axes)


def test_tables_as_text(results: go.Results) -> None:
    rows = list(csv.reader(io.StringIO(results.table(form="csv"))))
    assert rows[0][:3] == ["steps of", "pair", "start"]
    markdown = results.table().splitlines()
    assert len(markdown) == len(rows) + 1
    assert all(row[1] in line for row, line in zip(rows[1:], markdown[2:], strict=True))
    assert results.table(form="latex").startswith(r"\begin{tabular}")
    assert "residual" in results.table("steps", "csv") or "certified" in results.table("steps", "csv")
    with pytest.raises(go.UnknownName, match="of a table; known"):
        results.table(form="xxx")
    assert "answers confirmed" in repr(results)
    assert "gauss by daqp" in results._repr_html_()


def test_an_atlas_draws_its_maps() -> None:
    atlas = go.scan("two-bar", [go.Axis("mu", 0.1, 1, 3), go.Axis("theta1_0", 0.1, 1.5, 4)], slips="+,+|-,+")
    axes = plain_figure((6.0, 3.0)).subplots(1, 2)
    drawn = atlas.plot("qp", ax=axes)
    assert [one.get_title() for one in drawn] == ["slip A +, C +", "slip A −, C +"]
    assert (drawn[0].get_xlabel(), drawn[0].get_ylabel()) == ("θ₁ / °", "μ")
    with pytest.raises(go.UnknownName, match="of an atlas; known"):
        atlas.plot("nothing", ax=axes)
    with pytest.raises(go.BadInput, match="needs 2 axes"):
        atlas.plot("qp", ax=axes[0])
    assert "<img" in atlas._repr_html_()


def test_axes_of_equal_ratios_are_drawn_logarithmically() -> None:
    """Cells lie around their values in the logarithm, and other axes stay as they were."""
    masses = go.Axis.parse("m=0.01:100:5:log")
    atlas = go.scan("two-bar", [masses, go.Axis("mu", 0.1, 1.0, 3)], slips="+,+")
    axes = atlas.plot("qp")
    across, up = axes.get_xscale(), axes.get_yscale()
    assert {across, up} == {"log", "linear"}
    low, high = axes.get_xlim() if across == "log" else axes.get_ylim()
    assert (low, high) == pytest.approx((10**-2.5, 10**2.5))
    even = go.scan("two-bar", [go.Axis("m", 1.0, 3.0, 3), go.Axis("mu", 0.1, 1.0, 3)], slips="+,+").plot("qp")
    assert (even.get_xscale(), even.get_yscale()) == ("linear", "linear")
    values = atlas.plot("contraction")
    assert {values.get_xscale(), values.get_yscale()} == {"log", "linear"}


@pytest.mark.parametrize(("values", "whole"), [([[1.0, 2.0], [3.0, 2.0]], True), ([[1.0, 1.5], [3.0, 2.0]], False)])
def test_colour_bars_of_counts_have_whole_numbers(values: list[list[float]], whole: bool) -> None:
    axis = np.array([0.0, 1.0])
    axes = value_map([Panel("", np.array(values))], axis, axis, "x", "y", Scale("number", 1.0, 3.0))
    figure = axes[0].figure
    figure.draw_without_rendering()
    ticks = figure.axes[-1].get_yticks()
    assert bool((ticks == np.round(ticks)).all()) == whole
