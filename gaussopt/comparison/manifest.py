"""Check of the manifest of an exported sequence, before anything that it names is opened."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from gaussopt.core.errors import BadInput
from gaussopt.storage.checksums import checksum

FORMAT = 1
"""Version of the manifest."""

MOST_PROGRAMS = 1_000_000
"""Most programs of a sequence."""

MOST_ENTRIES = 50_000_000
"""Most entries of a matrix of one program (400 MB)."""

_DIGEST = re.compile(r"[0-9a-f]{64}")


def check_manifest(manifest: Mapping[str, Any]) -> None:
    """Check every entry of a manifest, and its checksum where it carries one.

    Raises
    ------
    BadInput
        With words that name the entry, without a full stop.
    """
    if "checksum" in manifest and manifest["checksum"] != checksum(manifest):
        raise BadInput("its checksum is wrong")
    for key in ("problem", "reference", "formulation"):
        if not isinstance(manifest.get(key), str):
            raise BadInput(f"{key!r} is {_short(manifest.get(key))}, expected text")
    rows = manifest["programs"]
    if not 1 <= len(rows) <= MOST_PROGRAMS:
        raise BadInput(f"it names {len(rows)} programs, expected 1 to {MOST_PROGRAMS}")
    for i, row in enumerate(rows):
        try:
            _check_row(row)
        except BadInput as error:
            raise BadInput(f"program {i}: {error}") from None
        if row["kind"] != rows[0]["kind"]:
            raise BadInput(f"program {i} is a {row['kind']}, the first one a {rows[0]['kind']}")


def _check_row(row: Any) -> None:
    if not isinstance(row, Mapping):
        raise BadInput(f"it is {_short(row)}, expected an object")
    if row.get("kind") not in ("qp", "lcp"):
        raise BadInput(f"'kind' is {_short(row.get('kind'))}, expected 'qp' or 'lcp'")
    if not isinstance(row.get("file"), str):
        raise BadInput(f"'file' is {_short(row.get('file'))}, expected a path inside the folder")
    if not isinstance(row.get("sha256"), str) or not _DIGEST.fullmatch(row["sha256"]):
        raise BadInput(f"'sha256' is {_short(row.get('sha256'))}, expected 64 hexadecimal digits")
    n = _whole(row, "n", 1, MOST_ENTRIES)
    if row["kind"] == "lcp":
        return
    rows = row.get("rows")
    if not isinstance(rows, list) or len(rows) != 1:
        raise BadInput(f"'rows' is {_short(rows)}, expected a list with the number of rows")
    m = _whole({"rows": rows[0]}, "rows", 0, MOST_ENTRIES)
    if n * max(n, m) > MOST_ENTRIES:
        raise BadInput(f"a program of {n} unknowns and {m} rows is too large to be replayed")
    places = {key: _places(row, key, m) for key in ("equality", "lower", "upper")}
    if places["equality"] & (places["lower"] | places["upper"]):
        raise BadInput("a row is an equality and an inequality")
    if 8 * n * (m - len(places["equality"] | places["lower"] | places["upper"])) > 2**20:
        raise BadInput(f"it has {m} rows, of which most have no bounds")


def _whole(row: Mapping[str, Any], key: str, low: int, high: int) -> int:
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BadInput(f"{key!r} is {_short(value)}, expected a whole number from {low} to {high}")
    return value


def _places(row: Mapping[str, Any], key: str, m: int) -> set[int]:
    """The rows that are listed under a key, each once and in order."""
    found = row.get(key)
    if not isinstance(found, list) or not all(isinstance(i, int) and not isinstance(i, bool) for i in found):
        raise BadInput(f"{key!r} is {_short(found)}, expected a list of rows")
    rising = all(a < b for a, b in pairwise(found))
    if found and not (rising and found[0] >= 0 and found[-1] < m):
        raise BadInput(f"{key!r} is {_short(found)}, expected rising numbers from 0 to {m - 1}")
    return set(found)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
