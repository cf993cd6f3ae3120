"""What tests register, and that it is forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from gaussopt.core import registry


def forget_after(patch: pytest.MonkeyPatch) -> None:
    """Let what is registered from now on be forgotten when the patch is undone."""
    patch.setattr(registry, "_registered", {kind: dict(known) for kind, known in registry._registered.items()})
    patch.setattr(registry, "_seen", set(registry._seen))
    patch.setattr(registry, "_files", dict(registry._files))


def register_guests() -> None:
    """Register all solvers that cheat on a comparison, whoever is needed: with other plug-ins a process starts anew."""
    for name in (
        "liar", "meddler", "turncoat", "crasher", "sleeper", "notebook", "one_buffer", "early_bird", "slow_or_choosy",
    ):  # fmt: skip
        registry.register(Path(__file__).parent / "plugins" / f"{name}.py")
