"""PDF files of all figures hold TrueType fonts and no Type 3 fonts, which journals refuse."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.plotting import figures


def fonts(file: Path) -> set[str]:
    """Return the kinds of the fonts in a file that Matplotlib wrote, whose dictionaries are not compressed."""
    return {kind.decode() for kind in re.findall(rb"/Type /Font\s[^>]*?/Subtype /(\w+)", file.read_bytes())}


def motion(out: Path) -> None:
    """Formulas on a logarithmic axis, too."""
    found = go.simulate("bouncing-ball", t_end=0.6, dt=1e-2)
    go.save_figure(found.plot("coordinates", "forces", "error")[0].figure, out)


def command(out: Path) -> None:
    saved = go.simulate("crank-slider", t_end=0.02, dt=1e-2).save(out.with_suffix(".nc"))
    assert run(["plot", str(saved), "--out", str(out)]) == 0


def results(out: Path) -> None:
    found = go.compare("four-bar", ["gauss"], ["kkt", "daqp"], stride=100, t_end=0.01, time_budget=0.01, motions=False)
    go.save_figure(found.plot().flat[0].figure, out)


def atlas(out: Path) -> None:
    found = go.scan("two-bar", [go.Axis("mu", 0.1, 1, 3), go.Axis("theta1_0", 0.1, 1.5, 4)])
    go.save_figure(found.plot("qp").flat[0].figure, out)


WAYS: dict[str, Callable[[Path], None]] = {"Trajectory": motion, "Results": results, "Atlas": atlas, "plot": command}
"""Each way to a file, by the class whose `plot` it is, or the command."""


def test_each_public_class_that_draws_is_among_the_ways() -> None:
    public = {name: getattr(go, name) for name in go.__all__}
    drawing = {name for name, thing in public.items() if isinstance(thing, type) and hasattr(thing, "plot")}
    assert drawing == WAYS.keys() - {"plot"}


@pytest.mark.parametrize("way", WAYS)
def test_no_type_3_fonts(way: str, running: None, tmp_path: Path) -> None:
    out = tmp_path / "figure.pdf"
    WAYS[way](out)
    assert fonts(out) == {"Type0", "CIDFontType2"}


def test_the_kinds_of_fonts_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(figures.REPRODUCIBLE, "pdf.fonttype", 3)
    out = tmp_path / "figure.pdf"
    motion(out)
    assert fonts(out) == {"Type3"}
