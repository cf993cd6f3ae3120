"""LLVM instructions from the few forms of Python that generated functions are written in.

A compiler for all of Python spends ten times as long on analysing straight lines as LLVM on compiling them. Generated
functions know floats, integers, truth values and sequences of floats; the type of a name is that of its first value, so
that one walk over the syntax tree writes the instructions. Conditional expressions become selections, which have no
branches; `and` and `or` evaluate both sides.

Parameters are annotated float, int or list where a function is called from outside; others take the types of the
arguments of their first call. A function without annotation returns a truth value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from llvmlite import ir

from gaussopt.compiled.job import NotCompiled

REAL, INTEGER, SHORT, TRUTH, FLOATS = (
    ir.DoubleType(), ir.IntType(64), ir.IntType(32), ir.IntType(1), ir.PointerType(),
)  # fmt: skip
PAIR = ir.LiteralStructType([REAL, REAL])

ANNOTATED = {"float": REAL, "int": INTEGER, "list": FLOATS, "tuple": PAIR}

INTRINSICS = {"sqrt": "llvm.sqrt", "floor": "llvm.floor", "ceil": "llvm.ceil", "fabs": "llvm.fabs", "abs": "llvm.fabs"}

LIBRARY = {
    name: name for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp",
        "expm1", "log", "log10", "log1p", "log2", "erf", "erfc", "hypot", "copysign", "pow", "fmod",
    )
} | {"gamma": "tgamma", "lgamma": "lgamma"}  # fmt: skip
"""Functions of Python's math module by their names in the C library, which both take them from."""

CONSTANTS = {"pi": 3.141592653589793, "e": 2.718281828459045, "inf": float("inf"), "nan": float("nan")}

_ORDERS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


class Translation:
    """A module of generated functions as LLVM's text.

    Parameters
    ----------
    text : source of the module
    exported : functions that are called from outside
    contract : whether a product and a sum may become one operation with one rounding

    Raises
    ------
    NotCompiled
        If the source holds what has no translation.
    """

    def __init__(self, text: str, exported: Iterable[str], contract: bool) -> None:
        self.flags = ("contract",) if contract else ()
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
            kinds = [ANNOTATED[ast.unparse(a.annotation)] for a in self._definitions[name].args.args if a.annotation]
            self.function(name, kinds).linkage = "external"

    def __str__(self) -> str:
        """LLVM's text."""
        return str(self.module)

    def _table(self, name: str, values: Sequence[float]) -> None:
        kind = ir.ArrayType(REAL, len(values))
        table = ir.GlobalVariable(self.module, kind, name)
        table.initializer = ir.Constant(kind, [ir.Constant(REAL, float(x)) for x in values])
        table.global_constant, table.linkage = True, "internal"
        self.tables[name] = table

    def defines(self, name: str) -> bool:
        """Whether a function of this name is in the module."""
        return name in self._definitions

    def function(self, name: str, types: Sequence[ir.Type]) -> ir.Function:
        """A function of the module, translated when it is met first."""
        if name in self._functions:
            return self._functions[name]
        definition = self._definitions[name]
        returned = [x for x in ast.walk(definition) if isinstance(x, ast.Return) and x.value is not None]
        kind = getattr(definition.returns, "id", None) or ("truth" if returned else "nothing")
        result = {"truth": TRUTH, "nothing": ir.VoidType()} | ANNOTATED
        function = ir.Function(self.module, ir.FunctionType(result[kind], list(types)), name)
        function.linkage = "internal"
        function.attributes.add("nounwind")
        if result[kind] == PAIR:
            function.attributes.add("alwaysinline")
        self._functions[name] = function
        _Body(self, function, definition).translate()
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

    def __init__(self, whole: Translation, function: ir.Function, definition: ast.FunctionDef) -> None:
        self._whole, self._function, self._definition = whole, function, definition
        entry = function.append_basic_block("entry")
        # Variables live in slots at the entry, which LLVM turns into registers.
        self._entry, self._b = ir.IRBuilder(entry), ir.IRBuilder(function.append_basic_block("body"))
        self._slots: dict[str, ir.Value] = {}
        self._values: dict[str, Any] = {}
        self._exits: list[ir.Block] = []

    def translate(self) -> None:
        """All statements."""
        names = [a.arg for a in self._definition.args.args]
        assigned = {
            x.id for x in ast.walk(self._definition) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)
        }
        for name, argument in zip(names, self._function.args, strict=True):
            if name in assigned:
                self._assign(ast.Name(name), argument)
            else:
                self._values[name] = argument
        body = self._b.block
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
                then, behind = b.append_basic_block(), b.append_basic_block()
                otherwise = b.append_basic_block() if other else behind
                b.cbranch(self._truth(self._value(test)), then, otherwise)
                for block, part in ((then, body), *(((otherwise, other),) if other else ())):
                    b.position_at_end(block)
                    self._statements(part)
                    self._go_to(behind)
                b.position_at_end(behind)
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

    def _go_to(self, block: ir.Block) -> None:
        if not self._b.block.is_terminated:
            self._b.branch(block)

    def _for(self, name: ast.Name, bounds: list[ir.Value], body: Sequence[ast.stmt]) -> None:
        first, last = bounds if len(bounds) == 2 else (ir.Constant(INTEGER, 0), bounds[0])
        count = self._slot(name.id + ".count", INTEGER)
        self._b.store(first, count)

        def begins() -> ir.Value:
            number = self._b.load(count, typ=INTEGER)
            self._assign(name, number)
            return self._b.icmp_signed("<", number, last)

        def goes_on() -> None:
            number = self._b.load(count, typ=INTEGER)
            self._b.store(self._b.add(number, ir.Constant(INTEGER, 1), flags=("nsw",)), count)

        self._loop(begins, body, goes_on)

    def _loop(self, begins: Any, body: Sequence[ast.stmt], goes_on: Any) -> None:
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

    def _slot(self, name: str, kind: ir.Type) -> ir.Value:
        if name not in self._slots:
            self._slots[name] = self._entry.alloca(kind)
        return self._slots[name]

    def _assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Tuple(elts=elements):
                for element, x in zip(elements, value, strict=True):
                    self._assign(element, x)
            case ast.Name(id=name) if isinstance(value, list) or value.type in (FLOATS, PAIR):
                self._values[name] = value
            case ast.Name(id=name):
                slot = self._slot(name, value.type)
                self._b.store(self._cast(value, slot.allocated_type), slot)
            case ast.Subscript():
                self._b.store(self._cast(value, REAL), self._place(target))
            case _:
                raise _untranslated(target)

    # -- expressions -----------------------------------------------------------------------------------

    def _value(self, node: ast.expr) -> Any:
        b = self._b
        match node:
            case ast.Constant(value=bool() as value):
                return ir.Constant(TRUTH, int(value))
            case ast.Constant(value=int() as value):
                return ir.Constant(INTEGER, value)
            case ast.Constant(value=float() as value):
                return ir.Constant(REAL, value)
            case ast.Name(id=name):
                return self._named(node, name)
            case ast.Tuple(elts=elements):
                return [self._value(x) for x in elements]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float() as value)):
                return ir.Constant(REAL, -value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                x = self._value(operand)
                return b.fneg(x, flags=self._whole.flags) if x.type == REAL else b.neg(x)
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
                return ir.Constant(TRUTH, 0)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self._compare(left, ops, comparators)
            case ast.IfExp(test=test, body=body, orelse=other):
                chosen = self._truth(self._value(test))
                return b.select(chosen, *self._alike([self._value(body), self._value(other)]))
            case ast.Subscript(value=base, slice=ast.Slice(lower=lower)):
                return self._entry_of(self._value(base), lower or ast.Constant(0))
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int() as i)) if (
                getattr(self._values.get(name), "type", None) == PAIR
            ):
                return b.extract_value(self._values[name], i)
            case ast.Subscript():
                return b.load(self._place(node), typ=REAL)
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
        if name in CONSTANTS:
            return ir.Constant(REAL, CONSTANTS[name])
        raise _untranslated(node)

    def _entry_of(self, base: ir.Value, index: ast.expr) -> ir.Value:
        return self._b.gep(base, [self._value(index)], inbounds=True, source_etype=REAL)

    def _place(self, node: ast.Subscript) -> ir.Value:
        return self._entry_of(self._value(node.value), node.slice)

    def _compare(self, left: ast.expr, ops: Sequence[ast.cmpop], comparators: Sequence[ast.expr]) -> ir.Value:
        values = [self._value(x) for x in (left, *comparators)]
        found = None
        for op, x, y in zip(ops, values, values[1:], strict=False):
            if type(op) not in _ORDERS:
                raise _untranslated(op)
            x, y = self._alike([x, y])
            sign = _ORDERS[type(op)]
            compare = self._b.icmp_signed if x.type != REAL else (
                self._b.fcmp_unordered if sign == "!=" else self._b.fcmp_ordered
            )  # fmt: skip
            holds = compare(sign, x, y)
            found = holds if found is None else self._b.and_(found, holds)
        return found

    def _binary(self, op: ast.operator, x: ir.Value, y: ir.Value) -> ir.Value:
        b, flags = self._b, self._whole.flags
        if isinstance(op, ast.BitAnd | ast.BitOr):
            return (b.and_ if isinstance(op, ast.BitAnd) else b.or_)(*self._alike([x, y]))
        if isinstance(op, ast.Div):
            return b.fdiv(self._cast(x, REAL), self._cast(y, REAL), flags=flags)
        x, y = self._alike([x, y])
        if x.type == TRUTH:
            x, y = self._cast(x, INTEGER), self._cast(y, INTEGER)
        real = x.type == REAL
        match op:
            case ast.Add():
                return b.fadd(x, y, flags=flags) if real else b.add(x, y, flags=("nsw",))
            case ast.Sub():
                return b.fsub(x, y, flags=flags) if real else b.sub(x, y, flags=("nsw",))
            case ast.Mult():
                return b.fmul(x, y, flags=flags) if real else b.mul(x, y, flags=("nsw",))
            case ast.Mod() if real:
                # The sign of Python's remainder is that of the divisor.
                rest, zero = b.frem(x, y), ir.Constant(REAL, 0.0)
                other = b.xor(b.fcmp_ordered("<", rest, zero), b.fcmp_ordered("<", y, zero))
                return b.select(b.and_(other, b.fcmp_ordered("!=", rest, zero)), b.fadd(rest, y), rest)
            case ast.Mod():  # of numbers that are not negative
                return b.srem(x, y)
            case ast.FloorDiv() if not real:
                return b.sdiv(x, y)
            case _:
                raise _untranslated(op)

    def _power(self, base: ir.Value, exponent: ast.expr) -> ir.Value:
        b, flags = self._b, self._whole.flags
        x = self._cast(base, REAL)
        sign = 1
        if isinstance(exponent, ast.UnaryOp) and isinstance(exponent.op, ast.USub):
            sign, exponent = -1, exponent.operand
        if not (isinstance(exponent, ast.Constant) and isinstance(exponent.value, int)):
            y = self._cast(self._value(exponent), REAL)
            return b.call(self._whole.library("pow", 2, False), [x, b.fneg(y) if sign < 0 else y])
        n, found = exponent.value, None
        while n:
            if n % 2:
                found = x if found is None else b.fmul(found, x, flags=flags)
            n //= 2
            x = b.fmul(x, x, flags=flags) if n else x
        one = ir.Constant(REAL, 1.0)
        found = one if found is None else found
        return b.fdiv(one, found, flags=flags) if sign < 0 else found

    def _call(self, node: ast.expr, name: str, nodes: Sequence[ast.expr]) -> Any:
        b = self._b
        arguments = [self._value(x) for x in nodes]
        if name in ("max", "min"):
            # As Python takes them, also with NaN: the first one unless a later one is beyond it.
            found, *others = self._alike(arguments)
            for x in others:
                compare = b.fcmp_ordered if x.type == REAL else b.icmp_signed
                found = b.select(compare(">" if name == "max" else "<", x, found), x, found)
            return found
        if name in ("float", "int", "int32"):
            return self._cast(arguments[0], {"float": REAL, "int": INTEGER, "int32": SHORT}[name])
        if name == "zeros":
            return self._zeros(nodes[0])
        if self._whole.defines(name):
            function = self._whole.function(name, [x.type for x in arguments])
            kinds = function.function_type.args
            return b.call(function, [self._cast(x, kind) for x, kind in zip(arguments, kinds, strict=True)])
        reals = [self._cast(x, REAL) for x in arguments]
        if name in INTRINSICS:
            return b.call(self._whole.library(INTRINSICS[name], 1, True), reals)
        if name in LIBRARY:
            return b.call(self._whole.library(LIBRARY[name], len(reals), False), reals)
        raise _untranslated(node)

    def _zeros(self, size: ast.expr) -> ir.Value:
        """Space on the stack, once a call."""
        if not isinstance(size, ast.Constant):
            raise _untranslated(size)
        kind = ir.ArrayType(REAL, size.value)
        space = self._entry.alloca(REAL, size.value)
        self._b.store(ir.Constant(kind, None), self._b.bitcast(space, kind.as_pointer()))
        return space

    def _truth(self, x: ir.Value) -> ir.Value:
        if x.type == TRUTH:
            return x
        zero = ir.Constant(x.type, 0)
        return self._b.fcmp_unordered("!=", x, zero) if x.type == REAL else self._b.icmp_signed("!=", x, zero)

    def _alike(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """Values in the type of the widest; whole numbers in the source take that of the others."""
        kinds = [x.type for x in values]
        kind = next((k for k in (REAL, SHORT, INTEGER) if k in kinds), TRUTH)
        return [self._cast(x, kind) for x in values]

    def _cast(self, x: ir.Value, kind: ir.Type) -> ir.Value:
        b = self._b
        if x.type == kind:
            return x
        if isinstance(x, ir.Constant) and x.type in (INTEGER, TRUTH) and kind in (REAL, INTEGER, SHORT):
            return ir.Constant(kind, float(x.constant) if kind == REAL else int(x.constant))
        match x.type, kind:
            case (ir.IntType(width=1), ir.DoubleType()):
                return b.uitofp(x, kind)
            case (ir.IntType(), ir.DoubleType()):
                return b.sitofp(x, kind)
            case (ir.DoubleType(), ir.IntType()) if kind != TRUTH:
                return b.fptosi(x, kind)
            case (ir.IntType(width=1), ir.IntType()):
                return b.zext(x, kind)
            case (_, ir.IntType(width=1)):
                return self._truth(x)
            case _:
                raise NotCompiled(f"its generated source mixes {x.type} and {kind}")


def _untranslated(node: ast.AST) -> NotCompiled:
    return NotCompiled(f"its generated source holds '{ast.unparse(node)}', which has no translation")
