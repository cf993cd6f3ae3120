"""Piles in space: any number of balls and boxes in contact with each other, floor and walls, evaluated by NumPy.

The coordinates of a body are (x, y, z, e0, e1, e2, e3); see `gaussopt.bodies.space`. A contact has bodies a and b, a
normal n from a to b, tangents t, and a point of contact p:

    v = v_b(p) - v_a(p),   g_N' = n . v,   v_T = t . v,   v_i(p) = r_i' + 2 E_i e_i' x (p - r_i).

For a point of b on a face of a, n and t are fixed in a; for a ball b, n is along the line from the nearest point of the
box a, or from the centre of the ball a. Balls have contacts with all balls, boxes and walls, and corners of boxes with
all walls. Boxes have contacts with each other only at the corners of the rectangles that their faces share at the
start; a simulation warns of boxes that overlap elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gaussopt.bodies.pile_equations import SEVEN, PileContacts, PileEquations, frames, touching
from gaussopt.bodies.pile_steps import PileStep
from gaussopt.core.arrays import Matrix, Vector, all_finite, as_array, as_state
from gaussopt.core.contacts import check_coefficients
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem, Energy, state_in_words
from gaussopt.core.time_step import SteppedSystem
from gaussopt.modelling.modified import Variant
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.solids import Ball, BallContact, Box, FaceContact, Plane, SpacePicture
from gaussopt.symbolic.reading import check_parameters

AXES = ("x", "y", "z", "e0", "e1", "e2", "e3")

O = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class PileBody:
    """Mass, principal inertias (3,), half edges of a box (3,) or None, radius of a ball or 0, and start state."""

    mass: float
    inertia: Vector
    half: Vector | None
    radius: float
    at: Vector
    velocity: Vector
    spin: Vector


class Pile:
    """Balls and boxes over the floor z = 0, with one friction coefficient and one coefficient of restitution.

    Parameters
    ----------
    mu, e_N : coefficients of friction and restitution of all contacts
    gravity : acceleration of gravity along -z, m/s^2

    Examples
    --------
    >>> from gaussopt.bodies import Pile
    >>> pile = Pile(mu=0.5)
    >>> for level in range(3):
    ...     _ = pile.box(1.0, (0.1, 0.1, 0.1), at=(0.0, 0.01 * level, 0.05 + 0.1 * level))
    >>> problem = pile.problem(t_end=0.1, dt=0.01)
    >>> motion = go.simulate(problem, stepper="moreau-jean", error_estimate=False)
    >>> bool(abs(motion.v).max() < 1e-12)
    True
    """

    def __init__(self, mu: float, e_N: float = 0.0, gravity: float = 9.81) -> None:
        self.mu, self.e_N, self.gravity = mu, e_N, gravity
        self._bodies: list[PileBody] = []
        self._walls = [(np.zeros(3), np.array([0.0, 0.0, 1.0]))]

    def wall(self, point: ArrayLike, normal: ArrayLike) -> None:
        """Add a plane at rest through a point, its normal pointing to the free side."""
        n = as_array("normal", normal, (3,))
        if not n.any():
            raise BadInput("The normal of a wall is zero; give a direction.")
        self._walls.append((as_array("point", point, (3,)), n / np.linalg.norm(n)))

    def ball(
        self, mass: float, radius: float, at: ArrayLike, velocity: ArrayLike = (0, 0, 0), spin: ArrayLike = (0, 0, 0)
    ) -> None:
        """Add a homogeneous ball with its position, m, velocity, m/s, and angular velocity, rad/s."""
        inertia = np.full(3, 0.4 * mass * radius**2)
        self._add(mass, radius, inertia, None, radius, at, velocity, spin)

    def box(
        self, mass: float, edges: Sequence[float], at: ArrayLike, velocity: ArrayLike = (0, 0, 0),
        spin: ArrayLike = (0, 0, 0),
    ) -> None:  # fmt: skip
        """Add a homogeneous box, its edges (3,) along the axes at the start; the other arguments are as for `ball`."""
        half = as_array("edges", edges, (3,)) / 2
        inertia = mass / 3 * (half @ half - half**2)
        self._add(mass, float(half.min()), inertia, half, 0.0, at, velocity, spin)

    def _add(self, mass: float, size: float, inertia: Vector, half: Vector | None, radius: float, *start: Any) -> None:
        if not (mass > 0 and size > 0):
            raise BadInput(f"A body of a pile has the mass {mass:g} kg and the size {size:g} m; both are positive.")
        places = (as_array(name, x, (3,)) for name, x in zip(("at", "velocity", "spin"), start, strict=True))
        self._bodies.append(PileBody(float(mass), inertia, half, float(radius), *places))

    def problem(self, *, t_end: float, dt: float, **more: Any) -> Problem:
        """Return the problem of this pile; `more` as in `Problem.of`. Raises BadInput if it has no body."""
        bodies = self._bodies
        if not bodies:
            raise BadInput("The pile is empty; add a ball or a box.")
        names = [f"{axis}_{i + 1}" for i in range(len(bodies)) for axis in AXES]
        system = PileSystem(self._equations(), names, more.get("name", "pile"))
        q = np.concatenate([[*body.at, 1.0, 0.0, 0.0, 0.0] for body in bodies])
        v = np.concatenate([[*body.velocity, 0.0, *(body.spin / 2)] for body in bodies])
        picture = self._picture(system.equations)
        known: dict[str, Any] = {"units": _units(names), "in_space": lambda values, variant: picture}
        return Problem.of(system, q, v, t_end=t_end, dt=dt, **(known | more))

    def _equations(self) -> PileEquations:
        """Return the equations; corners and balls touch walls, boxes touch boxes, and balls touch balls and boxes."""
        names: list[str] = []
        faces: list[tuple[Any, ...]] = []

        def face(name: str, a: int, at: Vector, normal: Vector, *b: Any) -> None:
            names.append(name)
            faces.append((a, at, frames(normal[None])[0], *b))

        bodies = self._bodies
        for i, b in enumerate(bodies):
            points = [np.zeros(3)] if b.half is None else [b.half * s for s in product((-1, 1), repeat=3)]
            for (j, (at, normal)), (c, s) in product(enumerate(self._walls), enumerate(points)):
                face(f"wall {j + 1}, body {i + 1}.{c + 1}", len(bodies), at, normal, i, s, b.radius)
        for (i, a), (j, b) in combinations(enumerate(bodies), 2):
            if a.half is not None and b.half is not None:
                for c, (at, normal, s) in enumerate(touching(a.half, b.half, b.at - a.at)):
                    face(f"body {i + 1}, body {j + 1}.{c + 1}", i, at, normal, j, s, 0.0)
        balls = [i for i, b in enumerate(bodies) if b.half is None]
        boxes = [i for i, b in enumerate(bodies) if b.half is not None]
        names += [f"balls {i + 1}, {j + 1}" for i, j in combinations(balls, 2)]
        names += [f"box {i + 1}, ball {j + 1}" for i, j in product(boxes, balls)]
        pairs = np.array([*combinations(balls, 2), *product(boxes, balls)], dtype=np.intp).reshape(-1, 2)
        radii, inertias = np.array([b.radius for b in bodies]), np.array([b.inertia for b in bodies])
        half = np.array([np.zeros(3) if b.half is None else b.half for b in bodies])
        each = (np.full(len(names), x) for x in (self.mu, self.e_N, 0.0))
        contacts = PileContacts(names, faces, pairs, radii[pairs], None, *each)
        masses, gravity = np.array([b.mass for b in bodies]), np.array([0.0, 0.0, -self.gravity])
        return PileEquations(masses, inertias, inertias.max(axis=1), half, gravity, contacts)

    def _picture(self, known: PileEquations) -> SpacePicture:
        """Return the picture with floor, walls, balls and boxes."""
        bodies = [*(str(i + 1) for i in range(len(self._bodies))), ""]
        solids: list[Any] = [("", Plane(tuple(at), tuple(n))) for at, n in self._walls]
        solids += [
            (name, Ball(b.radius) if b.half is None else Box(tuple(2 * b.half)))
            for name, b in zip(bodies, self._bodies, strict=False)
        ]
        faces = zip(known.names, known.a, known.F, known.b, known.s_b, known.R, strict=False)
        contacts: list[Any] = [FaceContact(n, bodies[a], F, (bodies[b], s), R) for n, a, F, b, s, R in faces]
        pairs = zip(known.names[len(contacts) :], known.pairs, strict=True)
        contacts += [
            BallContact(n, (bodies[a], O), (bodies[b], O), self._bodies[b].radius)
            for n, (a, b) in pairs if self._bodies[a].radius
        ]  # fmt: skip
        return SpacePicture(solids, contacts=contacts)


def piles(
    make: Callable[[int], Pile], *, usual: int, sizes: Mapping[str, int], unit: str, most: int, **about: Any
) -> Problem:
    """Return the problem of piles of several sizes, each pile made when first needed.

    Parameters
    ----------
    make : function that returns the pile of a size
    usual : size of the pile in the regular model
    sizes : sizes of the variants, by name
    unit : what the size counts, such as "balls"
    most : number of bodies of the largest pile, for the units of their coordinates
    about : settings of `Problem`, with t_end, dt and a sketch that draws any number of bodies
    """
    given = {key: about[key] for key in ("name", "t_end", "dt")}

    @cache
    def made(size: int) -> Problem:
        return make(size).problem(**given)

    def system(size: int) -> AbstractSystem:
        return made(size).system

    def start(size: int) -> Callable[[Mapping[str, float]], tuple[Vector, Vector]]:
        return lambda values: (made(size).q0, made(size).v0)

    def in_space(values: Mapping[str, float], variant: str) -> SpacePicture:
        found = made(sizes.get(variant, usual)).in_space
        assert found is not None
        return found(values, variant)

    return Problem(
        build=partial(system, usual), start=start(usual), in_space=in_space, parameters=(),
        units=_units(f"{axis}_{i + 1}" for i in range(most) for axis in AXES),
        variants={key: Variant(partial(system, size), f"{size} {unit}") for key, size in sizes.items()},
        starts={key: start(size) for key, size in sizes.items()}, sketches=dict.fromkeys(sizes, about["sketch"]),
        **about,
    )  # fmt: skip


def _units(names: Iterable[str]) -> dict[str, str]:
    """Return the units of the coordinates, by name."""
    return {name: "m" if name[0] in "xyz" else "1" for name in names}


class PileSystem(AbstractSystem):
    """The system of a pile, evaluated in closed form.

    `values` are those of its parameters, by symbol, and `anew` returns the system at other values.
    """

    depends_on_time = False
    stepper = "moreau-jean"

    def __init__(
        self, equations: PileEquations, coordinates: Sequence[str], name: str, rows: Sequence[str] = ()
    ) -> None:  # fmt: skip
        self.equations, self.name, self._coordinates, self._rows = equations, name, tuple(coordinates), tuple(rows)
        self.values: dict[Any, float] = {}
        self.anew: Callable[[Mapping[Any, float]], PileSystem | None] | None = None
        of = equations.of
        self._coefficients = check_coefficients(name, equations.names, of.mu, of.e_N, of.e_T)
        for label, x in (("weight", equations.weight), ("inertia", equations.I.ravel())):
            as_array(f"{label} of {name!r}", x, (None,))

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self._coordinates)

    def coordinates(self, n: int) -> tuple[str, ...]:
        """Return the names of the coordinates."""
        return self._coordinates

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the equality rows, which keep the quaternions at length 1; empty if there are none."""
        return self._rows

    @property
    def parameters(self) -> dict[str, float]:
        """Parameter values by name."""
        return {str(x): value for x, value in self.values.items()}

    def with_parameters(self, /, **values: float) -> AbstractSystem:
        """Return the pile with other parameter values; raises UnknownName or BadInput."""
        check_parameters(values, self.parameters)
        if self.anew is None or values.items() <= self.parameters.items():
            return self
        found = self.anew({x: float(values.get(str(x), value)) for x, value in self.values.items()})
        assert found is not None
        found.notes, found.watch = self.notes, self.watch
        return found

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the contacts."""
        return self.equations.names

    @property
    def quaternions(self) -> list[tuple[int, range]]:
        """The index of the row e . e = 1, and the coordinate indices of e, for each body."""
        return [(i, range(SEVEN * i + 3, SEVEN * (i + 1))) for i in range(self.equations.N)]

    def evaluate(self, t: float, q: ArrayLike, v: ArrayLike) -> StepData:
        """Return step data of the state; raises BadInput if the state is not finite, or has a wrong length."""
        t, q, v = self._checked(t, q, v)
        part, of = self.smooth_part(t, q, v), self._coefficients
        g_N, gdot_N, J_N, zeta_N, J_T, zeta_T, v_T = self.equations.contacts(q, v)
        return StepData(
            part.M, part.h, part.Q, part.J, part.gamma, J_N, zeta_N, J_T, zeta_T, v_T, of.mu, t, q, v, g_N=g_N,
            gdot_N=gdot_N, e_N=of.e_N, e_T=of.e_T,
        )  # fmt: skip

    def _checked(self, t: float, q: ArrayLike, v: ArrayLike) -> tuple[float, Vector, Vector]:
        """Return the state in arrays; raises the errors of `evaluate`."""
        t, q, v = as_state(t, q, v)
        if len(q) != self.size:
            raise BadInput(
                f"The state of {self.name!r} has {len(q)} coordinates; give {self.size}, seven for each body."
            )
        if not (all_finite(q) and all_finite(v)):
            raise BadInput(f"state of {self.name!r} is not finite, at {state_in_words(t, q, v)}.")
        return t, q, v

    def smooth_part(self, t: float, q: Vector, v: Vector) -> StepData:
        """Return the step data without contacts."""
        given = self.equations
        return StepData.smooth(given.mass(q), given.inertia(q, v), given.weight, *given.equality(q, v), t, q, v)

    def gaps(self, t: float, q: Vector) -> Vector:
        """Return the gaps of all contacts, (k,), m."""
        return self.equations.gaps(q)

    def gap_rates(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the gap rates of all contacts, (k,), m/s."""
        return PileStep(self.equations, q, v).rates

    def position_residual(self, t: float, q: Vector) -> Vector:
        """Return e . e - 1 of all bodies, (N,)."""
        return self.equations.position(q)

    def position_jacobian(self, t: float, q: Vector) -> Matrix:
        """Return the rows of e . e = 1, (N, n)."""
        return self.equations.equality(q, q)[0]

    def velocity_residual(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the rates of e . e, (N,)."""
        return self.equations.equality(q, v)[0] @ v

    def energy(self, t: float, q: Vector, v: Vector) -> Energy:
        """Return the kinetic and potential energy; the power is zero, as no forces but weight and contacts act."""
        return Energy(float(0.5 * v @ self.equations.mass(q) @ v), float(-self.equations.weight @ q), 0.0)

    def bending(self) -> Sequence[int]:
        """Return the coordinates on which the normal rows depend."""
        return self.equations.turning

    def may_miss(self, q: Matrix, v: Matrix, dt: float | None) -> str | None:
        """Return a warning on overlapping bodies that have no contact; None if there are none."""
        return self.equations.overlap(q) or super().may_miss(q, v, dt)

    def in_steps(self, loop: str, formulation: str | None, solver: str | None) -> AbstractSystem:
        """Return the pile as a `SteppedPile`, if the loop and the user's choices permit this; otherwise this system."""
        plain = (formulation is None and solver is None) or formulation == "coulomb-soccp"
        if loop != "time-stepping" or not plain:
            return self
        found = SteppedPile(self.equations, self._coordinates, self.name, self._rows)
        found.values, found.notes, found.unused, found.watch = self.values, self.notes, self.unused, self.watch
        return found


class SteppedPile(PileSystem, SteppedSystem):
    """A pile that formulates its Moreau-Jean steps itself; its step data therefore leave out the contacts."""

    def evaluate(self, t: float, q: ArrayLike, v: ArrayLike) -> StepData:
        """Return step data without contacts; raises BadInput as for any pile."""
        return self.smooth_part(*self._checked(t, q, v))

    def time_step(self, t: float, q: Vector, v: Vector) -> PileStep:
        """Return the step that begins at the given state."""
        return PileStep(self.equations, q, v)
