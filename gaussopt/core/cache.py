"""Cache of generated code: files kept from run to run, and read back only if no other user can have written them.

Code that is read here runs with the rights of the user. A checksum shows damage but not forgery, so owner and
permissions decide: the folder and the file must belong to the user (or to root) and not be writable by others. Owner
and permissions are read from open descriptors, so that no file can be exchanged between the check and the reading.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import stat
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from gaussopt.core.errors import BadInput

# The command line imports this module at every start: modules that are rarely needed are imported where they are used.

VARIABLE = "GAUSSOPT_CACHE"

_SEAL = len("# sha256 \n") + 64
"""Length of the last line of each file, a comment with the checksum; there it does not shift the lines of the code."""

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_ROOT = 0
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# O_NONBLOCK: opening a pipe of that name does not block.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class UnsafeCache(UserWarning):
    """The cache folder or a file in it may have been written by another user, and is therefore not used."""


class _Unsafe(Exception):
    """Another user may have written a folder or file; the message says why."""


def cache_folder() -> Path:
    """Return the folder of generated code: GAUSSOPT_CACHE, else a folder in the user's cache folder."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "gaussopt"


def key_of(*parts: str) -> str:
    """Return a short file name: the hash of `parts`, which together must determine the contents of the file."""
    import hashlib

    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def check_chosen() -> None:
    """Check that no other user can write to the folder that GAUSSOPT_CACHE names, if any; raises BadInput."""
    if os.environ.get(VARIABLE):
        with contextlib.suppress(OSError), _opened(cache_folder()):
            pass


def read(name: str) -> bytes | None:
    """Return the contents kept under a name; None if they are missing, damaged or perhaps written by another user.

    Raises BadInput if GAUSSOPT_CACHE names a folder that others can write to.
    """
    folder = cache_folder()
    try:
        with _opened(folder) as inside, os.fdopen(os.open(name, _READ, dir_fd=inside), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise _Unsafe("is no regular file")
            _check(found)
            content = file.read()
    except OSError:
        return None
    except _Unsafe as why:
        _warn(f"{folder / name} {why}: it is not used, and generated anew.")
        return None
    body, seal = content[:-_SEAL], content[-_SEAL:]
    return body if seal == _seal(name, body) else None


def write(name: str, body: bytes) -> Path | None:
    """Write contents under a name atomically, readable by the user only; return the path, or None if that fails.

    Raises BadInput as `read` does.
    """
    folder = cache_folder()
    with contextlib.suppress(OSError):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        with _opened(folder) as inside:
            _write(inside, name, body)
        return folder / name
    return None


def private_file(name: str, body: bytes) -> Path:
    """Write a file for the user to read, into a private folder of this process that is removed when the process ends.

    Raises BadInput if there is no place for temporary files.
    """
    try:
        folder = _private(os.getpid())
        path = folder / name
        with os.fdopen(os.open(path, _WRITE & ~os.O_EXCL | os.O_TRUNC, 0o600), "wb") as file:
            file.write(body)
    except OSError as error:
        raise BadInput(f"Cannot write {name} to a temporary folder: {error.strerror or error}.") from None
    return path


@cache
def _private(process: int) -> Path:
    """Return the private folder of this process; after a fork, the child creates its own, and the parent's remains."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="gaussopt-"))

    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """Yield the descriptor of a folder that only the user and root can write to.

    If others can write to the folder, raise BadInput if GAUSSOPT_CACHE names it; if it is the default folder, raise
    OSError, as for a folder that cannot be opened.
    """
    inside = os.open(folder, _FOLDER)
    try:
        try:
            _check(os.fstat(inside))
        except _Unsafe as why:
            if os.environ.get(VARIABLE):
                raise BadInput(
                    f"{VARIABLE} is {str(folder)!r}, which {why}, and code that is kept there is run; name a folder "
                    "that belongs to you and that only you can write to (mode 0700)."
                ) from None
            _warn(
                f"The cache folder {folder} {why}, and code that is kept there is run: it is not used, and code is "
                f"generated anew; remove the folder or close it to others, or let {VARIABLE} name one of your own."
            )
            raise PermissionError from None
        yield inside
    finally:
        os.close(inside)


def _check(found: os.stat_result) -> None:
    """Check that only the user and root can have written a file, or can write to a folder; raises _Unsafe."""
    if found.st_uid not in (os.geteuid(), _ROOT):
        raise _Unsafe(f"belongs to another user (number {found.st_uid})")
    if found.st_mode & _OTHERS:
        raise _Unsafe(f"can be written to by others (mode {stat.S_IMODE(found.st_mode):04o})")


def _write(inside: int, name: str, body: bytes) -> None:
    aside = f"{name}.{os.urandom(8).hex()}.tmp"
    handle = os.open(aside, _WRITE, 0o600, dir_fd=inside)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body + _seal(name, body))
        os.replace(aside, name, src_dir_fd=inside, dst_dir_fd=inside)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside, dir_fd=inside)
        raise


def _seal(name: str, body: bytes) -> bytes:
    """Return the checksum line, which changes with every byte of the contents and with the name."""
    import hashlib

    return b"# sha256 %s\n" % hashlib.sha256(b"%s\n%s" % (name.encode(), body)).hexdigest().encode()


@cache
def _warn(sentence: str) -> None:
    """Issue a warning, but only the first time that the same sentence is passed."""
    warnings.warn(sentence, UnsafeCache, stacklevel=2)
