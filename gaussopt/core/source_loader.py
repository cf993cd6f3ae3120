"""Modules made of sources that were read, and checked, before."""

from __future__ import annotations

from importlib.abc import ExecutionLoader
from importlib.util import decode_source


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
