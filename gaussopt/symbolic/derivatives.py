"""Derivatives of the expressions of a model: of plain expressions, and through lines that name parts of them.

A line names an intermediate quantity by a short expression w = f(earlier lines, q, v, t), such as the position of a
body, given by that of the body before it. With f_s the derivative of f by a symbol s that occurs in it,

    forward    dw/dt = sum_s f_s ds/dt,
    backward   e_s += e_w f_s, from the last line to the first: all derivatives of a scalar e in one pass,
    twice      H_sz += f_s H_wz,  H_sr += f_s f_r H_ww, for lines linear in the velocities and e = T: this is the
               composite inertia of all bodies beyond a joint, which is built up from the tips of a tree inwards,

each in one short line for each pair of quantities. Nothing is expanded, and n bodies in a row take at most n^2 lines.

References
----------
A. Griewank, A. Walther, Evaluating Derivatives, 2008, ch. 3 (forward and backward derivatives).
R. M. Gower, M. P. Mello, Optim. Methods Softw. 27, 2012 (second derivatives by eliminating lines backwards).
R. Featherstone, Rigid Body Dynamics Algorithms, 2008, ch. 6 (composite inertia).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from typing import Any

import sympy as sp

from gaussopt.symbolic.forms import ByForm


class Derivatives:
    """Partial derivatives of the expressions of a model, equal to those of `sympy.diff`.

    Of large sums and products only the terms that contain the symbol are differentiated. Free symbols and derivatives
    of parts are cached, because a model needs derivatives of the same parts repeatedly.
    """

    def __init__(self) -> None:
        self._symbols: dict[Any, frozenset[Any]] = {}
        self._found: dict[tuple[Any, ...], Any] = {}
        self._terms: dict[Any, dict[Any, list[Any]]] = {}  # of a sum, by the symbols that they contain
        self._shortened = ByForm(_shortened)

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        """The lines, each as a symbol and its expression; none here."""
        return []

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
            return sp.S.Zero
        found = self._found.get((expr, symbol))
        if found is None:
            found = self._found[expr, symbol] = self._derived(expr, symbol)
        return found

    def hessian(self, expr: Any, symbols: Sequence[Any]) -> list[list[Any]]:
        """Return the second derivatives with respect to symbols, with common factors extracted, like `sympy.diff`."""
        found = [[sp.S.Zero for _ in symbols] for _ in symbols]
        for i, a in enumerate(symbols):
            there = self.symbols(self(expr, a))
            for j, b in enumerate(symbols[: i + 1]):
                if b in there:
                    first, second = sorted((a, b), key=sp.default_sort_key)
                    found[i][j] = found[j][i] = self._shortened(self(self(expr, first), second))
        return found

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
            if len(there) == 1 and args[there[0]] is symbol:  # the other factors are sorted already
                rest = (*args[: there[0]], *args[there[0] + 1 :])
                return rest[0] if len(rest) == 1 else sp.Mul(*rest, evaluate=any(x.is_Add for x in rest))
            return sp.Add(*(sp.Mul(*args[:i], self(args[i], symbol), *args[i + 1 :]) for i in there))
        if type(expr) is sp.Pow and expr.base is symbol and expr.exp.is_Integer:
            return expr.exp * symbol ** (expr.exp - 1)
        return sp.diff(expr, symbol)

    def along(self, expr: Any, qs: Any, vs: Any, t: Any) -> Any:
        """Return the time derivative at constant velocities: expr_q v + expr_t."""
        there = self.symbols(expr)
        return sp.Add(self(expr, t), *(self(expr, a) * b for a, b in zip(qs, vs, strict=True) if a in there))

    def gradient(self, expr: Any, symbols: Sequence[Any]) -> list[Any]:
        """Return the derivatives of an expression with respect to symbols."""
        return [self(expr, s) for s in symbols]


def _shortened(expr: Any) -> Any:
    """Return an expression with common factors extracted, as by `sympy.diff`."""
    return sp.factor_terms(sp.signsimp(expr))


class Recursion(Derivatives):
    """Lines, in order, and derivatives through them, for which further lines are appended.

    Attributes
    ----------
    lines : the expression of each named quantity
    rates : the time derivative of time, of the coordinates, and of each line for which it was asked
    fast : the velocities, and the lines that depend on them
    """

    def __init__(self, rates: Mapping[Any, Any], lines: Iterable[tuple[Any, Any]] = (), letter: str = "line_") -> None:
        super().__init__()
        self._letter = letter
        # Of the derivatives of a model only products are taken, and SymPy makes symbols without assumptions faster.
        self._symbol = partial(sp.Symbol, **({} if lines else {"real": True}))
        self.lines: dict[Any, Any] = {}
        self.rates, self.fast = dict(rates), {v for v in rates.values() if v.is_Symbol}
        self._place: dict[Any, int] = {}
        self._order: list[Any] = []
        self._names: dict[Any, Any] = {}
        for symbol, expr in lines:
            self._append(symbol, expr)

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        """The lines, each as a symbol and its expression."""
        return list(self.lines.items())

    def _append(self, symbol: Any, expr: Any) -> Any:
        self._place[symbol] = len(self.lines)
        self._order.append(symbol)
        self.lines[symbol], self._names[expr] = expr, symbol
        if not self.symbols(expr).isdisjoint(self.fast):
            self.fast.add(symbol)
        return symbol

    def know(self, q: Sequence[Any], v: Sequence[Any]) -> None:
        """Add coordinates, with their velocities."""
        self.rates |= zip(q, v, strict=True)
        self.fast |= {*v}

    def moves(self, expr: Any) -> bool:
        """Return whether an expression holds a coordinate, a velocity or a line."""
        return any(s in self.lines or s in self.fast or self.rates.get(s) in self.fast for s in self.symbols(expr))

    def name(self, expr: Any) -> Any:
        """Return a symbol that stands for an expression, or minus that symbol; short or fixed ones are returned."""
        if expr.is_Atom or not self.moves(expr):
            return expr
        return self._named(expr)

    def _named(self, expr: Any) -> Any:
        if all(x.as_coeff_Mul()[0].is_negative for x in sp.Add.make_args(expr)):
            return -x if (x := -expr).is_Atom else -self._named(x)
        found = self._names.get(expr)
        return self._append(self._symbol(f"{self._letter}{len(self.lines)}"), expr) if found is None else found

    def shared(self, expressions: Sequence[Any]) -> list[Any]:
        """Return expressions with names for the parts that occur in them more than once, such as a spring's length."""
        parts, found = sp.cse(expressions, sp.numbered_symbols(f"{self._letter}shared"))
        known = dict[Any, Any]()
        for symbol, part in parts:
            known[symbol] = self.name(part.xreplace(known))
        return [x.xreplace(known) for x in found]

    def needed(self, expressions: Iterable[Any], known: Container[Any] = ()) -> list[Any]:
        """Return the lines on which expressions depend, in order, without those that `known` lines need alone."""
        found: set[Any] = set()
        waiting = [s for x in expressions for s in self.symbols(x)]
        while waiting:
            if (symbol := waiting.pop()) in self.lines and symbol not in found and symbol not in known:
                found.add(symbol)
                waiting += self.symbols(self.lines[symbol])
        return sorted(found, key=self._place.__getitem__)

    def named(self, matrix: Any) -> Any:
        """Return a matrix with names for its entries."""
        return matrix.applyfunc(self.name)

    def replaced(self, expressions: Sequence[Any], symbols: Mapping[Any, Any]) -> list[Any]:
        """Return expressions with other symbols in place of `symbols`, in the lines that they need as well."""
        known = dict(symbols)
        for symbol in self.needed(expressions):
            if (new := self.lines[symbol].xreplace(known)) != self.lines[symbol]:
                known[symbol] = new if new.is_Atom else self._named(new)
        return [x.xreplace(known) for x in expressions]

    def cse(self, exprs: Any) -> tuple[list[tuple[Any, Any]], Any]:
        """Return the lines that expressions need, and the expressions: the argument `cse` of `sympy.lambdify`."""
        return [(s, self.lines[s]) for s in self.needed(sp.flatten(exprs))], exprs

    def along(self, expr: Any, *_: Any) -> Any:
        """Return the time derivative at constant velocities."""
        for symbol in self.needed([expr], self.rates):
            self.rates[symbol] = self.name(self._rate(self.lines[symbol]))
        return self._rate(expr)

    def _rate(self, expr: Any) -> Any:
        return sp.Add(*(_times(self(expr, s), rate) for s in self.symbols(expr) if (rate := self.rates.get(s, 0)) != 0))

    def gradient(self, expr: Any, symbols: Sequence[Any]) -> list[Any]:
        """Return the derivatives of an expression with respect to coordinates or velocities, in one pass backward."""
        return self.pulled({s: self(expr, s) for s in self.symbols(expr)}, symbols)

    def pulled(self, slopes: Mapping[Any, Any], symbols: Sequence[Any]) -> list[Any]:
        """Return sum_s slopes[s] ds/dx for each x in `symbols`, coordinates or velocities."""
        found: dict[Any, list[Any]] = defaultdict(list, {s: [x] for s, x in slopes.items()})
        waiting, wanted = [-self._place[s] for s in found if s in self.lines], set(symbols)
        heapify(waiting)
        quick = wanted <= self.fast
        while waiting:
            line = self._order[-heappop(waiting)]
            slope = self.name(sp.Add(*found.pop(line)))
            for s in self.symbols(self.lines[line]):
                if s in wanted or (s in self.lines and (s in self.fast or not quick)):
                    if s in self.lines and s not in found:
                        heappush(waiting, -self._place[s])
                    found[s].append(_times(slope, self(self.lines[line], s)))
        return [sp.Add(*found[s]) for s in symbols]

    def generalised(self, forces: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return generalised forces by coordinates from forces by coordinates, lines, and lines of velocities."""
        q = [x for x, v in self.rates.items() if v in self.fast and x not in self.lines]
        parts = [{s: f for s, f in forces.items() if f != 0 and (s in self.fast) == quick} for quick in (False, True)]
        ends = self.pulled(parts[0], q), self.pulled(parts[1], [self.rates[x] for x in q])
        return {x: a + b for x, a, b in zip(q, *ends, strict=True)}

    def curvature(self, expr: Any, symbols: Sequence[Any]) -> list[list[Any]]:
        """Return the second derivatives with respect to velocities of a form quadratic in velocities and lines."""
        found: dict[Any, dict[Any, list[Any]]] = defaultdict(dict)

        def add(a: Any, b: Any, value: Any) -> None:
            found[b].setdefault(a, found[a].setdefault(b, [])).append(value)

        quick = sorted(self.symbols(expr) & self.fast, key=str)
        for i, a in enumerate(quick):
            slope = self(expr, a)
            for b in quick[: i + 1]:
                if (value := self(slope, b)) != 0:
                    add(a, b, value)
        for line in reversed([s for s in self.needed([expr]) if s in self.fast]):
            row = {z: self.name(sp.Add(*terms)) for z, terms in found.pop(line).items()}
            parts = [(s, self.name(self(self.lines[line], s))) for s in self.symbols(self.lines[line]) & self.fast]
            own = row.pop(line, sp.Integer(0))
            for z in row:
                del found[z][line]
            for i, (s, part) in enumerate(parts):
                for z, value in row.items():
                    add(s, z, _times(part, value) * 2 if s == z else _times(part, value))
                if own != 0:
                    carried = self.name(_times(part, own))
                    for r, other in parts[: i + 1]:
                        add(s, r, _times(carried, other))
        sums = [[sp.Add(*found[a].get(b, ())) for b in symbols] for a in symbols]
        return [[self.name(x) if any(s in self.lines for s in self.symbols(x)) else x for x in row] for row in sums]


def _times(a: Any, b: Any) -> Any:
    """Return a b; for symbols and negative symbols without SymPy's evaluation, which asks whether they are zero."""
    if a is sp.S.One or b is sp.S.One:
        return b if a is sp.S.One else a
    signs = [x.is_Mul and len(x.args) == 2 and x.args[0] is sp.S.NegativeOne for x in (a, b)]
    x, y = (e.args[1] if minus else e for e, minus in zip((a, b), signs, strict=True))
    if not (x.is_Symbol and y.is_Symbol) or x is y:
        return a * b
    pair = (x, y) if x.name < y.name else (y, x)
    return sp.Mul(*((sp.S.NegativeOne,) if signs[0] != signs[1] else ()), *pair, evaluate=False)
