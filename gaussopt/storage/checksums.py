"""Checksums of bytes and of plain data, and plain data as JSON with a checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def digest_of(content: bytes | memoryview) -> str:
    """Return the SHA-256 of bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def checksum(data: Mapping[str, Any]) -> str:
    """Return a digest of plain data except its entry "checksum"; a round trip through JSON does not change it."""
    plain = {key: value for key, value in data.items() if key != "checksum"}
    return digest_of(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode())


class Damage(Exception):
    """A file cannot be used; the message says why, as part of a sentence."""


def sealed(data: Mapping[str, Any], indent: int | None = 1) -> str:
    """Return plain data as JSON with its checksum; NaN, Infinity and -Infinity are bare words, as in Python."""
    return json.dumps({**data, "checksum": checksum(data)}, indent=indent) + "\n"


def unsealed(text: bytes, form: int | None = None) -> dict[str, Any]:
    """Return the data that `sealed` wrote, without the checksum; `form`, if given, is the required entry "format".

    Raises Damage for text that is not a JSON object, has another format, or whose checksum is missing or wrong.
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
