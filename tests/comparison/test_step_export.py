"""Families and cells of an atlas as files: the same programs come back, and each refusal is a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.comparison.sequence_files import read_sequence
from gaussopt.comparison.sources import ExportedSequence
from gaussopt.core import registry
from gaussopt.core.cone_complementarity import ConeComplementarity

DIALS = {"links": 7, "mass-ratio": 10}


@pytest.fixture(scope="module")
def atlas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return go.scan("two-bar", [go.Axis("mu", 0.1, 1.0, 4)]).save(tmp_path_factory.mktemp("atlas") / "atlas.nc")


def test_the_steps_of_a_family_come_back_as_they_were(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dials = [word for name, value in DIALS.items() for word in ("--dial", f"{name}={value}")]
    command = ["export", "--family", "chain", *dials, "--formulation", "gauss", "--out", str(tmp_path / "out")]
    assert run([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["kind"], said["count"], said["certified"]) == ("qp", 5, 5)
    assert said["problem"].startswith("chain (links=7,")
    steps = registry.load("family", "chain").steps(DIALS, 5)
    for program, step in zip(read_sequence(tmp_path / "out"), steps, strict=True):
        original = go.formulate(step, "gauss")
        assert isinstance(program, go.QP)
        assert isinstance(original, go.QP)
        for name in ("P", "q", "A", "l", "u"):
            np.testing.assert_array_equal(getattr(program, name), getattr(original, name))
    spec = ExportedSequence.of(tmp_path / "out")
    assert spec.follows
    assert spec.source.part == "family"
    strict = (tmp_path / "out" / "manifest.json").read_text()
    assert "NaN" not in strict


def test_a_family_of_contact_problems_is_written_as_fclib(tmp_path: Path) -> None:
    command = ["export", "--family", "random-contacts", "--dial", "contacts=3", "--formulation", "moreau-jean"]
    assert run([*command, "--out", str(tmp_path / "out")]) == 0
    problems = registry.load("family", "random-contacts").steps({"contacts": 3}, 5)
    files = sorted((tmp_path / "out").iterdir())
    for file, original in zip(files, problems, strict=True):
        read = go.read_problem(file)
        assert isinstance(read, ConeComplementarity)
        assert isinstance(original, ConeComplementarity)
        np.testing.assert_allclose(read.q, original.q, rtol=0, atol=1e-14)
        np.testing.assert_allclose(read.u(np.arange(9.0)), original.u(np.arange(9.0)), rtol=1e-13)


def test_cells_of_an_atlas_are_replayed_as_problems_of_their_own(
    tmp_path: Path, atlas: Path, compare: Callable[..., go.Results]
) -> None:
    assert run(["export", str(atlas), "--formulation", "lcp", "--stride", "3", "--out", str(tmp_path / "out")]) == 0
    found, whole = read_sequence(tmp_path / "out"), go.Atlas.load(atlas)
    rows = json.loads((tmp_path / "out" / "manifest.json").read_text())["programs"]
    assert [row["cell"] for row in rows] == list(range(0, whole.points, 3))
    for program, row in zip(found, rows, strict=True):
        assert isinstance(program, go.LCP)
        np.testing.assert_allclose(program.M, whole.lcp(row["cell"]).M, rtol=0, atol=1e-12)
        np.testing.assert_allclose(program.q, whole.lcp(row["cell"]).q, rtol=0, atol=1e-12)
        assert row["values"]["mu"] == whole.values(row["cell"])["mu"]
    assert not ExportedSequence.of(tmp_path / "out").follows  # a neighbour on a grid is no step before
    results = compare(str(tmp_path / "out"), solvers=["lemke", "newton"], time_budget=0)
    assert {a.start for a in results.answers} == {"setup"}
    assert {tuple(a.begins) for a in results.answers} == {tuple(range(len(found)))}


def test_what_cannot_be_exported_is_told(tmp_path: Path, atlas: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, culprit in (
        ([], "one of them"), (["four-bar", "--family", "chain"], "one of them"),
        (["four-bar", "--dial", "links=3"], "--family"), (["--family", "chain", "--dial", "links=5:7"], "NAME=VALUE"),
        (["--family", "chain", "--dial", "link=5"], "links"), (["--family", "chai"], "chain"),
        (["--family", "sphere-pile"], "moreau-jean"), (["--family", "chain", "--stride", "2"], "--stride"),
        ([str(atlas), "--set", "mu=1"], "--set"), ([str(atlas), "--stride", "0"], "at least 1"),
        ([str(atlas), "--formulation", "gauss"], "fits no cell"), (["nowhere.nc"], "no file"),
    ):  # fmt: skip
        assert run(["export", "--formulation", "lcp", *words, "--out", str(tmp_path / "out")]) == 2
        said = capsys.readouterr().err
        assert culprit in said
        assert said.count("\n") == 1
        assert not list(tmp_path.glob("out/*"))
    damaged = bytearray(atlas.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "damaged.nc").write_bytes(damaged)
    assert run(["export", str(tmp_path / "damaged.nc"), "--formulation", "lcp", "--out", str(tmp_path / "out")]) == 2
    assert "checksum is wrong" in capsys.readouterr().err
