"""The equations of a model with angular accelerations in place of the accelerations of its quaternions.

The accelerations of every `gaussopt.symbolic.turns.Turn` are e'' = T w + beta e. With the unknowns b, which hold w and
beta in place of e'', a = S b, and the equations M a - J^T lam = f, J a = gamma become

    S^T M S b - (J S)^T lam = S^T f,   J S b = gamma.

Energies and constraints depend on e mostly through the entries of R = E G^T. In these, whose derivatives are

    R' = R [w]x / (e . e) + 2 beta R   for   e' = T w + beta e,

the entries of J S are short, and entries that are zero at every state are recognised: a rotation about an axis does not
move the points on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from gaussopt.symbolic.turns import rows_of

ROUNDED = 1e-14
"""Coefficients up to this part of the largest are zeros with rounding errors."""

TIME = sp.Symbol("t", real=True)


def rotation(squares: Sequence[Any], product: Callable[[int, int], Any]) -> list[list[Any]]:
    """Return E G^T, (3, 3), given e_i^2 and the function of i and j > i that returns 2 e_i e_j."""
    a, b, c, d = squares
    x, y, z = (product(0, i) for i in (1, 2, 3))
    xy, xz, yz = (product(i, j) for i, j in ((1, 2), (1, 3), (2, 3)))
    return [[a + b - c - d, xy - z, xz + y], [xy + z, a - b + c - d, yz - x], [xz - y, yz + x, a - b - c + d]]


class _Names:
    """The symbols for what depends on a turn's coordinates e and rates e', with their definitions.

    Attributes
    ----------
    R, D, P : (3, 3), R, R', and R'' for e'' = 0
    length, inverse : e . e and 1 / (e . e)
    spin, stretch : (3,), 2 G e'; beta for which e' = T w + beta e
    outward, inward : (4, 4), the block of S, and its inverse
    """

    def __init__(self, k: int, e: list[Any], rates: list[Any]) -> None:
        self._k, self.definitions = k, dict[Any, Any]()
        twice, fast = (self._named(name, [2 * x for x in part]) for name, part in (("twice", e), ("fast", rates)))
        (self.length,) = self._named("length", [sum(x * x for x in e)])
        (self.inverse,) = self._named("inverse", [1 / self.length])
        R = rotation([x * x for x in e], lambda i, j: twice[i] * e[j])
        D = rotation(
            [x * y for x, y in zip(twice, rates, strict=True)], lambda i, j: twice[i] * rates[j] + twice[j] * rates[i]
        )
        P = rotation([x * y for x, y in zip(fast, rates, strict=True)], lambda i, j: fast[i] * fast[j])
        self.R, self.D, self.P = (self._matrix(name, m) for name, m in (("R", R), ("D", D), ("P", P)))
        self._unit = self._matrix("A", self.R * self.inverse)
        scaled = self._named("scaled", [x * self.inverse / 2 for x in e])
        self.spin = self._named("spin", sp.Matrix(rows_of(twice)) * sp.Matrix(rates))
        (self.stretch,) = self._named("stretch", [sp.Matrix(e).dot(sp.Matrix(rates)) * self.inverse])
        self.outward = sp.Matrix([*rows_of(scaled), e]).T
        self.inward = sp.Matrix([*(2 * sp.Matrix(rows_of(e))).tolist(), [x * self.inverse for x in e]])

    def _named(self, name: str, values: Any) -> list[Any]:
        found = [sp.Symbol(f"turn{self._k}_{name}{i}", real=True) for i in range(len(values))]
        self.definitions |= dict(zip(found, values, strict=True))
        return found

    def _matrix(self, name: str, values: Any) -> Any:
        return sp.Matrix(3, 3, self._named(name, sp.Matrix(values).reshape(9, 1)))

    def angular(self, plain: Sequence[Any], C: Any) -> list[Any]:
        """Return the derivatives by w and beta from those by e, (4,), and by the entries of R, (3, 3) or None."""
        found = list(self.outward.T * sp.Matrix(plain)) if any(plain) else list(plain)
        if C is not None:
            for k, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
                found[k] += C[:, i].dot(self._unit[:, j]) - C[:, j].dot(self._unit[:, i])
            found[3] += 2 * sum(C.multiply_elementwise(self.R))
        return found


class TurnedEquations:
    """The equations of a model in the unknowns b, indexed like a: w in place of e0, e1, e2, and beta in place of e3.

    Attributes
    ----------
    definitions : the expressions for which the symbols stand that are not the model's, in order
    """

    def __init__(self, model: Any, derivatives: Any) -> None:
        self._model, self._d = model, derivatives
        q, v = list(model.q), list(model.v)
        self._names = [_Names(k, [q[i] for i in turn.e], [v[i] for i in turn.e]) for k, turn in enumerate(model.turns)]
        self.definitions = {s: x for names in self._names for s, x in names.definitions.items()}
        self._place = {q[i]: (k, place) for k, turn in enumerate(model.turns) for place, i in enumerate(turn.e)}
        self._entries = {R: (D, P) for x in self._names for R, D, P in zip(x.R, x.D, x.P, strict=True)}
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
        found, groups = [], defaultdict[Any, dict[tuple[int, int], Any]](dict)
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
            products, pair = groups[own[0][0], sp.Mul(*others)], (own[0][1], own[1][1])
            products[pair] = products.get(pair, 0) + number
        for (k, factor), products in groups.items():
            squares = [products.get((i, i), 0) for i in range(4)]
            form = rotation(squares, lambda i, j: products.get((i, j), 0) + products.get((j, i), 0))  # noqa: B023
            length = sum(squares)
            largest = max(abs(x) for row in form for x in row)
            if abs(length) > ROUNDED * largest:
                e = [self._model.q[i] for i in self._model.turns[k].e]
                found += [factor * number * e[i] * e[j] for (i, j), number in products.items()]
                continue
            pairs = zip(sp.Matrix(form) / 4, self._names[k].R, strict=True)
            found.append(factor * sp.Add(*(x * R for x, R in pairs if abs(x) > ROUNDED / 4 * largest)))
        return sp.Add(*found)

    def _angular(self, plain: Sequence[Any], by_entries: Mapping[Any, Any]) -> list[Any]:
        """Return S^T times a gradient, given by its derivatives by q, (n,), and by entries of R."""
        found = list(plain)
        for turn, names in zip(self._model.turns, self._names, strict=True):
            own = not by_entries.keys().isdisjoint(names.R)
            C = names.R.applyfunc(lambda s: by_entries.get(s, sp.Integer(0))) if own else None
            for i, x in zip(turn.e, names.angular([plain[i] for i in turn.e], C), strict=True):
                found[i] = x
        return found

    def _gradient(self, x: Any) -> list[Any]:
        there = {s: self._d(x, s) for s in self._d.symbols(x) if s in self._entries}
        return self._angular(self._d.gradient(x, self._model.q), there)

    def _along(self, x: Any) -> Any:
        """Return the time derivative at constant v and R'."""
        qs, vs = [*self._model.q, *self._entries], [*self._model.v, *(D for D, _ in self._entries.values())]
        return self._d.along(x, qs, vs, TIME)

    @cached_property
    def M(self) -> list[list[Any]]:
        """S^T M S, (n, n)."""
        found = [[self._rewritten(x) for x in row] for row in self._model.equations.M]
        for turn in self._model.turns:
            pairs = [(i, self._model.q[i]) for i in turn.e]
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
        found += [self._angular(self._d.gradient(x, model.v), {}) for x in self._nonholonomic]
        for turn, names in zip(model.turns, self._names, strict=True):
            *w, beta = turn.e
            for i in w:
                found[turn.row][i] = sp.Integer(0)
            at_zero = model.holonomic[turn.row].xreplace({model.q[i]: 0 for i in turn.e})
            found[turn.row][beta] = -2 * names.length * at_zero
        return found

    @cached_property
    def masks(self) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """For M and for J, which entries are zero, and which depend on parameters alone."""
        known, n = {*self._model.p}, len(self.M)
        parts = [[x for row in rows for x in row] for rows in (self.M, self.J)]
        masks = [([x == 0 for x in part], [self._d.symbols(x) <= known for x in part]) for part in parts]
        return [(np.array(zero).reshape(-1, n), np.array(fixed).reshape(-1, n)) for zero, fixed in masks]

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
            found[r] -= sum(self._d(row, s) * self._entries[s][1] for s in sorted(there, key=str))
        return found

    def outward(self, b: Sequence[Any]) -> list[Any]:
        """Return S b."""
        return self._blocks(b, [names.outward for names in self._names])

    def inward(self, a: Sequence[Any]) -> list[Any]:
        """Return b for a = S b."""
        return self._blocks(a, [names.inward for names in self._names])

    def _blocks(self, x: Sequence[Any], blocks: Sequence[Any]) -> list[Any]:
        found = list(x)
        for turn, block in zip(self._model.turns, blocks, strict=True):
            for i, y in zip(turn.e, block * sp.Matrix([x[j] for j in turn.e]), strict=True):
                found[i] = y
        return found
