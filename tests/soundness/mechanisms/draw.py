"""Random mechanisms: poses first, then joints through places and axes of the ground, so that every loop is closed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .dials import drawn
from .fixed import ONE, Array, cross, div, dot, fixed, mul, root, unit, zeros
from .parts import FULL, GROUND, PLANE, SPACE, Body, Force, Joint, Mechanism, Point, Seen, State, axes, point_of
from .rows import along, angle

ENGINES = {
    "mujoco": (("revolute", "prismatic", "spherical", "weld", "free"), ("spherical", "weld")),
    "pinocchio": (("revolute", "prismatic", "spherical", "weld", "free"), ("spherical", "weld")),
}
"""Joints of trees and of loops that a model of another engine has."""
Z = np.array([0, 0, ONE], dtype=object)


class Drawing:
    """One mechanism on its way."""

    def __init__(self, rng: np.random.Generator, dim: int, engine: str = "bodies") -> None:
        self.rng, self.dim, self.engine = rng, dim, engine
        self.dials = {name: drawn(rng, name) for name in ("unit of length", "unit of mass", "gravity")}
        self.dials["kind"] = drawn(rng, "kind of mechanism in space") if dim == 3 else "plane"
        self.dials["stuck"] = drawn(rng, "stuck")
        self.L, self.m = fixed(self.dials["unit of length"]), fixed(self.dials["unit of mass"])
        self.axis = self.direction()
        self.centre = self.place()
        many = "bodies of MJCF and URDF"
        if engine == "bodies":
            many = "bodies in the plane" if dim == 2 else "bodies in space"
        self.count = drawn(rng, many)
        self.bodies = [self.body(i) for i in range(self.count)]
        still = zeros(self.count, 3)
        turns = [fixed([1, 0, 0, 0]) if b.particle else self.quaternion() for b in self.bodies]
        self.state = State(np.array([self.place() for _ in self.bodies], dtype=object),
                           np.array(turns, dtype=object), still, still)  # fmt: skip
        self.joints: list[Joint] = []
        self.welded: list[Joint] = []

    # -- numbers -------------------------------------------------------------------------------------------

    def draw(self, name: str) -> Any:
        return drawn(self.rng, name)

    def quaternion(self) -> Array:
        e = fixed([self.draw("turn of a frame") for _ in range(4)])
        if self.dim == 2:
            e[1] = e[2] = 0
        return unit(e)

    def direction(self) -> Array:
        x = fixed(self.rng.standard_normal(3))
        if self.dim == 2:
            x[2] = 0
        return unit(x)

    def place(self) -> Array:
        return mul(self.direction(), mul(fixed(self.draw("length")), self.L))

    def frame(self, first: Array) -> Array:
        """Axes whose first is given: in the plane the others follow, in space they are turned at random."""
        if self.dim == 2:
            return np.array([first, cross(Z, first), Z], dtype=object).T
        return axes(first, self.direction())

    def body(self, place: int) -> Body:
        mass = mul(fixed(self.draw("mass")), self.m)
        if self.engine == "bodies" and place > 0 and self.draw("particle"):
            return Body(mass, zeros(3, 3), True)
        size = mul(fixed(self.draw("radius of gyration")), self.L)
        thin = [self.draw("slenderness") for _ in range(2)]
        extent = [fixed(x * x) for x in (1.0, *thin)]
        moments = [extent[1] + extent[2], extent[0] + extent[2], extent[0] + extent[1]]
        turned_by = State(zeros(1, 3), np.array([self.quaternion()]), zeros(1, 3), zeros(1, 3)).R[0]
        principal = np.diag([mul(mul(x, mul(size, size)), mass) for x in moments]).astype(object)
        inertia = dot(dot(turned_by, principal), turned_by.T)
        return Body(mass, (inertia + inertia.T) >> 1)

    # -- joints --------------------------------------------------------------------------------------------

    def ends(self, a: int, b: int, place: Array, other: Array, A: Array, B: Array) -> tuple[Point, Point]:
        return point_of(self.state, a, place, A), point_of(self.state, b, other, B)

    def joint(self, kind: str, a: int, b: int, place: Array | None = None, first: Array | None = None) -> Joint:
        """Through a place and along a direction of the ground, random ones if not given."""
        place = self.place() if place is None else place
        first = self.direction() if first is None else first
        A, other, number, more = self.frame(first), place, 0, dict[str, Any]()
        B = A
        if kind in ("revolute", "cylindrical"):
            B = self.frame(first if self.dim == 3 else self.direction())
        elif kind == "universal":
            B = axes(unit(cross(first, self.direction())), self.direction())
        elif kind in ("spherical", "slot", "distance", "gear", "row"):
            B = self.frame(self.direction())
        if kind in ("prismatic", "cylindrical", "slot"):
            other = place + mul(first, mul(fixed(self.draw("length")), self.L))
        elif kind == "distance":
            other = self.place()
            number = root(int(dot(other - place, other - place)))
        elif kind == "gear":
            number = fixed(float(self.rng.choice([-2.5, -1.0, 0.5, 2.0])))
        elif kind == "row":
            return self.row(a, b, A, B)
        elif kind == "rolling":
            return self.rolling(a, b)
        one, two = self.ends(a, b, place, other, A, B)
        return Joint(kind, f"J{len(self.joints)}", one, two, number, more)

    def row(self, a: int, b: int, A: Array, B: Array) -> Joint:
        """A combination of places, or of velocities."""
        more: dict[str, Any] = {"velocity": bool(self.rng.random() < 0.5)}
        total = 0
        for key, body in (("a", a), ("b", b)):
            more[key] = fixed(self.rng.integers(-16, 17, 3) / 8.0)
            if self.dim == 2:
                more[key][2] = 0
            if body != GROUND:
                total += int(dot(more[key], self.state.r[body]))
        one, two = Point(a, zeros(3), A), Point(b, zeros(3), B)
        return Joint("row", f"J{len(self.joints)}", one, two, total, more)

    def rolling(self, a: int, b: int) -> Joint:
        """A disk about a point of b on a line or a plane of a."""
        radius = mul(fixed(self.draw("length")), self.L)
        normal, disk, centre = self.direction(), self.direction(), self.place()
        if self.dim == 2:
            A = np.array([-cross(Z, normal), normal, Z], dtype=object).T
            touch = centre - mul(normal, radius)
            one, two = self.ends(a, b, touch + mul(A[:, 0], self.L), centre, A, self.frame(disk))
            return Joint("rolling", f"J{len(self.joints)}", one, two, radius)
        up = normal - mul(disk, int(dot(normal, disk)))
        touch = centre - mul(unit(up), radius)
        A = self.frame(normal)
        one, two = self.ends(a, b, touch + mul(A[:, 1], self.L), centre, A, self.frame(disk))
        return Joint("rolling", f"J{len(self.joints)}", one, two, radius)

    def add(self, joint: Joint) -> Joint:
        self.joints.append(joint)
        if joint.kind == "weld":
            self.welded.append(joint)
        return joint

    def mobility(self) -> int:
        """Freedoms less those that joints take, as if none said anything twice; more of planar and spherical kinds."""
        whole = {"plane": 3, "planar": 3, "spherical": 3}.get(self.dials["kind"], 6)
        table = PLANE if self.dim == 2 else SPACE
        total = sum((2 if self.dim == 2 else 3) if b.particle else whole for b in self.bodies)
        for joint in self.joints:
            kept = (3 if self.dim == 2 else 6) - table[joint.kind]
            if self.dials["kind"] in ("planar", "spherical"):
                kept = {"weld": 3, "distance": 1, "slot": 1}.get(joint.kind, 2)
            total -= kept
        return total

    def of_tree(self, i: int) -> None:
        """A joint between a body and one before it."""
        parent = GROUND if i == 0 or self.draw("from the ground") else int(self.rng.integers(i))
        base = parent == GROUND or not self.bodies[parent].particle
        a, b = (parent, i) if self.rng.random() < 0.7 else (i, parent)
        if self.engine != "bodies":
            a, b = parent, i
        if self.bodies[i].particle or not base:
            kind = str(self.rng.choice(["distance", "slot"]))
            if kind == "slot":  # the guide belongs to what turns
                a, b = (parent, i) if self.bodies[i].particle and base else (i, parent)
            if not (self.bodies[i].particle and not base and kind == "slot"):
                self.add(self.joint(kind, a, b))
            return
        kind = self.tree_kind()
        self.add(self.kind_of(kind, GROUND if kind == "free" else a, b))

    def tree_kind(self) -> str:
        if self.engine != "bodies":
            allowed = ENGINES[self.engine][0]
            if self.dials["kind"] in ("planar", "spherical"):
                allowed = ("revolute", "revolute", "revolute", "prismatic", "weld")
            return str(self.rng.choice(allowed))
        if self.dim == 2:
            return str(self.draw("joint in the plane"))
        if self.dials["kind"] == "free":
            return str(self.draw("joint in space"))
        return str(self.rng.choice(["revolute", "prismatic", "weld"], p=[0.75, 0.15, 0.1]))

    def kind_of(self, kind: str, a: int, b: int) -> Joint:
        """A joint of a kind that fits the kind of mechanism."""
        kinship = self.dials["kind"]
        if kind == "rolling":
            a, b = GROUND, b if b != GROUND else a
        if kinship == "planar" and kind in ("revolute", "cylindrical"):
            return self.joint(kind, a, b, first=self.axis)
        if kinship == "planar" and kind == "prismatic":
            return self.joint(kind, a, b, first=unit(cross(self.axis, self.direction())))
        if kinship == "spherical" and kind in ("revolute", "prismatic"):
            first = self.direction()
            at = self.centre + mul(first, mul(fixed(self.draw("length")), self.L))
            return self.joint("revolute", a, b, at, first)
        return self.joint(kind, a, b)

    def loop(self) -> None:
        """A joint that closes a loop, if that leaves a freedom."""
        a, b = self.two()
        if a == b:
            return
        if self.engine != "bodies":
            kind = str(self.rng.choice(ENGINES[self.engine][1]))
        elif self.dim == 2:
            kind = str(self.draw("loop in the plane"))
        elif self.dials["kind"] == "free":
            kind = str(self.draw("loop in space"))
        else:
            kind = str(self.rng.choice(["revolute", "revolute", "prismatic", "spherical", "cylindrical", "distance"]))
        particles = any(x != GROUND and self.bodies[x].particle for x in (a, b))
        if particles:
            kind = "distance"
        if kind == "gear":
            joint = self.gear()
            if joint is None:
                return
        else:
            joint = self.kind_of(kind, a, b)
            if joint.a.body == joint.b.body:
                return
        self.joints.append(joint)
        if self.mobility() < 1 and not self.dials["stuck"]:
            self.joints.pop()

    def two(self) -> tuple[int, int]:
        a, b = (int(x) for x in self.rng.choice(self.count + 1, 2, replace=False))
        return a - 1, b - 1

    def gear(self) -> Joint | None:
        """Between two wheels whose axes are at rest."""
        wheels = [j for j in self.joints if j.kind == "revolute" and GROUND in (j.a.body, j.b.body)]
        if len(wheels) < 2:
            return None
        one, two = (wheels[int(k)] for k in self.rng.choice(len(wheels), 2, replace=False))
        points = [j.a if j.b.body == GROUND else j.b for j in (one, two)]
        if points[0].body == points[1].body:
            return None
        number = fixed(float(self.rng.choice([-2.5, -1.0, 0.5, 2.0])))
        return Joint("gear", f"J{len(self.joints)}", points[0], points[1], number)

    def twice(self) -> None:
        """Something that a joint keeps already."""
        fit = [j for j in self.joints if j.kind in ("revolute", "weld", "spherical", "prismatic")]
        if not fit:
            return
        j = fit[int(self.rng.integers(len(fit)))]
        a = Seen(j.a, self.state)
        name, far = f"J{len(self.joints)}", mul(fixed(self.draw("length")), self.L)
        if self.engine != "bodies":
            if j.kind != "revolute":
                return
            self.joints.append(self.joint("spherical", j.a.body, j.b.body, a.p + mul(a.axes[0], far)))
            return
        if j.kind == "weld" or (j.kind == "revolute" and self.rng.random() < 0.4):
            start = self.place() if j.kind == "weld" else a.p
            if j.kind == "revolute" and self.dim == 3:
                start = start + mul(a.axes[0], far)
            end = self.place()
            one, two = self.ends(j.a.body, j.b.body, start, end, self.frame(self.direction()),
                                 self.frame(self.direction()))  # fmt: skip
            self.joints.append(Joint("distance", name, one, two, root(int(dot(end - start, end - start)))))
            return
        first = a.axes[0] if self.dim == 3 or j.kind == "prismatic" else self.direction()
        at = a.p if self.dim == 2 and j.kind == "revolute" else a.p + mul(first, far)
        at = a.p if j.kind == "spherical" else at
        self.joints.append(self.joint(j.kind, j.a.body, j.b.body, at, first))

    def drive(self) -> None:
        """Of a joint of the tree, or of a loop."""
        fit = [j for j in self.joints if j.kind in ("revolute", "prismatic")]
        if not fit or self.mobility() < 2:
            return
        j = fit[int(self.rng.integers(len(fit)))]
        a, b = Seen(j.a, self.state), Seen(j.b, self.state)
        plane = self.dim == 2
        more: dict[str, Any] = {"of": j.kind, "plane": plane, "joint": j.name}
        if j.kind == "prismatic":
            value = along(a, a.axes[0], b).value
        else:
            value = b.turned - a.turned if plane else angle(a, b, a.axes[0])
        rates = [fixed(x) for x in self.rng.uniform(-2, 2, 2)]
        if j.kind == "prismatic":
            rates = [mul(x, self.L) for x in rates]
        more["motion"] = [value, *rates]
        self.joints.append(Joint("drive", f"J{len(self.joints)}", j.a, j.b, 0, more))

    # -- forces --------------------------------------------------------------------------------------------

    def force(self, number: int) -> Force | None:
        a, b = self.two()
        turns = not any(x != GROUND and self.bodies[x].particle for x in (a, b))
        kinds = ["spring", "spring", "force"] + (["bushing", "torque"] + ["torsion"] * (self.dim == 2)) * turns
        kind, L, m = str(self.rng.choice(kinds)), self.L, self.m
        k, c = mul(fixed(self.draw("stiffness")), m), mul(fixed(self.draw("damping")), m)
        size, square = self.dim, mul(L, L)
        constants: dict[str, Any]
        if kind == "spring":
            relaxed = mul(fixed(self.draw("length")), L) if self.rng.random() < 0.7 else 0
            constants = {"stiffness": k, "length": relaxed, "damping": c if self.rng.random() < 0.6 else 0}
        elif kind == "torsion":
            constants = {"stiffness": mul(k, square), "relaxed": fixed(float(self.rng.uniform(-2, 2)))}
        elif kind == "bushing":
            turning = 1 if size == 2 else 3
            constants = {
                "stiffness": mul(fixed(self.rng.uniform(0, 1, size)), k),
                "damping": mul(fixed(self.rng.uniform(0, 1, size)), c),
                "torsion": mul(fixed(self.rng.uniform(0, 1, turning)), mul(k, square)),
                "torsion_damping": mul(fixed(self.rng.uniform(0, 1, turning)), mul(c, square)),
            }
        elif kind == "force":
            constants = {"constant": mul(self.direction(), mul(k, L)), "stiffness": k, "damping": c}
        else:
            way = self.direction() if size == 3 else Z
            constants = {"constant": mul(way, mul(k, square)), "damping": mul(c, square),
                         "stiffness": mul(k, square) if size == 2 else 0}  # fmt: skip
        one, two = self.ends(a, b, self.place(), self.place(), self.frame(self.direction()),
                             self.frame(self.direction()))  # fmt: skip
        return Force(kind, f"F{number}", one, two, constants)

    def full_turns(self) -> tuple[int, ...]:
        """Of bodies in the plane: guides and welds along the tree that gaussopt documents do not turn at all."""
        turns, waiting = [0] * self.count, list(range(self.count))
        while waiting:
            for joint in self.joints:
                ends = joint.a, joint.b
                new = [end for end in ends if end.body in waiting and not self.bodies[end.body].particle]
                if len(new) == 1 and joint.kind in ("revolute", "prismatic", "weld"):
                    break
            else:
                waiting.pop(0)
                continue
            waiting.remove(new[0].body)
            if joint.kind != "revolute":
                state = replace(self.state, turns=tuple(turns))
                angle = Seen(joint.b, state).turned - Seen(joint.a, state).turned
                turns[new[0].body] -= round(angle / FULL) * (1 if new[0] is joint.b else -1)
        return tuple(turns)

    def finished(self) -> Mechanism:
        if self.dim == 2:
            self.state = replace(self.state, turns=self.full_turns())
        forces = [self.force(i) for i in range(self.draw("forces"))] if self.engine == "bodies" else []
        gravity = mul(self.direction(), mul(fixed(self.dials["gravity"]), self.L))
        self.dials["loops and said twice"] = len(self.joints) - self.count
        return Mechanism(self.dim, self.bodies, self.joints, [f for f in forces if f], gravity, self.state, self.dials)


def mechanism(rng: np.random.Generator, dim: int, engine: str = "bodies") -> Mechanism:
    """One mechanism, whose joints are closed in its state, at rest."""
    drawing = Drawing(rng, dim, engine)
    for i in range(drawing.count):
        drawing.of_tree(i)
    for _ in range(drawing.draw("loops")):
        drawing.loop()
    for _ in range(drawing.draw("said twice")):
        drawing.twice()
    if engine == "bodies" and drawing.draw("drive"):
        drawing.drive()
    return drawing.finished()


def twist(rng: np.random.Generator, made: Mechanism, size: float) -> Array:
    """Velocities of all bodies of a size, (k, 6), which no row allows."""
    found = fixed(rng.standard_normal((len(made.bodies), 6)) * size)
    found[:, :3] = mul(found[:, :3], fixed(made.dials["unit of length"]))
    if made.dim == 2:
        found[:, 2:5] = 0
    for i, body in enumerate(made.bodies):
        if body.particle:
            found[i, 3:] = 0
    return found


__all__ = ["ENGINES", "Drawing", "div", "mechanism", "twist"]
