"""The arguments of machine code: places of eight bytes, one behind the other.

A number takes one place; an array the address of its first entry and its shape; a record the places of its fields. The
result takes the first place, or two of them.
"""

from __future__ import annotations

ENTRANCE = "_entrance"
"""Behind the name of a function, where it is called from outside."""

NUMBERS = {"float": "d", "int": "q", "bool": "q"}
"""Formats of `struct` by annotation."""

ADDRESS = "N"

ARRAYS: dict[str, tuple[str, int]] = {
    "list": ("float", 0), "Vector": ("float", 1), "Array": ("float", 1), "Matrix": ("float", 2), "Table": ("float", 2),
    "Index": ("int", 1), "Active": ("int", 1), "Indices": ("int", 2),
}  # fmt: skip
"""Kinds of entries and numbers of axes by annotation; 0 where no shape is handed over."""
