"""LLVM instructions from the few forms of Python that generated functions and kernels are written in.

A compiler for all of Python spends ten times as long on analysing straight lines as LLVM on compiling them. Here values
are floats, integers, truth values, sequences of floats and matrices of them, row by row; the type of a name is that of
its first value, so that one walk over the syntax tree writes the instructions. Conditional expressions become
selections, which have no branches, and `and` and `or` evaluate both sides: what has side effects stands under `if`.
Indices, and integers that are divided with remainder, are not negative.

Parameters of functions that are called from outside are annotated float, int, list or Array, or Table; others take the
types of the arguments of their first call. A function without annotation returns a truth value, if anything. In a
function decorated with `any_order` sums may be taken in any order, so that they run in vector registers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from llvmlite import ir

from gaussopt.compiled.job import NotCompiled

REAL, INTEGER, SHORT, TRUTH, FLOATS = (
    ir.DoubleType(), ir.IntType(64), ir.IntType(32), ir.IntType(1), ir.DoubleType().as_pointer(),
)  # fmt: skip
PAIR = ir.LiteralStructType([REAL, REAL])
TABLE = ir.LiteralStructType([FLOATS, INTEGER])
"""A matrix: its first entry and the length of its rows, which functions take apart."""

RESULTS = {"float": REAL, "int": INTEGER, "bool": TRUTH, "tuple": PAIR, "None": ir.VoidType()}
PARAMETERS = {"float": REAL, "int": INTEGER, "list": FLOATS, "Array": FLOATS, "Table": TABLE}

INTRINSICS = {"sqrt": "llvm.sqrt", "floor": "llvm.floor", "ceil": "llvm.ceil", "fabs": "llvm.fabs", "abs": "llvm.fabs"}

LIBRARY = {
    name: name for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp",
        "expm1", "log", "log10", "log1p", "log2", "erf", "erfc", "hypot", "copysign", "pow", "fmod",
    )
} | {"gamma": "tgamma", "lgamma": "lgamma"}  # fmt: skip
"""Functions of Python's math module by their names in the C library, where it takes them from, too."""

CONSTANTS = {"pi": 3.141592653589793, "e": 2.718281828459045, "inf": float("inf"), "nan": float("nan")}

_ORDERS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}

_REAL_OPERATIONS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul"}
_INTEGER_OPERATIONS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}


@dataclass(frozen=True)
class Matrix:
    """Entries row by row."""

    first: ir.Value
    width: ir.Value
    type = TABLE


class Translation:
    """A module of functions as LLVM's text.

    Parameters
    ----------
    text : source of the module
    exported : functions that are called from outside
    contract : whether a product and a sum may become one operation with one rounding
    known : numbers of the module by name

    Raises
    ------
    NotCompiled
        If the source holds what has no translation.
    """

    def __init__(self, text: str, exported: Iterable[str], contract: bool, known: Mapping[str, float]) -> None:
        self.flags, self.known = ("contract",) if contract else (), known
        self.module = ir.Module("generated")
        self.tables: dict[str, ir.Value] = {}
        self._definitions: dict[str, ast.FunctionDef] = {}
        self._functions: dict[str, ir.Function] = {}
        for node in ast.parse(text).body:
            match node:
                case ast.FunctionDef():
                    self._definitions[node.name] = node
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple(elts=elements)):
                    self._table(name, [ast.literal_eval(x) for x in elements])
        for name in exported:
            kinds = [PARAMETERS[ast.unparse(a.annotation)] for a in self._definitions[name].args.args if a.annotation]
            self.function(name, kinds).linkage = "external"

    def __str__(self) -> str:
        """LLVM's text."""
        return str(self.module)

    def _table(self, name: str, values: Sequence[float]) -> None:
        kind = ir.ArrayType(REAL, len(values))
        table = ir.GlobalVariable(self.module, kind, name)
        table.initializer = ir.Constant(kind, [ir.Constant(REAL, float(x)) for x in values])
        table.global_constant, table.linkage = True, "internal"
        self.tables[name] = table.gep([ir.Constant(SHORT, 0)] * 2)

    def defines(self, name: str) -> bool:
        """Whether a function of this name is in the module."""
        return name in self._definitions

    def function(self, name: str, types: Sequence[ir.Type]) -> ir.Function:
        """A function of the module, translated when it is met first."""
        if name in self._functions:
            return self._functions[name]
        definition = self._definitions[name]
        if definition.returns is not None:
            result = RESULTS[ast.unparse(definition.returns)]
        else:
            answers = any(isinstance(x, ast.Return) and x.value is not None for x in ast.walk(definition))
            result = TRUTH if answers else ir.VoidType()
        apart = [part for kind in types for part in (kind.elements if kind == TABLE else [kind])]
        function = ir.Function(self.module, ir.FunctionType(result, apart), name)
        function.linkage = "internal"
        function.attributes.add("nounwind")
        if result == PAIR:
            function.attributes.add("alwaysinline")
        self._functions[name] = function
        _Body(self, function, definition, types).translate()
        return function

    def library(self, name: str, arguments: int, intrinsic: bool) -> ir.Function:
        """A function of LLVM or of the C library, of floats."""
        kind = ir.FunctionType(REAL, [REAL] * arguments)
        if intrinsic:
            return self.module.declare_intrinsic(name, [REAL], kind)
        if name not in self.module.globals:
            ir.Function(self.module, kind, name).attributes.add("nounwind")
        return self.module.globals[name]


class _Body:
    """The instructions of one function."""

    def __init__(
        self, whole: Translation, function: ir.Function, definition: ast.FunctionDef, types: Sequence[ir.Type]
    ) -> None:
        self._whole, self._function, self._definition, self._types = whole, function, definition, types
        # Variables live in slots at the entry, which LLVM turns into registers.
        self._entry = ir.IRBuilder(function.append_basic_block("entry"))
        self._b = ir.IRBuilder(function.append_basic_block("body"))
        self._slots: dict[str, ir.Value] = {}
        self._values: dict[str, Any] = {}
        self._exits: list[ir.Block] = []
        any_order = any(ast.unparse(x) == "any_order" for x in definition.decorator_list)
        self._flags = (*whole.flags, "reassoc") if any_order else whole.flags

    def translate(self) -> None:
        """All statements."""
        body = self._b.block
        nodes = [x for x in ast.walk(self._definition) if isinstance(x, ast.Name)]
        assigned = {x.id for x in nodes if isinstance(x.ctx, ast.Store)}
        parts = iter(self._function.args)
        for name, kind in zip(self._definition.args.args, self._types, strict=True):
            value = Matrix(next(parts), next(parts)) if kind == TABLE else next(parts)
            if name.arg in assigned:
                self._assign(ast.Name(name.arg), value)
            else:
                self._values[name.arg] = value
        self._statements(self._definition.body)
        if not self._b.block.is_terminated:
            if isinstance(self._function.function_type.return_type, ir.VoidType):
                self._b.ret_void()
            else:
                self._b.unreachable()
        self._entry.branch(body)

    # -- statements ------------------------------------------------------------------------------------

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
            case ast.While(test=test, body=body):
                self._loop(lambda: self._truth(self._value(test)), body, lambda: None)
            case ast.If(test=test, body=body, orelse=other):
                self._if(self._truth(self._value(test)), body, other)
            case ast.Break():
                b.branch(self._exits[-1])
            case ast.Return(value=None):
                b.ret_void()
            case ast.Return(value=ast.Tuple(elts=elements)):
                pair = ir.Constant(PAIR, ir.Undefined)
                for i, element in enumerate(elements):
                    pair = b.insert_value(pair, self._value(element), i)
                b.ret(pair)
            case ast.Return(value=value) if value is not None:
                b.ret(self._cast(self._value(value), self._function.function_type.return_type))
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=value):
                self._value(value)
            case _:
                raise _untranslated(node)

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
            raise _untranslated(name)
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
        head, inside, behind = (b.append_basic_block() for _ in range(3))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(begins(), inside, behind)
        b.position_at_end(inside)
        self._exits.append(behind)
        self._statements(body)
        self._exits.pop()
        if not b.block.is_terminated:
            goes_on()
            b.branch(head)
        b.position_at_end(behind)

    def _assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Tuple(elts=elements):
                for element, x in zip(elements, value, strict=True):
                    self._assign(element, x)
            case ast.Name(id=name) if value.type in (PAIR, TABLE):
                self._values[name] = value
            case ast.Name(id=name):
                if name not in self._slots:
                    self._slots[name] = self._entry.alloca(value.type)
                slot = self._slots[name]
                self._b.store(self._cast(value, slot.allocated_type), slot)
            case ast.Subscript():
                place, part = self._place(target)
                if part:
                    raise _untranslated(target)
                self._b.store(self._cast(value, REAL), place)
            case _:
                raise _untranslated(target)

    # -- expressions -----------------------------------------------------------------------------------

    def _value(self, node: ast.expr) -> Any:
        b = self._b
        match node:
            case ast.Constant(value=value) if isinstance(value, bool | int | float):
                return _constant(value)
            case ast.Name(id=name):
                return self._named(node, name)
            case ast.Tuple(elts=elements):
                return [self._value(x) for x in elements]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return _constant(-value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                x = self._value(operand)
                return b.fneg(x, flags=self._flags) if x.type == REAL else b.neg(x)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._value(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return b.not_(self._truth(self._value(operand)))
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._power(self._value(left), right)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self._value(left), self._value(right))
            case ast.BoolOp(op=op, values=values):
                found = [self._truth(self._value(x)) for x in values]
                for x in found[1:]:
                    found[0] = (b.and_ if isinstance(op, ast.And) else b.or_)(found[0], x)
                return found[0]
            case ast.Compare(ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
                return _constant(False)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self._compare(left, ops, comparators)
            case ast.IfExp(test=test, body=body, orelse=other):
                return self._choice(self._truth(self._value(test)), self._value(body), self._value(other))
            case ast.Subscript(value=ast.Attribute(value=base, attr="shape"), slice=ast.Constant(value=1)):
                return self._value(base).width
            case ast.Subscript():
                return self._entry_of(node)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(node, name, arguments)
            case _:
                raise _untranslated(node)

    def _named(self, node: ast.expr, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        if name in self._slots:
            slot = self._slots[name]
            return self._b.load(slot, typ=slot.allocated_type)
        if name in self._whole.tables:
            return self._whole.tables[name]
        if name in self._whole.known:
            return _constant(self._whole.known[name])
        if name in CONSTANTS:
            return _constant(CONSTANTS[name])
        raise _untranslated(node)

    def _entry_of(self, node: ast.Subscript) -> ir.Value:
        if isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant):
            base = self._values.get(node.value.id)
            if base is not None and base.type == PAIR:
                return self._b.extract_value(base, node.slice.value)
        place, part = self._place(node)
        return place if part else self._b.load(place, typ=REAL)

    def _place(self, node: ast.Subscript) -> tuple[ir.Value, bool]:
        """Where an entry is, or where a part of a sequence begins; whether it is a part."""
        base, index = self._value(node.value), node.slice
        if isinstance(base, Matrix):
            row, index = index.elts if isinstance(index, ast.Tuple) else (index, ast.Slice())
            base = self._beyond(base.first, self._binary(ast.Mult(), self._value(row), base.width))
        part = isinstance(index, ast.Slice)
        if isinstance(index, ast.Slice):
            index = index.lower or ast.Constant(0)
        return self._beyond(base, self._value(index)), part

    def _beyond(self, place: ir.Value, index: ir.Value) -> ir.Value:
        return self._b.gep(place, [index], inbounds=True, source_etype=REAL)

    def _choice(self, chosen: ir.Value, one: Any, other: Any) -> Any:
        if isinstance(one, list):
            return [self._choice(chosen, x, y) for x, y in zip(one, other, strict=True)]
        return self._b.select(chosen, *([one, other] if one.type == FLOATS else self._alike([one, other])))

    def _compare(self, left: ast.expr, ops: Sequence[ast.cmpop], comparators: Sequence[ast.expr]) -> ir.Value:
        values = [self._value(x) for x in (left, *comparators)]
        found: ir.Value | None = None
        for op, pair in zip(ops, pairwise(values), strict=True):
            if type(op) not in _ORDERS:
                raise _untranslated(op)
            holds = self._holds(_ORDERS[type(op)], *self._alike(pair))
            found = holds if found is None else self._b.and_(found, holds)
        return found

    def _holds(self, sign: str, x: ir.Value, y: ir.Value) -> ir.Value:
        if x.type != REAL:
            return self._b.icmp_signed(sign, x, y)
        return (self._b.fcmp_unordered if sign == "!=" else self._b.fcmp_ordered)(sign, x, y)

    def _binary(self, op: ast.operator, x: ir.Value, y: ir.Value) -> ir.Value:
        b = self._b
        if isinstance(op, ast.BitAnd | ast.BitOr):
            return (b.and_ if isinstance(op, ast.BitAnd) else b.or_)(*self._alike([x, y]))
        if isinstance(op, ast.Div):
            return b.fdiv(self._cast(x, REAL), self._cast(y, REAL), flags=self._flags)
        x, y = self._alike([x, y, _constant(0)])[:2]
        if x.type == REAL and isinstance(op, ast.Mod):
            # The sign of Python's remainder is that of the divisor.
            rest, zero = b.frem(x, y), _constant(0.0)
            other = b.xor(self._holds("<", rest, zero), self._holds("<", y, zero))
            return b.select(b.and_(other, self._holds("!=", rest, zero)), b.fadd(rest, y), rest)
        if x.type == REAL and type(op) in _REAL_OPERATIONS:
            return getattr(b, _REAL_OPERATIONS[type(op)])(x, y, flags=self._flags)
        if x.type != REAL and isinstance(op, ast.Mod | ast.FloorDiv):
            return (b.srem if isinstance(op, ast.Mod) else b.sdiv)(x, y)
        if x.type != REAL and type(op) in _INTEGER_OPERATIONS:
            return getattr(b, _INTEGER_OPERATIONS[type(op)])(x, y, flags=("nsw",))
        raise _untranslated(op)

    def _power(self, base: ir.Value, exponent: ast.expr) -> ir.Value:
        b = self._b
        x = self._cast(base, REAL)
        minus = isinstance(exponent, ast.UnaryOp) and isinstance(exponent.op, ast.USub)
        size = exponent.operand if isinstance(exponent, ast.UnaryOp) and minus else exponent
        if not (isinstance(size, ast.Constant) and isinstance(size.value, int)):
            return b.call(self._whole.library("pow", 2, False), [x, self._cast(self._value(exponent), REAL)])
        n, found = size.value, None
        while n:
            if n % 2:
                found = x if found is None else b.fmul(found, x, flags=self._flags)
            n //= 2
            x = b.fmul(x, x, flags=self._flags) if n else x
        found = _constant(1.0) if found is None else found
        return b.fdiv(_constant(1.0), found, flags=self._flags) if minus else found

    def _call(self, node: ast.expr, name: str, nodes: Sequence[ast.expr]) -> Any:
        b = self._b
        if name == "zeros":
            return self._zeros(ast.literal_eval(nodes[0]))
        arguments = [self._value(x) for x in nodes]
        if name in ("max", "min"):
            # As Python takes them, also with NaN: the first one unless a later one is beyond it.
            found, *others = self._alike(arguments)
            for x in others:
                found = b.select(self._holds(">" if name == "max" else "<", x, found), x, found)
            return found
        if name in ("float", "int", "int32"):
            return self._cast(arguments[0], {"float": REAL, "int": INTEGER, "int32": SHORT}[name])
        if self._whole.defines(name):
            function = self._whole.function(name, [x.type for x in arguments])
            apart = [part for x in arguments for part in ((x.first, x.width) if isinstance(x, Matrix) else (x,))]
            kinds = function.function_type.args
            return b.call(function, [self._cast(x, kind) for x, kind in zip(apart, kinds, strict=True)])
        reals = [self._cast(x, REAL) for x in arguments]
        if name in INTRINSICS:
            return b.call(self._whole.library(INTRINSICS[name], 1, True), reals)
        if name in LIBRARY:
            return b.call(self._whole.library(LIBRARY[name], len(reals), False), reals)
        raise _untranslated(node)

    def _zeros(self, size: int) -> ir.Value:
        """Space on the stack, once a call."""
        kind = ir.ArrayType(REAL, size)
        space = self._entry.alloca(REAL, size)
        self._b.store(ir.Constant(kind, None), self._b.bitcast(space, kind.as_pointer()))
        return space

    # -- types -----------------------------------------------------------------------------------------

    def _truth(self, x: ir.Value) -> ir.Value:
        return x if x.type == TRUTH else self._holds("!=", x, ir.Constant(x.type, 0))

    def _alike(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """Values in the type of the widest; integers written out take that of the others."""
        kinds = [x.type for x in values]
        kind = next((k for k in (REAL, SHORT, INTEGER) if k in kinds), TRUTH)
        return [self._cast(x, kind) for x in values]

    def _cast(self, x: ir.Value, kind: ir.Type) -> ir.Value:
        b = self._b
        if x.type == kind:
            return x
        if isinstance(x, ir.Constant) and x.type in (INTEGER, TRUTH) and kind in (REAL, INTEGER, SHORT):
            return ir.Constant(kind, float(x.constant) if kind == REAL else int(x.constant))
        whole = x.type in (INTEGER, SHORT)
        if kind == TRUTH and (whole or x.type == REAL):
            return self._truth(x)
        if x.type == TRUTH and kind in (REAL, INTEGER):
            return b.uitofp(x, kind) if kind == REAL else b.zext(x, kind)
        if whole and kind == REAL:
            return b.sitofp(x, kind)
        if x.type == REAL and kind in (INTEGER, SHORT):
            return b.fptosi(x, kind)
        raise NotCompiled(f"its generated source takes {x.type} for {kind}")


def _constant(value: float) -> ir.Constant:
    """A number in the source."""
    kind = TRUTH if isinstance(value, bool) else INTEGER if isinstance(value, int) else REAL
    return ir.Constant(kind, int(value) if kind == TRUTH else value)


def _untranslated(node: ast.AST) -> NotCompiled:
    return NotCompiled(f"its generated source holds '{ast.unparse(node)}', which has no translation")
