"""`gaussopt batch`: a grid of motions in a folder, which goes on where it was killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import gaussopt as go
from gaussopt.cli.main import run

GRID = ["--axis", "mu=0.1:0.4:7", "--axis", "alpha=0.1:0.5:10", "--dt", "0.01", "--t-end", "0.05", "--threads", "1"]


def test_a_batch_that_was_killed_goes_on_and_is_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["batch", "block-on-incline", *GRID, "--out"]
    killed = tmp_path / "killed"
    process = subprocess.Popen([sys.executable, "-m", "gaussopt", *arguments, str(killed)], stderr=subprocess.DEVNULL)
    while not (killed / "part-0000000.nc").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL  # it was still at work
    kept = {file.name: file.read_bytes() for file in killed.glob("part-*.nc")}
    assert list(kept) == ["part-0000000.nc"]
    assert run([*arguments, str(killed), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["counts"], told["motions"]) == ("solved", {"solved": 70}, 70)
    assert all((killed / name).read_bytes() == content for name, content in kept.items())  # nothing is done twice
    data = go.load_dataset(told["file"])
    for i in (0, 69):
        one = go.problem("block-on-incline", mu=float(data.mu[i]), alpha=float(data.alpha[i]))
        np.testing.assert_array_equal(data.q[i], go.simulate(one, dt=0.01, t_end=0.05, error_estimate=False).q)


def test_a_motion_that_fails_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["batch", "bouncing-ball", "--axis", "e=0.3:0.6:2", "--out", str(tmp_path / "b")]
    assert run(arguments) == 1
    said = capsys.readouterr()
    assert "2 motions of bouncing-ball: 2 accumulation." in said.out
    assert "accumulate" in said.out
    assert run([*arguments, "--accumulation", "close"]) == 2
    assert "other accumulation" in capsys.readouterr().err
