"""Tolerances of certificates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gaussopt.core.errors import BadInput

DEFAULT_TOLERANCE = 1e-7
"""Largest relative error of the acceleration with which a step still counts as solved."""

RECORDED = "Recorded: the tolerance is infinite, only the error bound is known."


def finite_or_none(value: float) -> float | None:
    """Return a number for JSON, with None (null) in place of infinity or NaN."""
    return value if math.isfinite(value) else None


def finite_entries(record: Any, *names: str) -> dict[str, float | None]:
    """Return the named attributes of a certificate by name, for JSON."""
    return {name: finite_or_none(getattr(record, name)) for name in names}


def check_tolerance(tolerance: Any) -> None:
    """Check that a value can be the tolerance of a certificate; raises BadInput."""
    number = isinstance(tolerance, int | float | np.integer | np.floating) and not isinstance(tolerance, bool)
    if not number or not tolerance > 0:
        raise BadInput(f"tolerance is {tolerance}; it must be positive (inf records the bounds only).")
