"""Leads and captions of reports, which `wording.toml` holds as running text."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads(resources.files("gaussopt.reporting").joinpath("wording.toml").read_text(encoding="utf-8"))


def wording(section: str, name: str, **values: object) -> str:
    """A text in one line, with values in its braces."""
    return " ".join(_texts()[section][name].split()).format(**values)
