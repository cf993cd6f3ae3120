"""A mechanism as a model of `gaussopt.bodies`, and what its coordinates are, by rows of the judge's own."""

from __future__ import annotations

from typing import Any

import numpy as np

import gaussopt as go
from gaussopt import bodies as b

from . import rows
from .fixed import ONE, Array, cross, dot, floats, zeros
from .judge import Floats
from .measures import Measure, rates
from .parts import GROUND, Joint, Mechanism, Point, Seen, State, of_tangent, turned

KINDS: dict[str, Any] = {
    "revolute": b.Revolute, "prismatic": b.Prismatic, "slot": b.Slot, "weld": b.Weld, "spherical": b.Spherical,
    "universal": b.Universal, "cylindrical": b.Cylindrical,
}  # fmt: skip
NUMBERED: dict[str, Any] = {"distance": b.Distance, "rolling": b.Rolling, "gear": b.Gear}


def model_of(made: Mechanism, coordinates: str, quaternion_mass: bool = False) -> go.Model:
    """The model, its numbers rounded to floats."""
    model = go.Model(dim=made.dim, gravity=numbers(made.gravity[: made.dim]), coordinates=coordinates)
    owners: dict[int, Any] = {GROUND: model.ground}
    for i, body in enumerate(made.bodies):
        mass, at = float(floats(body.mass)), numbers(made.state.r[i][: made.dim])
        if body.particle:
            owners[i] = model.particle(f"B{i}", mass, at=at)
        elif made.dim == 2:
            owners[i] = model.body(f"B{i}", mass, float(floats(body.inertia[2, 2])), at=at, angle=turn(made.state, i))
        else:
            inertia = floats(body.inertia)
            extra = float(inertia.trace()) if quaternion_mass else 0
            owners[i] = model.body(
                f"B{i}", mass, (0.5 * (inertia + inertia.T)).tolist(), at=at, angle=numbers(made.state.e[i]),
                quaternion_mass=extra,
            )  # fmt: skip
    found: dict[str, Any] = {}
    for joint in made.joints:
        found[joint.name] = model.add(_joint(joint, owners, made.dim, found, model.t))
    for force in made.forces:
        model.add(_force(force, point(force.a, owners, made.dim), point(force.b, owners, made.dim), made.dim))
    return model


def numbers(x: Any) -> tuple[float, ...]:
    return tuple(np.ravel(floats(x)).tolist())


def turn(state: State, i: int) -> float:
    """The angle of a body in the plane."""
    return float(floats(turned(state, i)))


def point(end: Point, owners: dict[int, Any], dim: int) -> Any:
    A = end.A
    more = {} if dim == 2 else {"normal": numbers(A[:, 1])}
    return owners[end.body].at(*numbers(end.s[:dim]), axis=numbers(A[:dim, 0]), **more)


def _joint(joint: Joint, owners: dict[int, Any], dim: int, found: dict[str, Any], t: Any) -> Any:
    if joint.kind == "drive":
        c0, c1, c2 = (float(floats(x)) for x in joint.more["motion"])
        return b.Drive(joint.name, found[joint.more["joint"]], c0 + c1 * t + c2 * t**2)
    one, two = point(joint.a, owners, dim), point(joint.b, owners, dim)
    if joint.kind == "row":
        velocity, expression = joint.more["velocity"], -float(floats(joint.number))
        for key, end in (("a", joint.a), ("b", joint.b)):
            if end.body != GROUND:
                own = owners[end.body]
                own = own.v if velocity else own.q
                expression = expression + sum(w * x for w, x in zip(numbers(joint.more[key]), own, strict=False))
        expression = expression + (float(floats(joint.number)) if velocity else 0)
        return b.Row(joint.name, one, two, expression, velocity)
    if joint.kind in NUMBERED:
        return NUMBERED[joint.kind](joint.name, one, two, float(floats(joint.number)))
    return KINDS[joint.kind](joint.name, one, two)


def _force(force: Any, one: Any, two: Any, dim: int) -> Any:
    name, c = force.name, {key: floats(value) for key, value in force.constants.items()}
    if force.kind == "spring":
        return b.SpringDamper(name, one, two, c["stiffness"], c["length"], c["damping"])
    if force.kind == "torsion":
        return b.Torsion(name, one, two, c["stiffness"], c["relaxed"])
    if force.kind == "bushing":
        given = [np.ravel(c[key]).tolist() for key in ("stiffness", "damping", "torsion", "torsion_damping")]
        return b.Bushing(name, one, two, *given[:2], *((x[0] for x in given[2:]) if dim == 2 else given[2:]))
    if force.kind == "force":

        def pull(t: Any, d: Any, dd: Any) -> list[Any]:
            return [float(c["constant"][i]) - c["stiffness"] * d[i] - c["damping"] * dd[i] for i in range(dim)]

        return b.AppliedForce(name, one, two, pull)

    def torque(t: Any, turned: Any, rate: Any) -> Any:
        if dim == 2:
            return float(c["constant"][2]) - c["stiffness"] * turned - c["damping"] * rate
        return [float(c["constant"][i]) - c["damping"] * rate[i] for i in range(3)]

    return b.AppliedTorque(name, one, two, torque)


class Expressed:
    """A mechanism in one kind of coordinates of `gaussopt.bodies`."""

    def __init__(self, made: Mechanism, coordinates: str, quaternion_mass: bool = False) -> None:
        self.made = made
        self.system = model_of(made, coordinates, quaternion_mass).system()
        self.names = {name: i for i, name in enumerate(self.system.coordinates(self.system.size))}
        placed = set(getattr(self.system, "without_rows", ()))
        self.tree = [j for j in made.joints if j.name in placed]

    def measures(self, state: State) -> list[Measure]:
        """All coordinates of the system."""
        found, at = [], self.names
        for joint in self.tree:
            a, b = Seen(joint.a, state), Seen(joint.b, state)
            axis = a.axes[2] if self.made.dim == 2 else a.axes[0]
            if (name := f"along_{joint.name}") in at:
                line = rows.along(a, a.axes[0], b)
                found.append(Measure([at[name]], [line.value or 0], [line]))
            if (name := f"angle_{joint.name}") in at:
                value = b.turned - a.turned if self.made.dim == 2 else rows.angle(a, b, axis)
                found.append(Measure([at[name]], [value], [rows.turning(a, b, axis, a)]))
            if (name := f"angle1_{joint.name}") in at:
                u, x = a.axes[0], b.axes[0]
                first = of_tangent(int(dot(cross(a.axes[1], x), u)), int(dot(a.axes[1], x)))
                second = of_tangent(int(dot(cross(-u, b.axes[1]), x)), int(dot(-u, b.axes[1])))
                found.append(Measure([at[name]], [first], [rows.turning(a, b, u, a)]))
                found.append(Measure([at[f"angle2_{joint.name}"]], [second], [rows.turning(a, b, x, b)]))
        for i in range(len(self.made.bodies)):
            found += self._own(i, state)
        return found

    def _own(self, i: int, state: State) -> list[Measure]:
        at, found = self.names, []
        frame = np.array([[ONE, 0, 0], [0, ONE, 0], [0, 0, ONE]], dtype=object)
        for k, letter in enumerate("xyz"):
            if f"{letter}_B{i}" in at:
                own = rows.line((i, frame[k], zeros(3)))
                found.append(Measure([at[f"{letter}_B{i}"]], [state.r[i][k]], [own]))
        turns = [rows.line((i, zeros(3), n)) for n in frame]
        if f"theta_B{i}" in at:
            found.append(Measure([at[f"theta_B{i}"]], [turned(state, i)], turns[2:]))
        if f"e0_B{i}" in at:
            places = [at[f"e{k}_B{i}"] for k in range(4)]
            found.append(Measure(places, list(state.e[i]), turns, outer(state.e[i])))
        return found

    def state(self, state: State) -> tuple[float, Floats, Floats, list[Measure]]:
        """Time, q and v of a state, rounded to floats."""
        q, v = np.zeros(len(self.names)), np.zeros(len(self.names))
        found, moving = self.measures(state), np.concatenate((state.v, state.w), axis=1)
        for measure in found:
            speeds = rates(measure, moving)
            q[measure.at], v[measure.at] = floats(measure.values), floats(speeds)
        return float(floats(state.t)), q, v, found

    def step(self, state: State) -> tuple[Any, list[Measure]]:
        """Step data of a state, and what its coordinates are."""
        t, q, v, found = self.state(state)
        return self.system.evaluate(t, q, v), found


def outer(e: Array) -> Array:
    """E of a quaternion, with omega = 2 E e', (3, 4)."""
    e0, e1, e2, e3 = e
    return np.array([[-e1, e0, -e3, e2], [-e2, e3, e0, -e1], [-e3, -e2, e1, e0]], dtype=object)
