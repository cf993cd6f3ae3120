"""The equations of a system as SymPy expressions, derived from energies and constraints.

All generated code is derived from these equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sympy as sp

from gaussopt.core import cache
from gaussopt.core.errors import BadInput
from gaussopt.symbolic.contacts import ContactSymbols
from gaussopt.symbolic.derivatives import Derivatives, Recursion
from gaussopt.symbolic.forms import ByForm
from gaussopt.symbolic.rotations import TurnedEquations
from gaussopt.symbolic.turns import Turn, turn_of

TIME = sp.Symbol("t", real=True)

LONG, GROWN = 100, 3
"""A term of the kinetic energy is expanded unless it has more operations than LONG, or grows more than GROWN times."""


@dataclass(frozen=True)
class SymbolicModel:
    """The definition of a system, in internal symbols.

    Attributes
    ----------
    name : str
    q, v, p : symbols of the coordinates (n), velocities (n) and parameters
    kinetic, potential : T(q, v, t), V(q, t)
    forces : F(q, v, t), the n generalised forces that have no potential
    holonomic, nonholonomic : phi(q, t), f(q, v, t), zero on the constraints
    quasi_velocities : omega(q, v, t)
    contacts : gaps, slips and coefficients of the contacts
    tangents : tangent dimension d of the contacts
    names : mapping of velocity symbols to names of coordinates, for messages
    rows : names of the equality rows, in order; empty if they were given without names
    without_rows : names of joints without rows, because the choice of coordinates satisfies them
    lines : named parts of these expressions, in order, see `gaussopt.symbolic.derivatives`
    chosen : the kind of coordinates and why it was chosen, if it was not the user's choice
    """

    name: str
    q: Sequence[Any]
    v: Sequence[Any]
    p: Sequence[Any]
    kinetic: Any
    potential: Any
    forces: Sequence[Any]
    holonomic: Sequence[Any]
    nonholonomic: Sequence[Any]
    quasi_velocities: Sequence[Any]
    contacts: Sequence[ContactSymbols]
    tangents: int
    names: Mapping[Any, str] = field(default_factory=dict)
    rows: Sequence[str] = ()
    without_rows: Sequence[str] = ()
    lines: Sequence[tuple[Any, Any]] = ()
    chosen: str = ""

    @cached_property
    def key(self) -> str:
        """A hash of everything on which the equations depend."""
        bar = sp.Symbol("|")
        parts = [*self.q, *self.v, *self.p, self.kinetic, self.potential, *self.forces, *self.holonomic, bar,
                 *self.nonholonomic, bar, *self.quasi_velocities]  # fmt: skip
        for c in self.contacts:
            parts += [bar, c.gap, *c.slip, bar, *c.coefficients]
        for line in self.lines:
            parts += line
        places, texts = dict[Any, int](), list[str]()

        def place(x: Any) -> int:
            if x not in places:  # an expression that occurs often is written once
                texts.append(f"{type(x).__name__}{[*map(place, x.args)]}" if x.args else sp.srepr(x))
                places[x] = len(places)
            return places[x]

        order = [place(sp.sympify(x)) for x in parts]
        return cache.key_of(sp.__version__, *texts, str(order))

    @cached_property
    def holds_time(self) -> bool:
        """Tell whether an energy, a force, a constraint or a contact depends explicitly on time."""
        parts = [self.kinetic, self.potential, *self.forces, *self.holonomic, *self.nonholonomic]
        parts += [*(x for c in self.contacts for x in (c.gap, *c.slip)), *(x for _, x in self.lines)]
        symbols = Derivatives().symbols
        return any(TIME in symbols(sp.sympify(x)) for x in parts)

    @cached_property
    def quaternions(self) -> list[tuple[int, list[int]]]:
        """The index of each row phi(q) proportional to e . e - 1, with four coordinates e, and the indices of e."""
        found = []
        for i, row in enumerate(self.holonomic):
            e = [x for x in self.q if x in row.free_symbols]
            if len(e) == len(row.free_symbols) == 4 and not sp.expand(
                row + row.xreplace(dict.fromkeys(e, 0)) * (sum(x**2 for x in e) - 1)
            ):
                found.append((i, [list(self.q).index(x) for x in e]))
        return found

    @cached_property
    def turns(self) -> list[Turn]:
        """The members of `quaternions` that describe rotations of bodies with constant inertia."""
        if not self.quaternions or self.lines:
            return []  # without a derivation of the equations, or because lines hold quaternions, not entries of R
        known, symbols = (self.equations.M, self.equations.h), (self.q, self.v, self.p)
        found = [turn_of(row, e, known, symbols) for row, e in self.quaternions]
        return [turn for turn in found if turn is not None]

    @cached_property
    def turned(self) -> TurnedEquations:
        """The equations in the angular accelerations of `turns`."""
        return TurnedEquations(self, self.derivatives)

    @cached_property
    def derivatives(self) -> Derivatives | Recursion:
        """The derivatives of the expressions; with named parts a `Recursion`, which appends lines for derivatives."""
        rates = {TIME: sp.Integer(1), **dict(zip(self.q, self.v, strict=True))}
        return Recursion(rates, self.lines) if self.lines else Derivatives()

    @property
    def recursion(self) -> Recursion | None:
        """The derivatives, if the model has named parts."""
        return self.derivatives if isinstance(self.derivatives, Recursion) else None

    @property
    def quick(self) -> set[Any]:
        """The velocities, and the named parts that depend on them."""
        return set(self.v) if self.recursion is None else self.recursion.fast

    def replaced(self, expressions: Sequence[Any], symbols: Mapping[Any, Any]) -> list[Any]:
        """Return expressions with other symbols in place of coordinates or time, in named parts as well."""
        given = [sp.sympify(e) for e in expressions]
        return self.recursion.replaced(given, symbols) if self.recursion else [e.xreplace(symbols) for e in given]

    def _mass_matrix(self) -> tuple[Any, list[list[Any]]]:
        """Return the kinetic energy and its second derivatives; raises BadInput if it is more than quadratic in v."""
        d, n, name, vs = self.derivatives, len(self.q), self.name, self.v
        if isinstance(d, Recursion):
            return self.kinetic, d.curvature(self.kinetic, vs)
        T, rates = sp.Add(*map(ByForm(_expanded), sp.Add.make_args(self.kinetic))), set(vs)
        M = d.hessian(T, vs)
        if any(not d.symbols(entry).isdisjoint(rates) for row in M for entry in row):
            T = sp.expand(T)
            M = d.hessian(T, vs)
        for i in range(n):
            for j in range(n):
                if not d.symbols(M[i][j]).isdisjoint(rates):
                    quick = min(self.names.get(s, str(s)) for s in d.symbols(M[i][j]) & rates)
                    raise BadInput(
                        f"kinetic of {name!r} is more than quadratic in the velocities: M[{i}, {j}] depends on the "
                        f"velocity of {quick!r}."
                    )
        return T, M

    @cached_property
    def equations(self) -> Equations:
        """The equations of motion; raises BadInput if T is more than quadratic in v, or a row constrains nothing."""
        T, M = self._mass_matrix()
        name, qs, vs, moving = self.name, self.q, self.v, {*self.q, *(s for s, _ in self.lines)}
        gradient, along = self.derivatives.gradient, self.along
        for i, row in enumerate(self.nonholonomic):
            if row.free_symbols.isdisjoint(self.quick):
                label = self.rows[len(self.holonomic) + i] if self.rows else f"nonholonomic[{i}]"
                raise BadInput(f"{label} of {name!r} holds no velocity; give it under holonomic.")
        for i, row in enumerate(self.holonomic):
            if row.free_symbols.isdisjoint(moving):
                label = self.rows[i] if self.rows else f"holonomic[{i}]"
                raise BadInput(f"{label} of {name!r} holds no coordinate; it constrains nothing.")
        return Equations(
            M=M,
            h=[along(a) - b for a, b in zip(gradient(T, vs), gradient(T, qs), strict=True)],
            Q=[force - x for force, x in zip(self.forces, gradient(self.potential, qs), strict=True)],
            J=[*(gradient(row, qs) for row in self.holonomic), *(gradient(row, vs) for row in self.nonholonomic)],
            gamma=[-along(along(row)) for row in self.holonomic] + [-along(row) for row in self.nonholonomic],
            rates=[*map(along, self.holonomic), *self.nonholonomic],
            energy=[T, self.potential, sum((f * b for f, b in zip(self.forces, vs, strict=True)), sp.Integer(0))],
        )

    def flat_contacts(self) -> list[Any]:
        """Return g_N, gdot_N, J_N, zeta_N, J_T, zeta_T, v_T, row by row, in the order of `Layout.cuts`."""
        gradient, zero = self.derivatives.gradient, (sp.Integer(0),) * self.tangents
        gaps = [c.gap for c in self.contacts]
        rates = [self.along(e) for e in gaps]
        slips = [e for c in self.contacts for e in (c.slip or zero)]
        return [
            *gaps, *rates, *(x for e in gaps for x in gradient(e, self.q)), *map(self.along, rates),
            *(x for e in slips for x in gradient(e, self.v)), *map(self.along, slips), *slips,
        ]  # fmt: skip

    def along(self, expr: Any) -> Any:
        """Return the time derivative at constant v: expr_q v + expr_t."""
        return self.derivatives.along(expr, self.q, self.v, TIME)


def _expanded(term: Any) -> Any:
    """Return a term of the kinetic energy expanded, unless this makes it much longer."""
    size = sp.count_ops(term)
    found = term if size > LONG else sp.expand(term)
    return found if sp.count_ops(found) <= GROWN * size else term


@dataclass(frozen=True)
class Equations:
    """Derived expressions: M, h, Q, J and gamma as in `gaussopt.core.step_data.StepData`, `rates` and `energy`.

    `rates` holds the constraint residuals at velocity level (m); `energy` holds kinetic energy, potential energy and
    the power of the forces without potential.
    """

    M: list[list[Any]]
    h: list[Any]
    Q: list[Any]
    J: list[list[Any]]
    gamma: list[Any]
    rates: list[Any]
    energy: list[Any]
