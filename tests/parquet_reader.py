"""A small reader of Parquet files of plain pages, written from the description of the format."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np


class Thrift:
    """A reader of Thrift's compact protocol: structures become mappings of field numbers."""

    def __init__(self, content: bytes, at: int = 0) -> None:
        self.content, self.at = content, at

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.content[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def number(self) -> int:
        n = self.varint()
        return -(n + 1) // 2 if n & 1 else n // 2

    def value(self, kind: int) -> Any:
        if kind in (5, 6):
            return self.number()
        if kind == 8:
            size = self.varint()
            self.at += size
            return self.content[self.at - size : self.at]
        if kind == 9:
            head = self.content[self.at]
            self.at += 1
            count = head >> 4 if head >> 4 < 15 else self.varint()
            return [self.value(head & 15) for _ in range(count)]
        assert kind == 12
        found, last = {}, 0
        while head := self.content[self.at]:
            self.at += 1
            last += head >> 4
            found[last] = self.value(head & 15)
        self.at += 1
        return found


def levels(content: bytes, at: int, count: int) -> tuple[list[int], int]:
    (size,) = struct.unpack_from("<I", content, at)
    reader, found = Thrift(content, at + 4), list[int]()
    while len(found) < count:
        run = reader.varint()
        assert run % 2 == 0  # a run of equal levels
        found += [content[reader.at]] * (run >> 1)
        reader.at += 1
    assert reader.at == at + 4 + size
    return found, reader.at


def flat(kind: int, content: bytes, count: int) -> list[Any]:
    if kind == 0:
        return [bool(b) for b in np.unpackbits(np.frombuffer(content, np.uint8), bitorder="little")[:count]]
    if kind in (2, 5):
        return list(np.frombuffer(content, "<i8" if kind == 2 else "<f8").tolist())
    found, at = [], 0
    while at < len(content):
        (size,) = struct.unpack_from("<I", content, at)
        found.append(content[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return found


def read(content: bytes) -> dict[str, list[Any]]:
    """The columns of a Parquet file of plain pages."""
    assert content[:4] == content[-4:] == b"PAR1"
    (size,) = struct.unpack("<I", content[-8:-4])
    footer = Thrift(content, len(content) - 8 - size).value(12)
    table: dict[str, list[Any]] = {}
    (group,) = footer[4]
    assert footer[3] == group[3]
    for chunk in group[1]:
        about = chunk[3]
        reader = Thrift(content, about[9])
        head = reader.value(12)
        assert about[6] == about[7] == reader.at - about[9] + head[2]
        at, end, count = reader.at, reader.at + head[3], head[5][1]
        assert count == about[5]
        repeated = None
        if len(about[3]) == 3:
            repeated, at = levels(content, at, count)
        defined, at = levels(content, at, count)
        values = iter(flat(about[1], content[at:end], sum(d == max(2 * (repeated is not None), 1) for d in defined)))
        column: list[Any] = []
        for i, d in enumerate(defined):
            if repeated is None:
                column.append(next(values) if d else None)
            elif repeated[i]:
                column[-1].append(next(values))
            else:
                column.append(None if d == 0 else [] if d == 1 else [next(values)])
        table[about[3][0].decode()] = column
    return table
