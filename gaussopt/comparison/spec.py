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
    """Describe where the steps or programs of a comparison come from.

    A comparison runs in many processes and is taken up again after an interruption. So it holds no items but
    descriptions, frozen dataclasses of plain data: `to_mapping` writes one, `gaussopt.comparison.sources.spec_of` reads
    it elsewhere, and `items` makes the same items there, number by number.

    Derive a frozen dataclass from it to add a kind of source: its fields are what `items` needs, `source` and `typical`
    have to be written, the other members answer for a single item of no contacts in space.

    Examples
    --------
    >>> from gaussopt.comparison.sources import FamilyPoint
    >>> point = FamilyPoint("sliding-row", {"contacts": 3.0}, count=2)
    >>> len(point.items()), point.depends
    (2, (('family', 'sliding-row'),))
    """

    together = ""
    """Name of the set of problems on which a solver has the time of one case in all, "" where each has that time."""

    @property
    @abstractmethod
    def source(self) -> StepSource:
        """Say in words what it is, for tables and reports.

        Returns
        -------
        StepSource
            Kind, name and details.
        """

    def items(self) -> tuple[Item, ...]:
        """Make the items, the same for an equal description in any process.

        Returns
        -------
        tuple of Item
            Steps or programs in the order in which a solver follows them; by default `typical` alone.

        Raises
        ------
        BadInput
            Where they cannot be made: the cases of this source then fail with its sentence, and the others go on.
        """
        return (Item(self.typical()),)

    @abstractmethod
    def typical(self) -> Data:
        """Make an item that shows which formulations and solvers apply, without making all others.

        Returns
        -------
        StepData, or a program
            With equality rows, contacts and friction where any of the items has them.
        """

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
        """Put the names of contacts for their numbers in a sentence on one of its steps.

        Parameters
        ----------
        reason : the sentence, in which a contact is called "contact 1"
        step : the step that it is about

        Returns
        -------
        str
            The sentence, as it is where contacts have no names.
        """
        return reason

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """Registered entries that decide the items, (kind, name): the problem or the family, where there is one."""
        return tuple((kind, getattr(self, kind)) for kind in ("problem", "family") if hasattr(self, kind))

    def to_mapping(self) -> dict[str, Any]:
        """Write it as plain data.

        Returns
        -------
        dict
            The class by its name, and its fields, for JSON and `spec_of`.
        """
        return {"spec": type(self).__name__, **asdict(self)}  # type: ignore[call-overload]


def check_digest(path: Path, digest: str) -> None:
    """Check that a file is the one that the comparison began with; raises BadInput."""
    if digest_of(read_bytes(path)) != digest:
        raise BadInput(f"{path} has changed since the comparison began; start it again.")
