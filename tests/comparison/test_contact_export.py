"""The contact problems of a motion in space as files of another code: what they hold, and what is refused."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.comparison.contact_export import export_contacts


def test_a_sliding_cube_is_written_in_velocities(tmp_path: Path) -> None:
    cube = go.problem("sliding-cube")
    found = export_contacts(cube, tmp_path / "cube", stride=3, t_end=0.07)
    assert found["certified"] == len(found["files"]) == 3
    p, speed = cube.parameter_values, float(np.hypot(*cube.v0[:2]))
    for i, name in enumerate(found["files"]):
        assert name == f"sliding-cube-i{3 * i:05d}-4.hdf5"
        problem = go.read_problem(tmp_path / "cube" / name)
        assert isinstance(problem, go.ConeComplementarity)
        with h5py.File(tmp_path / "cube" / name) as file:
            r, u = file["solution/r"][()], file["solution/u"][()].reshape(-1, 3)
            assert f"t = {3 * i * cube.dt:.9g} s".encode() in file["fclib_local/info/title"][()]
        assert np.allclose(u.ravel(), problem.u(r), rtol=0, atol=1e-15)
        after = speed - p["mu"] * p["g"] * (3 * i + 1) * cube.dt
        assert np.abs(u[:, 0]).max() <= 1e-12
        assert np.hypot(u[:, 1], u[:, 2]) == pytest.approx(after, abs=1e-9)


def test_what_cannot_be_exported_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, culprit in (
        (["two-bar", "--formulation", "moreau-jean"], "are not in space"),
        (["sliding-cube", "--formulation", "coulomb-soccp"], "export moreau-jean"),
        (["sliding-cube", "--formulation", "moreau-jean", "--reference", "own motion"], "--reference does not apply"),
        (["sliding-cube", "--formulation", "moreau-jean", "--stride", "0"], "at least 1"),
    ):
        assert run(["export", *words, "--out", str(tmp_path / "out")]) == 2
        assert culprit in capsys.readouterr().err
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    with pytest.raises(go.BadInput, match="is not empty"):
        export_contacts(go.problem("sliding-cube"), tmp_path / "full")
