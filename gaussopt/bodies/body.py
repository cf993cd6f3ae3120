"""Bodies, and points and axes fixed to them.

The centre of mass of a body is at r and its rotation is R; a point at s in the body's frame is at r + R s,
and an axis with direction u in that frame points along R u. All are SymPy expressions in the body's q and in time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.symbolic.derivatives import Recursion

TIME = sp.Symbol("t")
COORDINATES = {"x": "m", "y": "m", "z": "m", "theta": "rad", "e0": "1", "e1": "1", "e2": "1", "e3": "1"}
"""Units of all coordinates that a body may have."""

ROUNDING = 1e-12
"""Negative moments of inertia up to this size, relative to the largest, count as rounding errors."""

Vec = Any
"""A SymPy column, (dim, 1)."""


def rate(expr: Any, bodies: Iterable[RigidBody]) -> Any:
    """Return the time derivative of an expression or column that depends on the bodies' coordinates and on time."""
    bodies = list(bodies)
    if names := names_of(bodies):
        return expr.applyfunc(names.along) if isinstance(expr, sp.MatrixBase) else names.along(sp.sympify(expr))
    found = sp.diff(expr, TIME)
    for q, v in {q: v for body in bodies for q, v in zip(body.q, body.v, strict=True)}.items():
        found += sp.diff(expr, q) * v
    return found


def evaluated(
    given: Any, expressions: Any, bodies: Iterable[RigidBody], modules: str | None = None
) -> Callable[..., Any]:
    """Return a function that evaluates expressions in the poses of bodies, by `sympy.lambdify`."""
    names = names_of(bodies)
    found: Callable[..., Any] = sp.lambdify(given, expressions, modules, cse=names.cse if names else True)
    return found


def names_of(bodies: Iterable[RigidBody]) -> Recursion | None:
    """Return the named quantities in which the poses of bodies are given, None if they are given by coordinates."""
    return next((body.names for body in bodies if body.names is not None), None)


class RigidBody(ABC):
    """A rigid body, a particle, the ground or a frame with prescribed motion.

    Attributes
    ----------
    name : str
    q, v : symbols of all coordinates on which its pose depends, and of their rates
    new_q, new_v : the coordinates and rates that the body itself adds
    names : quantities by which the poses of the bodies of a long chain are given, see `gaussopt.bodies.tree`
    units : units of its coordinates, by name
    mass : kg
    inertia : about the centre of mass, kg m^2; in space a tensor, (3, 3)
    quaternion_mass : kg m^2, see `gaussopt.bodies.space.SpaceBody`
    r : (dim, 1), position of the centre of mass in the frame of the ground, m
    angle : angle of rotation in the plane, rad
    spin, own_spin : angular velocity in space, (3, 1), in the frame of the ground and in the body's frame, rad/s
    R : (dim, dim), rotation matrix from the frame of the body to the frame of the ground
    guess, guess_rate : expressions of parameters for q and v, from which the assembly starts
    made : elements that were created with an end on the body, whether or not they were added to a model
    points : positions of named points in the frame of the body, m
    shape : width and height of a block, or radius of a disk, for its picture, m; if None, bars join its points
    """

    dim = 2

    def __init__(self, name: str, q: Sequence[str] = ()) -> None:
        self.name, self.made = name, list[Any]()
        self.q = tuple(sp.Symbol(f"{s}_{name}", real=True) for s in q)
        self.v = tuple(sp.Symbol(f"v_{s}_{name}", real=True) for s in q)
        self.new_q, self.new_v = self.q, self.v
        self.names: Recursion | None = None
        self.units = {f"{s}_{name}": COORDINATES[s] for s in q}
        self.mass: Any = sp.Integer(0)
        self.inertia: Any = sp.Integer(0)
        self.quaternion_mass: Any = sp.Integer(0)
        self.angle: Any = sp.Integer(0)
        self.spin: Vec = sp.zeros(3, 1)
        self.own_spin: Vec = sp.zeros(3, 1)
        self.r: Vec = sp.zeros(self.dim, 1)
        self.R: Any = sp.eye(self.dim)
        self.guess: list[Any] = []
        self.guess_rate: list[Any] = [0] * len(self.q)
        self.points: dict[str, Vec] = {}
        self.shape: Any = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    @property
    def pose(self) -> tuple[Any, ...]:
        """The symbols in r, R and angle: the coordinates q, or quantities that `names` defines."""
        return self.q

    @property
    def quaternion(self) -> tuple[Any, ...]:
        """The body's own coordinates that form a unit quaternion, (4,); () if there are none."""
        return ()

    @property
    def guesses(self) -> tuple[list[Any], list[Any]]:
        """Guesses of the coordinates that this body adds, and of their rates; the assembly starts from them."""
        return self.guess, self.guess_rate

    @property
    @abstractmethod
    def kinetic(self) -> Any:
        """Kinetic energy, J."""

    def check(self, symbols: Mapping[str, Any], values: Mapping[str, float]) -> None:
        """Raise BadInput if a mass or moment of inertia is negative, or a value is no number, for these parameters.

        The mass matrix would not show a negative moment of inertia I: its entry for a pendulum is I + m r^2.
        """
        known = {symbols[name]: values[name] for name in symbols}
        guess, rate = self.guesses
        masses = [("mass", self.mass), ("inertia", self.inertia), ("quaternion_mass", self.quaternion_mass)]
        for label, x in [*masses, *(("guess", x) for x in (*guess, *rate))]:
            number = sp.sympify(sp.sympify(x, strict=True).xreplace(known), strict=True)
            if unknown := sorted(str(s) for s in number.free_symbols):
                raise BadInput(
                    f"The {label} of {self.name!r} holds {unknown[0]!r}, which is no parameter of the model; add it by "
                    "model.parameter, or give a number."
                )
            if np.nan_to_num(np.array(number, dtype=complex).imag).any():
                where = ", ".join(f"{s} = {known[s]:g}" for s in known if sp.sympify(x).has(s))
                raise BadInput(
                    f"The {label} of {self.name!r} is {x}, which is no real number at {where}; change the parameters."
                )
            entries = np.atleast_2d(np.array(number, dtype=float))
            if not np.isfinite(entries).all():
                raise BadInput(f"The {label} of {self.name!r} holds {entries.sum():g}; give finite numbers.")
            if label == "guess":
                continue
            moments = np.linalg.eigvalsh(entries)
            if not moments[0] >= -ROUNDING * abs(moments[-1]):
                shown = f"{moments[0]:.6g} {'kg' if label == 'mass' else 'kg m^2'}"
                raise BadInput(f"The {label} of {self.name!r} is {shown}; give one that is positive or zero.")

    def holonomic(self) -> dict[str, Any]:
        """Return the constraints between the body's own coordinates, by name."""
        return {}

    @abstractmethod
    def turned_by(self, torque: Any) -> dict[Any, Any]:
        """Return, for each coordinate, the generalised force of a torque (N m, in the frame of the ground)."""

    def at(self, *place: Any, axis: Sequence[Any] | None = None, normal: Sequence[Any] | None = None) -> Marker:
        """Return a point of the body.

        Parameters
        ----------
        place : dim numbers or expressions, or a sequence of them: the position in the frame of the body from the centre
            of mass, m; or the name of a point
        axis : direction of a hinge or guide in the frame of the body; by default the body's x axis
        normal : in space, a direction perpendicular to the axis, for joints that fix the angle about the axis

        Raises BadInput or UnknownName.
        """
        if len(place) == 1 and isinstance(place[0], str):
            if place[0] not in self.points:
                raise UnknownName(f"point of {self.name}", place[0], self.points)
            place = tuple(self.points[place[0]])
        elif len(place) == 1 and isinstance(place[0], list | tuple | np.ndarray):
            place = tuple(place[0])
        s = column(f"The point {place} of {self.name!r}", place or (0,) * self.dim, self.dim)
        first = column(f"axis of {self.name!r}", (1, *(0,) * (self.dim - 1)) if axis is None else axis, self.dim)
        return Marker(self, s, frame(self.name, first, normal))

    def __getitem__(self, name: str) -> Marker:
        return self.at(name)


def guesses(bodies: Sequence[RigidBody], symbols: Mapping[str, Any], values: Mapping[str, float]) -> Any:
    """Return the guesses of all coordinates and of their rates at these values of the parameters, (2, n)."""
    places, rates = zip(*(body.guesses for body in bodies), strict=True)
    numbers = sp.lambdify(list(symbols.values()), [x for part in (*places, *rates) for x in part])
    return np.array(numbers(*(values[name] for name in symbols)), dtype=float).reshape(2, -1)


@dataclass(frozen=True, eq=False)
class Marker:
    """A point of a body with axes: the first column of A is the axis of a joint, the others are perpendicular to it.

    Attributes
    ----------
    body : RigidBody
    s : (dim, 1), position in the frame of the body, m
    A : (dim, dim), axes in the frame of the body, unit columns
    """

    body: RigidBody
    s: Vec
    A: Any

    @property
    def r(self) -> Vec:
        """Position in the frame of the ground, m."""
        return self.body.r + self.body.R * self.s

    @property
    def axes(self) -> list[Vec]:
        """The axis and the directions perpendicular to it, in the frame of the ground."""
        turned = self.body.R * self.A
        return [turned[:, i] for i in range(turned.cols)]

    @property
    def rate(self) -> Vec:
        """Velocity of the point, m/s."""
        return rate(self.r, [self.body])

    def pulled_by(self, force: Vec) -> dict[Any, Any]:
        """Return, for each coordinate, the generalised force of a force (N, in the ground's frame) at the point."""
        return {q: (self.r.diff(q).T * force)[0] for q in self.body.pose}


End = RigidBody | Marker


def marker(end: End) -> Marker:
    """Return a given marker, or the centre of mass of a given body as a marker."""
    if isinstance(end, Marker):
        return end
    if isinstance(end, RigidBody):
        return end.at()
    raise BadInput(f"A joint or force was given {end!r}; give a body or a point of one, such as body.at(0.5, 0).")


def column(label: str, value: Iterable[Any], dim: int) -> Vec:
    """Return a column of dim numbers or expressions; raises BadInput."""
    if isinstance(value, Mapping | Set):
        raise BadInput(f"{label} is {value!r}, which has no order; give a sequence of {dim} numbers.")
    several = isinstance(value, (Iterable, sp.MatrixBase)) and not isinstance(value, str)
    entries = list(value) if several else [value]
    if len(entries) != dim:
        raise BadInput(f"{label} has {len(entries)} entries; give {dim}.")
    found = [_expression(x) for x in entries]
    if any(x is None for x in found):
        raise BadInput(f"{label} is {entries!r}; give finite numbers, parameters or expressions of them.")
    return sp.Matrix(found)


def scalar(label: str, value: Any) -> Any:
    """Return a number or an expression; raises BadInput."""
    found = _expression(value)
    if found is None:
        raise BadInput(f"{label} is {value!r}; give a finite number, a parameter or an expression of them.")
    return found


def _expression(value: Any) -> Any:
    """Return a value as a SymPy expression; None if it is no expression, or known not to be real and finite."""
    if isinstance(value, bool | np.bool_):
        return None
    try:
        found = sp.sympify(value, strict=True)  # strict=True refuses strings
    except (sp.SympifyError, TypeError, AttributeError):
        return None
    lawful = isinstance(found, sp.Expr) and not found.is_Matrix and not found.has(sp.nan, sp.zoo, sp.oo, -sp.oo)
    return found if lawful and found.is_real is not False else None


def frame(owner: str, axis: Vec, normal: Sequence[Any] | None) -> Any:
    """Return unit axes as columns: the first along `axis`; in space, the second in the plane of `axis` and `normal`."""
    size = sp.sqrt(axis.dot(axis))
    if size == 0:
        raise BadInput(f"An axis of {owner!r} has no direction; give one that is not zero.")
    first = axis / size
    if len(axis) == 2:
        return sp.Matrix([[first[0], -first[1]], [first[1], first[0]]])
    if normal is None:
        smallest = min(range(3), key=lambda i: abs(first[i]))
        second = sp.Matrix([int(i == smallest) for i in range(3)])
    else:
        second = column(f"normal of {owner!r}", normal, 3)
    second = second - first * first.dot(second)
    if second.norm() == 0:
        raise BadInput(f"normal and axis of {owner!r} are parallel; give a direction across the axis.")
    second = second / second.norm()
    return sp.Matrix.hstack(first, second, first.cross(second))


def total(parts: Iterable[Mapping[Any, Any]]) -> dict[Any, Any]:
    """Return the sum of generalised forces, by coordinate."""
    found: dict[Any, Any] = {}
    for part in parts:
        for q, force in part.items():
            found[q] = found.get(q, 0) + force
    return found
