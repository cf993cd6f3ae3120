"""The interface that every source of a comparison implements."""

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

    A comparison runs in many processes and can be resumed after an interruption. Therefore it holds no items, but
    descriptions, frozen dataclasses of plain data: `to_mapping` writes a description,
    `gaussopt.comparison.sources.spec_of` reads it elsewhere, and `items` makes the same items, number for number.

    To add a kind of source, derive a frozen dataclass whose fields are the data that `items` needs. Write `source` and
    `typical`; the defaults of the other members suit a single item.

    Examples
    --------
    >>> from gaussopt.comparison.sources import FamilyPoint
    >>> point = FamilyPoint("sliding-row", {"contacts": 3.0}, count=2)
    >>> len(point.items()), point.depends
    (2, (('family', 'sliding-row'),))
    """

    @property
    def together(self) -> str:
        """Name of a set whose solution by a solver shares one time limit; "" if each problem has its own limit."""
        return ""

    @property
    @abstractmethod
    def source(self) -> StepSource:
        """Describe the source in words, for tables and reports.

        Returns
        -------
        StepSource
            Kind, name and details.
        """

    def items(self) -> tuple[Item, ...]:
        """Make the items; equal descriptions give the same items in any process.

        Returns
        -------
        tuple of Item
            Steps or programs in the order in which a solver solves them; by default `typical` alone.

        Raises
        ------
        BadInput
            If they cannot be made; the cases of this source then fail with this message, and other cases continue.
        """
        return (Item(self.typical()),)

    @abstractmethod
    def typical(self) -> Data:
        """Make one item that shows which formulations and solvers apply, without making all items.

        Returns
        -------
        StepData, or a program
            An item with equality rows if any item has such rows; the same holds for contacts and for friction.
        """

    @property
    def follows(self) -> bool:
        """Whether items follow one another, so that a solver may keep its set-up and start from its previous answer."""
        return False

    def worded(self, reason: str, step: StepData) -> str:
        """Replace the numbers of contacts by the contacts' names in a sentence on one of the steps.

        Parameters
        ----------
        reason : the sentence, in which a contact is called "contact 1"
        step : the step that the sentence is about

        Returns
        -------
        str
            The sentence, unchanged where contacts have no names.
        """
        return reason

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """The registered entries, (kind, name), that determine the items: the problem or the family, if any."""
        return tuple((kind, getattr(self, kind)) for kind in ("problem", "family") if hasattr(self, kind))

    def to_mapping(self) -> dict[str, Any]:
        """Write the description as plain data.

        Returns
        -------
        dict
            The name of the class, and its fields, for JSON and `spec_of`.
        """
        return {"spec": type(self).__name__, **asdict(self)}  # type: ignore[call-overload]


def check_digest(path: Path, digest: str) -> None:
    """Check that a file still has the contents that it had when the comparison began; raises BadInput."""
    if digest_of(read_bytes(path)) != digest:
        raise BadInput(f"{path} has changed since the comparison began; start it again.")
