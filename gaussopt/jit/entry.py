"""Calls of machine code from Python through ctypes, which release the interpreter's lock.

Arguments lie in consecutive places of eight bytes: a number takes one place; an array takes one for the address of its
object, whose kind, shape and data machine code reads (NumPy reference, "Python types and C-structures"); a record takes
the places of its fields. Before them lie the addresses of NumPy's array type and of its types of reals and integers;
results overwrite the first two places, and the third tells whether all arrays were of the right kind.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from struct import Struct
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.errors import NotCompiled

ENTRANCE = "_entrance"
"""Suffix of the name under which a function is called from outside."""

NUMBERS = {"float": "d", "int": "q", "bool": "q"}
"""Formats of `struct` by annotation."""

ADDRESS = "N"

ARRAYS: dict[str, tuple[str, int]] = {
    "list": ("float", 0), "Vector": ("float", 1), "Array": ("float", 1), "Matrix": ("float", 2), "Table": ("float", 2),
    "Index": ("int", 1), "Active": ("int", 1), "Indices": ("int", 2),
}  # fmt: skip
"""Types of entries and numbers of axes by annotation; 0 where no shape is passed."""

Taker: TypeAlias = Callable[[Any], Any]
"""A function that returns an argument in the form in which machine code takes it."""

_KINDS = {"float": np.dtype(np.float64), "int": np.dtype(np.int64)}
_call_of = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

HEADER = object.__basicsize__
"""Size of the part of an object that all kinds have, bytes; its last eight bytes are the address of its type."""

TYPE, DATA, AXES, SHAPE, ENTRIES, FLAGS = (HEADER + x for x in (-8, 0, 8, 16, 40, 48))
"""Places of the fields of an array object, bytes from its beginning."""


def layout_known() -> bool:
    """Return whether array objects have the layout that machine code reads."""
    x = np.zeros((3, 5))
    if sys.implementation.name != "cpython":
        return False
    whole = ctypes.string_at(id(x), FLAGS + 4)
    kind, data, axes, shape, entries, flags = Struct("@NNi4xN16xNi").unpack_from(whole, TYPE)
    known = kind, data, axes, entries, flags
    right = known == (id(np.ndarray), x.ctypes.data, 2, id(x.dtype), x.flags.num)
    return right and Struct("@qq").unpack(ctypes.string_at(shape, 16)) == x.shape


KEPT = 4
"""Number of records whose places a taker caches."""


class _Record:
    """A `Taker` of records; it caches the places of a few records, because most calls pass one of them again."""

    def __init__(self, fields: Sequence[Taker]) -> None:
        self._fields = fields
        self._known: dict[int, tuple[Any, list[Any], list[Any]]] = {}

    def __call__(self, record: Any) -> Any:
        return record

    def places(self, record: Any) -> list[Any]:
        """Return the places of a record."""
        known = self._known.get(id(record))
        if known is None:
            found, taken = list[Any](), list[Any]()
            for take, field in zip(self._fields, record, strict=True):
                x = take(field)
                found += take.places(x) if isinstance(take, _Record) else [id(x) if isinstance(x, np.ndarray) else x]
                taken.append(take._known[id(x)] if isinstance(take, _Record) else x)
            if len(self._known) == KEPT:
                del self._known[next(iter(self._known))]
            known = self._known[id(record)] = record, found, taken  # while it is kept, its `id` stays unique
        return known[1]


def _array(entry: str, dimensions: int) -> Taker:
    """Return a `Taker` that checks an array, and returns it as a plain array with NumPy's own object for its dtype."""
    kind = _KINDS[entry]

    def take(x: Any) -> NDArray[Any]:
        right = isinstance(x, np.ndarray) and x.dtype == kind and x.flags.c_contiguous
        if not right or (dimensions and x.ndim != dimensions):
            axes = f" with {dimensions} axes" if dimensions else ""
            raise TypeError(f"Machine code takes a contiguous array of {kind.name}{axes} here, not {x!r:.60}.")
        return np.ndarray(x.shape, kind, x)

    return take


def _number(x: Any) -> Any:
    return x


def _function(x: Any) -> Any:
    return x.address


def _parameter(annotation: Any, scope: Mapping[str, Any]) -> tuple[str, Taker]:
    """Return the struct format and the `Taker` of a parameter with this annotation."""
    name = annotation_name(annotation)
    if name in NUMBERS:
        return NUMBERS[name], _number
    if name in ARRAYS:
        entry, dimensions = ARRAYS[name]
        return ADDRESS, _array(entry, dimensions)
    record = scope.get(name)
    if record is None:
        raise NotCompiled(f"its annotation {name!r} has no translation; use float, int, Vector or Matrix")
    if not isinstance(record, type):
        return ADDRESS, _function
    inside = vars(sys.modules[record.__module__])
    formats, fields = zip(*(_parameter(x, inside) for x in record.__annotations__.values()), strict=True)
    return "".join(formats), _Record(fields)


def annotation_name(annotation: Any) -> str:
    """Return the text of an annotation."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__forward_arg__", None)
    return str(text or getattr(annotation, "__name__", annotation))


def _results(annotation: str) -> str:
    """Return the struct format of a function's result: nothing, one number, or two numbers."""
    if annotation == "tuple":
        return NUMBERS["float"] * 2
    parts = annotation.removeprefix("tuple").strip("[]").split(", ")
    return "".join(NUMBERS.get(part, "") for part in parts)


class MachineCode:
    """Machine code that is called like the annotated Python function from which it was compiled.

    Python calls it at `entrance`, other machine code at `address`. A call raises TypeError for an array of the wrong
    type.
    """

    def __init__(self, function: Any, entrance: int, address: int) -> None:
        self.__wrapped__, self.address = function, address
        annotated = dict(function.__annotations__)
        results = _results(annotation_name(annotated.pop("return", "None")))
        parameters = [_parameter(kind, function.__globals__) for kind in annotated.values()]
        self._take = [take for _, take in parameters]
        arguments, found = Struct("@NNN" + "".join(form for form, _ in parameters)), len(results)
        known: dict[str, Any] = {
            "array": id(np.ndarray), "real": id(_KINDS["float"]), "whole": id(_KINDS["int"]), "others": self._others,
            "Places": ctypes.c_char * max(arguments.size, 24), "pack": arguments.pack_into,
            "run": _call_of(entrance), "result": Struct(f"@{results}{16 - 8 * found}xq").unpack_from,
        }  # fmt: skip
        names, places = [f"x{i}" for i in range(len(parameters))], ["places, 0, array, real, whole"]
        for x, kind, take in zip(names, annotated.values(), self._take, strict=True):
            known[f"of_{x}"] = take.places if isinstance(take, _Record) else take
            if annotation_name(kind) in ARRAYS:
                places.append(f"id({x})")
            elif take is _number:
                places.append(x)
            else:
                places.append(f"{x}.address" if take is _function else f"*of_{x}({x})")
        values = ["one", "two"][:found]
        lines = (
            f"def call({', '.join(names)}):",
            " places = Places()",
            f" pack({', '.join(places)})",
            " run(places)",
            f" {', '.join([*values, 'done'])}, = result(places)",
            f" return ({', '.join(values) or None}) if done else others({', '.join(names)})",
        )
        exec("\n".join(lines), known)
        self.call: Callable[..., Any] = known["call"]

    def __call__(self, *arguments: Any) -> Any:
        """Return the result of the function."""
        return self.call(*arguments)

    def _others(self, *arguments: Any) -> Any:
        """Return the result of the function for arrays of which one has to be converted."""
        pairs = zip(self._take, arguments, strict=True)
        return self.call(*(x if take is _function else take(x) for take, x in pairs))


class Workspace:
    """Memory for the arguments of one checked function; only one thread at a time may use it.

    `sizes` holds the number of entries of each argument, None for a number. Before a call, values are written into the
    arrays `arguments`; the array of a number has one entry.
    """

    __slots__ = ("_begin", "_call", "_first", "_places", "arguments")

    def __init__(self, entrance: int, sizes: Sequence[int | None]) -> None:
        self.arguments = [np.zeros(size or 0) for size in sizes]
        places = np.array([x.ctypes.data for x in self.arguments], dtype=np.int64)
        for i, size in enumerate(sizes):
            if size is None:
                self.arguments[i] = places[i : i + 1].view(np.float64)
        self._first = None if sizes[0] is None else int(places[0])
        self._places, self._begin = places.data, places.ctypes.data
        self._call = _call_of(entrance)

    def call(self) -> bool:
        """Run the function and return its result."""
        self._call(self._begin)
        found: int = self._places[0]  # the result has overwritten the first place
        if self._first is not None:
            self._places[0] = self._first
        return found != 0
