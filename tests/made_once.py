"""What several test files share and takes long to make: of the processes of a run, one makes it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The file or folder that `make` writes; of the processes of the tests the first that asks has it written."""
    base = factory.getbasetemp()
    found = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    begun, ended = (found.with_name(f"{name}_{state}") for state in ("begun", "ended"))
    try:
        begun.mkdir()
    except FileExistsError:
        while not ended.exists():
            time.sleep(0.1)
    else:
        said = "failed"
        try:
            make(found)
            said = "made"
        finally:
            ended.write_text(said, encoding="utf-8")
    assert ended.read_text(encoding="utf-8") == "made"
    return found
