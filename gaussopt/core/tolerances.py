"""Tolerances of certificates."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaussopt.core.errors import BadInput

DEFAULT_TOLERANCE = 1e-7
"""Relative distance to the true acceleration that a step may have."""


def check_tolerance(tolerance: Any) -> None:
    """Refuse what is no tolerance of a certificate; raises BadInput."""
    number = isinstance(tolerance, int | float | np.integer | np.floating) and not isinstance(tolerance, bool)
    if not number or not tolerance > 0:
        raise BadInput(f"tolerance is {tolerance}; it must be positive (inf records the bounds only).")
