"""A mechanism as a model of MuJoCo: hinges, slides, balls and free joints in trees, connect and weld for loops."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

import gaussopt as go

from . import rows
from .fixed import ONE, Array, cross, dot, floats, mul, rotation, times, unit, zeros
from .judge import Floats, Undecided
from .measures import Measure, rates
from .parts import GROUND, Joint, Mechanism, Point, Seen, State

TREE = {"revolute": "hinge", "prismatic": "slide", "spherical": "ball"}
CLOSING = {"spherical": "connect", "weld": "weld"}
FRAME = np.array([[ONE, 0, 0], [0, ONE, 0], [0, 0, ONE]], dtype=object)


def tree_of(made: Mechanism) -> dict[int, Joint | None]:
    """The joint of every body to one before it, None of a free body; all other joints close loops."""
    found: dict[int, Joint | None] = {}
    for joint in made.joints:
        if joint.b.body not in found and joint.a.body < joint.b.body:
            found[joint.b.body] = joint
    return {i: found.get(i) for i in range(len(made.bodies))}


def relative(state: State, parent: int, child: int) -> tuple[Array, Array]:
    """Place and quaternion of the frame of a body in that of its parent."""
    if parent == GROUND:
        return state.r[child], state.e[child]
    back = state.e[parent] * np.array([1, -1, -1, -1], dtype=object)
    return dot(state.R[parent].T, state.r[child] - state.r[parent]), times(back, state.e[child])


def back_at_zero(made: Mechanism, child: int, joint: Joint) -> tuple[Array, Array]:
    """Where the child is in its parent where the coordinate of the joint is zero."""
    state = made.state
    place, e = relative(state, joint.a.body, child)
    s, axis = joint.a.s, joint.a.A[:, 0]
    a, b = Seen(joint.a, state), Seen(joint.b, state)
    if joint.kind == "prismatic":
        return place - mul(axis, rows.along(a, a.axes[0], b).value or 0), e
    if joint.kind == "revolute":
        half = unit(np.array([int(x) for x in _half(a, b)], dtype=object))
        back = np.concatenate(([half[0]], mul(axis, -half[1])))
        return s + dot(rotation(back), place - s), times(back, e)
    return place, e


def _half(a: Seen, b: Seen) -> tuple[int, int]:
    """Cosine and sine of half the angle of a hinge, of any length."""
    c, s = int(dot(a.axes[1], b.axes[1])), int(dot(cross(a.axes[1], b.axes[1]), a.axes[0]))
    return (ONE + c, s) if c > -ONE // 2 else (s, ONE - c)


def text(values: Any) -> str:
    return " ".join(repr(x) for x in np.ravel(floats(values)).tolist())


def xml_of(made: Mechanism) -> str:
    """MJCF of the mechanism; its bodies have their origins at their centres."""
    tree, sites = tree_of(made), dict[int, list[str]]()
    closing, used = [], {joint.name for joint in tree.values() if joint is not None}
    for joint in made.joints:
        if joint.name in used:
            continue
        for end, label in ((joint.a, "a"), (joint.b, "b")):
            e = quaternion(end.A)
            sites.setdefault(end.body, []).append(
                f'<site name="{joint.name}{label}" pos="{text(end.s)}" quat="{text(e)}"/>'
            )
        closing.append(f'<{CLOSING[joint.kind]} site1="{joint.name}a" site2="{joint.name}b"/>')

    def body(i: int) -> str:
        joint = tree[i]
        if joint is None or joint.kind == "free":
            place, e, motion = made.state.r[i], made.state.e[i], f'<freejoint name="B{i}"/>'
        else:
            place, e = back_at_zero(made, i, joint)
            axis = "" if joint.kind == "spherical" else f' axis="{text(joint.b.A[:, 0])}"'
            motion = ""
            if joint.kind != "weld":
                kind = TREE[joint.kind]
                motion = f'<joint name="{joint.name}" type="{kind}" pos="{text(joint.b.s)}"{axis}/>'
        inertia = made.bodies[i].inertia
        full = text([inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2]])
        own = f'<inertial pos="0 0 0" mass="{text(made.bodies[i].mass)}" fullinertia="{full}"/>'
        inner = "".join(body(k) for k, other in tree.items() if other is not None and other.a.body == i and k != i)
        return f'<body pos="{text(place)}" quat="{text(e)}">{own}{motion}{"".join(sites.get(i, []))}{inner}</body>'

    roots = "".join(body(i) for i, joint in tree.items() if joint is None or joint.a.body == GROUND)
    world = f"<worldbody>{''.join(sites.get(GROUND, []))}{roots}</worldbody>"
    return (
        f'<mujoco><compiler angle="radian" boundmass="0" boundinertia="0" balanceinertia="false"/>'
        f'<option gravity="{text(made.gravity)}"/>'
        f"{world}<equality>{''.join(closing)}</equality></mujoco>"
    )


def quaternion(A: Array) -> Array:
    """Of a rotation matrix, by the largest of four sums."""
    plain = floats(A)
    trace = plain.trace()
    sums = np.array([trace, *np.diag(plain)])
    k = int(np.argmax(sums))
    m = A
    if k == 0:
        e = [ONE + m[0, 0] + m[1, 1] + m[2, 2], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]]
    elif k == 1:
        e = [m[2, 1] - m[1, 2], ONE + m[0, 0] - m[1, 1] - m[2, 2], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]]
    elif k == 2:
        e = [m[0, 2] - m[2, 0], m[0, 1] + m[1, 0], ONE - m[0, 0] + m[1, 1] - m[2, 2], m[1, 2] + m[2, 1]]
    else:
        e = [m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], ONE - m[0, 0] - m[1, 1] + m[2, 2]]
    return unit(np.array(e, dtype=object))


def moving_of(state: State) -> Array:
    return np.concatenate((state.v, state.w), axis=1)


def of_joint(joint: Joint, state: State, at: int) -> Measure | None:
    """What the velocities of a joint of a tree measure, from a place on: of a ball in the frame of the body."""
    a, b = Seen(joint.a, state), Seen(joint.b, state)
    if joint.kind == "revolute":
        return Measure([at], [rows.angle(a, b, a.axes[0])], [rows.turning(a, b, a.axes[0], a)])
    if joint.kind == "prismatic":
        line = rows.along(a, a.axes[0], b)
        return Measure([at], [line.value or 0], [line])
    if joint.kind == "spherical":
        axes = state.R[joint.b.body].T
        return Measure([at, at + 1, at + 2], [0, 0, 0], [rows.turning(a, b, u, b) for u in axes])
    return None


def of_free(i: int, state: State, at: int) -> Measure:
    """Velocity of the centre in the frame of the ground, angular velocity in that of the body."""
    axes, ground = state.R[i].T, Seen(Point(GROUND, zeros(3), FRAME), state)
    own = Seen(Point(i, zeros(3), FRAME), state)
    lines = [rows.line((i, n, zeros(3))) for n in FRAME]
    lines += [rows.turning(ground, own, u, own) for u in axes]
    return Measure(list(range(at, at + 6)), [0] * 6, lines)


class Expressed:
    """A mechanism in MuJoCo's coordinates."""

    def __init__(self, made: Mechanism) -> None:
        self.made = made
        try:
            self.model = mujoco.MjModel.from_xml_string(xml_of(made))
        except ValueError as error:
            if "inertia must have positive eigenvalues" not in str(error):
                raise
            raise Undecided("moments of inertia are below the threshold of MuJoCo's compiler") from None
        self.parents = tree_of(made)
        self.tree = [j for j in self.parents.values() if j is not None and j.kind != "free"]

    def step(self, state: State) -> tuple[Any, list[Measure]]:
        """Step data of a state, and what its coordinates are."""
        model, found = self.model, list[Measure]()
        data = mujoco.MjData(model)
        moving = moving_of(state)
        for i, joint in self.parents.items():
            free = joint is None or joint.kind == "free"
            if joint is not None and joint.kind == "weld":
                continue
            number = model.joint(f"B{i}" if free else joint.name).id  # type: ignore[union-attr]
            place, at = int(model.jnt_qposadr[number]), int(model.jnt_dofadr[number])
            measure = of_free(i, state, at) if free else of_joint(joint, state, at)  # type: ignore[arg-type]
            assert measure is not None
            if free:
                data.qpos[place : place + 7] = [*floats(state.r[i]), *floats(state.e[i])]
            elif joint.kind == "spherical":  # type: ignore[union-attr]
                data.qpos[place : place + 4] = self._ball(joint, state)  # type: ignore[arg-type]
            else:
                data.qpos[place] = float(floats(measure.values[0]))
            data.qvel[measure.at] = floats(rates(measure, moving))
            found.append(measure)
        return go.from_mujoco(model, data), found

    def _ball(self, joint: Joint, state: State) -> Floats:
        """The turn of a child since the model was made, in its own frame then."""
        before = relative(self.made.state, joint.a.body, joint.b.body)[1]
        now = relative(state, joint.a.body, joint.b.body)[1]
        return np.array(floats(times(before * np.array([1, -1, -1, -1], dtype=object), now)))
