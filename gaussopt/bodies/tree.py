"""Joint coordinates: bodies placed one after the other along a spanning tree of joints, from the ground outwards.

A joint between a placed body a and a body b that is not yet placed determines the pose of b by its freedoms: with the
frame F = R_a A_a and the joint's point o on a, a slide by x moves o by F_1 x, a turn by x rotates F about its first
axis, and

    R_b = F A_b^T,   r_b = o - R_b s_b,   omega_F <- Rot(x)^T omega_F + x' e_1,   omega_b = A_b omega_F (frame of b),

and similarly for the velocity of o, so that the kinetic energy of a body contains only the coordinates of its joints.

The rows of these joints hold identically and are left out; joints that close loops and other elements keep their rows.

References
----------
R. Featherstone, Rigid Body Dynamics Algorithms, 2008, ch. 3 and 8 (joint models, closed loops by a spanning tree).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from gaussopt.bodies.body import TIME, Marker, RigidBody, evaluated, names_of, rate, total
from gaussopt.bodies.element import BALL, SLIDE, TURN, Element, Joint, angle, offset, tilt
from gaussopt.bodies.plane import PlaneBody
from gaussopt.bodies.space import SpaceBody
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.row_rounding import EPS
from gaussopt.symbolic.cancellation import sizes
from gaussopt.symbolic.derivatives import Recursion

CLOSED = 1e-9
"""Largest residual, m or rad, that counts as rounding error in a row without coordinates."""

DRAWS = 4
"""Number of random configurations at which the values of a row are compared."""

ROUNDED = 256
"""A row counts as constant if it changes by at most this many rounding errors of its terms, as axes are inexact."""

LONG = 5
"""Number of coordinates in a row from which on poses and velocities get names: shorter chains have shorter formulas.

A ball counts as one at the end of a row, since the angular velocity of its body holds no coordinates before it.
"""

UNITS = {TURN: ("angle", "rad"), SLIDE: ("along", "m")}
"""Names and units of the coordinates of a joint."""


class TreeBody(RigidBody):
    """A body whose pose follows from the pose of another body and the coordinates of a joint.

    Attributes
    ----------
    own_velocity, own_spin : velocity of its centre, m/s, and angular velocity, rad/s, as components in its frame
    new_q, new_v : the coordinates of the joint and their rates
    q, v : the coordinates and rates of all joints between the ground and this body
    """

    def __init__(
        self, own: PlaneBody | SpaceBody, base: RigidBody, joint: Joint, forward: bool, names: Recursion | None = None
    ) -> None:
        self.dim = own.dim
        super().__init__(own.name)
        self.names = names
        self.mass, self.inertia, self.points, self.shape = own.mass, own.inertia, own.points, own.shape
        self._ball: SpaceBody | None = None
        near, far = (joint.a, joint.b) if forward else (joint.b, joint.a)
        self._joint = joint
        self._place(own, replace(near, body=base), far, joint, 1 if forward else -1)

    def _place(self, own: PlaneBody | SpaceBody, near: Marker, far: Marker, joint: Joint, sign: int) -> None:
        """Apply the freedoms of the joint, one by one, to place the body relative to a body that is already placed.

        `velocity` and `spin` are those of F: its components along itself or, with names, in the frame of the ground.
        """
        base, moves, q, names, space = near.body, joint.moves or (), list[Any](), self.names, self.dim == 3
        turns = moves.count(TURN)
        named = names.named if names else _same
        F, s, turned = named(base.R * near.A), named(base.R * near.s), base.angle + _direction(near)
        o, (velocity, spin) = named(base.r + s), _own_rates(base, names is not None)
        velocity = named(velocity + _cross(spin, s if names else near.s))
        if not names:
            velocity, spin = near.A.T * velocity, near.A.T * spin if space else spin
        for move in moves[::sign]:
            first = F[:, 0] if names else sp.Matrix([1, *[0] * (self.dim - 1)])
            if move is BALL:
                assert isinstance(own, SpaceBody)
                if names:
                    names.know(own.q[3:], own.v[3:])
                new = named(own.R * far.A)
                velocity, spin = (velocity, own.spin) if names else (new.T * F * velocity, far.A.T * own.own_spin)
                self._ball, F = own, new
                q += own.q[3:][::sign]
                continue
            if not isinstance(move, str):
                turn = move if sign > 0 else move.T
                F = named(F * turn)
                velocity, spin = (velocity, spin) if names else (turn.T * velocity, turn.T * spin)
                continue
            kind, unit = UNITS[move]
            number = "" if turns < 2 else len(q) + 1 if sign > 0 else turns - len(q)
            name = f"{kind}{number}_{joint.name}"
            x, speed = sp.Symbol(name, real=True), sp.Symbol(f"v_{name}", real=True)
            self.units[name] = unit
            q.append(x)
            if names:
                names.know([x], [speed])
            if move == SLIDE:
                o = named(o + sign * F[:, 0] * x)
                velocity = named(velocity + sign * (_cross(spin, first * x) + first * speed))
                continue
            turn = named(tilt(self.dim, sign * x))
            F, turned = named(F * turn), turned + sign * x
            velocity, spin = (velocity, spin) if names else (turn.T * velocity, turn.T * spin if space else spin)
            spin = spin + sign * speed * (first if space else 1)
        self.new_q = tuple(q[::sign])
        self.new_v = tuple(sp.Symbol(f"v_{x}", real=True) for x in self.new_q)
        self.q, self.v = (*base.q, *self.new_q), (*base.v, *self.new_v)
        self.R, self.angle = named(F * far.A.T), turned - _direction(far)
        s = named(self.R * far.s)
        self.r = named(o - s)
        if names:
            self.spin = named(spin) if space else names.name(spin)
            self.own_velocity = named(velocity - _cross(self.spin, s))
            self.own_spin = self.spin if not space else named(own.own_spin if self._ball else self.R.T * self.spin)
            return
        self.own_spin = far.A * spin if space else spin
        self.own_velocity = far.A * velocity - _cross(self.own_spin, far.s)
        if space:
            self.spin = self.R * self.own_spin

    @property
    def pose(self) -> tuple[Any, ...]:
        """The symbols in r, R and angle."""
        if self.names is None:
            return self.q
        found = set().union(*(x.free_symbols for x in (self.r, self.R, sp.sympify(self.angle))))
        return tuple(sorted((x for x in found if self.names.moves(x)), key=str))

    @property
    def quaternion(self) -> tuple[Any, ...]:
        """The quaternion of a ball joint, () for other joints."""
        return () if self._ball is None else self._ball.quaternion

    @property
    def guesses(self) -> tuple[list[Any], list[Any]]:
        """Guesses of the joint's coordinates and of their rates, from the guesses of its bodies."""
        if self._ball is not None:
            return self._ball.guess[3:], self._ball.guess_rate[3:]
        found = list(_guessed(self._joint))
        return [x for x, _ in found], [x for _, x in found]

    @property
    def kinetic(self) -> Any:
        """Kinetic energy T = 1/2 m r'^2 + 1/2 omega^T I omega, J."""
        straight = self.mass * self.own_velocity.dot(self.own_velocity) / 2
        if self.dim == 2:
            return straight + self.inertia * self.own_spin**2 / 2
        stretch = 0 if self._ball is None else self._ball.stretch
        return straight + (self.own_spin.T * self.inertia * self.own_spin)[0] / 2 + stretch

    def holonomic(self) -> dict[str, Any]:
        """Return the condition of unit length for the quaternion of a ball joint; none for other joints."""
        return {} if self._ball is None else self._ball.holonomic()

    def turned_by(self, torque: Any) -> dict[Any, Any]:
        """Return the generalised forces of a torque on the body, by virtual work."""
        if self.dim == 2:
            return {q: torque * sp.diff(self.angle, q) for q in self.pose}
        if self.names:
            quick = self.spin.free_symbols & self.names.fast
            return {x: self.spin.diff(x).dot(torque) for x in sorted(quick, key=str)}
        return {q: self.spin.diff(v).dot(torque) for q, v in zip(self.q, self.v, strict=True)}


def in_joint_coordinates(
    bodies: Sequence[RigidBody], elements: Sequence[Element]
) -> tuple[list[RigidBody], list[Element], frozenset[str]]:
    """Return the bodies in coordinates of a spanning tree, the elements between them, and the tree's joint names.

    Joints are taken in order. Bodies that no joint of the tree reaches keep their coordinates.
    """
    built = {body: body for body in bodies if not body.q}
    waiting, order, depth, longest = [body for body in bodies if body.q], list[Any](), dict.fromkeys(built, 0), 0
    joints = [e for e in elements if isinstance(e, Joint) and e.moves is not None]
    while waiting:
        reached = next(_reached(joints, depth, waiting), None)
        if reached is None:
            depth[waiting.pop(0)] = 0
            continue
        joint, forward, base, body = reached
        moves = [x for x in joint.moves or () if isinstance(x, str)]
        longest = max(longest, depth.get(base, 0) + len(moves))
        depth[body] = depth.get(base, 0) + sum(4 if x is BALL else 1 for x in moves)
        waiting.remove(body)
        order.append(reached)
    names = None
    if longest >= LONG:
        names = Recursion({TIME: sp.Integer(1)}, (), "_")
        for root in {*bodies} - {body for *_, body in order}:
            names.know(root.q, root.v)
    built |= {body: body for body in depth}
    for joint, forward, base, body in order:
        built[body] = TreeBody(body, built.get(base, base), joint, forward, names)
    return [built[body] for body in bodies], [e.between(built) for e in elements], frozenset(x.name for x, *_ in order)


def rows_of_loops(
    rows: Mapping[str, tuple[Any, Element]], bodies: Sequence[RigidBody], values: Mapping[Any, float]
) -> dict[str, tuple[Any, Element]]:
    """Return the rows that do not follow from the joints of the tree, each with its element, by name.

    The other rows hold at all coordinates because the joints imply them, such as the row normal to the plane of a
    planar mechanism in space. Neither the coordinates in an expression nor, with floating-point axes, simplification
    reveals such rows. Rows are therefore evaluated at random configurations: a row counts as constant if it changes by
    no more than the rounding errors of its terms, of the points that it compares, and of its unit axes.

    Raises BadInput for a row that the joints make nonzero at all coordinates. `values` are the parameter values.
    """
    q, lines = [x for body in bodies for x in body.new_q], names_of(bodies)
    defined = lines.lines if lines else {}
    names = [*q, TIME, *values]
    known = {label: row for label, (row, _) in rows.items() if row.free_symbols <= {*names, *defined}}
    if not known:  # unknown symbols are reported in a later step
        return dict(rows)
    places = [sp.Add(*sizes([*e.a.r, *e.b.r], lines)) for _, e in (rows[label] for label in known)]
    numbers = evaluated([names], [*known.values(), *sizes(list(known.values()), lines), *places], bodies, "numpy")

    def at(place: Vector) -> tuple[Vector, Vector]:
        with np.errstate(all="ignore"):
            row, *size = np.array([float(x) for x in numbers(place)]).reshape(3, -1)
        return row, ROUNDED * EPS * np.maximum(1.0, np.maximum(*size))

    random = np.random.default_rng(0)
    first, *others = (np.r_[_drawn(random, bodies), 0.0, [*values.values()]] for _ in range(DRAWS))
    (value, limit), there = at(first), [at(place) for place in others]
    constant = np.all([np.abs(other - value) <= limit + beside for other, beside in there], axis=0)
    moved: dict[Any, NDArray[np.bool_]] = {}
    for i, x in enumerate(names[len(q) :], len(q)):
        place = first.copy()
        place[i] = place[i] * 1.25 + 0.125
        other, beside = at(place)
        moved[x] = ~(np.abs(other - value) <= limit + beside)
    for i, label in enumerate(known):
        if constant[i]:
            _refuse_open(label, float(value[i]), [x for x in moved if moved[x][i]])
    implied = {label for label, found in zip(known, constant, strict=True) if found}
    return {label: found for label, found in rows.items() if label not in implied}


def generalised(
    elements: Iterable[Element], potential: list[Any], bodies: Sequence[RigidBody]
) -> tuple[dict[Any, Any], list[Any]]:
    """Return the generalised forces of the elements, by coordinates, and the terms of the potential, with names."""
    found, names = total(e.forces() for e in elements), names_of(bodies)
    if names is None:
        return found, potential
    forces = names.shared([*found.values(), *potential])
    return names.generalised(dict(zip(found, forces, strict=False))), forces[len(found) :]


def moving(rows: Mapping[str, Any], bodies: Sequence[RigidBody]) -> dict[str, Any]:
    """Return the velocity rows, except rows between bodies that cannot move, which hold identically.

    Raises BadInput for a row between immovable bodies that is not zero.
    """
    names = names_of(bodies)
    unknowns = [*(x for body in bodies for x in (*body.new_q, *body.new_v)), *(names.lines if names else ())]
    held = {label: row for label, row in rows.items() if not sp.sympify(row).has(*unknowns)}
    for label, row in held.items():
        if (rest := sp.simplify(row)) != 0:
            raise BadInput(
                f"The row {label} joins bodies that no joint lets move, and asks for {rest} = 0: nothing can satisfy "
                f"it; remove {label.partition('.')[0]!r}, or free one of its bodies."
            )
    return {label: row for label, row in rows.items() if label not in held}


def _drawn(random: np.random.Generator, bodies: Sequence[RigidBody]) -> Vector:
    """Return random coordinates, with unit quaternions."""
    q = [x for body in bodies for x in body.new_q]
    found = random.uniform(-2.0, 2.0, len(q))
    for body in bodies:
        if e := [q.index(x) for x in body.quaternion]:
            found[e] /= np.linalg.norm(found[e])
    return np.asarray(found)


def _refuse_open(label: str, rest: float, holds: Sequence[Any]) -> None:
    """Raise BadInput for a row without joint coordinates, unless it is zero for all times and parameter values."""
    if holds:
        what = "the time" if TIME in holds else f"the parameter {str(holds[0])!r}"
        raise BadInput(
            f"The row {label} holds {what} and no joint coordinate: no motion of the joints before it can close it. "
            "Take coordinates='maximal', or a joint that leaves this row free."
        )
    if abs(rest) > CLOSED:
        raise BadInput(
            f"The joints cannot be closed: {label} stays open by {abs(rest):.3g} m or rad, whatever the joints "
            "before it do; change its places or axes."
        )


def _reached(
    joints: Sequence[Joint], built: Container[RigidBody], waiting: Sequence[RigidBody]
) -> Iterator[tuple[Joint, bool, RigidBody, PlaneBody | SpaceBody]]:
    """Yield (joint, forward, base, body) for joints of a built `base` and a waiting `body`; `forward`: base is a."""
    for joint in joints:
        for forward, (base, body) in ((True, joint.bodies), (False, joint.bodies[::-1])):
            if (base in built or not base.q) and body in waiting and isinstance(body, PlaneBody | SpaceBody):
                yield joint, forward, base, body


def _own_rates(body: RigidBody, grounded: bool) -> tuple[Any, Any]:
    """Return the velocity of a body's centre and its angular velocity (a number in the plane), in the body's frame.

    If `grounded`, the components are those in the frame of the ground.
    """
    if isinstance(body, TreeBody):
        return body.own_velocity, body.spin if grounded else body.own_spin
    if grounded:
        return rate(body.r, [body]), body.spin if body.dim == 3 else rate(body.angle, [body])
    spin = rate(body.angle, [body]) if body.dim == 2 else body.own_spin
    return body.R.T * rate(body.r, [body]), spin


def _same(x: Any) -> Any:
    return x


def _cross(spin: Any, s: Any) -> Any:
    """Return omega x s; in the plane omega is a number."""
    return spin.cross(s) if len(s) == 3 else spin * sp.Matrix([-s[1], s[0]])


def _direction(marker: Marker) -> Any:
    """Return the angle of a point's axis in its body's frame, rad, in the plane."""
    return sp.atan2(marker.A[1, 0], marker.A[0, 0])


def _guessed(joint: Joint) -> Iterator[tuple[Any, Any]]:
    """Yield (guess of a coordinate, guess of its rate) for a joint, from the guesses of the joint's bodies."""
    a, b, moves = joint.a, joint.b, joint.moves or ()
    guesses = {
        x: sp.sympify(y)
        for body in joint.bodies
        for x, y in zip((*body.q, *body.v), (*body.guess, *body.guess_rate), strict=True)
    }

    def known(x: Any) -> Any:
        return sp.sympify(x).xreplace(guesses)

    first, second = (known(m.body.R * m.A) for m in (a, b))
    C = first.T * second
    spin: Any = first.T * (known(b.body.spin) - known(a.body.spin)) if a.body.dim == 3 else None
    for i, move in enumerate(moves):
        if move is SLIDE:
            along = a.axes[0].dot(offset(a, b))
            yield known(along), known(rate(along, joint.bodies))
        elif move is TURN and a.body.dim == 2:
            yield known(angle(a, b)), known(rate(angle(a, b), joint.bodies))
        elif move is TURN:
            between = len(moves) > i + 1  # another freedom follows, about an axis at a right angle
            x = sp.atan2(C[2, 0], C[1, 0]) if between else sp.atan2(C[2, 1], C[1, 1])
            yield x, spin[0]
            C, spin = tilt(3, x).T * C, tilt(3, x).T * spin
        elif move is not BALL:
            C, spin = move.T * C, move.T * spin
