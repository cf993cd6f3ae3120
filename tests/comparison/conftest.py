"""What the tests of comparisons share."""

from __future__ import annotations

import pytest
from registrations import register_guests


@pytest.fixture
def guests(clean_registry: None) -> None:
    """Solvers that lie, cheat or dawdle are registered."""
    register_guests()


@pytest.fixture(autouse=True)
def _undrawn(undrawn: None) -> None:
    """Reports of comparisons are drawn only where a test asks for it."""
