"""Derivatives of large sums and products; only the terms that contain the symbol are differentiated."""

from __future__ import annotations

from typing import Any

import sympy as sp


class Derivatives:
    """Partial derivatives of the expressions of a model, equal to those of `sympy.diff`.

    Free symbols and derivatives of parts are cached, because a model needs derivatives of the same parts repeatedly.
    """

    def __init__(self) -> None:
        self._symbols: dict[Any, frozenset[Any]] = {}
        self._found: dict[tuple[Any, ...], Any] = {}

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
        first, second = sorted((a, b), key=sp.default_sort_key)
        key = expr, first, second  # cached: a symmetric mass matrix needs each derivative twice
        if key not in self._found:
            self._found[key] = sp.factor_terms(sp.signsimp(self(self(expr, first), second)))
        return self._found[key]

    def _derived(self, expr: Any, symbol: Any) -> Any:
        args = expr.args
        if type(expr) is sp.Add:
            return sp.Add(*(self(x, symbol) for x in args))
        if type(expr) is sp.Mul:
            there = [i for i, x in enumerate(args) if symbol in self.symbols(x)]
            return sp.Add(*(sp.Mul(*args[:i], self(args[i], symbol), *args[i + 1 :]) for i in there))
        return sp.diff(expr, symbol)

    def along(self, expr: Any, qs: Any, vs: Any, t: Any) -> Any:
        """Return the time derivative at constant velocities: expr_q v + expr_t."""
        rates = (self(expr, a) * b for a, b in zip(qs, vs, strict=True))
        return sum(rates, self(expr, t))
