"""Representation of the types and values of the kernel language in LLVM."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from llvmlite import ir

from gaussopt.core.errors import NotCompiled
from gaussopt.jit.entry import ARRAYS

REAL, INTEGER, SHORT, TRUTH, FLOATS, BYTES = (
    ir.DoubleType(), ir.IntType(64), ir.IntType(32), ir.IntType(1), ir.DoubleType().as_pointer(),
    ir.IntType(8).as_pointer(),
)  # fmt: skip
PAIR = ir.LiteralStructType([REAL, REAL])


@dataclass(frozen=True)
class Arrays:
    """Type of arrays, stored row by row, and passed as the address of the first entry and the shape."""

    entry: ir.Type
    dimensions: int


@dataclass(frozen=True)
class Records:
    """Type of named tuples of one class, passed field by field."""

    fields: tuple[tuple[str, Kind], ...]


@dataclass(frozen=True)
class Functions:
    """Type of functions of one signature, passed as addresses."""

    arguments: tuple[Kind, ...]
    result: ir.Type


Kind: TypeAlias = Any
"""The type of a value: an LLVM type, `Arrays`, `Records` or `Functions`."""


class Array(NamedTuple):
    """An array of entries, row by row."""

    type: Arrays
    first: ir.Value
    shape: tuple[ir.Value, ...]


class RecordValue(NamedTuple):
    """A named tuple."""

    type: Records
    fields: Mapping[str, Any]


class Address(NamedTuple):
    """The address of a function."""

    type: Functions
    place: ir.Value


RESULTS = {"float": REAL, "int": INTEGER, "bool": TRUTH, "tuple": PAIR, "None": ir.VoidType()}
PARAMETERS: dict[str, Kind] = {"float": REAL, "int": INTEGER, "bool": TRUTH} | {
    name: Arrays(SHORT if entry == "short" else RESULTS[entry], dimensions) if dimensions else FLOATS
    for name, (entry, dimensions) in ARRAYS.items()
}
"""Types by annotation. A list is passed as the address of its first entry; other arrays are passed with their shape.
Entries of a `ShortIndex`, of 32 bits, are read as integers."""


def constant(value: float) -> ir.Constant:
    """Return the LLVM constant for a number in the source."""
    kind = TRUTH if isinstance(value, bool) else INTEGER if isinstance(value, int) else REAL
    return ir.Constant(kind, int(value) if kind == TRUTH else value)


def untranslated(node: ast.AST) -> NotCompiled:
    """Return the error for a construct that the kernel language does not have."""
    return NotCompiled(f"its generated source holds '{ast.unparse(node)}', which has no translation")


def parts_of(kind: Kind) -> list[ir.Type]:
    """Return the types of the LLVM values in which a value of the type `kind` is passed."""
    match kind:
        case Arrays():
            return [kind.entry.as_pointer(), *[INTEGER] * kind.dimensions]
        case Records():
            return [part for _, field in kind.fields for part in parts_of(field)]
        case Functions():
            taken = [part for argument in kind.arguments for part in parts_of(argument)]
            return [ir.FunctionType(kind.result, taken).as_pointer()]
    return [kind]


def value_of(kind: Kind, parts: Iterator[ir.Value]) -> Any:
    """Return a value of the type `kind` made of the next LLVM values of `parts`."""
    match kind:
        case Arrays():
            return Array(kind, next(parts), tuple(next(parts) for _ in range(kind.dimensions)))
        case Records():
            return RecordValue(kind, {name: value_of(field, parts) for name, field in kind.fields})
        case Functions():
            return Address(kind, next(parts))
    return next(parts)


def parts_of_value(value: Any) -> list[ir.Value]:
    """Return the LLVM values in which a value is passed."""
    match value:
        case Array():
            return [value.first, *value.shape]
        case RecordValue():
            return [part for field in value.fields.values() for part in parts_of_value(field)]
        case Address():
            return [value.place]
    return [value]


def result_type(annotation: ast.expr) -> ir.Type:
    """Return the LLVM type of a function's result, from its annotation."""
    match annotation:
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=[one, other])):
            return ir.LiteralStructType([result_type(one), result_type(other)])
    return RESULTS[ast.unparse(annotation)]


def taken_from(node: ast.expr, module: str) -> str | None:
    """Return the name that an expression reads from a module, such as zeros in np.zeros; None for other expressions."""
    match node:
        case ast.Attribute(value=ast.Name(id=base), attr=name) if base == module:
            return name
    return None
