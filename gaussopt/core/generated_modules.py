"""Store generated modules in the cache, and import them; the cache rejects files that others may have written."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from gaussopt.core import cache
from gaussopt.core.source_loader import SourceLoader, imported


def load(name: str, key: str) -> ModuleType | None:
    """Return the module stored earlier under this name and key, or None.

    Raises BadInput if GAUSSOPT_CACHE names a folder that others can write to.
    """
    file = _file(name, key)
    if (known := sys.modules.get(_module_name(file))) is not None:
        return known
    body = cache.read(file)
    if body is None:
        return None  # the file is missing, damaged or unsafe: the caller generates it again
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return _imported(file, text, cache.cache_folder() / file)


def store(name: str, key: str, text: str) -> ModuleType:
    """Write the source of a module to the cache, if possible, and import it; raises BadInput as `load` does."""
    file = _file(name, key)
    return _imported(file, text, cache.write(file, text.encode()))


def text_of(module: ModuleType) -> str:
    """Return the source from which a module was imported, even if its file has changed since."""
    loader = module.__loader__
    if isinstance(loader, SourceLoader):
        return loader.get_source()
    return Path(str(module.__file__)).read_text(encoding="utf-8")


def path_of(module: ModuleType) -> Path:
    """Return the path of a file with the source of a generated module.

    The file is written now if the cache could not store it; raises BadInput if that fails.
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
    # Without a file, tracebacks get the source lines from the loader, see `linecache`.
    return imported(name, text, os.path.abspath(path) if path else f"gaussopt-generated/{file}")
