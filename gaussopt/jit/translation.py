"""LLVM instructions from the few forms of Python that generated functions and kernels are written in.

A compiler for all of Python spends ten times as long on analysing straight lines as LLVM on compiling them. Here values
are floats, integers, truth values, arrays of floats or integers, pairs, records (named tuples), and functions that are
handed over; the type of a name is that of its first value, so that one walk over the syntax tree writes the
instructions. Conditional expressions become selections, which have no branches, and `and` and `or` evaluate both sides,
unless a side calls a function of the module or takes an entry whose index the condition before it speaks of. Indices,
and integers that are divided with remainder, are not negative.

Parameters of functions that are called from outside are annotated: see `PARAMETERS`; a record by its class, a function
by the name of a `Callable` of the module. Those of others take the types of the arguments of their first call. A
function without annotation returns a truth value, if anything. In a function decorated with `any_order` sums may be
taken in any order, so that they run in vector registers; `inlined` ones are put into their callers. `zeros` makes an
array of constant size on the stack, `np.zeros` and `np.empty` one of any size that lives until the function returns.

Straight lines may also be translated `exactly`, for a call from Python that stands for CPython's own: see `_Exact`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from llvmlite import ir

from gaussopt.core.errors import NotCompiled
from gaussopt.jit.llvm import ENTRANCE, USUAL, WRITEABLE, Places

REAL, INTEGER, SHORT, TRUTH, FLOATS, BYTES = (
    ir.DoubleType(), ir.IntType(64), ir.IntType(32), ir.IntType(1), ir.DoubleType().as_pointer(),
    ir.IntType(8).as_pointer(),
)  # fmt: skip
PAIR = ir.LiteralStructType([REAL, REAL])


@dataclass(frozen=True)
class Arrays:
    """Arrays of entries of a type, row by row: handed over as the place of the first entry and the shape."""

    entry: ir.Type
    dimensions: int

    @property
    def parts(self) -> list[ir.Type]:
        """Types of what is handed over."""
        return [self.entry.as_pointer(), *[INTEGER] * self.dimensions]

    def of(self, parts: Iterator[ir.Value]) -> Array:
        """The array."""
        return Array(self, next(parts), tuple(next(parts) for _ in range(self.dimensions)))


@dataclass(frozen=True)
class Records:
    """Named tuples of a class, handed over field by field."""

    fields: tuple[tuple[str, Kind], ...]

    @property
    def parts(self) -> list[ir.Type]:
        """Types of what is handed over."""
        return [part for _, kind in self.fields for part in _parts(kind)]

    def of(self, parts: Iterator[ir.Value]) -> Record:
        """The record."""
        return Record(self, {name: _whole(kind, parts) for name, kind in self.fields})


@dataclass(frozen=True)
class Functions:
    """Functions of one signature, handed over as addresses."""

    arguments: tuple[Kind, ...]
    result: ir.Type

    @property
    def parts(self) -> list[ir.Type]:
        """Types of what is handed over."""
        return [ir.FunctionType(self.result, [part for kind in self.arguments for part in _parts(kind)]).as_pointer()]

    def of(self, parts: Iterator[ir.Value]) -> Address:
        """The function."""
        return Address(self, next(parts))


Kind: TypeAlias = Any
"""The type of a value: one of LLVM, `Arrays`, `Records` or `Functions`."""

TABLE = Arrays(REAL, 2)


class Array(NamedTuple):
    """Entries row by row."""

    type: Arrays
    first: ir.Value
    shape: tuple[ir.Value, ...]

    @property
    def parts(self) -> list[ir.Value]:
        """What is handed over."""
        return [self.first, *self.shape]


class Record(NamedTuple):
    """A named tuple."""

    type: Records
    fields: Mapping[str, Any]

    @property
    def parts(self) -> list[ir.Value]:
        """What is handed over."""
        return [part for value in self.fields.values() for part in _apart(value)]


class Address(NamedTuple):
    """Where a function begins."""

    type: Functions
    place: ir.Value

    @property
    def parts(self) -> list[ir.Value]:
        """What is handed over."""
        return [self.place]


RESULTS = {"float": REAL, "int": INTEGER, "bool": TRUTH, "tuple": PAIR, "None": ir.VoidType()}
PARAMETERS: dict[str, Kind] = {
    "float": REAL, "int": INTEGER, "bool": TRUTH, "list": FLOATS, "Array": Arrays(REAL, 1), "Table": TABLE,
    "Vector": Arrays(REAL, 1), "Matrix": TABLE, "Index": Arrays(INTEGER, 1), "Active": Arrays(INTEGER, 1),
    "Indices": Arrays(INTEGER, 2),
}  # fmt: skip
"""Types by annotation. A list is known by its first entry alone; the others have a length or a shape."""

INTRINSICS = {"sqrt": "llvm.sqrt", "floor": "llvm.floor", "ceil": "llvm.ceil", "fabs": "llvm.fabs", "abs": "llvm.fabs"}

LIBRARY = {
    name: name for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp",
        "expm1", "log", "log10", "log1p", "log2", "erf", "erfc", "hypot", "copysign", "pow", "fmod",
    )
} | {"gamma": "tgamma", "lgamma": "lgamma"}  # fmt: skip
"""Functions of Python's math module by their names in the C library, where it takes them from, too."""

EXACT = frozenset(
    ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp",
     "expm1", "log", "log10", "log1p", "log2", "erf", "erfc", "copysign", "pow", "sqrt", "fabs", "abs")
)  # fmt: skip
"""Functions whose digits CPython takes from the C library as they are, or leaves no choice."""

LARGE = 1e300
"""What is at least as large is left to CPython."""

CONSTANTS = {"pi": 3.141592653589793, "e": 2.718281828459045, "inf": float("inf"), "nan": float("nan")}

_ORDERS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}

_REAL_OPERATIONS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul"}
_INTEGER_OPERATIONS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}


@dataclass(frozen=True)
class Source:
    """A module that functions are taken from.

    Attributes
    ----------
    text : str
    known : numbers of the module by name
    """

    text: str
    known: Mapping[str, float]


class Translation:
    """A module of functions as LLVM's text.

    Parameters
    ----------
    text : source of the module
    exported : functions that are called from outside
    contract : whether a product and a sum may become one operation with one rounding
    known : numbers of the module by name
    others : modules that it takes functions and records from
    exactly : whether functions return if they have done what CPython would have done, see `_Exact`

    Raises
    ------
    NotCompiled
        If the source holds what has no translation.
    """

    def __init__(
        self, text: str, exported: Iterable[str], contract: bool, known: Mapping[str, float],
        others: Iterable[Source] = (), exactly: bool = False,
    ) -> None:  # fmt: skip
        self.flags = ("contract",) if contract else ()
        self._exactly = exactly
        self.module = ir.Module("generated")
        self.tables: dict[str, ir.Value] = {}
        self._definitions: dict[str, tuple[ast.FunctionDef, Mapping[str, float]]] = {}
        self._functions: dict[str, tuple[ir.Function, Sequence[Kind]]] = {}
        self._types: dict[str, ast.AST] = {}
        for source in (Source(text, known), *others):
            for node in ast.parse(source.text).body:
                self._read(node, source.known)
        for name in exported:
            annotations = [a.annotation for a in self._definitions[name][0].args.args]
            function, kinds = self.function(name, [self._kind(x) for x in annotations if x])
            function.linkage = "external"
            if not exactly:
                self._enter(function, kinds)

    def _read(self, node: ast.stmt, known: Mapping[str, float]) -> None:
        """A statement of a module."""
        match node:
            case ast.FunctionDef(name=name):
                if name in self._definitions:
                    raise ValueError(f"Two modules define {name}; rename one of them.")
                self._definitions[name] = node, known
            case ast.ClassDef(name=name):
                self._types[name] = node
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple() as value):
                with suppress(ValueError):  # not of literals
                    values = ast.literal_eval(value)
                    if all(isinstance(x, float | int) for x in values):
                        self._table(name, values)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Name(id="Callable"))):
                self._types[name] = node.value

    def _kind(self, annotation: ast.expr) -> Kind:
        """The type that an annotation stands for."""
        name = ast.unparse(annotation)
        if name in PARAMETERS:
            return PARAMETERS[name]
        match self._types.get(name):
            case ast.ClassDef(body=body):
                fields = [x for x in body if isinstance(x, ast.AnnAssign)]
                return Records(tuple((ast.unparse(x.target), self._kind(x.annotation)) for x in fields))
            case ast.Subscript(slice=ast.Tuple(elts=[ast.List(elts=arguments), result])):
                return Functions(tuple(self._kind(x) for x in arguments), _result(result))
        raise _untranslated(annotation)

    def _enter(self, function: ir.Function, kinds: Sequence[Kind]) -> None:
        """Where a function is called from outside, see `_Entrance`."""
        kind = function.function_type.return_type
        outer = ir.FunctionType(ir.VoidType(), [INTEGER.as_pointer()])
        entrance = ir.Function(self.module, outer, f"{function.name}{ENTRANCE}")
        reader = _Entrance(entrance)
        found = reader.b.call(function, [part for kind in kinds for part in reader.parts(kind)])
        reader.leave([] if kind == ir.VoidType() else [found])

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

    def function(self, name: str, kinds: Sequence[Kind]) -> tuple[ir.Function, Sequence[Kind]]:
        """A function of the module, translated when it is met first, and the types of its parameters."""
        if name in self._functions:
            return self._functions[name]
        definition, known = self._definitions[name]
        if definition.returns is not None:
            result = _result(definition.returns)
        else:
            answers = any(isinstance(x, ast.Return) and x.value is not None for x in ast.walk(definition))
            result = TRUTH if answers or self._exactly else ir.VoidType()
        parts = [part for kind in kinds for part in _parts(kind)]
        function = ir.Function(self.module, ir.FunctionType(result, parts), name)
        function.linkage = "internal"
        function.attributes.add("nounwind")
        decorators = [ast.unparse(x) for x in definition.decorator_list]
        if result == PAIR or "inlined" in decorators:
            function.attributes.add("alwaysinline")
        self._functions[name] = function, kinds
        flags = (*self.flags, "reassoc") if "any_order" in decorators else self.flags
        if self._exactly:
            body = _Exact(self, function, definition, kinds, known, flags)
            body.translate()
            body.enter()
        else:
            _Body(self, function, definition, kinds, known, flags).translate()
        return self._functions[name]

    def outside(self, name: str, result: ir.Type, parameters: Sequence[ir.Type]) -> ir.Function:
        """A function of the C library."""
        if name not in self.module.globals:
            ir.Function(self.module, ir.FunctionType(result, parameters), name).attributes.add("nounwind")
        return self.module.globals[name]

    def library(self, name: str, arguments: int, intrinsic: bool) -> ir.Function:
        """A function of LLVM or of the C library, of floats."""
        kind = ir.FunctionType(REAL, [REAL] * arguments)
        if intrinsic:
            return self.module.declare_intrinsic(name, [REAL], kind)
        return self.outside(name, kind.return_type, kind.args)

    def unknown(self, name: str, arguments: int) -> ir.GlobalVariable:
        """Where the address of a function of the C library stands, for all that LLVM knows of any function."""
        place = f"{name}_place"
        if place not in self.module.globals:
            function = self.outside(name, REAL, [REAL] * arguments)
            ir.GlobalVariable(self.module, function.type, place).initializer = function
        return self.module.globals[place]


class _Entrance:
    """What calls a function with arguments from outside, places of eight bytes one behind the other.

    Arrays come as numpy's objects, of which it reads where the entries are and the shape; the result takes the place of
    the first argument.
    """

    def __init__(self, function: ir.Function) -> None:
        self.b = ir.IRBuilder(function.append_basic_block())
        self._next = self._first = function.args[0]

    def parts(self, kind: Kind) -> list[ir.Value]:
        """What is handed over of the next argument."""
        b = self.b
        if isinstance(kind, Records):
            return [part for _, field in kind.fields for part in self.parts(field)]
        if kind == TRUTH:
            return [b.trunc(self._taken(INTEGER), TRUTH)]
        if not isinstance(kind, Arrays) and kind != FLOATS:
            return [self._taken(part) for part in _parts(kind)]
        record = self._taken(BYTES)
        entry, dimensions = (kind.entry, kind.dimensions) if isinstance(kind, Arrays) else (REAL, 0)
        first = self._at(record, Places.DATA, entry.as_pointer())
        if not dimensions:
            return [first]
        shape = self._at(record, Places.SHAPE, INTEGER.as_pointer())
        places = [b.gep(shape, [ir.Constant(INTEGER, i)], source_etype=INTEGER) for i in range(dimensions)]
        return [first, *(b.load(place, typ=INTEGER) for place in places)]

    def leave(self, results: Sequence[ir.Value]) -> None:
        """Write the result, or both numbers of it."""
        b, self._next = self.b, self._first
        for result in results:
            pair = isinstance(result.type, ir.LiteralStructType)
            for value in [b.extract_value(result, i) for i in range(2)] if pair else [result]:
                whole = b.zext(value, INTEGER) if value.type == TRUTH else value
                b.store(whole, b.bitcast(self._passed(), whole.type.as_pointer()))
        b.ret_void()

    def _passed(self) -> ir.Value:
        place = self._next
        self._next = self.b.gep(place, [ir.Constant(INTEGER, 1)], inbounds=True, source_etype=INTEGER)
        return place

    def _taken(self, kind: ir.Type) -> ir.Value:
        return self.b.load(self.b.bitcast(self._passed(), kind.as_pointer()), typ=kind)

    def _at(self, record: ir.Value, offset: int, kind: ir.Type) -> ir.Value:
        place = self.b.gep(record, [ir.Constant(INTEGER, offset)], source_etype=ir.IntType(8))
        return self.b.load(self.b.bitcast(place, kind.as_pointer()), typ=kind)


class _Body:
    """The instructions of one function."""

    def __init__(
        self, whole: Translation, function: ir.Function, definition: ast.FunctionDef, kinds: Sequence[Kind],
        known: Mapping[str, float], flags: tuple[str, ...],
    ) -> None:  # fmt: skip
        self._whole, self._function, self._definition, self._kinds = whole, function, definition, kinds
        self._known, self._flags = known, flags
        # Variables live in slots at the entry, which LLVM turns into registers.
        self._entry = ir.IRBuilder(function.append_basic_block("entry"))
        self._b = ir.IRBuilder(function.append_basic_block("body"))
        self._slots: dict[str, tuple[Kind, list[ir.Value]]] = {}
        self._values: dict[str, Any] = {}
        self._loops: list[tuple[ir.Block, ir.Block]] = []
        self._spaces: dict[ast.expr, ir.Value] = {}

    def translate(self) -> None:
        """All statements."""
        body = self._b.block
        nodes = list(ast.walk(self._definition))
        for node in nodes:
            if isinstance(node, ast.Call) and _of(node.func, "np") in ("zeros", "empty"):
                self._spaces[node] = self._entry.alloca(BYTES)
                self._entry.store(ir.Constant(BYTES, None), self._spaces[node])
        assigned = {x.id for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
        parts = iter(self._function.args)
        for name, kind in zip(self._definition.args.args, self._kinds, strict=True):
            value = _whole(kind, parts)
            if name.arg in assigned:
                self._assign(ast.Name(name.arg), value)
            else:
                self._values[name.arg] = value
        self._statements(self._definition.body)
        if not self._b.block.is_terminated:
            self._end()
        self._entry.branch(body)

    def _end(self) -> None:
        """Behind the last statement."""
        if isinstance(self._function.function_type.return_type, ir.VoidType):
            self._return(None)
        else:
            self._b.unreachable()

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
                raise _untranslated(node)

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
                    self._slots[name] = kind, [self._entry.alloca(part) for part in _parts(kind)]
                kind, slots = self._slots[name]
                for slot, part in zip(slots, _apart(self._cast(value, kind)), strict=True):
                    self._b.store(part, slot)
            case ast.Subscript():
                place, part = self._place(target)
                if part is not None:
                    raise _untranslated(target)
                self._b.store(self._cast(value, place.type.pointee), place)
            case _:
                raise _untranslated(target)

    def _several(self, value: Any) -> Sequence[Any]:
        """What is assigned to several names at once."""
        if isinstance(value, Record):
            return list(value.fields.values())
        if isinstance(value, ir.Value):
            return [self._b.extract_value(value, i) for i in range(len(value.type.elements))]
        return value  # type: ignore[no-any-return]

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
                found = self._truth(self._value(values[0]))
                for i, x in enumerate(values[1:], 1):
                    found = self._both(op, found, x, self._guarded(x, values[:i]))
                return found
            case ast.Compare(ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
                return _constant(False)
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
                return _constant(CONSTANTS[name])
            case ast.Attribute(value=base, attr="shape"):
                return list(self._value(base).shape)
            case ast.Attribute(value=base, attr=name) if isinstance(record := self._value(base), Record):
                return record.fields[name]
            case ast.Call() if node in self._spaces:
                return self._space(node)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(node, name, arguments)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr=name), args=arguments):
                return self._call(node, name, arguments)
            case _:
                raise _untranslated(node)

    def _named(self, node: ast.expr, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        if name in self._slots:
            kind, slots = self._slots[name]
            return _whole(kind, iter([self._b.load(slot, typ=slot.allocated_type) for slot in slots]))
        if name in self._whole.tables:
            return self._whole.tables[name]
        if name in self._known:
            return _constant(self._known[name])
        if name in CONSTANTS:
            return _constant(CONSTANTS[name])
        raise _untranslated(node)

    def _entry_of(self, node: ast.Subscript) -> Any:
        if isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant):
            base = self._values.get(node.value.id)
            if base is not None and isinstance(base.type, ir.LiteralStructType):
                return self._b.extract_value(base, node.slice.value)
        place, part = self._place(node)
        return self._b.load(place, typ=place.type.pointee) if part is None else part

    def _place(self, node: ast.Subscript) -> tuple[ir.Value, Any]:
        """Where an entry is, or where a part of an array begins; the part, None for an entry."""
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
        """Where a slice begins, and its length."""
        if index.step is not None:
            raise _untranslated(index)
        high = length if index.upper is None else self._value(index.upper)
        if index.lower is None:
            return _constant(0), high
        low = self._value(index.lower)
        return low, self._binary(ast.Sub(), high, low)

    def _beyond(self, place: ir.Value, index: ir.Value) -> ir.Value:
        if isinstance(index, ir.Constant) and index.constant == 0:
            return place
        return self._b.gep(place, [index], inbounds=True, source_etype=place.type.pointee)

    def _guarded(self, node: ast.expr, conditions: Sequence[ast.expr]) -> bool:
        """Whether an expression is only to be evaluated where the conditions before it say so."""
        named = {x.id for condition in conditions for x in ast.walk(condition) if isinstance(x, ast.Name)}
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and self._whole.defines(part.func.id):
                return True
            if isinstance(part, ast.Subscript) and named & {
                x.id for x in ast.walk(part.slice) if isinstance(x, ast.Name)
            }:
                return True
        return False

    def _both(self, op: ast.boolop, one: ir.Value, node: ast.expr, guarded: bool) -> ir.Value:
        """`and` and `or` of two sides."""
        b = self._b
        if not guarded:
            return (b.and_ if isinstance(op, ast.And) else b.or_)(one, self._truth(self._value(node)))
        before, further, behind = b.block, b.append_basic_block(), b.append_basic_block()
        b.cbranch(one, *((further, behind) if isinstance(op, ast.And) else (behind, further)))
        b.position_at_end(further)
        other, after = self._truth(self._value(node)), b.block
        b.branch(behind)
        b.position_at_end(behind)
        found = b.phi(TRUTH)
        found.add_incoming(_constant(not isinstance(op, ast.And)), before)
        found.add_incoming(other, after)
        return found

    def _one_of(self, chosen: ir.Value, body: ast.expr, other: ast.expr) -> ir.Value:
        """A conditional expression of which one side is evaluated."""
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
            kind = (
                other.type if isinstance(one, Array) else one.type
            )  # the first entry alone where one side has no more
            pairs = zip(_apart(self._cast(one, kind)), _apart(self._cast(other, kind)), strict=True)
            return _whole(kind, iter([self._b.select(chosen, x, y) for x, y in pairs]))
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
        if name == "len":
            return arguments[0].shape[0]
        if name == "bool":
            return self._truth(arguments[0])
        if name == "isfinite":
            size = b.call(self._whole.library("llvm.fabs", 1, True), [self._cast(arguments[0], REAL)])
            return self._holds("<", size, _constant(CONSTANTS["inf"]))
        if name in ("max", "min"):
            # As Python takes them, also with NaN: the first one unless a later one is beyond it.
            found, *others = self._alike(arguments)
            for x in others:
                found = b.select(self._holds(">" if name == "max" else "<", x, found), x, found)
            return found
        if name in ("float", "int", "int32"):
            return self._cast(arguments[0], {"float": REAL, "int": INTEGER, "int32": SHORT}[name])
        if name == "frexp":
            return self._fraction(self._cast(arguments[0], REAL))
        if name == "ldexp":
            power = self._whole.outside("ldexp", REAL, [REAL, SHORT])
            return b.call(power, [self._cast(arguments[0], REAL), b.trunc(self._cast(arguments[1], INTEGER), SHORT)])
        address = self._values.get(name)
        if isinstance(address, Address):
            return self._passed(address.place, arguments, address.type.arguments)
        if self._whole.defines(name):
            function, kinds = self._whole.function(name, [x.type for x in arguments])
            return self._passed(function, arguments, kinds)
        reals = [self._cast(x, REAL) for x in arguments]
        if name in INTRINSICS:
            return b.call(self._whole.library(INTRINSICS[name], 1, True), reals)
        if name in LIBRARY:
            return b.call(self._whole.library(LIBRARY[name], len(reals), False), reals)
        raise _untranslated(node)

    def _passed(self, function: ir.Value, arguments: Sequence[Any], kinds: Sequence[Kind]) -> ir.Value:
        """A call of a function with parameters of these types."""
        given = zip(arguments, kinds, strict=True)
        return self._b.call(function, [part for x, kind in given for part in _apart(self._cast(x, kind))])

    def _zeros(self, size: int) -> Array:
        """Space on the stack, once a call."""
        kind = ir.ArrayType(REAL, size)
        space = self._entry.alloca(REAL, size)
        self._b.store(ir.Constant(kind, None), self._b.bitcast(space, kind.as_pointer()))
        return Array(Arrays(REAL, 1), space, (ir.Constant(INTEGER, size),))

    def _space(self, node: ast.Call) -> Array:
        """Zeros on the heap, until the function returns or makes them anew."""
        b, slot = self._b, self._spaces[node]
        size, *more = node.args
        entry = INTEGER if more and _of(more[0], "np") == "int64" else REAL
        shape = [self._value(x) for x in (size.elts if isinstance(size, ast.Tuple) else [size])]
        count = shape[0]
        for x in shape[1:]:
            count = b.mul(count, x)
        self._free(slot)
        place = b.call(self._whole.outside("calloc", BYTES, [INTEGER, INTEGER]), [count, ir.Constant(INTEGER, 8)])
        b.store(place, slot)
        return Array(Arrays(entry, len(shape)), b.bitcast(place, entry.as_pointer()), tuple(shape))

    def _free(self, slot: ir.Value) -> None:
        self._b.call(self._whole.outside("free", ir.VoidType(), [BYTES]), [self._b.load(slot, typ=BYTES)])

    def _fraction(self, x: ir.Value) -> ir.Value:
        """Fraction and exponent, as `math.frexp`."""
        b, slot = self._b, self._entry.alloca(SHORT)
        fraction = b.call(self._whole.outside("frexp", REAL, [REAL, SHORT.as_pointer()]), [x, slot])
        pair = b.insert_value(ir.Constant(ir.LiteralStructType([REAL, INTEGER]), ir.Undefined), fraction, 0)
        return b.insert_value(pair, b.sext(b.load(slot, typ=SHORT), INTEGER), 1)

    # -- types -----------------------------------------------------------------------------------------

    def _truth(self, x: ir.Value) -> ir.Value:
        return x if x.type == TRUTH else self._holds("!=", x, ir.Constant(x.type, 0))

    def _alike(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """Values in the type of the widest; integers written out take that of the others."""
        kind = self._widest(values)
        return [self._cast(x, kind) for x in values]

    def _widest(self, values: Sequence[ir.Value]) -> ir.Type:
        kinds = [x.type for x in values]
        return next((k for k in (REAL, SHORT, INTEGER) if k in kinds), TRUTH)

    def _cast(self, x: Any, kind: Kind) -> Any:
        b = self._b
        if x.type == kind:
            return x
        if isinstance(x, Array) and kind == FLOATS and x.type.entry == REAL:
            return x.first
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


class _Exact(_Body):
    """Straight lines that do what CPython would do with them, digit by digit, or say that they have not.

    The function returns whether CPython would have raised nothing, and would have written no number of size `LARGE` or
    more; of a function that returns truth values, its own as well. Where it returns False, what it has written is of no
    use. Functions of the C library are called as they are: LLVM would write a square for a power of two, whose last
    digit may be another.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._regular = self._entry.alloca(TRUTH)
        self._entry.store(_constant(True), self._regular)
        names = [x.arg for x in self._definition.args.args]
        self._sequences = {name: -1 for name, kind in zip(names, self._kinds, strict=True) if kind == FLOATS}
        self._written: set[str] = set()

    def enter(self) -> None:
        """Where CPython calls it as a method of a module, see `gaussopt.jit.llvm.exact`.

        Arguments that are not floats, or arrays of floats with all entries that the function asks for, are refused
        with False.
        """
        place = BYTES.as_pointer()
        outer = ir.FunctionType(BYTES, [BYTES, place, INTEGER])
        entrance = ir.Function(self._whole.module, outer, f"{self._function.name}{ENTRANCE}")
        b = ir.IRBuilder(entrance.append_basic_block())
        templates, given, count = entrance.args
        answer = self._whole.outside("PyBool_FromLong", BYTES, [INTEGER])
        refused = entrance.append_basic_block()
        no = ir.IRBuilder(refused)
        no.ret(no.call(answer, [ir.Constant(INTEGER, 0)]))

        def read(record: ir.Value, offset: int, kind: ir.Type) -> ir.Value:
            at = b.gep(record, [ir.Constant(INTEGER, offset)], source_etype=ir.IntType(8))
            return b.load(b.bitcast(at, kind.as_pointer()), typ=kind)

        def insist(holds: ir.Value) -> None:
            onwards = b.append_basic_block()
            b.cbranch(holds, onwards, refused)
            b.position_at_end(onwards)

        def alike(record: ir.Value, template: ir.Value, offset: int) -> None:
            insist(b.icmp_unsigned("==", read(record, offset, INTEGER), read(template, offset, INTEGER)))

        number, array = (read(templates, Places.ITEMS + 8 * i, BYTES) for i in range(2))
        names = [x.arg for x in self._definition.args.args]
        insist(b.icmp_signed("==", count, ir.Constant(INTEGER, len(names))))
        values = []
        for i, name in enumerate(names):
            record = b.load(b.gep(given, [ir.Constant(INTEGER, i)], source_etype=BYTES), typ=BYTES)
            if name not in self._sequences:
                alike(record, number, Places.TYPE)
                values.append(read(record, Places.VALUE, REAL))
                continue
            alike(record, array, Places.TYPE)
            alike(record, array, Places.KIND)
            insist(b.icmp_signed("==", read(record, Places.AXES, SHORT), ir.Constant(SHORT, 1)))
            flags = ir.Constant(SHORT, USUAL if name in self._written else USUAL & ~WRITEABLE)
            insist(b.icmp_signed("==", b.and_(read(record, Places.FLAGS, SHORT), flags), flags))
            length = b.load(read(record, Places.SHAPE, INTEGER.as_pointer()), typ=INTEGER)
            insist(b.icmp_signed(">", length, ir.Constant(INTEGER, self._sequences[name])))
            values.append(read(record, Places.DATA, FLOATS))
        b.ret(b.call(answer, [b.zext(b.call(self._function, values), INTEGER)]))

    def _require(self, holds: ir.Value) -> None:
        self._b.store(self._b.and_(self._b.load(self._regular, typ=TRUTH), holds), self._regular)

    def _below(self, x: ir.Value, bound: float) -> None:
        """Require that a number is smaller in size."""
        size = self._b.call(self._whole.library("llvm.fabs", 1, True), [x])
        self._require(self._holds("<", size, _constant(bound)))

    def _end(self) -> None:
        self._return(None)

    def _return(self, value: ir.Value | None) -> None:
        regular = self._b.load(self._regular, typ=TRUTH)
        super()._return(regular if value is None else self._b.and_(value, regular))

    def _assign(self, target: ast.expr, value: Any) -> None:
        super()._assign(target, value)
        if isinstance(target, ast.Subscript):
            self._written.add(ast.unparse(target.value))
            self._below(self._cast(value, REAL), LARGE)

    def _place(self, node: ast.Subscript) -> tuple[ir.Value, Any]:
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int() as index)):
                if name in self._sequences and name in self._values:
                    self._sequences[name] = max(self._sequences[name], index)
                    return super()._place(node)
        raise _untranslated(node)

    def _guarded(self, node: ast.expr, conditions: Sequence[ast.expr]) -> bool:
        return True

    def _binary(self, op: ast.operator, x: ir.Value, y: ir.Value) -> ir.Value:
        if isinstance(op, ast.Div):
            self._require(self._holds("!=", self._cast(y, REAL), _constant(0.0)))
        elif isinstance(op, ast.Mod | ast.FloorDiv) or REAL not in (x.type, y.type):
            raise NotCompiled("its generated source holds remainders or sums of whole numbers, which are CPython's own")
        return super()._binary(op, x, y)

    def _power(self, base: ir.Value, exponent: ast.expr) -> ir.Value:
        return self._outside("pow", [base, self._value(exponent)])

    def _call(self, node: ast.expr, name: str, nodes: Sequence[ast.expr]) -> Any:
        if name in ("max", "min", "float"):
            return super()._call(node, name, nodes)
        if name not in EXACT or self._whole.defines(name):
            raise _untranslated(node)
        if name in INTRINSICS:
            found = super()._call(node, name, nodes)
            self._below(found, CONSTANTS["inf"])
            return found
        return self._outside(LIBRARY[name], [self._value(x) for x in nodes])

    def _outside(self, name: str, values: Sequence[ir.Value]) -> ir.Value:
        """A function of the C library, of which LLVM knows nothing."""
        place = self._whole.unknown(name, len(values))
        function = self._b.load(place, typ=place.type.pointee)
        found = self._b.call(function, [self._cast(x, REAL) for x in values])
        self._below(found, CONSTANTS["inf"])
        return found


def _constant(value: float) -> ir.Constant:
    """A number in the source."""
    kind = TRUTH if isinstance(value, bool) else INTEGER if isinstance(value, int) else REAL
    return ir.Constant(kind, int(value) if kind == TRUTH else value)


def _untranslated(node: ast.AST) -> NotCompiled:
    return NotCompiled(f"its generated source holds '{ast.unparse(node)}', which has no translation")


def _parts(kind: Kind) -> list[ir.Type]:
    """Types of the parts that a value is handed over in."""
    return kind.parts if isinstance(kind, Arrays | Records | Functions) else [kind]


def _whole(kind: Kind, parts: Iterator[ir.Value]) -> Any:
    """A value of its parts."""
    return kind.of(parts) if isinstance(kind, Arrays | Records | Functions) else next(parts)


def _apart(value: Any) -> list[ir.Value]:
    """The parts of a value."""
    return value.parts if isinstance(value, Array | Record | Address) else [value]


def _result(annotation: ast.expr) -> ir.Type:
    """The type of what a function returns."""
    match annotation:
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=[one, other])):
            return ir.LiteralStructType([_result(one), _result(other)])
    return RESULTS[ast.unparse(annotation)]


def _of(node: ast.expr, module: str) -> str | None:
    """The name of what an expression takes from a module; None if it takes nothing from it."""
    match node:
        case ast.Attribute(value=ast.Name(id=base), attr=name) if base == module:
            return name
    return None
