"""The mechanisms that all engines simulate: planar bodies, pins, springs and torques, from the registered problems.

A description knows nothing of any engine; each rival makes its own model of it, in its own coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import gaussopt as go

GROUND = -1
Pair = tuple[float, float]
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Body:
    """A rigid body in the plane; its frame lies at the centre of mass.

    Attributes
    ----------
    mass, inertia : kg, kg m^2
    place : (x, y), angle : start, m and rad, at rest
    guided : a body that moves along x only and does not turn; its inertia is 0
    """

    name: str
    mass: float
    inertia: float
    place: Pair
    angle: float = 0.0
    guided: bool = False


@dataclass(frozen=True, slots=True)
class Pin:
    """A revolute joint between points given in the frames of two bodies, or of the ground."""

    first: int
    at_first: Pair
    second: int
    at_second: Pair


@dataclass(frozen=True, slots=True)
class Spring:
    """Force -stiffness (x - rest) - damping v along x on a guided body; N/m, N s/m, m."""

    body: int
    stiffness: float
    damping: float
    rest: float


@dataclass(frozen=True, slots=True)
class Torque:
    """Constant torque on a body, N m."""

    body: int
    value: float


@dataclass(frozen=True)
class Mechanism:
    """What is simulated.

    Attributes
    ----------
    bodies, pins, springs, torques
    gravity : m/s^2, along -y
    watch : the body whose angle is compared
    marks : (k,)
        Equidistant instants at which it is compared, s, without the start.
    angles : (k,) or None
        The reference there, rad.
    problem : go.Problem or None
        Our model of it.
    """

    name: str
    bodies: tuple[Body, ...]
    pins: tuple[Pin, ...]
    gravity: float
    watch: int
    springs: tuple[Spring, ...] = ()
    torques: tuple[Torque, ...] = ()
    marks: Vector | None = None
    angles: Vector | None = None
    problem: go.Problem | None = None

    @property
    def t_end(self) -> float:
        """The last mark, s."""
        assert self.marks is not None
        return float(self.marks[-1])

    def steps(self, dt: float) -> int:
        """Steps up to the last mark.

        Raises
        ------
        ValueError
            If a mark does not end a step.
        """
        assert self.marks is not None
        each = float(self.marks[0]) / dt
        if abs(each - round(each)) > 1e-6:
            raise ValueError(f"A step of {dt:g} s does not divide the {self.marks[0]:g} s between marks.")
        return round(each) * len(self.marks)

    def error(self, angles: Vector) -> float:
        """Largest distance to the reference at the marks, rad."""
        assert self.angles is not None
        if len(angles) != len(self.angles):
            raise ValueError(f"{len(angles)} angles for {len(self.angles)} marks.")
        return float(np.abs(angles - self.angles).max())

    def point(self, body: int, at: Pair) -> Pair:
        """A point of a body in the plane, at the start."""
        if body == GROUND:
            return at
        b = self.bodies[body]
        c, s = np.cos(b.angle), np.sin(b.angle)
        return float(b.place[0] + c * at[0] - s * at[1]), float(b.place[1] + s * at[0] + c * at[1])


def crank_slider(t_end: float = 10.0) -> Mechanism:
    """Crank, rod and slider with spring, damper and the printed torque: 7 coordinates, 6 constraints."""
    problem = go.problem("crank-slider")
    p = problem.parameter_values
    l1, l2 = p["l1"], p["l2"]
    marks, angles = _reference(problem, "crank-A-20s", 2, t_end)
    return Mechanism(
        name="crank-slider",
        bodies=(
            Body("crank", p["m1"], p["I1"], (l1 / 2, 0.0)),
            Body("rod", p["m2"], p["I2"], (l1 + l2 / 2, 0.0)),
            Body("slider", p["m3"], 0.0, (l1 + l2, 0.0), guided=True),
        ),
        pins=(
            Pin(GROUND, (0.0, 0.0), 0, (-l1 / 2, 0.0)),
            Pin(0, (l1 / 2, 0.0), 1, (-l2 / 2, 0.0)),
            Pin(1, (l2 / 2, 0.0), 2, (0.0, 0.0)),
        ),
        gravity=p["g"],
        watch=0,
        springs=(Spring(2, p["k"], p["c"], l1 + l2),),
        torques=(Torque(0, p["tau"]),),
        marks=marks,
        angles=angles,
        problem=problem,
    )


def four_bar(t_end: float = 0.6) -> Mechanism:
    """Two cranks and the coupler of the parallelogram, 9 coordinates, 8 constraints.

    Later than about 0.9 s the bars lie in line, where the pins of a parallelogram allow a second branch of motion; our
    own model of it has no such position. So only the motion before it can be compared.
    """
    problem = go.problem("four-bar")
    p = problem.parameter_values
    m, l = p["m"], p["l"]
    inertia, angle = m * l**2 / 12, float(problem.q0[0])
    middle = (l / 2 * float(np.cos(angle)), l / 2 * float(np.sin(angle)))
    marks, angles = _reference(problem, "four-bar-A", 0, t_end)
    return Mechanism(
        name="four-bar",
        bodies=(
            Body("crank 1", m, inertia, middle, angle),
            Body("crank 2", m, inertia, (l + middle[0], middle[1]), angle),
            Body("coupler", m, inertia, (2 * middle[0] + l / 2, 2 * middle[1])),
        ),
        pins=(
            Pin(GROUND, (0.0, 0.0), 0, (-l / 2, 0.0)),
            Pin(GROUND, (l, 0.0), 1, (-l / 2, 0.0)),
            Pin(0, (l / 2, 0.0), 2, (-l / 2, 0.0)),
            Pin(1, (l / 2, 0.0), 2, (l / 2, 0.0)),
        ),
        gravity=p["g"],
        watch=0,
        torques=(Torque(0, p["psi"]),),
        marks=marks,
        angles=angles,
        problem=problem,
    )


def chain(links: int, length: float = 0.1, mass: float = 0.1) -> Mechanism:
    """N uniform rods in a row, pinned to each other and with the first end to the ground, let go horizontally."""
    half = length / 2
    return Mechanism(
        name=f"chain of {links} links",
        bodies=tuple(Body(f"link {i}", mass, mass * length**2 / 12, ((i + 0.5) * length, 0.0)) for i in range(links)),
        pins=(
            Pin(GROUND, (0.0, 0.0), 0, (-half, 0.0)),
            *(Pin(i, (half, 0.0), i + 1, (-half, 0.0)) for i in range(links - 1)),
        ),
        gravity=9.81,
        watch=0,
    )


MECHANISMS: dict[str, Callable[[], Mechanism]] = {"crank-slider": crank_slider, "four-bar": four_bar}


def _reference(problem: go.Problem, name: str, column: int, t_end: float) -> tuple[Vector, Vector]:
    data = problem.reference(name)
    rows = (data.t > 0) & (data.t <= t_end + 1e-9)
    return data.t[rows], data.q[rows, column]
