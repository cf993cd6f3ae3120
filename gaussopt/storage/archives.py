"""Compressed files from other programs, unpacked only up to a limit relative to their size."""

from __future__ import annotations

import gzip
import io
import math
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.errors import BadInput
from gaussopt.core.machine import pass_on

FREE, RATIO = 64 * 2**20, 100
"""Unpacked contents may have at most FREE bytes plus RATIO times the size of the compressed file."""

KINDS = "fiub"
"""Kinds of numbers that are read, as NumPy's codes."""

HEADER = 4096
"""Largest header of an array, bytes."""


def gunzip(content: bytes) -> bytes:
    """Return the contents of a gzip file; raises BadInput if it is damaged or unpacks to more than the limit."""
    most = FREE + RATIO * len(content)
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            found = file.read(most + 1)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise BadInput(f"it is no whole gzip file: {str(error).rstrip('.')}") from None
    if len(found) > most:
        raise BadInput(f"{len(content)} bytes unpack to more than {most / 2**20:.0f} MiB")
    return found


def arrays_of(content: bytes, names: tuple[str, ...]) -> dict[str, NDArray[np.float64] | None]:
    """Return arrays from a NumPy archive (npz) by name, as floats; no code in it is run and no object unpickled.

    An array that is missing, or is an empty object (as qpsolvers writes for missing parts), is None. Raises BadInput
    if the archive is damaged, unpacks to more than the limit, or an array does not hold numbers.
    """
    found: dict[str, NDArray[np.float64] | None] = dict.fromkeys(names)
    left = FREE + RATIO * len(content)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for entry in archive.infolist():
                name = entry.filename.removesuffix(".npy")
                if name not in found:
                    raise BadInput(f"it holds {entry.filename!r}; expected {', '.join(names)}")
                if entry.file_size > left:
                    raise BadInput(f"{len(content)} bytes declare {entry.file_size} for {name}")
                left -= entry.file_size
                with archive.open(entry) as file:
                    found[name] = _array(name, file, entry.file_size)
    except BadInput:
        raise
    except Exception as error:  # a library may raise any exception on untrusted bytes
        pass_on("The archive cannot be unpacked", error)
        raise BadInput(f"it is no archive of NumPy, or damaged ({str(error).rstrip('.')})") from None
    return found


def _array(name: str, file: Any, size: int) -> NDArray[np.float64] | None:
    """Return an array after a check that its declared shape fits its bytes; raises BadInput."""
    try:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, by_column, dtype = read(file, max_header_size=HEADER)
    except (ValueError, KeyError, EOFError, TypeError, SyntaxError, OverflowError, RecursionError):
        raise BadInput(f"{name} is no array of NumPy") from None
    if dtype.hasobject and shape == ():
        return None
    if dtype.kind not in KINDS:
        raise BadInput(f"{name} is of type {dtype}; expected numbers")
    place = file.tell()
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != size - place:
        raise BadInput(f"{name} has shape {shape}, which its {size - place} bytes do not hold")
    values = np.frombuffer(file.read(), dtype=dtype)
    return values.reshape(shape, order="F" if by_column else "C").astype(np.float64)
