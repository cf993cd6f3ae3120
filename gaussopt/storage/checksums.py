"""Checksums of files and of plain data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def digest_of(content: bytes | memoryview) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def checksum(data: Mapping[str, Any]) -> str:
    """Digest of plain data without its entry "checksum": of one text for one content, as it is read again from JSON."""
    plain = {key: value for key, value in data.items() if key != "checksum"}
    return digest_of(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode())
