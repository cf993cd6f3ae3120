"""MuJoCo in space: a pyramid of spheres, whose impulses of one step are judged by Coulomb's law, and a held capsule.

Contacts are elliptic cones. Of a step with velocities v, accelerations a0 without contacts and rows J of the contacts,
Coulomb's law is posed for the velocities after it: W = J M^-1 J^T and q = J (v + dt a0). MuJoCo's impulses are its
constraint forces times dt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import gaussopt as go

if TYPE_CHECKING:
    import mujoco

RADIUS, OVERLAP = 0.01, 1e-6
"""Of a sphere; how far spheres overlap at the start, so that they touch, m."""


class Step(NamedTuple):
    """A step of MuJoCo: the problem by Coulomb's law, MuJoCo's impulses, and what computes them once more."""

    problem: go.ConeComplementarity
    r: NDArray[np.float64]
    again: Any


def pyramid(layers: int, mu: float, dt: float, steps: int, impratio: float = 1.0) -> Step:
    """The step after so many of a pyramid of spheres of 1000 kg/m^3 on the floor."""
    import mujoco

    side = 2.0 * RADIUS - OVERLAP
    bodies = [
        (side * (x + 0.5 * layer), side * (y + 0.5 * layer), RADIUS - OVERLAP + side * np.sqrt(0.5) * layer)
        for layer in range(layers) for x in range(layers - layer) for y in range(layers - layer)
    ]  # fmt: skip
    ball = f'<freejoint/><geom type="sphere" size="{RADIUS}" density="1000"/>'
    spheres = "\n".join(f'<body pos="{x:.17g} {y:.17g} {z:.17g}">{ball}</body>' for x, y, z in bodies)
    model, data = _model('<geom type="plane" size="9 9 1"/>' + spheres, mu, dt, impratio)
    mujoco.mj_step(model, data, nstep=steps)
    mujoco.mj_forward(model, data)
    problem, r = _posed(model, data)
    return Step(problem, r, lambda: mujoco.mj_forward(model, data))


def creep(t_end: float, dt: float, impratio: float, noslip: int = 0) -> float:
    """How far the capsule of `pinched-capsule` sinks between finger and wall, m."""
    import mujoco

    p = go.problem("pinched-capsule").parameter_values
    across = p["m"] * (3 * p["r"] ** 2 + p["length"] ** 2) / 12
    inertia = f"{across:.17g} {across:.17g} {p['m'] * p['r'] ** 2 / 2:.17g}"
    thick = 0.01
    parts = f"""<geom type="plane" size="1 1 1" pos="{p["r"]} 0 0" zaxis="-1 0 0"/>
<body name="capsule"><freejoint/><inertial pos="0 0 0" mass="{p["m"]}" diaginertia="{inertia}"/>
<geom type="capsule" size="{p["r"]} {p["length"] / 2}"/></body>
<body pos="{-p["r"] - thick} 0 0"><joint type="slide" axis="1 0 0"/><inertial pos="0 0 0" mass="{p["M"]}"
 diaginertia="1 1 1"/><geom type="box" size="{thick} 0.1 0.1"/></body>"""
    model, data = _model(parts, p["mu"], dt, impratio, noslip)
    data.qfrc_applied[6] = p["F"]
    settled = round(1.0 / dt)  # the springs of the contacts take up their load first
    mujoco.mj_step(model, data, nstep=settled)
    begin = float(data.qpos[2])
    mujoco.mj_step(model, data, nstep=round(t_end / dt))
    return begin - float(data.qpos[2])


def _model(parts: str, mu: float, dt: float, impratio: float, noslip: int = 0) -> tuple[mujoco.MjModel, mujoco.MjData]:
    import mujoco

    model = mujoco.MjModel.from_xml_string(f"""<mujoco>
<option timestep="{dt}" gravity="0 0 -9.81" cone="elliptic" jacobian="dense"
 impratio="{impratio}" noslip_iterations="{noslip}"/>
<default><geom condim="3" friction="{mu} 0 0"/></default>
<worldbody>{parts}</worldbody></mujoco>""")
    return model, mujoco.MjData(model)


def _posed(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[go.ConeComplementarity, NDArray[np.float64]]:
    """Coulomb's law for the velocities after a step, and MuJoCo's impulses."""
    import mujoco

    J = np.array(data.efc_J).reshape(-1, model.nv)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    dt = model.opt.timestep
    W = J @ np.linalg.solve(M, J.T)
    q = J @ (data.qvel + dt * data.qacc_smooth)
    mu = np.array([contact.friction[0] for contact in data.contact])
    problem = go.ConeComplementarity(0.5 * (W + W.T), q, mu)
    return problem, dt * np.array(data.efc_force)
