"""What tests register is forgotten."""

from __future__ import annotations

import pytest

from gaussopt.core import registry


def forget_after(patch: pytest.MonkeyPatch) -> None:
    """Let what is registered from now on be forgotten when the patch is undone."""
    patch.setattr(registry, "_registered", {kind: dict(known) for kind, known in registry._registered.items()})
    patch.setattr(registry, "_seen", set(registry._seen))
    patch.setattr(registry, "_files", dict(registry._files))
