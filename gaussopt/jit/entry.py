"""Calls of machine code from Python through ctypes, which release the interpreter's lock.

Arguments lie in consecutive places of eight bytes: a number takes one place; an array takes places for the address of
its first entry and for its shape; a record takes the places of its fields. Results overwrite the first places.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from struct import Struct, calcsize
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
    "Index": ("int", 1), "Active": ("int", 1), "Indices": ("int", 2), "ShortIndex": ("short", 1),
}  # fmt: skip
"""Types of entries and numbers of axes by annotation; 0 where no shape is passed."""

Taker: TypeAlias = Callable[[Any, list[Any]], None]
"""A function that appends the places of an argument to a list."""

_KINDS: dict[str, np.dtype[Any]] = {
    "float": np.dtype(np.float64), "int": np.dtype(np.int64), "short": np.dtype(np.int32),
}  # fmt: skip
_from_buffer = (ctypes.c_char * 0).from_buffer
_call_of = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def address_of(array: NDArray[Any]) -> int:
    """Return the address of the first entry of a contiguous array."""
    try:
        return ctypes.addressof(_from_buffer(array))  # type: ignore[arg-type]
    except TypeError:  # a read-only array; this is twenty times slower
        return array.ctypes.data


KEPT = 32
"""Number of records whose places a taker caches."""

SHORT = 3
"""Largest number of fields of records of arrays whose places are read in each call, as most calls pass new ones."""


class _Record:
    """A `Taker` of records; it caches the places of a few records, because most calls pass one of them again.

    They are one entry, the bytes of all places. `arrays` are the annotations of the fields if they are few arrays,
    whose places are read in each call, and entries of their own.
    """

    def __init__(self, fields: Sequence[Taker], form: str, annotations: Mapping[str, Any]) -> None:
        self._fields, self._pack = fields, Struct("@" + form).pack
        kinds = {name: annotation_name(kind) for name, kind in annotations.items()}
        self.arrays = kinds if len(kinds) <= SHORT and set(kinds.values()) <= ARRAYS.keys() else {}
        self._known: dict[int, tuple[Any, bytes]] = {}

    def __call__(self, record: Any, places: list[Any]) -> None:
        if not self.arrays:
            places.append(self.places(record))
            return
        for own, field in zip(self._fields, record, strict=True):
            own(field, places)

    def places(self, record: Any) -> bytes:
        """Return the places of a record."""
        known = self._known.get(id(record))
        if known is None:
            found: list[Any] = []
            for take, field in zip(self._fields, record, strict=True):
                take(field, found)
            if len(self._known) == KEPT:
                del self._known[next(iter(self._known))]
            known = self._known[id(record)] = record, self._pack(*found)  # while it is kept, its `id` stays unique
        return known[1]


def _array(entry: str, dimensions: int) -> Taker:
    """Return a `Taker` that checks an array and appends its address and shape."""
    kind, array = _KINDS[entry], np.ndarray

    def take(x: Any, places: list[Any]) -> None:
        # `is` is faster than `==`, and nearly always true, because NumPy has a single object for this dtype.
        right = isinstance(x, array) and (x.dtype is kind or x.dtype == kind) and x.flags.c_contiguous
        if not right or (dimensions and x.ndim != dimensions):
            axes = f" with {dimensions} axes" if dimensions else ""
            raise TypeError(f"Machine code takes a contiguous array of {kind.name}{axes} here, not {x!r:.60}.")
        places.append(address_of(x))
        if dimensions:
            places += x.shape

    return take


def _number(x: Any, places: list[Any]) -> None:
    places.append(x)


def _function(x: Any, places: list[Any]) -> None:
    places.append(x.address)


def _parameter(annotation: Any, scope: Mapping[str, Any]) -> tuple[str, Taker]:
    """Return the struct format and the `Taker` of a parameter with this annotation."""
    name = annotation_name(annotation)
    if name in NUMBERS:
        return NUMBERS[name], _number
    if name in ARRAYS:
        entry, dimensions = ARRAYS[name]
        return ADDRESS + "q" * dimensions, _array(entry, dimensions)
    record = scope.get(name)
    if record is None:
        raise NotCompiled(f"its annotation {name!r} has no translation; use float, int, Vector or Matrix")
    if not isinstance(record, type):
        return ADDRESS, _function
    return _record(record)


@cache
def _record(record: type) -> tuple[str, Taker]:
    """Return struct format and `Taker` of a record; all functions share it, because they are called with the same."""
    inside = vars(sys.modules[record.__module__])
    formats, fields = zip(*(_parameter(x, inside) for x in record.__annotations__.values()), strict=True)
    form = "".join(formats)
    taker = _Record(fields, form, record.__annotations__)
    return form if taker.arrays else f"{calcsize('@' + form)}s", taker


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
        self._call = _call_of(entrance)
        self._take = [take for _, take in parameters]
        self._arguments = Struct("@" + "".join(form for form, _ in parameters))
        self._results = Struct("@" + results)
        self._places = ctypes.c_char * max(self._arguments.size, self._results.size, 1)
        self.call: Callable[..., Any] = self._unrolled([annotation_name(kind) for kind in annotated.values()])

    def __call__(self, *arguments: Any) -> Any:
        """Return the result of the function."""
        return self.call(*arguments)

    def _one_by_one(self, *arguments: Any) -> Any:
        """Return the result of the function; this works for arguments of all kinds."""
        parts: list[Any] = []
        for take, x in zip(self._take, arguments, strict=True):
            take(x, parts)
        places = self._places()
        self._arguments.pack_into(places, 0, *parts)
        self._call(places)
        return self._result(places)

    def _unrolled(self, kinds: Sequence[str]) -> Callable[..., Any]:
        """Return a function that replaces `_one_by_one`, but is twice as fast.

        It passes other arrays, such as read-only ones, on to `_one_by_one`. For arrays without a shape, return
        `_one_by_one`.
        """
        if "list" in kinds:
            return self._one_by_one
        known: dict[str, Any] = {
            "array": np.ndarray, "address": ctypes.addressof, "buffer": _from_buffer, "others": self._one_by_one,
            "Places": self._places, "pack": self._arguments.pack_into, "run": self._call,
            "results": self._results.unpack_from,
        }  # fmt: skip
        tests, parts, names, every = ["True"], [], [f"x{i}" for i in range(len(kinds))], []
        for x, kind, take in zip(names, kinds, self._take, strict=True):
            fields = take.arrays if isinstance(take, _Record) else {}
            every += [(f"{x}.{field}", entry, take) for field, entry in fields.items()] or [(x, kind, take)]
        for x, kind, take in every:
            if kind not in ARRAYS:
                known[f"of_{x}"] = take.places if isinstance(take, _Record) else None
                parts.append(x if kind in NUMBERS else f"{x}.address" if take is _function else f"of_{x}({x})")
                continue
            entry, axes = ARRAYS[kind]
            known[entry] = _KINDS[entry]
            tests.append(f"type({x}) is array and {x}.dtype is {entry} and {x}.ndim == {axes}")
            parts.append(f"address(buffer({x})), " + (f"len({x})" if axes == 1 else f"*{x}.shape"))
        given, fits, places = ", ".join(names), " and ".join(tests), ", ".join(["places, 0", *parts])
        lines = (
            f"def call({given}):",
            f" if not ({fits}):",
            f"  return others({given})",
            " places = Places()",
            " try:",
            f"  pack({places})",
            " except TypeError:",
            f"  return others({given})",
            " run(places)",
            f" return {('None', 'results(places)[0]', 'results(places)')[min(len(self._results.format) - 1, 2)]}",
        )
        exec("\n".join(lines), known)
        found: Callable[..., Any] = known["call"]
        return found

    def _result(self, places: ctypes.Array[ctypes.c_char]) -> Any:
        results = self._results.unpack_from(places)
        return results if len(results) > 1 else results[0] if results else None


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
