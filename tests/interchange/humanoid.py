"""Models of MuJoCo that several test files share, and motions of them.

`HUMANOID` is a body of 24 joints with hands tied together, that stands on a floor.
"""

from __future__ import annotations

from typing import Any

import pytest

import gaussopt as go

mujoco: Any = pytest.importorskip("mujoco", exc_type=ImportError)


def loaded(xml: str, q: Any = None, v: Any = None) -> tuple[Any, Any]:
    """A model and its data, at rest in its own pose if nothing else is given."""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.qpos[:] = data.qpos if q is None else q
    data.qvel[:] = 0.0 if v is None else v
    return model, data


def moved(given: go.Problem, **settings: Any) -> go.Trajectory:
    """Its motion by the steps of Moreau and Jean."""
    return go.simulate(given, stepper="moreau-jean", **{"error_estimate": False, **settings})


LIMB = """
<body name="{s}_{a}" pos="{place}"><joint name="{s}_{a}_1" axis="1 0 0"/><joint name="{s}_{a}_2" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 -.3" size=".05" mass="3"/>
<body name="{s}_{b}" pos="0 0 -.32"><joint name="{s}_{b}" axis="0 1 0" range="-150 10" limited="true"/>
<geom type="capsule" fromto="0 0 0 0 0 -.3" size=".04" mass="2"/>
<body name="{s}_{c}" pos="0 0 -.32"><joint name="{s}_{c}_1" axis="0 1 0"/><joint name="{s}_{c}_2" axis="1 0 0"/>
{end}</body></body></body>"""

FOOT = """
<geom name="{s}_heel" type="sphere" pos="-.06 0 -.03" size=".03" mass=".3" contype="1" conaffinity="1"/>
<geom name="{s}_toe" type="sphere" pos=".12 0 -.03" size=".03" mass=".3" contype="1" conaffinity="1"/>"""

HAND = '<geom type="sphere" size=".04" mass=".4"/>'


def _limbs() -> str:
    leg, arm = ("hip", "knee", "ankle", 0.1, -0.1, FOOT), ("shoulder", "elbow", "wrist", 0.22, 0.45, HAND)
    return "".join(
        LIMB.format(s=s, a=a, b=b, c=c, place=f"0 {side * y} {z}", end=end.format(s=s))
        for s, side in (("left", 1), ("right", -1))
        for a, b, c, y, z, end in (leg, arm)
    )


HUMANOID = f"""<mujoco><option timestep="0.002" iterations="200" tolerance="0"/>
<default><geom contype="0" conaffinity="0"/><joint damping="1"/></default>
<worldbody><geom name="floor" type="plane" size="5 5 .1" contype="1" conaffinity="1" gap=".02"/>
<body name="pelvis" pos="0 0 .8"><freejoint name="root"/>
<geom type="capsule" fromto="0 -.07 0 0 .07 0" size=".09" mass="8"/>
<body name="torso" pos="0 0 .1"><joint name="waist_1" axis="0 0 1"/><joint name="waist_2" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 .4" size=".09" mass="15"/>
<body pos="0 0 .55"><joint name="neck" axis="0 1 0"/><geom type="sphere" size=".1" mass="4"/></body></body>
{_limbs()}</body></worldbody>
<equality><connect name="hands" body1="left_wrist" body2="right_wrist" anchor="0 -.22 0"/></equality></mujoco>"""
