"""Contacts with friction cones whose answers are known: closed forms, enumerations, certified references."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import gaussopt as go

FILE = Path(__file__).parent / "data" / "contact_cases.json.gz"
FOREIGN = Path(__file__).parents[2] / "shared" / "friction3d" / "public"
"""Files of other codes, where they are beside the checkout; they are no part of it."""


@cache
def cases() -> dict[str, dict[str, Any]]:
    with gzip.open(FILE) as file:
        return {case["name"]: case for case in json.load(file)["cases"]}


def problem(name: str) -> go.ConeComplementarity:
    return go.ConeComplementarity.from_mapping(cases()[name])


def truths(name: str) -> list[np.ndarray]:
    """Impulses of the solutions that are known."""
    case = cases()[name]
    return [np.array(r) for r in [case["r"], *case.get("solutions", [])]]


def names(*status: str) -> list[str]:
    return [name for name, case in cases().items() if case["expected_status"] in status]
