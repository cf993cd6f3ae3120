"""Sizes of expressions: bounds on the rounding errors of their values, in units of machine precision.

An expression e has the size S(e) >= |e|, with equality if no terms cancel:

    S(a + b) = S(a) + S(b),   S(a b) = S(a) S(b),   S(a^k) = S(a)^k,   S(a^-k) = |a|^-k S(a) / |a|,
    S(f(a)) = |f(a)| + |f'(a)| S(a) for a compound argument a, |f(a)| for a symbol, whose value is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from gaussopt.symbolic.derivatives import Recursion


def sizes(expressions: Sequence[Any], lines: Recursion | None = None) -> list[Any]:
    """Return the size S(e), see the module docstring, of each expression e; shared parts are computed once.

    The sizes of `lines`, which define symbols in the expressions, are computed by lines that are appended to them.
    """
    known: dict[Any, Any] = {}
    for symbol in lines.needed(expressions) if lines else ():
        known[symbol] = lines.name(_size(lines.lines[symbol], known)) if lines else symbol
    return [_size(e, known) for e in expressions]


def may_cancel(expression: Any, lines: Recursion | None = None) -> bool:
    """Return whether an expression contains a sum, itself or in its lines, so that terms may cancel."""
    needed = lines.needed([expression]) if lines else []
    return any(x.has(sp.Add) for x in (expression, *(lines.lines[s] for s in needed if lines)))


def vanishes(expr: Any) -> bool:
    """Tell whether an expression vanishes identically; in most cases its value at one point shows that it does not."""
    symbols = sorted(expr.free_symbols, key=str)
    place = {s: sp.Float(0.37 + 0.11 * i) for i, s in enumerate(symbols)}
    value = sp.N(expr.subs(place))
    if value.is_number and value.is_finite and abs(complex(value)) > 1e-9:
        return False
    return bool(sp.simplify(expr) == 0)


def _size(e: Any, known: dict[Any, Any]) -> Any:
    found = known.get(e)
    if found is None:
        found = known[e] = _of(e, known)
    return found


def _of(e: Any, known: dict[Any, Any]) -> Any:
    if not e.has(sp.Add) and e.free_symbols.isdisjoint(known):
        return sp.Abs(e, evaluate=e.is_number)
    parts = [_size(x, known) for x in e.args if isinstance(x, sp.Expr)]
    if e.is_Add:
        return sp.Add(*parts)
    if e.is_Mul:
        return sp.Mul(*parts)
    value = sp.Abs(e, evaluate=False)
    if e.is_Pow and not e.exp.has(sp.Add) and e.exp.free_symbols.isdisjoint(known):
        base, exponent = e.as_base_exp()
        if exponent.is_Integer and exponent > 0:
            return parts[0] ** exponent
        return value * (sp.Abs(exponent) * parts[0] / sp.Abs(base, evaluate=False) + 1)
    if isinstance(e, sp.Function) and len(e.args) == 1 and isinstance(e, sp.sin | sp.cos | sp.tan | sp.exp | sp.log):
        return value + sp.Abs(e.fdiff(1), evaluate=False) * parts[0]
    return sp.Add(value, *parts)
