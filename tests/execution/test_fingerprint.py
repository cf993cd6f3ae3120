"""A problem from a file is more than the file's text: what it reads elsewhere decides results too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gaussopt as go
from gaussopt.core import registry
from gaussopt.processes.environment import fingerprint

READS = """
import json
from pathlib import Path

import sympy as sp
import gaussopt as go

x, v, m, k = sp.symbols("x v m k")
given = json.loads(Path(__file__).with_name("p.json").read_text())
system = go.System.from_lagrangian(
    [x], [v], kinetic=m * v**2 / 2, potential=k * x**2 / 2, parameters={m: 1.0, k: given["k"]})
problem = go.Problem.of(system, q0=[1.0], t_end=0.5, dt=0.01)
"""


def test_a_store_is_not_used_again_where_a_file_that_the_problem_reads_has_changed(
    tmp_path: Path, compare: Callable[..., go.Results]
) -> None:
    (tmp_path / "rd.py").write_text(READS)
    out = tmp_path / "store"

    def first_acceleration(compare: Callable[..., go.Results] = compare) -> tuple[float, int]:
        for name in registry._registered["problem"]:  # another process reads the file anew
            registry._files.pop(("problem", name), None)
        registry._registered["problem"].clear()
        (motion,) = compare(str(tmp_path / "rd.py"), "gauss", "kkt", stride=50, time_budget=0.0, out=out).motions
        found = go.Trajectory.load(out / "cases" / motion.trajectory)
        return float(found.a[0, 0]), len(list(out.glob("cases/*.json")))

    (tmp_path / "p.json").write_text('{"k": 1.0}')
    assert first_acceleration() == (pytest.approx(-1.0), 2)
    assert first_acceleration() == (pytest.approx(-1.0), 2)
    (tmp_path / "p.json").write_text('{"k": 100.0}')
    # The process that computed so far has read the file.
    assert first_acceleration(go.compare) == (pytest.approx(-100.0), 4)


def _plain(stiffness: float, far: float = 0.0) -> go.Problem:
    def force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return -stiffness * q + far * np.maximum(q - 1.0, 0.0)

    return go.Problem.of(go.System(np.eye(1), force), q0=[1.0], t_end=1.0, name="plain")


def test_whatever_decides_a_motion_counts() -> None:
    plain = _plain(1.0)
    assert fingerprint(plain) == fingerprint(_plain(1.0))
    others = [
        _plain(2.0), _plain(1.0, 3.0), plain.at(q0=[2.0]), plain.at(v0=[2.0]), replace(plain, t_end=2.0),
        replace(plain, dt=0.2),
    ]  # fmt: skip
    assert len({fingerprint(entry) for entry in (plain, *others)}) == 1 + len(others)
