"""`gaussopt animate` as a person or a script uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import gaussopt as go
from gaussopt.cli.main import run


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gaussopt.animation.raster.RATE", 2.0)


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, the one JSON object on standard output, and standard error."""
    code = run(["animate", *arguments, "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out), err


@pytest.mark.parametrize("ending", ["svg", "html", "gif"])
def test_writes_an_animation(ending: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, data, err = call(capsys, "four-bar", "--out", f"x.{ending}", "--t-end", "0.02", "--dt", "0.01")
    assert (code, data["status"], err) == (0, "solved", "")
    file = tmp_path / data["file"]
    assert file.stat().st_size == data["bytes"]
    head = {"svg": b"<svg", "html": b"<!DOCTYPE html>", "gif": b"GIF89a"}[ending]
    assert file.read_bytes().startswith(head)
    assert data["t"] == pytest.approx(0.02)


def test_settings_reach_the_motion(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = ("--set", "case=lift", "--dt", "0.005", "--formulation", "lcp", "--solver", "lemke", "--t-end", "0.05")
    code, data, _ = call(capsys, "sliding-rod", "--out", "x.svg", *options)
    assert (code, data["events"]) == (0, 1)
    assert "lift-off of A" in (tmp_path / "x.svg").read_text(encoding="utf-8")


def test_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["animate", "four-bar", "--out", "x.svg", "--t-end", "0.02"]) == 0
    assert capsys.readouterr().out == "Animation to t = 0.02 s: x.svg\n"


def test_a_motion_that_ends_early_is_shown_and_the_exit_code_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, data, err = call(capsys, "bouncing-ball", "--out", "x.svg", "--set", "e=0.5", "--dt", "0.05")
    assert (code, data["status"]) == (1, "accumulation")
    assert 1.2 < data["t"] < 1.36
    assert err == f"gaussopt: {data['message']}\n"
    ElementTree.fromstring((tmp_path / "x.svg").read_text(encoding="utf-8"))


def test_nothing_to_show(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, data, err = call(capsys, "sliding-rod", "--out", "x.svg", "--set", "case=inconsistent")
    assert (code, data["status"], data["file"]) == (1, "no_solution", None)
    assert err == f"gaussopt: {data['message']}\n"
    assert not list(tmp_path.iterdir())


def test_from_a_saved_motion(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    go.simulate("four-bar", dt=0.01, t_end=0.05, step_folder=None).save(tmp_path / "m.nc")
    code, data, _ = call(capsys, "--out", "x.svg", "--from", "m.nc")
    assert (code, data["t"]) == (0, pytest.approx(0.05))
    for arguments, culprit in (
        ((), "Name the PROBLEM"),
        (("crank-slider", "--from", "m.nc"), "'four-bar'"),
        (("four-bar", "--from", "m.nc", "--dt", "0.1"), "--dt"),
        (("four-bar", "--from", "none.nc"), "none.nc"),
    ):
        code, data, err = call(capsys, *arguments, "--out", "y.svg")
        assert (code, data["status"]) == (2, "bad_input")
        assert culprit in err
    assert not (tmp_path / "y.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (("four-bar", "--out", "x.avi"), "'.avi'"),
        (("four-bar", "--out", "none/x.svg"), "none"),
        (("four-baz", "--out", "x.svg"), "four-bar"),
        (("four-bar", "--out", "x.svg", "--set", "mass=1"), "mass"),
        (("four-bar", "--out", "x.svg", "--stepper", "rk5"), "rk5"),
    ],
)
def test_refusals_are_one_sentence(
    arguments: tuple[str, ...], culprit: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, data, err = call(capsys, *arguments)
    assert (code, data["status"]) == (2, "bad_input")
    assert culprit in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


DROP = """
import sympy as sp
import gaussopt as go
from gaussopt.modelling.sketch import Angle, ContactPoint, Disk

x, v = sp.symbols("x v")
system = go.System.from_lagrangian(
    [x], [v], kinetic=v**2 / 2, potential=9.81 * x, contacts=[go.Contact("A", gap=x, e_N=0.5)])
problem = go.Problem.of(system, q0=[0.1], t_end=0.01, dt=0.001, sketch=lambda q, p: {shapes})
"""


@pytest.mark.parametrize(
    ("shapes", "culprit"),
    [
        ('[Disk((0, q[0]), 0.05), ContactPoint("B", (0, q[0]))]', "Unknown contact 'B' in the sketch of drop"),
        ("[]", "no shapes"),
        ('[Angle((0, 0), 0.0, 1.0, "a")]', "nothing that moves"),
    ],
)
def test_a_sketch_that_shows_nothing_of_the_motion_is_refused(
    shapes: str, culprit: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "drop.py").write_text(DROP.format(shapes=shapes))
    code, data, err = call(capsys, "drop.py", "--out", "x.svg")
    assert (code, data["status"]) == (2, "bad_input")
    assert culprit in err


def test_files_that_hold_no_motion(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "text.nc").write_text("no motion")
    for file, sentence in (("none.nc", "There is no file none.nc."), ("text.nc", "text.nc is not a trajectory file")):
        code, _, err = call(capsys, "four-bar", "--out", "x.svg", "--from", file)
        assert (code, err.count("\n")) == (2, 1)
        assert sentence in err
