"""MuJoCo: the same mechanism as bodies with planar joints, closed by its soft `connect` constraints.

Two models. `tree`: hinges where a joint tree spans the mechanism, `connect` for the pins that close loops; MuJoCo's
natural form. `absolute`: every body free in the plane, `connect` for every pin; our coordinates.

Equality constraints of MuJoCo are springs: their acceleration is d times a reference -b v - k r and (1 - d) times the
unconstrained one. `hard` takes the largest d there is, 0.9999, the exact diagonal of the constraints' inverse inertia
to scale it, and k from a time constant of two steps, the smallest that MuJoCo recommends. Of the settings tried these
gave the smallest error; a tighter tolerance of the solver changes the time only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import numpy as np
from mechanisms import GROUND, Body, Mechanism, Pair
from numpy.typing import NDArray

from rivals.interface import Rival, Run, per_mark
from rivals.joint_trees import Hinge, JointTree

if TYPE_CHECKING:
    import mujoco

DOES_MORE = "bodies in space, collisions, soft contacts, actuators, sensors; redundant constraints"
PACKAGES = ("mujoco",)


@dataclass(frozen=True)
class Settings:
    """How MuJoCo is told to simulate.

    Attributes
    ----------
    integrator : "RK4", "implicit", "implicitfast" or "Euler"
    tree : hinges where a tree spans the mechanism, or free bodies
    hard : constraints as hard as they may be, or MuJoCo's defaults
    """

    integrator: str = "RK4"
    tree: bool = True
    hard: bool = True


def model_xml(mechanism: Mechanism, dt: float, settings: Settings) -> str:
    """The mechanism in MJCF, for steps of `dt` seconds."""
    spanned = JointTree.of(mechanism) if settings.tree else JointTree({}, mechanism.pins)
    hardness = f' solref="{2 * dt:.17g} 1" solimp="0.9999 0.9999 0.001 0.5 2"' if settings.hard else ""
    exact = ' diagexact="enable"' if settings.hard else ""
    springs = _springs(mechanism)
    children: dict[int, list[int]] = {body: [] for body in (GROUND, *range(len(mechanism.bodies)))}
    for body in range(len(mechanism.bodies)):
        children[spanned.hinges[body].parent if body in spanned.hinges else GROUND].append(body)

    lines: list[str] = []
    stack: list[int | None] = list(reversed(children[GROUND]))
    while stack:  # without recursion: a chain of a thousand links is a thousand levels deep
        top = stack.pop()
        if top is None:
            lines.append("</body>")
            continue
        lines.extend(_body(mechanism, top, spanned.hinges.get(top), springs))
        stack.append(None)
        stack.extend(reversed(children[top]))
    equalities = "\n".join(
        f'<connect body1="{_name(pin.second)}" body2="{_name(pin.first)}" anchor="{_triple(pin.at_second)}"{hardness}/>'
        for pin in spanned.loops
    )
    return f"""<mujoco model={quoteattr(mechanism.name)}>
<compiler angle="radian" inertiafromgeom="false" boundmass="0" boundinertia="0"/>
<option timestep="{dt:.17g}" gravity="0 {-mechanism.gravity:.17g} 0" integrator="{settings.integrator}">
<flag contact="disable"{exact}/></option>
<worldbody>
{chr(10).join(lines)}
</worldbody>
<equality>
{equalities}
</equality>
</mujoco>"""


def build(mechanism: Mechanism, dt: float, settings: Settings) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Model and data at the start."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(model_xml(mechanism, dt, settings))
    data = mujoco.MjData(model)
    for torque in mechanism.torques:
        data.xfrc_applied[body_id(model, torque.body), 5] = torque.value
    return model, data


def body_id(model: mujoco.MjModel, body: int) -> int:
    """MuJoCo's number of a body."""
    import mujoco

    return int(mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, _name(body)))


def hinge_address(model: mujoco.MjModel, body: int) -> int:
    """Where the hinge of a body lies in qpos."""
    import mujoco

    return int(model.jnt_qposadr[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, f"hinge {body}")])


def prepare(mechanism: Mechanism, dt: float, steps: int, marks: int, settings: Settings) -> Run:
    """A run by `mj_step`, whose loop from mark to mark is in C; the watched body hangs on the ground."""
    model, data = build(mechanism, dt, settings)
    run = stepping(model, data, per_mark(steps, marks), marks, hinge_address(model, mechanism.watch))
    turned = mechanism.bodies[mechanism.watch].angle
    return lambda: run() + turned


def stepping(model: mujoco.MjModel, data: mujoco.MjData, each: int, marks: int, address: int) -> Run:
    """A run by `mj_step` from the state that `data` has now; returns qpos[address] at every mark, (marks,)."""
    import mujoco

    state = mujoco.mjtState.mjSTATE_FULLPHYSICS
    begin = full_state(model, data)

    def run() -> NDArray[np.float64]:
        angles = np.empty(marks)
        mujoco.mj_setState(model, data, begin, state)
        data.qacc_warmstart[:] = 0.0
        for k in range(marks):
            mujoco.mj_step(model, data, nstep=each)
            angles[k] = data.qpos[address]
        return angles

    return run


def full_state(model: mujoco.MjModel, data: mujoco.MjData) -> NDArray[np.float64]:
    """All of a state that the next step depends on, flat."""
    import mujoco

    found = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, found, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    return found


def rollouts(mechanism: Mechanism, dt: float, steps: int, torques: NDArray[np.float64], threads: int) -> Run:
    """Many motions at once by `mujoco.rollout`, each with a torque of its own, (k,) N m; returns the last angles, (k,).

    RK4 and hard constraints. All states of all motions are written, as `rollout` has it.
    """
    import mujoco
    import mujoco.rollout

    model, data = build(mechanism, dt, Settings())
    datas = [data, *(mujoco.MjData(model) for _ in range(threads - 1))]
    begin = full_state(model, data)
    forces = np.zeros((len(torques), 1, 6 * model.nbody))
    forces[:, 0, 6 * body_id(model, mechanism.torques[0].body) + 5] = torques
    states = np.empty((len(torques), steps, len(begin)))
    pool = mujoco.rollout.Rollout(nthread=threads)
    column = 1 + hinge_address(model, mechanism.watch)  # behind the time
    turned = mechanism.bodies[mechanism.watch].angle

    def run() -> NDArray[np.float64]:
        pool.rollout(
            model, datas, begin[None, :], forces, control_spec=int(mujoco.mjtState.mjSTATE_XFRC_APPLIED),
            nstep=steps, state=states,
        )  # fmt: skip
        return states[:, -1, column] + turned

    return run


def _springs(mechanism: Mechanism) -> dict[int, str]:
    """Spring and damper of guided bodies, as attributes of their slide."""
    return {
        s.body: f'stiffness="{s.stiffness:.17g}" damping="{s.damping:.17g}" '
        f'springref="{s.rest - mechanism.bodies[s.body].place[0]:.17g}"'
        for s in mechanism.springs
    }


def _body(mechanism: Mechanism, body: int, hinge: Hinge | None, springs: dict[int, str]) -> Sequence[str]:
    b = mechanism.bodies[body]
    place, angle, at = b.place, b.angle, (0.0, 0.0)
    if hinge is not None:
        at = hinge.at_own
        if hinge.parent != GROUND:
            angle -= mechanism.bodies[hinge.parent].angle
            c, s = np.cos(angle), np.sin(angle)
            place = (hinge.at_parent[0] - c * at[0] + s * at[1], hinge.at_parent[1] - s * at[0] - c * at[1])
    lines = [
        f'<body name="{_name(body)}" pos="{_triple(place)}" euler="0 0 {angle:.17g}">',
        f'<inertial pos="0 0 0" mass="{b.mass:.17g}" diaginertia="{_inertia(b)}"/>',
    ]
    if b.guided:
        lines.append(f'<joint name="slide {body}" type="slide" axis="1 0 0" {springs.get(body, "")}/>')
    else:
        if hinge is None:
            c, s = np.cos(b.angle), np.sin(b.angle)  # axes are the body's own
            lines.append(f'<joint type="slide" axis="{c:.17g} {-s:.17g} 0"/>')
            lines.append(f'<joint type="slide" axis="{s:.17g} {c:.17g} 0"/>')
        lines.append(f'<joint name="hinge {body}" type="hinge" axis="0 0 1" pos="{_triple(at)}"/>')
    return lines


def _inertia(body: Body) -> str:
    """About all axes the one about z; a guided body does not turn, but MuJoCo wants a number."""
    return " ".join([f"{body.mass if body.guided else body.inertia:.17g}"] * 3)


def _triple(at: Pair) -> str:
    return f"{at[0]:.17g} {at[1]:.17g} 0"


def _name(body: int) -> str:
    return "world" if body == GROUND else f"body {body}"


def _rival(name: str, sizes: tuple[float, ...], settings: Settings) -> Rival:
    run = partial(prepare, settings=settings)
    return Rival(f"MuJoCo {name}", DOES_MORE, "C", "mujoco", PACKAGES, prepare=run, sizes=sizes)


RK4_HARD = _rival("RK4, hard constraints", (1e-3, 5e-4, 2.5e-4, 1e-4), Settings())
RK4 = _rival("RK4, default settings", (1e-3, 2.5e-4), Settings(hard=False))
RK4_ABSOLUTE = _rival("RK4, hard constraints, absolute coordinates", (1e-3, 2.5e-4), Settings(tree=False))
IMPLICIT_HARD = _rival("implicitfast, hard constraints", (1e-3, 1e-4), Settings("implicitfast"))
IMPLICIT = _rival("implicitfast, default settings", (1e-3, 1e-4), Settings("implicitfast", hard=False))
RIVALS = (RK4_HARD, RK4, RK4_ABSOLUTE, IMPLICIT_HARD, IMPLICIT)
