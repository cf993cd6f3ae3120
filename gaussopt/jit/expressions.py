"""Generation of LLVM instructions for expressions of the kernel language."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from llvmlite import ir

from gaussopt.jit.arithmetic import CONSTANTS, Arithmetic, Unit
from gaussopt.jit.types import (
    BYTES,
    FLOATS,
    INTEGER,
    REAL,
    SHORT,
    Address,
    Array,
    Arrays,
    Kind,
    RecordValue,
    constant,
    parts_of_value,
    taken_from,
    untranslated,
    value_of,
)  # fmt: skip

_ORDERS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def _names(node: ast.expr) -> set[str]:
    return {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}


class Expressions(Arithmetic):
    """Translates the expressions of one function; `known` holds the numeric constants of the module by name."""

    def __init__(self, unit: Unit, function: ir.Function, flags: tuple[str, ...], known: Mapping[str, float]) -> None:
        super().__init__(unit, function, flags)
        self._known = known
        self._slots: dict[str, tuple[Kind, list[ir.Value]]] = {}
        self._values: dict[str, Any] = {}
        self._spaces: dict[ast.expr, ir.Value] = {}

    def _value(self, node: ast.expr) -> Any:
        b = self._b
        match node:
            case ast.Constant(value=value) if isinstance(value, bool | int | float):
                return constant(value)
            case ast.Name(id=name):
                return self._named(node, name)
            case ast.Tuple(elts=elements):
                return [self._value(x) for x in elements]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return constant(-value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                x = self._value(operand)
                return b.fneg(x, flags=self._flags) if x.type == REAL else b.neg(x)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._value(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return b.not_(self._truth(self._value(operand)))
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._raised(self._value(left), right)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self._value(left), self._value(right))
            case ast.BoolOp(op=op, values=values):
                found = self._truth(self._value(values[0]))
                for i, x in enumerate(values[1:], 1):
                    found = self._both(op, found, x, self._guarded(x, values[:i]))
                return found
            case ast.Compare(ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
                return constant(False)
            case ast.Compare(left=left, ops=[ast.Is()], comparators=[right]):
                return b.icmp_unsigned("==", self._value(left).first, self._value(right).first)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self._compare(left, ops, comparators)
            case ast.IfExp(test=test, body=body, orelse=other):
                chosen = self._truth(self._value(test))
                if self._guarded(body, [test]) or self._guarded(other, [test]):
                    return self._one_of(chosen, body, other)
                return self._choice(chosen, self._value(body), self._value(other))
            case ast.Subscript(value=ast.Attribute(value=base, attr="shape"), slice=ast.Constant(value=int() as i)):
                return self._value(base).shape[i]
            case ast.Subscript():
                return self._entry_of(node)
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in CONSTANTS:
                return constant(CONSTANTS[name])
            case ast.Attribute(value=base, attr="shape"):
                return list(self._value(base).shape)
            case ast.Attribute(value=base, attr=name) if isinstance(record := self._value(base), RecordValue):
                return record.fields[name]
            case ast.Call() if node in self._spaces:
                return self._space(node)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(value=ast.Name(id="math"), attr=name), args=arguments):
                return self._call(node, name, arguments)
            case _:
                raise untranslated(node)

    def _named(self, node: ast.expr, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        if name in self._slots:
            kind, slots = self._slots[name]
            return value_of(kind, iter([self._b.load(slot, typ=slot.allocated_type) for slot in slots]))
        if name in self._unit.tables:
            return self._unit.tables[name]
        if name in self._known:
            return constant(self._known[name])
        if name in CONSTANTS:
            return constant(CONSTANTS[name])
        raise untranslated(node)

    def _entry_of(self, node: ast.Subscript) -> Any:
        if isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant):
            base = self._values.get(node.value.id)
            if base is not None and isinstance(base.type, ir.LiteralStructType):
                return self._b.extract_value(base, node.slice.value)
        place, part = self._place(node)
        if part is not None:
            return part
        entry = self._b.load(place, typ=place.type.pointee)
        return self._b.sext(entry, INTEGER) if entry.type == SHORT else entry

    def _place(self, node: ast.Subscript) -> tuple[ir.Value, Any]:
        """Return the address to which a subscript refers, and its array part; None if it refers to one entry."""
        base, index = self._value(node.value), node.slice
        if isinstance(base, Array) and len(base.shape) == 2:
            rows, width = base.shape
            if isinstance(index, ast.Slice):
                low, length = self._span(index, rows)
                place = self._beyond(base.first, self._binary(ast.Mult(), low, width))
                return place, Array(base.type, place, (length, width))
            row, index = index.elts if isinstance(index, ast.Tuple) else (index, ast.Slice())
            first = self._beyond(base.first, self._binary(ast.Mult(), self._value(row), width))
            base = Array(Arrays(base.type.entry, 1), first, (width,))
        if not isinstance(index, ast.Slice):
            return self._beyond(base.first if isinstance(base, Array) else base, self._value(index)), None
        if not isinstance(base, Array):
            place = self._beyond(base, self._value(index.lower or ast.Constant(0)))
            return place, place
        low, length = self._span(index, base.shape[0])
        place = self._beyond(base.first, low)
        return place, Array(base.type, place, (length,))

    def _span(self, index: ast.Slice, length: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return the first index and the length of a slice."""
        if index.step is not None:
            raise untranslated(index)
        high = length if index.upper is None else self._value(index.upper)
        if index.lower is None:
            return constant(0), high
        low = self._value(index.lower)
        return low, self._binary(ast.Sub(), high, low)

    def _beyond(self, place: ir.Value, index: ir.Value) -> ir.Value:
        if isinstance(index, ir.Constant) and index.constant == 0:
            return place
        return self._b.gep(place, [index], inbounds=True, source_etype=place.type.pointee)

    def _guarded(self, node: ast.expr, conditions: Sequence[ast.expr]) -> bool:
        """Return whether an expression must not be evaluated unless the preceding conditions are true."""
        named = set[str]().union(*map(_names, conditions))
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and self._unit.defines(part.func.id):
                return True
            if isinstance(part, ast.Subscript) and named & _names(part.slice):
                return True
        return False

    def _both(self, op: ast.boolop, one: ir.Value, node: ast.expr, guarded: bool) -> ir.Value:
        """Return the conjunction or disjunction of `one` and `node`."""
        b, both = self._b, isinstance(op, ast.And)
        if not guarded:
            return (b.and_ if both else b.or_)(one, self._truth(self._value(node)))
        other = ast.Call(ast.Name("bool"), [node], [])
        sides = (other, ast.Constant(False)) if both else (ast.Constant(True), other)
        return self._one_of(one, *sides)

    def _one_of(self, chosen: ir.Value, body: ast.expr, other: ast.expr) -> ir.Value:
        """Return the value of a conditional expression, only one side of which is evaluated."""
        b = self._b
        blocks = [b.append_basic_block() for _ in range(2)]
        behind = b.append_basic_block()
        b.cbranch(chosen, *blocks)
        ends, values = [], []
        for block, node in zip(blocks, (body, other), strict=True):
            b.position_at_end(block)
            values.append(self._value(node))
            ends.append(b.block)
        kind = self._widest(values)
        for i, end in enumerate(ends):
            b.position_at_end(end)
            values[i] = self._cast(values[i], kind)
            b.branch(behind)
        b.position_at_end(behind)
        found = b.phi(kind)
        for value, end in zip(values, ends, strict=True):
            found.add_incoming(value, end)
        return found

    def _choice(self, chosen: ir.Value, one: Any, other: Any) -> Any:
        if isinstance(one, list):
            return [self._choice(chosen, x, y) for x, y in zip(one, other, strict=True)]
        if isinstance(one, Array) or isinstance(other, Array):
            # If one side is an array without shape, only the address of a first entry, the result has no shape either.
            kind = other.type if isinstance(one, Array) else one.type
            pairs = zip(parts_of_value(self._cast(one, kind)), parts_of_value(self._cast(other, kind)), strict=True)
            return value_of(kind, iter([self._b.select(chosen, x, y) for x, y in pairs]))
        return self._b.select(chosen, *([one, other] if one.type == FLOATS else self._alike([one, other])))

    def _compare(self, left: ast.expr, ops: Sequence[ast.cmpop], comparators: Sequence[ast.expr]) -> ir.Value:
        values = [self._value(x) for x in (left, *comparators)]
        found: ir.Value | None = None
        for op, pair in zip(ops, pairwise(values), strict=True):
            if type(op) not in _ORDERS:
                raise untranslated(op)
            holds = self._holds(_ORDERS[type(op)], *self._alike(pair))
            found = holds if found is None else self._b.and_(found, holds)
        return found

    def _raised(self, base: ir.Value, exponent: ast.expr) -> ir.Value:
        x = self._cast(base, REAL)
        minus = isinstance(exponent, ast.UnaryOp) and isinstance(exponent.op, ast.USub)
        size = exponent.operand if isinstance(exponent, ast.UnaryOp) and minus else exponent
        if isinstance(size, ast.Constant) and isinstance(size.value, int):
            return self._power(x, -size.value if minus else size.value)
        return self._b.call(self._unit.library("pow", 2), [x, self._cast(self._value(exponent), REAL)])

    def _call(self, node: ast.expr, name: str, nodes: Sequence[ast.expr]) -> Any:
        b = self._b
        arguments = [self._value(x) for x in nodes]
        if name == "zeros":
            if not (isinstance(arguments[0], ir.Constant) and arguments[0].type == INTEGER):
                raise untranslated(node)
            return self._zeros(arguments[0].constant)
        if name == "len":
            return arguments[0].shape[0]
        if name == "bool":
            return self._truth(arguments[0])
        if name == "isfinite":
            return self._is_finite(self._cast(arguments[0], REAL))
        if name in ("max", "min"):
            # As in Python, also for NaN, the result is the first value unless a later value is greater (or less).
            found, *others = self._alike(arguments)
            for x in others:
                found = b.select(self._holds(">" if name == "max" else "<", x, found), x, found)
            return found
        if name in ("float", "int", "int32"):
            return self._cast(arguments[0], {"float": REAL, "int": INTEGER, "int32": SHORT}[name])
        if name == "frexp":
            return self._fraction(self._cast(arguments[0], REAL))
        if name == "ldexp":
            power = self._unit.outside("ldexp", REAL, [REAL, SHORT])
            return b.call(power, [self._cast(arguments[0], REAL), b.trunc(self._cast(arguments[1], INTEGER), SHORT)])
        address = self._values.get(name)
        if isinstance(address, Address):
            return self._passed(address.place, arguments, address.type.arguments)
        if self._unit.defines(name):
            function, kinds = self._unit.function(name, [x.type for x in arguments])
            return self._passed(function, arguments, kinds)
        reals = [self._cast(x, REAL) for x in arguments]
        found = self._mathematical(name, reals)
        if found is None:
            raise untranslated(node)
        return found

    def _passed(self, function: ir.Value, arguments: Sequence[Any], kinds: Sequence[Kind]) -> ir.Value:
        """Return a call of a function whose parameters have the types `kinds`."""
        given = zip(arguments, kinds, strict=True)
        return self._b.call(function, [part for x, kind in given for part in parts_of_value(self._cast(x, kind))])

    def _zeros(self, size: int) -> Array:
        """Return an array of zeros on the stack; its memory is allocated once per call of the function."""
        kind = ir.ArrayType(REAL, size)
        space = self._entry.alloca(REAL, size)
        self._b.store(ir.Constant(kind, None), self._b.bitcast(space, kind.as_pointer()))
        return Array(Arrays(REAL, 1), space, (ir.Constant(INTEGER, size),))

    def _space(self, node: ast.Call) -> Array:
        """Return an array of zeros on the heap, valid until the function returns or evaluates this expression again."""
        b, slot = self._b, self._spaces[node]
        size, *more = node.args
        entry = INTEGER if more and taken_from(more[0], "np") == "int64" else REAL
        shape = [self._value(x) for x in (size.elts if isinstance(size, ast.Tuple) else [size])]
        count = shape[0]
        for x in shape[1:]:
            count = b.mul(count, x)
        self._free(slot)
        place = b.call(self._unit.outside("calloc", BYTES, [INTEGER, INTEGER]), [count, ir.Constant(INTEGER, 8)])
        b.store(place, slot)
        return Array(Arrays(entry, len(shape)), b.bitcast(place, entry.as_pointer()), tuple(shape))

    def _free(self, slot: ir.Value) -> None:
        self._b.call(self._unit.outside("free", ir.VoidType(), [BYTES]), [self._b.load(slot, typ=BYTES)])
