"""Checksums of files and of plain data, and plain data as text that carries its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def digest_of(content: bytes | memoryview) -> str:
    """Compute the SHA-256 of a content, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def checksum(data: Mapping[str, Any]) -> str:
    """Digest plain data without its entry "checksum": the same content, as read again from JSON, has the same text."""
    plain = {key: value for key, value in data.items() if key != "checksum"}
    return digest_of(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode())


class Damage(Exception):
    """A file cannot be used; the text says why, to stand in a sentence."""


def sealed(data: Mapping[str, Any], indent: int | None = 1) -> str:
    """Write plain data as JSON with its checksum; NaN, Infinity and -Infinity are bare words, as Python writes them."""
    return json.dumps({**data, "checksum": checksum(data)}, indent=indent) + "\n"


def unsealed(text: bytes, form: int | None = None) -> dict[str, Any]:
    """Read what `sealed` wrote, without the checksum; `form` is what its entry "format" has to be, if given.

    Raises Damage for text that is no JSON or no object, of another format, or whose checksum is missing or wrong.
    """
    try:
        data = json.loads(text)
        if not isinstance(data, dict):
            raise Damage("it holds no object")
        if form is not None and data.get("format") != form:
            raise Damage(f"it has format {data.get('format')}, not {form}")
        if data.pop("checksum", None) != checksum(data):
            raise Damage("its checksum is missing or wrong")
    except (ValueError, RecursionError):
        raise Damage("it is not JSON") from None
    return data
