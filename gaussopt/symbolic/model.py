"""The equations of a system as SymPy expressions, derived from energies and constraints.

All generated code is derived from these equations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sympy as sp

from gaussopt.core import cache
from gaussopt.core.errors import BadInput
from gaussopt.symbolic.contacts import ContactSymbols
from gaussopt.symbolic.rotations import TurnedEquations
from gaussopt.symbolic.turns import Turn, turn_of

TIME = sp.Symbol("t", real=True)

LONG = 100
"""A term of the kinetic energy with more operations than this is not expanded, because it would become longer."""


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

    @cached_property
    def key(self) -> str:
        """A hash of everything on which the equations depend."""
        bar = sp.Symbol("|")
        parts = [*self.q, *self.v, *self.p, self.kinetic, self.potential, *self.forces, *self.holonomic, bar,
                 *self.nonholonomic, bar, *self.quasi_velocities]  # fmt: skip
        for c in self.contacts:
            parts += [bar, c.gap, *c.slip, bar, *c.coefficients]
        return cache.key_of(sp.__version__, *map(sp.srepr, parts))

    @cached_property
    def holds_time(self) -> bool:
        """Tell whether an energy, a force, a constraint or a contact depends explicitly on time."""
        parts = [self.kinetic, self.potential, *self.forces, *self.holonomic, *self.nonholonomic]
        parts += [x for c in self.contacts for x in (c.gap, *c.slip)]
        return any(TIME in getattr(x, "free_symbols", ()) for x in parts)

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
        if not self.quaternions:
            return []  # without a derivation of the equations
        known, symbols = (self.equations.M, self.equations.h), (self.q, self.v, self.p)
        found = [turn_of(row, e, known, symbols) for row, e in self.quaternions]
        return [turn for turn in found if turn is not None]

    @cached_property
    def turned(self) -> TurnedEquations:
        """The equations in the angular accelerations of `turns`."""
        return TurnedEquations(self, self._derivatives)

    @cached_property
    def _derivatives(self) -> Derivatives:
        return Derivatives()

    @cached_property
    def equations(self) -> Equations:
        """The equations of motion; raises BadInput if T is more than quadratic in v, or a row constrains nothing."""
        d = self._derivatives

        def along(expr: Any) -> Any:
            return d.along(expr, self.q, self.v, TIME)

        n, name, qs, vs = len(self.q), self.name, self.q, self.v
        T = sp.Add(*(x if sp.count_ops(x) > LONG else sp.expand(x) for x in sp.Add.make_args(self.kinetic)))
        M = [[d.twice(T, a, b) for b in vs] for a in vs]
        rates = set(vs)
        if any(not d.symbols(entry).isdisjoint(rates) for row in M for entry in row):
            T = sp.expand(T)
            M = [[d.twice(T, a, b) for b in vs] for a in vs]
        for i in range(n):
            for j in range(n):
                quick = sorted(self.names.get(s, str(s)) for s in d.symbols(M[i][j]) & rates)
                if quick:
                    raise BadInput(
                        f"kinetic of {name!r} is more than quadratic in the velocities: M[{i}, {j}] depends on the "
                        f"velocity of {quick[0]!r}."
                    )
        for i, row in enumerate(self.nonholonomic):
            if row.free_symbols.isdisjoint(vs):
                label = self.rows[len(self.holonomic) + i] if self.rows else f"nonholonomic[{i}]"
                raise BadInput(f"{label} of {name!r} holds no velocity; give it under holonomic.")
        for i, row in enumerate(self.holonomic):
            if row.free_symbols.isdisjoint(qs):
                label = self.rows[i] if self.rows else f"holonomic[{i}]"
                raise BadInput(f"{label} of {name!r} holds no coordinate; it constrains nothing.")
        return Equations(
            M=M,
            h=[along(d(T, b)) - d(T, a) for a, b in zip(qs, vs, strict=True)],
            Q=[force - d(self.potential, a) for force, a in zip(self.forces, qs, strict=True)],
            J=[[d(row, a) for a in qs] for row in self.holonomic]
            + [[d(row, b) for b in vs] for row in self.nonholonomic],
            gamma=[-along(along(row)) for row in self.holonomic] + [-along(row) for row in self.nonholonomic],
            rates=[*map(along, self.holonomic), *self.nonholonomic],
            energy=[T, self.potential, sum((f * b for f, b in zip(self.forces, vs, strict=True)), sp.Integer(0))],
        )

    def flat_contacts(self) -> list[Any]:
        """Return g_N, gdot_N, J_N, zeta_N, J_T, zeta_T, v_T, row by row, in the order of `Layout.cuts`."""
        d, zero = Derivatives(), (sp.Integer(0),) * self.tangents
        gaps = [c.gap for c in self.contacts]
        rates = [d.along(e, self.q, self.v, TIME) for e in gaps]
        slips = [e for c in self.contacts for e in (c.slip or zero)]
        return [
            *gaps, *rates, *(d(e, a) for e in gaps for a in self.q),
            *(d.along(e, self.q, self.v, TIME) for e in rates), *(d(e, b) for e in slips for b in self.v),
            *(d.along(e, self.q, self.v, TIME) for e in slips), *slips,
        ]  # fmt: skip

    def along(self, expr: Any) -> Any:
        """Return the time derivative at constant v: expr_q v + expr_t."""
        return along(expr, self.q, self.v)


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


def along(expr: Any, qs: Sequence[Any], vs: Sequence[Any]) -> Any:
    """Return the time derivative at constant v: expr_q v + expr_t."""
    return sum((sp.diff(expr, a) * b for a, b in zip(qs, vs, strict=True)), sp.diff(expr, TIME))


class Derivatives:
    """Partial derivatives of the expressions of a model, equal to those of `sympy.diff`.

    Of large sums and products only the terms that contain the symbol are differentiated. Free symbols and derivatives
    of parts are cached, because a model needs derivatives of the same parts repeatedly.
    """

    def __init__(self) -> None:
        self._symbols: dict[Any, frozenset[Any]] = {}
        self._found: dict[tuple[Any, ...], Any] = {}
        self._terms: dict[Any, dict[Any, list[Any]]] = {}  # of a sum, by the symbols that they contain

    def symbols(self, expr: Any) -> frozenset[Any]:
        """Return the free symbols of an expression."""
        found = self._symbols.get(expr)
        if found is None:
            # If a part binds symbols, such as a sum over an index, its own attribute says which symbols are free.
            plain = isinstance(expr, sp.Add | sp.Mul | sp.Pow)
            found = frozenset().union(*map(self.symbols, expr.args)) if plain else frozenset(expr.free_symbols)
            self._symbols[expr] = found
        return found

    def __call__(self, expr: Any, symbol: Any) -> Any:
        """Return the derivative of an expression with respect to a symbol."""
        if symbol not in self.symbols(expr):
            return sp.Integer(0)
        found = self._found.get((expr, symbol))
        if found is None:
            found = self._found[expr, symbol] = self._derived(expr, symbol)
        return found

    def twice(self, expr: Any, a: Any, b: Any) -> Any:
        """Return the second derivative with respect to a and b, with common factors extracted, like `sympy.diff`."""
        slope = self(expr, a)
        if b not in self.symbols(slope):
            return sp.Integer(0)
        first, second = sorted((a, b), key=sp.default_sort_key)
        key = expr, first, second  # cached: a symmetric mass matrix needs each derivative twice
        if key not in self._found:
            self._found[key] = sp.factor_terms(sp.signsimp(self(self(expr, first), second)))
        return self._found[key]

    def _derived(self, expr: Any, symbol: Any) -> Any:
        args = expr.args
        if type(expr) is sp.Add:
            if expr not in self._terms:
                terms = self._terms[expr] = defaultdict(list)
                for x in args:
                    for s in self.symbols(x):
                        terms[s].append(x)
            return sp.Add(*(self(x, symbol) for x in self._terms[expr][symbol]))
        if type(expr) is sp.Mul:
            there = [i for i, x in enumerate(args) if symbol in self.symbols(x)]
            return sp.Add(*(sp.Mul(*args[:i], self(args[i], symbol), *args[i + 1 :]) for i in there))
        return sp.diff(expr, symbol)

    def along(self, expr: Any, qs: Any, vs: Any, t: Any) -> Any:
        """Return the time derivative at constant velocities: expr_q v + expr_t."""
        there = self.symbols(expr)
        return sp.Add(self(expr, t), *(self(expr, a) * b for a, b in zip(qs, vs, strict=True) if a in there))
