"""The equations of a model with angular accelerations in place of the accelerations of its quaternions.

The accelerations of every `gaussopt.symbolic.turns.Turn` are e'' = T w + beta e. With w and beta as unknowns, a = S b, the
equations M a - J^T lam = f, J a = gamma have the matrices S^T M S and J S and the forces S^T f. Energies and constraints
depend on e mostly through the entries of R = E G^T; written in these, with their derivatives

    R' = R [w]x / (e . e) + 2 beta R   for   e' = T w + beta e,

the entries of J S are short, and those that are zero at every state are recognised: a rotation about an axis does not
move the points on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from gaussopt.symbolic.turns import rows_of

if TYPE_CHECKING:
    from gaussopt.symbolic.model import Derivatives, SymbolicModel

ROUNDED = 1e-14
"""Coefficients up to this part of the largest are zeros with rounding errors."""

TIME = sp.Symbol("t", real=True)


def rotation(m: Any) -> list[list[Any]]:
    """Return the entries of E G^T, (3, 3), from the products m[i][j] of the entries i and j of a quaternion."""
    x, y, z = (m[0][i] + m[i][0] for i in (1, 2, 3))
    xy, xz, yz = (m[i][j] + m[j][i] for i, j in ((1, 2), (1, 3), (2, 3)))
    a, b, c, d = (m[i][i] for i in range(4))
    return [[a + b - c - d, xy - z, xz + y], [xy + z, a - b + c - d, yz - x], [xz - y, yz + x, a - b - c + d]]


class _Names:
    """The symbols for a turn's rotation: R, R / (e . e), R' and its part R'' without e'', T, angular velocity."""

    def __init__(self, k: int, e: Sequence[Any], rates: Sequence[Any]) -> None:
        self.e = e
        self.definitions: dict[Any, Any] = {}
        (inverse,) = self._named(f"turn{k}_inverse", [1 / sum(x * x for x in e)])
        squares = rotation([[x * y for y in e] for x in e])
        mixed = rotation([[2 * x * y for y in rates] for x in e])
        fast = rotation([[2 * x * y for y in rates] for x in rates])
        self.R, self.D, self.P = (
            self._matrix(f"turn{k}_{name}", m) for name, m in (("R", squares), ("D", mixed), ("P", fast))
        )
        self.A = self._matrix(f"turn{k}_A", [[x * inverse for x in row] for row in self.R])
        self.scaled = self._named(f"turn{k}_e", [x * inverse / 2 for x in e])
        spin = [2 * sum(x * y for x, y in zip(row, rates, strict=True)) for row in rows_of(e)]
        stretch = sum(x * y for x, y in zip(e, rates, strict=True)) * inverse
        *self.spin, self.stretch = self._named(f"turn{k}_w", [*spin, stretch])
        self.inverse = inverse

    def _named(self, name: str, values: Sequence[Any]) -> list[Any]:
        found = [sp.Symbol(f"{name}{i}", real=True) for i in range(len(values))]
        self.definitions |= dict(zip(found, values, strict=True))
        return found

    def _matrix(self, name: str, values: Sequence[Sequence[Any]]) -> list[list[Any]]:
        return [self._named(f"{name}{i}", row) for i, row in enumerate(values)]

    def angular(self, plain: Sequence[Any], C: Sequence[Sequence[Any]] | None) -> list[Any]:
        """Return the derivatives by w and beta from those by e, (4,), and by the entries of R, (3, 3)."""
        found = [sum(x * y for x, y in zip(row, plain, strict=True)) for row in (*rows_of(self.scaled), self.e)]
        if C is not None:
            A, three = self.A, range(3)
            for k, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
                found[k] += sum(C[r][i] * A[r][j] - C[r][j] * A[r][i] for r in three)
            found[3] += 2 * sum(C[r][i] * self.R[r][i] for r in three for i in three)
        return found


class TurnedEquations:
    """The equations of a model in the unknowns b, indexed like a: w in place of e0, e1, e2, and beta in place of e3.

    Attributes
    ----------
    definitions : the expressions for which the symbols stand that are not the model's, in order
    """

    def __init__(self, model: SymbolicModel, derivatives: Derivatives) -> None:
        self._model, self._d = model, derivatives
        q, v = list(model.q), list(model.v)
        self._names = [_Names(k, [q[i] for i in turn.e], [v[i] for i in turn.e]) for k, turn in enumerate(model.turns)]
        self.definitions = {s: x for names in self._names for s, x in names.definitions.items()}
        self._place = {x: (k, i) for k, names in enumerate(self._names) for i, x in enumerate(names.e)}
        self._entries = {
            s: (R, D, P)
            for names in self._names
            for rows in zip(names.R, names.D, names.P, strict=True)
            for s, R, D, P in zip(rows[0], *rows, strict=True)
        }
        self._known: dict[Any, Any] = {}
        self.holonomic = [self._rewritten(x) for x in model.holonomic]

    def _rewritten(self, x: Any) -> Any:
        """Return an expression with sums of products of two entries of a quaternion as sums of entries of R."""
        if not x.args or self._d.symbols(x).isdisjoint(self._place):
            return x
        if x not in self._known:
            args = [self._rewritten(y) for y in x.args]
            self._known[x] = self._sum(args) if type(x) is sp.Add else x.func(*args)
        return self._known[x]

    def _sum(self, terms: Sequence[Any]) -> Any:
        found, squares = [], defaultdict[Any, dict[tuple[int, int], Any]](dict)
        for term in terms:
            number, rest = term.as_coeff_Mul()
            own, others = [], []
            for base, power in (y.as_base_exp() for y in sp.Mul.make_args(rest)):
                if base in self._place and power in (1, 2):
                    own += [self._place[base]] * int(power)
                else:
                    others.append(base**power)
            if len(own) != 2 or own[0][0] != own[1][0]:
                found.append(term)
                continue
            squares[own[0][0], sp.Mul(*others)][own[0][1], own[1][1]] = number
        for (k, factor), products in squares.items():
            form = rotation([[products.get((i, j), 0) for j in range(4)] for i in range(4)])
            length = sum(products.get((i, i), 0) for i in range(4))
            largest = max(abs(x) for row in form for x in row)
            if abs(length) > ROUNDED * largest:
                e = self._names[k].e
                found += [factor * number * e[i] * e[j] for (i, j), number in products.items()]
                continue
            pairs = [(x / 4, R) for row, names in zip(form, self._names[k].R, strict=True) for x, R in zip(row, names)]
            found.append(factor * sp.Add(*(x * R for x, R in pairs if abs(x) > ROUNDED * largest)))
        return sp.Add(*found)

    def _angular(self, plain: Sequence[Any], by_entries: Mapping[Any, Any]) -> list[Any]:
        """Return S^T times a gradient, given by its derivatives by q, (n,), and by entries of R."""
        found = list(plain)
        for turn, names in zip(self._model.turns, self._names, strict=True):
            own = any(s in by_entries for row in names.R for s in row)
            C = [[by_entries.get(s, sp.Integer(0)) for s in row] for row in names.R] if own else None
            for i, x in zip(turn.e, names.angular([plain[i] for i in turn.e], C), strict=True):
                found[i] = x
        return found

    def _gradient(self, x: Any) -> list[Any]:
        there = {s: self._d(x, s) for s in self._d.symbols(x) if s in self._entries}
        return self._angular([self._d(x, q) for q in self._model.q], there)

    def _along(self, x: Any) -> Any:
        """Return the time derivative at constant v and R'."""
        model, entries = self._model, self._entries.values()
        qs, vs = [*model.q, *(R for R, _, _ in entries)], [*model.v, *(D for _, D, _ in entries)]
        return self._d.along(x, qs, vs, TIME)

    @cached_property
    def M(self) -> list[list[Any]]:
        """S^T M S, (n, n)."""
        found = [[self._rewritten(x) for x in row] for row in self._model.equations.M]
        for turn, names in zip(self._model.turns, self._names, strict=True):
            pairs = list(zip(turn.e, names.e, strict=True))
            length = sum(x * found[i][j] * y for i, x in pairs for j, y in pairs)
            for a, i in enumerate(turn.e):
                for b, j in enumerate(turn.e):
                    found[i][j] = turn.inertia[a][b] if max(a, b) < 3 else sp.Integer(0)
            found[turn.e[3]][turn.e[3]] = sp.Integer(0) if turn.weightless else length
        return found

    @cached_property
    def J(self) -> list[list[Any]]:
        """J S, (m, n)."""
        model = self._model
        found = [self._gradient(x) for x in self.holonomic]
        found += [self._angular([self._d(x, v) for v in model.v], {}) for x in self._nonholonomic]
        for turn in model.turns:
            for i in turn.e[:3]:
                found[turn.row][i] = sp.Integer(0)
        return found

    @cached_property
    def masks(self) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """For M and for J, which entries are zero, and which depend on parameters alone."""
        known, found = {*self._model.p}, []
        for rows in (self.M, self.J):
            masks = ([[f(x) for x in row] for row in rows] for f in (lambda x: x == 0, lambda x: x.free_symbols <= known))
            zero, fixed = (np.array(mask, dtype=bool).reshape(-1, len(self.M)) for mask in masks)
            found.append((zero, fixed))
        return found

    @cached_property
    def _nonholonomic(self) -> list[Any]:
        return [self._rewritten(x) for x in self._model.nonholonomic]

    @cached_property
    def forces(self) -> list[Any]:
        """S^T (Q - h), (n,)."""
        model = self._model
        h = list(model.equations.h)
        turns = [(turn, names) for turn, names in zip(model.turns, self._names, strict=True) if turn.rigid]
        for turn, _ in turns:
            for i in turn.e:
                h[i] = sp.Integer(0)
        given = [self._rewritten(force - x) for force, x in zip(model.forces, h, strict=True)]
        pulled = self._gradient(self._rewritten(sp.sympify(model.potential)))
        found = [x - y for x, y in zip(self._angular(given, {}), pulled, strict=True)]
        for turn, names in turns:
            w = sp.Matrix(names.spin)
            momentum = sp.Matrix(turn.inertia) * w
            lost = w.cross(momentum) * names.inverse + 2 * names.stretch * momentum
            for i, x in zip(turn.e, (*lost, -2 * w.dot(momentum)), strict=True):
                found[i] -= x
        return found

    @cached_property
    def rates(self) -> list[Any]:
        """Residuals of the constraints at velocity level, (m,)."""
        return [*map(self._along, self.holonomic), *self._nonholonomic]

    @cached_property
    def gamma(self) -> list[Any]:
        """J a without the terms with a, (m,), negative."""
        found = [-self._along(x) for x in self.rates]
        for r, row in enumerate(self.holonomic):
            there = [s for s in self._d.symbols(row) if s in self._entries]
            found[r] -= sum(self._d(row, s) * self._entries[s][2] for s in sorted(there, key=str))
        return found

    def outward(self, b: Sequence[Any]) -> list[Any]:
        """Return S b."""
        found = list(b)
        for turn, names in zip(self._model.turns, self._names, strict=True):
            rows = (*rows_of(names.scaled), names.e)
            for x, i in enumerate(turn.e):
                found[i] = sum(row[x] * b[j] for row, j in zip(rows, turn.e, strict=True))
        return found

    def inward(self, a: Sequence[Any]) -> list[Any]:
        """Return b for a = S b."""
        found = list(a)
        for turn, names in zip(self._model.turns, self._names, strict=True):
            rows = [[2 * x for x in row] for row in rows_of(names.e)] + [[x * names.inverse for x in names.e]]
            for row, i in zip(rows, turn.e, strict=True):
                found[i] = sum(x * a[j] for x, j in zip(row, turn.e, strict=True))
        return found
