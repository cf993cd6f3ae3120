"""HDF5 files from any source: the size and location of a dataset are checked before its numbers are read."""

from __future__ import annotations

import contextlib
import io
import math
import zlib
from collections.abc import Iterator
from typing import Any

from gaussopt.core.errors import BadInput, GaussoptError, one_line
from gaussopt.core.machine import pass_on
from gaussopt.storage.archives import FREE, RATIO

DEFLATE, SHUFFLE, FLETCHER32 = 1, 2, 3
"""Filters that NetCDF writes; for other filters HDF5 would search folders of the machine for plug-in code."""

NUMBERS = "iufb"
"""Kinds of numbers that are read, as NumPy's codes."""

DOUBLE = 8
"""Bytes per number after reading."""

CHECKSUM = 4
"""Bytes that FLETCHER32 adds to a chunk."""


@contextlib.contextmanager
def opened(content: bytes) -> Iterator[Any]:
    """Open HDF5 from bytes; for any read error raises BadInput, worded as the end of a sentence, "it is ..."."""
    import h5py

    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            yield file
    except GaussoptError:
        raise
    except Exception as error:  # a library may raise any exception on untrusted bytes
        pass_on("The file cannot be read", error)
        raise BadInput(f"it is damaged, or no whole HDF5 file ({one_line(error)[:120]})") from None


class FileLayout:
    """Access to the datasets of an open file of `size` bytes, after checks of their location and their size.

    Together the datasets may take at most FREE bytes plus RATIO times the size of the file.
    """

    def __init__(self, file: Any, size: int) -> None:
        self._file, self._size, self._left = file, size, FREE + RATIO * size

    def dataset(self, name: str) -> Any:
        """Check and return the dataset or group with a name; raises BadInput and errors of h5py."""
        import h5py

        parts = name.split("/")
        for path in ("/".join(parts[: i + 1]) for i in range(len(parts))):
            link = self._file.get(path, getlink=True)
            if link is None:
                raise BadInput(f"it has no {name!r}")
            if not isinstance(link, h5py.HardLink):
                raise BadInput(f"it links {path!r} to another place; only what lies in the file itself is read")
        found = self._file[name]
        self._attributes(name, found)
        if isinstance(found, h5py.Dataset):
            self._check(name, found)
        return found

    def attributes(self) -> None:
        """Check the attributes of the file; raises the same errors as `dataset`."""
        self._attributes("the file", self._file)

    def _check(self, name: str, dataset: Any) -> None:
        import h5py

        if dataset.is_virtual or dataset.external:
            raise BadInput(f"it keeps {name!r} in another file; only what lies in the file itself is read")
        text = h5py.check_string_dtype(dataset.dtype) is not None
        if not text and (dataset.dtype.hasobject or dataset.dtype.kind not in NUMBERS + "SU"):
            raise BadInput(f"{name!r} is of type {dataset.dtype}; numbers and texts are read")
        each = max(dataset.dtype.itemsize, DOUBLE)
        whole, chunk = math.prod(dataset.shape or ()) * each, math.prod(dataset.chunks or ()) * each
        self._take(name, whole, f"of shape {dataset.shape}")
        if chunk > max(FREE, whole):  # HDF5 unpacks complete chunks, even to read a small part of an array
            raise BadInput(f"{name!r} of shape {dataset.shape} is packed in larger chunks, of shape {dataset.chunks}")
        if dataset.chunks:
            self._check_chunks(name, dataset)
        if text:
            self._count(name, dataset)

    def _check_chunks(self, name: str, dataset: Any) -> None:
        """Check that chunks are compressed as in NetCDF files, and that none unpacks to more than its declared size."""
        plan = dataset.id.get_create_plist()
        filters = [plan.get_filter(i)[0] for i in range(plan.get_nfilters())]
        if not set(filters) <= {DEFLATE, SHUFFLE, FLETCHER32} or len(set(filters)) < len(filters):
            raise BadInput(f"{name!r} is packed by the filters {filters} of HDF5; save it with gzip, or unpacked")
        places: list[Any] = []
        dataset.id.chunk_iter(places.append)
        if sum(place.size for place in places) > self._size:
            raise BadInput(f"the chunks of {name!r} are said to take more than the {self._size} bytes of the file")
        size = math.prod(dataset.chunks) * dataset.dtype.itemsize + CHECKSUM
        for place in places if DEFLATE in filters else ():
            _, packed = dataset.id.read_direct_chunk(place.chunk_offset)
            plain = place.filter_mask >> filters.index(DEFLATE) & 1
            # HDF5 unpacks the complete stream, even beyond the declared size of the chunk.
            if not plain and len(zlib.decompressobj().decompress(packed, size + 1)) > size:
                raise BadInput(f"a chunk of {name!r} unpacks to more than its {size} bytes")

    def _take(self, name: str, count: int, what: str) -> None:
        self._left -= count
        if self._left < 0:
            raise BadInput(f"{name!r} {what} is larger than {self._size} bytes can hold")

    def _attributes(self, name: str, owner: Any) -> None:
        """Check that attributes are small; a text of variable length counts as if it were as long as the file."""
        for key in owner.attrs:
            attribute = owner.attrs.get_id(key)
            each = self._size if attribute.dtype.hasobject else attribute.dtype.itemsize
            if math.prod(attribute.shape or ()) * each > FREE + RATIO * self._size:
                raise BadInput(f"the attribute {key!r} of {name!r} is larger than {self._size} bytes can hold")

    def _count(self, name: str, dataset: Any) -> None:
        """Count each text once for every reference to it, since a file may store a text once and refer to it often."""
        if not dataset.shape:
            return
        together = max(1, self._left // (self._size * max(1, math.prod(dataset.shape[1:]))))
        for begin in range(0, len(dataset), together):
            self._take(name, sum(map(len, dataset[begin : begin + together].ravel())), "with its texts")
