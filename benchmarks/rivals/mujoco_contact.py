"""MuJoCo: the sliding rod and the two bars on a rough floor.

Bodies move in the plane by slides and hinges; a small sphere at each end meets the floor, which lies its radius below.
Contacts are springs and friction an elliptic cone that creeps; with MuJoCo's own settings, and with stiff ones, among
the best of those tried: harder contacts bounce at the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import gaussopt as go
from rivals.interface import Run, per_mark
from rivals.mujoco_engine import stepping

if TYPE_CHECKING:
    import mujoco

RADIUS = 1e-4
"""Of the spheres, m: small against the bars, for they roll as the bars turn."""


@dataclass(frozen=True)
class ContactMotion:
    """A motion with contacts that ends in sliding.

    Attributes
    ----------
    problem : go.Problem
    t_end : s, before the terminal event
    angle : index of the angle that is compared
    """

    problem: go.Problem
    t_end: float
    angle: int

    def reference(self, marks: int) -> NDArray[np.float64]:
        """From event to event with a tight adaptive integrator, (marks,)."""
        interval = self.t_end / marks
        motion = go.simulate(
            self.problem, stepper="dop853", dt=interval, t_end=self.t_end, rtol=1e-12, atol=1e-12, step_folder=None,
            error_estimate=False,
        )  # fmt: skip
        if motion.status is not go.Status.SOLVED:
            raise RuntimeError(f"The reference of {self.problem.label}: {motion.message}")
        at = [int(np.argmin(np.abs(motion.t - interval * (k + 1)))) for k in range(marks)]
        angles: NDArray[np.float64] = motion.q[at, self.angle]
        return angles


def sliding_rod() -> ContactMotion:
    """The rod that slides until it lies flat."""
    return ContactMotion(go.problem("sliding-rod", case="floor"), 0.4, 2)


def two_bar() -> ContactMotion:
    """Both bars on the floor; the slip of C reverses on the way."""
    return ContactMotion(go.problem("two-bar", case="contact"), 0.4, 2)


MOTIONS = {"sliding-rod": sliding_rod, "two-bar": two_bar}


def build(motion: ContactMotion, dt: float, integrator: str, stiff: bool) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Model and data at the start."""
    import mujoco

    bodies, velocity = (_rod if motion.problem.name == "sliding-rod" else _bars)(motion.problem)
    p = motion.problem.parameter_values
    contact = 'solref="0.004 1" solimp="0.99 0.99 0.001 0.5 2"' if stiff else ""
    impratio = ' impratio="10"' if stiff else ""
    xml = f"""<mujoco>
<compiler angle="radian" inertiafromgeom="false" boundmass="0" boundinertia="0"/>
<option timestep="{dt:.17g}" gravity="0 0 {-p["g"]:.17g}" integrator="{integrator}" cone="elliptic"{impratio}/>
<default><geom friction="{p["mu"]:.17g} 0 0" condim="3" {contact}/></default>
<worldbody><geom type="plane" size="100 100 1" pos="0 0 {-RADIUS}" contype="1" conaffinity="0"/>
{bodies}
</worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.qvel[:] = velocity
    return model, data


def prepare(motion: ContactMotion, dt: float, marks: int, integrator: str, stiff: bool) -> Run:
    """A run by `mj_step` to the end of the motion."""
    model, data = build(motion, dt, integrator, stiff)
    run = stepping(model, data, per_mark(round(motion.t_end / dt), marks), marks, 2)
    angle = motion.problem.q0[motion.angle]
    return lambda: angle - run()  # about MuJoCo's y axis, which points into the drawing


def _rod(problem: go.Problem) -> tuple[str, list[float]]:
    p = problem.parameter_values
    (x, y, angle), (vx, vy, w) = problem.q0, problem.v0
    rod = _bar("rod", x, y, angle, p["m"], p["m"] * p["l"] ** 2 / 3, -p["l"])
    return f"{rod}</body>", [vx, vy, -w]


def _bars(problem: go.Problem) -> tuple[str, list[float]]:
    p = problem.parameter_values
    m, half = p["m"], p["l"] / 2
    (x, y, th1, th2), (vx, vy, w1, w2) = problem.q0, problem.v0
    first = _bar("AB", x, y, th1, m, m * p["l"] ** 2 / 12, -half)
    turn = th2 - np.pi / 2 - th1  # BC counts its angle from the vertical
    place = f"{half + half * np.cos(turn):.17g} 0 {half * np.sin(turn):.17g}"
    second = f"""<body name="BC" pos="{place}" euler="0 {-turn:.17g} 0">
{_inertia(m, m * p["l"] ** 2 / 12)}
<joint type="hinge" axis="0 1 0" pos="{-half:.17g} 0 0"/>
<geom type="sphere" size="{RADIUS}" pos="{half:.17g} 0 0" contype="0" conaffinity="1"/></body>"""
    return f"{first}{second}</body>", [vx, vy, -w1, -(w2 - w1)]


def _bar(name: str, x: float, y: float, angle: float, mass: float, inertia: float, end: float) -> str:
    """A bar free in the plane; the height is MuJoCo's z, so that the angle counts about -y."""
    c, s = np.cos(angle), np.sin(angle)  # the axes of joints are the body's own
    return f"""<body name="{name}" pos="{x:.17g} 0 {y:.17g}" euler="0 {-angle:.17g} 0">
{_inertia(mass, inertia)}
<joint type="slide" axis="{c:.17g} 0 {-s:.17g}"/><joint type="slide" axis="{s:.17g} 0 {c:.17g}"/>
<joint type="hinge" axis="0 1 0"/>
<geom type="sphere" size="{RADIUS}" pos="{end:.17g} 0 0" contype="0" conaffinity="1"/>"""


def _inertia(mass: float, inertia: float) -> str:
    return f'<inertial pos="0 0 0" mass="{mass:.17g}" diaginertia="{inertia:.17g} {inertia:.17g} {inertia:.17g}"/>'
