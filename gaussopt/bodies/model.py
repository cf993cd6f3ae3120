"""Mechanisms from bodies and elements: `Model` collects them, derives the system and assembles its start.

The coordinates are either the coordinates of all bodies (maximal coordinates), so that M is block diagonal and every
joint has rows and forces; or the coordinates of the joints of a spanning tree (`gaussopt.bodies.tree`):

    T = sum of 1/2 m r'^2 + 1/2 omega^T I omega,   V = -sum of m g . r + springs,   phi(q, t) = 0,   f(q, v, t) = 0.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import sympy as sp

from gaussopt.bodies.body import TIME, RigidBody, column, evaluated, guesses, names_of, scalar
from gaussopt.bodies.choice import fewer_operations
from gaussopt.bodies.drawing import drawn
from gaussopt.bodies.element import Element, Joint, less_turns
from gaussopt.bodies.free_bodies import free_bodies, looked_at
from gaussopt.bodies.joints.drive import Drive
from gaussopt.bodies.observed import Observed
from gaussopt.bodies.picture import as_solids, drawn_in_space
from gaussopt.bodies.plane import Particle, PlaneBody, PlaneFrame
from gaussopt.bodies.slips import shapes, slips
from gaussopt.bodies.space import SpaceBody, SpaceFrame, matrices
from gaussopt.bodies.tables import TableSystem
from gaussopt.bodies.tree import generalised, in_joint_coordinates, moving, rows_of_loops
from gaussopt.core.arrays import Vector
from gaussopt.core.display import About, listed, shown
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.keywords import suggesting
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.assembly import assemble
from gaussopt.modelling.lagrangian import LagrangianSystem, derive, read_model
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.sketch import Draw, Shape
from gaussopt.modelling.solids import SpacePicture

MANY = 20
"""Largest number of bodies for which code is generated for all rows; with more, this takes longer than it saves."""

NOTHING = 1e-12
"""Largest absolute value of a divisor that counts as zero: a distance, m, or one minus a cosine."""

Built: TypeAlias = tuple[list[RigidBody], list[Element], frozenset[str]]
"""Bodies and elements in the coordinates of a model, and the names of the joints without constraint rows."""

AnyElement = TypeVar("AnyElement", bound=Element)
AnyBody = TypeVar("AnyBody", bound=RigidBody)


@shown
class Model(Observed):
    """Bodies, joints, forces and contacts in the plane or in space.

    Numbers may be parameters made by `parameter`, or expressions of them, whose values can be changed for each run.

    Parameters
    ----------
    dim : 2 or 3
    gravity : dim numbers, m/s^2; zero if not given
    name : str, by default the name of its file
    parameters : parameters that the numbers may contain, in addition to those that `parameter` adds
    coordinates : "maximal" for those of all bodies; "joint" for those of the joints of a spanning tree, which then have
        no rows, unlike joints that close loops; "auto" for the kind with less work, see `gaussopt.bodies.choice`

    Attributes
    ----------
    ground, t : RigidBody, at rest, and the time symbol
    symbols : symbols of the parameters, by name
    bodies, elements : the added bodies and elements, by name
    """

    def __init__(
        self, dim: int = 2, gravity: Sequence[Any] | None = None, name: str = "",
        parameters: Sequence[Parameter] = (), coordinates: str = "maximal",
    ) -> None:  # fmt: skip
        if isinstance(dim, bool) or not isinstance(dim, int) or dim not in (2, 3):
            raise BadInput(f"dim is {dim!r}; give 2 for the plane or 3 for space.")
        if coordinates not in ("maximal", "joint", "auto"):
            raise UnknownName("kind of coordinates", coordinates, ("maximal", "joint", "auto"))
        self.dim, self.name, self.t, self.kind, self.chosen = dim, name, TIME, coordinates, ""
        self.gravity = column("gravity", (0,) * dim if gravity is None else gravity, dim)
        self.ground: RigidBody = PlaneFrame("ground") if dim == 2 else SpaceFrame("ground")
        self.bodies: dict[str, RigidBody] = {}
        self.elements: dict[str, Element] = {}
        self.parameters: dict[str, Parameter] = {}
        self.symbols: dict[str, Any] = {}
        for p in parameters:
            if not isinstance(p, Parameter):
                raise BadInput(f"parameters holds {p!r}; give go.Parameter(name, value), or add it by model.parameter.")
            self.parameter(p.name, p.value, p.unit, p.meaning)

    def _about(self) -> About:
        parts = f"bodies {listed(self.bodies) or 'none'}; elements {listed(self.elements) or 'none'}"
        kind = self.chosen or f"{self.kind}; 'maximal', 'joint' or, for the one with less work, 'auto' can be asked for"
        return About(self.name or "without a name", (parts, f"coordinates {kind}"))

    def parameter(self, name: str, value: float, unit: str = "", meaning: str = "") -> Any:
        """Add a parameter and return its SymPy symbol, to be used as a number."""
        if not (isinstance(name, str) and name.strip()):
            raise BadInput(f"A parameter of the model is called {name!r}; give a text.")
        if name in self.parameters:
            raise BadInput(f"The model has two parameters called {name!r}; give each a name of its own.")
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise BadInput(f"Parameter {name!r} is {value!r}; give a number.") from None
        self.parameters[name] = Parameter(name, number, unit, meaning)
        return self.symbols.setdefault(name, sp.Symbol(name, real=True))

    def body(
        self, name: str, mass: Any, inertia: Any, *, at: Sequence[Any] | None = None, angle: Any = None,
        velocity: Sequence[Any] | None = None, spin: Any = None, points: Mapping[str, Sequence[Any]] | None = None,
        shape: Any = None, quaternion_mass: Any = 0,
    ) -> RigidBody:  # fmt: skip
        """Add a rigid body.

        Parameters
        ----------
        name : str; coordinates are called x_name, y_name, theta_name; in space z_name and e0_name to e3_name as well
        mass : kg
        inertia : about the centre of mass, kg m^2; in space three principal moments or a tensor
        at, angle : guess of the centre, m, and of the angle, rad; in space a quaternion (e0, e1, e2, e3), of any length
        velocity, spin : guess of the velocity, m/s, and of the angular velocity, rad/s; in space three components in
            the frame of the ground
        points : positions of named points in the frame of the body, m
        shape : radius of a disk, or width and height of a block, m, for the picture; in space radius of a ball, three
            edges of a box, or one or several of `Box`, `Ball`, `Cylinder`, `Capsule` of `gaussopt.bodies`
        quaternion_mass : in space, kg m^2; if positive, it makes the mass matrix regular without changing the motion,
            see `gaussopt.bodies.space.SpaceBody`
        """
        body: RigidBody = (
            PlaneBody(name, mass, inertia) if self.dim == 2 else SpaceBody(name, mass, inertia, quaternion_mass)
        )
        place = column(f"at of {name!r}", (0,) * self.dim if at is None else at, self.dim)
        speed = column(f"velocity of {name!r}", (0,) * self.dim if velocity is None else velocity, self.dim)
        if self.dim == 2:
            body.guess = [*place, scalar(f"angle of {name!r}", angle or 0)]
            body.guess_rate = [*speed, scalar(f"spin of {name!r}", spin or 0)]
        else:
            e = column(f"angle of {name!r}", (1, 0, 0, 0) if angle is None else angle, 4)
            omega = column(f"spin of {name!r}", (0, 0, 0) if spin is None else spin, 3)
            length = sp.sqrt(e.dot(e))
            if length == 0:
                raise BadInput(f"angle of {name!r} is a quaternion of length zero; (1, 0, 0, 0) is a body not turned.")
            # The assembly normalises the quaternion; the given spin holds for the unit quaternion.
            body.guess, body.guess_rate = [*place, *e], [*speed, *(matrices(e)[0].T * omega / (2 * length))]
        if not isinstance(points, Mapping | None):
            raise BadInput(f"points of {name!r} is {points!r}; give a mapping of names to places.")
        body.points = {key: column(f"{key} of {name!r}", s, self.dim) for key, s in (points or {}).items()}
        body.shape = shape if self.dim == 2 else as_solids(name, shape)
        return self._take(body)

    def particle(
        self, name: str, mass: Any, *, at: Sequence[Any] | None = None, velocity: Sequence[Any] | None = None,
        shape: Any = None,
    ) -> RigidBody:  # fmt: skip
        """Add a body that does not rotate, with only the coordinates of its centre."""
        body, rest = Particle(name, mass, self.dim), (0,) * self.dim
        body.guess = list(column(f"at of {name!r}", rest if at is None else at, self.dim))
        body.guess_rate = list(column(f"velocity of {name!r}", rest if velocity is None else velocity, self.dim))
        body.shape = shape if self.dim == 2 else as_solids(name, shape)
        return self._take(body)

    def moving(self, name: str, at: Sequence[Any], angle: Any = 0) -> RigidBody:
        """Add a frame without mass whose position and, in the plane, angle are functions of the time symbol `t`.

        Raises BadInput for an angle in space, where such a frame cannot rotate.
        """
        if self.dim == 3 and angle != 0:
            raise BadInput(
                f"The frame {name!r} was given the angle {angle!r}; in space such a frame moves without turning. Let a "
                "body turn about a hinge that a Drive prescribes."
            )
        frame: RigidBody = PlaneFrame(name, at, angle) if self.dim == 2 else SpaceFrame(name, at)
        return self._take(frame)

    def add(self, element: AnyElement) -> AnyElement:
        """Add a joint, a force or a contact and return it."""
        if not isinstance(element, Element):
            raise BadInput(f"{element!r} is no joint, force or contact of gaussopt.bodies.")
        for body in element.bodies:
            if body is not self.ground and self.bodies.get(body.name) is not body:
                raise BadInput(f"{element.name!r} joins {body.name!r}, which is no body of this model.")
        if isinstance(element, Drive) and self.elements.get(element.joint.name) is not element.joint:
            raise BadInput(f"{element.name!r} drives {element.joint.name!r}; add that joint to this model first.")
        self._new(element.name)
        self.elements[element.name] = element
        return element

    @property
    def coordinates(self) -> list[Any]:
        """Symbols of all coordinates."""
        return [q for body in self.built()[0] for q in body.new_q]

    def built(self) -> Built:
        """Return bodies and elements in the model's coordinates, and the names of joints without constraint rows."""
        if self.kind == "auto":
            self.kind, self.chosen = fewer_operations(lambda kind: Assembly(lambda: self._in(kind)))
        if self.kind == "joint":
            return in_joint_coordinates(list(self.bodies.values()), list(self.elements.values()))
        return list(self.bodies.values()), list(self.elements.values()), frozenset()

    def _in(self, kind: str) -> Model:
        other = copy.copy(self)
        vars(other).update({name: dict(x) for name, x in vars(self).items() if isinstance(x, dict)}, kind=kind)
        return other

    def system(self, closed: bool = False) -> AbstractSystem:
        """Return the equations of motion, with names of coordinates, rows and contacts; raises BadInput.

        For more than `MANY` bodies in the plane, rows of equal form are derived once; see `gaussopt.bodies.tables`. If
        `closed`, gaps of two-sided contacts become equality rows without friction, so that a start can be assembled.
        """
        self._check({p.name: p.value for p in self.parameters.values()})
        bodies, elements, tree = self.built()
        elements = [e for e in elements if e.name not in tree]
        g, v = column("gravity", self.gravity, self.dim), [v for body in bodies for v in body.new_v]
        q = [q for body in bodies for q in body.new_q]
        if tree and not q:
            raise BadInput(
                f"Nothing can move: the joints {listed(sorted(tree))} leave no joint coordinate. Take "
                "coordinates='maximal', or joints that leave something free."
            )
        values, name = {self.symbols[p.name]: p.value for p in self.parameters.values()}, self.name or "model"
        if (pile := free_bodies(bodies, elements, g, values, name)) is not None:
            return pile
        potential = [-b.mass * g.dot(b.r) for b in bodies if b.q] + [sp.sympify(e.potential()) for e in elements]
        (forces, potential), names = generalised(elements, potential, bodies), names_of(bodies)
        guesses = {x: sp.sympify(y).subs(values) for b in bodies for x, y in zip(b.new_q, b.guesses[0], strict=True)}
        known = guesses | values | {TIME: 0}
        rows = {f"{e.name}.{k}": (less_turns(k, row, known), e) for e in elements for k, row in e.holonomic().items()}
        rows = rows_of_loops(rows, bodies, values) if self.kind == "joint" else rows
        holonomic = {f"{body.name}.{k}": row for body in bodies for k, row in body.holonomic().items()}
        holonomic |= {label: row for label, (row, _) in rows.items()}
        nonholonomic = moving({f"{e.name}.{k}": x for e in elements for k, x in e.nonholonomic().items()}, bodies)
        contacts = [contact for e in elements for contact in e.contacts()]
        if closed:
            holonomic |= {contact.name: contact.gap for contact in contacts if contact.two_sided}
            contacts = [contact for contact in contacts if not contact.two_sided]
        if len(bodies) > MANY and self.dim == 2 and self.kind == "maximal" and not (nonholonomic or contacts):
            masses = [sp.diff(body.kinetic, rate, 2) for body in bodies for rate in body.v]
            known = {"rows": holonomic, "potential": potential, "forces": forces}
            return TableSystem(name, q, v, masses, known, values)
        parts = {
            "kinetic": sum(body.kinetic for body in bodies), "potential": sum(potential), "forces": forces,
            "holonomic": holonomic, "nonholonomic": nonholonomic, "quasi_velocities": (), "contacts": contacts,
            "without_rows": sorted(tree), "lines": names.pairs if names else (), "chosen": self.chosen,
        }  # fmt: skip
        return derive(read_model(q, v, parts, values, None, name))

    def to_latex(self) -> str:
        """Return the equations of motion in LaTeX for display; for a large model, only their general form.

        Raises BadInput for a model of more than `MANY` bodies whose rows are derived by form; see `system`.
        """
        system = self.system()
        if not isinstance(system, LagrangianSystem):
            raise BadInput("A model of so many bodies or contacts has no formulas; take some of them out.")
        return system.to_latex()

    def start(
        self, system: AbstractSystem, hold: Sequence[Any] = (), values: Mapping[str, float] | None = None
    ) -> tuple[Vector, Vector]:
        """Return the state on the constraints nearest to the guesses; see `gaussopt.modelling.assembly.assemble`."""
        values, built = system.parameters if values is None else values, self.built()
        self._check(values)
        held = [hold] if isinstance(hold, str | sp.Symbol) else hold
        if not isinstance(held, Iterable):
            raise BadInput(f"hold is {hold!r}; give coordinates, as symbols or names.")
        q, v = guesses(built[0], self.symbols, values)
        built = built[0], looked_at(system, built[1], q), built[2]
        try:
            q, v = assemble(system.with_parameters(**values), q, v, [str(x) for x in held])
        except BadInput:
            self._refuse_undefined(built, q, values)  # raises an error that names the element that divides by zero
            raise
        self._refuse_undefined(built, q, values)
        self._refuse_turned_over(built, q, values)
        return q, v

    def _check(self, values: Mapping[str, float]) -> None:
        """Raise BadInput for a body or element that cannot exist with these parameter values."""
        parts: list[RigidBody | Element] = [*self.bodies.values(), *self.elements.values()]
        for part in parts:
            part.check(self.symbols, values)

    def _numbers(
        self, found: Sequence[tuple[str, Any]], bodies: Sequence[RigidBody], q: Vector, values: Mapping[str, float]
    ) -> list[Any]:
        """Return pairs (name, value) for pairs (name, expression) at coordinates q, t = 0 and parameter values."""
        known = [*(x for body in bodies for x in body.new_q), self.t, *self.symbols.values()]
        numbers = evaluated(known, [x for _, x in found], bodies)(*q, 0.0, *(values[name] for name in self.symbols))
        return [(name, x) for (name, _), x in zip(found, numbers, strict=True)]

    def _refuse_undefined(self, built: Built, q: Vector, values: Mapping[str, float]) -> None:
        """Raise BadInput if an element divides by zero at these coordinates, for example because its ends coincide."""
        bodies, elements, tree = built
        found = [(why, x) for e in elements if e.name not in tree for x, why in e.undefined()]
        for why, divisor in self._numbers(found, bodies, q, values):
            if abs(divisor) <= NOTHING:
                raise BadInput(why)

    def _refuse_turned_over(self, built: Built, q: Vector, values: Mapping[str, float]) -> None:
        """Raise BadInput if axes that a joint should align have opposite directions, which its rows do not exclude."""
        bodies, elements, tree = built
        sides = [(e.name, x) for e in elements if isinstance(e, Joint) and e.name not in tree for x in e.sides()]
        for name, cosine in self._numbers(sides, bodies, q, values):
            if cosine < 0:
                raise BadInput(
                    f"The joint {name!r} is assembled turned over: axes of its two bodies that are to point the same "
                    "way point against each other. Turn the axis of one of them round, or guess places and angles "
                    "nearer to those that are meant."
                )

    @suggesting
    def problem(self, *, t_end: float, hold: Sequence[Any] = (), **more: Any) -> Problem:
        """Return the problem of this mechanism, with its start assembled for its parameter values.

        Parameters
        ----------
        t_end : end time, s
        hold : coordinates, as symbols or names, that keep their guesses
        more : further arguments of `Problem.of`, except the start
        """
        bodies, kept = self.built()[0], self._in(self.kind)  # parts added later must not change this problem
        for name in {"q0", "v0"} & more.keys():
            raise BadInput(f"The start of a model is assembled: give guesses to its bodies, and no {name}.")
        built = Assembly(lambda: kept, hold)
        sketch: dict[str, Any] = {"sketch": built.sketch} if self.dim == 2 else {"in_space": built.in_space}
        given: dict[str, Any] = {
            "name": self.name, "parameters": tuple(self.parameters.values()), "start": built.start,
            "units": {name: unit for body in bodies for name, unit in body.units.items()},
        }  # fmt: skip
        system, (q, v) = built.build(), built.start(built.build().parameters)
        near = guesses(bodies, self.symbols, system.parameters)[0]
        system.notes += tuple(slips(self.bodies, self.elements, self.gravity, system.smooth_part(0.0, q, v), near))
        system.watch = shapes(self.bodies, self.elements, system.coordinates(len(q)))
        return Problem.of(system, q, t_end=t_end, **given | sketch | more)

    def _take(self, body: AnyBody) -> AnyBody:
        self._new(body.name)
        self.bodies[body.name] = body
        return body

    def _new(self, name: str) -> None:
        if not (isinstance(name, str) and name.strip()):
            raise BadInput(f"A part of the model is called {name!r}; give a text.")
        if name in self.bodies or name in self.elements or name == "ground":
            raise BadInput(f"The model has two parts called {name!r}; give each a name of its own.")


class Assembly:
    """The functions `build`, `start`, `sketch` and `in_space` of a problem whose model is made when first needed.

    `hold` are coordinates, as symbols or names, that keep their guesses at the start.
    """

    def __init__(self, make: Callable[[], Model], hold: Sequence[Any] = ()) -> None:
        self._make, self._hold = make, hold

    @cached_property
    def model(self) -> Model:
        """The model, which is made when first needed."""
        return self._make()

    @cached_property
    def _system(self) -> AbstractSystem:
        return self.model.system()

    @cached_property
    def _closed(self) -> AbstractSystem:
        return self.model.system(closed=True) if any(self._system.two_sided) else self._system

    @cached_property
    def _draw(self) -> Draw:
        return drawn(*self.model.built()[:2], list(self.model.symbols))

    def build(self) -> AbstractSystem:
        """Return the system of the model."""
        return self._system

    def start(self, values: Mapping[str, float]) -> tuple[Vector, Vector]:
        """Return the assembled start for these parameter values."""
        return self.model.start(self._closed, self._hold, values)

    def sketch(self, q: Vector, values: Mapping[str, float]) -> Sequence[Shape]:
        """Return the shapes of the picture in the plane."""
        return self._draw(q, values)

    def in_space(self, values: Mapping[str, float], variant: str = "") -> SpacePicture:
        """Return the picture of the model in space."""
        model = self.model
        parts, known = model.elements.values(), {x: values[n] for n, x in model.symbols.items()}
        return drawn_in_space(list(model.bodies.values()), list(parts), model.gravity, known, model.built()[0])
