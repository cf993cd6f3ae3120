"""Straight lines that say whether every number they compute is defined."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from gaussopt.jit.statements import Body
from gaussopt.jit.types import REAL, TRUTH, constant, untranslated


class CheckedBody(Body):
    """A function that returns whether CPython would raise nothing, and all that it writes is finite.

    One that returns truth values returns True where it would and all is defined. Where False is returned, what has been
    written is of no use.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._regular = self._entry.alloca(TRUTH)
        self._entry.store(constant(True), self._regular)

    def _require(self, holds: ir.Value) -> None:
        self._b.store(self._b.and_(self._b.load(self._regular, typ=TRUTH), holds), self._regular)

    def _end(self) -> None:
        self._return(None)

    def _return(self, value: ir.Value | None) -> None:
        regular = self._b.load(self._regular, typ=TRUTH)
        super()._return(regular if value is None else self._b.and_(value, regular))

    def _assign(self, target: ast.expr, value: Any) -> None:
        super()._assign(target, value)
        if isinstance(target, ast.Subscript):
            self._finite(self._cast(value, REAL))

    def _guarded(self, node: ast.expr, conditions: Sequence[ast.expr]) -> bool:
        return True  # what is not chosen may be undefined

    def _binary(self, op: ast.operator, x: ir.Value, y: ir.Value) -> ir.Value:
        if isinstance(op, ast.Div | ast.Mod | ast.FloorDiv):
            self._require(self._holds("!=", self._cast(y, REAL), constant(0.0)))
        return super()._binary(op, x, y)

    def _raised(self, base: ir.Value, exponent: ast.expr) -> ir.Value:
        return self._finite(super()._raised(base, exponent))

    def _call(self, node: ast.expr, name: str, nodes: Sequence[ast.expr]) -> Any:
        if self._unit.defines(name):
            raise untranslated(node)
        return super()._call(node, name, nodes)

    def _mathematical(self, name: str, reals: Sequence[ir.Value]) -> ir.Value | None:
        found = super()._mathematical(name, reals)
        return None if found is None else self._finite(found)

    def _finite(self, x: ir.Value) -> ir.Value:
        self._require(self._is_finite(x))
        return x
