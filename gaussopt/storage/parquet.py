"""Write tables as Parquet files without a library, so that the same table has the same bytes on every machine.

A file has one row group, a plain page for each column and no compression, which every reader supports. A column holds
text, integers, floats, booleans or lists of floats, and None where a value is absent.
Reference: Apache Parquet format, file metadata in Thrift's compact protocol.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

MAGIC = b"PAR1"
BOOLEAN, INT64, DOUBLE, BYTES = 0, 2, 5, 6
"""Physical types of columns, as Parquet numbers them."""

TYPES = {BOOLEAN: bool, INT64: int, BYTES: str, DOUBLE: float}
"""Python's type for each physical type; bool comes first, since a bool is also an int."""

I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12
"""Types of fields in Thrift's compact protocol."""


class _Number(int):
    """An integer that is written with 64 bits; a plain int has 32."""


def _varint(n: int) -> bytes:
    found = bytearray()
    while n > 0x7F:
        found.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes((*found, n))


def _field(value: Any) -> tuple[int, bytes]:
    """Return the type and the bytes of a value; a mapping from field numbers to values becomes a structure."""
    if isinstance(value, Mapping):
        found, last = bytearray(), 0
        for number, entry in value.items():
            kind, content = _field(entry)
            found += bytes(((number - last) << 4 | kind,)) + content
            last = number
        return STRUCT, bytes(found) + b"\0"
    if isinstance(value, list):
        parts = [_field(entry) for entry in value]
        count, kind = len(parts), parts[0][0]
        head = bytes((count << 4 | kind,)) if count < 15 else bytes((0xF0 | kind,)) + _varint(count)
        return LIST, head + b"".join(content for _, content in parts)
    if isinstance(value, str):
        return BINARY, _varint(len(value.encode())) + value.encode()
    return (I64 if isinstance(value, _Number) else I32), _varint(value << 1 if value >= 0 else -value * 2 - 1)


def _levels(levels: Sequence[int]) -> bytes:
    """Encode Parquet's definition or repetition levels by run lengths, with one byte for each value."""
    found, i = bytearray(), 0
    while i < len(levels):
        end = i
        while end < len(levels) and levels[end] == levels[i]:
            end += 1
        found += _varint((end - i) << 1) + bytes((levels[i],))
        i = end
    return struct.pack("<I", len(found)) + bytes(found)


def _type(values: Sequence[Any]) -> int:
    of = next((v for v in values if v is not None), 0.0)
    return next(kind for kind, own in TYPES.items() if isinstance(of, own))


def _plain(kind: int, values: Sequence[Any]) -> bytes:
    if kind == BYTES:
        return b"".join(struct.pack("<I", len(v.encode())) + v.encode() for v in values)
    if kind == BOOLEAN:
        return np.packbits(np.array(values, dtype=bool), bitorder="little").tobytes()
    return np.array(values, dtype="<i8" if kind == INT64 else "<f8").tobytes()


def parquet(table: Mapping[str, Sequence[Any]]) -> bytes:
    """Return the Parquet file of a table, given by its columns, which have equal lengths."""
    rows = len(next(iter(table.values())))
    schema: list[Any] = [{4: "schema", 5: len(table)}]
    content, chunks = bytearray(MAGIC), []
    for name, values in table.items():
        repeated: list[int] = []
        if all(v is None or isinstance(v, list | np.ndarray) for v in values):  # columns of only None count as lists
            kind, path = DOUBLE, [name, "list", "element"]
            schema += [{3: 1, 4: name, 5: 1, 6: 3}, {3: 2, 4: "list", 5: 1}, {1: DOUBLE, 3: 0, 4: "element"}]
            defined: list[int] = []
            for v in values:
                count = 0 if v is None else len(v)
                repeated += [0] + [1] * (count - 1)
                defined += [2] * count or [int(v is not None)]
            flat: Any = np.concatenate([np.asarray(v, dtype=float) for v in values if v is not None] or [np.zeros(0)])
        else:
            kind, path = _type(values), [name]
            schema.append({1: kind, 3: 1, 4: name, **({6: 0} if kind == BYTES else {})})
            defined = [int(v is not None) for v in values]
            flat = [v for v in values if v is not None]
        page = (_levels(repeated) if repeated else b"") + _levels(defined) + _plain(kind, flat)
        head = _field({1: 0, 2: len(page), 3: len(page), 5: {1: len(defined), 2: 0, 3: 3, 4: 3}})[1]
        place, size = _Number(len(content)), _Number(len(head) + len(page))
        content += head + page
        about = {1: kind, 2: [0, 3], 3: path, 4: 0, 5: _Number(len(defined)), 6: size, 7: size, 9: place}
        chunks.append({2: place, 3: about})
    group = {1: chunks, 2: _Number(len(content) - len(MAGIC)), 3: _Number(rows)}
    footer = _field({1: 1, 2: schema, 3: _Number(rows), 4: [group], 6: "gaussopt"})[1]
    return bytes(content) + footer + struct.pack("<I", len(footer)) + MAGIC
