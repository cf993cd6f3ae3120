"""Import modules from source text that was read, and where necessary checked, beforehand."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.abc import ExecutionLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import decode_source
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar


class SourceLoader(ExecutionLoader):
    """A loader that compiles a given source; it neither writes nor uses byte code, which could not be checked."""

    def __init__(self, source: str | bytes, path: str) -> None:
        self._source = source
        self._path = path

    def get_source(self, fullname: str = "") -> str:
        """Return the source as text."""
        return self._source if isinstance(self._source, str) else decode_source(self._source)

    def get_filename(self, fullname: str) -> str:
        """Return the path that was given with the source; there need not be a file at this path."""
        return self._path


def imported(name: str, source: str | bytes, path: str) -> ModuleType:
    """Import a source as a new module of a given name; if this raises, remove the module from `sys.modules`."""
    loader = SourceLoader(source, path)
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None  # it is None only without a loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


class Neighbours(MetaPathFinder):
    """An import finder for the modules in the folder of a user's file; it keeps their sources in `found`.

    Imports inside functions are not found, since all sources must be known once the file has been imported.

    Parameters
    ----------
    folder : the folder of the file, which need not exist any more
    sources : contents by module name, read by another process; if given, the files themselves are not read
    """

    _loaded: ClassVar[set[str]] = set()

    def __init__(self, folder: Path, sources: Mapping[str, bytes] | None) -> None:
        self._folder, self._given = folder, sources
        self.found: dict[str, bytes] = {}

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the specification of the module of this name in the folder; None if there is none."""
        file = self._folder / f"{fullname}.py"
        if path is not None or fullname in sys.stdlib_module_names:
            return None
        if self._given is None and file.is_file():
            self.found[fullname] = file.read_bytes()
        elif self._given is not None and fullname in self._given:
            self.found[fullname] = self._given[fullname]
        if fullname not in self.found:
            return None
        return importlib.util.spec_from_loader(fullname, SourceLoader(self.found[fullname], str(file)))

    @contextmanager
    def at_hand(self) -> Iterator[None]:
        """Within this context, imports find the modules of this folder first, not their namesakes from elsewhere."""
        others = {name: module for name, module in sys.modules.items() if name in self._loaded}
        for name in others:
            del sys.modules[name]
        sys.meta_path.insert(0, self)
        try:
            yield
        finally:
            sys.meta_path.remove(self)
            self._loaded.update(self.found)
            sys.modules.update({name: module for name, module in others.items() if name not in self.found})
