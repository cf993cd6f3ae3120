"""Reading and writing step, qp, lcp and answer files (JSON)."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gaussopt.errors import BadInput
from gaussopt.programs import LCP, QP
from gaussopt.stepdata import StepData

KINDS = ("step", "qp", "lcp")
PROBE = ".probe"
"""How the name of a file ends that is made to see whether a folder can be written, and removed at once."""


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON object in a file.

    Raises
    ------
    BadInput
        If the file is missing, is no JSON, or holds something else than an object.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"Cannot read {path}: {getattr(error, 'strerror', None) or 'it is not text'}.") from None
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInput(f"{path} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.") from None
    except RecursionError:
        raise BadInput(f"{path} is nested too deeply to be a problem file.") from None
    except ValueError:  # more digits than Python turns into an integer
        raise BadInput(f"{path} holds a number that is too long.") from None
    if not isinstance(data, dict):
        raise BadInput(f"{path} holds a {type(data).__name__}; a problem file holds one JSON object.")
    return data


def parse(data: Mapping[str, Any]) -> StepData | QP | LCP:
    """Step data, a quadratic program or a complementarity problem from the contents of a file.

    Raises
    ------
    BadInput
    """
    kind = data.get("kind")
    if kind == "step":
        return StepData.from_mapping(data)
    if kind == "qp":
        return QP.from_mapping(data)
    if kind == "lcp":
        return LCP.from_mapping(data)
    if kind is None:
        raise BadInput(f"The file has no 'kind'; write \"kind\": {' or '.join(repr(k) for k in KINDS)}.")
    raise BadInput(f"The kind {kind!r} is not known here; known: {', '.join(KINDS)}.")


def load(path: str | os.PathLike[str]) -> StepData | QP | LCP:
    """Step data, a quadratic program or a complementarity problem from a file.

    Raises
    ------
    BadInput
    """
    data = read_json(path)
    try:
        return parse(data)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


@contextlib.contextmanager
def replacing(target: Path, suffix: str = ".tmp", mode: int = 0o644, durable: bool = True) -> Iterator[str]:
    """A file aside that takes the place of `target` when the block has written it, whole or not at all.

    What has returned is on the disk if it is to be `durable`: file and folder are synchronised.

    Raises
    ------
    BadInput
        If it cannot be written.
    """
    aside = ""
    try:
        handle, aside = tempfile.mkstemp(dir=target.parent, suffix=suffix)
        os.close(handle)
        yield aside
        os.chmod(aside, mode)
        if durable:
            _synchronise(Path(aside))
        os.replace(aside, target)
        if durable:
            with contextlib.suppress(OSError):  # not every file system synchronises folders
                _synchronise(target.parent)
    except OSError as error:
        raise BadInput(f"Cannot write {target}: {error.strerror or error}.") from None
    finally:
        if aside:
            Path(aside).unlink(missing_ok=True)


def _synchronise(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str, *, durable: bool = True) -> None:
    """Write a text file whole or not at all, see `replacing`.

    Raises
    ------
    BadInput
        If it cannot be written.
    """
    write_bytes(path, text.encode(), durable=durable)


def write_bytes(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write a file whole or not at all, see `replacing`.

    Raises
    ------
    BadInput
        If it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"Cannot write {path}: {error.strerror or error}.") from None
    with replacing(path, durable=durable) as aside, open(aside, "wb") as file:
        file.write(content)


def check_target(path: Path) -> None:
    """See that a file can be written at a path, before anything is computed for it.

    Raises
    ------
    BadInput
        If there is no such folder, or something else than a regular file is there.
    """
    if path.exists() and not path.is_file():
        raise BadInput(f"Cannot write {path}: it is not a regular file.")
    if not path.name or not path.parent.is_dir():
        raise BadInput(f"Cannot write {str(path)!r}: there is no folder {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise BadInput(f"Cannot write {path}: the folder {path.parent} is read-only.")


def prepare_folder(folder: Path) -> None:
    """Make a folder and see that it can be written, before anything is computed for it.

    Raises
    ------
    BadInput
        If it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder, suffix=PROBE):
            pass
    except OSError as error:
        raise BadInput(f"Cannot write to {folder}: {error.strerror or error}.") from None
