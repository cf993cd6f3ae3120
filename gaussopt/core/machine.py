"""Failures of the machine, not of data or solvers: full or broken disks, exhausted memory, too many open files."""

from __future__ import annotations

import errno
import os

from gaussopt.core.errors import BadInput, MachineFailure

_ROOM, _FILES, _MEMORY = "make room, or name another place", "allow more open files", "give it more memory"

REMEDIES = {
    errno.ENOSPC: _ROOM, errno.EDQUOT: _ROOM, errno.EFBIG: "allow larger files (ulimit -f), or name another place",
    errno.EIO: "the disk may be broken", errno.ESTALE: "the file server may be gone", errno.EMFILE: _FILES,
    errno.ENFILE: _FILES, errno.ENOMEM: _MEMORY, errno.EAGAIN: "allow more processes",
}  # fmt: skip
"""The operating system's error numbers for failures of the machine, with the remedy for each."""

NOT_OF_OUTPUT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
"""Error numbers in REMEDIES that cannot occur when an open file is written."""


def is_machine(error: BaseException) -> bool:
    """Return whether an error is a failure of the machine."""
    if isinstance(error, MachineFailure | MemoryError):
        return True
    if isinstance(error, ImportError):  # the loader of shared objects reports its error as a text, without a number
        return any(os.strerror(number) in str(error) for number in (errno.EMFILE, errno.ENFILE, errno.ENOMEM))
    return isinstance(error, OSError) and error.errno in REMEDIES


def machine_failure(what: str, error: BaseException) -> MachineFailure:
    """Return the MachineFailure for an error of the computer, such as a full disk; `what` says what failed."""
    if isinstance(error, MachineFailure):
        return error
    if isinstance(error, MemoryError):
        return MachineFailure(f"{what}: there is not enough memory; {_MEMORY}, or ask for less.")
    remedy = REMEDIES.get(error.errno or 0) if isinstance(error, OSError) else None
    return MachineFailure(f"{what}: {_reason(error)}{f'; {remedy}' if remedy else ''}.")


def pass_on(what: str, error: BaseException) -> None:
    """Raise an error again if the user or the machine caused it; `what`, for the message, states what failed.

    These errors are KeyboardInterrupt itself, not its subclasses, which foreign code defines, and machine failures.
    """
    if type(error) is KeyboardInterrupt:
        raise error
    if is_machine(error):
        raise machine_failure(what, error) from None


def file_error(what: str, error: OSError) -> BadInput:
    """Return the BadInput for an error on a file; `what` begins the message, such as "Cannot read motion.nc"."""
    return machine_failure(what, error) if is_machine(error) else BadInput(f"{what}: {_reason(error)}.")


def _reason(error: BaseException) -> str:
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return " ".join(text.split()).rstrip(".") or type(error).__name__
