"""A capsule held by friction between a wall and a pressing finger; soft contacts let it creep.

The capsule stands upright and touches wall and finger along lines, modelled by contacts at both its ends. The margin
of the grip is 2 mu F / (m g); with a margin above 1 it stays in place as long as the finger presses.
"""

from __future__ import annotations

from gaussopt.bodies import AppliedForce, Box, Capsule, Model, Slot, Touch
from gaussopt.bodies.mechanism import mechanism
from gaussopt.core.arrays import Vector
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Case
from gaussopt.modelling.sketch import Block, Disk, Parameters, Shape, Wall

PARAMETERS = (
    Parameter("m", 0.045, "kg", "mass of the capsule"),
    Parameter("M", 0.1, "kg", "mass of the finger"),
    Parameter("r", 0.01, "m", "radius of the capsule"),
    Parameter("length", 0.04, "m", "distance of the centres of its ends"),
    Parameter("F", 20.0, "N", "force of the finger"),
    Parameter("mu", 0.5, "1", "friction coefficient"),
    Parameter("g", 9.81, "m/s^2", "gravity along -z"),
)


def fill(model: Model) -> None:
    """Add the capsule and the finger, which slides along the x axis; the wall is the plane x = r."""
    m, M, r, length, F, mu, g = model.symbols.values()
    across, along = m * (3 * r**2 + length**2) / 12, m * r**2 / 2
    shape = Capsule(r, (0, 0, -length / 2), (0, 0, length / 2))
    capsule = model.body("capsule", m, (across, across, along), quaternion_mass=across, shape=shape)
    finger = model.particle("finger", M, at=(-r, 0, 0), shape=Box((r, 2 * r, length), at=(-r / 2, 0, 0)))
    model.gravity = (0, 0, -g)
    model.add(Slot("guide", model.ground, finger))
    model.add(AppliedForce("squeeze", model.ground, finger, (F, 0, 0)))
    sides = {"finger": finger.at(0, 0, 0, axis=(1, 0, 0)), "wall": model.ground.at(r, 0, 0, axis=(-1, 0, 0))}
    for side, plane in sides.items():
        for end, z in (("upper", length / 2), ("lower", -length / 2)):
            model.add(Touch(f"{end} end, {side}", plane, capsule.at(0, 0, z), mu=mu, radius=r))


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the mechanism as seen along the y axis: the ends of the capsule between finger and wall."""
    x, z, r, half = q[0], q[2], p["r"], p["length"] / 2
    return (
        Wall((r, half + r), (r, -half - r)), Block((q[7] - r / 2, q[9]), r, 2 * half), Disk((x, z + half), r),
        Disk((x, z - half), r),
    )  # fmt: skip


problem = mechanism(
    fill,
    name="pinched-capsule",
    title="Capsule held by friction between finger and wall",
    source="creep of grasps under soft contacts, MuJoCo issue 3328; here with Coulomb's law",
    description="A capsule and a finger, four contacts with friction cones that share their forces in many ways.",
    sketch=sketch,
    parameters=PARAMETERS,
    dim=3,
    bodies=["capsule", "finger"],
    t_end=60.0,
    dt=0.05,
    cases={"slips": Case({"F": 0.4}, 0.1, "margin below 1: the capsule falls with the acceleration g - 2 mu F / m")},
)
