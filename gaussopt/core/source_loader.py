"""Modules made of sources that were read, and checked, before."""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import ExecutionLoader
from importlib.util import decode_source
from types import ModuleType


class SourceLoader(ExecutionLoader):
    """Compiles a source that was read already; byte code is neither kept nor used, as nobody could check it."""

    def __init__(self, source: str | bytes, path: str) -> None:
        self._source = source
        self._path = path

    def get_source(self, fullname: str = "") -> str:
        """The source as text."""
        return self._source if isinstance(self._source, str) else decode_source(self._source)

    def get_filename(self, fullname: str) -> str:
        """Its file, which need not exist."""
        return self._path


def imported(name: str, source: str | bytes, path: str) -> ModuleType:
    """A new module of this name made of a source, which is forgotten again if the source raises."""
    loader = SourceLoader(source, path)
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None  # the loader is given
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
