"""Figures of reports: what is written in them."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation

from gaussopt.plotting.figures import _plain_powers, figure_of, legend_beside
from gaussopt.plotting.looks import forms
from gaussopt.reporting.figures.plots import lines


def labels(low: float, high: float) -> list[str]:
    axes = Figure().add_subplot()
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    _plain_powers(axes.yaxis)
    for formatter in (axes.yaxis.get_major_formatter(), axes.yaxis.get_minor_formatter()):
        assert isinstance(formatter, LogFormatterSciNotation)
    ticks = [*axes.yaxis.get_majorticklabels(), *axes.yaxis.get_minorticklabels()]
    return [t.get_text() for t in ticks if t.get_text()]


@pytest.mark.parametrize(("low", "high", "word"), [(1e-12, 1e2, "10⁻⁶"), (1.0, 5.0, "2 × 10⁰")])
def test_powers_of_ten_are_plain_text(low: float, high: float, word: str) -> None:
    found = labels(low, high)
    assert word in found
    assert not any(c in text for text in found for c in "$\\{}^")


def test_the_same_data_give_the_same_bytes() -> None:
    t = np.linspace(0.0, 1.0, 50)
    curves = {"a": np.exp(-9 * t), "b": np.exp(-30 * t)}
    assert lines(t, curves, "t / s", "error", log=True) == lines(t, curves, "t / s", "error", log=True)


def test_a_method_has_one_colour_in_all_figures() -> None:
    first = forms(["quasi-velocities", "Routh, tan row", "Routh, regular row", "something else"])
    second = forms(["x: Routh, tan row", "y: Routh, tan row", "reaction"])
    assert first[1]["color"] == second[0]["color"] == second[1]["color"]
    assert second[0]["linestyle"] != second[1]["linestyle"]
    for found in (first, second):
        assert len({(f["color"], f["linestyle"]) for f in found}) == len(found)
    assert second[2]["color"] != second[0]["color"]


def test_a_long_legend_is_in_letters_of_8_pt_and_within_its_figure() -> None:
    figure = figure_of((6.8, 3.9), "constrained")
    axes = figure.add_subplot()
    for i in range(30):
        axes.plot([0.0, 1.0], [0.0, i], label=f"curve {i}")
    legend_beside(axes, 30)
    figure.draw_without_rendering()
    legend = axes.get_legend()
    assert legend is not None
    assert {text.get_fontsize() for text in legend.get_texts()} == {8.0}
    box, whole = legend.get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0 < box.x1 <= whole.x1
    assert whole.y0 <= box.y0 < box.y1 <= whole.y1
