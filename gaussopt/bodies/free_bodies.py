"""Models of free bodies in space with many contacts, evaluated like piles, by array formulas for all contacts at once.

SymPy would derive the gap and slip of every contact separately, and differentiate them by every coordinate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from gaussopt.bodies.body import RigidBody
from gaussopt.bodies.element import Element
from gaussopt.bodies.forces.ball_touch import BallTouch
from gaussopt.bodies.forces.touch import Touch
from gaussopt.bodies.pile import PileSystem
from gaussopt.bodies.pile_equations import PileContacts, PileEquations
from gaussopt.bodies.space import SpaceBody
from gaussopt.core.arrays import Vector
from gaussopt.core.system import AbstractSystem

FEW = 100
"""Largest product of the numbers of contacts and coordinates for which SymPy derives the formulas."""


def free_bodies(
    bodies: Sequence[RigidBody], elements: Sequence[Element], gravity: Any, values: Mapping[Any, float], name: str
) -> PileSystem | None:
    """Return the system of free bodies with many contacts; None for all other models.

    The axes of all bodies must be principal axes of inertia. All elements must be contacts: points or balls on planes,
    which come first, or balls about the centres of two bodies, one contact for each pair. `values` are the parameter
    values, by symbol.
    """
    number = {body: i for i, body in enumerate(bodies)}
    pairs = [e for e in elements if type(e) is BallTouch]
    faces = [e for e in elements if type(e) is Touch and not e.two_sided]
    ends = [m for e in elements for m in (e.a, e.b)]
    if (
        len(elements) * sum(len(b.new_q) for b in bodies) <= FEW or len(pairs) + len(faces) < len(elements)
        or not all(type(b) is SpaceBody and b.inertia.is_diagonal() for b in bodies)
        or any(m.body not in number and (m.body.name != "ground" or m.body.dim == 2) for m in ends)
        or any(m.body not in number or any(m.s) for e in pairs for m in (e.a, e.b))
        or len({frozenset(e.bodies) for e in pairs}) < len(pairs)
    ):  # fmt: skip
        return None
    used: set[Any] = set()

    def numbers(x: Any, *shape: int) -> Any:
        found = [sp.sympify(y, strict=True) for y in sp.flatten([x])]
        used.update(*(y.free_symbols for y in found if not y.is_Number))
        found = [y if y.is_Number else y.xreplace(known) for y in found]
        return np.array([float(y) if y.is_Number else np.nan for y in found]).reshape(shape)

    known = {x: sp.Float(value) for x, value in values.items()}
    each: list[Touch | BallTouch] = [*faces, *pairs]
    given = [
        (number.get(e.a.body, len(bodies)), numbers(e.a.s, 3), numbers(e.a.A.T, 3, 3),
         number.get(e.b.body, len(bodies)), numbers(e.b.s, 3), numbers(e.radius))
        for e in faces
    ]  # fmt: skip
    coefficients = numbers([(e.mu, e.e_N, e.e_T) for e in each], -1, 3).T
    contacts = PileContacts(
        [e.name for e in each], given,
        np.array([[number[b] for b in e.bodies] for e in pairs], dtype=np.intp).reshape(-1, 2),
        numbers([e.radii for e in pairs], -1, 2), numbers([e.across for e in pairs], -1, 3), *coefficients,
    )  # fmt: skip
    equations = PileEquations(
        numbers([b.mass for b in bodies], -1), numbers([sp.Matrix(b.inertia).diagonal() for b in bodies], -1, 3),
        numbers([b.quaternion_mass for b in bodies], -1), np.zeros((len(bodies), 3)), numbers(gravity, 3), contacts,
    )  # fmt: skip
    if used - set(values) or not (equations.m.all() and equations.I.all()):
        return None  # SymPy derives such models: it names unknown symbols, and accepts zero masses
    system = PileSystem(equations, [str(q) for b in bodies for q in b.new_q], name, [f"{b.name}.unit" for b in bodies])
    system.unused = tuple(str(x) for x in values if x not in used)
    system.stepper = AbstractSystem.stepper  # the default stepper, as for models with few contacts
    system.values, system.anew = dict(values), partial(free_bodies, bodies, elements, gravity, name=name)
    return system


def looked_at(system: AbstractSystem, elements: list[Element], q: Vector) -> list[Element]:
    """Return the elements that may divide by zero in a given position; in a pile, those with small divisors."""
    if not isinstance(system, PileSystem):
        return elements
    known = system.equations.undefined(q)
    return [e for e in elements if e.name in known]
