"""Samples: a part is drawn by default, and all of it by the tests of campaigns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

EXAMPLES = 25
"""How many examples Hypothesis draws by default; campaigns draw a hundred."""


def sample(default: Iterable[Any], whole: Sequence[Any] | range) -> list[Any]:
    """The values of a parameter; those that are not in the default are of campaigns."""
    first = list(default)
    return [*first, *(pytest.param(value, marks=pytest.mark.campaigns) for value in whole if value not in first)]
