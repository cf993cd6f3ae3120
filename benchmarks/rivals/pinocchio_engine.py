"""Pinocchio: joint coordinates and rigid loop constraints; the wheel has no integrator, the loop is in Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from mechanisms import GROUND, Mechanism, Pair
from numpy.typing import NDArray

from rivals.interface import Rival, Run, per_mark
from rivals.joint_trees import JointTree

DOES_MORE = "robots in space, analytical derivatives, collisions, contact solvers; redundant constraints"
ACCURACY, REGULARISATION, ITERATIONS = 1e-14, 1e-10, 20
"""Residual, mu and most iterations of the proximal solver, for constraints that hold to rounding."""

Vector = NDArray[np.float64]


def prepare(mechanism: Mechanism, dt: float, steps: int, marks: int) -> Run:
    """RK4 over `constraintDynamics`."""
    acceleration, size, column = dynamics(mechanism)
    each, turned = per_mark(steps, marks), mechanism.bodies[mechanism.watch].angle
    half, sixth = dt / 2, dt / 6

    def run() -> Vector:
        q, v, angles = np.zeros(size), np.zeros(size), np.empty(marks)
        for k in range(marks):
            for _ in range(each):
                a1 = acceleration(q, v)
                v2 = v + half * a1
                a2 = acceleration(q + half * v, v2)
                v3 = v + half * a2
                a3 = acceleration(q + half * v2, v3)
                v4 = v + dt * a3
                a4 = acceleration(q + dt * v3, v4)
                q = q + sixth * (v + 2 * (v2 + v3) + v4)
                v = v + sixth * (a1 + 2 * (a2 + a3) + a4)
            angles[k] = q[column]
        return angles + turned

    return run


def dynamics(mechanism: Mechanism) -> tuple[Callable[[Vector, Vector], Vector], int, int]:
    """Accelerations of the joints, from zero at the start, their number, and the joint of the watched body."""
    import pinocchio as pin

    spanned = JointTree.of(mechanism)
    model, joints = pin.Model(), {GROUND: 0}
    model.gravity.linear = np.array([0.0, -mechanism.gravity, 0.0])
    # Subtrees must be numbered in one piece; otherwise constraintDynamics gives wrong accelerations without a word.
    for body in (*(i for i, b in enumerate(mechanism.bodies) if b.guided), *spanned.depth_first()):
        b = mechanism.bodies[body]
        if b.guided:
            joint, parent, place, turn = pin.JointModelPX(), GROUND, b.place, 0.0
        else:
            hinge = spanned.hinges[body]
            joint, parent = pin.JointModelRZ(), hinge.parent
            place = _from_joint(spanned, parent, hinge.at_parent)
            turn = b.angle - (0.0 if parent == GROUND else mechanism.bodies[parent].angle)
        joints[body] = model.addJoint(joints[parent], joint, _frame(place, turn), f"joint {body}")
        inertia = pin.Inertia(b.mass, _vector(_from_joint(spanned, body, (0.0, 0.0))), b.inertia * np.eye(3))
        model.appendBodyToJoint(joints[body], inertia, pin.SE3.Identity())

    constraints, states = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for loop in spanned.loops:
        places = [_frame(_from_joint(spanned, b, at)) for b, at in (
            (loop.first, loop.at_first), (loop.second, loop.at_second))]  # fmt: skip
        constraints.append(pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, model, joints[loop.first], places[0], joints[loop.second], places[1],
            pin.ReferenceFrame.LOCAL))  # fmt: skip
        states.append(constraints[-1].createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, constraints, states)
    proximal = pin.ProximalSettings(ACCURACY, REGULARISATION, ITERATIONS)
    columns = {body: model.joints[j].idx_v for body, j in joints.items() if body != GROUND}
    constant = np.zeros(model.nv)
    for torque in mechanism.torques:
        constant[[columns[body] for body in spanned.above(torque.body)]] += torque.value
    springs = [(columns[s.body], s.stiffness, s.damping, s.rest - mechanism.bodies[s.body].place[0])
               for s in mechanism.springs]  # fmt: skip

    def acceleration(q: Vector, v: Vector) -> Vector:
        force = constant.copy()
        for i, k, c, rest in springs:
            force[i] -= k * (q[i] - rest) + c * v[i]
        found: Vector = pin.constraintDynamics(model, data, q, v, force, constraints, states, proximal)
        return found.copy()

    return acceleration, int(model.nv), columns[mechanism.watch]


def _from_joint(spanned: JointTree, body: int, at: Pair) -> Pair:
    """A point of a body from its joint, whose frame lies in the hinge and turns with the body."""
    own = spanned.hinges[body].at_own if body in spanned.hinges else (0.0, 0.0)
    return at[0] - own[0], at[1] - own[1]


def _frame(at: Pair, turn: float = 0.0) -> object:
    import pinocchio as pin

    return pin.SE3(pin.utils.rotate("z", turn), _vector(at))


def _vector(at: Pair) -> Vector:
    return np.array([at[0], at[1], 0.0])


RIVALS = (Rival("Pinocchio, RK4 in Python", DOES_MORE, "Python", "pinocchio", ("pin",), prepare=prepare),)
