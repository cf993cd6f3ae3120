"""NetCDF files that are written completely or not at all, and whose damage is detected before numbers are read.

HDF5 crashes its process if the disk is full, and does not notice when bytes have changed. Therefore files are made in
memory and written like any other file, followed by a seal: the SHA-256 of all bytes before it. HDF5 readers take the
end of the data from the header and ignore the seal.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import stat
import struct
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaussopt.core.errors import BadInput, Unverified
from gaussopt.core.files import CHUNK, check_target, reading, write_bytes
from gaussopt.core.machine import machine_failure, pass_on
from gaussopt.processes.guarded_process import Guard
from gaussopt.processes.job import Job
from gaussopt.storage.hdf5 import FileLayout

if TYPE_CHECKING:
    import xarray as xr

MARK = b"\ngaussopt sha256 "
SEAL = len(MARK) + 64 + 1
"""Length of a seal in bytes: the mark, the digest in hexadecimal digits, and a line feed."""

SIGNATURE = b"\x89HDF\r\n\x1a\n"

PATIENCE, SLOWEST = 10.0, 2e7
"""A separate process reads a file without a checksum, for at most PATIENCE s plus 1 s per SLOWEST bytes.

An idle core decompresses ten times SLOWEST bytes per second.
"""


def image(data: xr.Dataset, encoding: Mapping[str, Any] | None = None) -> tuple[memoryview, bytes]:
    """Return a dataset as NetCDF bytes, and their checksum; raises MachineFailure if memory runs out."""
    try:
        content = data.to_netcdf(engine="h5netcdf", encoding=encoding)
    except MemoryError as error:
        raise machine_failure("Cannot write the data as NetCDF", error) from None
    assert isinstance(content, memoryview)
    return content, MARK + hashlib.sha256(content).hexdigest().encode() + b"\n"


def write(data: xr.Dataset, path: str | os.PathLike[str], encoding: Mapping[str, Any] | None = None) -> Path:
    """Write a dataset as a NetCDF file with a checksum, completely or not at all, and return its path.

    Symbolic links are followed, and an existing file keeps its mode. Raises BadInput if the file cannot be written,
    and MachineFailure if the disk is full.
    """
    check_target(Path(path))
    target = Path(os.path.realpath(path))
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
    write_bytes(target, *image(data, encoding), mode=mode)
    return target


def read(path: str | os.PathLike[str], what: str) -> xr.Dataset:
    """Return the dataset of a NetCDF file, if its checksum is right; messages call it `what`, e.g. "a trajectory file".

    A file without a checksum, from another program, is read with the warning `Unverified`. Raises BadInput if the file
    is missing, damaged, not NetCDF, or declares arrays that its bytes cannot hold.
    """
    if not isinstance(path, str | os.PathLike):
        raise BadInput(f"The path is {path!r}; give the name of {what}.")
    sealed = verified(Path(path))
    if not sealed:
        _try_elsewhere(Path(path), what)
    try:
        loaded = _loaded(path)
    except BadInput:
        raise
    except Exception as error:  # a library may raise any exception on untrusted bytes
        pass_on(f"Cannot read {path}", error)
        hint = "give one that gaussopt wrote, such as motion.save('motion.nc')"
        raise BadInput(f"{path} is not {what}; {hint} ({first_line(error)}).") from None
    if not sealed:
        sentence = f"{path} carries no checksum, so that damage to it cannot be noticed; save it again with gaussopt."
        warnings.warn(sentence, Unverified, stacklevel=3)
    return loaded


def _loaded(path: str | os.PathLike[str]) -> xr.Dataset:
    import xarray as xr

    _check_layout(path)
    with xr.open_dataset(path, engine="h5netcdf", decode_times=False) as data:
        return data.load()


def _opened(path: str) -> None:
    _loaded(path)


def _try_elsewhere(path: Path, what: str) -> None:
    """Read a file without a checksum in a separate process first, as HDF5 may crash or hang on damaged bytes."""
    limit = PATIENCE + path.stat().st_size / SLOWEST
    with contextlib.closing(Guard()) as guard:
        outcome = guard.run(Job("read", _opened, {"path": str(path.resolve())}, limit=limit))
    if outcome.kind not in ("", "error"):  # an "error" will be raised again here
        ended = {"crashed": "ends the process", "time_limit": f"takes more than {limit:.0f} s"}
        raise BadInput(f"{path} is not {what}, or damaged: reading it {ended.get(outcome.kind, 'did not succeed')}.")


def first_line(error: BaseException) -> str:
    """Return the type of a library's error and the first line of its text, which may be very long."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}".rstrip(": .")


def save_dataset(data: xr.Dataset, path: str | os.PathLike[str]) -> Path:
    """Write a dataset, such as that of `simulate_batch`, as NetCDF: completely or not at all, with a checksum.

    Parameters
    ----------
    data : xarray.Dataset
    path : path of the file, which is also returned; an existing file is replaced

    Raises
    ------
    BadInput
        If the file cannot be written.
    """
    return write(data, path)


def load_dataset(path: str | os.PathLike[str]) -> xr.Dataset:
    """Return the dataset that `save_dataset` wrote; raises BadInput if the file is missing or fails its checksum."""
    return read(path, "a NetCDF file")


def verified(path: Path) -> bool:
    """Verify the checksum at a file's end; return False if there is none. Raises BadInput for a bad or missing file."""
    with reading(path):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise BadInput(f"Cannot read {path}: it is not a regular file.")
        with path.open("rb") as file:
            return _seal_of(file, status.st_size, path)


def _seal_of(file: io.BufferedReader, size: int, path: Path) -> bool:
    damaged = f"{path} is damaged: its checksum is wrong; use a copy, or compute it again."
    end = _end_of_hdf5(file.read(64))
    file.seek(max(0, size - SEAL))
    seal = file.read(SEAL)
    if not seal.startswith(MARK):
        # If the file is longer than its HDF5 header states, it ends with a damaged checksum.
        if end is not None and end < size:
            raise BadInput(damaged)
        return False
    digest = hashlib.sha256()
    left = size - SEAL
    file.seek(0)
    while left > 0 and (part := file.read(min(CHUNK, left))):
        digest.update(part)
        left -= len(part)
    if left or seal[len(MARK) :] != digest.hexdigest().encode() + b"\n":
        raise BadInput(damaged)
    return True


def _end_of_hdf5(head: bytes) -> int | None:
    """Return the end of the HDF5 data according to its header, in bytes; None if the header has an unusual form.

    Format: https://docs.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html, section II.A.
    """
    if not head.startswith(SIGNATURE) or len(head) < 64:
        return None
    version = head[8]
    place, widths = {0: (40, head[13]), 1: (44, head[13]), 2: (28, head[9]), 3: (28, head[9])}.get(version, (0, 0))
    return int(struct.unpack_from("<Q", head, place)[0]) if widths == 8 else None


def _check_layout(path: str | os.PathLike[str]) -> None:
    """Refuse arrays that are in other files, or that are too large for the size of the file; see `FileLayout`.

    Raises BadInput, and any error of h5py for a file that is not HDF5.
    """
    import h5py

    with h5py.File(path, "r") as file:
        try:
            layout = FileLayout(file, os.stat(path).st_size)
            layout.attributes()
            for name in file:
                layout.dataset(name)
        except BadInput as error:
            raise BadInput(f"{path} is damaged, or made to harm: {error}; use a copy, or compute it again.") from None
