"""Sizes of expressions: bounds on the rounding errors of their values, in units of machine precision.

An expression e has the size S(e) >= |e|, with equality if no terms cancel:

    S(a + b) = S(a) + S(b),   S(a b) = S(a) S(b),   S(a^k) = S(a)^k,   S(a^-k) = |a|^-k S(a) / |a|,
    S(f(a)) = |f(a)| + |f'(a)| S(a) for a compound argument a, |f(a)| for a symbol, whose value is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp


def sizes(expressions: Sequence[Any]) -> list[Any]:
    """Return the size S(e), see the module docstring, of each expression e; shared parts are computed once."""
    known: dict[Any, Any] = {}
    return [_size(e, known) for e in expressions]


def may_cancel(expression: Any) -> bool:
    """Return whether an expression contains a sum, so that terms may cancel."""
    return bool(expression.has(sp.Add))


def _size(e: Any, known: dict[Any, Any]) -> Any:
    found = known.get(e)
    if found is None:
        found = known[e] = _of(e, known)
    return found


def _of(e: Any, known: dict[Any, Any]) -> Any:
    if not e.has(sp.Add):
        return sp.Abs(e, evaluate=e.is_number)
    parts = [_size(x, known) for x in e.args if isinstance(x, sp.Expr)]
    if e.is_Add:
        return sp.Add(*parts)
    if e.is_Mul:
        return sp.Mul(*parts)
    value = sp.Abs(e, evaluate=False)
    if e.is_Pow and not e.exp.has(sp.Add):
        base, exponent = e.as_base_exp()
        if exponent.is_Integer and exponent > 0:
            return parts[0] ** exponent
        return value * (sp.Abs(exponent) * parts[0] / sp.Abs(base, evaluate=False) + 1)
    if isinstance(e, sp.Function) and len(e.args) == 1 and isinstance(e, sp.sin | sp.cos | sp.tan | sp.exp | sp.log):
        return value + sp.Abs(e.fdiff(1), evaluate=False) * parts[0]
    return sp.Add(value, *parts)
