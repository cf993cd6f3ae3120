"""Copies of MuJoCo models serve again for an unchanged model, and finished motions keep no system."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import mujoco
import numpy as np
import pytest

import gaussopt as go
from gaussopt.interchange.mujoco_copies import own_copy

BALL = """<mujoco><worldbody><geom type="plane" size="5 5 0.1"/>
<body pos="0 0 0.3"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""


class User:
    """An object that a copy belongs to."""


def test_a_copy_serves_again_unless_it_is_in_use() -> None:
    model, user, other = mujoco.MjModel.from_xml_string(BALL), User(), User()
    first = own_copy(model, user)
    assert own_copy(model, other) is not first
    known = id(first)
    del user, first
    gc.collect()
    assert id(own_copy(model, other)) == known
    kept = own_copy(model, third := User())
    del third
    gc.collect()
    assert own_copy(model, other) is not kept  # someone holds it although its user is gone


@pytest.mark.parametrize("change", ["opt.timestep", "geom_size", "body_mass", "geom_gap", "stat.meaninertia"])
def test_a_copy_equals_the_model_as_it_is_now(change: str) -> None:
    """Also after a motion has changed options and gaps of the copy."""
    model = mujoco.MjModel.from_xml_string(BALL)

    def changed(of: Any, by: float) -> None:
        *path, name = change.split(".")
        part = getattr(of, path[0]) if path else of
        setattr(part, name, getattr(part, name) + by)

    def height(of: Any) -> Any:
        problem = go.problem_from_mujoco(of, mujoco.MjData(of), t_end=0.25)
        return go.simulate(problem, stepper="moreau-jean", error_estimate=False)

    height(model)
    changed(model, 1e-3)
    fresh = mujoco.MjModel.from_xml_string(BALL)
    changed(fresh, 1e-3)
    for name in ("t", "q", "v", "gap", "lam_N"):
        found, wanted = (getattr(height(x), name) for x in (model, fresh))
        np.testing.assert_array_equal(found, wanted, err_msg=name)
    user = User()
    of = own_copy(model, user)
    parts = change.split(".")
    for x in parts:
        of, fresh = getattr(of, x), getattr(fresh, x)
    np.testing.assert_array_equal(of, fresh)


def test_a_finished_motion_keeps_no_system() -> None:
    model = mujoco.MjModel.from_xml_string(BALL)
    problem = go.problem_from_mujoco(model, mujoco.MjData(model), t_end=0.01)
    system = weakref.ref(problem.system)
    motion = go.simulate(problem, stepper="moreau-jean", error_estimate=False)
    assert motion.status == "solved"
    del problem, motion
    gc.collect()
    assert system() is None
