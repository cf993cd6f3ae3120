"""What every source of a comparison can be asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gaussopt.comparison.items import Data, Item
from gaussopt.comparison.records import StepSource
from gaussopt.core.errors import BadInput
from gaussopt.core.files import read_bytes
from gaussopt.core.step_data import StepData
from gaussopt.storage.checksums import digest_of


class Spec(ABC):
    """Description of a source of steps or programs."""

    together = ""
    """Name of the set of problems on which a solver has the time of one case in all, "" where each has that time."""

    @property
    @abstractmethod
    def source(self) -> StepSource:
        """In words."""

    def items(self) -> tuple[Item, ...]:
        """The sequence; of a single program just this one. Raises BadInput where it cannot be made."""
        return (Item(self.typical()),)

    @abstractmethod
    def typical(self) -> Data:
        """An item that shows which formulations and solvers apply."""

    @property
    def has_cones(self) -> bool:
        """Whether its items are contacts with friction cones."""
        return False

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files of its items, where they are files of contacts."""
        return ()

    @property
    def follows(self) -> bool:
        """Whether each item follows the one before, so that a solver may keep its set-up and start from its answer."""
        return False

    @property
    def parts(self) -> tuple[Spec, ...]:
        """Its problems one by one, as sources of their own with limits of their own, where none follows another."""
        return (self,)

    def worded(self, reason: str, step: StepData) -> str:
        """A sentence on one of its steps, with the names of its contacts instead of their numbers."""
        return reason

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """Registered entries that decide the items, (kind, name): the problem or the family, where there is one."""
        return tuple((kind, getattr(self, kind)) for kind in ("problem", "family") if hasattr(self, kind))

    def to_mapping(self) -> dict[str, Any]:
        """Plain data for `spec_of` and JSON."""
        return {"spec": type(self).__name__, **asdict(self)}  # type: ignore[call-overload]


def check_digest(path: Path, digest: str) -> None:
    """See that a file is the one that the comparison began with; raises BadInput."""
    if digest_of(read_bytes(path)) != digest:
        raise BadInput(f"{path} has changed since the comparison began; start it again.")
