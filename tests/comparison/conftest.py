"""What the tests of comparisons share: commands that compute in a process which runs already."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from gaussopt.processes.workers import Workers


@pytest.fixture
def running(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts processes for one comparison takes that of `workers`, whose imports are paid for.

    That processes of its own are started and ended is proved by tests without this fixture.
    """
    for module in ("compare", "published"):
        monkeypatch.setattr(f"gaussopt.comparison.{module}.Workers", lambda jobs: nullcontext(workers))


@pytest.fixture(autouse=True)
def _undrawn(undrawn: None) -> None:
    """Reports of comparisons are drawn only where a test asks for it."""
