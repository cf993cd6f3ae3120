"""Motions that pass a singular position say so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gaussopt as go
from gaussopt.trajectory import Trajectory


def test_warnings_are_saved_and_loaded(tmp_path: Path) -> None:
    motion = go.simulate("four-bar", t_end=0.01)
    assert motion.warnings == ()
    told = replace(motion, warnings=("One thing.", "And another."))
    for each in (motion, told):
        assert Trajectory.load(each.save(tmp_path / "motion.nc")).warnings == each.warnings
