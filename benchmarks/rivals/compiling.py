"""Shared libraries made here, in a temporary folder that goes when the process ends."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

OPTIMISED = ("-O3", "-march=native")
"""No -ffast-math: the arithmetic stays what is written, but for fused multiply-adds."""


@cache
def folder() -> Path:
    """The temporary folder of this process."""
    _made.append(tempfile.TemporaryDirectory(prefix="gaussopt-benchmark-"))
    return Path(_made[-1].name)


def shared_library(compiler: str, flags: tuple[str, ...], source: Path) -> Path:
    """The compiled source.

    Raises
    ------
    RuntimeError
        With what the compiler said.
    """
    target = folder() / f"{source.stem}.so"
    command = [compiler, *OPTIMISED, *flags, "-shared", "-fPIC", str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{compiler} cannot compile {source.name}: {done.stderr}")
    return target


_made: list[tempfile.TemporaryDirectory[str]] = []
