"""Translation to LLVM of the subset of Python in which generated functions and kernels are written.

A compiler for all of Python takes ten times as long to analyse straight-line code as LLVM takes to compile it. In this
subset, values are floats, integers, booleans, arrays of floats or integers, pairs, records (named tuples), and
functions passed as arguments. A name has the type of its first value, so that one pass over the syntax tree writes the
instructions. Conditional expressions become selections, which have no branches, and `and` and `or` evaluate both sides,
unless a side calls a function of the module or reads an entry whose index the preceding condition tests. Indices, and
operands of integer division and remainder, must not be negative.

Parameters of exported functions are annotated by the names in `types.PARAMETERS`, records by their class, functions by
the name of a `Callable` of the module. Parameters of other functions take the types of the arguments in the first call.
A function without annotation of its result returns a boolean or nothing. If a function is decorated with `any_order`,
its sums may be computed in any order and therefore be vectorised; functions marked `inlined` are inlined. `zeros` makes
an array of constant size on the stack; `np.zeros` and `np.empty` make arrays on the heap that live until the return.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from llvmlite import ir

from gaussopt.core.errors import NotCompiled
from gaussopt.jit.arithmetic import Unit
from gaussopt.jit.entry import ENTRANCE
from gaussopt.jit.statements import Body, CheckedBody
from gaussopt.jit.types import (
    INTEGER,
    PAIR,
    PARAMETERS,
    REAL,
    SHORT,
    TRUTH,
    Functions,
    Kind,
    Records,
    parts_of,
    result_type,
    untranslated,
)  # fmt: skip


class Source(NamedTuple):
    """The text of a module whose functions are translated, and its numeric constants by name."""

    text: str
    known: Mapping[str, float]


class Translation(Unit):
    """Translates a module of functions to LLVM's text form.

    Parameters
    ----------
    text : source of the module
    exported : names of functions that Python calls
    contract : whether a product and a sum may become one operation with one rounding
    known : numeric constants of the module by name
    others : modules whose functions and records the module uses
    checked : whether functions are made to return True only if all their values are defined, see `CheckedBody`
    """

    def __init__(
        self, text: str, exported: Iterable[str], contract: bool, known: Mapping[str, float],
        others: Iterable[Source] = (), checked: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.flags = ("contract",) if contract else ()
        self._checked = checked
        self._definitions: dict[str, tuple[ast.FunctionDef, Mapping[str, float]]] = {}
        self._functions: dict[str, tuple[ir.Function, Sequence[Kind]]] = {}
        self._types: dict[str, ast.AST] = {}
        for source in (Source(text, known), *others):
            for node in ast.parse(source.text).body:
                self._read(node, source.known)
        for name in exported:
            parameters = self._definitions[name][0].args.args
            if bare := [x.arg for x in parameters if x.annotation is None]:
                raise NotCompiled(f"its function {name!r} has no annotation of {', '.join(bare)}")
            function, kinds = self.function(name, [self._kind(x.annotation) for x in parameters if x.annotation])
            function.linkage = "external"
            self._enter(function, kinds)

    def _read(self, node: ast.stmt, known: Mapping[str, float]) -> None:
        """Store the function, record type or constant table that a statement of a module defines."""
        match node:
            case ast.FunctionDef(name=name):
                if name in self._definitions:
                    raise ValueError(f"Two modules define {name}; rename one of them.")
                self._definitions[name] = node, known
            case ast.ClassDef(name=name):
                self._types[name] = node
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple() as value):
                with suppress(ValueError):  # values that are not literals are skipped
                    values = ast.literal_eval(value)
                    if all(isinstance(x, float | int) for x in values):
                        self._table(name, values)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Name(id="Callable"))):
                self._types[name] = node.value

    def _kind(self, annotation: ast.expr) -> Kind:
        """Return the type for an annotation."""
        name = ast.unparse(annotation)
        if name in PARAMETERS:
            return PARAMETERS[name]
        match self._types.get(name):
            case ast.ClassDef(body=body):
                fields = [x for x in body if isinstance(x, ast.AnnAssign)]
                return Records(tuple((ast.unparse(x.target), self._kind(x.annotation)) for x in fields))
            case ast.Subscript(slice=ast.Tuple(elts=[ast.List(elts=arguments), result])):
                return Functions(tuple(self._kind(x) for x in arguments), result_type(result))
        raise untranslated(annotation)

    def _enter(self, function: ir.Function, kinds: Sequence[Kind]) -> None:
        """Write the entrance through which Python calls a function, see `_Entrance`."""
        outer = ir.FunctionType(ir.VoidType(), [INTEGER.as_pointer()])
        reader = _Entrance(ir.Function(self.module, outer, f"{function.name}{ENTRANCE}"))
        reader.leave(reader.b.call(function, [part for kind in kinds for part in reader.parts(kind)]))

    def __str__(self) -> str:
        """Return the module in the text form of LLVM."""
        return str(self.module)

    def _table(self, name: str, values: Sequence[float]) -> None:
        kind = ir.ArrayType(REAL, len(values))
        table = ir.GlobalVariable(self.module, kind, name)
        table.initializer = ir.Constant(kind, [ir.Constant(REAL, float(x)) for x in values])
        table.global_constant, table.linkage = True, "internal"
        self.tables[name] = table.gep([ir.Constant(SHORT, 0)] * 2)

    def defines(self, name: str) -> bool:
        """Tell whether a function of this name is in the module."""
        return name in self._definitions

    def function(self, name: str, kinds: Sequence[Kind]) -> tuple[ir.Function, Sequence[Kind]]:
        """Return a function of the module, translated at first use, and the types of its parameters."""
        if name in self._functions:
            return self._functions[name]
        definition, known = self._definitions[name]
        if definition.returns is not None:
            result = result_type(definition.returns)
        else:
            answers = any(isinstance(x, ast.Return) and x.value is not None for x in ast.walk(definition))
            result = TRUTH if answers or self._checked else ir.VoidType()
        parts = [part for kind in kinds for part in parts_of(kind)]
        function = ir.Function(self.module, ir.FunctionType(result, parts), name)
        function.linkage = "internal"
        function.attributes.add("nounwind")
        decorators = [ast.unparse(x) for x in definition.decorator_list]
        if result == PAIR or "inlined" in decorators:
            function.attributes.add("alwaysinline")
        self._functions[name] = function, kinds
        flags = (*self.flags, "reassoc") if "any_order" in decorators else self.flags
        body = CheckedBody if self._checked else Body
        body(self, function, definition, kinds, known, flags).translate()
        return self._functions[name]


class _Entrance:
    """Writes a function that reads arguments from Python and calls another function, see `gaussopt.jit.entry`."""

    def __init__(self, function: ir.Function) -> None:
        self.b = ir.IRBuilder(function.append_basic_block())
        self._next = self._first = function.args[0]

    def parts(self, kind: Kind) -> list[ir.Value]:
        """Read the next argument; return the values in which LLVM passes it."""
        b = self.b
        if isinstance(kind, Records):
            return [part for _, field in kind.fields for part in self.parts(field)]
        if kind == TRUTH:
            return [b.trunc(self._taken(INTEGER), TRUTH)]
        return [self._taken(part) for part in parts_of(kind)]

    def leave(self, result: ir.Value) -> None:
        """Store the result, which is nothing, a number or a pair, in the places of the first arguments."""
        b, self._next, results = self.b, self._first, [result]
        if isinstance(result.type, ir.LiteralStructType):
            results = [b.extract_value(result, i) for i in range(2)]
        for value in [x for x in results if x.type != ir.VoidType()]:
            whole = b.zext(value, INTEGER) if value.type == TRUTH else value
            b.store(whole, b.bitcast(self._passed(), whole.type.as_pointer()))
        b.ret_void()

    def _passed(self) -> ir.Value:
        place = self._next
        self._next = self.b.gep(place, [ir.Constant(INTEGER, 1)], inbounds=True, source_etype=INTEGER)
        return place

    def _taken(self, kind: ir.Type) -> ir.Value:
        return self.b.load(self.b.bitcast(self._passed(), kind.as_pointer()), typ=kind)
