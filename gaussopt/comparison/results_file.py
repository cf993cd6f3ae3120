"""The results of a comparison as one file, to be reported on again without computing."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

from gaussopt.comparison.compare import Results
from gaussopt.core.errors import BadInput
from gaussopt.core.files import read_regular, write_bytes
from gaussopt.execution.store import HEAD
from gaussopt.storage.archives import gunzip

FILE = "results.json.gz"
FORMAT = 1


def write_results(results: Results, folder: Path) -> None:
    """Write every record, with NaN and Infinity as Python's json writes them.

    Raises
    ------
    BadInput
        If the folder cannot be written.
    """
    data = {"format": FORMAT, **results.to_mapping()}
    text = json.dumps({**data, "checksum": _checksum(data)})
    write_bytes(folder / FILE, gzip.compress(text.encode(), mtime=0))


def _checksum(data: dict[str, Any]) -> str:
    """Of everything that a file of results holds beside it, as it is read again."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read_results(folder: Path) -> Results:
    """What `write_results` wrote.

    Raises
    ------
    BadInput
        If there is nothing of the kind, or it is damaged or of another format.
    """
    path = folder / FILE
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is not a folder; give one that `gaussopt compare --out` wrote.")
    if not path.exists():
        if (folder / HEAD).is_file():
            kept = sum(1 for _ in (folder / "cases").glob("*.json"))
            raise BadInput(
                f"The comparison in {folder} has not come to its end; start the same `gaussopt compare` again: "
                f"{kept} finished cases are kept."
            )
        raise BadInput(f"{folder} holds no {FILE}; give a folder in which `gaussopt compare --out` came to its end.")
    data = _contents(path)
    if data.get("format") != FORMAT:
        raise BadInput(f"{path} is not of format {FORMAT}; run the comparison again with this version.")
    if data.pop("checksum", None) != _checksum(data):
        raise _damaged(path, "its checksum is missing or wrong")
    try:
        return Results.from_mapping(data, folder)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _damaged(path, str(error)) from None


def _contents(path: Path) -> dict[str, Any]:
    """The JSON object in a packed file."""
    packed = read_regular(path.resolve())
    try:
        text = gunzip(packed)
        data = json.loads(text)
        if b"\\ud" in text.lower():  # halves of characters, which no report can hold
            json.dumps(data, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from None
    if not isinstance(data, dict):
        raise _damaged(path, "it holds no object")
    return data


def _damaged(path: Path, why: str) -> BadInput:
    return BadInput(f"{path} is damaged ({why.rstrip('.')}); run the comparison again, finished cases are kept.")
