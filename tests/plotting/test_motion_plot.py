"""Figures of motions: panels with their units, events, given axes, files of every kind, names that are none."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.plotting.curves import Curve, draw
from gaussopt.plotting.figures import figure_of

BALL_FALLS = {"t_end": 0.6, "dt": 1e-2}


@pytest.fixture(scope="module")
def ball() -> go.Trajectory:
    return go.simulate("bouncing-ball", **BALL_FALLS)


def test_default_figure_has_the_units_and_the_events(ball: go.Trajectory) -> None:
    axes = ball.draw()
    assert [one.get_ylabel() for one in axes] == ["y / m", "contact force / N", "energy / J"]
    assert axes[-1].get_xlabel() == "time / s"
    marked = [line.get_xdata()[0] for line in axes[0].lines if line.get_gid() == "event"]
    assert marked == [event["t"] for event in ball.events] == pytest.approx([np.sqrt(2 / 9.81)], rel=1e-6)
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["y", "impact"]


def test_an_unknown_unit_is_not_named_and_rows_of_joints_have_theirs() -> None:
    """The multiplier of a row x^2 + y^2 - l^2 is in N/m, which nobody told."""
    known = ["constraint force", "constraint force / N", "constraint torque / N m"]
    for problem, labels in (("crank-slider", known[:1]), ("spatial-slider-crank", known)):
        shown = go.simulate(problem, t_end=0.01, dt=1e-2).draw("lam")
        assert [one.get_ylabel() for one in shown] == labels


def test_curves_are_the_columns_of_the_table(ball: go.Trajectory) -> None:
    table = ball.to_pandas()
    for name in table.columns.drop(["t", "forces_unique", "mode_floor"]):
        (line,) = (x for x in ball.draw(name)[0].lines if x.get_gid() == "curve")
        shown, size = line.get_ydata(), np.maximum(np.abs(table[name]), 1e-17)
        assert np.array_equal(shown, size if "drift" in name or "error" in name else table[name], equal_nan=True), name


def test_two_motions_on_the_same_axes(ball: go.Trajectory) -> None:
    axes = figure_of((4.0, 3.0), None).add_subplot()
    assert ball.plot("y", ax=axes) is axes
    assert axes.get_ylabel() == "y / m"
    ball.plot("v_y", ax=axes, label="of the ball")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["y", "of the ball", "impact"]
    assert ball.draw("y", "v_y", label="b")[1].lines[0].get_label() == "v_y, b"
    colours = [line.get_color() for line in axes.lines if line.get_gid() == "curve"]
    assert len(set(colours)) == 2
    with pytest.raises(go.BadInput, match="needs 2 axes"):
        ball.plot("y", "v_y", ax=axes)


def test_fifteen_curves_have_fifteen_styles() -> None:
    axes = figure_of((4.0, 3.0), None).add_subplot()
    t = np.linspace(0.0, 1.0, 3)
    draw(t, [Curve(f"q{i}", t + i, "coordinate", "m") for i in range(15)], [], axes)
    styles = {(line.get_color(), line.get_linestyle()) for line in axes.lines}
    assert len(styles) == 15


def test_a_name_that_is_none_is_told_with_the_known_ones(ball: go.Trajectory) -> None:
    with pytest.raises(go.UnknownName, match="did you mean 'v_y'"):
        ball.draw("v_Y")
    with pytest.raises(go.UnknownName, match=r"known: .*coordinates.*lam_N_floor"):
        ball.draw("xxx")
    with pytest.raises(go.UnknownName):  # a motion without constraints has no rows
        ball.draw("lam")


@pytest.mark.parametrize(
    ("ending", "begin"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG"), ("pgf", b"%%")]
)
def test_files(ball: go.Trajectory, ending: str, begin: bytes, tmp_path: Path) -> None:
    figure, file = ball.draw("y")[0].figure, tmp_path / f"motion.{ending}"
    if ending == "pgf" and shutil.which("xelatex") is None:
        with pytest.raises(go.BadInput, match="PGF needs LaTeX"):
            go.save_figure(figure, file)
        assert not file.exists()
        return
    go.save_figure(figure, file)
    first = file.read_bytes()
    go.save_figure(ball.draw("y")[0].figure, file)
    assert first.startswith(begin)
    assert file.read_bytes() == first


def test_command(ball: go.Trajectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = str(ball.save(tmp_path / "ball.nc")), str(tmp_path / "figure.pdf")
    assert run(["plot", file, "y", "energy", "--out", out]) == 0
    assert "y / m, energy / J" in capsys.readouterr().out
    assert Path(out).read_bytes().startswith(b"%PDF")
    assert run(["plot", file, "theta", "--out", out]) == 2
    assert "Unknown quantity 'theta' of this motion" in capsys.readouterr().err
    assert run(["plot", file, "--out", "figure.bmp"]) == 2
    assert "a figure ends in .svg" in capsys.readouterr().err


def test_names_and_units_that_are_no_formula_are_drawn_as_they_are_written(tmp_path: Path) -> None:
    wrong = r"$\frac"
    curve = Curve(wrong, np.array([0.0, 1.0]), "coordinate", wrong)
    axes = draw(np.array([0.0, 1.0]), [curve], [(0.5, wrong + "$")])
    axes[0].figure.savefig(tmp_path / "curve.svg")
    assert (tmp_path / "curve.svg").stat().st_size > 1000
