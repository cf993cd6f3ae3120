"""Limits of joints that an equality ties to another joint: motions hold them, or say which of them cannot be held."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from tests.interchange.humanoid import loaded, moved

pytest.importorskip("mujoco", exc_type=ImportError)

TIED = """<mujoco><option timestep="0.002"/><worldbody>
<body><joint name="x" type="slide" axis="0 0 -1" {x}/><geom size=".1" mass="1"/></body>
<body pos="1 0 0"><joint name="y" type="slide" axis="1 0 0" {y}/><geom size=".1" mass=".01"/></body></worldbody>
<equality><joint name="tie" joint1="y" joint2="x" polycoef="{poly}"/></equality></mujoco>"""
"""A body that falls by x, and one that an equality moves by y = poly(x)."""


def tied(poly: str, x: str, y: str, q: Any = (0.0, 0.0), t_end: float = 0.5) -> go.Problem:
    given = {name: f'limited="true" range="{span}"' if span else "" for name, span in (("x", x), ("y", y))}
    return go.problem_from_mujoco(*loaded(TIED.format(poly=poly, **given), q), t_end=t_end)


def test_a_limit_that_an_equality_never_meets_is_left_out_and_named() -> None:
    """y = 1 + x / 2 is at least 1, and at most 0.5 by its limit; x ends at its own limit."""
    start = [0.0, 1.0]
    given = tied("1 .5 0 0 0", "0 .8", "-1 .5", start)
    motion, free = (moved(x, stabilisation="projection") for x in (given, tied("1 .5 0 0 0", "0 .8", "", start)))
    assert motion.status == go.Status.SOLVED
    assert np.array_equal(motion.q, free.q)
    assert motion.q[-1] == pytest.approx([0.8, 1.4], abs=1e-9)
    assert motion.meta["limits_left_out"] == ["y"]
    assert free.meta["limits_left_out"] == []
    assert free.warnings == ()
    assert motion.warnings == ("The limit of joint 'y', -1 to 0.5, is left out, as equality 'tie' keeps it 0.5 beyond "
                               "that or more.",)  # fmt: skip
    again = moved(pickle.loads(pickle.dumps(given)), stabilisation="projection")
    assert np.array_equal(again.q, motion.q)
    assert again.warnings == motion.warnings


@pytest.mark.parametrize(("poly", "start", "end"), [("1 .5 0 0 0", [0.0, 1.0], 0.5), ("0 2 -1 0 0", [0.0, 0.0], 0.5)])
def test_a_limit_that_an_equality_meets_is_held(poly: str, start: list[float], end: float) -> None:
    """y <= 1.25 holds x at 0.5; so does y = 2 x - x^2 <= 0.75, which is met again beyond the range of x."""
    motion = moved(tied(poly, "0 1.2", "-1 1.25" if start[1] else "-1 .75", start), stabilisation="projection")
    assert motion.status == go.Status.SOLVED
    assert motion.q[:, 0].max() == pytest.approx(end, abs=1e-6)
    assert motion.q[-1, 0] == pytest.approx(end, abs=1e-9)
    assert not any("limit" in words for words in motion.warnings)


@pytest.mark.parametrize("start", [(0.0, 0.0), (-0.02, 0.02), (0.005, 3e-4)])
def test_a_range_that_a_limit_divides_is_told_and_held(start: tuple[float, float]) -> None:
    """y = 0.02 x - x^2 / 2 <= 0 allows x = 0 and x >= 0.04: the body does not fall, however its start is off."""
    motion = moved(tied("0 .02 -.5 0 0", "0 1", "-5 0", start), stabilisation="projection")
    assert motion.status == go.Status.SOLVED
    assert motion.q[-1] == pytest.approx([0.0, 0.0], abs=1e-8)
    assert np.abs(motion.q).max() <= 0.05
    assert any(text.startswith("Joint 'x' cannot pass 0 to 0.04 (joint 'y' by 0.0002), where equalities take another")
               for text in motion.warnings)  # fmt: skip
    beyond = moved(tied("0 .02 -.5 0 0", "0 1", "-5 0", (0.1, -0.003)), stabilisation="projection")
    assert beyond.q[-1, 0] == pytest.approx(1.0, abs=1e-9)


def test_a_limit_that_nothing_can_meet_stays_and_throws_nothing() -> None:
    """y is 1, and another joint is y and at most 0.5; what a chain of equalities allows together is not computed."""
    third = '<joint name="z" type="slide" axis="1 0 0" limited="true" range="-1 .5"/><geom size=".1" mass="1"/>'
    xml = TIED.format(poly="1 0 0 0 0", x="", y="").replace("</worldbody>", f"<body>{third}</body></worldbody>")
    xml = xml.replace("</equality>", '<joint joint1="z" joint2="y"/></equality>')
    motion = moved(go.problem_from_mujoco(*loaded(xml, (0.0, 1.0, 1.0)), t_end=0.1), stabilisation="projection")
    assert motion.status == go.Status.SOLVED
    assert motion.q[-1, 1:] == pytest.approx([1.0, 1.0], abs=1e-12)
    assert "Limit 'z, upper limit' stays 0.5 m or rad deep, as nothing can take it apart." in motion.warnings
