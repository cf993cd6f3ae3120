"""Generate LLVM instructions for the statements of a function, optionally with checks for errors and infinities."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llvmlite import ir

from gaussopt.jit.arithmetic import Unit
from gaussopt.jit.expressions import Expressions
from gaussopt.jit.types import (
    BYTES,
    INTEGER,
    REAL,
    TRUTH,
    Kind,
    RecordValue,
    constant,
    parts_of,
    parts_of_value,
    taken_from,
    untranslated,
    value_of,
)  # fmt: skip


class Body(Expressions):
    """Writes the instructions of one function."""

    def __init__(
        self, unit: Unit, function: ir.Function, definition: ast.FunctionDef, kinds: Sequence[Kind],
        known: Mapping[str, float], flags: tuple[str, ...],
    ) -> None:  # fmt: skip
        super().__init__(unit, function, flags, known)
        self._definition, self._kinds = definition, kinds
        self._loops: list[tuple[ir.Block, ir.Block]] = []

    def translate(self) -> None:
        """Translate all statements."""
        body = self._b.block
        nodes = list(ast.walk(self._definition))
        for node in nodes:
            if isinstance(node, ast.Call) and taken_from(node.func, "np") in ("zeros", "empty"):
                self._spaces[node] = self._entry.alloca(BYTES)
                self._entry.store(ir.Constant(BYTES, None), self._spaces[node])
        assigned = {x.id for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
        parts = iter(self._function.args)
        for name, kind in zip(self._definition.args.args, self._kinds, strict=True):
            value = value_of(kind, parts)
            if name.arg in assigned:
                self._assign(ast.Name(name.arg), value)
            else:
                self._values[name.arg] = value
        self._statements(self._definition.body)
        if not self._b.block.is_terminated:
            self._end()
        self._entry.branch(body)

    def _end(self) -> None:
        """End the function after the last statement."""
        if isinstance(self._function.function_type.return_type, ir.VoidType):
            self._return(None)
        else:
            self._b.unreachable()

    def _statements(self, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            if self._b.block.is_terminated:
                return
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        b = self._b
        match node:
            case ast.Assign(targets=targets, value=value):
                found = self._value(value)
                for target in targets:
                    self._assign(target, found)
            case ast.AugAssign(target=target, op=op, value=value):
                self._assign(target, self._binary(op, self._value(target), self._value(value)))
            case ast.For(target=ast.Name() as name, iter=ast.Call(func=ast.Name(id="range"), args=bounds), body=body):
                self._for(name, [self._value(x) for x in bounds], body)
            case ast.For(
                target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="unrolled"), args=[bound]), body=body
            ):
                for i in range(int(self._value(bound).constant)):
                    self._values[name] = constant(i)
                    self._statements(body)
            case ast.While(test=test, body=body):
                self._loop(lambda: self._truth(self._value(test)), body, lambda: None)
            case ast.If(test=test, body=body, orelse=other):
                self._if(self._truth(self._value(test)), body, other)
            case ast.Break():
                b.branch(self._loops[-1][0])
            case ast.Continue():
                b.branch(self._loops[-1][1])
            case ast.Return(value=None):
                self._return(None)
            case ast.Return(value=ast.Tuple(elts=elements)):
                kind = self._function.function_type.return_type
                pair = ir.Constant(kind, ir.Undefined)
                for i, element in enumerate(elements):
                    pair = b.insert_value(pair, self._cast(self._value(element), kind.elements[i]), i)
                self._return(pair)
            case ast.Return(value=value) if value is not None:
                self._return(self._cast(self._value(value), self._function.function_type.return_type))
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=value):
                self._value(value)
            case _:
                raise untranslated(node)

    def _return(self, value: ir.Value | None) -> None:
        for space in self._spaces.values():
            self._free(space)
        if value is None:
            self._b.ret_void()
        else:
            self._b.ret(value)

    def _if(self, chosen: ir.Value, body: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> None:
        b = self._b
        then, behind = b.append_basic_block(), b.append_basic_block()
        otherwise = b.append_basic_block() if other else behind
        b.cbranch(chosen, then, otherwise)
        for block, part in [(then, body)] + ([(otherwise, other)] if other else []):
            b.position_at_end(block)
            self._statements(part)
            if not b.block.is_terminated:
                b.branch(behind)
        b.position_at_end(behind)

    def _for(self, name: ast.Name, bounds: list[ir.Value], body: Sequence[ast.stmt]) -> None:
        first, last = bounds[:2] if len(bounds) > 1 else (ir.Constant(INTEGER, 0), bounds[0])
        step = bounds[2] if len(bounds) == 3 else ir.Constant(INTEGER, 1)
        if not isinstance(step, ir.Constant):
            raise untranslated(name)
        counter = self._entry.alloca(INTEGER)
        self._b.store(first, counter)

        def begins() -> ir.Value:
            number = self._b.load(counter, typ=INTEGER)
            self._assign(name, number)
            return self._b.icmp_signed("<" if step.constant > 0 else ">", number, last)

        def goes_on() -> None:
            number = self._b.load(counter, typ=INTEGER)
            self._b.store(self._b.add(number, step, flags=("nsw",)), counter)

        self._loop(begins, body, goes_on)

    def _loop(self, begins: Callable[[], ir.Value], body: Sequence[ast.stmt], goes_on: Callable[[], None]) -> None:
        b = self._b
        head, inside, end, behind = (b.append_basic_block() for _ in range(4))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(begins(), inside, behind)
        b.position_at_end(inside)
        self._loops.append((behind, end))
        self._statements(body)
        self._loops.pop()
        if not b.block.is_terminated:
            b.branch(end)
        b.position_at_end(end)
        goes_on()
        b.branch(head)
        b.position_at_end(behind)

    def _assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Tuple(elts=elements):
                for element, x in zip(elements, self._several(value), strict=True):
                    self._assign(element, x)
            case ast.Name(id=name) if isinstance(value.type, ir.LiteralStructType):
                self._values[name] = value
            case ast.Name(id=name):
                if name not in self._slots:
                    kind = value.type
                    self._slots[name] = kind, [self._entry.alloca(part) for part in parts_of(kind)]
                kind, slots = self._slots[name]
                for slot, part in zip(slots, parts_of_value(self._cast(value, kind)), strict=True):
                    self._b.store(part, slot)
            case ast.Subscript():
                place, part = self._place(target)
                if part is not None:
                    raise untranslated(target)
                self._b.store(self._cast(value, place.type.pointee), place)
            case _:
                raise untranslated(target)

    def _several(self, value: Any) -> Sequence[Any]:
        """Return the values of a tuple, record or list that is assigned to several names at once."""
        if isinstance(value, RecordValue):
            return list(value.fields.values())
        if isinstance(value, ir.Value):
            return [self._b.extract_value(value, i) for i in range(len(value.type.elements))]
        return value  # type: ignore[no-any-return]


class CheckedBody(Body):
    """Writes a function that returns True if CPython would raise no error and all numbers that it writes are finite.

    If the source returns a boolean, the boolean must be true as well. If the function returns False, its results must
    not be used.
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
        return True  # an undefined value in the branch that is not taken must do no harm

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
