"""Generated modules: kept as files with a checksum, read back only if no other user can have written them, imported."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from gaussopt.core import cache
from gaussopt.core.source_loader import SourceLoader, imported


def load(name: str, key: str) -> ModuleType | None:
    """Return the module generated earlier under this key, or None.

    Raises BadInput if GAUSSOPT_CACHE names a folder that others can write to.
    """
    file = _file(name, key)
    if (known := sys.modules.get(_module_name(file))) is not None:
        return known
    body = cache.read(file)
    if body is None:
        return None  # not there, damaged, edited, or perhaps another user's: derive again
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return _imported(file, text, cache.cache_folder() / file)


def store(name: str, key: str, text: str) -> ModuleType:
    """Keep the source of a module, if it can be kept, and import it; raises BadInput as `load`."""
    file = _file(name, key)
    return _imported(file, text, cache.write(file, text.encode()))


def text_of(module: ModuleType) -> str:
    """Return the source that a module was made of, even if its file has changed since."""
    loader = module.__loader__
    if isinstance(loader, SourceLoader):
        return loader.get_source()
    return Path(str(module.__file__)).read_text(encoding="utf-8")


def path_of(module: ModuleType) -> Path:
    """Return a file with the source of a generated module, written now where it could not be kept.

    Raises BadInput if it cannot be written.
    """
    path = Path(str(module.__file__))
    return path if path.is_absolute() else cache.private_file(path.name, text_of(module).encode())


@lru_cache(maxsize=1024)
def _file(name: str, key: str) -> str:
    safe = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)[:40]
    return f"{safe}_{key}.py"


def _module_name(file: str) -> str:
    return f"gaussopt_generated_{file.removesuffix('.py')}"


def _imported(file: str, text: str, path: Path | None) -> ModuleType:
    name = _module_name(file)
    if name in sys.modules:
        return sys.modules[name]
    # Without a file the lines are shown by the loader, see `linecache`.
    return imported(name, text, os.path.abspath(path) if path else f"gaussopt-generated/{file}")
