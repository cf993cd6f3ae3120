"""The interface of elements between two points (joints, forces and contacts), and the rows that joints share."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import sympy as sp

from gaussopt.bodies.body import TIME, End, Marker, RigidBody, Vec, marker, scalar
from gaussopt.core.contacts import Contact
from gaussopt.core.errors import BadInput
from gaussopt.modelling.sketch import Shape
from gaussopt.modelling.solids import BallContact, FaceContact, Line, Plane, Solid


class Element:
    """An element that acts on the motion of point b relative to point a; by default it has no rows, forces or contacts.

    A row is named after the quantity that it fixes, such as x; messages and files put the element's name first: A.x.
    The multipliers of the rows of a joint are the forces and torques that a exerts on b.

    Attributes
    ----------
    only : dimension, 2 or 3, of an element for the plane or for space alone, and the element to use in the other case
    positive, not_negative : names of attributes that are lengths, m, and must be positive, or not negative
    """

    only: tuple[int, str] | None = None
    positive: tuple[str, ...] = ()
    not_negative: tuple[str, ...] = ()

    def __init__(self, name: str, a: End, b: End) -> None:
        self.name, self.a, self.b = name, marker(a), marker(b)
        if self.only is not None and self.a.body.dim != self.only[0]:
            where = "the plane" if self.only[0] == 2 else "space"
            raise BadInput(f"{type(self).__name__} {name!r} is for {where}; take {self.only[1]}.")
        if self.a.body is self.b.body:
            raise BadInput(f"{name!r} joins two points of {self.a.body.name!r}; give points of two bodies.")
        for body in self.bodies:
            body.made.append(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} between {self.a.body.name!r} and {self.b.body.name!r}>"

    def scalars(self, **given: Any) -> list[Any]:
        """Return the given numbers or expressions after checks; raises BadInput with the name of a wrong value."""
        return [scalar(f"{key} of {self.name!r}", value) for key, value in given.items()]

    def check(self, symbols: Mapping[str, Any], values: Mapping[str, float]) -> None:
        """Raise BadInput if a length has the wrong sign for these parameter values at t = 0."""
        known = {symbols[name]: values[name] for name in symbols} | {TIME: 0}
        for label in (*self.positive, *self.not_negative):
            for x in sp.flatten([getattr(self, label)]):
                length = sp.sympify(sp.sympify(x).xreplace(known))
                if length.free_symbols:  # an unknown symbol is reported where the equations are derived
                    continue
                if not length.is_real:
                    raise BadInput(f"{label} of {self.name!r} is {length}, which is no real number; change it.")
                if not (length > 0 if label in self.positive else length >= 0):
                    wanted = "positive" if label in self.positive else "positive or zero"
                    raise BadInput(f"{label} of {self.name!r} is {float(length):.6g} m; give one that is {wanted}.")

    def told(self, value: Any | Callable[..., Any], *arguments: Any) -> Any:
        """Return `value` or, if it is a function, its result for SymPy expressions; raises BadInput if it fails."""
        if not callable(value):
            return value
        try:
            return value(*arguments)
        except Exception as error:
            sizes = " and ".join(f"{x.rows} x {x.cols}" for x in arguments if isinstance(x, sp.MatrixBase))
            given, back = (f" ({sizes} matrices)", "a vector") if sizes else ("", "one")
            raise BadInput(
                f"The function of {self.name!r} fails: {error}. It is called once, with {len(arguments)} SymPy "
                f"expressions{given}, and returns {back}; take functions of SymPy, such as sympy.sin."
            ) from error

    def between(self, built: Mapping[RigidBody, RigidBody]) -> Self:
        """Return a copy of the element with the body of each end replaced by the body that `built` assigns to it."""
        found = copy.copy(self)
        found.a, found.b = (replace(m, body=built.get(m.body, m.body)) for m in (self.a, self.b))
        return found

    @property
    def bodies(self) -> tuple[RigidBody, RigidBody]:
        """The bodies that the element joins."""
        return self.a.body, self.b.body

    def undefined(self) -> Sequence[tuple[Any, str]]:
        """Return the expressions by which the element divides, each with the error message if its value is zero."""
        return ()

    def holonomic(self) -> Mapping[str, Any]:
        """Return functions of positions that the element keeps at zero, by name."""
        return {}

    def nonholonomic(self) -> Mapping[str, Any]:
        """Return functions of positions and velocities that the element keeps at zero, by name."""
        return {}

    def potential(self) -> Any:
        """Return the potential energy, J."""
        return sp.Integer(0)

    def forces(self) -> Mapping[Any, Any]:
        """Return, for each coordinate, the generalised force that has no potential."""
        return {}

    def contacts(self) -> Sequence[Contact]:
        """Return unilateral contacts."""
        return ()

    def measured(self) -> Mapping[str, tuple[Any, str]]:
        """Return the quantities of a spring that a motion can record: expressions with units, by name."""
        return {}

    def shapes(self) -> Sequence[Shape]:
        """Return the shapes of the picture in the plane; their positions are expressions of the coordinates."""
        return ()

    def in_space(self) -> Sequence[tuple[str, Solid] | Line | FaceContact | BallContact]:
        """Return the element's picture in space: a list of (body's name, solid), lines and contacts."""
        return ()


Keeps = Callable[[Marker, Marker], Mapping[str, Any]]
TURN, SLIDE, BALL = "turn", "slide", "ball"
"""Freedoms of a joint: rotation about the first axis, translation along it, or any rotation."""


class Joint(Element):
    """An element with constraint rows.

    Attributes
    ----------
    keeps : functions of a and b that return its holonomic rows by name, such as `coincide`
    aligned : in space, number of leading axes that must have the same direction at a and b; the rows alone also hold
        for opposite directions
    moves : its freedoms in order from a to b: TURN, SLIDE, BALL, or a matrix of new axes in terms of the previous axes;
        None for a joint that keeps its rows in joint coordinates too
    """

    keeps: tuple[Keeps, ...] = ()
    aligned = 0
    moves: tuple[Any, ...] | None = None
    mu: Any = sp.Integer(0)

    def rub(self, mu: Any) -> None:
        """Set the coefficient of friction; a joint with friction keeps its rows in joint coordinates too.

        Raises BadInput for friction in space, for which there is no model.
        """
        (self.mu,) = self.scalars(mu=mu)
        if self.mu != 0 and self.a.body.dim == 3:
            raise BadInput(
                f"{type(self).__name__} {self.name!r} has friction, which joints have in the plane only; in space "
                "leave mu out and add an AppliedForce or AppliedTorque, or build the guide of Touch contacts."
            )
        if self.mu != 0:
            self.moves = None  # joint coordinates would eliminate the joint force, on which friction depends

    def walls(self) -> Mapping[str, tuple[Any, Any]]:
        """Return the gap, m, and slip, m/s, of the contact that replaces each row with friction, by the row's name.

        These contacts are two-sided: |lam_T| <= mu |lam_N|, and lam_T = -mu |lam_N| sign(slip) while the contact slips.
        """
        return {}

    def contacts(self) -> Sequence[Contact]:
        """Return the two-sided contacts of a joint with friction."""
        return [
            Contact(f"{self.name}.{name}", gap=gap, slip=[slip], mu=self.mu, two_sided=True)
            for name, (gap, slip) in (self.walls() if self.mu != 0 else {}).items()
        ]

    def holonomic(self) -> Mapping[str, Any]:
        """Return the rows of all functions in `keeps`, without the rows that contacts with friction replace."""
        gone = self.walls() if self.mu != 0 else {}
        rows = {name: row for kept in self.keeps for name, row in kept(self.a, self.b).items()}
        return {name: row for name, row in rows.items() if name not in gone}

    def sides(self) -> Sequence[Any]:
        """Return the cosines of the angles between the axes that must be `aligned`."""
        axes = zip(self.a.axes, self.b.axes, strict=True) if self.a.body.dim == 3 else ()
        return [x.dot(y) for x, y in list(axes)[: self.aligned]]

    def displacement(self) -> Any:
        """Return the length or angle that the joint leaves free; raises BadInput unless there is exactly one."""
        raise BadInput(f"{self.name!r} does not leave one displacement or angle; drive a revolute or prismatic joint.")

    def free(self) -> tuple[Any, str]:
        """Return the displacement that the joint leaves free, and its unit, m or rad."""
        return self.displacement(), "m"

    def driven(self, motion: Any) -> Any:
        """Return a row that is zero where the displacement is `motion`, with derivative 1 by the displacement."""
        return self.displacement() - motion


def offset(a: Marker, b: Marker) -> Vec:
    """Return the vector from a to b in the frame of the ground, m."""
    return b.r - a.r


def coincide(a: Marker, b: Marker) -> dict[str, Any]:
    """Return the rows r_b - r_a; the multipliers are the components of the force on b in the frame of the ground, N."""
    return dict(zip("xyz", offset(a, b), strict=False))


def on_axis(a: Marker, b: Marker) -> dict[str, Any]:
    """Return the rows n . (r_b - r_a), n normal to the axis of a, which keep b on the line through a along the axis."""
    return {f"across{i}" if i > 1 else "across": n.dot(offset(a, b)) for i, n in enumerate(a.axes[1:], 1)}


def same_axis(a: Marker, b: Marker) -> dict[str, Any]:
    """Return the rows -n_2a . u_b and n_1a . u_b, which keep the axes parallel; no rows in the plane.

    The multipliers are the torques on b about n_1a and n_2a, perpendicular to the axis u_a, N m.
    """
    if len(a.axes) == 2:
        return {}
    _, n1, n2 = a.axes
    return {"tilt1": -n2.dot(b.axes[0]), "tilt2": n1.dot(b.axes[0])}


def same_turn(a: Marker, b: Marker) -> dict[str, Any]:
    """Return constraints that keep all axes parallel: the angle in the plane; in space `same_axis` and n_2a . n_1b = 0.

    The multiplier of the last row is the torque on b about u_a, N m.
    """
    if len(a.axes) == 2:
        return {"angle": angle(a, b)}
    return same_axis(a, b) | {"turn": a.axes[2].dot(b.axes[1])}


def coinciding(name: str, distance: Any) -> tuple[Any, str]:
    """Return (distance, message): an element divides by `distance`, which is zero if its two ends coincide."""
    return distance, (
        f"The two ends of {name!r} coincide at the start, so that it acts in no direction; guess other places of its "
        "bodies, or take other points of them."
    )


def angle(a: Marker, b: Marker) -> Any:
    """Return the angle from the axis of a to the axis of b in the plane, rad, with full turns counted."""
    first, second = (m.body.angle + sp.atan2(m.A[1, 0], m.A[0, 0]) for m in (a, b))
    return second - first


def less_turns(key: str, row: Any, known: Mapping[Any, Any]) -> Any:
    """Subtract from a row called `angle` the full turns that it has at the guesses `known`; keep any other row.

    Directions of axes determine angles only up to full turns: without this, two parallel sliders between the same
    bodies could require angles that differ by a full turn, and no motion could satisfy both rows.
    """
    value = sp.sympify(row).xreplace(dict(known)) if key == "angle" else sp.Integer(0)
    turns = round(float(value) / (2 * math.pi)) if value.is_number else 0
    return row - 2 * sp.pi * turns if turns else row


def tilt(dim: int, x: Any) -> Any:
    """Return the matrix of a rotation by x: in space about the first axis, in the plane about its normal."""
    c, s = sp.cos(x), sp.sin(x)
    return sp.Matrix([[c, -s], [s, c]]) if dim == 2 else sp.Matrix([[1, 0, 0], [0, c, -s], [0, s, c]])


def turn(a: Marker, b: Marker) -> Any:
    """Return the axes of b in components along the axes of a, (dim, dim): A_a^T R_a^T R_b A_b."""
    return (a.body.R * a.A).T * b.body.R * b.A


def spot(marker: Marker) -> tuple[str, tuple[Any, ...]]:
    """Return a point for pictures in space: the name of its body ("" for the ground), and its position on the body."""
    return "" if marker.body.name == "ground" else marker.body.name, tuple(marker.s)


def plane(marker: Marker) -> list[tuple[str, Solid]]:
    """Return the plane normal to a point's axis, as a solid of the picture; none if the point's body can move."""
    body, place = spot(marker)
    return [] if marker.body.q else [(body, Plane(place, tuple(marker.A[:, 0])))]


def held(joint: Element) -> bool:
    """Return whether the body at an end of the joint has no coordinates, like the ground."""
    return not (joint.a.body.q and joint.b.body.q)
