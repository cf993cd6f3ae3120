"""Mechanisms in space, ours by `go.Model` and MuJoCo's: a hanging chain of rods joined by balls, a Stewart platform.

Both start at rest but for a slow turn, from the same place; the same point is compared. Of the platform MuJoCo has
hinges and slides in the legs and a `connect` under the top, ours a Cardan joint, a slide and a ball in each leg.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import gaussopt as go
from gaussopt.bodies import Prismatic, Spherical, SpringDamper, Universal

Vector = NDArray[np.float64]
FOOT, HEAD, HEIGHT = 0.6, 0.35, 0.7
STIFFNESS, DAMPING, STRETCH = 4000.0, 60.0, 0.02
TURN, SHIFT, SPIN = 0.1, (0.2, 0.1, 0.0), (0.3, -0.2, 0.5)


@dataclass(frozen=True)
class SpaceMechanism:
    """A mechanism of both engines.

    Attributes
    ----------
    name, problem
    point : (q,) -> (3,), the point that is compared, m
    xml : MuJoCo's model for a step, s
    begin : fills in MuJoCo's velocities
    end : MuJoCo's data -> (3,), the point
    """

    name: str
    problem: go.Problem
    point: Callable[[Vector], Vector]
    xml: Callable[[float], str]
    begin: Callable[[object, object], None]
    end: Callable[[object], Vector]


def chain(rods: int) -> SpaceMechanism:
    """Rods of 1 m and 1 kg, held horizontally and let go."""
    model, s = go.Model(dim=3, gravity=(0, 0, -9.81), name=f"chain-of-{rods}-balls"), 2**-0.5
    before, end = model.ground, (0.0, 0.0, 0.0)
    for i in range(rods):
        rod = model.body(
            f"r{i}", 1.0, (1 / 12, 1 / 12, 1e-3), at=(i + 0.5, 0, 0), angle=(s, 0, s, 0),
            velocity=(0, TURN * (i + 0.5), 0), spin=(0, 0, TURN),
        )  # fmt: skip
        model.add(Spherical(f"ball {i}", before.at(*end), rod.at(0, 0, -0.5)))
        before, end = rod, (0.0, 0.0, 0.5)
    inertia = f'<inertial pos=".5 0 0" mass="1" diaginertia="1e-3 {1 / 12!r} {1 / 12!r}"/>'
    links = "".join(f'<body pos="{min(i, 1)} 0 0"><joint type="ball"/>{inertia}' for i in range(rods))
    tree = f'{links}<site name="end" pos="1 0 0"/>{"</body>" * rods}'

    def begin(_: object, data: object) -> None:
        data.qvel[2] = TURN  # type: ignore[attr-defined]

    return SpaceMechanism(
        f"chain of {rods} rods joined by balls", model.problem(t_end=1.0), _rod_end,
        lambda dt: f'<mujoco><option timestep="{dt!r}" integrator="RK4"/><worldbody>{tree}</worldbody></mujoco>', begin,
        lambda data: np.array(data.site_xpos[0]),  # type: ignore[attr-defined]
    )  # fmt: skip


def _rod_end(q: Vector) -> Vector:
    w, x, y, z = q[-4:]
    return q[-7:-4] + 0.5 * np.array([2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z])


Leg = tuple[Vector, Vector, float, Vector, Vector]


def platform_problem(coordinates: str) -> tuple[go.Problem, list[Leg]]:
    """Six legs of two tubes under a top of 20 kg; 13 bodies."""
    model = go.Model(dim=3, gravity=(0, 0, -9.81), coordinates=coordinates, name=f"stewart-{coordinates}")
    top = model.body("top", 20.0, (0.8, 0.8, 1.5), at=(0, 0, HEIGHT), spin=SPIN, velocity=SHIFT)
    legs: list[Leg] = []
    for i in range(6):
        foot, head = (
            _polar(FOOT, 120 * (i // 2) + (-10 if i % 2 else 10)),
            _polar(HEAD, 120 * (i // 2) + (-50 if i % 2 else 50)),
        )
        axis = head - foot + np.array([0, 0, HEIGHT])
        length = float(np.linalg.norm(axis))
        axis /= length
        across = np.cross([0, 1, 0], axis)
        across /= np.linalg.norm(across)
        frame = np.column_stack([across, np.cross(axis, across), axis])
        quaternion = _quaternion(frame)
        low = model.body(f"low{i}", 1.5, (0.02, 0.02, 0.001), at=foot + 0.2 * axis, angle=quaternion)
        up = model.body(f"up{i}", 1.0, (0.015, 0.015, 0.0005), at=foot + (length - 0.2) * axis, angle=quaternion)
        spring = SpringDamper(
            f"spring{i}", model.ground.at(*foot), top.at(*head), stiffness=STIFFNESS, length=length + STRETCH,
            damping=DAMPING,
        )  # fmt: skip
        for part in (
            Universal(f"U{i}", model.ground.at(*foot, axis=(0, 1, 0)), low.at(0, 0, -0.2, axis=(1, 0, 0))),
            Prismatic(f"P{i}", low.at(0, 0, 0, axis=(0, 0, 1)), up.at(0, 0, 0, axis=(0, 0, 1))),
            Spherical(f"S{i}", up.at(0, 0, 0.2), top.at(*head)),
            spring,
        ):
            model.add(part)
        legs.append((foot, head, length, frame, quaternion))
    return model.problem(t_end=1.0), legs


def platform() -> SpaceMechanism:
    """The platform in the default coordinates."""
    problem, legs = platform_problem("maximal")
    at = problem.system.coordinates(problem.system.n).index("x_top")

    def begin(model: object, data: object) -> None:
        start = problem.v0[at : at + 7]
        data.qvel[-6:] = [*start[:3], *(2 * start[4:])]  # type: ignore[attr-defined]
        J = go.from_mujoco(model, data).J
        data.qvel[:-6] = -np.linalg.solve(J[:, :-6], J[:, -6:] @ data.qvel[-6:])  # type: ignore[attr-defined]

    return SpaceMechanism(
        "Stewart platform, 13 bodies", problem,
        lambda q: q[at : at + 3], lambda dt: _platform_xml(legs, dt), begin,
        lambda data: np.array(data.qpos[-7:-4]),  # type: ignore[attr-defined]
    )  # fmt: skip


def _polar(radius: float, degrees: float) -> Vector:
    angle = np.radians(degrees)
    return np.array([radius * np.cos(angle), radius * np.sin(angle), 0.0])


def _quaternion(frame: Vector) -> Vector:
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(frame).as_quat(scalar_first=True))


def _platform_xml(legs: list[Leg], dt: float) -> str:
    def text(v: Vector) -> str:
        return " ".join(repr(float(x)) for x in v)

    bodies = sites = tendons = equal = ""
    for i, (foot, head, length, frame, quaternion) in enumerate(legs):
        bodies += (
            f'<body pos="{text(foot)}" quat="{text(quaternion)}">'
            f'<joint type="hinge" axis="{text(frame.T @ [0, 1, 0])}"/>'
            f'<joint type="hinge" axis="1 0 0"/><inertial pos="0 0 .2" mass="1.5" diaginertia=".02 .02 .001"/>'
            f'<site name="f{i}"/><body name="up{i}"><joint type="slide" axis="0 0 1"/>'
            f'<inertial pos="0 0 {length - 0.2!r}" mass="1" diaginertia=".015 .015 .0005"/></body></body>'
        )
        sites += f'<site name="h{i}" pos="{text(head)}"/>'
        equal += f'<connect body1="top" body2="up{i}" anchor="{text(head)}" solref="-1e6 -2e3"/>'
        tendons += (
            f'<spatial stiffness="{STIFFNESS}" damping="{DAMPING}" springlength="{length + STRETCH!r}">'
            f'<site site="f{i}"/><site site="h{i}"/></spatial>'
        )
    inertia = '<inertial pos="0 0 0" mass="20" diaginertia=".8 .8 1.5"/>'
    top = f'<body name="top" pos="0 0 {HEIGHT}"><freejoint/>{inertia}{sites}</body>'
    return (
        f'<mujoco><option timestep="{dt!r}" integrator="RK4"/><worldbody>{bodies}{top}</worldbody>'
        f"<tendon>{tendons}</tendon><equality>{equal}</equality></mujoco>"
    )
