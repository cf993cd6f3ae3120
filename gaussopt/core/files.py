"""Read files that the user names, and write files atomically."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO

from gaussopt.core.errors import BadInput
from gaussopt.core.machine import file_error

MOST_TEXT = 256 * 2**20
"""Maximum size, in bytes, of a file that is read."""

CHUNK = 2**20
"""Number of bytes read at a time, because the length of a file is unknown."""

PROBE = ".probe"
"""Suffix of the temporary file by which `prepare_folder` tests whether a folder can be written to."""


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the contents of a file, or of a pipe, that the user names.

    Raises BadInput if the file is missing, unreadable, or longer than MOST_TEXT bytes, as a device may be.
    """
    with reading(path), open(path, "rb") as file:
        return _limited(file, path)


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """Return the contents of a regular file.

    Raises BadInput as `read_bytes` does, and if the path leads to a folder, device, pipe or symbolic link.
    """
    # O_NONBLOCK: opening a pipe without a writer does not block.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    with reading(path), open(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise BadInput(f"Cannot read {path}: it is not a regular file.")
        return _limited(file, path)


def missing_file(path: str | os.PathLike[str]) -> str:
    """Return the message for a missing file; it suggests the file with the nearest name in the same folder."""
    file = Path(path)
    beside = [x.name for x in file.parent.iterdir()] if file.parent.is_dir() else []
    near = get_close_matches(file.name, beside, n=1)
    hint = f"; did you mean {file.with_name(near[0])}?" if near else f". Looked in {file.absolute().parent}."
    return f"There is no file {path}{hint}"


@contextlib.contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert errors on reading a file, within this context, into BadInput with a clear message."""
    try:
        yield
    except FileNotFoundError:
        raise BadInput(missing_file(path)) from None
    except OSError as error:
        raise file_error(f"Cannot read {path}", error) from None
    except ValueError as error:  # the name holds a zero byte
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{str(path)!r} is no name of a file.") from None


def inside(folder: Path, name: Any) -> Path:
    """Return the path, with links resolved, of a file that an index in a folder names.

    Raises BadInput if the name is not a relative path or leads out of the folder.
    """
    if not isinstance(name, str) or not name or "\0" in name or Path(name).is_absolute() or ".." in Path(name).parts:
        raise BadInput(f"{folder} names the file {name!r}; give a path inside the folder.")
    try:
        place = (folder / name).resolve()
        if not place.is_relative_to(folder.resolve()):
            raise BadInput(f"{folder / name} leads out of the folder, to {place}; put the file itself there.")
    except (OSError, RuntimeError):  # `resolve` raises these for circular links
        raise BadInput(f"Cannot read {folder / name}: its links lead nowhere.") from None
    return place


def _limited(file: BinaryIO, path: str | os.PathLike[str]) -> bytes:
    parts, size = [], 0
    while part := file.read(CHUNK):
        parts.append(part)
        size += len(part)
        if size > MOST_TEXT:
            most = f"{MOST_TEXT / 2**20:g} MiB"
            raise BadInput(f"{path} holds more than {most}, which is more than is read of such a file.")
    return b"".join(parts)


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the JSON object in a file; raises BadInput as `read_bytes` and `json_object` do."""
    return json_object(read_bytes(path), path)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a dict of the pairs, for `json.loads(object_pairs_hook=unique)`; raises BadInput if a name is repeated."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadInput(f"the entry {twice!r} is there more than once; keep one of them.")
    return found


def json_object(content: bytes, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the JSON object in the contents of a file; the path is only used in messages.

    Raises BadInput if the contents are not JSON, repeat an entry, or are anything but an object.
    """
    try:
        data = json.loads(content.decode("utf-8"), object_pairs_hook=unique)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    except UnicodeDecodeError:
        raise BadInput(f"Cannot read {path}: it is not text.") from None
    except json.JSONDecodeError as error:
        raise BadInput(f"{path} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.") from None
    except RecursionError:
        raise BadInput(f"{path} is nested too deeply to be a problem file.") from None
    except ValueError:  # an integer has too many digits for Python
        raise BadInput(f"{path} holds a number that is too long.") from None
    if not isinstance(data, dict):
        raise BadInput(f"{path} holds a {type(data).__name__}; a problem file holds one JSON object.")
    return data


def write_text(path: Path, text: str, *, durable: bool = True) -> None:
    """Write a text file atomically, see `write_bytes`; raises BadInput if it cannot be written."""
    write_bytes(path, text.encode(), durable=durable)


def write_bytes(path: Path, *parts: bytes | memoryview, durable: bool = True, mode: int = 0o644) -> None:
    """Write the parts to a file atomically: to a temporary file in the same folder, which is then renamed.

    If `durable`, file and folder are synchronised to disk first. Raises BadInput if the file cannot be written, and
    its subclass MachineFailure if the disk is full or failed.
    """
    aside = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, aside = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        with open(handle, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fchmod(handle, mode)
            if durable:
                os.fsync(handle)
        os.replace(aside, path)
        aside = ""
        if durable:
            with contextlib.suppress(OSError):  # not every file system synchronises folders
                _synchronise(path.parent)
    except OSError as error:
        raise file_error(f"Cannot write {path}", error) from None
    finally:
        if aside:
            Path(aside).unlink(missing_ok=True)


def _synchronise(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_target(path: Path) -> None:
    """Check, before the contents of a file are computed, that it can be written at a path.

    Raises BadInput if the folder is missing or read-only, or if the path leads to anything but a regular file.
    """
    if path.exists() and not path.is_file():
        raise BadInput(f"Cannot write {path}: it is not a regular file.")
    if not path.name or not path.parent.is_dir():
        raise BadInput(f"Cannot write {str(path)!r}: there is no folder {path.parent}; make it first.")
    if not os.access(path.parent, os.W_OK):
        raise BadInput(f"Cannot write {path}: the folder {path.parent} is read-only.")


def ending_of(path: Path, known: Sequence[str], what: str) -> str:
    """Return the suffix of a path in lower case; raises BadInput if it is unknown; `what` is a noun for the message."""
    ending = path.suffix.lower()
    if ending not in known:
        raise BadInput(f"{path} ends in {path.suffix or 'nothing'!r}; {what} ends in {', '.join(known)}.")
    return ending


def check_new(folder: Path) -> None:
    """Raise BadInput if a folder exists and is not empty."""
    if folder.is_dir() and any(folder.iterdir()):
        raise BadInput(f"{folder} is not empty; name a new folder, so that nothing old stays among the new.")


def prepare_folder(folder: Path) -> None:
    """Make a folder and check, before its contents are computed, that files can be written into it.

    Raises BadInput if that is not possible.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder, suffix=PROBE):
            pass
    except OSError as error:
        raise file_error(f"Cannot write to {folder}", error) from None
