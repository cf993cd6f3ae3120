"""What the generator may turn, and how far: the numbers of this table are drawn from, and printed on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

LINEAR, LOG, WHOLE, SHARE, WEIGHTS = "uniform", "uniform in the logarithm", "whole number", "share", "shares"


@dataclass(frozen=True)
class Dial:
    """How a number is drawn, between `low` and `high`; a share is drawn as true or false."""

    how: str
    low: float
    high: float
    meaning: str
    names: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()

    def draw(self, rng: np.random.Generator) -> Any:
        if self.how == WHOLE:
            return int(rng.integers(int(self.low), int(self.high) + 1))
        if self.how == LOG:
            return float(10.0 ** rng.uniform(np.log10(self.low), np.log10(self.high)))
        if self.how == LINEAR:
            return float(rng.uniform(self.low, self.high))
        if self.how == SHARE:
            return bool(rng.random() < self.high)
        p = np.array(self.shares)
        return self.names[int(rng.choice(len(p), p=p / p.sum()))]

    def range(self) -> str:
        if self.how == SHARE:
            return f"{100 * self.high:g} %"
        if self.how == WEIGHTS:
            whole = sum(self.shares)
            return ", ".join(f"{n} {100 * s / whole:.0f} %" for n, s in zip(self.names, self.shares, strict=True))
        return f"{self.low:g} to {self.high:g}"


def weights(meaning: str, **shares: float) -> Dial:
    names = tuple(name.replace("_", " ") for name in shares)
    return Dial(WEIGHTS, 0, 1, meaning, names, tuple(shares.values()))


DIALS: dict[str, Dial] = {
    "turn of a frame": Dial(LINEAR, -1, 1, "each component of the quaternion of every body, joint and inertia, before "
                            "it is made a unit one; in the plane the cosine and sine of the angle"),
    "bodies in the plane": Dial(WHOLE, 1, 6, "bodies of `gaussopt.bodies`, some of them particles"),
    "bodies in space": Dial(WHOLE, 1, 3, "the same"),
    "bodies of MJCF and URDF": Dial(WHOLE, 1, 6, "bodies of a model of MuJoCo or Pinocchio"),
    "loops": Dial(WHOLE, 0, 2, "joints that close loops"),
    "said twice": Dial(WHOLE, 0, 2, "joints that repeat what others keep: the same joint with other frames, a second "
                       "hinge on the same axis, a rod between two welded bodies or from a hinge"),
    "kind of mechanism in space": weights(
        "what its axes have in common: all parallel to a tilted one, all through one point, nothing",
        planar=3, spherical=1, free=4),
    "stuck": Dial(SHARE, 0, 0.05, "mechanisms that may have no freedom left"),
    "from the ground": Dial(SHARE, 0, 0.3, "bodies behind the first whose joint is to the ground"),
    "particle": Dial(SHARE, 0, 0.1, "bodies of `gaussopt.bodies` that are particles"),
    "drive": Dial(SHARE, 0, 0.15, "mechanisms of `gaussopt.bodies` of which a joint moves as a function of time"),
    "joint in the plane": weights(
        "of a tree", revolute=5, prismatic=2, weld=1, slot=0.7, distance=0.7, rolling=0.4, row=0.4),
    "loop in the plane": weights(
        "of a loop", revolute=4, slot=2, distance=2, prismatic=1, weld=0.5, gear=1, row=0.5),
    "joint in space": weights(
        "of a tree of no kind", revolute=4, prismatic=1.5, spherical=1.5, universal=1.5, cylindrical=1.5, weld=1,
        slot=0.4, distance=0.4, rolling=0.4, row=0.3),
    "loop in space": weights(
        "of a loop of no kind", spherical=3, distance=2, slot=1, universal=1, cylindrical=1, revolute=1, gear=0.5,
        row=0.5, weld=0.5, prismatic=0.5),
    "forces": Dial(WHOLE, 0, 3, "springs with dampers, torsion springs, bushings, forces, torques"),
    "unit of length": Dial(LOG, 1e-3, 1e3, "what all lengths are multiplied by, gravity too"),
    "unit of mass": Dial(LOG, 1e-4, 1e4, "what all masses are multiplied by"),
    "mass": Dial(LOG, 1e-2, 1e2, "of a body, before that"),
    "radius of gyration": Dial(LOG, 0.05, 2, "of a body, before the unit of length"),
    "slenderness": Dial(LOG, 0.05, 1, "smallest extent of a body by its largest"),
    "length": Dial(LOG, 0.1, 3, "sizes of components of places, before the unit of length"),
    "gravity": Dial(LOG, 0.1, 30, "units of length / s^2, in any direction"),
    "speed": Dial(LOG, 1e-2, 20, "sizes of angular velocities, rad/s, and of velocities in units of length / s"),
    "at rest": Dial(SHARE, 0, 0.1, "states without velocities"),
    "stiffness": Dial(LOG, 0.1, 1e3, "of springs, units of mass / s^2; of torques times the squared unit of length"),
    "damping": Dial(LOG, 0.01, 30, "of dampers, units of mass / s"),
    "way": Dial(LOG, 0.02, 0.6, "how far, rad or units of length, a state is from that before it"),
    "duration": Dial(LOG, 0.05, 1, "of a motion, in units of the time in which speeds or accelerations turn a body "
                     "by a radian or carry it by a unit of length"),
    "maximal in space": Dial(SHARE, 0, 0.3, "mechanisms in space that are described in maximal coordinates too, which "
                             "take longest to derive; all are in joint coordinates, and all in the plane in both"),
    "quaternion mass": Dial(SHARE, 0, 0.5, "mechanisms in maximal coordinates in space whose mass matrix is regular"),
}  # fmt: skip


def drawn(rng: np.random.Generator, name: str) -> Any:
    return DIALS[name].draw(rng)


def table() -> list[str]:
    """The lines of a table in Markdown."""
    rows: Sequence[tuple[str, Dial]] = list(DIALS.items())
    return [
        "| dial | drawn | range | of what |", "|---|---|---|---|",
        *(f"| {name} | {dial.how} | {dial.range()} | {dial.meaning} |" for name, dial in rows),
    ]  # fmt: skip
