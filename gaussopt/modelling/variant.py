"""Other models of a mechanism, such as a model with a misprint of the source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gaussopt.core.system import AbstractSystem


@dataclass(frozen=True)
class Variant:
    """Another model of a mechanism: the function that builds its system, and a description of how it differs."""

    build: Callable[[], AbstractSystem]
    description: str

    def __call__(self) -> AbstractSystem:
        """Return the system."""
        return self.build()
