"""A mechanism as a model of Pinocchio, of its own joints or of URDF, with places and frames that close loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

import gaussopt as go

from . import rows
from .fixed import Array, cross, dot, floats, rotation, zeros
from .in_mujoco import moving_of, of_free, of_joint, relative, tree_of
from .measures import Measure, rates
from .parts import GROUND, Mechanism, Seen, State


def placement(R: Array, s: Array) -> Any:
    return pin.SE3(floats(R), floats(s))


def depth_first(parents: dict[int, Any], under: int = GROUND) -> list[int]:
    """All bodies so that those behind a joint follow it without others between, as crba of Pinocchio takes them."""
    found = []
    for i, joint in parents.items():
        if (GROUND if joint is None else joint.a.body) == under:
            found += [i, *depth_first(parents, i)]
    return found


class Expressed:
    """A mechanism in Pinocchio's coordinates."""

    def __init__(self, made: Mechanism) -> None:
        self.made, self.parents = made, tree_of(made)
        self.tree = [j for j in self.parents.values() if j is not None and j.kind != "free"]
        model = pin.Model()
        model.gravity = pin.Motion(floats(made.gravity), np.zeros(3))
        self.joint_of: dict[int, int] = {GROUND: 0}
        self.frame_of: dict[int, Any] = {GROUND: pin.SE3.Identity()}
        for i in depth_first(self.parents):
            joint = self.parents[i]
            free = joint is None or joint.kind == "free"
            parent = GROUND if joint is None else joint.a.body
            if free:
                kind, near, far = pin.JointModelFreeFlyer(), pin.SE3.Identity(), pin.SE3.Identity()
                parent = GROUND
            else:
                near, far = (placement(end.A, end.s) for end in (joint.a, joint.b))
                if joint.kind == "weld":
                    place, e = relative(made.state, parent, i)
                    self.joint_of[i] = self.joint_of[parent]
                    self.frame_of[i] = self.frame_of[parent] * placement(rotation(e), place)
                    model.appendBodyToJoint(self.joint_of[i], self._inertia(i), self.frame_of[i])
                    continue
                kind = {"revolute": pin.JointModelRX, "prismatic": pin.JointModelPX,
                        "spherical": pin.JointModelSpherical}[joint.kind]()  # fmt: skip
            number = model.addJoint(self.joint_of[parent], kind, self.frame_of[parent] * near, f"B{i}")
            self.joint_of[i], self.frame_of[i] = number, far.inverse()
            model.appendBodyToJoint(number, self._inertia(i), self.frame_of[i])
        self.model = model
        self.loops = self._loops()

    def _inertia(self, i: int) -> Any:
        body = self.made.bodies[i]
        return pin.Inertia(float(floats(body.mass)), np.zeros(3), floats(body.inertia))

    def _loops(self) -> list[Any]:
        used, found = {joint.name for joint in self.parents.values() if joint is not None}, []
        for joint in self.made.joints:
            if joint.name not in used:
                kind = pin.ContactType.CONTACT_3D if joint.kind == "spherical" else pin.ContactType.CONTACT_6D
                sides: list[Any] = []
                for end in (joint.a, joint.b):
                    sides += [self.joint_of[end.body], self.frame_of[end.body] * placement(end.A, end.s)]
                found.append(pin.RigidConstraintModel(kind, self.model, *sides, pin.ReferenceFrame.LOCAL))
        return found

    def step(self, state: State) -> tuple[Any, list[Measure]]:
        """Step data of a state, and what its coordinates are."""
        model, found, moving = self.model, list[Measure](), moving_of(state)
        q, v = pin.neutral(model), np.zeros(model.nv)
        for i, joint in self.parents.items():
            free = joint is None or joint.kind == "free"
            if joint is not None and joint.kind == "weld":
                continue
            own = model.joints[self.joint_of[i]]
            measure = of_free(i, state, own.idx_v) if free else of_joint(joint, state, own.idx_v)  # type: ignore[arg-type]
            assert measure is not None
            if free:
                w, x, y, z = floats(state.e[i])
                q[own.idx_q : own.idx_q + 7] = [*floats(state.r[i]), x, y, z, w]
                measure = self._local(measure, i, state)
            elif joint.kind == "spherical":  # type: ignore[union-attr]
                a, b = Seen(joint.a, state), Seen(joint.b, state)  # type: ignore[union-attr]
                turn = pin.Quaternion(floats(dot(a.axes, b.axes.T))).normalized()
                q[own.idx_q : own.idx_q + 4] = turn.coeffs()
                measure = Measure(measure.at, measure.values, [rows.turning(a, b, u, b) for u in b.axes])
            else:
                q[own.idx_q] = float(floats(measure.values[0]))
            v[measure.at] = floats(rates(measure, moving))
            found.append(measure)
        return go.from_pinocchio(model, q, v, loops=self.loops), found

    def _local(self, measure: Measure, i: int, state: State) -> Measure:
        """Of a free body: its velocity too is seen in its own frame, which turns."""
        axes = state.R[i].T
        lines = []
        for n in axes:
            # The rate of n . v is n . a + (omega x n) . v.
            dn = cross(state.w[i], n)
            lines.append(rows.line((i, n, zeros(3)), level=-int(dot(dn, state.v[i]))))
        return Measure(measure.at, measure.values, lines + measure.lines[3:])
